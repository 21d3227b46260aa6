"""How well each run of a request's words suits a parameter, by signs that are weighed. Knows nothing of outputs and
of what becomes of the values.

A sign is a short text, such as "when|date" (a day, for a parameter that takes one) or "led" (the word in front leads
to such a parameter). Its weight was fitted on other people's requests; the weighed sums of a parameter's chunks, and
that of none, make shares.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import words
from edgeret.types import Call, Tool
from edgeret_export.reference.arguments.numbered import is_no_number, is_part, lacks_number
from edgeret_export.reference.arguments.pointing import is_other_name, is_pointed_at, points
from edgeret_export.reference.arguments.said_before import values_of
from edgeret_export.reference.inputs.chunks import Chunk, Chunks, leads_of, signed
from edgeret_export.reference.inputs.day_apart import around
from edgeret_export.reference.inputs.parameters import Parameter, Same, parameters, shape_of
from edgeret_export.reference.inputs.ranges import NOT_OF_PART, counted_from, is_named_other, is_other_end, said_of
from edgeret_export.reference.inputs.streets import has_house
from edgeret_export.reference.inputs.value_forms import EXTREMES, MISSING, form

_WORDS = frozenset(("chunk", "head", "tail", "joined", "name", "quoted", "rest", "clause"))
_SUITS: Mapping[str, frozenset[str]] = {
    "email": frozenset(("email",)),
    "url": frozenset(("url",)),
    "phone": frozenset(("phone",)),
    "path": _WORDS | {"path", "url", "code"},
    "id": frozenset(("code", "number", "path", "quoted", "name")),
    "when": frozenset(("moment", "date", "time", "duration", "chunk", "rest")),
    "duration": frozenset(("duration", "measure")),
    "number": frozenset(("money", "percent", "duration", "measure", "number")),
    "command": frozenset(("command", "quoted", "told")),
    "person": _WORDS | {"email", "addressee"},
    "place": _WORDS | {"code"},
    "text": _WORDS | {"told", "sentence"},
    "": _WORDS | {"code", "path", "number", "told", "money", "measure", "date", "duration", "addressee"},
}
"""The kinds of chunks that a kind of parameter may take at all."""
PLAIN = frozenset(("chunk", "head", "tail", "joined", "rest", "told", "clause", "sentence"))
"""Kinds of chunks that are plain words."""
_ARTICLE_WORDS = "the a an my our his her their your some \" “ # $ € ' ‘"
_ARTICLES = frozenset(_ARTICLE_WORDS.split(" "))
_THE = frozenset(("the", "a", "an", "that"))
_THAT = frozenset(("that",))
_LEAD_WORDS = (
    "in at to for from with about on of called named by until till into near is as under over : , and that not "
    "since before after between than"
)
_LEADS = frozenset(_LEAD_WORDS.split(" "))
_WHENS = ("moment", "date", "time")
_NUMBERS = ("number", "measure", "money", "duration", "percent")
_TOKENS = (*_WHENS, "phone", "code", "path", "url", "email")
_HELD = (("when", _WHENS), ("number", _NUMBERS), ("token", _TOKENS[3:]))
_WHOLE = ("told", "command")  # may hold any value: what is told may be about a day
_UNDATED = frozenset(("", "person", "place", "text"))
"""Kinds that take no day where another parameter takes days."""
_LAST_LATIN = "\u024f"
_FAR, _MOST_WHOLE = 12.0, 3


class Fit(NamedTuple):
    """A chunk as a parameter's value, and the sum of its signs' weights."""

    score: float
    chunk: Chunk
    value: Any


class About(NamedTuple):
    """A tool's own words: of its name, and of that and its description."""

    name: frozenset[str]
    text: frozenset[str]


def is_beyond_latin(text: str) -> bool:
    """Whether it has letters of other scripts: no small words of these are known, so that no rule knows where in a
    sentence a value ends."""
    return not text.isascii() and any(mark > _LAST_LATIN and mark.isalpha() for mark in text)


@lru_cache(1024)
def about(key: Same) -> About:
    """What a tool says of itself."""
    name = frozenset(words(name_in_words(key.tool.name)))
    return About(name, name | frozenset(words(key.tool.description)))


@cache
def weights() -> Mapping[str, float]:
    """The signs' weights, as they were fitted."""
    told = json.loads(Path(__file__).with_name("argument_weights.json").read_text("utf-8"))
    return {str(sign): float(weight) for sign, weight in told["weights"].items()}


