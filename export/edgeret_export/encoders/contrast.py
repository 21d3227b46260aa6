"""Token vectors that tell the tools of a request from others: fitted by contrast (InfoNCE), and to what a large encoder
makes of the same texts. Knows nothing of tools, files and bundles.

Ridge regression (`static`) has a text's mean meet the large encoder's vector of it. A mean of tokens cannot, and misses
in all directions alike; here it misses where no tool is taken for another one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from edgeret.terminal.progress import track
from edgeret_export.encoders.asked import Asked

_NEAR = slice(2, 10)
"""Where hard negatives stand in the large encoder's ranking: ranks 3 to 10. Nearer ones are often right as well."""
_WARM_UP = 0.05
_NEVER = -1e4


@dataclass(frozen=True, slots=True)
class Course:
    """How long, how fast, and against how many: `rate` is Adam's, `scale` multiplies cosines, and every request has
    `negatives` near tools beside its own and those of the others in its batch. What the large encoder says counts
    `taught` times what is right."""

    epochs: int = 20
    batch: int = 512
    rate: float = 3e-3
    scale: float = 20.0
    negatives: int = 3
    taught: float = 3.0
    seed: int = 0


class Bags:
    """Texts as means of token vectors."""

    def __init__(self, tokens: Sequence[NDArray[np.integer]], table: NDArray[np.float32]) -> None:
        """`tokens` are the numbers of each text's tokens; `table` (vocabulary, dimension) is where vectors start."""
        sizes = torch.tensor([max(1, len(ids)) for ids in tokens])
        self._sizes, self._begins = sizes, sizes.cumsum(0) - sizes
        self._flat = torch.tensor(np.concatenate([ids if len(ids) else np.zeros(1, np.intp) for ids in tokens]))
        self.vectors = torch.nn.Parameter(torch.tensor(table))

    def __call__(self, texts: Sequence[int]) -> torch.Tensor:
        """Unit vectors (texts, dimension)."""
        chosen = torch.tensor(texts)
        sizes = self._sizes[chosen]
        begins = sizes.cumsum(0) - sizes
        inside = torch.arange(int(sizes.sum())) - torch.repeat_interleave(begins, sizes)
        ids = self._flat[torch.repeat_interleave(self._begins[chosen], sizes) + inside]
        found: torch.Tensor = functional.normalize(
            functional.embedding_bag(ids, self.vectors, begins, mode="sum"), dim=-1
        )
        return found


def contrasted(
    table: NDArray[np.float32],
    tokens: Sequence[NDArray[np.integer]],
    vectors: NDArray[np.float32],
    sets: Sequence[Asked],
    course: Course = Course(),
) -> NDArray[np.float32]:
    """The table (vocabulary, dimension), float32, fitted further to these sets; `tokens` are each text's and `vectors`
    (texts, large dimension) the large encoder's unit vectors of them. Tokens of no text keep their vectors. The same
    input gives the same numbers on one machine and one thread."""
    teacher, bags, draw = torch.tensor(vectors), Bags(tokens, table), random.Random(course.seed)
    needed: dict[int, set[int]] = {}
    for asked in sets:
        for request, tool in asked.pairs:
            needed.setdefault(request, set()).add(tool)
    rows = [(*pair, near) for asked in sets for pair, near in zip(asked.pairs, _near(asked, teacher), strict=True)]
    near_of = {(request, tool): [one for one in near if one not in needed[request]] for request, tool, near in rows}
    pairs = list(near_of)
    steps = course.epochs * max(1, len(pairs) // course.batch)
    adam = torch.optim.AdamW([bags.vectors], lr=course.rate, weight_decay=0.0, betas=(0.9, 0.99))
    for step, batch in enumerate(track(_batches(pairs, course, draw), "fitting by contrast", steps)):
        warm = min((step + 1) / (_WARM_UP * steps + 1), (1 + cos(pi * step / steps)) / 2)
        for group in adam.param_groups:
            group["lr"] = course.rate * warm
        drawn = [one for pair in batch for one in draw.sample(near_of[pair], min(course.negatives, len(near_of[pair])))]
        tools = list(dict.fromkeys([tool for _, tool in batch] + drawn))
        place = {tool: i for i, tool in enumerate(tools)}
        requests = [request for request, _ in batch]
        right_too = torch.zeros((len(batch), len(tools)), dtype=torch.bool)
        for i, (request, tool) in enumerate(batch):
            right_too[i, [place[one] for one in needed[request] if one in place and one != tool]] = True
        said = (teacher[requests] @ teacher[tools].T * course.scale).masked_fill(right_too, _NEVER)
        scores = (bags(requests) @ bags(tools).T * course.scale).masked_fill(right_too, _NEVER)
        loss = functional.cross_entropy(scores, torch.tensor([place[tool] for _, tool in batch]))
        loss = loss - course.taught * (functional.softmax(said, 1) * functional.log_softmax(scores, 1)).sum(1).mean()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    found: NDArray[np.float32] = bags.vectors.detach().numpy()
    return found


def _near(asked: Asked, teacher: torch.Tensor) -> list[list[int]]:
    """For each pair the tools that the large encoder holds for near."""
    tools = teacher[list(asked.tools)]
    found: list[list[int]] = []
    for first in range(0, len(asked.pairs), 1024):
        requests = teacher[[request for request, _ in asked.pairs[first : first + 1024]]]
        ranked = (requests @ tools.T).topk(min(_NEAR.stop, len(tools)), 1).indices.tolist()
        found += [[asked.tools[i] for i in row[_NEAR]] for row in ranked]
    return found


def _batches(pairs: list[tuple[int, int]], course: Course, draw: random.Random) -> Iterator[list[tuple[int, int]]]:
    size = min(course.batch, len(pairs))
    for _ in range(course.epochs):
        draw.shuffle(pairs)
        yield from (pairs[first : first + size] for first in range(0, len(pairs) - size + 1, size))
