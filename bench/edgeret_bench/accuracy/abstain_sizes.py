"""Whether the first decision knows that nothing fits, in bundles built on ever more demonstrations.

Needs what a build host has; `abstain` does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgeret.terminal.progress import say
from edgeret_bench.accuracy import few
from edgeret_bench.accuracy.abstain import Request, decide, row, told
from edgeret_export.encoded import Encoded
from edgeret_export.encoders.encodings import start
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import Card


def run(
    card: Card, recipe: Recipe, encoded: Encoded, requests: Sequence[Request], sizes: Sequence[int], seed: int
) -> dict[str, Any]:
    """The figures of bundles built on so many of the demonstrations that are `encoded`, drawn as `few` does."""
    few.check(sizes, 1)
    train = () if encoded.training is None else encoded.training.demonstrations
    encoder = start(encoded.exported)
    queries = [encoder.encode_query(demonstration.query) for demonstration in train]
    order, found = np.random.default_rng((seed, 0)).permutation(len(train)), {}
    for size in sorted({min(size, len(train)) for size in sizes}):
        part = few.part(encoded, queries, np.sort(order[:size]), recipe.seed)
        with few.built(card, recipe, part) as runtime:
            found[str(size)] = row(requests, decide(runtime, requests))
        say(f"{size} demonstrations: {told(found[str(size)])}")
    return found
