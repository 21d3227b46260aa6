"""A bundle's tokenizer, checked and then made of the very values that were checked. Knows nothing of vectors.

The library itself reads a frame without vocabulary and added tokens, which are nearly all of the file: those are handed
over as they were read here. So it can read them in no other way, and need not read them a second time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import failure
from edgeret_export.reference.encoders.base import LoadedTokenizer
from edgeret_export.reference.encoders.word_tokens import WordTokens


def load_tokenizer(data: bytes, longest: int, where: str) -> LoadedTokenizer:
    """The tokenizer of a tokenizer.json, which cuts texts at `longest` tokens. Raises BundleError for a file that is
    not an encoder's, or that the library cannot read.

    Where words are read without the library it is made with the first text that is not printable ASCII: that takes a
    twelfth of a tiny bundle's start, and what the check lets pass of such a file leaves the library nothing to refuse.
    """
    from edgeret_export.reference.encoders.checks import tokenizer_file

    value = tokenizer_file.check(data, longest, f"{where}: tokenizer")
    size, frame = _size(value), _frame(value)
    words = WordTokens.of(value, later := cache(lambda: _library(json.loads(data), longest, where)))
    if words is not None:
        return LoadedTokenizer(later, size, words, frame)
    library = _library(value, longest, where)
    return LoadedTokenizer(lambda: library, size, None, frame)


def _library(value: Mapping[str, Any], longest: int, where: str) -> Any:
    """The library's tokenizer. Raises BundleError."""
    try:
        tokenizer = _made(value)
        tokenizer.no_padding()
        tokenizer.enable_truncation(longest)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a Rust panic is no Exception
        raise failure(where, "the tokenizers library cannot read the tokenizer", error) from None
    return tokenizer


def _size(value: Mapping[str, Any]) -> int:
    """How many tokens a tokenizer knows."""
    known = len(value["model"]["vocab"])
    return known + sum(int(token["id"]) >= known for token in value.get("added_tokens", ()))


def _frame(value: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """The ids of the tokens that stand before every text, and behind it."""
    ends = value.get("post_processor")
    if ends is None:
        return [], []
    if ends["type"] != "TemplateProcessing":
        return [ends["cls"][1]], [ends["sep"][1]]
    before: list[int] = []
    behind: list[int] = []
    for piece in ends["single"]:
        if "Sequence" in piece:
            before, behind = behind, []
        else:
            behind += ends["special_tokens"][piece["SpecialToken"]["id"]]["ids"]
    return before, behind


def _made(value: Mapping[str, Any]) -> Any:
    from tokenizers import AddedToken, Tokenizer, models

    model = dict(value["model"])
    kind = model.pop("type")
    empty = _without_pieces(model) if kind == "Unigram" else {**model, "vocab": {model["unk_token"]: 0}}
    frame = {**value, "model": {"type": kind, **empty}, "added_tokens": []}
    tokenizer = Tokenizer.from_str(json.dumps(frame))
    if kind == "Unigram":
        model["vocab"] = [(text, float(score)) for text, score in model["vocab"]]
    tokenizer.model = getattr(models, kind)(**model)
    for special, group in groupby(value.get("added_tokens", ()), key=lambda token: token["special"]):
        tokens = [AddedToken(**{key: item for key, item in token.items() if key != "id"}) for token in group]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(tokens)
    return tokenizer


def _without_pieces(model: Mapping[str, Any]) -> dict[str, Any]:
    """A Unigram model with its unknown piece alone."""
    return {**model, "vocab": [model["vocab"][model["unk_id"]]], "unk_id": 0}


def takes_spaces(tokenizer: Any) -> bool:
    """Whether a word's first token stands for the space before it, too."""
    try:
        offsets = tokenizer.encode("a a", add_special_tokens=False).offsets
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False
    return any(begin == 1 for begin, _ in offsets[1:])


def without_spaces(spans: NDArray[np.intp], text: str) -> NDArray[np.intp]:
    """Spans of characters in `text` (tokens, 2), each without a space that it begins with."""
    spaces = [begin < end and text[begin].isspace() for begin, end in spans.tolist()]
    return np.stack((spans[:, 0] + np.array(spaces, np.intp), spans[:, 1]), axis=1) if spaces else spans
