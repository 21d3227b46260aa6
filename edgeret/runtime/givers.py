"""Which tools give what one takes, by their words: values, logins and states that must be on. Knows nothing of vectors,
of requests, and of what follows from what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from edgeret.inputs.needs import VAGUE, Facts, Key, facts_of, state
from edgeret.inputs.words import stem
from edgeret.types import Tool

MOST_GIVERS = 4
"""Of one value: where more tools give it, nobody knows which is meant."""
MOST_LOOKED_AT = 64
"""Tools of one word that are looked at: a word of more says nothing, and every search would be slower for it."""

# How surely a tool is needed. In 1,405 pairs of other people's plans (docs/decisions, 2026-11-26) givers of 0.9 were in
# the plan 79 times of 100, those around 0.5 24 times, and those below 0.45 four times.
MENTIONED, EXACT, WITHIN, BEYOND, KIND = 0.9, 0.9, 0.7, 0.8, 0.9
"""A tool that is named, one that gives a key's very words, some of them, more than them, what is of that kind."""
OPTIONAL, PLAIN = 0.6, 0.6
"""Times this: where a call may do without; and where the value is nobody's key and users say it themselves."""
CHECKED, MADE = 0.8, 0.5
"""Times this: where a tool checks the value or makes one of its own."""
LOGIN, OWN_LOGIN = 0.95, 0.8
"""A login for whoever takes a session, and for a tool of the same name that takes none."""
NAMED_STATE, TOLD_STATE, NETWORK, READ_FIRST = 0.8, 0.5, 0.5, 0.4
"""A state that a tool's name says, or its description that says what must be; one that it says alone; a network for
what reaches out; what reads a state, for what sets it."""

_BETWEEN = ("__", ".", ":", "/")
"""Between a server's name and a tool's."""
_Words = TypeVar("_Words", str, frozenset[str])
_Groups = defaultdict[frozenset[str], list[int]]
_Group = tuple[frozenset[str], list[int]]


def _kind(keys: str, gives: str) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(map(stem, keys.split())), frozenset(map(stem, gives.split()))


KINDS = (
    _kind("date day year month week quarter deadline due timestamp when", "date today calendar day"),
    _kind("time hour timestamp when", "time clock now"),
    _kind("location place position coordinate latitude longitude near nearby", "location position gps coordinate"),
    _kind("recipient contact attendee", "contact person people"),
    _kind("phone mobile", "contact phone number"),
    _kind("km mile meter metre kg lb pound gram liter litre gallon m2 ft sqft celsius fahrenheit inch cm", "unit"),
)
"""Words of keys, and words of which the names of tools are made that give such values."""
NETWORKS = tuple(
    frozenset(map(stem, network.split()))
    for network in ("wifi", "wi fi", "internet", "network", "connectivity", "cellular", "mobile data", "cellular data")
)
"""States that let a device reach out, what is looked for first ahead; any one will do."""


