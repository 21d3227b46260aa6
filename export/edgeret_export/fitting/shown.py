"""What tools show by example, as a build takes it: vectors beside the tools' own, and never plans. Taught as
demonstrations of one call they end every plan behind the first one. Fits nothing.

A sentence that is demonstrated too would be its own nearest example, and heads would learn that whoever asks comes as
near as that: it counts as demonstrated alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import plain
from edgeret.types import Tool
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.index import as_stored
from edgeret_export.reference.shown import owners_of


def shown_examples(tools: Sequence[Tool], vectors: NDArray[np.float32]) -> Examples | None:
    """What the tools show, of the vectors of all their sentences (sentences, dimension), as a reader of the bundle will
    have them; None for nothing."""
    return Examples.of(as_stored(vectors, "int8") if len(vectors) else vectors, owners_of(tools))


def undemonstrated(tools: Sequence[Tool], demonstrations: Sequence[Demonstration]) -> list[Tool]:
    """The tools without examples whose words were demonstrated."""
    known = {plain(demonstration.query) for demonstration in demonstrations}
    return [
        replace(tool, examples=kept)
        if len(kept := tuple(said for said in tool.examples if plain(said) not in known)) < len(tool.examples)
        else tool
        for tool in tools
    ]
