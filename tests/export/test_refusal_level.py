"""How readily many tools alone decline: no more than nine of ten sayings that nobody's tools serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import TOOLS, WORDS, encode_tiny, make_demonstrations, tiny_card

import edgeret
from edgeret.bundle import roles
from edgeret.bundle.reader import open_bundle
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import END, Tool
from edgeret_export import refusal_level
from edgeret_export.build import assemble
from edgeret_export.fitting.familiarity import read_sayings
from edgeret_export.recipe import Recipe
from edgeret_export.refusal_level import FEWEST, FURTHEST, MOST, lowered_by
from edgeret_export.writer import writing

MANY = [Tool(f"{a}_{b}", f"{a} the {b}") for a, b in zip(WORDS, [*WORDS[7:], *WORDS[:7]], strict=True)]
MANY = [*MANY, *(Tool(f"{tool.name}_again", f"{tool.description} once more") for tool in MANY)][: FEWEST + 4]
SAYINGS = read_sayings()


def built(
    folder: Path, tools: Sequence[Tool], constant: float, demonstrations: Sequence[Demonstration] = ()
) -> tuple[Path, float]:
    """A bundle by a prior of that constant of "nothing fits", and the constant that the bundle has."""
    recipe = Recipe(precision="fp32", profile="full")
    encoded = encode_tiny(recipe, demonstrations, tools)
    weights = encoded.prior.weights
    usual = replace(weights, nothing=replace(weights.nothing, constant=constant))
    with writing(folder) as writer:
        assemble(writer, tiny_card(), replace(encoded, prior=replace(encoded.prior, weights=usual)), recipe)
    return folder, open_bundle(folder).manifest.info[roles.INFO_PRIOR]["nothing"]["constant"]


def test_many_tools_that_decline_nearly_everything_decline_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert built(tmp_path / "bounded", MANY, 12.0)[1] == 12.0 - FURTHEST
    assert built(tmp_path / "calm", MANY, -9.0)[1] == -9.0
    monkeypatch.setattr(refusal_level, "FURTHEST", 100.0)
    folder, constant = built(tmp_path / "eager", MANY, 12.0)
    assert constant < 12.0 - FURTHEST
    runtime = edgeret.load(folder)
    assert lowered_by(runtime, SAYINGS) <= 0.01
    ahead = sum(
        max(zip(task.probabilities(), task.names, strict=True))[1] == END for task in map(runtime.task, SAYINGS)
    )
    assert MOST - 0.05 <= ahead / len(SAYINGS) <= MOST + 0.01


@pytest.mark.parametrize("case", ["few", "demonstrated", "shown"])
def test_others_keep_the_level_that_other_peoples_tools_gave(case: str, tmp_path: Path) -> None:
    tools = {"few": MANY[: FEWEST - 1], "shown": [replace(MANY[0], examples=("a wish of it",)), *MANY[1:]]}.get(case)
    shown = make_demonstrations(1) if case == "demonstrated" else ()
    assert built(tmp_path / case, tools or [*TOOLS, *MANY], 12.0, shown)[1] == 12.0
