"""Whose two numbers are that stand together: "120 over 80". Knows nothing of how others are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgeret_export.reference.arguments.spans import Fit
from edgeret_export.reference.arguments.sureness import Found
from edgeret_export.reference.inputs.chunks import Chunk, Chunks
from edgeret_export.reference.inputs.parameters import Parameter

_PAIRED = frozenset(("over", "by", "x", "×", "/", "on", "to", "and", "zu", "auf", "mal", "sur", "par", "sobre", "por"))
"""What stands between two numbers that belong together."""
_OVER_ORDER = 1.0
"""So much more must the words say for two numbers the other way round than in their parameters' order."""


def put_in_order(
    chunks: Chunks,
    wanted: Sequence[Parameter],
    fits: Mapping[int, Sequence[Fit]],
    picked: Mapping[int, Fit],
    found: dict[str, Found],
) -> None:
    """Gives two bare numbers in a row, with a word such as "over" between them, to their two parameters in the order in
    which the tool has these, unless the words around them speak for the other one. Both are as sure as the surer one.
    `picked` are the fits that were taken, `fits` all that there were, both by the parameters' numbers."""
    chosen = {**picked}
    bare = [k for k in sorted(picked) if picked[k].chunk.kind == wanted[k].kind == "number" and not wanted[k].many]
    for i, first in enumerate(bare):
        for last in bare[i + 1 :]:
            a, b = chosen[first], chosen[last]
            one, other = wanted[first].name, wanted[last].name
            if _is_pair(chunks, b.chunk, a.chunk):
                x, y = _of(fits[first], b.chunk), _of(fits[last], a.chunk)
                if x is None or y is None or a.score + b.score - x.score - y.score >= _OVER_ORDER:
                    continue
                chosen |= {first: x, last: y}
                found |= {
                    one: _taking(found[one], x.value, found[other].span),
                    other: _taking(found[other], y.value, found[one].span),
                }
            elif not _is_pair(chunks, a.chunk, b.chunk):
                continue
            surer = max(found[one].score, found[other].score)
            found |= {name: found[name]._replace(score=surer) for name in (one, other)}


def _is_pair(chunks: Chunks, a: Chunk, b: Chunk) -> bool:
    """Whether two numbers stand in a row with one word between them that joins two measures."""
    return a.last + 1 == b.first and chunks.reading.units[a.last].lower in _PAIRED


def _of(fits: Sequence[Fit], chunk: Chunk) -> Fit | None:
    """The best one of the same units and kind."""
    return next((fit for fit in fits if fit.chunk[:3] == chunk[:3]), None)


def _taking(one: Found, value: Any, span: tuple[int, int] | None) -> Found:
    """What was found with another value, which is no longer one of the others."""
    others = tuple(one.value if repr(other) == repr(value) else other for other in one.others)
    return one._replace(value=value, span=span, others=others)
