"""What every part of a decision says on its own, and what it weighs in the whole. Knows nothing of how it is told.

The parts add up: a decision's log-probabilities are the sum of its parts' own ones, each times its weight, up to a
constant and before calibration. Parts that stand within another one say what that one is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf, log, nan

import numpy as np
from numpy.typing import NDArray

from edgeret.core.explained import Explained
from edgeret.inputs.words import forms
from edgeret.runtime.history import History
from edgeret.types import END, Vote
from edgeret_export.reference.components import Components
from edgeret_export.reference.inputs.values import values_in
from edgeret_export.reference.learned_then import LearnedThen
from edgeret_export.reference.lexicon import tool_words
from edgeret_export.reference.moment import Moment
from edgeret_export.reference.nearby import cluster, nearest
from edgeret_export.reference.request import Request
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.scoring.head import log_softmax
from edgeret_export.reference.scoring.memory import Memory
from edgeret_export.reference.stopwatch import Stopwatch

MOST_WORDS = 12
"""Of a request, told for each candidate."""
MEANING = frozenset({"window", "clause", "next_clause", "third", "later", "related"})
FLOW = frozenset({"was_called", "still_needed", "gives", "key_was_called", "key_still_needed", "key_gives"})
VALUES = "values"
"""The prior's evidence by the encoder's vectors, by what tools give and take, by kinds of values; all else is
words."""
_UNKNOWN = np.float32(np.nan)


@dataclass(frozen=True)
class Asked:
    """A decision, for whom its parts speak, and the probability that it gave to `<end>`."""

    request: Request
    history: History
    scorer: Scorer
    learned: LearnedThen | None
    end: float

    @property
    def components(self) -> Components:
        """What decided."""
        return self.scorer.components

    @property
    def later(self) -> bool:
        """Whether a call was made."""
        return bool(self.history.calls)

    @property
    def numbers(self) -> list[int]:
        """The label numbers of the calls made."""
        return self.scorer.numbers(self.history)

    @property
    def calls(self) -> list[int]:
        """The positions of the calls made, negative for a tool that is not here."""
        position = {name: i for i, name in enumerate(self.request.names)}
        return [position.get(call.tool, -1) for call in self.history.calls]

    @cached_property
    def base_weight(self) -> float:
        """What the bundle's own word counts for beside what was learned."""
        increments, _, base = self.mixed
        return increments + base

    @cached_property
    def mixed(self) -> tuple[float, float, float]:
        """Weights of increments, memory and base."""
        then = self.learned
        if then is None:
            return 0.0, 0.0, 1.0
        weights = [float(weight) for weight in then.weights]
        increments, memory = (then.trust * weight for weight in weights[:2])
        return increments, memory, weights[2] + (1 - then.trust) * sum(weights[:2])

    @cached_property
    def prior_weight(self) -> float:
        """What the prior counts for."""
        head = self.components.head
        return self.base_weight * (1.0 if head is None else self.head_weight * head.arrays.prior_weight)

    @property
    def head_weight(self) -> float:
        """What the head counts for, beside graph and memory."""
        fused, head = self.components.calibration.parameters, self.components.head
        own = self.later and head is not None and not head.prior_steps
        return fused.later_head_weight if own else fused.head_weight

    @property
    def graph_weight(self) -> float:
        """And the graph."""
        fused, head = self.components.calibration.parameters, self.components.head
        own = self.later and head is not None and not head.prior_steps
        return fused.later_graph_weight if own else fused.graph_weight

    @cached_property
    def popularity(self) -> NDArray[np.float32]:
        """The tools' popularity, as the head has it (n,)."""
        near = self.request.again.among[1]
        return self.scorer.popularity if near is None else self.scorer.popularity[near]

    @property
    def first(self) -> bool:
        """Whether `<end>` was judged apart from the tools: before any call, but not in later turns."""
        return not self.later and not self.request.aside

    def nothing(self) -> float | None:
        """The probability that nothing fits, by how far the request is from demonstrations alone; None where nothing
        was demonstrated, and where something was learned since."""
        then = self.learned
        if then is None:
            compared, nearest = self.components.familiarity, None
        elif then.learner.learned == then.learned:
            compared, nearest = self.request.familiarity, then.nearest
        else:
            return None
        distance = self.request.distance_to(compared, nearest)
        return None if distance == inf else compared.unknown / (compared.unknown + compared.fits(distance))


