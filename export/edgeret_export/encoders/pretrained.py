"""Token vectors fitted to many people's texts, for one encoder: how they are fitted, the file, and those that are
shipped. A bundle's own table starts there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array, pack, unpack
from edgeret.bundle.few_bits import from_bytes, get_scales
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.terminal.progress import say
from edgeret_export.encoders.asked import Asked
from edgeret_export.encoders.encodings import remembered, start
from edgeret_export.encoders.export import encoder_of, export_encoder
from edgeret_export.encoders.static import Alone, Pretrained, TableFit, Texts, single_tokens
from edgeret_export.reference.few_bits import from_halves, to_bytes, to_halves
from edgeret_export.sources.cards import Card, cards_folder, teacher_of
from edgeret_export.sources.fetch import sha256_of

DIMENSION = 192
"""Numbers of a token's vector. Without demonstrations 128 find 0.02 to 0.04 less (docs/decisions)
and 256 0.01 more, but make a tiny bundle of more than 9 MB."""
FOLDER, SUFFIX = "token-vectors", ".msgpack"
NONE = "none"
HELD = 10
"""One of so many texts says which penalty is best, and how near the means come."""
LEAST_TEXTS = 100
LEAST_HELD = 3
"""Texts that hold a token whose vector is kept as it was fitted; the others' are mapped, and take half a byte a
number."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A file of token vectors: its sha256, what it tells of itself, `columns` (large dimension, dimension) as in
    `Pretrained`, and `vectors` (vocabulary, dimension)."""

    sha256: str
    told: Mapping[str, Any]
    columns: NDArray[np.float32]
    vectors: NDArray[np.float32]

    def start(self, vocabulary: int, most: int | None = None) -> Pretrained:
        """Where a table for so many tokens starts; `most` is as in `Pretrained`. Raises InputError for another
        number."""
        if len(self.vectors) != vocabulary:
            raise InputError(
                f"token vectors for {len(self.vectors)} tokens, the encoder has {vocabulary}; make some with: "
                "edgeret-export lab token-vectors"
            )
        return Pretrained(self.columns, self.vectors, most)


def made_for(card: Card) -> dict[str, str]:
    """What token vectors depend on: the encoder's files and its adapter, by sha256, and how many numbers are kept."""
    encoder = encoder_of(card)
    weights = [digest for name, digest in sorted(card.files.items()) if name.endswith((".safetensors", ".bin"))]
    return {
        "weights": " ".join(weights),
        "tokenizer": card.files.get("tokenizer.json", ""),
        "adapter": "" if encoder.adapter is None else encoder.adapter.sha256,
        "pooling": encoder.pooling,
        "dimension": str(encoder.truncate or encoder.dimension),
        **({"scripts": ",".join(encoder.scripts)} if encoder.scripts else {}),
        **({} if encoder.centre is None else {"centre": encoder.centre.sha256}),
    }


def token_vectors_of(card: Card, told: str | None = None) -> TokenVectors | None:
    """The token vectors in the file `told`, or those that are shipped for this encoder as it is; None for `none`, and
    where none are shipped. Raises InputError for a file that is none, or is another encoder's."""
    if told == NONE:
        return None
    card = teacher_of(card)
    if told is not None:
        found = read_token_vectors(Path(told))
        if found.told["made_for"] != made_for(card):
            raise InputError(
                f"{told}: token vectors of another encoder than {card.name} as it is now (made for {found.told['card']}"
                f"); make some with: edgeret-export lab token-vectors --encoder {card.name}"
            )
        return found
    path = Path(str(cards_folder())) / FOLDER / f"{card.name}{SUFFIX}"
    if not path.is_file():
        return None
    found = read_token_vectors(path)
    return found if found.told["made_for"] == made_for(card) else None


