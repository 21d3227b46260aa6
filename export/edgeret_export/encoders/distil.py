"""A shorter encoder in codes, taught what a longer one makes of texts: vectors of tokens and of wholes, and how near
texts are to each other; beside it something else, if that is given. It begins with some of the longer one's layers and
its words, and meets its own codes before it ends; or goes on from codes. Knows nothing of tools, files and bundles.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from math import cos, pi
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from edgeret.terminal.progress import say, track
from edgeret_export.encoders.coded import LARGEST, Words, levels
from edgeret_export.reference.encoders.codebook import BOOK, Tensors

LONGEST = 96
"""Tokens of a text that are read, at most."""
_ROUNDS, _SPLIT, _JOINED, _TWICE = 15, 0.4, 0.25, 0.08
"""Rounds of choosing books; how often a long text is cut to a piece, and a text joined with another, and a third."""
_PIECE = 3, 24
_SORTED = 8192
_WARM_UP = 100
_WHOLE, _NEARNESS = 3.0, 20.0
"""What the wholes of texts, and their cosines to each other, count beside tokens."""
_TOLD = 50

Ids = Sequence[int]


class Course(NamedTuple):
    """Which of the encoder's `layers` are kept, how many `bits` a code of a layer has, of how many `pieces` a word's
    row is, for how many `steps` of about so many `tokens` it is taught, and how fast; for a `loose` share of them
    without codes. What is taught `beside` counts so much."""

    layers: tuple[int, ...]
    bits: int = 3
    pieces: int = 64
    steps: int = 800
    tokens: int = 4096
    rate: float = 5e-4
    loose: float = 0.35
    seed: int = 0
    beside: float = 0.0


class Beside(Protocol):
    """What else is taught, with numbers of its own to learn, such as a scale."""

    line: nn.Parameter

    def loss(self, read: Callable[[Sequence[Ids]], torch.Tensor]) -> torch.Tensor:
        """By texts that are read as unit vectors, (texts, dimension)."""


class Taught(NamedTuple):
    """The encoder that came of it: tensors by their names in transformers' BertModel, with words apart; and how far it
    is off, as 1 less the mean cosine of texts and of tokens in the last steps."""

    tensors: Tensors
    words: Words
    texts_off: float
    tokens_off: float


class _Rounded(torch.autograd.Function):
    """Weights as their codes have them; a gradient passes as if they were not rounded."""

    @staticmethod
    def forward(_: Any, weights: torch.Tensor, scales: torch.Tensor, book: torch.Tensor) -> torch.Tensor:
        return book[torch.bucketize(weights / scales, (book[1:] + book[:-1]) / 2)] * scales

    @staticmethod
    def backward(_: Any, *gradients: torch.Tensor) -> Any:
        return gradients[0], None, None


_rounded: Any = _Rounded.apply


class _Product(nn.Module):
    """A linear layer that can be told to use its codes."""

    book: torch.Tensor

    def __init__(self, of: nn.Linear, bits: int) -> None:
        super().__init__()
        self.weight, self.bias, self.coded = of.weight, of.bias, False
        self._reach = levels(bits).reach / LARGEST
        self.register_buffer("book", torch.tensor(levels(bits).book, dtype=torch.float32), persistent=False)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        weights = self.weight
        if self.coded:
            scales = weights.detach().float().square().mean(1, keepdim=True).sqrt().clamp_min(1e-8) * self._reach
            weights = _rounded(weights, scales, self.book)
        return functional.linear(rows, weights, self.bias)


class _Words(nn.Module):
    """Rows of words by their codes, whose vectors are learned."""

    codes: torch.Tensor
    begins: torch.Tensor

    def __init__(self, of: Words) -> None:
        super().__init__()
        self.register_buffer("codes", torch.from_numpy(of.codes.astype(np.int64)), persistent=False)
        self.register_buffer("begins", torch.arange(len(of.books)) * BOOK, persistent=False)
        self.books = nn.Parameter(torch.from_numpy(of.books.copy()))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return functional.embedding(self.codes[ids] + self.begins, self.books.flatten(0, 1)).flatten(-2)

    def found(self) -> Words:
        """Codes and books as they are now."""
        return Words(self.codes.numpy().astype(np.uint8), self.books.detach().numpy().copy())


def _chosen(rows: torch.Tensor, pieces: int, often: torch.Tensor, seed: int) -> Words:
    """Codes for words' rows (tokens, dimension)."""
    parts = [_book(part, often, seed + i) for i, part in enumerate(rows.chunk(pieces, 1))]
    codes = np.stack([code.numpy() for _, code in parts], 1)
    return Words(codes.astype(np.uint8), np.stack([book.numpy() for book, _ in parts]))


