"""Figures in pages: written out of results, found where they differ, are stale or beyond what is told in words."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = "docs/measured.md"


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield importlib.import_module("figures")
    for name in ("figures", "figure_tables"):
        sys.modules.pop(name, None)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """README, a page and what results rest on."""
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "examples" / "desktop", tmp_path / "examples" / "desktop")
    text = "Right: <!--= terse methods/fused/top1 .2f -->9.99<!--/--> or <!--= terse n of100 --><!--/-->.\n"
    (tmp_path / PAGE).write_text(text)
    (tmp_path / "README.md").write_text(figures_gone((tmp_path / "README.md").read_text()))
    return tmp_path


def figures_gone(text: str) -> str:
    return text.replace("<!--= ", "<!-- ")


def terse(figures: Any, top1: float) -> dict[str, Any]:
    """A result of the run "terse", as of the files that are there."""
    inputs = {"demos": {"sha256": figures.sha256(ROOT / "examples/desktop/terse.jsonl")}}
    command = ["edgeret-bench", *figures.RUNS["terse"].split()]
    return {"terse": {"methods": {"fused": {"top1": top1}}, "n": 0.5, "inputs": inputs, "command": command}}


def test_a_figure_is_written_and_one_that_differs_is_told(figures: Any, checkout: Path) -> None:
    known = terse(figures, 0.871)
    told = figures.write(checkout, known, check=True)
    assert [line.split(":")[0] for line in told] == [PAGE, PAGE]
    assert "python docs/figures.py" in told[0]
    assert figures.write(checkout, known, check=False) == []
    assert ".2f -->0.87<!--/--> or <!--= terse n of100 -->50<!--/-->" in (checkout / PAGE).read_text()
    assert figures.write(checkout, known, check=True) == []


def test_a_figure_without_a_result_and_a_result_without_a_figure_are_told(figures: Any, checkout: Path) -> None:
    known = terse(figures, 0.871)
    del known["terse"]["n"]
    assert any("not in docs/results" in line for line in figures.write(checkout, known, check=False))
    (checkout / PAGE).write_text("No figure, and <!--= an open mark -->\n")
    told = figures.write(checkout, known, check=False)
    assert f"{PAGE}: a figure's mark has no end; close it with <!--/-->" in told
    assert "docs/results/terse.json: no page has a figure of it" in told


def test_results_beyond_the_bounds_and_stale_ones_are_told(figures: Any, checkout: Path) -> None:
    known = terse(figures, 0.2)
    assert any("is 0.2000, not 0.82 to 1" in line for line in figures.write(checkout, known, check=False))
    known = terse(figures, 0.871)
    (checkout / "examples/desktop/terse.jsonl").write_text("")
    assert any("terse.jsonl has changed since" in line for line in figures.write(checkout, known, check=False))
    known["terse"]["command"].append("--seed=1")
    assert any("not of the command" in line for line in figures.write(checkout, known, check=False))


def test_a_claim_that_readme_makes_no_more_is_told(figures: Any, checkout: Path) -> None:
    (checkout / "README.md").write_text("# edgeret\n")
    told = figures.write(checkout, terse(figures, 0.871), check=False)
    assert sum("README does not say" in line for line in told) == len(figures.CLAIMS)


def test_every_result_that_is_kept_can_be_read(figures: Any) -> None:
    for file in figures.RESULTS.glob("*.json"):
        result = json.loads(file.read_text())
        assert "samples" not in result
        assert file.stem in figures.RUNS
