"""The loss for tools, with a second one that makes cosines of different requests compare.

Ranking compares a request's tools with each other alone: one request's best wrong tool may lie at .7, and the right one
of another at .4. No threshold then tells whether anything fits. A sigmoid with one scale and one bias for all requests
(Zhai et al., sigmoid loss, 2023) wants what is right above one line and what is wrong below it. Imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch.nn import functional as F

WORST = 4
"""Of a request's wrong tools in a batch: those nearest to it. The best cosine decides whether anything fits, and the
mean over all of them would hardly see it."""
LOG_SCALE, BIAS = math.log(20.0), -10.0
"""Where the sigmoid begins."""
FASTER = 25.0
"""Scale and bias learn so many times as fast as the model does."""
_NEVER = -1e4


def new_line() -> torch.nn.Parameter:
    """Scale and bias as they begin. AdamW's steps are as long as the learning rate, whatever the gradient: what is
    multiplied learns faster."""
    return torch.nn.Parameter(torch.tensor([LOG_SCALE, BIAS]) / FASTER)


def above(line: torch.Tensor, cosines: torch.Tensor) -> torch.Tensor:
    """How far cosines lie above a line, as logits."""
    log_scale, bias = FASTER * line
    found: torch.Tensor = cosines * log_scale.exp() + bias
    return found


class LevelLoss(torch.nn.Module):
    """Ranking loss, and `weight` times the sigmoid's: of every request its worst wrong tools and its right one.

    `texts` are (anchor, first tool, second tool) by position and `needed` what each anchor's request needs; its first
    tool is the right one if it is among these, and else nothing fits. `centre`, float32 (dimension,), is taken off unit
    vectors.
    """

    def __init__(
        self,
        model: Any,
        texts: Sequence[tuple[str, str, str]],
        needed: Sequence[frozenset[str]],
        scale: float,
        weight: float,
        centre: NDArray[Any] | None = None,
    ) -> None:
        super().__init__()
        self.model, self._scale, self._weight = model, scale, weight
        self._texts, self._needed = texts, needed
        self._centre = None if centre is None else torch.tensor(centre)
        self.line = new_line()

    def forward(self, features: Iterable[Any], labels: torch.Tensor) -> torch.Tensor:
        """The loss of a batch: tokens of its anchors, first and second tools, and its positions, int64 (batch,)."""
        anchors, first, second = (self.unit(self.model(each)["sentence_embedding"]) for each in features)
        rows = labels.tolist()
        told = [self._texts[row][1] for row in rows] + [self._texts[row][2] for row in rows]
        # A tool that several anchors have is one column: twice it would count twice.
        place = {text: i for i, text in reversed(list(enumerate(told)))}
        column = {text: i for i, text in enumerate(place)}
        with torch.autocast("cpu", enabled=False):
            return self.of_cosines(
                anchors @ torch.cat([first, second])[list(place.values())].T,
                torch.tensor([[text in self._needed[row] for text in place] for row in rows]),
                torch.tensor([column[text] for text in told[: len(rows)]]),
            )

    def of_cosines(self, cosines: torch.Tensor, needed: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        """The loss of cosines (anchors, tools), where `needed`, bool of that shape, says what is no wrong tool, and
        `own`, int64 (anchors,), which tool an anchor was given; of one that is not needed nothing fits."""
        at = torch.arange(len(own))
        fits = needed[at, own].float()
        solved = fits.sum().clamp(min=1)
        others = needed.clone()
        others[at, own] = False
        ranked = F.cross_entropy((self._scale * cosines).masked_fill(others, _NEVER), own, reduction="none")
        z = above(self.line, cosines)
        worst = z.masked_fill(needed, _NEVER).topk(min(WORST, z.shape[1]), 1).values
        level = F.softplus(worst).mean() + (F.softplus(-z[at, own]) * fits).sum() / solved
        return (ranked * fits).sum() / solved + self._weight * level

    def unit(self, vectors: torch.Tensor) -> torch.Tensor:
        """Vectors (texts, dimension) of length 1, less the centre, and of length 1 again."""
        unit = F.normalize(vectors.float(), dim=-1)
        return unit if self._centre is None else F.normalize(unit - self._centre, dim=-1)
