"""The bundle's role `arguments`: the head's weights, vectors of what tools' parameters are called, which outputs
demonstrations took, and what is needed to join the head with the rules. Knows nothing of requests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.few_bits import get_scales
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get, get_number, get_strings
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.few_bits import to_bytes
from edgeret_export.reference.scoring.argument_head import ArgumentHead, pack_head, unpack_head
from edgeret_export.reference.scoring.argument_joining import ANY_SCRIPT, NAMES, TUNED
from edgeret_export.reference.scoring.argument_shape import POOL, TRAITS

Counts = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""By tool and parameter, and by the tool that gave it: in how many demonstrations an output of that tool was there and
not used yet, in how many of these it was taken, and the same two for outputs that were used already."""
MOST_WEIGHT = 100.0
"""Magnitude of the weights of `pool` and `traits` at most."""
_NUMBERS = 7
"""Of a row of `counts`: the numbers of tool, parameter and giver, and four counts."""


class StoredArguments:
    """What a bundle holds for arguments. Immutable and thread-safe. `rows` int8 (texts, dimension) with `scales` are
    vectors of texts whose `keys` rise; `pool` and `traits` are weights by name."""

    def __init__(
        self,
        head: ArgumentHead,
        encoder: Encoder,
        keys: NDArray[np.int64],
        rows: NDArray[np.int8],
        scales: NDArray[np.float32],
        pool: Mapping[str, float],
        traits: Mapping[str, float],
        counts: Counts,
    ) -> None:
        self.head, self.encoder, self.keys, self.rows, self.scales = head, encoder, keys, rows, scales
        self.pool, self.traits, self.counts = pool, traits, counts
        self.made: Any = None  # what reads with it, which is loaded when somebody asks for arguments


def text_key(text: str) -> int:
    """What a text's vector is stored under."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "little", signed=True)


def pack_arguments(
    head: Mapping[str, NDArray[np.float32]],
    texts: Mapping[str, NDArray[np.float32]],
    pool: Mapping[str, float],
    traits: Mapping[str, float],
    counts: Counts,
    fingerprint: str,
) -> bytes:
    """The file with the role `arguments`, tied to the encoder whose vectors the head reads. `texts` are vectors of
    functions, parameters and options by what was encoded, float32 (dimension,)."""
    by_key = {text_key(text): vector for text, vector in texts.items()}
    keys = sorted(by_key)
    dimension = head["word.weight"].shape[1]
    rows, scales = to_bytes(np.array([by_key[key] for key in keys], np.float32).reshape(-1, dimension))
    names = sorted({name for (tool, parameter), givers in counts.items() for name in (tool, parameter, *givers)})
    at = {name: i for i, name in enumerate(names)}
    listed = [
        (at[tool], at[parameter], at[giver], *(int(count) for count in row))
        for (tool, parameter), givers in sorted(counts.items())
        for giver, row in sorted(givers.items())
    ]
    return pack(
        {
            "encoder": fingerprint,
            "head": pack_head(head),
            "keys": np.array(keys, "<i8"),
            "rows": rows,
            "scales": scales,
            "names": names,
            "counts": np.array(listed, "<i4").reshape(-1, _NUMBERS),
            "pool": stored_pool(pool),
            "traits": {name: float(traits[name]) for name in TRAITS},
        }
    )


def load_arguments(bundle: Bundle, encoder: Encoder) -> StoredArguments | None:
    """What reads arguments with the bundle's head, None without one. Raises BundleError if it does not hang
    together."""
    if bundle.manifest.file(roles.ARGUMENTS) is None:
        return None
    where = f"{bundle.path} ({roles.ARGUMENTS})"
    value = bundle.map(roles.ARGUMENTS)
    check_owner(value, bundle.fingerprint(), where)
    dimension = encoder.spec.dimension
    head = unpack_head(get(value, "head", dict, where), dimension, where)
    keys = get_array(value, "keys", "<i8", (None,), where)
    rows = get_array(value, "rows", "|i1", (len(keys), dimension), where)
    scales = get_scales(value, "scales", len(keys), where)
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        raise BundleError(f'{where}: "keys" must rise; build the bundle again')
    if float(scales.max(initial=0.0)) > 1.0:
        raise BundleError(f"{where}: vectors that no encoder gives; build the bundle again")
    return StoredArguments(
        *(head, encoder, keys, rows, scales),
        pool_of(value, where),
        weights_of(value, "traits", TRAITS, where),
        _counts(value, where),
    )


def stored_pool(pool: Mapping[str, float]) -> dict[str, float]:
    """What joins rules and head, as it is stored: without weights of nothing that a reader need not have."""
    more = {name: pool[name] for name in (*NAMES, ANY_SCRIPT) if pool.get(name) and name not in POOL}
    more |= {TUNED: pool[TUNED]} if TUNED in pool else {}
    return {name: float(weight) for name, weight in ({name: pool[name] for name in POOL} | more).items()}


def pool_of(value: Mapping[str, Any], where: str) -> dict[str, float]:
    """The same, read. Raises BundleError."""
    given = value.get("pool")
    more = [
        name for name in (*NAMES, TUNED, ANY_SCRIPT) if isinstance(given, dict) and name in given and name not in POOL
    ]
    return weights_of(value, "pool", (*POOL, *more), where)


def weights_of(value: Mapping[str, Any], key: str, names: Sequence[str], where: str) -> dict[str, float]:
    """Weights by name. Raises BundleError for those that are missing, too large or below nothing where they scale."""
    told = get(dict(value), key, dict, where)
    return {
        name: get_number(told, name, 0.0 if name in _SCALES else -MOST_WEIGHT, MOST_WEIGHT, where) for name in names
    }


_SCALES = frozenset(("rules", "head", "options"))


def _counts(value: Mapping[str, Any], where: str) -> Counts:
    names = get_strings(dict(value), "names", where)
    table = get_array(value, "counts", "<i4", (None, _NUMBERS), where)
    places, numbers = table[:, :3], table[:, 3:]
    sound = len(table) == 0 or (
        int(places.min()) >= 0
        and int(places.max()) < len(names)
        and int(numbers.min()) >= 0
        and bool((numbers[:, 1] <= numbers[:, 0]).all() and (numbers[:, 3] <= numbers[:, 2]).all())
    )
    if not sound:
        raise BundleError(f"{where}: counts that contradict each other; build the bundle again")
    found: dict[tuple[str, str], dict[str, Sequence[float]]] = {}
    for tool, parameter, giver, *row in table.tolist():
        found.setdefault((names[tool], names[parameter]), {})[names[giver]] = row
    return found