def explained(moment: Moment, compared: Sequence[str], end: float) -> Explained:
    """What was known of these candidates; `end` is the end's probability."""
    request, scorer, history = moment.request, moment.scorer, moment.history()
    similarity, mostly = cluster(request, scorer, history)
    return Explained(
        votes(Asked(request, history, scorer, moment.learned, end), compared),
        _words(moment.query, compared, scorer),
        nearest(request, scorer, moment.learned),
        similarity,
        mostly,
    )


def _words(query: str, compared: Sequence[str], scorer: Scorer) -> dict[str, tuple[str, ...]]:
    """The request's words that each candidate has, and under "" those that no tool has."""
    said = dict(islice(forms(query).items(), MOST_WORDS))
    found = {}
    for name in compared:
        if name != END:
            told = tool_words(scorer.components.tools[name])
            found[name] = tuple(word for stem, word in said.items() if stem in told.text or stem in told.parameters)
    strange = set(scorer.arranged.lexicon.lacking(query))
    return {**found, "": tuple(word for word in said.values() if word in strange)}


@dataclass(frozen=True)
class Part:
    """What a part says: log-probabilities of all names (n,), NaN where it says nothing of one."""

    name: str
    weight: float
    log_p: NDArray[np.float32]
    within: str | None = None


def votes(asked: Asked, compared: Sequence[str]) -> tuple[Vote, ...]:
    """The votes of all parts on these candidates, the first against the second."""
    position = {name: i for i, name in enumerate(asked.request.names)}
    places = [position[name] for name in compared]
    found = []
    for part in (part for speak in PARTS if (part := speak(asked)) is not None):
        said = [float(part.log_p[place]) for place in places]
        shares = {name: None if np.isnan(one) else float(np.exp(one)) for name, one in zip(compared, said, strict=True)}
        apart = said[0] - said[1] if len(said) > 1 else 0.0
        if asked.first and END in compared[:2]:
            apart = _from_nothing(asked, part) * (-1 if compared[0] == END else 1)
        pull = part.weight * apart if np.isfinite(apart) else None
        found.append(Vote(part.name, float(part.weight), shares, pull, part.within))
    return tuple(found)


def _from_nothing(asked: Asked, part: Part) -> float:
    """What a part adds to the log-odds that something fits: all of it comes from one part, since before any call the
    others share what is left."""
    apart = "familiarity" if asked.nothing() is not None else "prior"
    return log(max(1 - asked.end, 1e-12) / max(asked.end, 1e-12)) if part.name == apart else nan


