"""The head for arguments as a network that is fitted: `reference.scoring.argument_head` computes the same.
Knows nothing of calls and of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from edgeret_export.fitting.argument_cases import Case
from edgeret_export.reference.scoring.argument_shape import (
    BEFORE,
    CHUNK_KINDS,
    HEADS,
    INNER,
    LAYERS,
    LONGEST,
    OPTION_FEATURES,
    PARAMETER_FEATURES,
    RELATIONS,
    UNIT_FEATURES,
    WIDTH,
)

_NO = -1e4


class Batch(NamedTuple):
    """Cases side by side, padded. `texts` are vectors of the function and the parameters, (cases, 1 + parameters,
    dimension), `options` those of all options, of which `of_option` tells case, parameter and number."""

    vectors: Tensor
    units: Tensor
    held: Tensor
    relations: Tensor
    texts: Tensor
    parameters: Tensor
    real: Tensor
    chunks: Tensor
    options: Tensor
    option_features: Tensor
    of_option: Tensor
    takes_words: Tensor
    right: Tensor
    many: Tensor


def batch(cases: Sequence[Case], texts: Mapping[str, NDArray[Any]]) -> Batch:
    """Cases as one batch; `texts` are the vectors of what stands for functions, parameters and options."""
    n, most_units = len(cases), max(len(one.vectors) for one in cases)
    most = max(len(one.parameters) for one in cases)
    most_options = max(max(one.counts, default=0) for one in cases)
    dimension = cases[0].vectors.shape[1]
    vectors = np.zeros((n, most_units, dimension), np.float32)
    units = np.zeros((n, most_units, UNIT_FEATURES), np.float32)
    held = np.zeros((n, most_units), bool)
    relations = np.zeros((n, most, most_units, RELATIONS), np.float32)
    told = np.zeros((n, 1 + most, dimension), np.float32)
    parameters = np.zeros((n, most, PARAMETER_FEATURES), np.float32)
    real = np.zeros((n, most), bool)
    takes_words = np.zeros((n, most), bool)
    many = np.zeros((n, most), bool)
    right = np.zeros((n, most, most_units * LONGEST + most_options + 1), bool)
    chunks: list[tuple[int, ...]] = []
    options: list[NDArray[Any]] = []
    of_option: list[tuple[int, int, int]] = []
    for b, one in enumerate(cases):
        u, p = len(one.vectors), len(one.parameters)
        vectors[b, :u], units[b, :u], held[b, :u] = one.vectors, one.units, True
        relations[b, :p, :u], parameters[b, :p], real[b, :p] = one.relations, one.parameters, True
        told[b, : 1 + p] = [texts[text] for text in one.texts[: 1 + p]]
        chunks += [(b, *place) for place in one.chunks.tolist()]
        options += [texts[text] for text in one.texts[1 + p :]]
        for i, count in enumerate(one.counts):
            of_option += [(b, i, k) for k in range(count)]
            takes_words[b, i], many[b, i] = not count, one.many[i]
        for i, first, length in one.right_spans:
            right[b, i, first * LONGEST + length] = True
        for i, k in one.right_options:
            right[b, i, most_units * LONGEST + k] = True
        right[b, :p, -1] = one.absent
    features = np.concatenate([one.options for one in cases]).astype(np.float32)
    arrays = (
        *(vectors, units, held, relations, told, parameters, real, np.array(chunks, np.int64).reshape(-1, 4)),
        *(np.array(options, np.float32).reshape(-1, dimension), features.reshape(-1, OPTION_FEATURES)),
        *(np.array(of_option, np.int64).reshape(-1, 3), takes_words, right, many),
    )
    return Batch(*map(torch.from_numpy, arrays))


class Network(nn.Module):
    """Scores of every span, every option and "nobody said it", for all parameters of a call together."""

    def __init__(self, dimension: int, dropout: float = 0.1) -> None:
        super().__init__()
        d = WIDTH
        self.word = nn.Linear(dimension, d)
        self.unit = nn.Linear(UNIT_FEATURES + RELATIONS, d)
        self.unit_norm = nn.LayerNorm(d)
        self.beside = nn.Linear(3 * d, d)
        self.text = nn.Linear(dimension, d)
        self.function = nn.Linear(dimension, d)
        self.parameter = nn.Linear(PARAMETER_FEATURES, d)
        self.text_norm = nn.LayerNorm(d)
        for i in range(LAYERS):
            setattr(self, f"norm_a{i}", nn.LayerNorm(d))
            setattr(self, f"together{i}", nn.Linear(d, 3 * d))
            setattr(self, f"attended{i}", nn.Linear(d, d))
            setattr(self, f"norm_b{i}", nn.LayerNorm(d))
            setattr(self, f"wide{i}", nn.Linear(d, INNER))
            setattr(self, f"narrow{i}", nn.Linear(INNER, d))
        self.norm = nn.LayerNorm(d)
        self.ask = nn.Linear(d, 4 * d)
        self.answer = nn.Linear(d, 3 * d)
        self.small = nn.Linear(d, LONGEST + CHUNK_KINDS + 3)
        self.near = nn.Linear(RELATIONS * 2 * BEFORE, 2, bias=False)
        self.option = nn.Linear(dimension, 2 * d)
        self.said = nn.Linear(OPTION_FEATURES, 1, bias=False)
        for name, parameter in self.named_parameters():
            if name in ("near.weight", "said.weight") or name.startswith("small"):
                nn.init.zeros_(parameter)
        self.dropout = nn.Dropout(dropout)

    def forward(self, given: Batch) -> Tensor:
        """Log-shares, float32 (cases, parameters, units·LONGEST + options + 1)."""
        d = WIDTH
        any_relation = given.relations.amax(1) if given.relations.shape[1] else given.relations.sum(1)
        features = torch.cat((given.units, any_relation), -1)
        u = self.unit_norm(self.word(self.dropout(given.vectors)) + self.unit(features)) * given.held[..., None]
        before, behind = functional.pad(u, (0, 0, 1, 0))[:, :-1], functional.pad(u, (0, 0, 0, 1))[:, 1:]
        u = u + self.beside(torch.cat((before, u, behind), -1))
        p = self.text_norm(self.text(given.texts[:, 1:]) + self.parameter(given.parameters))
        f = self.text_norm(self.function(given.texts[:, :1]))
        x = torch.cat((f, p, u), 1)
        known = torch.cat((torch.ones_like(given.held[:, :1]), given.real, given.held), 1)
        mask = torch.where(known, 0.0, _NO)[:, None, None, :]
        n, length, _ = x.shape
        for i in range(LAYERS):
            three = getattr(self, f"together{i}")(getattr(self, f"norm_a{i}")(x))
            q, k, v = three.reshape(n, length, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + self.dropout(getattr(self, f"attended{i}")(attended.transpose(1, 2).reshape(n, length, d)))
            wide = torch.relu(getattr(self, f"wide{i}")(getattr(self, f"norm_b{i}")(x)))
            x = x + self.dropout(getattr(self, f"narrow{i}")(wide))
        x = self.norm(x)
        p, u = x[:, 1 : 1 + given.real.shape[1]], x[:, 1 + given.real.shape[1] :]
        return self._scores(given, p, u)

    def _scores(self, given: Batch, p: Tensor, u: Tensor) -> Tensor:
        d, scale = WIDTH, WIDTH**-0.5
        ask = self.ask(p).split(d, -1)
        answer = self.answer(u).split(d, -1)
        start, end, inside = (a @ b.transpose(1, 2) * scale for a, b in zip(ask[:3], answer, strict=True))
        n, count, length = start.shape
        around = functional.pad(given.relations, (0, 0, BEFORE, BEFORE))
        windows = torch.stack([around[:, :, i : i + length] for i in range(2 * BEFORE + 1)], 3)
        # Before a beginning, and behind an end: the units there, not the value's own.
        near = self.near.weight.reshape(2, BEFORE, 2, RELATIONS)
        start = start + torch.einsum("bpuor,or->bpu", windows[:, :, :, :BEFORE], near[0, :, 0])
        start = start + torch.einsum("bpuor,or->bpu", windows[:, :, :, BEFORE:-1], near[0, :, 1])
        end = end + torch.einsum("bpuor,or->bpu", windows[:, :, :, BEFORE + 1 :], near[1, :, 0])
        end = end + torch.einsum("bpuor,or->bpu", windows[:, :, :, 1 : BEFORE + 1], near[1, :, 1])
        small = self.small(p)
        summed = functional.pad(inside.cumsum(-1), (1, LONGEST))
        summed[..., length + 1 :] = summed[..., length : length + 1]
        padded = functional.pad(end, (0, LONGEST), value=_NO)
        spans = torch.stack(
            [
                start
                + padded[..., i : i + length]
                + (summed[..., i + 1 : i + 1 + length] - summed[..., :length]) * (i + 1) ** -0.5
                + small[..., i : i + 1]
                for i in range(LONGEST)
            ],
            -1,
        )
        if len(given.chunks):
            b, kind, first, long = given.chunks.T
            bonus = small[..., LONGEST : LONGEST + CHUNK_KINDS].permute(0, 2, 1)[b, kind]  # (chunks, parameters)
            flat = spans.permute(0, 2, 3, 1).reshape(n, length * LONGEST, count)
            flat = flat.index_put((b, first * LONGEST + long), bonus, accumulate=True)
            spans = flat.reshape(n, length, LONGEST, count).permute(0, 3, 1, 2)
        ends = functional.pad(given.held, (0, LONGEST))
        fine = torch.stack([ends[:, i : i + length] for i in range(LONGEST)], -1)[:, None]
        fine = fine & given.takes_words[..., None, None]
        spans = torch.where(fine, spans, _NO).reshape(n, count, -1)
        most = given.right.shape[-1] - length * LONGEST - 1
        chosen = spans.new_full((n, count, most), _NO)
        if len(given.options):
            b, i, k = given.of_option.T
            own, by = self.option(given.options).split(d, -1)
            scores = (ask[3][b, i] * own).sum(-1) * scale + self.said(given.option_features)[:, 0]
            seen = torch.einsum("od,oud->ou", by, u[b]) * scale
            scores = scores + torch.where(given.held[b], seen, _NO).amax(-1)
            both = small[b, i]
            boolean = given.parameters[b, i, _BOOLEAN]
            scores = scores + boolean * torch.where(k == 0, both[:, -3], both[:, -2])
            chosen = chosen.index_put((b, i, k), scores)
        return torch.cat((spans, chosen, small[..., -1:]), -1).log_softmax(-1)


def hide(given: Batch, hidden: float, blurred: float) -> Batch:
    """A batch with a share of its units without their vectors, so that the words around count for more, and with a
    share of the numbers at zero that stand for functions and parameters, so that none is known by heart."""
    if hidden:
        kept = torch.rand(given.vectors.shape[:2]) >= hidden
        given = given._replace(vectors=given.vectors * kept[..., None])
    if blurred:
        given = given._replace(texts=given.texts * (torch.rand(given.texts.shape) >= blurred))
    return given


_BOOLEAN = 11
"""The feature of a parameter that takes true or false."""


def loss(given: Batch, shares: Tensor) -> Tensor:
    """What the log-shares lose: of all right answers together, of a list's right spans each against all wrong ones."""
    right = torch.where(given.right, shares, _NO)
    one = -right.logsumexp(-1)
    wrong = torch.where(given.right, _NO, shares).logsumexp(-1, keepdim=True)
    each = functional.softplus(wrong - shares) * given.right
    listed = each.sum(-1) / given.right.sum(-1).clamp(min=1)
    found = torch.where(given.many, listed, one)
    fine = given.real & given.right.any(-1)
    return (found * fine).sum() / fine.sum()
