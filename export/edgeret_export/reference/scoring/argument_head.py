"""The head for arguments: which span of a request, or which option, is a parameter's value, or that nobody said it. For
all parameters of a call together, from vectors and features. Knows nothing of text.

With d = WIDTH, u_i the request's units and p a parameter behind the layers, the score of the units i to j is
<S p, s u_i>/sqrt(d) + <E p, e u_j>/sqrt(d) + sum of <I p, t u_k>/sqrt(d) over i <= k <= j, by sqrt(j - i + 1), and what
the length, the kind of chunk and the words around weigh. One softmax a parameter makes shares of all scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array
from edgeret.bundle.few_bits import from_bytes, get_scales
from edgeret.errors import BundleError
from edgeret_export.reference.few_bits import to_bytes
from edgeret_export.reference.scoring.argument_shape import BEFORE, HEADS, LAYERS, LONGEST, RELATIONS, WIDTH, shapes

Rows = NDArray[Any]
_NO = np.float32(-1e4)


class Asked(NamedTuple):
    """A tool's parameters and their options before the layers: the rows of the function and the parameters (1 + n, d),
    of each parameter how many options it has, int64 (n,), and where among all options its own begin and end, of all
    options (m, d) twice, and which parameters are Booleans, int64 (n,)."""

    rows: Rows
    counts: NDArray[np.int64]
    places: Sequence[tuple[int, int]]
    own: Rows
    by: Rows
    boolean: NDArray[np.int64]


class LogShares(NamedTuple):
    """Log-shares of every parameter's answers: of spans, by first unit and length less one, float32 (parameters,
    units, LONGEST), of each one's options, and that nobody said it, float32 (parameters,)."""

    spans: Rows
    options: Sequence[Rows]
    absent: Rows


