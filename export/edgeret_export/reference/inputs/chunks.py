"""Which runs of a request's words may be a value, with the words that lead to each. Knows nothing of tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from edgeret.inputs.words import COMMON, words
from edgeret_export.reference.inputs.answers import read_request
from edgeret_export.reference.inputs.clauses import clause_spans
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.streets import streets
from edgeret_export.reference.inputs.units import PATTERNS, Reading, Unit

MOST_CHUNKS = 400  # of a request
_PREPOSITION_WORDS = (
    "about after around as at before behind between by called due during except for from in inside into near "
    "named next of off on onto out over per regarding saying since than that through till titled to toward "
    "towards under until up via with within without zu für von bei nach mit um"
)
_PREPOSITIONS = frozenset(_PREPOSITION_WORDS.split(" "))
_BREAK_WORDS = (
    "again ago along among amongst already also always am another anybody anyone anything anyway because been "
    "being best both but cannot cause couldn't didn't does doesn't don't done each either else every everybody "
    "everyone everything far few first further good great happily get gets getting give gives got gotta hadn't "
    "hasn't haven't having hello hey hi him himself however i'd i'll i'm i've instead isn't it's its itself "
    "kindly know let let's lets like look looks made make makes many may maybe might mine more most much must "
    "myself moment need needs neither never nobody nor nothing now okay once one only onto or otherwise ought "
    "ours perhaps please pls put puts quite rather really said say says see shall should since somebody soon "
    "straight someone something still such sure take takes tell tells thank thanks that's then there's these "
    "they're thing think this those though too took try unless until upon us use very want wanted wants was "
    "wasn't way we'd we'll we're we've well went were weren't what's where where's whenever whether while whose "
    "why won't would wouldn't yes yet you'd you'll you're you've yours if isn't no not und oder der die das den "
    "dem ein eine einen einer bitte"
)
_BREAKS = COMMON | _PREPOSITIONS | frozenset(_BREAK_WORDS.split(" "))
_NEGATIONS = frozenset(("not", "no", "except", "without", "nicht", "kein", "keine", "never", "than", "isn't", "don't"))
_NOT_VALUES = re.compile(
    r"\b(?:instead of|rather than|anything but|but not|(?:any|every|all|no) \w+ but|can(?:'|’)?t (?:do|make))"
    r"\s*(?:on\s*)?$",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"(?:[,;.…—–-]|\bor)\s*(?:oh\s+|ah\s+|er\s+)?"
    r"(?:no(?! (?:need|rush|hurry|more)\b)|sorry|i mean(?:t)?|rather|actually|make that|wait|scratch that|nein)\b"
    r"[,:;.]?\s*(?:(?:wait|sorry|i mean(?:t)?|rather|actually|make that|make it|better)\b[,:]?\s*)?",
    re.IGNORECASE,
)
_SPEAKS = frozenset(("that", "saying", "says", "say", "tell", "reading", ":"))


class Chunk(NamedTuple):
    """Units from the first up to another one. `kind` is a pattern's, "chunk" for words between small words,
    "head" and "tail" for the first and the last of those, "joined" for two such runs, "rest" for all behind a small
    word up to the end of a clause, "clause" and "sentence" for these, and "told" for what somebody is told. `leads` are
    the words in front, the nearest first; `clause` is its clause's number. `void`: negated or taken back."""

    kind: str
    first: int
    last: int
    leads: tuple[str, ...]
    clause: int
    void: bool
    joined: bool


class Chunks(NamedTuple):
    """A request's reading, its chunks in order, each clause's stems, each unit's clause and stem ("": none)."""

    reading: Reading
    chunks: tuple[Chunk, ...]
    clauses: tuple[frozenset[str], ...]
    clause_of: tuple[int, ...]
    stems: tuple[str, ...]


@lru_cache(64)
def chunks(text: str) -> Chunks:
    """The chunks of a request; the same request is read once."""
    reading = read_request(text)
    spans = clause_spans(reading.text, 1)
    clause_of = _clauses(reading, spans)
    stems = tuple(frozenset(words(reading.text[a:b])) for a, b in spans)
    taken_back = _taken_back(reading)
    found: dict[tuple[str, int, int], Chunk] = {}
    for kind, first, last in (
        *_matches(reading),
        *streets(reading),
        *_spoken(reading, clause_of),
        *_commands(reading, clause_of),
        *_between(reading, clause_of),
        *_told(reading, clause_of),
    ):
        leads = leads_of(reading, first)
        void = _is_void(reading, first, taken_back, last)
        joined = first > 0 and reading.units[first - 1].lower in _ANDS
        found.setdefault((kind, first, last), Chunk(kind, first, last, leads, clause_of[first], void, joined))
        if len(found) >= MOST_CHUNKS:
            break
    each = tuple((words(reading.whole(i)) or [""])[0] if one.is_word else "" for i, one in enumerate(reading.units))
    return Chunks(reading, tuple(sorted(found.values(), key=lambda one: (one.first, one.last))), stems, clause_of, each)


