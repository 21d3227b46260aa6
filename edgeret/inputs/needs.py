"""What one tool says of what it takes and gives: values by name, logins, switches. English, by rule; words of no one's
tools. Knows nothing of other tools and of scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import stem, words
from edgeret.types import Tool


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


FINDERS = _stems("detect fetch find get identify list locate look lookup query read retrieve return search show view")
"""Begin the names of tools that give what they name."""
_CHECKERS = _stems("check validate verify confirm")
_MAKERS = _stems("add convert create generate hash make new open register start upload")
_SETTERS = _stems("set enable disable toggle switch turn activate deactivate")
_OTHERS = _stems("calculate cancel change close delete edit modify move post remove send update")
_VERBS = FINDERS | _CHECKERS | _MAKERS | _SETTERS | _OTHERS
_NOW = _stems("current currently my system local")
"""Of a name whose tool says how things are here and now."""
_IDLE = _NOW | _stems("own user default specific given desired all nearest target new by with api tool")
"""Say nothing of what a name or a key is about."""
_ONLINE = _stems(
    "online internet web website webpage url http https cloud server remote stream browse browser download upload email"
)
"""What reaches beyond a device says so."""
_KEY = _stems("id ids identifier uuid guid key code number name token handle ref reference")
"""Last words of a key that belongs to somebody."""
VAGUE = _KEY | _stems(
    "type kind value text data mode format page limit count size title description message content query search "
    "keyword category status result item list info information detail option level"
)
"""What is called so and nothing else can be anything."""
_TAKES = frozenset(("by", "for", "from", "with", "in", "on", "at", "of", "using"))
"""In a name: behind them stands what a tool takes."""
_STATE = _stems("status state mode service setting enabled on off")
"""What the object of a switch is called beside itself."""
_LOGIN = re.compile(r"\b(?:log|sign)[ -]?in\b|\blogon\b|\bauthenticate\b|\bauthorize\b|\bauth\b", re.IGNORECASE)
_LOGIN_IDLE = _stems("login log sign logon authenticate authorize auth to account user app session service")
_SESSION = _stems("session token auth authentication credential")
_SESSION_IDLE = _SESSION | _KEY | _stems("login access user bearer account")
_SWITCHES = re.compile(
    r"\b(?:(?:enables?|activates?) (?:or|and|/) (?:disables?|deactivates?)"
    r"|turns? (?:\w+ ){0,3}on (?:or|and|/) off|toggles?|switch(?:es)? (?:\w+ ){0,3}on (?:or|and|/) off)\b",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*[A-Za-z0-9_]")
_FOLLOWS = frozenset(
    ("before", "then", "instead", "than", "unlike", "not", "never", "to", "or", "precedes", "use", "see")
)
"""Before the name of a tool these say that it does not come first."""
_LEADS = frozenset(("from", "after", "by", "via", "using", "needs", "requires", "first", "call", "run", "returned"))
"""In a tool's own description these say that it does."""
_ON = _stems("enable activate toggle turn switch")
_OFF = _stems("disable deactivate off")
_TOGGLES = frozenset(("on", "enabled", "enable", "active", "state", "status", "power"))
"""What a parameter that turns something on is called."""
_REQUIRES = re.compile(r"\b(?:requires?|needs?|must|has to|have to|ensur\w+|make sure|only works?)\b", re.IGNORECASE)
_SENDS = _stems("mail email message sms send invite forward share")
_DEEPEST = 3


class Key(NamedTuple):
    """A parameter: the words of its name in order, without those that say nothing; whether a call must have it; and
    the words of its description."""

    words: tuple[str, ...]
    required: bool
    told: frozenset[str]

    @property
    def owner(self) -> tuple[str, ...] | None:
        """Whose key it is, None for what is nobody's: that of `order_id` is the order."""
        cut = len(self.words)
        while cut and self.words[cut - 1] in _KEY:
            cut -= 1
        return self.words[:cut] if cut < len(self.words) else None

    @property
    def opens(self) -> bool:
        """Whether it proves that somebody logged in."""
        return not _SESSION.isdisjoint(self.words) and _SESSION_IDLE.issuperset(self.words)

    @property
    def online(self) -> bool:
        """Whether it leads beyond the device."""
        return self.opens or not _ONLINE.isdisjoint(self.words)


class Facts(NamedTuple):
    """What a tool says of itself. `name` and `text` are words of its name, and of that and its description. `verb` is
    one of "find", "check", "make", "set" and "", `object` what follows it; `space` the words before it. `mentions` are
    identifiers in its texts that may be tools which come first, lower case. `login` are the words of whose account it
    opens, None for a tool that opens none; `switch` the words of the state that it sets, None for one that sets none.
    `now` tools say how things are here and now; `online` ones reach beyond the device; `requires` where a tool's
    description says that something must be so.
    """

    name: frozenset[str]
    text: frozenset[str]
    verb: str
    object: frozenset[str]
    space: frozenset[str]
    keys: tuple[Key, ...]
    mentions: tuple[str, ...]
    login: frozenset[str] | None
    switch: frozenset[str] | None
    now: bool
    online: bool
    requires: bool


