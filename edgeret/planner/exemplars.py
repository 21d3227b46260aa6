"""Few-shot exemplars: demonstrations that prompts may show, read and chosen. Knows nothing of how they are worded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgeret.errors import BundleError, InputError
from edgeret.inputs.demonstrations import parse_plan
from edgeret.inputs.hygiene import check_name
from edgeret.inputs.jsonl import decode
from edgeret.records import dataclass
from edgeret.types import Call, Candidate

MAX_EXEMPLARS, MAX_BYTES = 65_536, 4 << 20
"""In a bundle; some 250 bytes are usual, which makes 16,000."""
CONSTANT = 2
"""Exemplars at the front of a bundle's list that stand in every selection prompt."""
USES_SHOWN = 3
"""Exemplars of a function that stand before the question for its arguments."""
MAX_SOLVED = 5
"""Exemplars that masking "demos" shows; the paper's number."""


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A demonstration that prompts may show: its query and calls."""

    query: str
    calls: tuple[Call, ...]


class Exemplars:
    """A bundle's exemplars, parsed when they are first shown. Thread-safe."""

    def __init__(self, data: bytes = b"[]", where: str = "exemplars") -> None:
        """`data` is the JSON of a file with the role `exemplars`, `where` what messages call it."""
        self._data, self._where = data, where
        self._parsed: tuple[Exemplar, ...] | None = None
        self._beginning: dict[str, list[Exemplar]] | None = None

    @property
    def all(self) -> tuple[Exemplar, ...]:
        """Every exemplar, the constant ones first. Raises BundleError."""
        if self._parsed is None:
            self._parsed = parse_exemplars(self._data, self._where)
        return self._parsed

    @property
    def constant(self) -> tuple[Exemplar, ...]:
        """Those that every selection prompt carries. Raises BundleError."""
        return self.all[:CONSTANT]

    def beginning(self, tool: str) -> Sequence[Exemplar]:
        """Those that call `tool` first. Raises BundleError."""
        if self._beginning is None:
            found: dict[str, list[Exemplar]] = {}
            for exemplar in self.all:
                found.setdefault(exemplar.calls[0].tool, []).append(exemplar)
            self._beginning = found
        return self._beginning.get(tool, ())

    def using(self, candidates: Sequence[Candidate]) -> list[Exemplar]:
        """Those whose plans use the candidates, the most probable ones first. Raises BundleError."""
        weight = {candidate.tool: candidate.probability for candidate in candidates}

        def use(exemplar: Exemplar) -> float:
            tools = {call.tool for call in exemplar.calls}
            return sum(weight.get(tool, 0.0) for tool in tools) / float(max(1, len(tools)) ** 0.5)

        ranked = sorted(self.all[CONSTANT:], key=use, reverse=True)[:MAX_SOLVED]
        return [exemplar for exemplar in ranked if use(exemplar) > 0]

    def calling(self, tool: str, query: str) -> list[Exemplar]:
        """Those that call `tool`, the ones with the most words of the query last: a model heeds the latest most.
        Raises BundleError."""
        words = set(query.lower().split())

        def likeness(exemplar: Exemplar) -> float:
            theirs = set(exemplar.query.lower().split())
            return len(words & theirs) / len(words | theirs)

        calling = [e for e in self.all if any(c.tool == tool and c.arguments for c in e.calls)]
        return sorted(sorted(calling, key=likeness, reverse=True)[:USES_SHOWN], key=likeness)


def parse_exemplars(data: bytes, where: str) -> tuple[Exemplar, ...]:
    """The exemplars of a file with the role `exemplars`. Raises BundleError at the first that is none."""
    try:
        entries = decode(data)
        if not isinstance(entries, list) or len(entries) > MAX_EXEMPLARS:
            raise InputError(f"expected a list of at most {MAX_EXEMPLARS} exemplars")
        return tuple(_exemplar(entry, f"exemplar {i}") for i, entry in enumerate(entries, 1))
    except (ValueError, InputError) as error:
        raise BundleError(f"{where}: {error}; build the bundle again") from None


def _exemplar(entry: Any, where: str) -> Exemplar:
    """Raises InputError."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected an object, found {type(entry).__name__}")
    query, calls = parse_plan(entry, where)
    if not calls:
        raise InputError(f"{where}: no calls; an exemplar shows some")
    for call in calls:
        check_name(call.tool, where)
    return Exemplar(query, calls)
