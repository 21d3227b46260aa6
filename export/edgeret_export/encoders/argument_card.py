"""Heads for arguments that are shipped, one for each encoder that has one: the file, and what it tells of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import pack, unpack
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret_export.encoders.export import encoder_of
from edgeret_export.encoders.pretrained import NONE, made_for
from edgeret_export.reference.arguments.role import pool_of, stored_pool, weights_of
from edgeret_export.reference.scoring.argument_head import pack_head, unpack_head
from edgeret_export.reference.scoring.argument_shape import TRAITS
from edgeret_export.sources.cards import Card, cards_folder, teacher_of

FOLDER, SUFFIX = "arguments", ".msgpack"


@dataclass(frozen=True, slots=True)
class ArgumentCard:
    """A head as it is shipped: its arrays (see `reference.scoring.argument_shape`), what joins it with the rules, and
    what it tells of itself: the encoder it was `made_for`, recipe, sets and figures."""

    told: Mapping[str, Any]
    arrays: Mapping[str, NDArray[np.float32]]
    pool: Mapping[str, float]
    traits: Mapping[str, float]


def pack_card(card: ArgumentCard) -> bytes:
    """The file of a head."""
    return pack(
        {
            "told": json.dumps(card.told),
            "head": pack_head(card.arrays),
            "pool": stored_pool(card.pool),
            "traits": {name: float(card.traits[name]) for name in TRAITS},
        }
    )


def read_card(path: Path, dimension: int) -> ArgumentCard:
    """The head in a file, for vectors of so many numbers. Raises InputError."""
    where = str(path)
    try:
        value = unpack(path.read_bytes(), where)
        told = json.loads(get(value, "told", str, where))
        if not isinstance(told.get("made_for"), dict):
            raise TypeError("made_for is no object")
        head = unpack_head(get(value, "head", dict, where), dimension, where)
        return ArgumentCard(
            *(told, head.arrays),
            pool_of(value, where),
            weights_of(value, "traits", TRAITS, where),
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected a head for arguments") from None
    except (BundleError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: no head for arguments ({error})") from None


def argument_card_of(card: Card, told: str | None = None) -> ArgumentCard | None:
    """The head in the file `told`, or the one that is shipped for this encoder as it is; None for `none`, or where none
    is shipped. Raises InputError for a file that is none, or is another encoder's."""
    if told == NONE:
        return None
    card = teacher_of(card)
    path = Path(str(cards_folder())) / FOLDER / f"{card.name}{SUFFIX}" if told is None else Path(told)
    if told is None and not path.is_file():
        return None
    encoder = encoder_of(card)
    found = read_card(path, encoder.truncate or encoder.dimension)
    if found.told["made_for"] == made_for(card):
        return found
    if told is not None:
        raise InputError(
            f"{told}: a head for another encoder than {card.name} as it is now (made for {found.told.get('card')}); "
            f"fit one with: edgeret-export lab arguments --encoder {card.name}"
        )
    return None
