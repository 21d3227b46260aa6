"""The arguments of a call as the request and the calls before it give them, each with how sure that is. By rules: no
model is asked, and nothing is made up. Knows nothing of decisions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from edgeret.inputs.chunks import Chunk, Chunks, chunks
from edgeret.inputs.measures import MONEY, UNITS
from edgeret.inputs.parameters import MOST_CHOICES, Parameter, Same, parameters
from edgeret.inputs.value_forms import MISSING, fits, listed
from edgeret.inputs.words import words
from edgeret.runtime.outputs import Output, outputs
from edgeret.runtime.results import value_of
from edgeret.runtime.spans import PLAIN, Fit, Suitor, about, overlaps, shares
from edgeret.runtime.sureness import ASKED, Found, confidence
from edgeret.types import REFERENCE, Argument, Arguments, Call, Tool, references

MOST_ALTERNATIVES = 3
MOST_READ = 64
"""Parameters of a tool, those that it must have first; nobody says more in one request."""
LEAST, LEAST_OPTIONAL, OF_ABSENT_REQUIRED = 0.2, 0.4, 0.5
"""The least share of a value that is taken, and the least part of the share that nobody said it."""
_OVER_OUTPUT = 0.8
"""A chunk that suits so well goes before an output that no description names."""
_OF_TAKEN = 0.5
"""How much of what others took stands against a value: with none of it there are more of them, and fewer are right."""
_MOST_ITEMS = 32
_SWITCHES = frozenset(("on", "enabled", "enable", "active", "activate", "allowed", "allow", "state", "power"))
_ONS = frozenset(("on", "enable", "activate", "start", "switch", "allow", "an", "ein", "work"))
_OFFS = frozenset(("off", "out", "disable", "deactivate", "stop", "cut", "kill", "block", "forbid", "aus", "dark"))
_NOTS = frozenset(("not", "no", "without", "don't", "dont", "never", "except", "nicht", "ohne", "kein", "keine", "un"))
_IDLE = frozenset(("only", "is", "with", "includ", "us", "flag", "should", "all"))
_KNOWN = (
    "$schema $id $defs definitions $comment type title description properties required additionalProperties examples "
    "default deprecated"
)
_WHOLE = frozenset(_KNOWN.split(" "))
"""Keywords of a tool's schema under which each parameter stands for itself."""
_REFERRING = frozenset(("output", "earlier"))
"""Sources whose values may stand for outputs. Neither a request nor a definition says which outputs a tool gets."""
_QUESTIONS = {
    **{
        "when": "For when?",
        "place": "Where?",
        "person": "Who?",
        "email": "Which e-mail address?",
        "duration": "How long?",
    },
    **{"phone": "Which phone number?", "url": "Which link?", "path": "Which file?"},
}


def fill(
    tool: Tool, query: str, calls: Sequence[Call], tools: Mapping[str, Tool], now: datetime | None = None
) -> Arguments:
    """The arguments of a call of `tool` behind `calls` of these `tools`. `now` is what "tomorrow" is counted from;
    without it such a day stands for itself where the schema takes any words, and is missing where it takes days."""
    wanted = parameters(tool)
    if not wanted or not _WHOLE.issuperset(tool.parameters):
        return Arguments({}, {one.name: question(one, ()) for one in wanted if one.required})
    filling = _Filling(tool, wanted[:MOST_READ], query, calls, tools, now, None)
    found = filling.found()
    told = {
        name: Argument(one.value, one.source, one.span, confidence(one), one.others)
        for name, one in found.items()
        if one.source in _REFERRING or not references(one.value)
    }
    given = {one.name: told[one.name] for one in wanted if one.name in told}
    missing = {
        one.name: filling.question(one)
        for one in wanted
        if one.required and (one.name not in told or told[one.name].confidence < ASKED)
    }
    return Arguments(given, missing)