class Givers:
    """A tool set, arranged by what its tools give. Immutable and thread-safe."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Reads all tools; positions are in their order."""
        self._facts = [facts_of(tool) for tool in tools]
        self._names = [tool.name.lower() for tool in tools]
        self._position = {name: i for i, name in enumerate(self._names)}
        by_word: dict[str, list[int]] = defaultdict(list)
        by_object, logins, switches = (_Groups(list) for _ in range(3))
        for i, fact in enumerate(self._facts):
            if fact.login is not None:
                logins[fact.login].append(i)
            elif fact.verb and not fact.object <= VAGUE:
                by_object[fact.object].append(i)
                for word in fact.object:
                    by_word[word].append(i)
            if fact.switch is not None:
                switches[fact.switch].append(i)
        self._by_word: Mapping[str, list[int]] = _few(by_word)
        self._by_object: Mapping[frozenset[str], list[int]] = _few(by_object)
        self._logins, self._switches = _by_word(logins), _by_word(switches)
        self._login = logins.get(frozenset(), [])
        self._network = next((network for network in NETWORKS if network in switches), None)
        self._networks = switches.get(self._network, []) if self._network else []

    def __len__(self) -> int:
        return len(self._facts)

    def of(self, taker: int) -> dict[int, float]:
        """The tools that a call of one needs at once, and how surely, 0 to 1."""
        fact = self._facts[taker]
        found: dict[int, float] = {}
        for pairs in (self._mentioned(taker), self._values(taker), self._opened(fact), self._states(taker)):
            for giver, strength in pairs:
                if giver != taker and strength > found.get(giver, 0.0):
                    found[giver] = strength
        return found

    def _mentioned(self, taker: int) -> Iterator[tuple[int, float]]:
        name = self._names[taker]
        ends = (name.rfind(between) + len(between) for between in _BETWEEN if between in name)
        server = name[: max(ends, default=0)]
        for mention in self._facts[taker].mentions:
            giver = self._position.get(mention, self._position.get(server + mention))
            if giver is not None:
                yield giver, MENTIONED

    def _values(self, taker: int) -> Iterator[tuple[int, float]]:
        """Who gives the values of a tool's parameters."""
        fact = self._facts[taker]
        for key in fact.keys:
            if key.opens:
                continue
            found = self._fitting(taker, self._of_words(fact, key), key) or self._fitting(
                taker, self._of_kind(key), key
            )
            if len(found) <= MOST_GIVERS:
                for giver, strength in found.items():
                    yield giver, strength if key.required else strength * OPTIONAL

    def _fitting(self, taker: int, pairs: Iterable[tuple[int, float]], key: Key) -> dict[int, float]:
        """Those of some givers of a key's value that a call of `taker` can mean."""
        fact, facts = self._facts[taker], self._facts
        found: dict[int, float] = {}
        for giver, strength in pairs:
            other = facts[giver]
            # One that must be given the value itself gives nothing new, and another server's knows nothing of it.
            circular = other.verb == "find" and any(own.required and own.words == key.words for own in other.keys)
            foreign = other.space and fact.space and other.space.isdisjoint(fact.name)
            if giver != taker and strength > found.get(giver, 0.0) and not circular and not foreign:
                found[giver] = strength
        # What is there already is found; only where nothing finds it, it is made.
        if any(facts[giver].verb == "find" for giver in found):
            found = {giver: strength for giver, strength in found.items() if facts[giver].verb != "make"}
        if any(facts[giver].space and facts[giver].space <= fact.name for giver in found):
            found = {giver: s for giver, s in found.items() if facts[giver].space <= fact.name}
        return found

    def _of_words(self, fact: Facts, key: Key) -> Iterator[tuple[int, float]]:
        """Tools whose names have a key's words."""
        whole, owner = frozenset(key.words), key.owner
        owned = owner is not None
        # An `id` of nobody's is that of what the tool is about.
        mine = frozenset(owner) if owner else (fact.object if owned else whole)
        for words in dict.fromkeys((whole, mine)):
            yield from self._giving(self._by_object.get(words, ()), EXACT, owned)
        # What a key ends with is what it is: a start date is a date.
        yield from self._giving(self._by_object.get(frozenset((owner or key.words)[-1:]), ()), WITHIN, owned)
        for word in key.words:
            for giver in self._by_object.get(frozenset((word,)), ()):
                if self._facts[giver].verb == "check":
                    yield giver, WITHIN
        for giver in self._having(whole) if len(whole) > 1 else ():
            if len(self._facts[giver].object) == len(whole) + 1:
                yield from self._giving((giver,), BEYOND, owned)
        for giver in self._having(mine) if owned and mine else ():
            if self._facts[giver].object - mine <= fact.name:
                yield from self._giving((giver,), BEYOND, owned)

    def _having(self, words: frozenset[str]) -> Iterator[int]:
        """Tools whose objects have all of these words."""
        for giver in min((self._by_word.get(word, []) for word in words), key=len):
            if words <= self._facts[giver].object:
                yield giver

    def _of_kind(self, key: Key) -> Iterator[tuple[int, float]]:
        for keys, gives in KINDS:
            if not keys.isdisjoint(key.words):
                for word in gives:
                    some = (giver for giver in self._by_word.get(word, ()) if self._facts[giver].object <= gives)
                    yield from self._giving(some, KIND, True)

    def _giving(self, givers: Iterable[int], strength: float, owned: bool) -> Iterator[tuple[int, float]]:
        """The same givers, each by what it does."""
        for giver in givers:
            fact = self._facts[giver]
            if fact.verb == "find":
                yield giver, strength if owned or fact.now else strength * PLAIN
            elif fact.verb == "check":
                yield giver, strength * CHECKED
            elif fact.verb == "make" and owned:
                yield giver, strength * MADE

    def _opened(self, fact: Facts) -> Iterator[tuple[int, float]]:
        """What logs in, for those that need somebody logged in."""
        if fact.login is not None:
            return
        asked = [key for key in fact.keys if key.opens]
        told = fact.text.union(*(key.told for key in asked))
        for account, logins in _matching(self._logins, told if asked else fact.name):
            strength = LOGIN if asked else OWN_LOGIN
            if asked or account <= fact.name:
                yield from ((login, strength) for login in logins)
        if asked and len(self._login) <= MOST_GIVERS:
            yield from ((login, LOGIN) for login in self._login)

    def _states(self, taker: int) -> Iterator[tuple[int, float]]:
        """What switches a state on that must be on, and what tells it."""
        fact = self._facts[taker]
        networks = [(self._network, self._networks)] if fact.online and self._network else []
        for about, switches in [*_matching(self._switches, fact.text), *networks]:
            readers = [i for i in self._having(about) if self._facts[i].verb == "find" and self._tells(i, about)]
            if taker in switches:
                yield from ((reader, READ_FIRST) for reader in readers)
            elif taker not in readers and len(switches) <= MOST_GIVERS:
                named = about <= fact.name or (fact.requires and about <= fact.text)
                told = NAMED_STATE if named else TOLD_STATE if about <= fact.text else NETWORK
                yield from ((giver, told) for giver in (*switches, *readers))

    def _tells(self, reader: int, about: frozenset[str]) -> bool:
        words = self._facts[reader].object
        return words != about and state(words) == about


def _few(found: Mapping[_Words, list[int]]) -> dict[_Words, list[int]]:
    return {words: tools for words, tools in found.items() if len(tools) <= MOST_LOOKED_AT}


def _by_word(groups: Mapping[frozenset[str], list[int]]) -> dict[str, list[_Group]]:
    """Groups of tools by their rarest word, small groups of few alone."""
    counts: dict[str, int] = defaultdict(int)
    for words in groups:
        for word in words:
            counts[word] += 1
    found: dict[str, list[_Group]] = defaultdict(list)
    for words, tools in groups.items():
        if words and len(tools) <= MOST_GIVERS:
            found[min(words, key=lambda word: (counts[word], word))].append((words, tools))
    return {word: some for word, some in found.items() if len(some) <= MOST_LOOKED_AT}


def _matching(groups: Mapping[str, list[_Group]], words: frozenset[str]) -> Iterator[_Group]:
    """The groups all of whose words are among some."""
    for word in groups.keys() & words:
        for about, tools in groups[word]:
            if about <= words:
                yield about, tools
