"""Which tools a request needs, as a loss beside others: an encoder in codes learns it while it is taught what a longer
one makes of texts. Knows nothing of how it is taught, and of files.

A batch has requests of a few sets, and of each set all tools, or of a large one those needed and some that are near.
Its own set's tools are to be told apart (softmax), and what is needed is to lie above a line and all else below it,
the tools of other sets too (sigmoid, as `level` has it): so cosines tell whether anything fits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch.nn import functional

from edgeret_export.encoders.level import above, new_line
from edgeret_export.encoders.pairs import Anchor

Ids = Sequence[int]
FEW = 64
"""Tools of a set that are all in a batch; of a larger one the nearest wrong ones."""
_SETS, _REQUESTS, _NEAR = 5, 13, 3
_SCALE, _HIT, _LEVEL = 20.0, 0.5, 0.3
"""What cosines are multiplied by; what counts that one right tool is first; and that all lie right of the line."""
_WORST, _FAR = 3, 4
"""Wrong tools of a request's own set, and of other sets, that count."""
_APART = -1e4


class Asked(NamedTuple):
    """A set's requests, and its tools' texts."""

    tools: Sequence[str]
    anchors: Sequence[Anchor]


class Batch(NamedTuple):
    """Texts, the first `requests` of which are requests and the others tools; which tools each needs, and which are of
    its own set, bool (requests, tools)."""

    texts: list[str]
    requests: int
    right: torch.Tensor
    own: torch.Tensor


class Chosen:
    """The loss, drawn anew each time. Sets are drawn alike, however many requests they have."""

    def __init__(self, sets: Sequence[Asked], ids: Mapping[str, Ids], seed: int) -> None:
        """`ids` are of all texts, with special tokens. Sets whose requests call nothing are left out."""
        self._sets = [each for each in sets if any(anchor.right for anchor in each.anchors)]
        self._ids, self._draw = ids, random.Random(seed)
        self._waiting: list[list[Anchor]] = [[] for _ in self._sets]
        self.line = new_line()

    def loss(self, read: Callable[[Sequence[Ids]], torch.Tensor]) -> torch.Tensor:
        """Of a batch whose texts are read as unit vectors, (texts, dimension)."""
        batch = self.batch()
        vectors = read([self._ids[text] for text in batch.texts])
        return self.loss_of(vectors[: batch.requests] @ vectors[batch.requests :].T, batch.right, batch.own)

    def batch(self) -> Batch:
        """The next one."""
        asked: list[str] = []
        place: dict[tuple[int, str], int] = {}
        needed: list[tuple[int, list[int]]] = []
        for number in self._draw.sample(range(len(self._sets)), min(_SETS, len(self._sets))):
            tools = self._sets[number].tools
            anchors = list(self._next(number))
            if len(tools) > FEW:
                tools = [text for anchor in anchors for text in self._near(anchor)]
            for text in tools:
                place.setdefault((number, text), len(place))
            for anchor in anchors:
                asked.append(anchor.text)
                needed.append((number, [place[number, text] for text in anchor.needed if (number, text) in place]))
        owner = torch.tensor([number for number, _ in place])
        own = torch.tensor([number for number, _ in needed])[:, None] == owner[None]
        right = torch.zeros_like(own)
        for row, (_, columns) in enumerate(needed):
            right[row, columns] = True
        return Batch([*asked, *(text for _, text in place)], len(asked), right, own)

    def loss_of(self, cosines: torch.Tensor, right: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        """Of cosines (requests, tools)."""
        any_right = right.any(1)
        scores, wanted = cosines[any_right] * _SCALE, right[any_right]
        shares = functional.log_softmax(scores, 1)
        each = -(shares * wanted).sum(1) / wanted.sum(1)
        hit = -torch.logsumexp(shares.masked_fill(~wanted, _APART), 1)
        return each.mean() + _HIT * hit.mean() + _LEVEL * self._level(cosines, right, own)

    def _level(self, cosines: torch.Tensor, right: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        def of(values: torch.Tensor, sign: float) -> torch.Tensor:
            there = values > -1.0
            each = functional.softplus(-sign * above(self.line, values))
            return (each * there).sum() / there.sum().clamp_min(1)

        any_right = right.any(1)
        best = cosines.masked_fill(~right, -1.0).max(1).values[any_right]
        mean = (cosines * right).sum(1)[any_right] / right.sum(1)[any_right]
        worst = cosines.masked_fill(right | ~own, -1.0).topk(min(_WORST, cosines.shape[1]), 1).values
        far = cosines.masked_fill(own, -1.0).topk(min(_FAR, cosines.shape[1]), 1).values
        return of(best, 1.0) + 0.5 * of(mean, 1.0) + of(worst, -1.0) + of(far, -1.0)

    def _next(self, number: int) -> Iterator[Anchor]:
        """Requests of a set, each once before any comes again."""
        waiting = self._waiting[number]
        for _ in range(min(_REQUESTS, len(self._sets[number].anchors))):
            if not waiting:
                waiting.extend(self._draw.sample(list(self._sets[number].anchors), len(self._sets[number].anchors)))
            yield waiting.pop()

    def _near(self, anchor: Anchor) -> list[str]:
        near = self._draw.sample(list(anchor.near), min(_NEAR, len(anchor.near)))
        return [*sorted(anchor.needed), *near]


def texts_of(sets: Sequence[Asked]) -> list[str]:
    """All different texts, sorted."""
    told = {text for each in sets for text in each.tools}
    told |= {text for each in sets for anchor in each.anchors for text in (anchor.text, *anchor.needed, *anchor.near)}
    return sorted(told)
