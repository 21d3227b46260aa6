"""Learning plan by plan: each is predicted before it is learned, and nothing is written beside the bundle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from bench_cli import printed, refused, run, write_demonstrations
from conftest import make_demonstrations

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.types import END, Call
from edgeret_bench.accuracy import new_tool, next_tool, stream, walk

TAUGHT = make_demonstrations(2)
TEST = [replace(d, query=f"{d.query} please") for d in make_demonstrations(1)]
NEW = [Demonstration(str(i), f"play my {word}", (Call("phone_call"),)) for i, word in enumerate(("letter", "song"))]
LEARNS = hasattr(Runtime, "learn")


@pytest.fixture
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch) -> list[Demonstration]:
    """What was learned, in order, by a stand-in that knows a request by heart once it was taught."""
    taught: list[Demonstration] = []

    def learn(self: Runtime, demonstrations: Sequence[Demonstration], *, replay: bool = True) -> None:
        taught.extend(demonstrations)

    def recall(task: Task) -> walk.Ranked:
        names, probabilities = walk.ranked(task)
        for demonstration in taught:
            if demonstration.query == task.query:
                made = len(task.calls)
                right = demonstration.calls[made].tool if made < len(demonstration.calls) else END
                return names, np.array([name == right for name in names], np.float64)
        return names, probabilities

    monkeypatch.setattr(Runtime, "learn", learn, raising=False)
    size = property(lambda self: SimpleNamespace(size_bytes=1000 * len(taught), plans=len(taught)))
    monkeypatch.setattr(Runtime, "learned", size, raising=False)
    for module in (stream, new_tool):
        monkeypatch.setattr(module, "ranked", recall)
    return taught


def test_a_result_has_the_keys_of_the_contract(runtime: Runtime, lessons: list[Demonstration]) -> None:
    found = stream.run(runtime, TAUGHT, TEST)
    assert (found["n_plans"], found["n_steps"], found["repeated_queries"]) == (14, 34, 0)
    assert list(found["cumulative"]) == ["10", "all"]
    for row in (*found["cumulative"].values(), found["before_test"], found["test"]):
        assert {"top1", "mrr", "intervals"} <= set(row)
    assert (found["before_others"], found["others"], "new_tool" in found) == (None, None, False)
    assert 0 <= found["update_us"]["p50"] <= found["update_us"]["p99"] <= found["plan_us"]["p99"]
    assert found["learned_mb"] == pytest.approx(0.014)
    assert lessons == TAUGHT
    json.dumps(found, allow_nan=False)


def test_every_plan_is_predicted_before_it_is_learned(runtime: Runtime, lessons: list[Demonstration]) -> None:
    wrong = [Demonstration(str(i), "play my song", (Call("send_mail"), Call("find_file"))) for i in range(2)]
    found = stream.run(runtime, wrong)
    assert found["samples"]["series"]["top1"] == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert next_tool.run(runtime, wrong[:1], ["fused"])["methods"]["fused"]["top1"] == 0
    assert found["samples"]["groups"] == [0, 0, 0, 1, 1, 1]
    assert found["cumulative"]["all"]["top1"] == 0.5


def test_before_anything_was_learned_the_figures_are_those_of_next_tool(
    runtime: Runtime, lessons: list[Demonstration]
) -> None:
    wrong = [Demonstration("w", "play my song", (Call("send_mail"),))]
    found = stream.run(runtime, wrong, wrong, TEST)
    for plans, key in ((wrong, "before_test"), (TEST, "before_others")):
        beside = next_tool.run(runtime, plans, ["fused"])["methods"]["fused"]
        assert {metric: found[key][metric] for metric in ("top1", "mrr")} == {m: beside[m] for m in ("top1", "mrr")}
    assert found["test"]["top1"] == 1.0 > found["before_test"]["top1"]
    assert found["others"] == found["before_others"]
    assert found["repeated_queries"] == 1


def test_the_time_inside_the_encoder_is_left_out(
    runtime: Runtime, lessons: list[Demonstration], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(np.arange(0, 1e4, 1.0).tolist())
    monkeypatch.setattr(stream, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(stream, "encoding_s", lambda *_: 0.25)
    # Three readings of this clock a plan: a second each for walking it, which encodes once, and for learning it.
    found = stream.run(runtime, TAUGHT[:3])
    assert (found["update_us"]["max"], found["plan_us"]["max"]) == pytest.approx((0.75e6, 1.5e6))


def test_the_order_is_the_files_unless_a_seed_shuffles_it(runtime: Runtime, lessons: list[Demonstration]) -> None:
    orders = []
    for seed in (None, 1, 1, 2):
        lessons.clear()
        stream.run(runtime, TAUGHT, options=stream.Options(seed=seed, limit=6))
        orders.append([d.id for d in lessons])
    assert orders[0] == [d.id for d in TAUGHT[:6]]
    assert orders[1] == orders[2]
    assert len({tuple(order) for order in orders}) == 3


def test_accuracy_is_told_ever_more_rarely() -> None:
    assert stream.checkpoints(9) == []
    assert stream.checkpoints(3000) == [10, 30, 100, 300, 1000, 3000]
    assert stream.checkpoints(12000) == [10, 30, 100, 300, 1000, 3000, 10000]


def test_a_new_tool_is_held_back_and_then_learned(runtime: Runtime, lessons: list[Demonstration]) -> None:
    test = [*TEST, replace(NEW[0], id="t"), Demonstration("u", "open the meeting book", (Call("phone_call"),))]
    found = stream.run(runtime, [NEW[0], *TAUGHT, NEW[1]], test, options=stream.Options(new_tool="phone_call"))
    assert lessons == [*TAUGHT, NEW[0]]
    assert found["n_plans"] == len(TAUGHT)
    new = found["new_tool"]
    assert (new["tool"], new["known_before"]) == ("phone_call", False)
    assert list(new["after"]) == ["0", "1"]
    assert new["after"]["0"]["top1"] < new["after"]["1"]["top1"]
    assert [row["n_steps"] for row in new["after"].values()] == [2, 2]
    assert new["after"]["0"]["others_top1"] > 0.5


@pytest.mark.parametrize(
    ("plans", "test", "message"),
    [
        (TAUGHT, NEW, "no plan of --stream calls it"),
        ([*TAUGHT, *NEW], TEST, "no plan of --test calls it"),
        (NEW, NEW, "every plan of --stream calls the tool"),
    ],
)
def test_a_new_tool_that_cannot_be_measured_is_refused_before_anything_is_learned(
    runtime: Runtime,
    lessons: list[Demonstration],
    plans: list[Demonstration],
    test: list[Demonstration],
    message: str,
) -> None:
    with pytest.raises(InputError, match=message):
        stream.run(runtime, plans, test, options=stream.Options(new_tool="phone_call"))
    assert not lessons


@pytest.mark.usefixtures("lessons")
def test_the_command_measures_and_prints_tables(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path
) -> None:
    taught, test = (write_demonstrations(tmp_path / f"{len(d)}.jsonl", d) for d in (TAUGHT, TEST))
    given = ["stream", tiny_original, "--stream", taught, "--test", test, "--others", test, "--limit", "11"]
    found = printed(capsys, *given, "--no-replay", "--seed", "4", "-o", tmp_path / "stream.json")
    assert (found["kind"], found["n_plans"], found["replay"], found["seed"]) == ("stream", 11, False, 4)
    assert set(found["inputs"]) == {"stream", "test", "others"}
    run("compare", tmp_path / "stream.json", tmp_path / "stream.json")
    capsys.readouterr()
    run(*given)
    out, err = capsys.readouterr()
    assert "before others" in out
    assert "· after 10 plans: top-1 so far" in err


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--limit=0", "--limit"),
        ("--seed=-1", "seed"),
        ("--test=/gone.jsonl", "/gone.jsonl"),
        ("--new-tool=phone_call", "--new-tool phone_call: no plan of --stream calls it"),
    ],
)
def test_the_command_refuses(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path, option: str, expected: str
) -> None:
    taught = write_demonstrations(tmp_path / "taught.jsonl", TAUGHT)
    assert expected in refused(capsys, "stream", tiny_original, "--stream", taught, option)


@pytest.mark.skipif(not LEARNS, reason="Runtime.learn is not there yet")
def test_what_is_learned_helps_and_leaves_no_trace(tiny: Path) -> None:
    runtime, beside = edgeret.load(tiny), sorted(tiny.parent.rglob("*"))
    wrong = [Demonstration(str(i), "play my song", (Call("send_mail"),)) for i in range(12)]
    found = stream.run(runtime, wrong, wrong[:1])
    assert found["test"]["top1"] > found["before_test"]["top1"]
    assert found["learned_mb"] > 0
    assert sorted(tiny.parent.rglob("*")) == beside
    assert stream.run(runtime, wrong, wrong[:1])["before_test"] == found["before_test"]