class Suitor:
    """Judges a request's chunks for one call."""

    def __init__(
        self,
        found: Chunks,
        tool: Tool,
        calls: Sequence[Call],
        now: datetime | None,
        by_sign: Mapping[str, float] | None = None,
    ) -> None:
        """Of a call of `tool` behind other `calls`; with the weights that are shipped, or others."""
        self._by_sign = weights() if by_sign is None else by_sign
        self._found, self._tool, self._now = found, about(Same(tool)), now
        self._said, self._taken, self._named = values_of(calls, tool.name)
        self.own = self._tool.name
        shared = [len(stems & self._tool.name) + 0.3 * len(stems & self._tool.text) for stems in found.clauses]
        most = max(shared, default=0.0)
        self.near = [share / most if most else 0.0 for share in shared]
        self.stems, units = found.stems, found.reading.units
        self._wanted = parameters(tool)
        self._dated = any(one.kind == "when" for one in self._wanted)
        self._whens = [match for kind in _WHENS for match in found.reading.matches.get(kind, ())]
        self._points = points(units)
        self._anchors = [i for i, stem in enumerate(self.stems) if stem in self._tool.name]
        lower = found.reading.text.lower()
        ends = [at + len(one) for one in self._said if len(one) > 1 and (at := lower.find(one)) >= 0]
        self._reached = max(ends, default=-1)
        self._begun = bool(self._said)
        self._within: dict[tuple[str, ...], list[bool]] = {}

    def fits(self, parameter: Parameter, possible: Callable[[int, int], bool] | None = None) -> list[Fit]:
        """The chunks that may be meant, the best first; those alone that are `possible` (first unit, unit behind)."""
        found = [Fit(self._sum(signs), chunk, value) for chunk, value, signs in self.candidates(parameter, possible)]
        found.sort(key=lambda fit: (-fit.score, fit.chunk.first))
        return found

    def fit(self, parameter: Parameter, first: int, last: int, any_script: bool = False) -> Fit | None:
        """Any units as a value, as plain words are judged, in `any_script` or in Latin; None where they cannot be
        one."""
        reading, of = self._found.reading, self._found
        while last > first and not reading.units[last - 1].is_word and reading.units[last - 1].text in ",.;:!?":
            last -= 1
        while first < last and not reading.units[first].is_word and reading.units[first].text in ",.;:!?":
            first += 1
        if first >= last:
            return None
        if any(one.void and one.first <= first and last <= one.last for one in of.chunks):
            return None
        chunk = Chunk("chunk", first, last, leads_of(reading, first), of.clause_of[first], False, False)
        if self._is_cut(parameter, chunk, any_script):
            return None
        said, glossed = said_of(of, first, last)
        now, past = counted_from(of, parameter, self._wanted, self.own, chunk, self._now)
        value = form(said, chunk.kind, parameter, now, past, glossed, around(of, chunk))
        return None if value is MISSING else Fit(self._sum(self._signs(parameter, chunk, said, value)), chunk, value)

    def _sum(self, signs: Iterator[tuple[str, float]]) -> float:
        weight_of = self._by_sign.get
        return sum([weight_of(sign, 0.0) * size for sign, size in signs])

    def candidates(
        self, parameter: Parameter, possible: Callable[[int, int], bool] | None = None
    ) -> Iterator[tuple[Chunk, Any, Iterator[tuple[str, float]]]]:
        """Chunks that a parameter may take, each with the value that it would be and its signs; see `fits`."""
        suits = _SUITS.get(parameter.kind, frozenset())
        reading = self._found.reading
        seen = set()
        for chunk in (*self._found.chunks, *self._ends(parameter)):
            if chunk.kind not in suits or chunk.void or chunk.kind in NOT_OF_PART.get(parameter.part, ()):
                continue
            first, last = self._bounds(chunk) if chunk.kind in PLAIN else (chunk.first, chunk.last)
            place = (chunk.kind, first, last)
            if first >= last or place in seen or (possible is not None and not possible(first, last)):
                continue
            seen.add(place)
            chunk = self._trimmed(chunk, first, last)
            if self._is_cut(parameter, chunk):
                continue
            said, glossed = said_of(self._found, chunk.first, chunk.last)
            if parameter.kind == "number":
                glossed = signed(reading, chunk, glossed)
            now, past = counted_from(self._found, parameter, self._wanted, self.own, chunk, self._now)
            value = form(said, chunk.kind, parameter, now, past, glossed, around(self._found, chunk))
            if value is not MISSING:
                yield chunk, value, self._signs(parameter, chunk, said, value)

    def _ends(self, parameter: Parameter) -> Iterator[Chunk]:
        """Words for an end of the scale that a number is on, where no number is said: "mute it"."""
        reading = self._found.reading
        if parameter.kind == "number" and "maximum" in parameter.schema and "number" not in reading.matches:
            for at, unit in enumerate(reading.units):
                if unit.lower in EXTREMES:
                    clause = self._found.clause_of[at]
                    yield Chunk("number", at, at + 1, leads_of(reading, at), clause, False, False)

    def _is_cut(self, parameter: Parameter, chunk: Chunk, any_script: bool = False) -> bool:
        """Whether a chunk cannot be whole: 150 of "150 pounds" for what counts in another unit, words of a
        script whose small words are not known, and all that was said."""
        if is_part(self._found, parameter, self._wanted, chunk) or is_other_end(
            self._found, parameter, self._wanted, chunk
        ):
            return True
        if is_named_other(self._found, parameter, self._wanted, chunk):
            return True
        found = self._found.reading.matches
        if self._dated:
            undated = parameter.kind in _UNDATED and chunk.kind not in _WHOLE
            # Seven of "tomorrow at seven" are no people.
            counted = parameter.kind == "number" and (parameter.unit is None or parameter.unit[0] != "s")
            whens = self._whens if undated else found.get("moment", ()) if counted else ()
            if any(when.holds(chunk) for when in whens):
                return True
        if parameter.kind in ("number", "duration"):
            return is_no_number(self._found, parameter, self._wanted, chunk)
        reading = self._found.reading
        if chunk.kind not in PLAIN and chunk.kind != "name":
            return False
        said = reading.words(chunk.first, chunk.last)
        if is_other_name(parameter, chunk, said) or lacks_number(self._found, parameter, self._wanted, chunk):
            return True
        if chunk.kind not in _WHOLE and self._points and is_pointed_at(reading.units, chunk, parameter.kind):
            return True
        if parameter.kind != "text" and chunk.first == 0 and chunk.last >= len(self.stems) - 1 > _MOST_WHOLE:
            return True
        return not any_script and is_beyond_latin(said)

    def absent(self, parameter: Parameter) -> float:
        """The sum of the signs that nobody said it."""
        return sum(self._by_sign.get(sign, 0.0) for sign in absent_signs(parameter))

    def _bounds(self, chunk: Chunk) -> tuple[int, int]:
        """Of a run of plain words, without small words and the tool's own name in front of it."""
        first, last, units = chunk.first, chunk.last, self._found.reading.units
        short = chunk.kind in ("chunk", "joined")
        own = self._tool.name if short else frozenset()
        idle = _ARTICLES if short else _THAT if chunk.kind == "told" else _THE
        while first < last and (not units[first].is_word or units[first].lower in idle or self.stems[first] in own):
            first += 1
        while last > first and not units[last - 1].is_word:
            last -= 1
        return first, last

    def _trimmed(self, chunk: Chunk, first: int, last: int) -> Chunk:
        """A chunk with other bounds."""
        if first == chunk.first:
            return chunk if last == chunk.last else chunk._replace(last=last)
        units = self._found.reading.units
        leads = (*(units[i].lower for i in range(first - 1, chunk.first - 1, -1)), *chunk.leads)
        return chunk._replace(first=first, last=last, leads=leads[:4])

    def _signs(self, parameter: Parameter, chunk: Chunk, said: str, value: Any) -> Iterator[tuple[str, float]]:
        kind, plain = parameter.kind, chunk.kind in PLAIN or chunk.kind == "name"
        sort = f"{kind}|{chunk.kind}"
        yield sort, 1.0
        yield f"any|{chunk.kind}", 1.0
        leads = [lead for lead in chunk.leads if lead not in _ARTICLES][:2]
        lead = leads[0] if leads else "^"
        named = lead if lead in _LEADS or lead == "^" else "other"
        yield f"{kind}<{named}", 1.0
        yield f"any<{named}", 1.0
        if leads != list(chunk.leads[: len(leads)]):
            yield "article", 1.0
        if parameter.shapes and shape_of(said) in parameter.shapes:
            yield "shape of an example", 1.0
        if lead in parameter.led:
            yield "led", 1.0
            yield f"led {kind}", 1.0
        stems = {(words(one) or [""])[0] for one in leads} - {""}
        if stems & parameter.stems:
            yield "cued", 1.0
        elif stems & parameter.told:
            yield "told cue", 1.0
        if stems & self._tool.name:
            yield "behind the tool's words", 1.0
        inside = self.stems[chunk.first : chunk.last]
        if not parameter.stems.isdisjoint(inside):
            yield "own words within", 1.0
            if inside[-1] in parameter.stems:
                yield "own word at the end", 1.0
            if inside[0] in parameter.stems:
                yield "own word first", 1.0
        behind = self.stems[chunk.last] if chunk.last < len(self.stems) else ""
        if behind and behind in parameter.stems:
            yield "own word behind", 1.0
        elif behind and (behind in parameter.told or behind in self._tool.name):
            yield "told word behind", 1.0
        yield "near", self.near[chunk.clause]
        if self._anchors:
            nearest = min(self._anchors, key=lambda at: abs(chunk.first - at))
            yield ("behind" if chunk.first > nearest else "before"), min(abs(chunk.first - nearest), _FAR) / _FAR
            if chunk.first <= nearest < chunk.last:
                yield "holds the tool's words", 1.0
        keys = {said.lower(), str(value).lower()}
        if (same := self._named.get(parameter.name)) is not None:
            yield ("of the same name" if not keys.isdisjoint(same) else "not of the same name"), 1.0
        if not keys.isdisjoint(self._taken):
            yield "taken", 1.0
        elif not keys.isdisjoint(self._said):
            yield "said", 1.0
            yield f"said {kind}", 1.0
        elif self._said and any(len(one) > 3 and (one in said.lower() or said.lower() in one) for one in self._said):
            yield "part of what was said", 1.0
        if plain:
            yield from self._plain_signs(parameter, chunk, inside)
        yield from self._value_signs(parameter, chunk)

    def _value_signs(self, parameter: Parameter, chunk: Chunk) -> Iterator[tuple[str, float]]:
        """Signs of whole values and of parts of them, and of where in the request a chunk stands."""
        reading, kind = self._found.reading, parameter.kind
        if chunk.kind in ("date", "time") and parameter.part:
            yield "its part", 1.0
        elif chunk.kind in ("date", "time") and self._is_within(chunk, ("moment",)):
            yield "part of a moment", 1.0
        if chunk.kind in ("number", "measure") and self._is_within(chunk, _TOKENS):
            yield "part of a token", 1.0
        if chunk.kind == "number" and self._is_within(chunk, ("duration", "percent", "measure")):
            yield "part of a measure", 1.0
        if kind == "number" and parameter.unit is not None and chunk.kind != "number":
            yield "of the unit", 1.0
        if self._reached >= 0:
            is_behind = reading.units[chunk.first].start >= self._reached
            yield ("behind what was said" if is_behind else "in front of it"), 1.0
        else:
            yield f"clause {min(chunk.clause, 3)} {self._begun}", 1.0

    def _plain_signs(self, parameter: Parameter, chunk: Chunk, inside: Sequence[str]) -> Iterator[tuple[str, float]]:
        """Signs of plain words."""
        kind = parameter.kind
        length = chunk.last - chunk.first
        yield f"{'long' if kind == 'text' else 'any'} {min(length, 8)}", 1.0
        if {stem for stem in inside if stem} <= self._tool.text:
            yield "the tool's words", 1.0
        is_house = chunk.kind == "name" and has_house(self._found.reading.units[chunk.first : chunk.last])
        for name, kinds in _HELD if chunk.kind not in _WHOLE else ():
            if self._is_within(chunk, kinds) and not (is_house and name == "number"):
                yield f"{name} within", 1.0
        if chunk.kind != "name" and self._is_within(chunk, ("name",)):
            yield f"name within {kind}", 1.0
            yield "name within", 1.0
        if self._is_within(chunk, ("quoted",)):
            yield "of a quotation", 1.0
        last = self._found.reading.units[chunk.last - 1].lower
        if last.endswith(("ing", "ed")):
            yield "ends like a verb", 1.0
        if chunk.first == 0:
            yield "begins all", 1.0
        if self._is_behind_verb(chunk):
            yield "behind the verb", 1.0
        if chunk.last >= len(self.stems) or self._found.clause_of[chunk.last] != chunk.clause:
            yield "ends the clause", 1.0

    def _is_behind_verb(self, chunk: Chunk) -> bool:
        """Whether only articles stand between the first word of a clause and a chunk."""
        units, clause_of = self._found.reading.units, self._found.clause_of
        at = chunk.first - 1
        while at > 0 and units[at].lower in _ARTICLES:
            at -= 1
        return at >= 0 and units[at].is_word and (at == 0 or clause_of[at - 1] != clause_of[at])

    def _is_within(self, chunk: Chunk, kinds: tuple[str, ...]) -> bool:
        """Whether a chunk shares units with a match of some kinds."""
        marked = self._within.get(kinds)
        if marked is None:
            marked = [False] * len(self.stems)
            for kind in kinds:
                for match in self._found.reading.matches.get(kind, ()):
                    marked[match.first : match.last] = [True] * (match.last - match.first)
            self._within[kinds] = marked
        return True in marked[chunk.first : chunk.last]


def absent_signs(parameter: Parameter) -> tuple[str, ...]:
    """Signs that nobody said a parameter."""
    needed = "required" if parameter.required else "optional"
    return (
        f"absent {needed}",
        f"absent {parameter.kind}",
        f"absent {needed} {parameter.kind}",
        f"absent many {parameter.many}",
    )


def shares(scores: Sequence[float]) -> list[float]:
    """The shares that scores have."""
    most = max(scores, default=0.0)
    powers = [math.exp(score - most) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def overlaps(chunk: Chunk, others: Sequence[Chunk]) -> bool:
    """Whether it shares units with others."""
    return any(chunk.first < other.last and other.first < chunk.last for other in others)