def found_in(
    tool: Tool, query: str, calls: Sequence[Call], tools: Mapping[str, Tool], by_sign: Mapping[str, float]
) -> dict[str, Found]:
    """What is found with other weights than those that are shipped, before it is told how sure that is."""
    return _Filling(tool, parameters(tool)[:MOST_READ], query, calls, tools, None, by_sign).found()


class _Filling:
    """One call's parameters, as they are given their values."""

    def __init__(
        self,
        tool: Tool,
        wanted: Sequence[Parameter],
        query: str,
        calls: Sequence[Call],
        tools: Mapping[str, Tool],
        now: datetime | None,
        by_sign: Mapping[str, float] | None,
    ) -> None:
        self.tool, self.wanted, self.calls = tool.name, wanted, calls
        self.chunks: Chunks = chunks(query)
        self.about = about(Same(tool))
        self.suitor = Suitor(self.chunks, tool, calls, now, by_sign)
        self.outputs = outputs(tool, wanted, calls, tools)
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
            elif one.kind == "choice":
                value = self._choice(one)
            elif one.kind == "boolean":
                value = self._boolean(one)
            else:
                value = None
                waiting[number] = self.suitor.fits(one)
            if value is not None:
                found[one.name] = value
        self._assign(waiting, found)
        for one in self.wanted:
            if one.name not in found and (rest := self._rest(one)) is not None:
                found[one.name] = rest
        return found

    def _shared(self, one: Parameter, fitting: Sequence[Fit], taken: Sequence[Fit] = ()) -> list[tuple[float, Fit]]:
        """The chunks that a parameter may take, the likeliest first, each with the share of its value: several chunks
        may have the same. Of the share of what was `taken` by other parameters a part goes to nothing."""
        if not fitting:
            return []
        scores = [fit.score for fit in (*fitting, *taken)]
        *told, absent = shares([*scores, self.suitor.absent(one)])
        absent += _OF_TAKEN * sum(told[len(fitting) :])
        told = told[: len(fitting)]
        total = sum(told) + absent
        told, absent = [share / total for share in told], absent / total
        by_value: dict[str, float] = {}
        keys = [repr(fit.value) for fit in fitting]
        for key, share in zip(keys, told, strict=True):
            by_value[key] = by_value.get(key, 0.0) + share
        least = max(LEAST, absent * OF_ABSENT_REQUIRED) if one.required else max(LEAST_OPTIONAL, absent)
        found = [(by_value[key], fit) for key, fit in zip(keys, fitting, strict=True) if by_value[key] >= least]
        found.sort(key=lambda pair: -pair[0])  # of equal ones the best fit is first
        return found

    def _assign(self, waiting: dict[int, list[Fit]], found: dict[str, Found]) -> None:
        """Gives each parameter the chunk that suits it best, the surest first. No unit is given twice: what is left
        is shared anew among the chunks that are left."""
        shared = {number: self._shared(self.wanted[number], fitting) for number, fitting in waiting.items()}
        gone: dict[int, list[Fit]] = {}
        while any(shared.values()):
            number = min((n for n, pairs in shared.items() if pairs), key=lambda n: (-shared[n][0][0], n))
            one, (share, fit) = self.wanted[number], shared[number][0]
            rest = shared[number][1:]
            shared[number] = rest
            output = self.outputs.get(one.name)
            if output is not None and not output.named and share < _OVER_OUTPUT:
                continue
            if not one.many and self._is_either(fit.chunk):
                continue
            value, last = (fit.value, fit.chunk) if not one.many else self._several(one, fit)
            if value is MISSING:
                continue
            used = fit.chunk if not one.many else fit.chunk._replace(last=max(fit.chunk.last, last.last))
            self.used.append(used)
            units = self.chunks.reading.units
            span = units[fit.chunk.first].start, units[last.last - 1].end
            others = tuple(dict.fromkeys(other.value for _, other in rest if other.value != fit.value))
            found[one.name] = Found(value, "rule", f"{fit.chunk.kind}", share, span, others[:MOST_ALTERNATIVES])
            del shared[number]
            for other in shared:
                left = [fit for fit in waiting[other] if not overlaps(fit.chunk, (used,))]
                if len(left) < len(waiting[other]):
                    gone.setdefault(other, []).extend(fit for fit in waiting[other] if overlaps(fit.chunk, (used,)))
                    waiting[other] = left
                    shared[other] = self._shared(self.wanted[other], left, gone[other])

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

    def _several(self, one: Parameter, fit: Fit) -> tuple[Any, Chunk]:
        """A list's values: a chunk, and those that commas and "and" join to it."""
        values, last = [fit.value], fit.chunk
        if fit.chunk.kind == "name" and isinstance(fit.value, str):
            values = _AND.split(fit.value)
        units = self.chunks.reading.units
        items = {
            other.chunk.first: other
            for other in reversed(self.suitor.fits(one))
            if other.chunk.kind != "joined" and other.chunk.first > fit.chunk.first
        }
        while len(values) < _MOST_ITEMS:
            at = last.last
            while at < len(units) and units[at].lower in _JOINTS:
                at += 1
            if at == last.last or at not in items or overlaps(items[at].chunk, self.used):
                break
            values.append(items[at].value)
            last = items[at].chunk
        return listed(values, one), last

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
        rule = "named" if output.named else "words"
        return Found(value, "output", f"{rule} {'id' if one.kind == 'id' else 'text'}", output.score, None)

    def _reference(self, one: Parameter) -> Found | None:
        """The output that an earlier call of another tool took by the same name."""
        for call in reversed(self.calls) if one.kind not in ("number", "when", "text", "choice", "boolean") else ():
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
                if value is not MISSING and (
                    reference or (not isinstance(value, dict | list) and self._takes(one, value))
                ):
                    return Found(value, "earlier", "earlier", 1.0 if call.tool in self.about.name else 0.5, None)
        if one.required and "default" in one.whole and self._takes(one, one.whole["default"]):
            return Found(one.whole["default"], "default", "default", 1.0, None)
        return None

    def _takes(self, one: Parameter, value: Any) -> bool:
        return (
            listed(value, one) is not MISSING
            if one.many and isinstance(value, list)
            else not one.many and fits(value, one.schema)
        )

    def _choice(self, one: Parameter) -> Found | None:
        """The choice whose every stem the request says; where it says several, the one nearest to the tool's words."""
        choices = one.schema.get("enum", ())
        if not isinstance(choices, list) or len(choices) > MOST_CHOICES:
            return None
        said: list[tuple[float, int, Any, int]] = []
        stems, near, clause_of = self.suitor.stems, self.suitor.near, self.chunks.clause_of
        places: dict[str, list[int]] = {}
        for i, stem in enumerate(stems):
            if stem and not self._is_negated(i):
                places.setdefault(stem, []).append(i)
        for i, unit in enumerate(self.chunks.reading.units):
            if (counted := UNITS.get(unit.lower)) is not None and counted[0] in MONEY:
                places.setdefault(counted[0], []).append(i)
        for choice in choices:
            wanted = (
                words(str(choice).replace("_", " ").replace("-", " ")) if isinstance(choice, str) else [str(choice)]
            )
            if not wanted or not all(stem in places for stem in wanted):
                continue
            at = min(places[wanted[0]], key=lambda i: (-near[clause_of[i]], i))
            own = all(stem in self.about.name for stem in wanted)
            said.append((near[clause_of[at]] + 0.5 * len(wanted) - own, -at, choice, at))
        if not said:
            return None
        said.sort(key=lambda pair: (-pair[0], -pair[1]))
        # Of several, none of which anybody must give, nobody knows whether one is meant.
        if len(said) > 1 and (said[0][0] == said[1][0] or not one.required):
            return None
        score, _, choice, at = said[0]
        if not self._takes(one, [choice] if one.many else choice):
            return None
        unit = self.chunks.reading.units[at]
        others = tuple(other for _, _, other, _ in said[1 : 1 + MOST_ALTERNATIVES])
        rule = f"{'several' if others else 'only'} {'required' if one.required else 'optional'}"
        return Found([choice] if one.many else choice, "choice", rule, score, (unit.start, unit.end), others)

    def _is_negated(self, at: int) -> bool:
        units = self.chunks.reading.units
        behind = [unit.lower for unit in units[max(0, at - 2) : at]]
        return not _NOTS.isdisjoint(behind[-1:]) or (
            behind[-1:] in (["the"], ["a"], ["on"]) and not _NOTS.isdisjoint(behind)
        )

    def _boolean(self, one: Parameter) -> Found | None:
        """True where the request says the parameter's own words, false where it says them with "not"; and on and
        off."""
        units, stems = self.chunks.reading.units, self.suitor.stems
        name = set(one.name.lower().replace("_", " ").split())
        best = max(self.suitor.near, default=0.0)
        near = [i for i in range(len(units)) if self.suitor.near[self.chunks.clause_of[i]] == best]
        if not _SWITCHES.isdisjoint(name):
            off = [i for i in near if units[i].lower in _OFFS]
            on = [i for i in near if units[i].lower in _ONS]
            if not off and not on and len(near) < len(units):
                off = [i for i in range(len(units)) if units[i].lower in _OFFS]
                on = [i for i in range(len(units)) if units[i].lower in ("on", "enable", "activate")]
            if bool(off) == bool(on):
                if not off:
                    return None
                # "off ... on Monday": what stands nearer to the tool's own words.
                return Found(False, "choice", "switch both", 0.5, (units[off[0]].start, units[off[0]].end))
            at = (off or on)[0]
            value = bool(on) != self._is_negated(at)
            return Found(value, "choice", "switch", 1.0, (units[at].start, units[at].end))
        wanted = one.stems - _IDLE
        places = [i for i, stem in enumerate(stems) if stem and stem in wanted]
        if not wanted or not wanted <= {stems[i] for i in places}:
            return None
        at = places[0]
        negated = self._is_negated(at)
        return Found(
            not negated, "choice", "boolean not" if negated else "boolean", 1.0, (units[at].start, units[at].end)
        )

    def question(self, one: Parameter) -> str:
        """What to ask the user for, where nobody said it."""
        found = self.chunks.reading
        said = [found.words(m.first, m.last) for m in found.matches.get("date", ())] if one.kind == "when" else []
        return question(one, said)


