"""A table of token vectors for a real vocabulary, at random."""

from __future__ import annotations

from pathlib import Path

from conftest import tiny_card, tiny_exported, unmeasured
from shared import once

import edgeret
from edgeret.runtime.bases import PACKAGED
from edgeret_export.build import assemble, encode_with
from edgeret_export.encoders.encodings import Encodings, start
from edgeret_export.recipe import Recipe
from edgeret_export.sources.priors import read_prior
from edgeret_export.writer import writing


def table_bundle() -> Path:
    """A tiny bundle with the base's tools and its 30,522 tokens: not to be changed."""
    return once("table-of-a-real-vocabulary", _make)


def _make(target: Path) -> None:
    exported = tiny_exported(read_by=(PACKAGED / "tokenizer.json").read_bytes())
    recipe, tools = Recipe(precision="fp32", profile="tiny"), list(edgeret.load(PACKAGED).tools.values())
    passed = unmeasured(exported, Encodings(start(exported)), tools, recipe)
    encoded = encode_with(passed, recipe, [], tools, read_prior("tiny"))
    with writing(target) as writer:
        assemble(writer, tiny_card(), encoded, recipe)
