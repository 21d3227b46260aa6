"""What a build says of declining: sayings that no tool fits, and held-out requests that one does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, encode_tiny, make_demonstrations

import edgeret
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import END, Call, Tool
from edgeret_export.encoders.encodings import start
from edgeret_export.fitting import declines
from edgeret_export.fitting.crossfit import Fitted
from edgeret_export.fitting.familiarity import Edge
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.recipe import Recipe
from edgeret_export.told import told_of_declining


def test_there_are_sayings_of_all_kinds_and_none_twice() -> None:
    every = declines.sayings([Tool("x", "zzz")])
    assert len(every) == len(set(every)) > 190
    assert {"hmm", "when were umbrellas first used", "move two hundred euros to my savings"} <= set(every)


def test_what_a_tool_might_serve_after_all_is_not_counted() -> None:
    left = set(declines.sayings([Tool("play_music", "Plays songs"), Tool("currency", "Converts euros")]))
    assert not left & {"put on something by mozart", "how many ounces are in two kilos"}
    assert {"when were umbrellas first used", "hmm"} <= left
    assert "when were umbrellas first used" not in declines.sayings([Tool("webSearch", "Looks on the internet")])


def test_what_was_demonstrated_is_not_counted(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    encoder = start(encode_tiny(Recipe(precision="fp32"), make_demonstrations(), TOOLS).exported)
    found = declines.foreign(runtime, TOOLS, encoder, None)
    assert found["n_foreign"] == len(declines.sayings(TOOLS))
    assert 0 <= found["declined"] <= 1
    shown = [Demonstration(said, said, (Call(TOOLS[0].name),)) for said in declines.sayings(TOOLS)[:30]]
    training = encode_tiny(Recipe(precision="fp32"), shown, TOOLS).training
    assert declines.foreign(runtime, TOOLS, encoder, training).get("n_foreign", 0) <= found["n_foreign"] - 30


def test_held_out_requests_are_lost_to_the_end_and_to_the_floor() -> None:
    training = encode_tiny(Recipe(precision="fp32"), make_demonstrations(1), TOOLS).training
    assert training is not None
    names = training.decisions.labels
    found = np.full((len(training.decisions), len(names)), 0.5 / len(names), np.float32)
    found[:, 0] = 0.6
    first = np.flatnonzero(training.decisions.first() & ~training.decisions.acceptable()[:, names.index(END)])
    found[first[0]] = 0.01
    found[first[1], names.index(END)] = 0.9
    fitted = Fitted.of_nothing(Edge(1.0), 3, HeadOptions(), ((), ()))
    held = HeldOut(names, np.arange(len(found)), found, found[:, 0], found[:0])
    told = declines.in_scope(training, replace(fitted, held_out=held))
    assert told == {"n_inside": len(first), "lost": round(2 / len(first), 4)}
    assert declines.in_scope(training, fitted) == declines.in_scope(None, fitted) == {}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            {"declined": 0.812, "lost": 0.04},
            "declines 81 of 100 requests that no tool fits, and 4 of 100 that one does",
        ),
        ({"declined": 1.0}, "declines 100 of 100 requests that no tool fits"),
        ({"lost": 0.04}, ""),
        ({}, ""),
    ],
)
def test_a_build_says_it_in_words(found: dict[str, Any], words: str) -> None:
    assert told_of_declining(found) == words
