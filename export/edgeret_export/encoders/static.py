"""Token vectors whose mean meets a large encoder's vector of a text, fitted by ridge regression. Knows nothing of
tools and demonstrations.

A table starts at token vectors that were fitted to many other people's texts (`token_vectors`), or, for an encoder
without any, at a linear map of what it makes of each token alone; so tokens that no text holds mean something too.
Texts then pull the tokens that they hold. (model2vec's way, principal components weighted by frequency, finds less: the
table is fitted to no text.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from edgeret.host import available_cpus
from edgeret.terminal.progress import track
from edgeret_export.encoders.cache import key_of, recall, remember
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.reference.encoders.windows import WindowEncoder

DIMENSION = 128
"""Numbers of a token's vector. On plans held out, 128, 192 and 256 of 384 decide alike; 30,000 tokens take 4 MB."""
MAP_PENALTY = 1.0
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SIDE_BY_SIDE = 256
"""Tokens that a CPU reads before it is given others."""
STEPS = 20
"""Of conjugate gradients; more change no cosine in its third digit."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What a table is fitted to: the token numbers of every text, and the large encoder's unit vectors of them
    (texts, dimension)."""

    tokens: Sequence[NDArray[np.intp]]
    vectors: NDArray[np.float32]

    def matrix(self, vocabulary: int) -> sp.csr_matrix:
        """Row i has the share of every token in text i, float32 (texts, vocabulary)."""
        sizes = [len(ids) for ids in self.tokens]
        rows = np.repeat(np.arange(len(sizes)), sizes)
        shares = np.repeat(1 / np.maximum(np.array(sizes, np.float32), 1), sizes)
        columns = np.concatenate([*self.tokens, np.zeros(0, np.intp)])
        return sp.csr_matrix((shares, (rows, columns)), shape=(len(sizes), vocabulary), dtype=np.float32)


class Start(Protocol):
    """Where a table starts before texts pull it."""

    def directions(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The large encoder's directions that the table has, as columns (large dimension, dimension); `vectors` (texts,
        large dimension) are those of the texts."""

    def table(
        self, shares: sp.csr_matrix, targets: NDArray[np.float32], directions: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Token vectors (vocabulary, dimension) of its own in these directions, for texts with these shares of tokens
        (texts, vocabulary) that should meet these rows (texts, dimension)."""


