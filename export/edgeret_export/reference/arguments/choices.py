"""Which of its choices a request says for a parameter, and whether it says yes or no, by the choices' own words. Knows
nothing of outputs."""

from __future__ import annotations

from typing import Any

from edgeret.inputs.words import words
from edgeret_export.reference.arguments.spans import Suitor
from edgeret_export.reference.arguments.sureness import Found
from edgeret_export.reference.inputs.chunks import Chunks
from edgeret_export.reference.inputs.measures import MONEY, UNITS
from edgeret_export.reference.inputs.parameters import MOST_CHOICES, Parameter
from edgeret_export.reference.inputs.value_forms import MISSING, fits, listed

MOST_ALTERNATIVES = 3
_SWITCHES = frozenset(("on", "enabled", "enable", "active", "activate", "allowed", "allow", "state", "power"))
_ONS = frozenset(("on", "enable", "activate", "start", "switch", "allow", "an", "ein", "work"))
_OFFS = frozenset(("off", "out", "disable", "deactivate", "stop", "cut", "kill", "block", "forbid", "aus", "dark"))
_NOTS = frozenset(("not", "no", "without", "don't", "dont", "never", "except", "nicht", "ohne", "kein", "keine", "un"))
_IDLE = frozenset(("only", "is", "with", "includ", "us", "flag", "should", "all"))


def takes(one: Parameter, value: Any) -> bool:
    """Whether a parameter's schema surely takes a value."""
    return (
        listed(value, one) is not MISSING
        if one.many and isinstance(value, list)
        else not one.many and fits(value, one.schema)
    )


def same_option(one: Parameter, value: Any, found: Found | None) -> bool:
    """Whether this option is what was found by rule."""
    told = [value] if one.many else value
    return found is not None and type(found.value) is type(told) and bool(found.value == told)


class Chosen:
    """Reads choices and Booleans for one call."""

    def __init__(self, chunks: Chunks, suitor: Suitor) -> None:
        self.chunks, self.suitor = chunks, suitor

    def found(self, one: Parameter) -> Found | None:
        """What the request says of a parameter with choices, or of a Boolean."""
        return self.choice(one) if one.kind == "choice" else self.boolean(one)

    def choice(self, one: Parameter) -> Found | None:
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
            own = all(stem in self.suitor.own for stem in wanted)
            said.append((near[clause_of[at]] + 0.5 * len(wanted) - own, -at, choice, at))
        if not said:
            return None
        said.sort(key=lambda pair: (-pair[0], -pair[1]))
        # Of several, none of which anybody must give, nobody knows whether one is meant.
        if len(said) > 1 and (said[0][0] == said[1][0] or not one.required):
            return None
        score, _, choice, at = said[0]
        if not takes(one, [choice] if one.many else choice):
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

    def boolean(self, one: Parameter) -> Found | None:
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
