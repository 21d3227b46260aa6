"""Files of centres, which cards name: where an encoder's vectors of requests lie in the mean. Makes none."""

from __future__ import annotations

import json
import math
from typing import Any

from edgeret.errors import InputError
from edgeret_export.sources.cards import Card
from edgeret_export.sources.fetch import sha256_of

MAX_BYTES = 1 << 20
MAKE = "make one with: edgeret-export lab centre"


def weights_of(card: Card) -> dict[str, str]:
    """What a centre depends on: weights, tokenizer and adapter by sha256, and what stands before requests."""
    encoder = card.encoder
    assert encoder is not None
    weights = [digest for name, digest in sorted(card.files.items()) if name.endswith((".safetensors", ".bin"))]
    return {
        "weights": " ".join(weights),
        "tokenizer": card.files.get("tokenizer.json", ""),
        "adapter": "" if encoder.adapter is None else encoder.adapter.sha256,
        "query_prefix": encoder.query_prefix,
    }


def read_centre(card: Card) -> tuple[float, ...] | None:
    """The centre that a card names, a number for each of its dimension; None for a card without one. Raises InputError
    for a file with another hash than the card says, one that is none, or another encoder's."""
    encoder = card.encoder
    if encoder is None or encoder.centre is None:
        return None
    file, expected = encoder.centre.file, encoder.centre.sha256
    try:
        if file.stat().st_size > MAX_BYTES:
            raise InputError(f"{file}: expected at most {MAX_BYTES} bytes; {MAKE} --encoder {card.name}")
        if (found := sha256_of(file)) != expected:
            raise InputError(
                f"{file}: expected sha256 {expected} (model card {card.origin}), found {found}; {MAKE} --encoder "
                f"{card.name}, or mend centre_sha256"
            )
        told: Any = json.loads(file.read_text(encoding="utf-8"))
        numbers, made_for = told["centre"], told["made_for"]
        if not isinstance(numbers, list) or not all(type(number) in (int, float) for number in numbers):
            raise TypeError("its centre is no list of numbers")
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); {MAKE} --encoder {card.name}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: no centre ({error}); {MAKE} --encoder {card.name}") from None
    if len(numbers) != encoder.dimension or not all(math.isfinite(number) for number in numbers):
        raise InputError(f"{file}: expected {encoder.dimension} finite numbers, found {len(numbers)}; {MAKE}")
    if made_for != weights_of(card):
        raise InputError(f"{file}: the centre of another encoder than {card.name} as it is now; {MAKE}")
    return tuple(map(float, numbers))
