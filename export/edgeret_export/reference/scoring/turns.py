"""What comes next in a later turn of a conversation: a mixture over tools, and apart from it whether the turn is over.

Three experts share the tools. `whole` weighs all of them, `last` those of the last plan that are still to come ("no, to
Jonas": its end again), and `earlier` those that were called in any earlier turn. Gates say how much each counts. All of
it rests on two distributions that the runtime has anyway: of the new words after this turn's calls alone, and after
the calls of all turns. Nothing is taken from the language of the words but how many there are. The weights are shipped
beside this file; `edgeret-export lab turns` fits them. Knows nothing of text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import BundleError
from edgeret.fields import get, get_number
from edgeret.records import dataclass

LEAST_LOG, LEAST_CONFIDENCE, MOST_LOGIT = -12.0, -6.0, 10.0
"""Where logarithms of shares, of the best tool's share, and log-odds of `<end>` are cut off."""
USUAL_WORDS = 2.0
"""What is taken off the logarithm of words, so that a turn of six counts nothing."""
JUST_BELOW = 0.99
"""What `<end>` keeps of the best tool's probability where it may not lead."""
EXPERTS = ("whole", "last", "earlier")
SHAPES: Mapping[str, tuple[int, ...]] = {"whole": (5,), "last": (4,), "earlier": (2,), "gates": (2, 9), "end": (17,)}
"""How many weights there are of each kind."""
WEIGHTS_FILE = Path(__file__).with_name("turns.json")


@dataclass(frozen=True, slots=True)
class TurnStep:
    """A step of a later turn.

    `alone` and `onward` are probabilities, float32 (n,), after this turn's calls and after those of all turns.
    `allowed` (n,) is what may be chosen. `end` is where `<end>` stands, and `words` how many the turn has. `last` are
    the positions of the last plan's calls, `earlier` of all earlier turns', `made` of this one's, in order; negative
    for a tool that is not among the n.
    """

    alone: NDArray[np.float32]
    onward: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    end: int
    words: int
    last: Sequence[int]
    earlier: Sequence[int]
    made: Sequence[int]


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What the weights weigh: for every expert its features (n, k) and the tools that it shares out, bool (n,); the
    features of the gates of `last` and `earlier` (2, 9), and those of the end (17,)."""

    features: tuple[NDArray[np.float64], ...]
    tools: tuple[NDArray[np.bool_], ...]
    gates: NDArray[np.float64]
    end: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TurnWeights:
    """One number for each of the evidence's features, in SHAPES, as nested tuples.

    Where it is less probable than `nothing`, 0 to 1, that a turn asks for nothing, the best tool leads: so a follow-up
    of a word or two is not declined for fitting several tools.
    """

    whole: tuple[float, ...]
    last: tuple[float, ...]
    earlier: tuple[float, ...]
    gates: tuple[tuple[float, ...], ...]
    end: tuple[float, ...]
    nothing: float

    def to_dict(self) -> dict[str, Any]:
        """The weights as plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> TurnWeights:
        """Reads them back. Raises BundleError where one is missing or no number."""
        found: dict[str, Any] = {"nothing": get_number(value, "nothing", 0, 1, where)}
        for name, shape in SHAPES.items():
            try:
                numbers = np.array(get(dict(value), name, list, where), np.float64)
            except (TypeError, ValueError):
                numbers = np.empty(0)
            if numbers.shape != shape or not np.isfinite(numbers).all():
                raise BundleError(f"{where}: {name} must be numbers of shape {shape}; install edgeret again")
            found[name] = tuple(map(tuple, numbers.tolist())) if len(shape) == 2 else tuple(numbers.tolist())
        return TurnWeights(**found)


@cache
def shipped_weights(demonstrated: bool) -> TurnWeights:
    """The weights for bundles with demonstrations, or for tools alone. Raises BundleError for a damaged file."""
    kind = "demonstrated" if demonstrated else "tools"
    return TurnWeights.from_dict(json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))[kind], str(WEIGHTS_FILE))


