"""The arguments of a call as the request and the calls before it give them, each with how sure that is. By rules: no
model is asked, and nothing is made up. Knows nothing of decisions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from edgeret.encoders.base import EncodedQuery
from edgeret.types import REFERENCE, Argument, Arguments, Call, Tool, references
from edgeret_export.reference.arguments.choices import MOST_ALTERNATIVES, Chosen, same_option, takes
from edgeret_export.reference.arguments.features import options
from edgeret_export.reference.arguments.ordered import put_in_order
from edgeret_export.reference.arguments.outputs import Output, outputs
from edgeret_export.reference.arguments.pool import known_of, option_shares, pooled, told
from edgeret_export.reference.arguments.questions import question
from edgeret_export.reference.arguments.reader import ArgumentReader
from edgeret_export.reference.arguments.results import value_of
from edgeret_export.reference.arguments.spans import PLAIN, Fit, Suitor, about, overlaps, shares
from edgeret_export.reference.arguments.sureness import ASKED, ASKED_TUNED, Found, confidence
from edgeret_export.reference.inputs.chunks import Chunk, Chunks, chunks
from edgeret_export.reference.inputs.parameters import APART, Parameter, Same, counted, parameters
from edgeret_export.reference.inputs.value_forms import MISSING, listed
from edgeret_export.reference.scoring.argument_head import LogShares

MOST_READ = 64
"""Parameters of a tool, those that it must have first; nobody says more in one request."""
LEAST, LEAST_OPTIONAL, OF_ABSENT_REQUIRED = 0.2, 0.4, 0.5
"""The least share of a value that is taken, and the least part of the share that nobody said it."""
LEAST_KNOWN, LEAST_BESIDE, OF_ABSENT_BESIDE = 0.05, 0.3, 0.6
"""The same beside a head, whose share is divided among several bounds of one value: of what must be given the
likeliest value is taken. An id is no guess, and is taken as what may be given is."""
LEAST_SAID, MOST_ABSENT = 0.2, 0.65
"""Where the head was tuned an id is taken as well, and what may be given unless that nobody said it is likelier than
this."""
_OVER_OUTPUT, _OVER_LEFTOVER = 0.8, 0.5
"""A chunk that suits so well goes before an output that no description names, and before one that is left over."""
_OF_TAKEN = 0.5
"""How much of what others took stands against a value: with none of it there are more of them, and fewer are right."""
_MOST_ITEMS = 32
_REFERRING = frozenset(("output", "earlier"))
"""Sources whose values may stand for outputs. Neither a request nor a definition says which outputs a tool gets."""


def fill(
    tool: Tool,
    query: str,
    calls: Sequence[Call],
    tools: Mapping[str, Tool],
    now: datetime | None = None,
    reader: ArgumentReader | None = None,
    encoded: EncodedQuery | None = None,
) -> Arguments:
    """The arguments of a call of `tool` behind `calls` of these `tools`. `now` is what "tomorrow" is counted from;
    without it such a day stands for itself where the schema takes any words, and is missing where it takes days. A
    `reader` has a head's word beside that of the rules; it encodes a query that was not `encoded`."""
    wanted = parameters(tool)
    if not wanted or not APART.issuperset(tool.parameters):
        return Arguments({}, {one.name: question(one) for one in wanted if one.required})
    filling = Filling(tool, wanted[:MOST_READ], query, calls, tools, now, None, reader, encoded)
    traits = None if filling.by_head is None or reader is None else reader.traits
    found = filling.found()
    told = {
        name: Argument(one.value, one.source, one.span, confidence(one, traits, filling.named[name].parted), one.others)
        for name, one in found.items()
        if one.source in _REFERRING or not references(one.value)
    }
    given = {one.name: told[one.name] for one in wanted if one.name in told}
    if not counted(tool, len(given)):  # a schema may ask for one at least, whichever it is
        asked = [one for one in wanted if one.required] or [one for one in wanted if one.name not in given][:1]
        return Arguments({}, {one.name: filling.question(one) for one in asked})
    is_tuned = filling.by_head is not None and reader is not None and reader.joining.is_tuned
    least = ASKED_TUNED if is_tuned else ASKED
    missing = {
        one.name: filling.question(one)
        for one in wanted
        if one.required and (one.name not in told or told[one.name].confidence < least)
    }
    return Arguments(given, missing)


