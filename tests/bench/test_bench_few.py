"""Builds on few demonstrations, with a made-up encoder: nested samples, the sizes measured, and refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_cli import encoded_tiny, printed, refused, run, write_demonstrations, write_tools
from conftest import TOOLS, make_demonstrations, tiny_card

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret_bench.accuracy import few, next_tool
from edgeret_export.encoded import Encoded
from edgeret_export.encoders.encodings import start
from edgeret_export.recipe import Recipe

RECIPE = Recipe(precision="fp32")
TRAIN = make_demonstrations()
TEST = [replace(d, query=f"{d.query} please") for d in make_demonstrations(1)]
METRICS = {"top1", "mrr", "first_tool_top1", "search_first_tool_top1"}


@pytest.fixture(scope="module")
def encoded() -> Encoded:
    return encoded_tiny(None, RECIPE, TRAIN, TOOLS)


@pytest.fixture(scope="module")
def found(encoded: Encoded) -> dict[str, Any]:
    return few.run(tiny_card(), RECIPE, encoded, TEST, (30, 3, 56))


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with the made-up encoder."""
    monkeypatch.setattr("edgeret_export.build.encode", encoded_tiny)
    monkeypatch.setattr("edgeret_export.sources.cards.find_card", lambda _: tiny_card())


def test_a_result_has_the_keys_of_the_contract(found: dict[str, Any]) -> None:
    assert (found["n_train"], found["n_plans"], found["n_steps"], found["n_fitting"]) == (56, 7, 17, 6)
    assert (found["seed"], found["repeats"], found["repeated_queries"]) == (0, 1, 0)
    assert list(found["sizes"]) == ["3", "30", "56"]
    for row in found["sizes"].values():
        assert set(row) == {*METRICS, "ece", "intervals", "top1_by_repeat", "bundle_hashes"}
        assert all(0 <= row[key] <= 1 for key in (*METRICS, "ece"))
        assert set(row["intervals"]) == METRICS
        assert all(low <= row[key] <= high for key, (low, high) in row["intervals"].items())
        assert row["top1_by_repeat"] == [row["top1"]]
    assert len({row["bundle_hashes"][0] for row in found["sizes"].values()}) == 3
    assert {len(values) for values in found["samples"]["series"].values()} == {17}
    json.dumps(found, allow_nan=False)


def test_more_demonstrations_teach_more_and_search_knows_none_of_them(found: dict[str, Any]) -> None:
    least, *_, most = found["sizes"].values()
    for key in ("top1", "mrr"):
        assert least[key] < most[key]
    assert least["first_tool_top1"] <= most["first_tool_top1"]
    assert least["search_first_tool_top1"] == most["search_first_tool_top1"] < most["first_tool_top1"]


def test_the_largest_size_gives_the_figures_of_next_tool(found: dict[str, Any], tiny_original: Path) -> None:
    beside = next_tool.run(edgeret.load(tiny_original), TEST, ["fused"])
    most = found["sizes"]["56"]
    assert (most["top1"], most["mrr"]) == (beside["methods"]["fused"]["top1"], beside["methods"]["fused"]["mrr"])
    assert most["ece"] == pytest.approx(beside["calibration"]["ece"])
    assert found["samples"]["series"]["56 top1"] == beside["samples"]["series"]["fused top1"]
    assert found["samples"]["groups"] == beside["samples"]["groups"]