def _clauses(reading: Reading, spans: list[tuple[int, int]]) -> tuple[int, ...]:
    numbers, at = [], 0
    for unit in reading.units:
        while at + 1 < len(spans) and unit.start >= spans[at + 1][0]:
            at += 1
        numbers.append(at)
    return tuple(numbers)


def _matches(reading: Reading) -> Iterator[tuple[str, int, int]]:
    for kind in PATTERNS:
        for match in reading.matches.get(kind, ()):
            yield match.kind, match.first, match.last


def _between(reading: Reading, clause_of: tuple[int, ...]) -> Iterator[tuple[str, int, int]]:
    """Runs between small words and marks, alone, and two of them with what joins them."""
    units, runs, at = reading.units, [], 0
    verbs = rules_in(reading.text).verbs
    while at < len(units):
        end = at
        if (units[at].text.lower() in verbs or units[at].lower in verbs) and _begins(reading, at, clause_of):
            at += 1
            continue
        while end < len(units) and _belongs(reading, end, at):
            end += 1
        if end > at:
            runs.append((at, end))
        at = max(end, at + 1)
    for i, (first, last) in enumerate(runs):
        yield "chunk", first, last
        for cut in range(1, min(last - first, _MOST_CUT + 1)):
            if units[first + cut].is_word and units[first + cut - 1].is_word:
                yield "tail", first + cut, last
            if units[last - cut].is_word and units[last - cut - 1].is_word:
                yield "head", first, last - cut
        if i + 1 < len(runs):
            behind, end = runs[i + 1]
            between = [unit.lower for unit in units[last:behind]]
            if (
                between
                and len(between) <= 2
                and between[0] in _JOINS
                and all(w in _JOINS or w in ("the", "a") for w in between)
            ):
                yield "joined", first, end


def _begins(reading: Reading, at: int, clause_of: tuple[int, ...]) -> bool:
    """Whether a word begins what is asked for: a clause, or behind "please", "to", "and" and a comma."""
    if at == 0 or clause_of[at] != clause_of[at - 1]:
        return True
    return reading.units[at - 1].lower in _BEFORE_VERBS


_BEFORE_VERBS = frozenset(
    (*".,;:!?", "please", "to", "and", "then", "can", "could", "you", "or", "but", "would", "pls", "just", "also")
)
_MOST_CUT = 3
_JOINS = frozenset(
    ("of", "and", "for", "with", "on", "in", "at", "to", "'s", "’s", "about", "from", "by", "&", "/", "’", "'")
)


def _belongs(reading: Reading, at: int, first: int) -> bool:
    unit = reading.units[at]
    if unit.is_word:
        return (unit.lower != "" and unit.lower not in _BREAKS) or (
            at > first and unit.text[0].isupper() and unit.lower in ("may", "us")
        )
    if at == first or at + 1 >= len(reading.units):
        return False
    before, behind = reading.units[at - 1], reading.units[at + 1]
    glued = unit.start == before.end and behind.start == unit.end and behind.is_word
    return glued and unit.text in "-_/.'’@+&:"


def _told(reading: Reading, clause_of: tuple[int, ...]) -> Iterator[tuple[str, int, int]]:
    """From a word that makes somebody speak, or a colon, to the end of the sentence; and from a preposition on to the
    end of the clause."""
    units = reading.units
    for i, unit in enumerate(units[:-1]):
        if unit.is_word and (i == 0 or clause_of[i] != clause_of[i - 1] or units[i - 1].text in ",.:;!?"):
            for kind, ends in (("clause", clause_of), ("sentence", None)):
                end = _end(reading, i, ends)
                if end > i + 1:
                    yield kind, i, end
        if unit.lower in _SPEAKS and i:
            first = i + 2 if units[i + 1].lower == "that" else i + 1
            end = _end(reading, first, None)
            if end > first + 1:
                yield "told", first, end
        if unit.lower in _PREPOSITIONS or (unit.lower in _BEFORE_REST and i):
            end = _end(reading, i + 1, clause_of)
            if end > i + 1:
                yield "rest", i + 1, end