class ArgumentHead:
    """Weights as they are stored, which become float32 when they are first used. Immutable and thread-safe."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        """`arrays` as `argument_shape.shapes` names them; those of two dimensions as (int8 rows, scales) or float32."""
        self._stored = arrays

    @property
    def dimension(self) -> int:
        """How many numbers the encoder's vectors have."""
        word = self._stored["word.weight"]
        return int((word[0] if isinstance(word, tuple) else word).shape[1])

    @cached_property
    def arrays(self) -> Mapping[str, Rows]:
        """The weights in float32, by name."""
        return {
            name: from_bytes(*one) if isinstance(one, tuple) else np.asarray(one, np.float32)
            for name, one in self._stored.items()
        }

    def _linear(self, name: str, rows: Rows) -> Rows:
        arrays = self.arrays
        found: Rows = rows @ arrays[f"{name}.weight"].T
        found += arrays[f"{name}.bias"]
        return found

    def _norm(self, name: str, rows: Rows) -> Rows:
        centred: Rows = rows - rows.mean(1, keepdims=True)
        centred /= np.sqrt(np.einsum("ij,ij->i", centred, centred)[:, None] / np.float32(WIDTH) + np.float32(1e-5))
        centred *= self.arrays[f"{name}.weight"]
        centred += self.arrays[f"{name}.bias"]
        return centred

    def asked(self, texts: Rows, features: Rows, counts: Sequence[int], boolean: NDArray[np.bool_]) -> Asked:
        """A tool's parameters, from the vectors of function, parameters and options (1 + n + m, dimension) and the
        parameters' features (n, PARAMETER_FEATURES)."""
        n = len(features)
        function = self._norm("text_norm", self._linear("function", texts[:1]))
        parameters = self._linear("text", texts[1 : 1 + n]) + self._linear("parameter", features)
        options = self._linear("option", texts[1 + n :])
        own, by = options[:, :WIDTH], options[:, WIDTH:]
        rows = np.concatenate((function, self._norm("text_norm", parameters)))
        own, by = np.ascontiguousarray(own), np.ascontiguousarray(by)
        ends = np.cumsum(np.array(counts, np.int64)).tolist()
        places = [(end - count, end) for end, count in zip(ends, counts, strict=True)]
        return Asked(rows, np.array(counts, np.int64), places, own, by, boolean.astype(np.int64))

    def log_shares(
        self,
        vectors: Rows,
        units: Rows,
        relations: Rows,
        chunks: NDArray[np.int64],
        asked: Asked,
        option_features: Rows,
    ) -> LogShares:
        """The log-shares for one call, from its request's units: their `vectors` (units, dimension), and features of
        `units` (units, UNIT_FEATURES); `relations` (parameters, units, RELATIONS), `chunks` int64 (chunks, 3), each
        with kind, first unit and length less one, `option_features` (options, OPTION_FEATURES). Else float32."""
        n, length = len(relations), len(vectors)
        features = np.concatenate((units, relations.max(0)), 1)
        u = self._norm("unit_norm", self._linear("word", vectors) + self._linear("unit", features))
        blank = np.zeros((1, WIDTH), np.float32)
        around = np.concatenate((blank, u[:-1])), u, np.concatenate((u[1:], blank))
        u = u + self._linear("beside", np.concatenate(around, 1))
        x = self._layers(np.concatenate((asked.rows, u)))
        p, u = x[1 : 1 + n], x[1 + n :]
        scale = np.float32(WIDTH**-0.5)
        ask, answer, small = self._linear("ask", p) * scale, self._linear("answer", u), self._linear("small", p)
        parts = [ask[:, i * WIDTH : (i + 1) * WIDTH] for i in range(4)]
        start, end, inside = (parts[i] @ answer[:, i * WIDTH : (i + 1) * WIDTH].T for i in range(3))
        self._around(relations, start, end)
        spans = _spans(start, end, inside, small[:, :LONGEST])
        if len(chunks):
            kind, first, long = chunks.T
            index: Any = (slice(None), first, long)
            np.add.at(spans, index, small[:, LONGEST + kind])
        options = self._options(asked, parts[3], u * scale, option_features, small)
        return _log_shares(spans, options, small[:, -1], asked.counts, length)

    def _layers(self, x: Rows) -> Rows:
        length = len(x)
        scale = np.float32((WIDTH // HEADS) ** -0.5)
        for i in range(LAYERS):
            three = self._linear(f"together{i}", self._norm(f"norm_a{i}", x)).reshape(length, 3, HEADS, WIDTH // HEADS)
            q, k, v = three.transpose(1, 2, 0, 3)
            weights = q @ k.transpose(0, 2, 1)
            weights *= scale
            weights -= weights.max(2, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights.sum(2, keepdims=True)
            attended = (weights @ v).transpose(1, 0, 2).reshape(length, WIDTH)
            x = x + self._linear(f"attended{i}", attended)
            wide = self._linear(f"wide{i}", self._norm(f"norm_b{i}", x))
            x = x + self._linear(f"narrow{i}", np.maximum(wide, 0, out=wide))
        return self._norm("norm", x)

    def _around(self, relations: Rows, start: Rows, end: Rows) -> None:
        """Adds what the words in and around a beginning and an end weigh."""
        near = self.arrays["near.weight"].reshape(2, BEFORE, 2, RELATIONS)
        for k in range(BEFORE):
            for scores, by, step in (
                (start, near[0, k, 0], k - BEFORE),
                (start, near[0, k, 1], k),
                (end, near[1, k, 0], k + 1),
                (end, near[1, k, 1], k + 1 - BEFORE),
            ):
                told = relations @ by
                if step < 0:
                    scores[:, -step:] += told[:, :step]
                elif step:
                    scores[:, :-step] += told[:, step:]
                else:
                    scores += told

    def _options(self, asked: Asked, chosen: Rows, units: Rows, features: Rows, small: Rows) -> Rows:
        """The scores of all options (m,)."""
        if not len(asked.own):
            return np.zeros(0, np.float32)
        counts = asked.counts
        of = np.repeat(np.arange(len(counts)), counts)
        scores: Rows = np.einsum("od,od->o", chosen[of], asked.own) + (asked.by @ units.T).max(1)
        scores += features @ self.arrays["said.weight"][0]
        starts = np.cumsum(counts) - counts
        for i in np.flatnonzero(asked.boolean * (counts == 2)).tolist():
            scores[starts[i] : starts[i] + 2] += small[i, -3:-1]
        return scores


def _spans(start: Rows, end: Rows, inside: Rows, lengths: Rows) -> Rows:
    """Scores of all spans, (parameters, units, LONGEST); of those that run over the end, -1e4."""
    n, length = start.shape
    summed = np.zeros((n, length + 1), np.float32)
    np.cumsum(inside, 1, out=summed[:, 1:])
    spans = np.full((n, length, LONGEST), _NO, np.float32)
    for i in range(min(LONGEST, length)):
        fits = length - i
        spans[:, :fits, i] = start[:, :fits] + end[:, i:] + lengths[:, i : i + 1]
        spans[:, :fits, i] += (summed[:, i + 1 :] - summed[:, :fits]) * np.float32((i + 1) ** -0.5)
    return spans


def _log_shares(spans: Rows, options: Rows, absent: Rows, counts: NDArray[np.int64], length: int) -> LogShares:
    """Log-softmax of each parameter's scores; a parameter with options takes no span."""
    found: list[Rows] = []
    at, out = 0, absent.copy()
    for i, count in enumerate(counts.tolist()):
        own = options[at : at + count]
        at += count
        scores = own if count else spans[i].reshape(-1)
        most = max(float(scores.max()), float(absent[i]))
        total = np.log(np.exp(scores - most).sum() + np.exp(absent[i] - most)) + most
        out[i] -= total
        found.append(own - total)
        spans[i] -= total
        if count:
            spans[i] = _NO
    return LogShares(spans, found, out)


def pack_head(arrays: Mapping[str, Rows]) -> dict[str, Any]:
    """The arrays as a role holds them: those of two dimensions in bytes, each row with a scale."""
    packed: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            packed[name], packed[f"{name}.scales"] = to_bytes(array.astype(np.float32))
        else:
            packed[name] = array.astype("<f4")
    return packed


def unpack_head(value: Mapping[str, Any], dimension: int, where: str) -> ArgumentHead:
    """The head that `pack_head` packed, for vectors of so many numbers. Raises BundleError for anything else."""
    arrays: dict[str, Any] = {}
    for name, shape in shapes(dimension).items():
        if len(shape) == 2:
            arrays[name] = (
                get_array(value, name, "|i1", shape, where),
                get_scales(value, f"{name}.scales", shape[0], where),
            )
        else:
            arrays[name] = get_array(value, name, "<f4", shape, where)
            if float(np.abs(arrays[name]).max()) > MOST:
                raise BundleError(f'{where}: "{name}" holds numbers over {MOST:g}; build the bundle again')
    return ArgumentHead(arrays)


MOST = 1e4
"""Magnitude of a head's biases and gains at most, so that no score overflows."""