def test_a_sample_lies_within_every_larger_one_and_a_seed_repeats_it(
    encoded: Encoded, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[set[str]] = []

    def note(card: object, recipe: object, part: Encoded, test: Sequence[Demonstration]) -> few.Measured:
        drawn.append({d.id for d in part.training.demonstrations})
        rows = {"steps": [{"top1": 1.0, "mrr": 1.0}], "plans": [0], "confidence": [1.0], "correct": [True]}
        return few.Measured("hash", **rows)  # type: ignore[arg-type]

    monkeypatch.setattr(few, "_build_and_measure", note)
    for seed in (0, 0, 1):
        few.run(tiny_card(), RECIPE, encoded, TEST, (5, 20, 40), 2, seed)
    assert [len(ids) for ids in drawn] == [5, 5, 20, 20, 40, 40] * 3
    for first in range(12):
        if first % 6 < 4:
            assert drawn[first] < drawn[first + 2]
    assert drawn[0] != drawn[1]
    assert drawn[:6] == drawn[6:12]
    assert drawn[0] != drawn[12]


def test_a_part_is_what_encoding_it_alone_would_give(encoded: Encoded) -> None:
    chosen = np.array([2, 9, 30])
    queries = [start(encoded.exported).encode_query(demonstration.query) for demonstration in TRAIN]
    part = few.part(encoded, queries, chosen, 0).training
    alone = encoded_tiny(None, RECIPE, [TRAIN[i] for i in chosen], TOOLS)
    assert part.decisions.labels == alone.training.decisions.labels
    for plan in range(3):
        assert part.queries.parts(plan) == pytest.approx(alone.training.queries.parts(plan), abs=1e-6)


def test_repeats_are_averaged_and_all_of_the_demonstrations_are_drawn_once(encoded: Encoded) -> None:
    found = few.run(tiny_card(), RECIPE, encoded, TEST, (3, 56), 2)
    part, whole = found["sizes"].values()
    assert len(part["top1_by_repeat"]) == len(set(part["bundle_hashes"])) == 2
    assert part["top1"] == pytest.approx(np.mean(part["top1_by_repeat"]))
    assert len(whole["top1_by_repeat"]) == 1


def test_sizes_above_what_there_is_become_all_there_is(encoded: Encoded, capsys: pytest.CaptureFixture[str]) -> None:
    found = few.run(tiny_card(), RECIPE, encoded, TEST, (5000, 300, 56))
    assert list(found["sizes"]) == ["56"]
    assert "56 demonstrations are all there are" in capsys.readouterr().err


def test_requests_that_no_tool_fits_say_nothing_of_the_first_tool(encoded: Encoded) -> None:
    row = few.run(tiny_card(), RECIPE, encoded, [d for d in TEST if not d.calls], (30,))["sizes"]["30"]
    assert (row["first_tool_top1"], row["search_first_tool_top1"]) == (None, None)
    assert row["top1"] == 1.0
    assert row["intervals"]["top1"] is None  # of one plan


def test_no_demonstrations_are_the_tools_alone(encoded: Encoded) -> None:
    row = few.run(tiny_card(), RECIPE, encoded, TEST, (0,), 4)["sizes"]["0"]
    assert len(row["top1_by_repeat"]) == 1
    assert row["first_tool_top1"] > 0


@pytest.mark.parametrize(("sizes", "repeats"), [((), 1), ((10, -1), 1), ((10,), 0)])
def test_sizes_that_make_no_sense_are_refused(sizes: Sequence[int], repeats: int) -> None:
    with pytest.raises(InputError, match="--sizes must be numbers of demonstrations from 0 and --repeats at least 1"):
        few.check(sizes, repeats)


@pytest.mark.usefixtures("made_up")
def test_the_command_measures_the_sizes_given_and_prints_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    train, test = (write_demonstrations(tmp_path / f"{len(d)}.jsonl", d) for d in (TRAIN, TEST))
    given = ["few", "--tools", write_tools(tmp_path / "tools.jsonl", TOOLS), "--train", train, "--demos", test]
    found = printed(capsys, *given, "--sizes", "0, 30,", "--repeats", "2", "-o", tmp_path / "few.json")
    assert list(found["sizes"]) == ["0", "30"]
    assert set(found["inputs"]) == {"tools", "train", "demos"}
    assert found["encoder"] == {"card": "tiny", "precision": "fp32"}
    assert (found["kind"], found["n_tools"], found["bundle"]) == ("few", 6, None)
    run("compare", tmp_path / "few.json", tmp_path / "few.json")
    capsys.readouterr()
    run(*given, "--sizes", "0")
    out, err = capsys.readouterr()
    assert "by search" in out
    assert "· 0 demonstrations: top-1" in err


@pytest.mark.usefixtures("made_up")
@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--sizes", "x", "--sizes must be numbers with commas between them, found 'x'"),
        ("--sizes", "0.5", "--sizes must be numbers"),
        ("--sizes", "30,-1", "--sizes must be numbers of demonstrations from 0"),
        ("--sizes", ",", "--sizes must be numbers of demonstrations from 0"),
        ("--repeats", "0", "--repeats"),
        ("--seed", "-1", "seed"),
        ("--train", "/gone.jsonl", "/gone.jsonl"),
    ],
)
def test_the_command_refuses(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    option: str,
    value: str,
    expected: str,
) -> None:
    monkeypatch.setattr("edgeret_export.build.encode", lambda *_: pytest.fail("encoded although the options are wrong"))
    demos = write_demonstrations(tmp_path / "demos.jsonl", TEST)
    tools = write_tools(tmp_path / "tools.jsonl", TOOLS)
    options = ["--tools", tools, "--train", demos, "--demos", demos, f"{option}={value}"]
    assert expected in refused(capsys, "few", *options)
