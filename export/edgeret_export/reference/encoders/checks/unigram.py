"""The parts of a tokenizer.json that SentencePiece's Unigram models have (XLM-R and its kind), and what they may hold,
so that the library's work on a text stays in proportion to it. Knows nothing of files.

A charsmap is a trie of bytes, which the library follows without asking whether its steps lead outside, and texts that
replace others. Here every step that a text could take is checked, and no text may grow by more than NFKC makes it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.encoders.checks.rules import ARRAY, COUNT, FLAG, NAMED_ID, Rules, one_of

MODEL = "Unigram"
MAX_BYTES, MAX_BRACKETS = 20 << 20, 650_000
"""Of a file with such a model, whose vocabulary is an array a piece: XLM-R's has 17 MB and 250,000 of them."""
MAX_CHARSMAP = 1 << 20
"""Characters of base64; that of NFKC has 316,000."""
MAX_REPLACEMENT = 48
"""Bytes that one character may become; NFKC makes 33 of U+FDFA."""
MAX_PIECE = 64
"""Characters of a piece: at each character of a text, the library looks up all pieces that begin there."""
MAX_SCORE = 1e4
_BLOCK, _VALUE, _LEAF = 256, 0x8000_0000, 0x100
SPACE = "\u2581"
"""What stands for a space inside of pieces."""

MODELS: Mapping[str, Rules] = {
    MODEL: {"unk_id": COUNT, "vocab": ARRAY, "byte_fallback": ("false", lambda v: v is False)}
}
NORMALIZERS: Mapping[str, Rules] = {
    "Precompiled": {
        "precompiled_charsmap": (
            f"a text of at most {MAX_CHARSMAP} characters",
            lambda v: type(v) is str and 0 < len(v) <= MAX_CHARSMAP,
        )
    },
    "Replace": {
        "pattern": ('{"Regex": " {2,}"}', lambda v: v == {"Regex": " {2,}"}),
        "content": one_of(" ", SPACE),
    },
}
"""Several spaces become one: the only replacement that converters of these models write."""
PRE_TOKENIZERS: Mapping[str, Rules] = {
    "Metaspace": {
        "replacement": one_of(SPACE),
        "str_rep": one_of(SPACE),
        "add_prefix_space": FLAG,
        "prepend_scheme": one_of("always", "first", "never"),
        "split": FLAG,
    }
}
POST_PROCESSORS: Mapping[str, Rules] = {
    "RobertaProcessing": {"sep": NAMED_ID, "cls": NAMED_ID, "trim_offsets": FLAG, "add_prefix_space": FLAG}
}
DECODERS: Mapping[str, Rules] = {"Metaspace": PRE_TOKENIZERS["Metaspace"]}
OPTIONAL = ("byte_fallback", "str_rep", "add_prefix_space", "prepend_scheme", "split")
"""Fields that came or went with releases of the library."""


def check_pieces(pieces: Sequence[Any], unknown: int) -> dict[str, int]:
    """The ids of a model's pieces by their texts. Raises ValueError for pieces or scores that make no sense."""
    if set(map(type, pieces)) != {list} or set(map(len, pieces)) != {2}:
        raise ValueError("a piece of the vocabulary must be a text and its score")
    texts, scores = zip(*pieces, strict=True)
    if set(map(type, texts)) != {str} or not set(map(type, scores)) <= {float, int}:
        raise ValueError("a piece of the vocabulary must be a text and its score")
    if not 0 < min(map(len, texts)) <= max(map(len, texts)) <= MAX_PIECE:
        raise ValueError(f"a piece of the vocabulary must have 1 to {MAX_PIECE} characters")
    if not all(-MAX_SCORE <= score <= MAX_SCORE for score in scores):
        raise ValueError(f"a piece's score must lie between -{MAX_SCORE:g} and {MAX_SCORE:g}")
    ids = dict(zip(texts, range(len(texts)), strict=True))
    if len(ids) != len(texts):
        raise ValueError("the vocabulary has a piece twice")
    if unknown >= len(texts):
        raise ValueError(f'model {MODEL}: "unk_id" must be below {len(texts)}, found {unknown}')
    return ids


def check_normalizers(steps: Sequence[Mapping[str, Any]]) -> None:
    """Raises ValueError for a charsmap that the library must not follow, or more than one: texts would grow by each."""
    maps = [step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"]
    if len(maps) > 1:
        raise ValueError("normalizer Sequence: expected one Precompiled at most")
    for encoded in maps:
        try:
            check_charsmap(base64.b64decode(encoded.encode("ascii"), validate=True))
        except (binascii.Error, UnicodeError) as error:
            raise ValueError(f"normalizer Precompiled: its charsmap is damaged ({error})") from None


def check_charsmap(data: bytes) -> None:
    """Raises ValueError unless `data` is the size of a double-array trie in bytes (four bytes, little-endian), the
    trie, and UTF-8 texts that each end with a zero byte; and nothing in the trie leads outside of either.
    """
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or not 0 < size <= len(data) - 4 or size % (4 * _BLOCK):
        raise ValueError("normalizer Precompiled: its charsmap has no trie of whole blocks")
    texts = data[4 + size :]
    texts.decode()
    if texts[-1:] != b"\0":
        raise ValueError("normalizer Precompiled: the last text of its charsmap has no end")
    units = np.frombuffer(data, "<u4", size // 4, 4)
    _check_trie(units, _starts(texts))


def _starts(texts: bytes) -> NDArray[np.bool_]:
    """At which bytes a text may begin: at those of a character, not too far from the zero byte that ends it."""
    codes = np.frombuffer(texts, np.uint8)
    ends = np.flatnonzero(codes == 0)
    places = np.arange(len(codes))
    lengths = ends[np.searchsorted(ends, places)] - places
    # A byte 10xxxxxx is inside of a character.
    return np.asarray((codes & 0xC0 != 0x80) & (lengths <= MAX_REPLACEMENT))


def _check_trie(units: NDArray[np.uint32], starts: NDArray[np.bool_]) -> None:
    """A unit of a double array, in the layout of Darts-clone: a value, or an offset to where its children are."""
    # The first unit is followed whatever it is.
    inner = np.flatnonzero((units & _VALUE) == 0)
    found = units[inner].astype(np.int64)
    shifts = np.where(found & 0x200, 8, 0)
    children = inner ^ (found >> 10 << shifts)
    # A child lies beside the others in a block of 256, so whole blocks hold all of them.
    if units[0] & _VALUE or children.max(initial=0) >= len(units):
        raise ValueError("normalizer Precompiled: its charsmap leads out of its trie")
    values = units[children[(found & _LEAF) != 0]].astype(np.int64)
    places = values & (_VALUE - 1)
    if (values < _VALUE).any() or places.max(initial=0) >= len(starts) or not starts[places].all():
        raise ValueError(
            "normalizer Precompiled: its charsmap names a text that is none, or one of more than "
            f"{MAX_REPLACEMENT} bytes"
        )
