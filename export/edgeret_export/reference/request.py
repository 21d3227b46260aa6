"""One request: what is computed once of it, and what once a step.

Knows nothing of planners, of thresholds and of reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from math import exp, inf, log
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.errors import InputError
from edgeret.quoting import quoted
from edgeret.runtime.history import History
from edgeret.runtime.learned_plan import Origin
from edgeret.runtime.ranking import Ranking, ranked
from edgeret.types import Call, Candidate
from edgeret_export.reference.again import Again
from edgeret_export.reference.arranged import Arranged
from edgeret_export.reference.evidence import evidence, part_of
from edgeret_export.reference.fits import Fits
from edgeret_export.reference.inputs.spelling import spelling
from edgeret_export.reference.known import Known
from edgeret_export.reference.learned_then import LearnedThen
from edgeret_export.reference.scoring.calibration import Map
from edgeret_export.reference.scoring.head import log_softmax
from edgeret_export.reference.scoring.log_shares import log_shares
from edgeret_export.reference.scoring.reading import Reading, log_going_on
from edgeret_export.reference.scoring.wishes import Wishes
from edgeret_export.reference.stopwatch import Stopwatch

MATTERS = log(0.01)
"""Log of the share from which on tools without demonstrations matter, if the plan surely went on."""
HOPELESS = log(0.003)
"""Where the best of them has no more before any call, they are not read anew at every step. On ultratool-plans 96 of
100 steps are spared that, and at one of a thousand of these it would have given one of them more than 0.03."""
_NOWHERE = -1


class Request(Fits):
    """A query, encoded once. Immutable.

    `names` are what it decides between: labels (tools, then `<end>`), then tools without demonstrations. `vector` is
    the query's unit vector, float32 (dimension,). `readings` is how many windows of the encoder the query took, and
    `encoded` all that it gave.
    """

    aside = ""  # what else a decision rests on, in words
    _also: NDArray[np.intp] = np.empty(0, np.intp)  # positions that are decided between whatever a search finds

    def __init__(
        self,
        scorer: Arranged,
        query: str,
        watch: Stopwatch,
        allowed: NDArray[np.bool_] | None,
        part: tuple[EncodedQuery, NDArray[np.intp] | None] | None = None,
    ) -> None:
        """Use `Scorer.read`. `part` is for one wish of a request: what the whole's encoding says of it, and what the
        whole decides between."""
        components = scorer.components
        self._scorer, self._query, self._components = scorer, query, components
        self.encoded = encoded = components.encoder.encode_query(query, watch) if part is None else part[0]
        self.vector, self.readings = encoded.vector, encoded.readings
        self._near = near = scorer.near(query, self.vector, allowed, self._also) if part is None else part[1]
        if near is None:
            self.names = scorer.names
        seen = evidence(query, encoded, scorer.arranged.lexicon, near)
        self._allowed = allowed if near is None or allowed is None else allowed[near]
        alone = None
        if seen.wishes is not None:  # a function without this request, which would else keep itself alive
            alone = partial(_alone, scorer, encoded, allowed, near)
        self._reading = Reading(scorer.arranged.prior(near), seen, alone)
        said = seen.shared.said
        self.named = tuple(map(self._name, said)) if said else ()
        watch.lap("search")
        if components.graph is not None:
            self._place = components.graph.locate(self.vector)
        watch.lap("graph")
        if components.head is not None:
            cosines, static = self._reading.cosines, self._reading.static
            self._query_logits = components.head.query_logits(self.vector, cosines, static, spelling(query), said)
        if components.memory is not None:
            self._neighbours = components.memory.near(self.vector)
        self._choosable = allowed  # of all names, where `_allowed` is of those that a search found
        # How the same query is read anew, and what it decides between: what explains a decision when this is gone.
        among = scorer.names, self._near, self._allowed
        self.again = Again(type(self), scorer, query, allowed, self._beside, ref(self), among)
        self._known: Known | None = None
        self._steps: dict[tuple[str, ...], NDArray[np.float32]] = {}  # the bundle's own word, which learning asks for
        watch.lap("head")

    @property
    def query(self) -> str:
        """The user's words."""
        return self._query

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the query decides between; looked up when somebody asks, in many places of memory."""
        every = self._scorer.names
        return every if self._near is None else tuple(map(every.__getitem__, self._near.tolist()))

    @cached_property
    def _position(self) -> Mapping[str, int]:
        every = self._scorer.position
        return every if self._near is None else {name: i for i, name in enumerate(self.names)}

    def _name(self, place: int) -> str:
        """One of `names`."""
        return self._scorer.names[place if self._near is None else self._near.item(place)]

    @property
    def _beside(self) -> Mapping[str, Any]:
        """What this kind of request is read with, beside a query."""
        return {}

    @property
    def learned_then(self) -> LearnedThen | None:
        """What the last `probabilities` rest on of all that was learned here; None where nothing of it counts."""
        return None if self._known is None else self._known.then

    @property
    def reading(self) -> Reading:
        """What the prior makes of the query, for whoever measures it."""
        return self._reading

    @property
    def query_logits(self) -> NDArray[np.float32]:
        """The head's logits as far as the query alone gives them, by calls made, float32 (stages, labels); a copy."""
        return self._query_logits.copy()

    def probabilities(self, history: History, watch: Stopwatch) -> NDArray[np.float32]:
        """Calibrated probabilities of `names` after a history, float32, summing to 1; 0 for those that may not be
        chosen. Before any call `<end>` has the probability that nothing fits."""
        logs, points = self._fused(history, watch)
        found = self._calibrated(logs, history, points) if history.calls else self._first(logs, history, points)
        watch.lap("fuse")
        return found

    def _fused(self, history: History, watch: Stopwatch) -> tuple[NDArray[np.float32], Map]:
        """Log-scores of `names` by the bundle and by what was learned, and the map that calibrates them."""
        logs, points = self.scores(history, watch), self._components.calibration.map
        learned = self._scorer.learned
        if not learned.count:
            self._known = None
        else:
            watch.lap("fuse")
            calls = tuple([call.tool for call in history.calls])
            self._steps[calls] = logs
            logs, self._known = learned.predict(logs, self.vector, self._position, calls, self._known)
            points = learned.calibrated(points)
            watch.lap("learned")
        return logs, points

    def _first(self, logs: NDArray[np.float32], history: History, points: Map) -> NDArray[np.float32]:
        """Probabilities before any call, from log-scores, which are used up: those of the tools if something fits,
        calibrated, and that of `<end>`, that nothing does."""
        end, shown, known = self._scorer.end, 0.0, self.familiarity
        if known.means.no_tool:
            log_shares(logs)
            shown = exp(logs.item(end))
        logs[end] = -inf
        share = 1.0 if self._allowed is None and not history.blocked and len(logs) > 1 else self._left(logs, history)
        if not share:
            logs.fill(0)
            logs[end] = 1.0
            return logs
        nothing = self._nothing(known, shown)
        if share < 1:  # what failed takes nothing from the odds between the others, of which `<end>` is one
            nothing /= nothing + (1 - nothing) * share
        found = self._calibrated(logs, history, points, 1 - nothing)
        if found.item(end):  # where one tool is left, a map gives `<end>` what it lacks
            found *= (1 - nothing) / (1 - nothing - found.item(end))
        found[end] = nothing
        return found

    def _left(self, logs: NDArray[np.float32], history: History) -> float:
        """The share of what tools that may be chosen have, by log-scores, which those have that did not fail."""
        shares = np.exp(logs - max(logs.item(logs.argmax()), -1e30))
        if self._allowed is not None:
            shares[~self._allowed] = 0
        before = float(shares.sum())
        shares[[self._position[name] for name in history.blocked if name in self._position]] = 0
        return float(shares.sum()) / before if before else 0.0

    def choice(self, history: History, watch: Stopwatch) -> str:
        """The most probable of `names`, whether or not the query is like the demonstrations."""
        return self.names[self.probabilities(history, watch).argmax()]

    def learn(self, calls: Sequence[str], origin: Origin, keep_words: bool) -> None:
        """Learns that these calls solve the query. Raises InputError for tools that are not here, and OverlayError."""
        if unknown := [name for name in calls if name not in self._position]:
            raise InputError(f"unknown tool {quoted(unknown[0])} in a plan to learn; add it with: edgeret tools add")
        rows = [self._steps.get(tuple(calls[:i])) for i in range(len(calls) + 1)]
        if any(row is None for row in rows):
            rows = self._walked(calls, rows)
        query = self._query if keep_words else None
        self._scorer.learned.learn(query, calls, origin, self.vector, log_softmax(np.array(rows)), self._position)

    def _walked(
        self, calls: Sequence[str], known: Sequence[NDArray[np.float32] | None]
    ) -> list[NDArray[np.float32] | None]:
        """The bundle's own word at every step of these calls, where it is not `known`."""
        rows, history = list(known), History()
        for i, row in enumerate(known):
            if row is None:
                rows[i] = self.scores(history, Stopwatch())
            if i < len(calls):
                history.add(Call(calls[i]))
        return rows

    def prior_scores(self, calls: Sequence[Call]) -> NDArray[np.float32]:
        """The prior's log-probabilities of `names` after these calls, float32."""
        return self._reading.log_probabilities(self._made(calls), self._allowed)

    def left_aside(self, history: History) -> tuple[str, ...]:
        """The user's words for wishes that no call of a history is for."""
        return self._reading.left_aside(self._made(history.calls)) if self._reading.asks_several else ()

    def _unseen(self, history: History, labels: int) -> NDArray[np.float32]:
        """Logs of what tools without demonstrations, which stand behind so many labels, weigh beside all of these
        together: float32 (unseen,)."""
        first = self._first_unseen
        if not history.calls or self._hopeless:
            return first
        return self._unseen_after(self._made(history.calls), labels)

    @cached_property
    def _first_unseen(self) -> NDArray[np.float32]:
        """The same before any call. Kept, since it serves all steps where these tools have no prospect."""
        return self._unseen_after([], len(self._scorer.labels))

    @cached_property
    def _hopeless(self) -> bool:
        return not len(self._first_unseen) or self._first_unseen.max().item() <= HOPELESS

    def _unseen_after(self, calls: list[int], labels: int) -> NDArray[np.float32]:
        every = self._reading.allowed_scores(calls, self._allowed)
        scores, best = self._components.calibration.unseen_scores(every, labels, self._popularity())
        # Whether the plan goes on is asked only where that can move a decision: it costs half of the prior's step.
        if scores.item(scores.argmax()) > MATTERS:
            scores += np.float32(log_going_on(self._reading.end_logit(calls, best)))
        return scores

    def _made(self, calls: Sequence[Call]) -> list[int]:
        return [self._position.get(call.tool, _NOWHERE) for call in calls]

    def head_scores(self, history: History) -> NDArray[np.float32]:
        """Log-probabilities of the head alone, of the labels (labels,) or of all `names` where it rests on the prior at
        every step; for whoever measures it. Raises InputError for a bundle from tools alone."""
        head = self._components.head
        if head is None:
            raise InputError("this bundle was built from tools alone and has no head; build one with demonstrations")
        logits = head.logits(self._query_logits, self._scorer.numbers(history))
        if not head.prior_steps:
            return log_softmax(logits)
        prior = self.prior_scores(history.calls)
        return log_softmax(head.beside(logits, prior, prior + self._popularity()))

    def scores(self, history: History, watch: Stopwatch) -> NDArray[np.float32]:
        """Everything fused: log-probabilities of `names` up to a constant, float32, before any calibration. The graph
        is walked here, and nowhere else; where it has a say."""
        components = self._components
        head, graph, calibration = components.head, components.graph, components.calibration
        if head is None or graph is None:
            return self.prior_scores(history.calls)
        walked, later = None, bool(history.calls)
        if head.prior_steps or calibration.asks_graph(later):
            walked = graph.distribution(self._place, self._scorer.numbers(history), normalise=False)
        watch.lap("graph")
        logits = head.logits(self._query_logits, self._scorer.numbers(history))
        if walked is None or not head.prior_steps:
            watch.lap("head")
            fused, n = calibration.fuse(logits, walked, later), len(logits)
            self._doubt_end(fused, history)
            return fused if len(self.names) == n else _before(fused, self._unseen(history, n))
        prior = self.prior_scores(history.calls)
        popular = prior + self._popularity()
        full = log_softmax(head.beside(logits, prior, popular))
        watch.lap("head")
        fused = calibration.fuse_all(full, walked, self._recalled(history, popular))
        self._doubt_end(fused, history)
        return fused

    def _doubt_end(self, fused: NDArray[np.float32], history: History) -> None:
        """Where demonstrations would end a plan though a wish is open, takes from `<end>` what that weighs."""
        end = self._scorer.end
        if self._reading.asks_several and history.calls and fused.argmax() == end:
            fused[end] += np.float32(self._reading.end_offset(self._made(history.calls)))

    def _recalled(self, history: History, popular: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """What stored steps say, log-probabilities of `names`, float32; None without a memory."""
        memory = self._components.memory
        return (
            None
            if memory is None
            else memory.log_probabilities(self._neighbours, self._scorer.numbers(history), popular)
        )

    def _popularity(self) -> NDArray[np.float32]:
        popularity = self._scorer.popularity
        return popularity if self._near is None else popularity[self._near]

    def _calibrated(
        self, logs: NDArray[np.float32], history: History, points: Map, whole: float = 1.0
    ) -> NDArray[np.float32]:
        """Probabilities that sum to the `whole`, from log-scores, which are used up. What may not be chosen is left out
        before calibrating, so the others keep their odds."""
        allowed = self._allowed
        if blocked := history.blocked:
            allowed = np.ones(len(logs), bool) if allowed is None else allowed.copy()
            allowed[[self._position[name] for name in blocked if name in self._position]] = False
        calibrate = self._components.calibration.calibrate_logs
        if allowed is None:
            return calibrate(logs, points, whole)
        left = logs[allowed]
        logs.fill(0)
        logs[allowed] = calibrate(left, points, whole)
        return logs

    def ranking(self, values: NDArray[np.float32], k: int | None, blocked: frozenset[str]) -> Ranking:
        """The same for values that are probabilities, and stay as they are; sorted when somebody looks, who by then
        keeps the values alive and not the request."""
        best, (names, near, allowed) = int(values.argmax()), self.again.among
        first = Candidate(names[best if near is None else near.item(best)], values.item(best))
        return Ranking(first, lambda: ranked(names, near, allowed, values, k, blocked))

    def ranked(
        self, values: NDArray[np.float32], k: int | None, blocked: frozenset[str] = frozenset()
    ) -> tuple[Candidate, ...]:
        """The first `k` of `names` that may be chosen and are not `blocked` by `values`, which measure how well they
        fit; equal ones keep their order."""
        return ranked(self._scorer.names, self._near, self._allowed, values, k, blocked)


def _alone(
    scorer: Arranged,
    encoded: EncodedQuery,
    allowed: NDArray[np.bool_] | None,
    near: NDArray[np.intp] | None,
    wishes: Wishes,
) -> NDArray[np.float32]:
    """Log-scores of the tools for each wish before any call, read as a request of its own, from the whole's one
    encoding: float32 (wishes, n), -inf at `<end>`."""
    rows = []
    for said, span in zip(wishes.said, wishes.spans, strict=True):
        request = Request(scorer, said, Stopwatch(), allowed, (part_of(encoded, span), near))
        rows.append(request.scores(History(), Stopwatch()))
    found = np.stack(rows)
    found[:, scorer.end if near is None else near.searchsorted(scorer.end)] = -inf
    return found


def _before(scores: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Log-probabilities of labels, from their scores, and behind them others' (as they are)."""
    found = np.concatenate((scores, others))
    log_shares(found[: len(scores)])
    return found
