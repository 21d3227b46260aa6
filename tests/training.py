"""Training sets of few numbers, for fits that are followed by hand."""

from __future__ import annotations

import numpy as np

from edgeret.types import SEGMENTS, SPELLING_BUCKETS
from edgeret_export.fitting.decisions import Decisions
from edgeret_export.fitting.training_set import PriorScores, Queries, TrainingSet


def queries_of(vectors: np.ndarray, n_tools: int = 0) -> Queries:
    """Queries without parts and descriptions: what is left is plain logistic regression."""
    n, dimension = vectors.shape
    shapes = (n, SEGMENTS, dimension), (n_tools, dimension), (n, SPELLING_BUCKETS)
    return Queries(vectors, *(np.zeros(shape, np.float32) for shape in shapes))


def training_of(decisions: Decisions, queries: Queries | np.ndarray, seed: int = 0) -> TrainingSet:
    """Decisions of plans whose queries have these vectors; the fits look at no demonstration, and no prior says
    anything."""
    if isinstance(queries, np.ndarray):
        queries = queries_of(queries, len(decisions.labels) - 1)
    n, labels = len(queries.vectors), decisions.labels
    nothing = PriorScores(labels, np.zeros((n, len(labels)), np.float32), None, np.zeros(len(labels)))
    return TrainingSet((), (), decisions, queries, nothing, np.zeros(n, np.intp), seed)