def turn_evidence(step: TurnStep) -> TurnEvidence:
    """The evidence of a step."""
    n, end = len(step.alone), step.end
    alone, alone_end = _apart(step.alone, end)
    onward, onward_end = _apart(step.onward, end)
    words, left, follows = log(step.words + 1) - USUAL_WORDS, *_left(step.last, step.made)
    some = step.allowed.copy()
    some[end] = False
    last, earlier = some & _flag(n, left), some & _flag(n, step.earlier)
    confidence = max(LEAST_CONFIDENCE, alone[some].max().item()) if some.any() else LEAST_CONFIDENCE
    in_last, in_earlier = _log_share(alone, last), _log_share(alone, earlier)
    made, then = _flag(n, step.made).astype(float), float(len(step.made) > 0)
    final = _flag(n, step.last[-1:] if not step.made else ())
    halves = np.array([1.0 - then, then])
    gates = [
        np.concatenate([np.outer((1.0, words, share, confidence), halves).ravel(), (float(bool(follows)) * is_last,)])
        for share, is_last in ((in_last, 1.0), (in_earlier, 0.0))
    ]
    said = (1.0, alone_end, onward_end, words, confidence, alone_end * words, 0.3 * in_last)
    over = float(bool(step.made) and bool(step.last) and step.made[-1] == step.last[-1])
    return TurnEvidence(
        (
            np.stack([alone, onward, made, alone * words, onward * words], axis=1),
            np.stack([alone, onward, _flag(n, follows), final], axis=1),
            np.stack([alone, onward], axis=1),
        ),
        (some, last, earlier),
        np.array(gates),
        np.concatenate([np.outer(halves, said).ravel(), (float(len(step.made) == 1), over, float(bool(follows)))]),
    )


def next_probabilities(step: TurnStep, weights: TurnWeights) -> NDArray[np.float32]:
    """Probabilities of all n after a step's calls, float32 (n,), summing to 1."""
    seen = turn_evidence(step)
    shares = [
        _softmax(features @ np.array(getattr(weights, name)), tools)
        for name, features, tools in zip(EXPERTS, seen.features, seen.tools, strict=True)
    ]
    logits = np.concatenate(((0.0,), (seen.gates * np.array(weights.gates)).sum(axis=1)))
    counted = _softmax(logits, np.array([tools.any() for tools in seen.tools]))
    over = 1.0 / (1.0 + np.exp(-(seen.end @ np.array(weights.end)))) if seen.tools[0].any() else 1.0
    found = (1.0 - over) * sum(count * share for count, share in zip(counted, shares, strict=True))
    best = found.max()
    if not step.made and best < over < weights.nothing:
        over = best * JUST_BELOW
    found[step.end] = over
    return np.asarray(found / found.sum(), np.float32)


def _apart(probabilities: NDArray[np.float32], end: int) -> tuple[NDArray[np.float64], float]:
    """Logarithms of the tools' shares if the turn goes on (0 at `<end>`), and the log-odds of its end."""
    over = min(max(probabilities.item(end), 1e-7), 1 - 1e-7)
    shares = np.log(np.maximum(probabilities, 1e-12, dtype=np.float64)) - log(1 - over)
    np.maximum(shares, LEAST_LOG, out=shares)
    shares[end] = 0.0
    return shares, min(MOST_LOGIT, max(-MOST_LOGIT, log(over / (1 - over))))


def _left(last: Sequence[int], made: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """What of the last plan is still to come, and the call that follows the one made last; all of it before any."""
    if not made:
        return last, ()
    if made[-1] not in last:
        return (), ()
    behind = last[last.index(made[-1]) + 1 :]
    return behind, behind[:1]


def _flag(n: int, positions: Sequence[int]) -> NDArray[np.bool_]:
    found = np.zeros(n, bool)
    found[[position for position in positions if position >= 0]] = True
    return found


def _log_share(logs: NDArray[np.float64], tools: NDArray[np.bool_]) -> float:
    return max(LEAST_LOG, float(np.logaddexp.reduce(logs[tools]))) if tools.any() else LEAST_LOG


def _softmax(scores: NDArray[np.float64], among: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Shares that sum to 1 among some, float64 (n,); 0 for all where there are none."""
    found = np.zeros(len(scores))
    if among.any():
        found[among] = np.exp(scores[among] - scores[among].max())
        found /= found.sum()
    return found
