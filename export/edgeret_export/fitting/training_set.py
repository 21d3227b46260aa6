"""What every fit takes: decisions, queries, words and folds of demonstrations, in one frozen value. Fits nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import plain
from edgeret.types import SEGMENTS, SPELLING_BUCKETS, Tool
from edgeret_export.fitting.decisions import Decisions, number_decisions
from edgeret_export.fitting.kinds import leave_kinds_out
from edgeret_export.fitting.sample import sample_plans
from edgeret_export.reference.evidence import evidence
from edgeret_export.reference.inputs.spelling import spelling
from edgeret_export.reference.lexicon import Lexicon, tool_flow, tool_words
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.reference.scoring.prior import Prior, PriorWeights
from edgeret_export.reference.scoring.reading import Reading

FOLDS, FOLDS_OF_MANY = 5, 3
"""Of up to FEW_PLANS demonstrations, and of more, where a third held back leaves enough to learn from, and where every
fold costs."""
FEW_PLANS = 1500
"""Demonstrations up to which the head's logits rest on the prior at every step, and a memory ships; with more the head
has learned what both say, and steps are cheaper without them."""
MOST_EXPECTED = 1500
"""Plans whose decisions the prior is asked about, to find how often it expects each tool; of more plans, so many spread
evenly. Every plan takes a millisecond."""
NOT_KEPT = -1
MOST_SCORES = 100_000_000
"""The prior's log-probabilities that are kept, decisions times tools; 400 MB."""


