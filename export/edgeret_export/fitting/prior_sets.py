"""What the prior is fitted on: requests as the runtime reads them, among other people's tools. Encodes nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.scoring.prior import Evidence, Prior


@dataclass(frozen=True, slots=True)
class Request:
    """A query's evidence among a set's tools, and its decisions: `calls` (positions) and, for every number of calls
    made, the positions of what may come next (`<end>` among them). `similar` (2, n) is what its words mean to the
    tools, as search reads it. `joined` requests were made of two others, in the order of their calls."""

    evidence: Evidence
    similar: NDArray[np.float32]
    calls: tuple[int, ...]
    acceptable: tuple[frozenset[int], ...]
    joined: bool = False


@dataclass(frozen=True, slots=True)
class PriorSet:
    """Tools arranged as the runtime does, without weights, with requests. `group` names the source: what is told of
    one source is fitted on the others."""

    name: str
    group: str
    prior: Prior
    requests: tuple[Request, ...]