def _book(rows: torch.Tensor, often: torch.Tensor, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """256 vectors near the rows (k-means, each row counted as `often`), and the place of the nearest for each row."""
    chance = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(often, BOOK, replacement=len(rows) < BOOK, generator=chance)
    book = rows[drawn].clone()
    for _ in range(_ROUNDS):
        nearest = torch.cdist(rows, book).argmin(1)
        sums = torch.zeros_like(book).index_add_(0, nearest, rows * often[:, None])
        counts = torch.zeros(BOOK).index_add_(0, nearest, often)
        book[counts > 0] = sums[counts > 0] / counts[counts > 0, None]
    return book, torch.cdist(rows, book).argmin(1)


def distil(
    teacher: Any,
    student: Any,
    texts: Sequence[Ids],
    ends: tuple[int, int],
    course: Course,
    begun: Words | None = None,
    beside: Beside | None = None,
) -> Taught:
    """Teaches a `student`, which is the `teacher` once more, both BertModels without a pooler, to be like it in fewer
    layers and in codes. `texts` are ids of tokens without special ones, `ends` those put around them. With words that
    were `begun` the student's weights are in codes already, and stay so. `beside` is taught, too."""
    torch.manual_seed(course.seed)
    if begun is None:
        student.encoder.layer = nn.ModuleList([student.encoder.layer[i] for i in course.layers])
        student.config.num_hidden_layers = len(course.layers)
        table = student.embeddings.word_embeddings.weight.data
        counts = np.bincount(np.concatenate([np.array(text, np.intp) for text in texts]), minlength=len(table))
        say("choosing codes of words")
        often = torch.tensor((counts + 0.3) ** 0.5, dtype=torch.float32)
        words = _Words(_chosen(table, course.pieces, often, course.seed))
    else:
        words = _Words(begun)
    products = _coded_layers(student, course.bits)
    student.embeddings.word_embeddings = words
    teacher.requires_grad_(False)
    learned = [*student.parameters(), *([] if beside is None else [beside.line])]
    optimiser = torch.optim.AdamW(learned, course.rate, (0.9, 0.98), weight_decay=0.0, fused=True)
    off: list[tuple[float, float]] = []

    def read(batch: Sequence[Ids]) -> torch.Tensor:
        return _units(student, batch, longest)

    longest = min(LONGEST, teacher.config.max_position_embeddings)
    batches = _batches(texts, ends, course, longest)
    for step in track(range(course.steps), "teaching", course.steps):
        done = step / course.steps
        for product in products:
            product.coded = begun is not None or done >= course.loose
        for group in optimiser.param_groups:
            group["lr"] = course.rate * min(1, (step + 1) / _WARM_UP) * max(0.02, (1 + cos(pi * done)) / 2)
        loss, measured = _loss(teacher, student, *_padded(next(batches)))
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        if beside is not None:
            torch.autograd.backward(course.beside * beside.loss(read))
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        off.append(measured)
        if (step + 1) % _TOLD == 0:
            texts_off, tokens_off = np.mean(off[-_TOLD:], axis=0)
            say(f"{step + 1} of {course.steps} steps: texts off by {texts_off:.4f}, tokens by {tokens_off:.4f}")
    texts_off, tokens_off = np.mean(off[-_TOLD:], axis=0)
    named = {name: value.detach().numpy().copy() for name, value in student.named_parameters()}
    tensors = {name: value for name, value in named.items() if "word_embeddings" not in name}
    return Taught(tensors, words.found(), float(texts_off), float(tokens_off))


def _coded_layers(student: Any, bits: int) -> list[_Product]:
    """Puts a `_Product` in the place of every linear layer, and gives them."""
    found = []
    for layer in student.encoder.layer:
        inner = layer.attention.self
        places = [(inner, name) for name in ("query", "key", "value")]
        places += [(part, "dense") for part in (layer.attention.output, layer.intermediate, layer.output)]
        for place, name in places:
            found.append(_Product(getattr(place, name), bits))
            setattr(place, name, found[-1])
    return found


def _loss(
    teacher: Any, student: Any, ids: torch.Tensor, there: torch.Tensor
) -> tuple[torch.Tensor, tuple[float, float]]:
    """What the student is off by in a batch (texts, tokens), of which some tokens are `there`; and 1 less the mean
    cosine of texts and of tokens."""
    with _half():
        with torch.no_grad():
            wanted = teacher(ids, attention_mask=there)[0]
        found = student(ids, attention_mask=there)[0]
    wanted, found, inside = wanted.float(), found.float(), there[..., None].float()
    tokens = ((found - wanted).square() * inside).sum() / (wanted.square() * inside).sum()
    theirs, ours = (functional.normalize((rows * inside).sum(1), dim=1) for rows in (wanted, found))
    texts = 1 - (theirs * ours).sum(1).mean()
    near = (theirs @ theirs.T - ours @ ours.T).square().mean()
    with torch.no_grad():
        each = 1 - functional.cosine_similarity(found, wanted, dim=2)[there.bool()].mean()
    return tokens + _WHOLE * texts + _NEARNESS * near, (texts.item(), each.item())


def _units(model: Any, batch: Sequence[Ids], longest: int) -> torch.Tensor:
    """Unit vectors of texts (texts, dimension), read in two lots, since most are short."""
    order = sorted(range(len(batch)), key=lambda i: len(batch[i]))
    found, most = [], len(order) * 2 // 3
    for lot in filter(None, (order[:most], order[most:])):
        ids, there = _padded([batch[i][:longest] for i in lot])
        with _half():
            rows = model(ids, attention_mask=there)[0]
        found.append(functional.normalize((rows.float() * there[..., None]).sum(1), dim=1))
    return torch.cat(found)[torch.tensor(np.argsort(order))]


def _half() -> AbstractContextManager[Any]:
    """Products in bfloat16, of which CPUs make more at a time."""
    return torch.autocast("cpu", torch.bfloat16)


def _batches(texts: Sequence[Ids], ends: tuple[int, int], course: Course, longest: int) -> Iterator[list[Ids]]:
    """Texts without end, of like lengths in a batch: some are pieces, some joined of two or three."""
    draw = random.Random(course.seed)

    def piece(text: Ids) -> Ids:
        if len(text) <= _PIECE[1] or draw.random() >= _SPLIT:
            return text
        count = draw.randint(*_PIECE)
        begin = draw.randint(0, len(text) - count)
        return text[begin : begin + count]

    while True:
        order, made = draw.sample(range(len(texts)), len(texts)), []
        for number in order:
            text, chance = list(piece(texts[number])), draw.random()
            for limit in (_JOINED, _TWICE):
                if chance < limit:
                    text += piece(draw.choice(texts))
            made.append([ends[0], *text[: longest - 2], ends[1]])
        for at in range(0, len(made), _SORTED):
            groups: list[list[Ids]] = [[]]
            for one in sorted(made[at : at + _SORTED], key=len):
                if groups[-1] and (len(groups[-1]) + 1) * len(one) > course.tokens:
                    groups.append([])
                groups[-1].append(one)
            draw.shuffle(groups)
            yield from groups


def _padded(batch: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (texts, tokens), and 1 where there is a token."""
    shape = len(batch), max(map(len, batch))
    ids: NDArray[np.int64] = np.zeros(shape, np.int64)
    there = np.zeros(shape, np.int64)
    for row, text in enumerate(batch):
        ids[row, : len(text)], there[row, : len(text)] = text, 1
    return torch.from_numpy(ids), torch.from_numpy(there)
