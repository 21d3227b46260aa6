"""What the head for arguments is asked for one call, and what it remembers of tools: the vectors of their parameters
and options, from the bundle, or encoded when a tool that came later is first asked about. Knows nothing of what becomes
of its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.types import Call, Tool
from edgeret_export.reference.arguments.choices import Chosen
from edgeret_export.reference.arguments.features import (
    MOST_UNITS_READ,
    OPTION_FEATURES,
    function_text,
    option_features,
    option_text,
    options,
    parameter_features,
    parameter_text,
    places_of,
    relations,
    request_features,
    unit_features,
)
from edgeret_export.reference.arguments.role import StoredArguments, text_key
from edgeret_export.reference.arguments.said_before import earlier_values
from edgeret_export.reference.arguments.spans import Suitor
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.inputs.chunks import Chunks
from edgeret_export.reference.inputs.parameters import Parameter, Same, parameters
from edgeret_export.reference.scoring.argument_head import ArgumentHead, Asked, LogShares
from edgeret_export.reference.scoring.argument_joining import Joining
from edgeret_export.reference.scoring.argument_shape import LONGEST

MOST_ASKED = 64
"""Parameters of a tool that the head is asked about, those that it must have first."""


def wanted_of(tool: Tool) -> tuple[Parameter, ...]:
    """The parameters that the head is asked about."""
    return tuple(one for one in parameters(tool) if one.kind != "nested")[:MOST_ASKED]


def texts_of(tool: Tool, wanted: Sequence[Parameter]) -> list[str]:
    """What is encoded for a tool: the function, the parameters, and all their options."""
    return [
        function_text(tool),
        *(parameter_text(one) for one in wanted),
        *(option_text(one, value) for one in wanted for value in options(one)),
    ]


class Said(NamedTuple):
    """A request whatever is called: its units' vectors (units, dimension) and features, and its chunks' places."""

    vectors: NDArray[np.float32]
    units: NDArray[np.float32]
    chunks: NDArray[np.int64]


def said_in(found: Chunks, encoded: EncodedQuery) -> Said:
    """What the head is told of a request."""
    return Said(unit_vectors(found, encoded), request_features(found), places_of(found.chunks, LONGEST))


class Features(NamedTuple):
    """What the head is told of one call beside vectors (see `edgeret_export.reference.arguments.features`)."""

    units: NDArray[np.float32]
    relations: NDArray[np.float32]
    chunks: NDArray[np.int64]
    options: NDArray[np.float32]


def features_of(
    tool: Tool, wanted: Sequence[Parameter], before: Sequence[Call], suitor: Suitor, found: Chunks, of: Said
) -> Features:
    """The features of a call of `tool` behind other calls."""
    said, taken = earlier_values(before, tool.name)
    stems, units = found.stems, found.reading.units
    rows = [np.zeros((0, OPTION_FEATURES), np.float32)]
    chosen, text, held = Chosen(found, suitor), found.reading.text.lower(), frozenset(stems) - {""}
    for one in wanted:
        if values := options(one):
            by_rule = chosen.found(one)
            rows.append(option_features(one, values, held, text, None if by_rule is None else by_rule.value))
    return Features(
        unit_features(of.units, found, [stem in suitor.own for stem in stems], suitor.near, said, taken),
        relations(stems, [unit.lower for unit in units], wanted),
        of.chunks,
        np.concatenate(rows),
    )


def unit_vectors(found: Chunks, encoded: EncodedQuery) -> NDArray[np.float32]:
    """The mean of the vectors of the tokens that each unit of a request shares characters with, float32 (units,
    dimension); zeros where there are none."""
    starts = np.array([unit.start for unit in found.reading.units], np.intp)
    ends = np.array([unit.end for unit in found.reading.units], np.intp)
    shared = (encoded.spans[None, :, 0] < ends[:, None]) & (encoded.spans[None, :, 1] > starts[:, None])
    weights = shared.astype(np.float32)
    weights /= np.maximum(weights.sum(1, keepdims=True), 1.0)
    means: NDArray[np.float32] = weights @ encoded.tokens
    return means


class ArgumentReader:
    """The head with what it knows of tools. Safe to use from several threads."""

    def __init__(self, stored: StoredArguments) -> None:
        """By what a bundle holds."""
        self.head, self.traits, self.counts = stored.head, stored.traits, stored.counts
        self.joining = Joining(stored.pool)
        self._encoder = stored.encoder
        self._latest: tuple[str, Said] | None = None
        # Of values, not of this object or of `stored`, which holds it: in a circle a model whose tools changed, or a
        # version that was left, would stay in memory until garbage is collected.
        self._asked = lru_cache(512)(partial(_asked, stored.head, _Vectors.of(stored)))

    def log_shares(
        self,
        tool: Tool,
        calls: Sequence[Call],
        suitor: Suitor,
        found: Chunks,
        query: str,
        encoded: EncodedQuery | None,
    ) -> tuple[Mapping[str, int], LogShares] | None:
        """The head's word on a call, with the numbers of its parameters by name; None for a request that is too long
        and for a tool without parameters. A request that was not `encoded` is encoded now."""
        wanted = wanted_of(tool)
        if not wanted or not 0 < len(found.reading.units) <= MOST_UNITS_READ:
            return None
        latest = self._latest
        if latest is None or latest[0] != query:
            if encoded is None:
                encoded = self._encoder.encode_query(query)
            latest = query, said_in(found, encoded)
            self._latest = latest
        told = features_of(tool, wanted, calls, suitor, found, latest[1])
        asked = self._asked(Same(tool))
        given = self.head.log_shares(latest[1].vectors, told.units, told.relations, told.chunks, asked, told.options)
        return {one.name: i for i, one in enumerate(wanted)}, given


class _Vectors(NamedTuple):
    """The vectors of tools' texts, those that the bundle holds by the texts' keys."""

    keys: NDArray[np.int64]
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    encoder: Encoder

    @classmethod
    def of(cls, stored: StoredArguments) -> _Vectors:
        return cls(stored.keys, stored.rows, stored.scales, stored.encoder)

    def vector(self, text: str) -> NDArray[np.float32]:
        key = text_key(text)
        at = int(self.keys.searchsorted(key))
        if at < len(self.keys) and self.keys[at] == key:
            stored: NDArray[np.float32] = self.rows[at] * self.scales[at]
            return stored
        vector: NDArray[np.float32] = self.encoder.encode_tools([text])[0]
        return vector


def _asked(head: ArgumentHead, known: _Vectors, key: Same) -> Asked:
    wanted = wanted_of(key.tool)
    vectors = np.stack([known.vector(text) for text in texts_of(key.tool, wanted)])
    boolean = np.array([one.kind == "boolean" for one in wanted], bool)
    counts = [len(options(one)) for one in wanted]
    return head.asked(vectors, parameter_features(wanted), counts, boolean)


def reader_of(stored: StoredArguments | None) -> ArgumentReader | None:
    """What reads arguments with what a bundle holds, made once; None for a bundle without a head."""
    if stored is None:
        return None
    found: ArgumentReader | None = stored.made
    if found is None:
        stored.made = found = ArgumentReader(stored)
    return found
