"""A bundle's tokenizer, checked and then made of the very values that were checked. Knows nothing of vectors.

The library itself reads a frame without vocabulary and added tokens, which are nearly all of the file: those are handed
over as they were read here. So it can read them in no other way, and need not read them a second time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from edgeret.encoders.base import failure


def load_tokenizer(data: bytes, longest: int, where: str) -> Any:
    """The tokenizer of a tokenizer.json, which cuts texts at `longest` tokens. Raises BundleError for a file that is
    not an encoder's, or that the library cannot read."""
    from edgeret.encoders.checks import tokenizer_file  # with the first bundle, as the library that it guards

    value = tokenizer_file.check(data, longest, f"{where}: tokenizer")
    try:
        tokenizer = _made(value)
        tokenizer.no_padding()
        tokenizer.enable_truncation(longest)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a Rust panic is no Exception
        raise failure(where, "the tokenizers library cannot read the tokenizer", error) from None
    return tokenizer


def _made(value: Mapping[str, Any]) -> Any:
    from tokenizers import AddedToken, Tokenizer, models

    model = dict(value["model"])
    kind = model.pop("type")
    frame = {**value, "model": {**value["model"], "vocab": {model["unk_token"]: 0}}, "added_tokens": []}
    tokenizer = Tokenizer.from_str(json.dumps(frame))
    tokenizer.model = getattr(models, kind)(**model)
    for special, group in groupby(value.get("added_tokens", ()), key=lambda token: token["special"]):
        tokens = [AddedToken(**{key: item for key, item in token.items() if key != "id"}) for token in group]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(tokens)
    return tokenizer
