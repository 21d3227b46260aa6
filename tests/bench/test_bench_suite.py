"""The suite: everything measured of a tiny bundle, one report of it, and what is said where something cannot be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench_cli import encoded_tiny, printed, refused, write_demonstrations
from conftest import TOOLS, make_demonstrations, tiny_card

import edgeret_export.build
from edgeret.errors import CheckFailedError, InputError, MissingExtraError, PlannerError
from edgeret_bench import suite
from edgeret_bench.accuracy import few
from edgeret_bench.cli import main, make_parser
from edgeret_bench.peers import extra_of, measure
from edgeret_bench.results.files import read_result
from edgeret_bench.speed import latency, scaling, sweeps
from edgeret_export.sources import cards

ALL = ["next-tool", "abstain", "plan", "peers", "latency", "scaling", "methods", "few"]
COLD = ("load_ms", "rss_mb", "rss_after_answer_mb", "peak_rss_mb")


def absent(name: str, threads: int) -> None:
    raise MissingExtraError(extra_of(name), f"the peer {name}")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite's benchmarks with next to nothing to do, and with one peer, which is not installed."""
    for module, name, value in (
        (latency, "WARMUP", 1),
        (
            latency,
            "cold_start",
            lambda *_: {key: {"p50": 1.0, "p90": 1.0, "p99": 1.0, "max": 1.0, "n": 1} for key in COLD},
        ),
        (latency, "run", bounded(latency.run, min_queries=8, min_seconds=0)),
        *((sweeps, name, 8) for name in ("QUERIES", "BLOCK")),
        (sweeps, "SLICE_SECONDS", 0.02),
        (suite, "SUSTAINED_SECONDS", 0.04),
        (scaling, "QUERIES", 4),
        (scaling, "TOOLS", (10, 20)),
        *((scaling, name, (6, 12)) for name in ("LEARNED", "HISTORIES")),
        (few, "SIZES", (3, 7)),
        (edgeret_export.build, "encode", encoded_tiny),
        (cards, "find_card", {"tiny": tiny_card()}.__getitem__),
        (measure, "run", bounded(measure.run, min_queries=8)),
        (measure, "PEERS", ("graph-tool-call",)),
        (measure, "PeerProcess", absent),
    ):
        monkeypatch.setattr(module, name, value)


def bounded(work: Callable[..., Any], **bounds: Any) -> Callable[..., Any]:
    return lambda *arguments, **options: work(*arguments, **{**options, **bounds})


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    return write_demonstrations(tmp_path / "demos.jsonl", make_demonstrations(1))


def run(target: Path, demos: Path, benchmark: Callable[[Sequence[str]], Mapping[str, Any]], **more: Any) -> Any:
    given = [f"--{name}" for name in ("train", "nothing") if name in more]
    parts = suite.choose(more.get("only", ()), more.get("skip", ()), given)
    subject = suite.Subject(
        "bundle", TOOLS, "tiny", make_demonstrations(1), str(demos), more.get("train"), more.get("nothing")
    )
    return suite.run(subject, target, benchmark, parts)


def benchmark(argv: Sequence[str]) -> Mapping[str, Any]:
    parsed = make_parser().parse_args(argv)
    parsed.argv = list(argv)
    result: Mapping[str, Any] = parsed.handler(parsed)
    return result