def read_token_vectors(path: Path) -> TokenVectors:
    """The token vectors in a file. Raises InputError."""
    where = str(path)
    try:
        value = unpack(path.read_bytes(), where)
        told = json.loads(get(value, "told", str, where))
        columns = get_array(value, "columns", "<f2", (None, None), where).astype(np.float32)
        dimension = columns.shape[1]
        tokens = get_array(value, "tokens", "<i4", (None,), where)
        rows = get_array(value, "rows", "|i1", (len(tokens), dimension), where)
        pairs = get_array(value, "pairs", "|i1", (None, dimension // 2), where)
        vocabulary = len(tokens) + len(pairs)
        if (len(tokens) and not 0 <= tokens[0] <= tokens[-1] < vocabulary) or (np.diff(tokens) <= 0).any():
            raise ValueError("its tokens are not numbers of the vocabulary, ascending")
        vectors = np.empty((vocabulary, dimension), np.float32)
        vectors[tokens] = from_bytes(rows, get_scales(value, "scales", len(tokens), where))
        others = np.delete(np.arange(vocabulary), tokens)
        vectors[others] = from_halves(pairs, get_scales(value, "pair_scales", len(pairs), where))
        made, _ = told["made_for"], told["card"]
        if not isinstance(made, dict):
            raise TypeError("made_for is no object")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected a file of token vectors") from None
    except (BundleError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no token vectors ({error}); make some: edgeret-export lab token-vectors") from None
    return TokenVectors(sha256_of(path), told, columns, vectors)


def make_token_vectors(
    card: Card,
    texts: Sequence[str],
    sets: Sequence[Asked] = (),
    dimension: int = DIMENSION,
    offline: bool = False,
) -> tuple[bytes, dict[str, Any]]:
    """The file of token vectors that are fitted to the encoder's vectors of these texts, read in int8, and what it
    tells; with `sets`, by contrast as well. Raises InputError for too few texts."""
    if len(texts) < LEAST_TEXTS:
        raise InputError(f"{len(texts)} different texts, at least {LEAST_TEXTS} are needed; thousands do some good")
    exported = export_encoder(card, "int8", offline)
    encoder = start(exported)
    with remembered(exported, encoder) as encodings:
        vectors = encodings.queries(texts)
    say("fitting token vectors")
    read = Texts([encoder.tokenize_words(text) for text in texts], vectors)
    told = {"card": card.name, "licence": card.licence, "made_for": made_for(card)}
    return fit_token_vectors(read, single_tokens(exported, encoder), told, dimension, sets)


def fit_token_vectors(
    texts: Texts,
    alone: NDArray[np.float32],
    told: Mapping[str, Any],
    dimension: int,
    sets: Sequence[Asked] = (),
) -> tuple[bytes, dict[str, Any]]:
    """The same, of texts that were read; `alone` (vocabulary, large dimension) are the encoder's vectors of single
    tokens. The file tells what is `told` of the encoder, and the mean cosine on a tenth that a trial did not see."""
    beginning, count = Alone(alone, dimension), len(texts.tokens)
    fit = TableFit(texts, beginning, len(alone))
    held = np.random.default_rng(0).permutation(count) % HELD == 0
    penalty = fit.choose(held)
    cosine = float(fit.cosines(fit.fit(~held, penalty), held).mean())
    every = fit.fit(np.ones(count, bool), penalty)
    held_by = np.bincount(np.concatenate([np.unique(each) for each in texts.tokens]), minlength=len(alone))
    often = np.flatnonzero(held_by >= LEAST_HELD)
    columns = fit.projection
    if sets:
        every, columns = _by_contrast(texts, every, sets)
        mapped = beginning.mapped(beginning.map_rows(often, every[often]))
    else:
        mapped = beginning.mapped(beginning.map_to(texts.matrix(len(alone)), fit.project(texts.vectors)))
    found = {
        **told,
        "vocabulary": len(alone),
        "texts": count,
        "penalty": penalty,
        "cosine": round(cosine, 4),
        **({"pairs": sum(len(asked.pairs) for asked in sets)} if sets else {}),
    }
    return pack_token_vectors(found, columns, often, every[often], np.delete(mapped, often, axis=0)), found


def _by_contrast(
    texts: Texts, table: NDArray[np.float32], sets: Sequence[Asked]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The table fitted further, and the orthonormal directions (large dimension, dimension) in which the large
    encoder's vectors are nearest to it (Procrustes); of a length with which means of texts meet these best."""
    from edgeret_export.encoders.contrast import contrasted

    table = contrasted(table, texts.tokens, texts.vectors, sets)
    means = texts.matrix(len(table)) @ table
    left, _, right = np.linalg.svd(texts.vectors.T @ means, full_matrices=False)
    columns: NDArray[np.float32] = (left @ right).astype(np.float32)
    targets = texts.vectors @ columns
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    return table * np.float32((targets * means).sum() / (means * means).sum()), columns


def pack_token_vectors(
    told: Mapping[str, Any],
    columns: NDArray[np.float32],
    tokens: NDArray[np.intp],
    rows: NDArray[np.float32],
    others: NDArray[np.float32],
) -> bytes:
    """The file: `rows` (len(tokens), dimension) in bytes, and those of all `others`, ascending, in halves of one."""
    numbers, scales = to_bytes(rows)
    pairs, pair_scales = to_halves(others)
    return pack(
        {
            "told": json.dumps(told),
            "columns": columns.astype("<f2"),
            "tokens": tokens.astype("<i4"),
            "rows": numbers,
            "scales": scales,
            "pairs": pairs,
            "pair_scales": pair_scales,
        }
    )
