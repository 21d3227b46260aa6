"""Graphs for other hardware in a build: tried against the original, and written. Makes none itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.encoders.variants import GPU
from edgeret.errors import CheckFailedError
from edgeret.terminal.progress import say
from edgeret_export.encoded import TriedVariant
from edgeret_export.encoders import parity
from edgeret_export.encoders.encodings import Encodings
from edgeret_export.encoders.gate import Gate
from edgeret_export.encoders.targets import Made
from edgeret_export.recipe import AUTO, Recipe
from edgeret_export.writer import BundleWriter

UNTRIED = "not compared with the original: this CPU adds up otherwise than those that it is for"


def chosen_precision(recipe: Recipe) -> str | None:
    """The precision that a build keeps to; None where it tries. For GPUs alone half precision is the encoder."""
    if recipe.precision != AUTO:
        return recipe.precision
    return "fp16" if recipe.target_names == (GPU,) else None


def tried(variants: Iterable[Made], gate: Gate, tools: NDArray[np.float32]) -> Iterator[TriedVariant]:
    """The variants that pass the parity gate, with its figures; queries are read by the variant, and tools found by the
    vectors (tools, dimension) of the bundle's own encoder, as on the device. Raises CheckFailedError for one that does
    not pass."""
    for made in variants:
        name, size = made.variant.name, round(made.size / 1e6, 3)
        if made.encoder is None:
            say(f"{name}: {UNTRIED}")
            yield TriedVariant(made.variant, made.files, {"size_mb": size, "note": UNTRIED})
            continue
        measured = gate.measure(made.size, Encodings(made.encoder), tools, own_tools=False)
        if objections := "; ".join(parity.problems(measured)):
            raise CheckFailedError(
                f"parity gate ({name}): {objections}. Nothing was written; build without --target {made.variant.target}"
            )
        say(f"{name}: {measured.cost()}")
        yield TriedVariant(made.variant, made.files, measured.to_dict())


def write_variants(writer: BundleWriter, variants: Sequence[TriedVariant], licence: str, source: str) -> dict[str, Any]:
    """Writes the variants' files, and gives what the manifest says of them."""
    for each in variants:
        for role, data in each.files.items():
            ending = {roles.MOBILE: "ort", roles.MOBILE_OPERATORS: "config"}.get(role, "onnx")
            writer.add(f"{role}.{ending}", role, data, licence, source)
    return {roles.INFO_VARIANTS: [each.variant.to_dict() for each in variants]} if variants else {}
