"""Puts pairs into batches where no anchor meets, as a negative, a tool that it needs; or draws them anew for each step,
for a loss that tells by itself what is needed. Pure; knows no tensors."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

from edgeret_export.encoders.pairs import Anchor, Pair

_Some = TypeVar("_Some")

SMALLEST = 0.25
"""Of the largest batch: what is left over in smaller ones is left out of that epoch, since a batch of two or three
pairs, with hardly a negative in it, would move the model as far as a full one."""


def arrange(pairs: Sequence[Pair], size: int, epochs: float, seed: int) -> list[list[int]]:
    """Positions of pairs in batches of at most `size`, for so many epochs, each in an order of its own.

    In a batch stand no text twice and, beside an anchor, no tool that its request needs; few tools make small batches.
    """
    batches: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        rng = random.Random(f"{seed} {epoch}")
        order = list(range(len(pairs)))
        rng.shuffle(order)
        found = _first_fit(pairs, order, size)
        rng.shuffle(found)  # the last ones would be small, and full of the tools that are asked for most
        batches += _part(found, epochs - epoch)
    return batches


def draw_anew(anchors: Sequence[Anchor], size: int, epochs: float, seed: int) -> tuple[list[Pair], list[list[int]]]:
    """The pairs of all epochs, and their positions in batches of `size`. Each epoch has every anchor once, in an order
    of its own, with one of its right tools and one of those near it; an anchor without a right tool has two near ones,
    and none of them is among its `needed`."""
    pairs: list[Pair] = []
    batches: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        rng = random.Random(f"{seed} {epoch}")
        order = list(anchors)
        rng.shuffle(order)
        found = [order[i : i + size] for i in range(0, len(order), size)]
        for batch in _part([batch for batch in found if len(batch) >= SMALLEST * len(found[0])], epochs - epoch):
            batches.append(list(range(len(pairs), len(pairs) + len(batch))))
            pairs += [_drawn(anchor, rng) for anchor in batch]
    return pairs, batches


def _drawn(anchor: Anchor, rng: random.Random) -> Pair:
    if anchor.right:
        return Pair(anchor.text, rng.choice(anchor.right), rng.choice(anchor.near), anchor.needed)
    two = rng.sample(anchor.near, min(2, len(anchor.near)))
    return Pair(anchor.text, two[0], two[-1], anchor.needed)


def _part(batches: Sequence[list[_Some]], epochs: float) -> Sequence[list[_Some]]:
    """The batches of an epoch, of which so much is left."""
    return batches[: math.ceil(min(1.0, epochs) * len(batches))]


def _first_fit(pairs: Sequence[Pair], order: Sequence[int], size: int) -> list[list[int]]:
    """Every pair to the first batch that takes it."""
    full: list[list[int]] = []
    open_batches: list[_Batch] = []
    for position in order:
        pair = pairs[position]
        batch = next((b for b in open_batches if b.takes(pair)), None)
        if batch is None:
            batch = _Batch()
            open_batches.append(batch)
        batch.add(position, pair)
        if len(batch.positions) == size:
            open_batches.remove(batch)
            full.append(batch.positions)
    found = full + [batch.positions for batch in open_batches]
    largest = max(map(len, found), default=0)
    return [batch for batch in found if len(batch) >= SMALLEST * largest]


class _Batch:
    """Pairs that get on with each other."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self._texts: set[str] = set()
        self._needed: set[str] = set()

    def takes(self, pair: Pair) -> bool:
        """Whether the pair may join."""
        told = {pair.anchor, pair.positive, pair.negative}
        return self._texts.isdisjoint(told | pair.needed) and self._needed.isdisjoint(told)

    def add(self, position: int, pair: Pair) -> None:
        """Lets the pair in."""
        self.positions.append(position)
        self._texts |= {pair.anchor, pair.positive, pair.negative}
        self._needed |= pair.needed
