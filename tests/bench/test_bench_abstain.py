"""Whether nothing fits: the figures from known probabilities, a tiny bundle measured, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_cli import encoded_tiny, printed, refused, run, write_demonstrations
from bench_samples import stamped
from conftest import make_demonstrations, tiny_card

from edgeret.errors import InputError
from edgeret_bench.accuracy import abstain
from edgeret_bench.accuracy.abstain import First, Request
from edgeret_bench.results.headline import headline_rows
from edgeret_bench.results.report import write_report
from edgeret_bench.results.tables import measured

TEST = [replace(d, query=f"{d.query} please") for d in make_demonstrations(1)]
NOTHING = ["why is the sky blue", "how are you", "thanks a lot", "seven"]
INSIDE = np.array([0.0, 0.1, 0.2, 0.6])
FOREIGN = np.array([0.1, 0.5, 0.7, 0.9])


@pytest.fixture
def nothing(tmp_path: Path) -> Path:
    file = tmp_path / "nothing.txt"
    file.write_text("\n".join(NOTHING))
    return file


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    return write_demonstrations(tmp_path / "demos.jsonl", TEST)


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    area, half = abstain.auroc(INSIDE, FOREIGN)
    pairs = [(float(f > i) + float(f == i) / 2) for f in FOREIGN for i in INSIDE]
    assert area == pytest.approx(np.mean(pairs))
    assert 0 < half < 0.6
    assert abstain.auroc(FOREIGN, INSIDE)[0] == pytest.approx(1 - area)
    assert abstain.auroc(np.array([0.1]), np.array([0.2])) == (1.0, 0.0)


@pytest.mark.parametrize(("loss", "share"), [(0.01, 0.5), (0.25, 0.75), (0.5, 0.75), (0.75, 1.0), (1.0, 1.0)])
def test_the_best_threshold_loses_no_more_than_it_may(loss: float, share: float) -> None:
    assert abstain.declined_at(INSIDE, FOREIGN, loss) == share


def test_ties_are_not_broken_in_a_bundle_s_favour() -> None:
    assert abstain.declined_at(np.zeros(100), np.zeros(100), 0.05) == 0.0
    assert abstain.auroc(np.zeros(9), np.zeros(9))[0] == 0.5


def test_a_row_counts_decisions_and_risks() -> None:
    requests = [Request("a", frozenset("x")), Request("b", frozenset("x")), Request("c"), Request("d")]
    firsts = [
        First(0.1, True, True, ((True, True),)),
        First(0.6, False, False, ((True, False),)),
        First(0.9, False, False, ((False, False),)),
        First(0.2, True, False, ((True, False),)),
    ]
    found = abstain.row(requests, firsts, (0.05,))
    assert (found["declined"], found["lost"], found["n_inside"], found["n_foreign"]) == (0.5, 0.5, 2, 2)
    assert found["risk"] == {"0.05": {"coverage": 1.0, "wrong": 0.5, "wrong_with_foreign": pytest.approx(2 / 3)}}
    never = [replace(first, asked=((False, False),)) for first in firsts]
    kept = abstain.row(requests, never, (0.05,))["risk"]["0.05"]
    assert kept == {"coverage": 0.0, "wrong": None, "wrong_with_foreign": None}


def test_demonstrations_without_calls_are_foreign_and_both_kinds_must_be_there() -> None:
    requests = abstain.requests_of(TEST, NOTHING)
    assert sum(request.foreign for request in requests) == len(NOTHING) + sum(not d.calls for d in TEST)
    assert requests[0].acceptable == TEST[0].steps()[0].acceptable
    with pytest.raises(InputError, match="--demos: no request with a call"):
        abstain.requests_of([], NOTHING)
    with pytest.raises(InputError, match="--nothing: no request that no tool fits"):
        abstain.requests_of([d for d in TEST if d.calls], [])


def test_the_command_measures_the_contract_and_what_is_varied(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tiny_original: Path,
    tmp_path: Path,
    demos: Path,
    nothing: Path,
) -> None:
    monkeypatch.setattr("edgeret_export.build.encode", encoded_tiny)
    monkeypatch.setattr("edgeret_export.sources.cards.find_card", lambda _: tiny_card())
    train = write_demonstrations(tmp_path / "train.jsonl", make_demonstrations())
    given = ["abstain", tiny_original, "--demos", demos, "--nothing", nothing, "--train", train]
    result = tmp_path / "abstain.json"
    found = printed(capsys, *given, "--sizes", "0,30", "--among", "1,3", "--learn", "2,5", "-o", result)
    assert {"n_inside", "n_foreign", "auroc", "declined_at", "declined", "lost"} <= set(found)
    assert list(found["declined_at"]) == ["0.01", "0.05", "0.10"]
    assert [list(found[key]) for key in ("sizes", "among", "learned")] == [["0", "30"], ["1", "3"], ["0", "2", "5"]]
    assert {key: found["learned"]["0"][key] for key in ("declined", "lost", "auroc")} == {
        key: found[key] for key in ("declined", "lost", "auroc")
    }
    assert set(found["inputs"]) == {"demos", "nothing", "train"}
    assert len(found["samples"]["series"]["told apart"]) == found["n_inside"] + found["n_foreign"]
    run("compare", result, result)
    run("report", result, "-o", tmp_path / "report.md")
    assert "what is declined by plans learned" in (tmp_path / "report.md").read_text()
    out = capsys.readouterr().out
    assert "same" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sizes", "10"], "--sizes needs --train"),
        (["--learn", "10"], "--learn needs --train"),
        (["--among", "x"], "--among must be numbers"),
        (["--among", "0"], "--among must be numbers from 1, found '0'"),
        (["--among", "99"], "--among: 99 of 6 tools cannot be drawn; give numbers from 1 to 6"),
    ],
)
def test_the_command_refuses(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, demos: Path, nothing: Path, options: list[str], words: str
) -> None:
    assert words in refused(capsys, "abstain", tiny_original, "--demos", demos, "--nothing", nothing, *options)


def test_more_cannot_be_learned_than_there_is(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, demos: Path, nothing: Path
) -> None:
    given = ["abstain", tiny_original, "--demos", demos, "--nothing", nothing, "--train", demos, "--learn", "99"]
    assert "--learn 99: --train has 7 demonstrations" in refused(capsys, *given)


def row(declined: float) -> dict[str, Any]:
    spans = {"auroc": (0.9, 1.0), "declined": (declined - 0.1, declined + 0.1), "lost": None}
    at = {"0.01": 0.3, "0.05": 0.8, "0.10": 0.9}
    return {"auroc": 0.95, "declined": declined, "lost": 0.04, "declined_at": at, "intervals": spans}


def test_results_are_tabulated_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    risk = {"0.05": {"coverage": 0.7, "wrong": 0.04, "wrong_with_foreign": None}}
    parts = {"sizes": {"0": row(0.6), "100": row(0.8)}, "learned": {"0": row(0.8), "100": row(0.79)}}
    curve = {"lost": [0.0, 0.5, 1.0], "declined": [0.3, 0.9, 1.0]}
    result = stamped(
        "abstain", n_inside=50, n_foreign=40, bundle_hash="0" * 64, curve=curve, risk=risk, **row(0.8), **parts
    )
    shipped, sizes, learned, risks = measured(json.loads(json.dumps(result)))
    assert shipped.rows[0][:4] == ["as it ships", 0.8, "0.7000–0.9000", 0.04]
    assert [line[:2] for line in sizes.rows] == [["0", 0.6], ["100", 0.8]]
    assert len(learned.rows) == 2
    assert risks.rows == [["0.05", 0.7, 0.04, None]]
    assert [line[0] for line in headline_rows("a", result)] == [
        "declined of foreign requests", "declined of requests in scope", "AUROC of `<end>`",
    ]  # fmt: skip
    assert write_report([("a", result)], tmp_path / "report.html")["figures"] == 3