class Alone:
    """A start at a linear map, fitted to the texts, of what the large encoder makes of single tokens."""

    def __init__(self, vectors: NDArray[np.float32], dimension: int = DIMENSION) -> None:
        """`vectors` (vocabulary, large dimension) are the large encoder's of single tokens."""
        centred = (vectors - vectors.mean(axis=0)) / vectors.std()
        self._features = np.concatenate((np.ones((len(vectors), 1), np.float32), centred), axis=1).astype(np.float32)
        self._dimension = dimension

    def directions(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """As `Start.directions`."""
        return principal(vectors, self._dimension)

    def table(
        self, shares: sp.csr_matrix, targets: NDArray[np.float32], directions: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """As `Start.table`."""
        return self.mapped(self.map_to(shares, targets))

    def map_to(self, shares: sp.csr_matrix, targets: NDArray[np.float32]) -> NDArray[np.float32]:
        """The map (1 + large dimension, dimension) by which texts with these shares meet these targets best."""
        seen = shares @ self._features
        gram = seen.T @ seen + np.float32(MAP_PENALTY) * np.eye(seen.shape[1], dtype=np.float32)
        found: NDArray[np.float32] = np.linalg.solve(gram, seen.T @ targets).astype(np.float32)
        return found

    def map_rows(self, tokens: NDArray[np.intp], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """The map by which these tokens' own vectors meet these rows (tokens, dimension) best."""
        seen = self._features[tokens]
        gram = seen.T @ seen + np.float32(MAP_PENALTY) * np.eye(seen.shape[1], dtype=np.float32)
        found: NDArray[np.float32] = np.linalg.solve(gram, seen.T @ rows).astype(np.float32)
        return found

    def mapped(self, by: NDArray[np.float32]) -> NDArray[np.float32]:
        """Token vectors (vocabulary, dimension) by such a map."""
        found: NDArray[np.float32] = self._features @ by
        return found


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A start at token vectors that were fitted before: `columns` (large dimension, dimension) are the directions that
    `vectors` (vocabulary, dimension) have. `most` takes so many of the texts' own directions in their place."""

    columns: NDArray[np.float32]
    vectors: NDArray[np.float32]
    most: int | None = None

    def directions(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """As `Start.directions`."""
        return self.columns if self.most is None else principal(vectors, self.most)

    def table(
        self, shares: sp.csr_matrix, targets: NDArray[np.float32], directions: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """As `Start.table`."""
        return self.vectors.copy() if self.most is None else self.vectors @ (self.columns.T @ directions)


class TableFit:
    """Fits tables to texts and to parts of them."""

    def __init__(self, texts: Texts, start: Start, vocabulary: int) -> None:
        """Takes the texts, and where to start from."""
        self.projection = start.directions(texts.vectors)
        self._start, self._shares = start, texts.matrix(vocabulary)
        self._targets = self.project(texts.vectors)

    def project(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The large encoder's vectors as the table's space has them: unit rows (n, dimension)."""
        return _unit(vectors @ self.projection)

    def choose(self, held: NDArray[np.bool_]) -> float:
        """The penalty with which a table of the other texts has the best mean cosine on the `held` ones (texts,)."""
        found = [(float(self.cosines(self.fit(~held, penalty), held).mean()), -penalty) for penalty in PENALTIES]
        return -max(found)[1]

    def fit(self, used: NDArray[np.bool_], penalty: float) -> NDArray[np.float32]:
        """The token vectors (vocabulary, dimension) fitted to the `used` texts (texts,)."""
        shares, targets = self._shares[used], self._targets[used]
        if not used.any():
            return self._start.table(shares, targets, self.projection)
        found = self._start.table(shares, targets, self.projection)
        found += _ridge(shares, targets - shares @ found, penalty)
        return found

    def cosines(self, table: NDArray[np.float32], chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Cosines of the chosen texts' means to what they should meet."""
        found: NDArray[np.float32] = (_unit(self._shares[chosen] @ table) * self._targets[chosen]).sum(axis=1)
        return found


def single_tokens(exported: ExportedEncoder, encoder: WindowEncoder) -> NDArray[np.float32]:
    """What the encoder makes of every single token of its vocabulary, float32 (vocabulary, dimension); kept for the
    next build."""
    hashes = [hashlib.sha256(data).hexdigest() for data in (exported.model, exported.tokenizer)]
    key = key_of(("tokens alone", encoder.spec.to_dict(), hashes))
    known = recall(key)
    if known is None:
        before, behind = encoder.frame
        count = encoder.vocabulary
        texts = [np.array([*before, token, *behind], np.int64) for token in range(count)]
        parts = [texts[first : first + SIDE_BY_SIDE] for first in range(0, count, SIDE_BY_SIDE)]
        with ThreadPoolExecutor(available_cpus()) as pool:
            rows = list(track(pool.map(encoder.embed_all, parts), "reading single tokens", len(parts)))
        known = np.concatenate(rows).astype("<f4").tobytes()
        remember(key, known)
    return np.frombuffer(known, "<f4").reshape(-1, encoder.spec.dimension)


def principal(vectors: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """The directions that hold most of the vectors, as columns (large dimension, dimension); all of them where there
    are no more."""
    values, columns = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    order = np.argsort(values)[::-1][:dimension]
    found = columns[:, order]
    # An eigenvector's sign is chance; without it the same inputs give the same bytes.
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    return np.ascontiguousarray(found * signs, np.float32)


def _ridge(shares: sp.csr_matrix, targets: NDArray[np.float32], penalty: float) -> NDArray[np.float32]:
    """The x with the least |shares·x − targets|² + penalty·|x|², by conjugate gradients, all columns side by side; 0
    for tokens that no text holds."""
    every: NDArray[np.float32] = np.zeros((shares.shape[1], targets.shape[1]), np.float32)
    held = np.unique(shares.indices)
    shares = shares[:, held]
    transposed = shares.T.tocsr()
    residual = transposed @ targets
    found = np.zeros_like(residual)
    direction = residual.copy()
    size = np.einsum("ij,ij->j", residual, residual)
    for _ in range(STEPS):
        image = transposed @ (shares @ direction) + np.float32(penalty) * direction
        step = size / np.maximum(np.einsum("ij,ij->j", direction, image), 1e-20)
        found += step * direction
        residual -= step * image
        after = np.einsum("ij,ij->j", residual, residual)
        direction = residual + after / np.maximum(size, 1e-20) * direction
        size = after
    every[held] = found
    return every


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return found
