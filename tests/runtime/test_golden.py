"""Golden decisions: a bundle says what it decides, and a device finds out whether it does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from permuted import permute_heads
from rewritten import rewrite
from table_samples import table_bundle

import edgeret
from edgeret.bundle.reader import read_manifest
from edgeret.cli.commands import main
from edgeret.errors import BundleError, InputError
from edgeret.runtime import golden as golden_module
from edgeret.runtime.golden import MAX_GOLDEN, golden_checks, golden_decisions
from edgeret.types import END, Tool
from edgeret_export.cut import cut_bundle

KINDS = ("tiny_original", "tiny_many", "tiny_cascade", "tiny_table", "tiny_tools")


def failing(folder: Path) -> dict[str, str]:
    """Details of the checks that fail, by name."""
    found = golden_checks(edgeret.load(folder, threads=1))
    return {check["name"]: check["detail"] for check in found if not check["ok"]}


def told(folder: Path, **decision: object) -> Path:
    """The bundle with its first golden decision changed."""
    info = dict(read_manifest(folder).info)
    first, *others = info["decisions"]
    rewrite(folder, {}, {**info, "decisions": [{**first, **decision}, *others]})
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_bundle_says_what_it_decides_and_decides_it(kind: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(kind)
    runtime = edgeret.load(folder, threads=1)
    golden = golden_decisions(runtime)
    assert 8 <= len(golden) <= MAX_GOLDEN
    assert {each.tool for each in golden if not each.history} > {END, "find_file", "write_note"}
    assert any(each.history for each in golden) == (kind != "tiny_tools")
    assert failing(folder) == {}
    names = [check["name"] for check in golden_checks(runtime)]
    assert ("golden decisions, table" in names) == (kind == "tiny_cascade")


@pytest.mark.parametrize("kind", ["tiny_original", "tiny_many", "tiny_cascade"])
def test_heads_that_are_not_the_builds_are_found_out(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = permute_heads(Path(shutil.copytree(request.getfixturevalue(kind), tmp_path / "bundle")))
    wrong = failing(folder)
    assert "golden decisions" in wrong
    assert "found" in wrong["golden decisions"]
    assert ("golden decisions, table" in wrong) == (kind == "tiny_cascade")


def test_doctor_compares_what_the_bundle_was_built_with(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime = edgeret.load(tiny, overlay=True)
    runtime.with_tools(remove=["play_music"], add=[Tool("song_player", "play my song")], keep=True).close()
    assert main(["doctor", str(tiny), "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["golden decisions"]["detail"].startswith("16 of 16")
    assert main(["doctor", str(permute_heads(tiny)), "--json"]) == 1


def test_a_bundle_that_says_nothing_is_compared_by_its_vectors(tiny: Path) -> None:
    info = {key: value for key, value in read_manifest(tiny).info.items() if key != "decisions"}
    rewrite(tiny, {}, info)
    (check,) = (c for c in golden_checks(edgeret.load(tiny)) if c["name"] == "golden decisions")
    assert check["ok"]
    assert "none in this bundle" in check["detail"]


@pytest.mark.parametrize("wrong", [{"tool": "send_fax"}, {"probability": 0.5}, {"history": ["send_fax"]}])
def test_one_wrong_decision_fails_where_vectors_are_the_same(tiny: Path, wrong: dict) -> None:
    assert list(failing(told(tiny, **wrong))) == ["golden decisions"]


def test_where_vectors_are_further_away_most_must_hold(
    tiny_many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden_module, "golden_cosines", lambda _: [0.99])
    folder = Path(shutil.copytree(tiny_many, tmp_path / "bundle"))
    assert "golden decisions" not in failing(told(folder, tool="send_fax"))
    assert "golden decisions" in failing(permute_heads(folder))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"probability": 1.5}, '"probability" must lie between 0 and 1'),
        ({"tool": 7}, '"tool" must be str'),
        ({"history": [3]}, '"history" must hold strings only'),
        ({"history": ["play_music"] * 300}, "nobody can make"),
        ({"history": [END]}, "nobody can make"),
        ({"query": " "}, "empty"),
    ],
)
def test_a_forged_decision_is_refused(tiny: Path, wrong: dict, words: str) -> None:
    with pytest.raises((BundleError, InputError), match=words):
        golden_decisions(edgeret.load(told(tiny, **wrong)))


def test_too_many_decisions_are_refused(tiny: Path) -> None:
    info = dict(read_manifest(tiny).info)
    rewrite(tiny, {}, {**info, "decisions": info["decisions"] * 2})
    with pytest.raises(BundleError, match="32 decisions, at most 16 are allowed"):
        golden_decisions(edgeret.load(tiny))


def test_a_bundle_with_fewer_tokens_decides_the_same(tmp_path: Path) -> None:
    base = table_bundle()
    info = dict(read_manifest(base).info)
    mine = Path(shutil.copytree(base, tmp_path / "mine"))
    decided = [{"query": "knit a jumper for the hedgehog", "history": [], "tool": END, "probability": 1.0}]
    rewrite(mine, {}, {**info, "decisions": decided})
    small = cut_bundle(mine, tmp_path / "small", 0).path
    queries = [edgeret.load(folder).task(decided[0]["query"]).probabilities() for folder in (mine, small)]
    assert queries[0].tolist() == queries[1].tolist()