def _spoken(reading: Reading, clause_of: tuple[int, ...]) -> Iterator[tuple[str, int, int]]:
    """Whom somebody tells something, and what: "text jonas that im late", "let mum know dinner is ready"."""
    units = reading.units
    for i, unit in enumerate(units[:-1]):
        if unit.lower not in _TELLS or not _begins(reading, i, clause_of):
            continue
        first = i + 1
        if unit.lower == "remind" and units[first].lower in ("me", "us"):
            yield from _to_do(reading, first + 1)
        while first < len(units) and units[first].lower in _BEFORE_NAMES:
            first += 1
        last = first
        while last < min(len(units), first + _MOST_NAME) and _is_named(units, last, first):
            last += 1
        is_somebody = last == first and first < len(units) and units[first].lower in _SOMEBODY
        last += is_somebody
        at = last
        while at < len(units) and units[at].lower in _BEFORE_TOLD:
            at += 1
        if last == first or (at == len(units) and not units[first].text[0].isupper()):
            continue
        starts = at > last or (at < len(units) and _SUBJECT.fullmatch(units[at].lower) is not None)
        starts = starts or (at < len(units) and units[at].text in "\"'“‘«`")
        if not starts and not units[first].text[0].isupper():
            continue
        if not is_somebody:
            yield "addressee", first, last
        end = _end(reading, at, None) if starts and at < len(units) else at
        if end > at:
            yield "told", at, end


def _to_do(reading: Reading, first: int) -> Iterator[tuple[str, int, int]]:
    """What somebody is to be reminded of, without the day and the time in front of it and behind it."""
    units = reading.units
    whens = [m for kind in ("moment", "date", "time", "duration") for m in reading.matches.get(kind, ())]
    moved = True
    while moved:
        moved = False
        for match in whens:
            if match.first >= first and all(unit.lower in _BEFORE_WHEN for unit in units[first : match.first]):
                first, moved = match.last, True
    while first < len(units) and units[first].lower in _BEFORE_TO_DO:
        first += 1
    end = _end(reading, first, None) if first < len(units) else first
    moved = True
    while moved:
        moved = False
        for match in whens:
            if first < match.first < match.last == end:
                end, moved = match.first, True
        while end > first and units[end - 1].lower in _BEFORE_WHEN:
            end -= 1
    if end > first:
        yield "told", first, end


_ANDS = frozenset((",", "and", "or", "&", "und"))
_AT_END = frozenset(("and", "please", "then", "or", "but", "thanks"))
_BEFORE_TO_DO = frozenset(("to", "that", "about", "of", ":", ","))
_BEFORE_REST = frozenset(("the", "a", "an", "my"))
_BEFORE_VALUES = frozenset(("the", "a", "an", "on", "at", "to", "for", "in", "by", "from", "my", "with", '"', "“"))
_BEFORE_WHEN = frozenset(("at", "on", "in", "by", "for", "around", ",", "this", "from"))


def _is_named(units: tuple[Unit, ...], at: int, first: int) -> bool:
    """Whether a word is one of a name's: capitals in a row, or one word that says nothing else."""
    unit = units[at]
    if not unit.is_word or _SUBJECT.fullmatch(unit.lower) or unit.lower in _BEFORE_TOLD:
        return False
    if at > first:
        return unit.text[0].isupper() and units[first].text[0].isupper() and unit.lower == unit.text.lower()
    return unit.lower not in _BREAKS and not unit.text[0].isdecimal()


def _commands(reading: Reading, clause_of: tuple[int, ...]) -> Iterator[tuple[str, int, int]]:
    """All that stands behind "run", up to where it is run."""
    units = reading.units
    for i, unit in enumerate(units[:-1]):
        if unit.lower not in _RUNS or not _begins(reading, i, clause_of):
            continue
        first = i + 1
        behind = _BEHIND_COMMAND.search(reading.english, reading.places[first][0])
        stop = len(reading.english) if behind is None else behind.start()
        last = first
        while last < len(units) and reading.places[last][1] <= stop:
            last += 1
        while first < last and units[first].lower in _BEFORE_COMMANDS:
            first += 1
        if first >= last or units[first].lower in _BREAKS:  # "run it again", "run the tests"
            return
        while last > first and units[last - 1].text in ',.;:!?`"':
            last -= 1
        if last > first:
            yield ("command" if _CODE.search(reading.words(first, last)) else "told"), first, last
        return