_ORS = frozenset(("or", "oder", "ou", "o"))
_JOINTS = frozenset((",", "and", "or", "&", "und", "a", "an", "the", "some", "my", '"', "”", "“"))
"""What stands between the values of a list."""
_COUNTS = ("number", "measure", "duration", "money", "percent")
_AND = re.compile(r"\s+(?:and|und|et|y)\s+")


def question(one: Parameter, said: Sequence[str]) -> str:
    """A question for a parameter. `said` are words for days that no clock tells the date of."""
    if said and one.schema.get("format") in ("date", "date-time"):
        return f"Which date is “{said[0]}”?"
    if one.kind == "choice" and isinstance(choices := one.schema.get("enum"), list):
        shown = [str(choice) for choice in choices[:5]]
        return f"{_named(one)}: {', '.join(shown[:-1])} or {shown[-1]}?" if len(shown) > 1 else f"{_named(one)}?"
    if one.kind in _QUESTIONS:
        return _QUESTIONS[one.kind]
    return f"{_named(one)}?"


def _named(one: Parameter) -> str:
    """A parameter in words: the first clause of its description, or its name."""
    told = one.described.partition(".")[0].partition(";")[0].strip()
    shown = told if 0 < len(told) <= 60 else one.name.replace("_", " ")
    return shown[:1].upper() + shown[1:]
