"""One request as the prior reads it: scores of all tools, step by step. Knows nothing of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from math import exp, inf, log, log1p

import numpy as np
from numpy.typing import NDArray

from edgeret.types import SEGMENTS
from edgeret_export.reference.scoring.cover import first_nearest, furthest, largest, least_covered, nearest
from edgeret_export.reference.scoring.flow import Pairs
from edgeret_export.reference.scoring.log_shares import log_shares
from edgeret_export.reference.scoring.nothing import MOST_TOOLS
from edgeret_export.reference.scoring.prior import ASKED, CALLED, COSINE, SAID, Evidence, Prior
from edgeret_export.reference.scoring.static_scores import scores_before_any_call, static_scores
from edgeret_export.reference.scoring.wishes import ALONE, DEPTH, KEPT, Alone, Wishes, WishScores, behind

_COVERED = 1e-6


class Reading:
    """One request. Immutable, but for what it keeps to be faster.

    `static` is the part of the scores that no call changes, float32 (n,), 0 at `<end>`. `cosines` are those of the
    whole request and its thirds to every tool, float32 (1 + SEGMENTS, n), and `nearest_example` is that of the whole to
    the nearest example that a tool shows, None where none does; `shown` (n,) is what all examples add to scores.
    """

    def __init__(self, prior: Prior, evidence: Evidence, alone: Alone | None = None) -> None:
        """Reads a request among the prior's tools; `alone` reads its wishes one by one, where somebody can."""
        self._prior, self._alone = prior, alone
        e, rows, n_windows = evidence.shared, 1 + SEGMENTS, evidence.passages.n_windows
        products = prior.cosines(evidence.passages.vectors)
        self.cosines = products[:rows]
        self._windows = products[rows : rows + n_windows]
        self._clauses = products[rows + n_windows :]
        self._count, self._shared, self._asked = evidence.words, e, evidence.wishes
        self._put = evidence.put
        self._spent_by: dict[frozenset[int], NDArray[np.float32]] = {}
        self._window, self._clause = self._windows.max(axis=0), self._clauses.max(axis=0)
        self.static = static_scores(prior, e, self._window, self._clause, self._gives)
        self._begun = scores_before_any_call(prior, self.cosines[1:], self.static, self._clauses[0], self._window)
        self._opposed, self._values = evidence.opposed, evidence.values
        if self._opposed is not None:
            self._add(self._turned(self._opposed))
        if evidence.changing is not None:
            self._add(np.float32(-ASKED) * evidence.changing)
        for position in e.said:
            if position != prior.end:
                self.static[position] += np.float32(SAID)
                self._begun[position] += np.float32(SAID)
        self.nearest_example: float | None = None
        self.shown: NDArray[np.float32] | None = None
        if prior.examples is not None:
            self.nearest_example = prior.examples.nearest(evidence.passages.vectors[0])
            self.shown = prior.examples.gained(evidence.passages, np.maximum(self.cosines[0], self._clause))
            self._add(self.shown)
        if prior.weights.tool.values and self._values is not None:
            self._add(np.float32(prior.weights.tool.values) * self._valued())

    def _add(self, gained: NDArray[np.float32]) -> None:
        """Adds to the scores that no call changes (n,)."""
        gained[self._prior.end] = 0.0
        self.static += gained
        self._begun += gained

    def _valued(self) -> NDArray[np.float32]:
        """What kinds of values speak for each tool, as search weighs them, float32 (n,)."""
        values, weights = self._values, self._prior.weights.values
        return np.zeros(self._prior.n, np.float32) if values is None else values.weighed(weights)

    def _turned(self, opposed: NDArray[np.float32]) -> NDArray[np.float32]:
        """What opposites weigh, float32 (n,)."""
        weights = self._prior.weights.tool
        found: NDArray[np.float32] = np.array((weights.opposed, weights.agrees), np.float32) @ opposed
        found[self._prior.end] = 0.0
        return found

    def features(self, calls: Sequence[int]) -> dict[str, NDArray[np.float32]]:
        """All evidence for every tool after `calls` (positions, negative for a tool that is not here), by the names of
        `ToolWeights`, float32 (n,) each; for whoever fits the weights, and to see what `scores` adds up."""
        e, prior, made = self._shared, self._prior, {call for call in calls if call >= 0}
        clause, behind = self._reached(calls)
        last = calls[-1] if calls else -1
        was_called, still_needed = prior.named.after(made)
        key_was_called, key_still_needed = prior.keyed.after(made)
        spent_name, spent_coverage, _ = self._spent(made)
        found = {
            "name": e.name,
            "parameters": e.parameters,
            "coverage": e.coverage,
            "text": e.text,
            "window": COSINE * self._window,
            "clause": COSINE * self._clause,
            "next_clause": COSINE * self._clauses[clause],
            "third": self._third(len(calls)),
            "later": COSINE * self._later[behind],
            "related": COSINE * prior.related(last) if last >= 0 else np.zeros(prior.n, np.float32),
            "was_called": was_called,
            "still_needed": still_needed,
            "gives": self._gives(prior.named),
            "key_was_called": key_was_called,
            "key_still_needed": key_still_needed,
            "key_gives": self._gives(prior.keyed),
            "spent_name": spent_name,
            "spent_coverage": spent_coverage,
            "opposed": np.zeros(prior.n, np.float32) if self._opposed is None else self._opposed[0],
            "agrees": np.zeros(prior.n, np.float32) if self._opposed is None else self._opposed[1],
            "values": self._valued(),
        }
        due = self._due_wish(made)
        if due is not None:
            found = {name: KEPT * value for name, value in found.items()}
        return {**found, "due": np.zeros(prior.n, np.float32) if due is None else due}

    def scores(self, calls: Sequence[int]) -> NDArray[np.float32]:
        """The tools' scores after `calls`, float32 (n,): right up to a constant; -inf at `<end>`."""
        prior, weights = self._prior, self._prior.weights.tool
        if calls:
            clause, behind = self._reached(calls)
            scores: NDArray[np.float32] = self._due[min(len(calls), SEGMENTS - 1)].copy()
            scores += self._next_clauses[clause]
            scores += self._laters[behind]
            if calls[-1] >= 0:
                scores += prior.related_weighed(calls[-1])
            made = {call for call in calls if call >= 0}
            for pairs, was_called, still_needed in (
                (prior.named, weights.was_called, weights.still_needed),
                (prior.keyed, weights.key_was_called, weights.key_still_needed),
            ):
                for taker, satisfied in pairs.served(made).items():
                    scores[taker] += np.float32(was_called - (still_needed if satisfied else 0.0))
            scores += self._spent(made)[2]
        else:
            made, scores = set(), self._begun.copy()
        if self._asked is not None and weights.due and (due := self._due_wish(made)) is not None:
            best = scores.max()
            scores -= best
            scores *= KEPT
            scores += np.float32(weights.due) * due
            scores += best
        for call in made:
            scores[call] -= np.float32(CALLED)
        scores[prior.end] = -np.inf
        return scores

    def log_probabilities(self, calls: Sequence[int], allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Log-probabilities of all tools and `<end>` after `calls`, float32 (n,); -inf for those not `allowed` (n,)."""
        scores, best = self.among_tools(calls, allowed)
        logit = self.end_logit(calls, best)
        scores += np.float32(log_going_on(logit))
        scores[self._prior.end] = -log1p(exp(-logit))
        return scores

    def among_tools(
        self, calls: Sequence[int], allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float32], float]:
        """The same if the plan goes on: `<end>` has -inf, and the tools sum to 1. With it the best score, -inf if no
        tool is left."""
        scores = self.allowed_scores(calls, allowed)
        return scores, log_shares(scores)

    def allowed_scores(self, calls: Sequence[int], allowed: NDArray[np.bool_] | None) -> NDArray[np.float32]:
        """`scores`, with -inf at tools that are not `allowed`, too."""
        scores = self.scores(calls)
        if allowed is not None:
            scores[~allowed] = -np.inf
        return scores

    def end_logit(self, calls: Sequence[int], best: float) -> float:
        """The log-odds that the plan is complete after `calls`, or that nothing fits before any, in [-30, 30], or inf
        if no tool is left; `best` is the best tool's score."""
        if best == -inf:
            return inf
        logit = self._end(best, calls) if calls else self._nothing(best)
        return min(30.0, max(-30.0, logit))

    def nothing_features(self, best: float) -> dict[str, float]:
        """The evidence that no tool fits, by the names of `NothingWeights`."""
        put, tools = self._put(), max(1, self._prior.n - 1)
        return {
            "constant": 1.0,
            "best": best,
            "cosine": largest(self.cosines[0]),
            "window": max(largest(self._window), largest(self._clause)),
            "name": largest(self._shared.name),
            "tools": log(min(tools, MOST_TOOLS)),
            "explained": log1p(put.explained),
            "words": log1p(put.words),
            "question": float(put.form.question),
            "explains": float(put.form.explains),
            "bare": float(put.form.bare),
        }

    def end_features(self, best: float, calls: Sequence[int]) -> dict[str, float]:
        """The evidence that the plan is complete, by the names of `EndWeights`."""
        prior, e, here = self._prior, self._shared, [call for call in calls if call >= 0]
        windows, k, made = self._windows, len(calls), set(here)
        window = nearest(windows, here)
        clause = nearest(self._clauses, here)
        spent_name, spent_coverage, _ = self._spent(made)
        reached = max(first_nearest(windows, call) for call in here) + 1 if here else 0
        return {
            "constant": 1.0,
            "words_by_call": log(self._n_words / k),
            "least_window": least_covered(window, self._best_windows),
            "least_clause": least_covered(clause, self._best_clauses),
            "drop": self._first_best - best,
            "best": best,
            "windows_left": (len(windows) - reached) / len(windows),
            "tools": log(min(prior.n, MOST_TOOLS)),
            "fresh_name": (e.name - spent_name).max().item(),
            "fresh_coverage": (e.coverage - spent_coverage).max().item(),
            "fresh_window": COSINE.item() * furthest(window, self._best_windows),
            "fresh_clause": COSINE.item() * furthest(clause, self._best_clauses),
            "unused": float(calls[-1] >= 0 and prior.named.unused(calls[-1], made)),
            "key_unused": float(calls[-1] >= 0 and prior.keyed.unused(calls[-1], made)),
            **self._open(made),
        }

    def _open(self, made: Collection[int]) -> dict[str, float]:
        """What is left of a request that asks for several things."""
        found = dict.fromkeys(("open", "open_clear", "answered"), 0.0)
        if self._wishes is not None and not (left := self._wishes.open(made)):
            found["answered"] = 1.0
        elif self._wishes is not None:
            clear = max(self._wishes.clearness(wish, made) for wish in left)
            found |= {"open": 1.0, "open_clear": clear}
        return found

    @property
    def asks_several(self) -> bool:
        """Whether the request may ask for several things."""
        return self._asked is not None

    def left_aside(self, calls: Sequence[int]) -> tuple[str, ...]:
        """The wishes that none of the calls is for, in the user's words."""
        if self._wishes is None or self._asked is None or (asked := self._asked()) is None:
            return ()
        return tuple(asked.said[wish] for wish in self._wishes.open({call for call in calls if call >= 0}))

    def end_offset(self, calls: Sequence[int]) -> float:
        """What an open wish adds to the log-odds that the plan is complete, whatever was demonstrated."""
        weights, found = self._prior.weights.end, self._open({call for call in calls if call >= 0})
        return weights.open * found["open"] + weights.open_clear * found["open_clear"]

    def wish_features(self, wishes: Wishes) -> dict[str, NDArray[np.float32]]:
        """The evidence for every tool that each of these wishes is for it, by the names of `WishWeights`, float32
        (wishes, n) each."""
        n, (_, tables) = self._prior.n, self._words
        cosines = COSINE * self._clauses[wishes.rows]
        others = (cosines.sum(axis=0) - cosines) * np.float32(1 / (len(cosines) - 1))
        shared = wishes.words[:, : len(tables)].astype(np.float32) @ tables[:, : 2 * n]
        covered = shared[:, n:]
        covered /= np.maximum(covered.max(axis=1, keepdims=True), np.float32(_COVERED))
        return {"cosine": cosines, "apart": cosines - others, "name": shared[:, :n], "coverage": covered}

    def _due_wish(self, made: Collection[int]) -> NDArray[np.float32] | None:
        """How far the tools are behind the best one of the first wish that no call is for (n,); None without one."""
        if self._wishes is None or not (left := self._wishes.open(made)):
            return None
        due: NDArray[np.float32] = self._wishes.behind[left[0]]
        return due

    @cached_property
    def _wishes(self) -> WishScores | None:
        """How much of each wish every tool is; None where the request asks for one thing."""
        if self._asked is None or (found := self._asked()) is None:
            return None
        weights, scores = self._prior.weights.wish, np.zeros((len(found.rows), self._prior.n), np.float32)
        for name, value in self.wish_features(found).items():
            scores += np.float32(getattr(weights, name)) * value
        for row, opposed in zip(scores, found.opposed, strict=True):
            if opposed is not None:
                row += self._turned(opposed)
        scores[:, self._prior.end] = -np.inf
        if self._alone is not None:
            scores = behind(scores, DEPTH) + behind(self._alone(found), ALONE)
            scores[:, self._prior.end] = -np.inf
        named, keyed = self._prior.named, self._prior.keyed
        return WishScores(scores, lambda tool: [*named.givers(tool), *keyed.givers(tool)])

    @cached_property
    def _n_words(self) -> int:
        return self._count()

    def _spent(self, made: Collection[int]) -> NDArray[np.float32]:
        """What the words of the tools `made` add to every tool's name and coverage, and what that weighs: float32
        (3, n). Kept, since both a step's scores and its end ask for it."""
        key = frozenset(made)
        found = self._spent_by.get(key)
        if found is None:
            has, tables = self._words
            explained = has[:, [*key]].any(axis=1).astype(np.float32)
            found = self._spent_by[key] = (explained @ tables).reshape(3, self._prior.n)
        return found

    @cached_property
    def _words(self) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Which tools have each of the request's words (words, n), and what it adds to their name and coverage, and to
        their scores once it is spent (words, 3·n)."""
        weights = self._prior.weights.tool
        has, name, coverage = self._shared.hits().tables()
        weighed = np.float32(weights.spent_name) * name + np.float32(weights.spent_coverage) * coverage
        return has, np.hstack((name, coverage, weighed))

    @cached_property
    def _fixed(self) -> NDArray[np.float32]:
        """What the request says whatever was called, with what tools need before any call: (n,)."""
        owed = self._prior.owed
        fixed: NDArray[np.float32] = self.static if owed is None else self.static + owed
        return fixed

    @cached_property
    def _due(self) -> NDArray[np.float32]:
        """The same by how many calls were made, and which third of the request is due then: (SEGMENTS, n)."""
        due: NDArray[np.float32] = self._fixed + np.float32(self._prior.weights.tool.third) * self._thirds
        return due

    @cached_property
    def _thirds(self) -> NDArray[np.float32]:
        """How much nearer each third is than the others, in tenths of a cosine: (SEGMENTS, n)."""
        thirds = self.cosines[1:]
        apart: NDArray[np.float32] = (thirds * np.float32(1.5) - thirds.sum(axis=0) * np.float32(0.5)) * COSINE
        return apart

    def _third(self, made: int) -> NDArray[np.float32]:
        third: NDArray[np.float32] = self._thirds[min(made, SEGMENTS - 1)]
        return third

    @cached_property
    def _later(self) -> NDArray[np.float32]:
        """The best cosine of each window or one behind it (windows, n)."""
        return np.maximum.accumulate(self._windows[::-1], axis=0)[::-1]

    @cached_property
    def _laters(self) -> NDArray[np.float32]:
        weighed: NDArray[np.float32] = np.float32(self._prior.weights.tool.later * COSINE) * self._later
        return weighed

    @cached_property
    def _next_clauses(self) -> NDArray[np.float32]:
        weighed: NDArray[np.float32] = np.float32(self._prior.weights.tool.next_clause * COSINE) * self._clauses
        return weighed

    @cached_property
    def _first_best(self) -> float:
        return float(self.scores(()).max())

    @cached_property
    def _best_windows(self) -> list[float]:
        best: list[float] = np.maximum(self._windows.max(axis=1), np.float32(_COVERED)).tolist()
        return best

    @cached_property
    def _best_clauses(self) -> list[float]:
        best: list[float] = np.maximum(self._clauses.max(axis=1), np.float32(_COVERED)).tolist()
        return best

    @cached_property
    def _wanted(self) -> NDArray[np.float32]:
        """How much the request wants each tool, taken at face value, float32 (n,)."""
        e = self._shared
        wanted = 8 * self._window + 2 * e.name + 2 * e.coverage + 4 * self._clause + 3 * self.cosines[0]
        wanted = np.exp(3 * (wanted - wanted.max()))
        wanted[self._prior.end] = 0.0
        shares: NDArray[np.float32] = wanted / max(wanted.sum(), _COVERED)
        return shares

    def _gives(self, pairs: Pairs) -> NDArray[np.float32]:
        return pairs.gives(self._wanted)

    def _reached(self, calls: Sequence[int]) -> tuple[int, int]:
        """The clause and the window behind those that the last call was for."""
        if not calls or calls[-1] < 0:
            return 0, 0
        clause, window = first_nearest(self._clauses, calls[-1]), first_nearest(self._windows, calls[-1])
        return min(clause + 1, len(self._clauses) - 1), min(window + 1, len(self._windows) - 1)

    def _nothing(self, best: float) -> float:
        if self._shared.said:
            return -SAID
        weights = self._prior.weights.nothing
        return float(sum(getattr(weights, name) * value for name, value in self.nothing_features(best).items()))

    def _end(self, best: float, calls: Sequence[int]) -> float:
        weights = self._prior.weights.end
        return float(sum(getattr(weights, name) * value for name, value in self.end_features(best, calls).items()))


def log_going_on(end_logit: float) -> float:
    """The log-probability that a plan is not complete."""
    return -log1p(exp(end_logit))
