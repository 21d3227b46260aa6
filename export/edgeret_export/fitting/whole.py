"""What ships: graph and head, fitted on all demonstrations with what cross-fitting chose."""

from __future__ import annotations

from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import TOLERANCE, fit_from
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.parameters import Parameters
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.scoring.graph import GraphTables
from edgeret_export.reference.scoring.head import HeadArrays

MOST_STEPS = 600
"""Of the head's fit; 3,000 to 8,000 demonstrations take some 180."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What both are fitted on, and how; and from where the head's fit starts."""

    training: TrainingSet
    n_clusters: int
    order: int
    options: HeadOptions
    start: Parameters | None = None


def fit_whole(given: Whole, what: str) -> GraphTables | HeadArrays:
    """The tables of the "graph", or the arrays of the "head". The stage that every place runs."""
    with threadpool_limits(1):
        if what == "graph":
            return fit_graph(given.training, given.n_clusters, given.order)
        return fit_from(given.start, given.training, given.options, MOST_STEPS, TOLERANCE)[0].arrays
