"""What tools show by example, as a build takes it: vectors beside the tools' own where nothing was demonstrated, and
demonstrations of one call where something was. Fits nothing.

Where heads are fitted, both at once would be wrong: a sentence that is demonstrated would be its own nearest example,
and heads would learn that whoever asks comes as near as that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.shown import owners_of
from edgeret.scoring.examples import Examples
from edgeret.scoring.index import as_stored
from edgeret.types import Call, Tool
from edgeret_export.fitting.training_set import plain


def shown_examples(tools: Sequence[Tool], vectors: NDArray[np.float32]) -> Examples | None:
    """What the tools show, of the vectors of all their sentences (sentences, dimension), as a reader of the bundle will
    have them; None for nothing."""
    return Examples.of(as_stored(vectors, "int8") if len(vectors) else vectors, owners_of(tools))


def with_shown(demonstrations: Sequence[Demonstration], tools: Sequence[Tool]) -> list[Demonstration]:
    """The demonstrations, and behind them the examples as such, but for those whose words were demonstrated. Without
    any demonstration none."""
    known = {plain(demonstration.query) for demonstration in demonstrations}
    shown = [(tool.name, said) for tool in tools for said in tool.examples if plain(said) not in known]
    added = [Demonstration(f"{name}: {said}", said, (Call(name),)) for name, said in shown] if known else []
    return [*demonstrations, *added]