def found_in(
    tool: Tool,
    query: str,
    calls: Sequence[Call],
    tools: Mapping[str, Tool],
    by_sign: Mapping[str, float] | None,
    reader: ArgumentReader | None = None,
    encoded: EncodedQuery | None = None,
) -> dict[str, Found]:
    """What is found with other weights than those that are shipped, before it is told how sure that is."""
    return Filling(tool, parameters(tool)[:MOST_READ], query, calls, tools, None, by_sign, reader, encoded).found()


class Filling:
    """One call's parameters, as they are given their values."""

    def __init__(
        self,
        tool: Tool,
        wanted: Sequence[Parameter] | None,
        query: str,
        calls: Sequence[Call],
        tools: Mapping[str, Tool],
        now: datetime | None,
        by_sign: Mapping[str, float] | None,
        reader: ArgumentReader | None = None,
        encoded: EncodedQuery | None = None,
    ) -> None:
        self._now = now
        wanted = parameters(tool)[:MOST_READ] if wanted is None else wanted
        self.tool, self.wanted, self.calls = tool.name, wanted, calls
        self.named = {one.name: one for one in parameters(tool)[:MOST_READ]}
        self.chunks: Chunks = chunks(query)
        self.about = about(Same(tool))
        self.suitor = Suitor(self.chunks, tool, calls, now, by_sign)
        self.chosen = Chosen(self.chunks, self.suitor)
        self.outputs = outputs(tool, wanted, calls, tools, {} if reader is None else reader.counts)
        self.joining = None if reader is None else reader.joining
        self.absent: dict[str, float] = {}
        self.numbers: Mapping[str, int] = {}
        self.by_head: LogShares | None = None
        self.known: Sequence[float] = ()
        if reader is not None:
            given = reader.log_shares(tool, calls, self.suitor, self.chunks, query, encoded)
            if given is not None:
                self.numbers, self.by_head = given
                self.known = known_of(Same(tool), self.chunks, self.by_head)
        self.used: list[Chunk] = []
        self.tools = tools

    def found(self) -> dict[str, Found]:
        """The values by name."""
        found: dict[str, Found] = {}
        waiting: dict[int, list[Fit]] = {}
        for number, one in enumerate(self.wanted):
            output = self.outputs.get(one.name)
            if output is not None and output.named and one.kind not in ("number", "when"):
                value = self._from_output(one, output)
                if value is not None:
                    found[one.name] = value
                    continue
            if output is None and (value := self._reference(one)) is not None:
                found[one.name] = value
            elif one.kind in ("choice", "boolean"):
                value = self._option(one)
            else:
                value = None
                waiting[number] = self._fits(one)
            if value is not None:
                found[one.name] = value
        self._assign(waiting, found)
        for one in self.wanted:
            if one.name not in found and (rest := self._rest(one)) is not None:
                found[one.name] = rest
        return found

    def _fits(self, one: Parameter) -> list[Fit]:
        """The chunks that a parameter may take, with what the rules and the head say together."""
        number = self.numbers.get(one.name)
        if self.by_head is None or number is None or self.joining is None:
            return self.suitor.fits(one)
        both = told(self.suitor, one, self.by_head, number, self.joining)
        fits, self.absent[one.name] = pooled(one, both, self.joining, self.known)
        return fits

    def _option(self, one: Parameter) -> Found | None:
        """One of a parameter's options: by rule alone, or the likeliest one where a head knows how likely they are."""
        by_rule = self.chosen.found(one)
        number = self.numbers.get(one.name)
        if self.by_head is None or number is None or self.joining is None or not (values := options(one)):
            return by_rule
        ruled = [same_option(one, value, by_rule) for value in values]
        each, absent = option_shares(one, self.by_head, number, ruled, self.joining, self.known)
        order = sorted(range(len(values)), key=lambda k: -each[k])
        share, value = each[order[0]], values[order[0]]
        if share < self._least(one, absent) or not takes(one, [value] if one.many else value):
            return None
        span = by_rule.span if by_rule is not None and ruled[order[0]] else None
        others = tuple(values[k] for k in order[1 : 1 + MOST_ALTERNATIVES])
        return Found([value] if one.many else value, "choice", "option", share, span, others)

    def _least(self, one: Parameter, absent: float) -> float:
        """The least share of a value that is taken, by the share that nobody said any."""
        if self.joining is not None and self.joining.is_tuned:
            return LEAST_KNOWN if one.required else LEAST_SAID if absent < MOST_ABSENT else math.inf
        if self.by_head is not None:
            if one.required and one.kind != "id":  # an id is no guess
                return LEAST_KNOWN
            return max(LEAST_BESIDE, absent * OF_ABSENT_BESIDE)
        return max(LEAST, absent * OF_ABSENT_REQUIRED) if one.required else max(LEAST_OPTIONAL, absent)

    def _shared(self, one: Parameter, fitting: Sequence[Fit], taken: Sequence[Fit] = ()) -> list[tuple[float, Fit]]:
        """The chunks that a parameter may take, the likeliest first, each with the share of its value: several chunks
        may have the same. Of the share of what was `taken` by other parameters a part goes to nothing."""
        if not fitting:
            return []
        scores = [fit.score for fit in (*fitting, *taken)]
        nobody = self.absent[one.name] if one.name in self.absent else self.suitor.absent(one)
        *found, absent = shares([*scores, nobody])
        absent += _OF_TAKEN * sum(found[len(fitting) :])
        found = found[: len(fitting)]
        total = sum(found) + absent
        found, absent = [share / total for share in found], absent / total
        by_value: dict[str, float] = {}
        keys = [repr(fit.value) for fit in fitting]
        for key, share in zip(keys, found, strict=True):
            by_value[key] = by_value.get(key, 0.0) + share
        least = self._least(one, absent)
        pairs = [(by_value[key], fit) for key, fit in zip(keys, fitting, strict=True) if by_value[key] >= least]
        pairs.sort(key=lambda pair: -pair[0])  # of equal ones the best fit is first
        return pairs

    def _assign(self, waiting: dict[int, list[Fit]], found: dict[str, Found]) -> None:
        """Gives each parameter the chunk that suits it best, the surest first. No unit is given twice: what is left
        is shared anew among the chunks that are left."""
        shared = {number: self._shared(self.wanted[number], fitting) for number, fitting in waiting.items()}
        gone: dict[int, list[Fit]] = {}
        every = {number: [*fitting] for number, fitting in waiting.items()}
        best: dict[int, Fit] = {}
        while any(shared.values()):
            number = min((n for n, pairs in shared.items() if pairs), key=lambda n: (-shared[n][0][0], n))
            one, (share, fit) = self.wanted[number], shared[number][0]
            rest = shared[number][1:]
            shared[number] = rest
            output = self.outputs.get(one.name)
            if (
                output is not None
                and not output.named
                and share < (_OVER_LEFTOVER if output.leftover else _OVER_OUTPUT)
            ):
                continue
            if not one.many and self._is_either(fit.chunk):
                continue
            value, used = fit.value, fit.chunk
            if one.many:
                value, used, picked = self._several(one, fit, waiting[number])
                each = {repr(other.value): part for part, other in ((share, fit), *rest)}
                share = sum(each.get(key, 0.0) for key in dict.fromkeys(repr(other.value) for other in picked))
            if value is MISSING:
                continue
            self.used.append(used)
            best[number] = fit
            units = self.chunks.reading.units
            span = units[used.first].start, units[used.last - 1].end
            others = tuple(dict.fromkeys(other.value for _, other in rest if other.value != fit.value))
            found[one.name] = Found(value, "rule", f"{fit.chunk.kind}", share, span, others[:MOST_ALTERNATIVES])
            del shared[number]
            for other in shared:
                left = [fit for fit in waiting[other] if not overlaps(fit.chunk, (used,))]
                if len(left) < len(waiting[other]):
                    gone.setdefault(other, []).extend(fit for fit in waiting[other] if overlaps(fit.chunk, (used,)))
                    waiting[other] = left
                    shared[other] = self._shared(self.wanted[other], left, gone[other])
        put_in_order(self.chunks, self.wanted, every, best, found)

    def _is_either(self, chunk: Chunk) -> bool:
        """Whether a value is one of two with an "or" between them, so that nobody knows which."""
        units = self.chunks.reading.units
        behind = chunk.last + 1 if chunk.last < len(units) and units[chunk.last].lower in _ORS else -1
        before = chunk.first - 1 if chunk.first > 1 and units[chunk.first - 1].lower in _ORS else -1
        if chunk.kind in PLAIN:
            return False
        same = _COUNTS if chunk.kind in _COUNTS else (chunk.kind,)
        return any(
            other.kind in same and (other.first == behind or other.last == before) for other in self.chunks.chunks
        )

    def _several(self, one: Parameter, fit: Fit, fitting: Sequence[Fit]) -> tuple[Any, Chunk, Sequence[Fit]]:
        """A list's values, the chunk from the first to the last, and all that were picked: the one that suits best,
        those that commas and "and" join to it, and those of its own kind that it is joined to."""
        values, first, last, picked = _split(fit), fit.chunk.first, fit.chunk.last, [fit]
        units = self.chunks.reading.units
        items = [other for other in reversed(fitting) if other.chunk.kind != "joined"]
        behind = {other.chunk.first: other for other in items if other.chunk.first > first}
        before = {other.chunk.last: other for other in items if other.chunk.kind == fit.chunk.kind}
        while len(values) < _MOST_ITEMS:
            at = last
            while at < len(units) and units[at].lower in _JOINTS:
                at += 1
            if at not in behind or overlaps(behind[at].chunk, self.used):
                break
            if at == last and not {fit.chunk.kind, behind[at].chunk.kind} <= _SEPARATE:
                break
            values += _split(behind[at])
            picked.append(behind[at])
            last = behind[at].chunk.last
        while len(values) < _MOST_ITEMS:
            at = first
            while at and units[at - 1].lower in _JOINTS:
                at -= 1
            if at not in before or overlaps(before[at].chunk, self.used):
                break
            if at == first and fit.chunk.kind not in _SEPARATE:
                break
            values = [*_split(before[at]), *values]
            picked.append(before[at])
            first = before[at].chunk.first
        return listed(values, one), fit.chunk._replace(first=first, last=last), picked

    def _from_output(self, one: Parameter, output: Output) -> Found | None:
        """An output: the value that its result has, where somebody told it, or else what stands for it."""
        reference = f"$out_{output.call}"
        call = self.calls[output.call - 1]
        if call.result is not None and not one.many:
            value = value_of(call, self.tools.get(call.tool), one, True)
            if value is not MISSING:
                return Found(
                    value, "output", "named result" if output.named else "result", output.score, None, (reference,)
                )
        value = reference
        if one.many:
            value = [f"$out_{k}" for k in sorted((output.call, *output.beside))]
            if listed(value, one) is MISSING:
                value = [reference]
        rule = f"{'named' if output.named else 'words'} {'id' if one.kind == 'id' else 'text'}"
        return Found(value, "output", "counted" if output.counted else rule, output.score, None)

    def _reference(self, one: Parameter) -> Found | None:
        """The output that an earlier call of another tool took by the same name."""
        takes_none = one.inside or one.kind in ("number", "when", "text", "choice", "boolean")
        for call in () if takes_none else reversed(self.calls):
            value = call.arguments.get(one.name)
            if isinstance(value, str) and REFERENCE.fullmatch(value) and call.tool != self.tool:
                return Found([value] if one.many else value, "earlier", "reference", 1.0, None)
        return None

    def _rest(self, one: Parameter) -> Found | None:
        """What is left to a parameter that no words of the request are for."""
        output = self.outputs.get(one.name)
        if output is not None and (value := self._from_output(one, output)) is not None:
            return value
        for call in reversed(self.calls) if one.required and not one.many else ():
            if call.result is not None and call.tool != self.tool:
                value = value_of(call, self.tools.get(call.tool), one, False)
                if value is not MISSING:
                    return Found(value, "output", "result", 1.0, None)
        if one.required or one.kind == "id":
            for call in reversed(self.calls):
                value = call.arguments.get(one.name, MISSING)
                reference = isinstance(value, str) and REFERENCE.fullmatch(value)
                if value is not MISSING and (reference or (not isinstance(value, dict | list) and takes(one, value))):
                    return Found(value, "earlier", "earlier", 1.0 if call.tool in self.about.name else 0.5, None)
        if one.required and "default" in one.whole and takes(one, one.whole["default"]):
            return Found(one.whole["default"], "default", "default", 1.0, None)
        return None

    def question(self, one: Parameter) -> str:
        """What to ask the user for, where nobody said it."""
        return question(one, self.chunks.reading, self._now)


_ORS = frozenset(("or", "oder", "ou", "o"))
_JOINTS = frozenset((",", "and", "or", "&", "+", "und", "a", "an", "the", "some", "my", '"', "”", "“"))
"""What stands between the values of a list."""
_SEPARATE = frozenset(("path", "email", "url"))
"""Kinds whose values need nothing between them: "a.png b.png"."""
_COUNTS = ("number", "measure", "duration", "money", "percent")
_AND = re.compile(r"\s+(?:and|und|et|y)\s+")


def _split(fit: Fit) -> list[Any]:
    """A value, or those that one run of capitals names."""
    is_name = fit.chunk.kind == "name" and isinstance(fit.value, str)
    return list(_AND.split(fit.value)) if is_name else [fit.value]
