"""Why a step came out as it did, as the library tells it: `er_explanation`. Loaded when somebody asks."""

from __future__ import annotations

import ctypes as c
from collections.abc import Mapping, Sequence
from math import exp, isnan
from typing import NamedTuple

from edgeret.core.library import INT, Given
from edgeret.types import END, Demonstrated, Vote

PARTS = (
    *("head", "prior", "words", "meaning", "flow", "values", "examples", "graph", "memory", "learned"),
    "familiarity",
)
"""`er_part_name`."""
COMPARED, NEAR, WORDS, CLUSTER = 3, 3, 12, 3


class _Vote(c.Structure):
    _fields_ = (
        *(("part", c.c_int), ("within", INT), ("weight", c.c_double), ("log_p", c.c_double * COMPARED)),
        ("pull", c.c_double),
    )


class _Demonstration(c.Structure):
    _fields_ = (
        *(("query", Given), ("calls", c.POINTER(Given)), ("call_count", c.c_uint32), ("learned", INT)),
        ("cosine", c.c_double),
    )


class _Word(c.Structure):
    _fields_ = (("word", Given), ("unknown", INT), ("has", c.c_uint32))


class _Candidate(c.Structure):
    _fields_ = (("tool_number", INT), ("tool", Given), ("probability", c.c_double))


class Told(c.Structure):
    """`er_explanation`."""

    _fields_ = (
        *(("size", c.c_size_t), ("votes", _Vote * len(PARTS)), ("near", _Demonstration * NEAR)),
        *(("words", _Word * WORDS), ("cluster", _Candidate * CLUSTER), ("vote_count", c.c_uint32)),
        *(("near_count", c.c_uint32), ("word_count", c.c_uint32), ("cluster_count", c.c_uint32)),
        ("similarity", c.c_double),
    )


class Explained(NamedTuple):
    """What `Explanation` has under the same names."""

    votes: tuple[Vote, ...]
    words: Mapping[str, tuple[str, ...]]
    demonstrations: tuple[Demonstrated, ...]
    similarity: float | None
    cluster: Mapping[str, float]


def explained(told: Told, compared: Sequence[str]) -> Explained:
    """What was told of these candidates, copied."""
    said = told.words[: told.word_count]
    words = {
        name: tuple(str(one.word) for one in said if one.has >> place & 1)
        for place, name in enumerate(compared)
        if name != END
    }
    near = [
        Demonstrated(
            tuple(map(str, one.calls[: one.call_count])), one.cosine, str(one.query) or None, bool(one.learned)
        )
        for one in told.near[: told.near_count]
    ]
    return Explained(
        tuple(_vote(one, compared) for one in told.votes[: told.vote_count]),
        {**words, "": tuple(str(one.word) for one in said if one.unknown)},
        tuple(near),
        _or_none(told.similarity),
        {str(one.tool): one.probability for one in told.cluster[: told.cluster_count]},
    )


def _vote(told: _Vote, compared: Sequence[str]) -> Vote:
    shares = {name: None if isnan(log_p) else exp(log_p) for name, log_p in zip(compared, told.log_p, strict=False)}
    within = PARTS[told.within] if told.within >= 0 else None
    return Vote(PARTS[told.part], told.weight, shares, _or_none(told.pull), within)


def _or_none(number: float) -> float | None:
    return None if isnan(number) else number