_TELL_WORDS = "tell text message write ask remind inform warn answer notify ping let sms whatsapp dm say"
_TELLS = frozenset(_TELL_WORDS.split(" "))
_BEFORE_NAMES = frozenset(("to", "my", "our", "the", "a", "back"))
_BEFORE_TOLD = frozenset(("that", "know", ":", ","))
_SUBJECT = re.compile(
    r"(?:i|we|you|he|she|they|it|there|that)(?:['’]?(?:m|ll|re|s|ve|d))?|if|whether|my|our|what|when|where|why|how|not"
)
_MOST_NAME = 3
_SOMEBODY = frozenset(("him", "her", "them"))
_RUNS = frozenset(("run", "execute", "exec", "exécute", "lance", "ejecuta", "führe", "starte"))
_BEFORE_COMMANDS = frozenset(("command", ":", "`", '"'))
_CODE = re.compile(r"(?:^|\s)-|[/|&=<>$~*_`\"{}\\]|\w[.:]\w|\d")
"""What commands have and plain words do not."""
_BEHIND_COMMAND = re.compile(
    r"\s+(?:(?:in|on|at|inside) (?:the |my |a )?(?:terminal|shell|console|command line|prompt|bash|cmd|host)\b"
    r"|(?:please|pls|thanks|thank you|for (?:me|us))\W*$|and (?:then )?(?:tell|show|send|give|let)\b|aus\W*$)|\n",
    re.IGNORECASE,
)


def _end(reading: Reading, first: int, clause_of: tuple[int, ...] | None) -> int:
    """Where a sentence ends, or a clause."""
    units = reading.units
    end = first
    while end < len(units):
        unit = units[end]
        ends = unit.text in ".!?;" and (end + 1 == len(units) or units[end + 1].start > unit.end)
        if ends or (clause_of is not None and (clause_of[end] != clause_of[first] or unit.text == ",")):
            break
        if end > first and "\n" in reading.text[units[end - 1].end : unit.start]:
            break
        end += 1
    while end > first and not units[end - 1].is_word:
        end -= 1
    while end > first and units[end - 1].lower in _AT_END:
        end -= 1
    return end


_MOST_LEADS = 4


def leads_of(reading: Reading, first: int) -> tuple[str, ...]:
    found = []
    for at in range(first - 1, max(-1, first - 1 - _MOST_LEADS), -1):
        unit = reading.units[at]
        if unit.text in ".!?;\n":
            break
        found.append(unit.lower)
    return tuple(found)


def signed(reading: Reading, chunk: Chunk, said: str) -> str:
    """A number with the sign in front of it; or no number, where it is a part of one: "twenty point five"."""
    units = reading.units
    if chunk.last + 1 < len(units) and units[chunk.last].lower in _POINTS:
        return f"{said} point"
    if not chunk.first:
        return said
    before, at = units[chunk.first - 1], units[chunk.first].start
    is_glued = before.end == at and (chunk.first == 1 or units[chunk.first - 2].end < before.start)
    if before.lower in _MINUS or (before.text in "-−" and is_glued):
        return f"minus {said}"
    return f"point {said}" if before.lower in _POINTS and chunk.first > 1 else said


_MINUS, _POINTS = ("minus", "negative", "moins", "menos"), ("point", "comma", "komma", "virgule", "coma")


def _taken_back(reading: Reading) -> list[tuple[int, int]]:
    """Units in front of a correction, and where that ends."""
    found = []
    for match in _CORRECTION.finditer(reading.text):
        if match.start():
            before = sum(unit.end <= match.start() for unit in reading.units)
            behind = sum(unit.start < match.end() for unit in reading.units)
            # "... is there, no, nothing else": a correction says something else right behind it.
            if before and behind < len(reading.units):
                found.append((before, behind))
    return found


def _is_void(reading: Reading, first: int, taken_back: list[tuple[int, int]], last: int) -> bool:
    units = reading.units
    if any(last == before or (first < before < last) for before, _ in taken_back):
        return True
    counts = {one.first: one.last for one in reading.matches.get("number", ()) if taken_back}
    if any(last + 1 == before and counts.get(first) == last and behind in counts for before, behind in taken_back):
        return True  # "for 12 guests, no, make that 10"
    at = first - 1
    while at >= 0 and units[at].lower in _BEFORE_VALUES:
        at -= 1
    if at >= 0 and units[at].lower in _NEGATIONS and not any(first == behind for _, behind in taken_back):
        if units[at].lower == "no" and at == first - 1 and units[first].text[0].isdecimal():
            return False  # "fridge no 4" has a number
        return units[at].lower != "than" or (at > 0 and units[at - 1].lower in ("rather", "other"))
    return _NOT_VALUES.search(reading.text[: units[first].start]) is not None
