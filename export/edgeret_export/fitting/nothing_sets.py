"""Cuts sets of one to three hundred tools out of other people's, with requests that some tool fits and others that none
does: the right tool left out, near ones in its place; other people's requests; and sayings. Encodes nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeret.types import Tool
from edgeret_export.fitting.nothing import Size
from edgeret_export.sources.plans import Source

FEW = (1, 1, 1, 2, 2, 3, 4, 6, 8)
"""Tools of a few, each as often as it stands here."""
SIZES: Mapping[Size, tuple[int, int, int]] = {"some": (10, 40, 8), "many": (100, 300, 4)}
"""The fewest and the most tools, and how many sets of the kind are cut out of a source that has more."""
ASKED = 400
"""Requests of one source that are asked, and of one set a tenth of them."""
NEAR, FAR = 12, 20
"""So many tools are near to the right one; beyond so many they are others."""
DOUBLES = 5
"""The nearest of very many tools do what the right one does, so as many are passed over."""
TO_SAYINGS = ((3, 12), (8, 30), (20, 50))
"""Ranks of the tools that a saying is asked of: the nearest may really answer it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Some tools, the requests that one of them fits, and those that none does. The rest is as in `NothingSet`."""

    group: str
    size: Size
    tools: tuple[Tool, ...]
    requests: tuple[str, ...]
    strangers: tuple[str, ...]
    sayings: bool = False


def cut_sets(
    sources: Sequence[Source],
    tools: Mapping[str, NDArray[np.float32]],
    sayings: Mapping[str, NDArray[np.float32]],
    seed: int,
) -> Iterator[Cut]:
    """All sets. `tools` are the unit vectors of each source's, by its name; `sayings` those of what no tool is for."""
    said = sorted(sayings)
    for source in sources:
        rng = random.Random(f"{source.name} nothing {seed}")
        asked = [d for d in source.demonstrations if d.calls]
        position = {tool.name: i for i, tool in enumerate(source.tools)}
        needed = {d.query: {position[call.tool] for call in d.calls} for d in asked}
        first = {d.query: position[d.calls[0].tool] for d in asked}
        own = [d.query for d in source.demonstrations if not d.calls]
        others = [d.query for o in sources if o.name != source.name for d in o.demonstrations if d.calls]
        queries = rng.sample(sorted(needed), min(ASKED, len(needed)))
        yield from _few(source, queries, needed, first, tools[source.name], others, own or said, rng)
        for size, (least, most, number) in SIZES.items():
            for _ in range(number if len(source.tools) > most else number // 2 if len(source.tools) > least else 0):
                yield _large(source, size, (least, most), queries, needed, others, (*said, *own), rng)
    yield from _of_sayings(sources, tools, sayings, random.Random(f"sayings {seed}"))


def _few(
    source: Source,
    queries: Sequence[str],
    needed: Mapping[str, set[int]],
    first: Mapping[str, int],
    vectors: NDArray[np.float32],
    others: Sequence[str],
    sayings: Sequence[str],
    rng: random.Random,
) -> Iterator[Cut]:
    """Every request three times: to its own tools with near or any others, to near ones alone, and to any others."""

    def some(positions: Sequence[int], number: int) -> tuple[Tool, ...]:
        return tuple(source.tools[i] for i in rng.sample(positions, min(number, len(positions))))

    passed = DOUBLES if len(source.tools) > 500 else 1
    for query in queries:
        right, size = needed[query], rng.choice(FEW)
        ranked = [i for i in np.argsort(-(vectors @ vectors[first[query]])).tolist() if i not in right]
        beside = some(ranked[: 2 * NEAR] if rng.random() < 0.5 else ranked, max(0, size - len(right)))
        yield Cut(source.name, "few", (*(source.tools[i] for i in sorted(right)), *beside), (query,), ())
        yield Cut(source.name, "few", some(ranked[passed : passed + NEAR], size), (), (query,))
        foreign = [rng.choice(kind) for kind in (others, sayings) if kind]
        yield Cut(source.name, "few", some(ranked[FAR:] or ranked, size), (), (query, *foreign))


def _large(
    source: Source,
    size: Size,
    bounds: tuple[int, int],
    queries: Sequence[str],
    needed: Mapping[str, set[int]],
    others: Sequence[str],
    sayings: Sequence[str],
    rng: random.Random,
) -> Cut:
    """So many tools, most of which some request needs; the requests that these solve, and as many that none fits."""
    number = min(rng.randint(*bounds), len(source.tools))
    held: set[int] = set()
    for query in rng.sample(queries, len(queries)):
        if len(held | needed[query]) <= 0.8 * number:
            held |= needed[query]
    left = [i for i in range(len(source.tools)) if i not in held]
    held.update(rng.sample(left, min(len(left), number - len(held))))
    fit = [query for query in queries if needed[query] <= held]
    kinds = ([query for query in queries if not needed[query] & held], others, sayings)
    fit = rng.sample(fit, min(len(fit), ASKED // 10))
    strangers = [query for kind in kinds for query in rng.sample(kind, min(len(kind), len(fit) // 3 + 1))]
    return Cut(source.name, size, tuple(source.tools[i] for i in sorted(held)), tuple(fit), tuple(strangers))


def _of_sayings(
    sources: Sequence[Source],
    tools: Mapping[str, NDArray[np.float32]],
    sayings: Mapping[str, NDArray[np.float32]],
    rng: random.Random,
) -> Iterator[Cut]:
    """Each saying of few of the tools that are nearest to it, of all sources but the one that it is from."""
    pool = [(source.name, tool) for source in sources for tool in source.tools]
    vectors = np.concatenate([tools[source.name] for source in sources])
    own = {d.query: source.name for source in sources for d in source.demonstrations if not d.calls}
    for saying, vector in sayings.items():
        ranked = [i for i in np.argsort(-(vectors @ vector))[:80].tolist() if pool[i][0] != own.get(saying)]
        for nearest, last in TO_SAYINGS:
            near = ranked[nearest:last]
            chosen = {pool[i][1].name: pool[i][1] for i in rng.sample(near, min(rng.choice(FEW), len(near)))}
            if chosen:
                yield Cut("sayings", "few", tuple(chosen.values()), (), (saying,), sayings=True)