@dataclass(frozen=True, slots=True)
class Queries:
    """What the head sees of all plans' queries: unit vectors (plans, dimension), the unit vectors of their parts
    (kept, SEGMENTS, dimension), the vectors of the labels' tools (labels - 1, dimension), and how the queries are
    spelt (kept, SPELLING_BUCKETS). `places` (plans,) is where each plan is among the kept ones, -1 for those that heads
    do not see; None where all are kept."""

    vectors: NDArray[np.float32]
    segments: NDArray[np.float32]
    label_vectors: NDArray[np.float32]
    spelling: NDArray[np.float32]
    places: NDArray[np.intp] | None = None

    def at(self, plans: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where these plans are in what is kept of those that heads see, and in the prior's scores of them."""
        return plans if self.places is None else self.places[plans]

    def parts(self, plan: int) -> NDArray[np.float32]:
        """Unit vectors of one plan's query and its parts, as the runtime has them (1 + SEGMENTS, dimension)."""
        return np.vstack((self.vectors[plan], self.segments[self._at(plan)]))

    def spelt(self, plan: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """How one plan's query is spelt, as the runtime has it."""
        row = self.spelling[self._at(plan)]
        buckets = np.flatnonzero(row)
        return buckets, row[buckets]

    def _at(self, plan: int) -> int:
        return plan if self.places is None else int(self.places[plan])

    def cosines(self) -> NDArray[np.float32]:
        """Cosines of every query to the labels' tools, 0 for `<end>`, float32 (plans, labels)."""
        return _with_end(self.vectors @ self.label_vectors.T)


@dataclass(frozen=True, slots=True)
class PriorScores:
    """What the prior says of all plans, over `names`: the labels, then the tools that no demonstration calls (n,).

    `static` is the part of its scores that the query alone gives, for the labels, float32 (kept, labels); `steps` its
    log-probabilities at every decision, float32 (rows, n), None where there are too many to keep; `expected` how often
    it expects each of `names` over all decisions, float64 (n,).
    """

    names: tuple[str, ...]
    static: NDArray[np.float32]
    steps: NDArray[np.float32] | None
    expected: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Demonstrations to learn from, or a part of their decisions.

    `decisions` number the plans as `demonstrations`, `queries` and `folds` (plans,) do, whatever part of them is left;
    plans with the same words share a fold, or the answer would be known; so do kinds of requests that no tool fits.
    `seed` is of everything that a fit draws. `judging` are the plans whose held-out predictions say how good a fit is,
    bool (plans,); None for all. `sample` are those that heads are fitted and judged on, where they are too many to fit
    on all, bool (plans,); None for all.
    """

    demonstrations: tuple[Demonstration, ...]
    tools: tuple[Tool, ...]
    decisions: Decisions
    queries: Queries
    prior: PriorScores
    folds: NDArray[np.intp]
    seed: int
    judging: NDArray[np.bool_] | None = None
    sample: NDArray[np.bool_] | None = None

    @property
    def plans(self) -> NDArray[np.intp]:
        """The numbers of the plans that have decisions here, ascending."""
        return np.unique(self.decisions.plan)

    @property
    def row_folds(self) -> NDArray[np.intp]:
        """The fold of every decision (rows,)."""
        return self.folds[self.decisions.plan]

    @property
    def n_folds(self) -> int:
        """How many folds the plans are in."""
        return int(self.folds.max()) + 1

    def different(self) -> int:
        """How many different queries the demonstrations have, whatever their case and spaces."""
        return len({plain(d.query) for d in self.demonstrations})

    def select(self, rows: NDArray[np.bool_]) -> TrainingSet:
        """The same with the decisions that the mask (rows,) marks."""
        steps = None if self.prior.steps is None else self.prior.steps[rows]
        return replace(self, decisions=self.decisions.select(rows), prior=replace(self.prior, steps=steps))

    def bare(self) -> TrainingSet:
        """The same without what fits do not look at, which need not be sent to where they run."""
        return replace(self, demonstrations=(), tools=())

    def written(self) -> TrainingSet:
        """The same with the decisions that follow the order of the file."""
        return self.select(self.decisions.written)

    @property
    def judging_rows(self) -> NDArray[np.bool_]:
        """The decisions of the plans that judge, as they follow the order of the file, bool (rows,)."""
        rows = self.decisions.written
        for plans in (self.judging, self.sample):
            if plans is not None:
                rows = rows & plans[self.decisions.plan]
        return rows

    @property
    def head_plans(self) -> NDArray[np.intp]:
        """The numbers of the plans that heads see, ascending."""
        return np.arange(len(self.folds)) if self.sample is None else np.flatnonzero(self.sample)

    def sampled(self) -> TrainingSet:
        """The same with the decisions that heads are fitted on."""
        return self if self.sample is None else self.select(self.sample[self.decisions.plan])

    def judged_by(self, queries: Collection[str]) -> TrainingSet:
        """The same, judged by the plans of these queries alone."""
        return replace(self, judging=np.array([d.query in queries for d in self.demonstrations], bool))


def training_set(
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    encoded: Iterable[EncodedQuery | Passages],
    tool_vectors: NDArray[np.float32],
    weights: PriorWeights,
    seed: int,
    few: int = FEW_PLANS,
    examples: Examples | None = None,
) -> TrainingSet:
    """The training set of demonstrations, of which there is at least one, whose queries were `encoded`;
    `tool_vectors` (tools, dimension); `encoded` is read once, and not kept. `examples` are what the tools show. Up
    to `few` demonstrations everything rests on the prior at every step."""
    decisions, n = number_decisions(demonstrations, tools), len(demonstrations)
    position = {tool.name: i for i, tool in enumerate(tools)}
    labels = np.array([position[name] for name in decisions.labels[:-1]], np.intp)
    sample = sample_plans(decisions, n, seed)
    places = np.arange(n) if sample is None else np.where(sample, np.cumsum(sample) - 1, NOT_KEPT)
    kept = n if sample is None else int(sample.sum())
    vectors = np.zeros((n, tool_vectors.shape[1]), np.float32)
    segments = np.zeros((kept, SEGMENTS, tool_vectors.shape[1]), np.float32)
    spelt = np.zeros((kept, SPELLING_BUCKETS), np.float32)
    scored = _PriorScoring(decisions, n, few, tools, tool_vectors, weights, kept, examples)
    for plan, (demonstration, found) in enumerate(zip(demonstrations, encoded, strict=True)):
        vectors[plan] = found.rows[0]
        if (place := int(places[plan])) != NOT_KEPT:
            segments[place] = found.rows[1:]
            buckets, values = spelling(demonstration.query)
            spelt[place, buckets] = values
            scored.add(place, plan, demonstration.query, found)
    queries = Queries(vectors, segments, tool_vectors[labels], spelt, None if sample is None else places)
    folds = assign_folds([d.query for d in demonstrations], FOLDS if n <= few else FOLDS_OF_MANY, seed)
    folds = leave_kinds_out(folds, vectors, np.array([not d.calls for d in demonstrations]), seed)
    return TrainingSet(
        tuple(demonstrations), tuple(tools), decisions, queries, scored.scores(), folds, seed, sample=sample
    )


class _PriorScoring:
    """Asks the prior about one plan after the other, as the runtime will."""

    def __init__(
        self,
        decisions: Decisions,
        plans: int,
        few: int,
        tools: Sequence[Tool],
        vectors: NDArray[np.float32],
        weights: PriorWeights,
        read: int,
        examples: Examples | None,
    ) -> None:
        """`read` is how many of the `plans` the prior will be asked about."""
        known = {tool.name: i for i, tool in enumerate(tools)}
        self.names = (*decisions.labels, *(name for name in known if name not in set(decisions.labels)))
        said = [tool_words(tools[known[name]] if name in known else Tool("", "")) for name in self.names]
        arranged = np.zeros((len(self.names), vectors.shape[1]), np.float32)
        for i, name in enumerate(self.names):
            if name in known:
                arranged[i] = vectors[known[name]]
        self._lexicon = Lexicon(said)
        end = len(decisions.labels) - 1
        self._prior = Prior(arranged, end, tool_flow(said, self.names), weights)
        if examples is not None:
            place = {name: i for i, name in enumerate(self.names)}
            self._prior.examples = examples.at(np.array([place[tool.name] for tool in tools], np.intp))
        self._decisions = decisions
        self._rows = np.argsort(decisions.plan, kind="stable")
        self._ends = np.cumsum(np.bincount(decisions.plan, minlength=plans))
        kept = read == plans <= few and len(decisions) * len(self.names) <= MOST_SCORES
        self._static = np.zeros((read, end + 1), np.float32)
        self._steps = np.zeros((len(decisions), len(self.names)), np.float32) if kept else None
        self._expected = np.zeros(len(self.names))
        self._every = 1 if kept else -(-read // MOST_EXPECTED)
        self._asked = 0.0

    def add(self, place: int, plan: int, query: str, encoded: EncodedQuery | Passages) -> None:
        """The prior's scores of a plan's decisions; the plan is the one of number `place` that it is asked about."""
        reading = Reading(self._prior, evidence(query, encoded, self._lexicon))
        self._static[place] = reading.static[: self._static.shape[1]]
        if place % self._every:
            return
        for row in self._rows[self._ends[plan - 1] if plan else 0 : self._ends[plan]].tolist():
            log_p = reading.log_probabilities(self._decisions.histories[row])
            self._expected += self._decisions.weight[row] * np.exp(log_p)
            self._asked += float(self._decisions.weight[row])
            if self._steps is not None:
                self._steps[row] = log_p

    def scores(self) -> PriorScores:
        """What was added up, as of all plans."""
        if len(self._static) < len(self._ends) or self._every > 1:
            self._expected *= float(self._decisions.weight.sum()) / self._asked
        return PriorScores(self.names, self._static, self._steps, self._expected)


def assign_folds(queries: Sequence[str], n_folds: int, seed: int) -> NDArray[np.intp]:
    """A fold for every plan, of at most `n_folds`; plans with the same words share one."""
    groups: dict[str, int] = {}
    group = np.array([groups.setdefault(plain(query), len(groups)) for query in queries], np.intp)
    folds: NDArray[np.intp] = np.random.default_rng(seed).permutation(np.arange(len(groups)) % n_folds)[group]
    return folds.astype(np.intp)


def _with_end(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.hstack((cosines, np.zeros((len(cosines), 1), np.float32)))