def _labelled(asked: Asked, log_p: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of the labels (labels,) to all names (n,)."""
    found = np.full(len(asked.request.names), _UNKNOWN)
    found[: len(log_p)] = log_p
    return found


def _prior(asked: Asked) -> Part:
    head = asked.components.head
    within = "head" if head is not None and not head.prior_steps else None
    return Part("prior", asked.prior_weight, asked.request.prior_scores(asked.history.calls), within)


def _of_prior(name: str, chosen: Callable[[str], bool]) -> Callable[[Asked], Part | None]:
    """A part of the prior: the evidence whose names are `chosen`."""

    def part(asked: Asked) -> Part | None:
        weights, reading = asked.components.prior.tool, asked.request.reading
        evidence = reading.features(asked.calls)
        terms = [np.float32(getattr(weights, key)) * evidence[key] for key in evidence if chosen(key)]
        scores = np.asarray(sum(terms[1:], terms[0]), np.float32)
        allowed, end = asked.request.again.among[2], asked.request.names.index(END)
        scores[end] = -np.inf
        if allowed is not None:
            scores[~allowed] = -np.inf
        if not scores.max() > -np.inf:
            return None
        log_p = log_softmax(scores)
        log_p[end] = _UNKNOWN
        return Part(name, asked.prior_weight, log_p, "prior")

    return part


def _examples(asked: Asked) -> Part | None:
    """What the sentences that tools show add to the prior."""
    shown, allowed = asked.request.reading.shown, asked.request.again.among[2]
    if shown is None:
        return None
    scores, end = shown.copy(), asked.request.names.index(END)
    scores[end] = -np.inf
    if allowed is not None:
        scores[~allowed] = -np.inf
    log_p = log_softmax(scores)
    log_p[end] = _UNKNOWN
    return Part("examples", asked.prior_weight, log_p, "prior")


def _values(asked: Asked) -> Part | None:
    """Kinds of values, where the request holds one."""
    return _of_prior(VALUES, VALUES.__eq__)(asked) if values_in(asked.request.query) else None


def _head(asked: Asked) -> Part | None:
    head = asked.components.head
    if head is None:
        return None
    logits = head.logits(asked.request.query_logits, asked.numbers)
    return Part("head", asked.base_weight * asked.head_weight, _labelled(asked, log_softmax(logits)))


def _graph(asked: Asked) -> Part | None:
    graph = asked.components.graph
    if graph is None:
        return None
    walked = graph.distribution(graph.locate(asked.request.vector), asked.numbers)
    return Part("graph", asked.base_weight * asked.graph_weight, _labelled(asked, np.log(walked)))


def _memory(asked: Asked) -> Part | None:
    memory, head = asked.components.memory, asked.components.head
    if memory is None or head is None or not head.prior_steps:
        return None
    popular = asked.request.prior_scores(asked.history.calls) + asked.popularity
    said = memory.log_probabilities(memory.near(asked.request.vector), asked.numbers, popular)
    return Part("memory", asked.base_weight * asked.components.calibration.parameters.memory_weight, log_softmax(said))


def _learned(asked: Asked) -> Part | None:
    """What was learned here: the plans nearest then and, as long as nothing more was learned, the increments."""
    then = asked.learned
    if then is None:
        return None
    increments, memory, _ = asked.mixed
    position = {name: i for i, name in enumerate(asked.request.names)}
    at = np.array([position.get(name, -1) for name in then.names], np.intp)
    numbers = {name: i for i, name in enumerate(then.names)}
    history = [numbers.get(call.tool, -2) for call in asked.history.calls]
    base = np.exp(log_softmax(asked.request.scores(asked.history, Stopwatch())))
    labels, weights = Memory.votes(then.neighbours, history)
    remembered = np.float32(then.learner.memory_prior) * base
    here = at[labels] >= 0
    np.add.at(remembered, at[labels][here], weights[here].astype(np.float32))
    log_p = memory * log_softmax(np.log(remembered + np.float32(1e-30)))
    if then.learner.learned == then.learned:
        rows = at[then.learner.increments.labels[: len(then.scores)]]
        added = then.learner.increments.scores(then.scores, history)
        log_p[rows[rows >= 0]] += increments * added[rows >= 0]
    weight = increments + memory
    return Part("learned", weight, log_softmax(log_p / max(weight, 1e-6)))


def _familiarity(asked: Asked) -> Part | None:
    """How far the request is from what was demonstrated: of `<end>` alone."""
    nothing = asked.nothing() if asked.first else None
    if nothing is None:
        return None
    log_p = np.full(len(asked.request.names), _UNKNOWN)
    log_p[asked.request.names.index(END)] = log(max(nothing, 1e-12))
    return Part("familiarity", 1.0, log_p)


PARTS: Sequence[Callable[[Asked], Part | None]] = (
    _head,
    _prior,
    _of_prior("words", lambda key: key not in MEANING and key not in FLOW and key != VALUES),
    _of_prior("meaning", MEANING.__contains__),
    _of_prior("flow", FLOW.__contains__),
    _values,
    _examples,
    _graph,
    _memory,
    _learned,
    _familiarity,
)
"""All that can have a say, in the order in which it is told. What else decides is added here."""