def facts_of(tool: Tool) -> Facts:
    """What a tool says of what it takes and gives."""
    spelt = name_in_words(tool.name)
    said = frozenset(words(spelt))
    verb, space, objects = _parted(spelt, tool.description)
    text = said.union(words(tool.description))
    about = frozenset(word for word in objects if word not in _IDLE and not word.isdigit()) or frozenset(objects)
    keys = tuple(_keys(tool.parameters, _DEEPEST, not _SENDS.isdisjoint(text)))
    login = said - _LOGIN_IDLE if _LOGIN.search(spelt) else None
    switch = state(about) if verb != "find" and _switches(tool, said, verb, objects, keys) else None
    now = verb == "find" and not _NOW.isdisjoint(objects)
    online = login is not None or not _ONLINE.isdisjoint(text) or any(key.online for key in keys)
    requires = _REQUIRES.search(tool.description) is not None
    return Facts(
        *(said, text, verb, about, frozenset(space), keys, tuple(_mentions(tool)), login, switch or None),
        *(now, online, requires),
    )


def _switches(tool: Tool, said: frozenset[str], verb: str, objects: Sequence[str], keys: Sequence[Key]) -> bool:
    """Whether a tool turns a state on."""
    # What takes somebody's key changes that one, and no state of all.
    if not _OFF.isdisjoint(said) or any(key.required and key.owner is not None for key in keys):
        return False
    if _SWITCHES.search(tool.description):
        return True
    properties = tool.parameters.get("properties")
    toggles = isinstance(properties, Mapping) and not _TOGGLES.isdisjoint(str(key).lower() for key in properties)
    return verb == "set" and (toggles or not _ON.isdisjoint(said) or not _STATE.isdisjoint(objects))


def state(object_: frozenset[str]) -> frozenset[str]:
    """What a state is about: its words without "mode" and "status"."""
    return object_ - _STATE


def _parted(spelt: str, description: str) -> tuple[str, Sequence[str], Sequence[str]]:
    """A name's verb, the words before it and those that it is about."""
    place, _, spelt = spelt.lower().rpartition(":")
    parts = spelt.split()
    cut = next((i for i, part in enumerate(parts) if part in _TAKES and i), len(parts))
    said = words(" ".join(parts[:cut]))
    for i, word in enumerate(said):
        if word in _VERBS:
            behind = said[i + 1 :]
            # Names may end with their verb: `train_ticket_query`.
            space = [*words(place), *said[:i]] if behind else words(place)
            return _kind(word), space, behind or said[:i]
    first = next(iter(words(description)), "")
    return ("find" if first in FINDERS else ""), words(place), said


def _kind(word: str) -> str:
    kinds = ((FINDERS, "find"), (_CHECKERS, "check"), (_MAKERS, "make"), (_SETTERS, "set"))
    return next((kind for verbs, kind in kinds if word in verbs), "")


def _keys(schema: Mapping[str, Any], depth: int, sends: bool) -> Iterator[Key]:
    """The parameters of a schema and of the objects in it that a call must have; of one that `sends`, "to" is who."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return
    needed = frozenset(key for key in required if isinstance(key, str)) if isinstance(required, list) else frozenset()
    for key, value in properties.items():
        spelt = "recipient" if sends and key == "to" else name_in_words(str(key))
        said = [word for word in words(spelt) if word not in _IDLE and not word.isdigit()]
        part = value if isinstance(value, Mapping) else {}
        told = part.get("description")
        if said:
            yield Key(tuple(said), key in needed, frozenset(words(told)) if isinstance(told, str) else frozenset())
        if depth > 1 and key in needed:
            yield from _keys(part, depth - 1, sends)


def _mentions(tool: Tool) -> Iterator[str]:
    """Identifiers that a tool's texts name, but for those that come after it or in its place."""
    properties = tool.parameters.get("properties")
    values = properties.values() if isinstance(properties, Mapping) else ()
    told = (value.get("description") for value in values if isinstance(value, Mapping))
    found: dict[str, None] = {}
    for own, text in ((True, tool.description), *((False, each) for each in told if isinstance(each, str))):
        for match in _IDENTIFIER.finditer(text):
            word = match[0]
            # A plain word is no mention of a tool that happens to be called so.
            if word.islower() and word.isalpha():
                continue
            ahead = text[max(0, match.start() - 32) : match.start()].lower().split()[-3:]
            if _FOLLOWS.isdisjoint(ahead[-2:]) and not (own and _LEADS.isdisjoint(ahead)):
                found[word.lower()] = None
    return iter(found)