@pytest.mark.usefixtures("small")
def test_everything_is_measured_and_reported(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, demos: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    target = tmp_path / "new" / "results"
    (tmp_path / "nothing.txt").write_text("why is the sky blue\nhow are you\n")
    given = ("--demos", demos, "--train", demos, "--nothing", tmp_path / "nothing.txt")
    found = printed(capsys, "lab", "suite", tiny_original, *given, "-o", target)
    assert (found["ok"], found["unavailable"]) == (True, {})
    assert list(found["seconds"]) == ALL
    assert found["results"] == [str(target / f"{name}.json") for name in ALL]
    beside = ("queries.jsonl", "tools.jsonl", "report.html")
    assert {file.name for file in target.iterdir()} == {*(f"{n}.json" for n in ALL), *beside}
    results = {name: read_result(target / f"{name}.json") for name in ALL}
    assert {name: result["kind"] for name, result in results.items()} == {name: name for name in ALL}
    for name, result in results.items():
        assert result["command"][0] == "edgeret-bench"
        assert name in result["command"][1:3]  # behind `lab`, some of them
    queries = [json.loads(line) for line in (target / "queries.jsonl").read_text().splitlines()]
    assert queries[0] == {"id": "d0-0", "query": make_demonstrations(1)[0].query, "tools": ["find_file", "send_mail"]}
    assert queries[-1]["tools"] == []
    assert list(results["next-tool"]["methods"]) == suite.METHODS.split(",")
    assert {"threads_sweep", "batches", "sustained", "samples"} <= set(results["latency"])
    # A peer that is not installed is a reason in a result, and no reason to stop.
    assert list(results["peers"]["unavailable"]) == ["graph-tool-call"]
    assert list(results["peers"]["systems"]) == ["edgeret search", "edgeret select"]
    page = (target / "report.html").read_text(encoding="utf-8")
    assert found["report"] == str(target / "report.html")
    assert page.count('<div class="plot"') == found["figures"] > 10
    assert "no graph-tool-call: " in page
    for name in ALL:
        assert f"{name}: where and how" in page


@pytest.mark.usefixtures("small")
def test_what_a_bundle_cannot_do_is_reported_and_the_rest_measured(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path
) -> None:
    no_tools = write_demonstrations(tmp_path / "none.jsonl", [d for d in make_demonstrations(2) if not d.calls])
    target = tmp_path / "results"
    found = printed(capsys, "lab", "suite", tiny_original, "--demos", no_tools, "-o", target)
    assert found["ok"] is True
    assert list(found["unavailable"]) == ["peers"]
    assert "no query in the file names a tool" in found["unavailable"]["peers"]
    assert [Path(file).stem for file in found["results"]] == ["next-tool", "plan", "latency", "scaling"]
    assert list(found["seconds"]) == ["next-tool", "plan", "latency", "scaling"]
    assert (target / "report.html").exists()
    assert not (target / "peers.json").exists()


def test_a_benchmark_that_cannot_run_does_not_stop_the_others(demos: Path, tmp_path: Path) -> None:
    small_scaling(tmp_path / "scaling.json")
    errors = {
        "next-tool": MissingExtraError("edgeret-bench", "this"),
        "plan": InputError("no"),
        "peers": CheckFailedError("broken"),
        "latency": PlannerError("too long"),
    }

    def only_scaling(argv: Sequence[str]) -> Mapping[str, Any]:
        if argv[0] in errors:
            raise errors[argv[0]]
        shutil.copyfile(tmp_path / "scaling.json", argv[argv.index("-o") + 1])
        return {}

    found = run(tmp_path / "out", demos, only_scaling)
    assert found["unavailable"] == {name: str(error) for name, error in errors.items()}
    assert (found["ok"], found["results"]) == (True, [str(tmp_path / "out" / "scaling.json")])
    assert found["figures"] == 3


def small_scaling(target: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "QUERIES", 3)
        patch.setattr(scaling, "LEARNED", (3,))
        benchmark(["lab", "scaling", "--sizes", "10", "-o", str(target)])


def test_a_library_that_is_not_installed_does_not_stop_the_others(demos: Path, tmp_path: Path) -> None:
    def missing(argv: Sequence[str]) -> Mapping[str, Any]:
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")

    found = run(tmp_path / "out", demos, missing)
    assert "sklearn" in found["unavailable"]["scaling"]


def test_without_any_result_there_is_no_report_and_the_suite_fails(demos: Path, tmp_path: Path) -> None:
    def never(argv: Sequence[str]) -> Mapping[str, Any]:
        raise InputError("not here")

    found = run(tmp_path / "out", demos, never)
    assert (found["ok"], found["results"], "report" in found) == (False, [], False)
    assert list(found["unavailable"]) == [
        name for name in ALL[:-2] if name != "abstain"
    ]  # methods and few need what it was trained on
    assert not (tmp_path / "out" / "report.html").exists()


def test_the_command_says_in_words_what_was_not_measured(
    capsys: pytest.CaptureFixture[str],
    tiny_original: Path,
    demos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {"ok": False, "results": [], "unavailable": {"plan": "no planner"}, "seconds": {"scaling": 2.5}}
    monkeypatch.setattr(suite, "run", lambda *_: found)
    assert main(["lab", "suite", str(tiny_original), "--demos", str(demos), "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().out == "scaling: 2.5 s\nno plan: no planner\n"


def test_bad_input_of_the_suite_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, demos: Path, tmp_path: Path
) -> None:
    assert "cannot be written" in refused(capsys, "lab", "suite", tiny_original, "--demos", demos, "-o", demos)
    assert "gone.jsonl" in refused(
        capsys, "lab", "suite", tiny_original, "--demos", tmp_path / "gone.jsonl", "-o", tmp_path
    )
    assert "--demos" in refused(capsys, "lab", "suite", tiny_original)
    assert "gone" in refused(capsys, "lab", "suite", tmp_path / "gone", "--demos", demos, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    unknown = tmp_path / "unknown.jsonl"
    unknown.write_text('{"id": "a", "query": "fly", "calls": [{"tool": "fly", "arguments": {}}]}\n')
    assert "fly" in refused(capsys, "lab", "suite", tiny_original, "--demos", unknown, "-o", tmp_path / "out")


def test_training_plans_that_cannot_be_read_are_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str],
    tiny_original: Path,
    demos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("edgeret_bench.accuracy.next_tool.run", lambda *_: pytest.fail("measured first"))
    refused(
        capsys, "lab", "suite", tiny_original, "--demos", demos, "--train", tmp_path / "gone", "-o", tmp_path / "out"
    )


def test_parts_are_skipped_or_chosen(demos: Path, tmp_path: Path) -> None:
    ran: list[list[str]] = []

    def note(argv: Sequence[str]) -> Mapping[str, Any]:
        ran.append(list(argv))
        raise InputError("not here")

    run(tmp_path / "out", demos, note, skip=["peers", "sweeps"])
    assert [argv[0] for argv in ran] == ["next-tool", "plan", "latency", "scaling"]
    assert "--sweep-threads" not in ran[2]
    ran.clear()
    run(tmp_path / "out", demos, note, only=["sweeps", "few"], train="t.jsonl")
    assert [argv[0] for argv in ran] == ["latency", "few"]
    assert "--sweep-threads" in ran[0]
    ran.clear()
    run(tmp_path / "out", demos, note, skip=["latency"])
    assert "latency" not in {argv[0] for argv in ran}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--skip", "peer"],
            "unknown part 'peer' of the suite; choose among: next-tool, abstain, plan, peers, latency",
        ),
        (["--only", "speed"], "unknown part 'speed'"),
        (["--only", "few"], "needs --train"),
        (["--only", "abstain"], "needs --nothing, requests that no tool fits"),
        (["--only", "plan", "--skip", "plan"], "leave no part"),
    ],
)
def test_parts_that_make_no_sense_are_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, demos: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    assert words in refused(capsys, "lab", "suite", tiny_original, "--demos", demos, "-o", tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()


def test_a_log_shows_what_is_running_and_how_long_it_took(
    capsys: pytest.CaptureFixture[str], demos: Path, tmp_path: Path
) -> None:
    small_scaling(tmp_path / "scaling.json")

    def copied(argv: Sequence[str]) -> Mapping[str, Any]:
        if argv[0] == "plan":
            raise InputError("no planner")
        shutil.copyfile(tmp_path / "scaling.json", argv[argv.index("-o") + 1])
        return {}

    capsys.readouterr()
    run(tmp_path / "out", demos, copied, only=["plan", "scaling"])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "· plan (1 of 2)",
        "· plan (1 of 2): not measured, no planner",
        "· scaling (2 of 2)",
        "· scaling (2 of 2): 0 s",
    ]
