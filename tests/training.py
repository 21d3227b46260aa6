"""Training sets of few numbers, for fits that are followed by hand."""

from __future__ import annotations

import numpy as np
from conftest import TOOLS

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import SEGMENTS, SPELLING_BUCKETS, Call
from edgeret_export.fitting.decisions import Decisions, number_decisions
from edgeret_export.fitting.training_set import PriorScores, Queries, TrainingSet

F, S, W, P = "find_file", "send_mail", "write_note", "play_music"


def plan(*tools: str, links: tuple[tuple[int, int], ...] | None = None) -> Demonstration:
    """A demonstration of these calls."""
    return Demonstration("x", "words", tuple(Call(t) for t in tools), links)


def two_topics() -> tuple[Decisions, np.ndarray]:
    """The decisions of 40 plans of two kinds, whose queries' vectors lie in two directions."""
    rng = np.random.default_rng(1)
    topic = np.arange(40) % 2
    vectors = np.eye(2, 6)[topic] + 0.1 * rng.normal(size=(40, 6))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return number_decisions([plan(F, S) if t == 0 else plan(W, P) for t in topic], TOOLS), vectors


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
