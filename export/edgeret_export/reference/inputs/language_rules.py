"""What a language's file says of requests in it: how they are cut, what asks for something, which words are opposites.
One file a language, beside this one, is all that is known of it. Knows nothing of which language a text is in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from edgeret.errors import BundleError
from edgeret.fields import get
from edgeret.inputs.words import stem
from edgeret.records import dataclass

FOLDER = Path(__file__).with_name("languages")
ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "fr", "es", "zh")
"""Those with a file; of equally likely ones the first is taken."""
_WORD = r"[^\W_]+(?:['’][^\W_]+)?"
_LETTERS = r"[^\W_]+"
"""A word of a language that has one and the next meet at an apostrophe: "n'allume"."""

Expressions = Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Rules:
    """A language's rules, as docs/FORMAT.md (section 16.11) defines their use. Words are as they are written, lower
    case; `sides` has the number of each one's side, and stems where the language is English. `doubtful` are the words
    that may be on none."""

    language: str
    spaces: bool
    word: re.Pattern[str]
    cut: re.Pattern[str]
    adds: re.Pattern[str]
    polite: re.Pattern[str]
    openings: frozenset[str]
    fillers: frozenset[str]
    subordinate: frozenset[str]
    questions: frozenset[str]
    verbs: frozenset[str]
    final: frozenset[str]
    halves: frozenset[str]
    stating: frozenset[str]
    question: re.Pattern[str]
    knowledge: re.Pattern[str]
    value: re.Pattern[str]
    name: re.Pattern[str]
    state: re.Pattern[str]
    demand: re.Pattern[str]
    sides: Mapping[str, int]
    negations: frozenset[str]
    reach: int
    behind: bool
    telling: frozenset[str]
    quoted: re.Pattern[str]
    only_with: Expressions
    only_without: Expressions
    doubtful: frozenset[str]

    def count(self, text: str) -> int:
        """How many words a text has: between white space or, where none stands between words, two thirds of its
        letters, rounded up."""
        return len(text.split()) if self.spaces else -(-2 * len(_SIGN.findall(text)) // 3)


_SIGN = re.compile(r"[0-9A-Za-z]+|[^\W_]")
"""A letter, or a word in Latin letters among such."""


@cache
def content(language: str) -> Mapping[str, Any]:
    """A language's file. Raises BundleError for one that is missing or damaged."""
    path = FOLDER / f"{language}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(f"{path}: cannot be read ({error}); install edgeret again") from error
    if not isinstance(found, dict) or found.get("language") != language:
        raise BundleError(f'{path}: expected an object with "language": "{language}"; install edgeret again')
    return found


@cache
def pairs() -> tuple[tuple[str, str], ...]:
    """The pairs of sides in English, in the order of their numbers: words of like effect, and of the opposite one."""
    where = str(FOLDER / "en.json")
    told = get(get(dict(content(ENGLISH)), "opposites", dict, where), "pairs", list, where)
    return tuple((str(one), str(other)) for one, other in told)


@cache
def verbs_of_tools() -> Mapping[str, bool]:
    """Stems of verbs that tools are named and described by, in English: whether what they do changes something. Raises
    BundleError for a damaged file."""
    where = str(FOLDER / f"{ENGLISH}.json")
    told = get(dict(content(ENGLISH)), "tools", dict, where)
    return {stem(word): key == "changes" for key in ("tells", "changes") for word in _words(told, key, where)}


@cache
def rules_of(language: str) -> Rules:
    """The rules of one of LANGUAGES. Raises BundleError for a damaged file."""
    return read_rules(dict(content(language)), str(FOLDER / f"{language}.json"))


def read_rules(found: dict[str, Any], where: str) -> Rules:
    """Rules of a file's content. Raises BundleError naming the place and the key that is wrong."""
    clauses, wishes = get(found, "clauses", dict, where), get(found, "wishes", dict, where)
    asking, opposites = get(found, "asking", dict, where), get(found, "opposites", dict, where)
    spaces = get(found, "spaces", bool, where)
    openings = _words(wishes, "openings", where)
    sides, negations = _sides(opposites, where), _words(opposites, "negations", where)
    lists = {key: _words(wishes, key, where) for key in ("fillers", "subordinate", "questions", "verbs", "final")}
    lists |= {key: _words(wishes, key, where) for key in ("halves", "stating")}
    known = openings.union(sides, negations, *lists.values())
    only_with, only_without = (_by_word(opposites, key, where) for key in ("only_with", "only_without"))
    language = get(found, "language", str, where)
    return Rules(
        language=language,
        spaces=spaces,
        word=_expression(
            _word(get(found, "word", str, where) if "word" in found else "", spaces, known), "word", where
        ),
        cut=_compiled(clauses, "cut", where),
        adds=_compiled(clauses, "adds", where),
        polite=_compiled(wishes, "polite", where),
        openings=openings,
        fillers=openings | lists["fillers"],
        subordinate=lists["subordinate"],
        questions=lists["questions"],
        verbs=lists["verbs"],
        final=lists["final"],
        halves=lists["halves"],
        stating=lists["stating"],
        question=_compiled(asking, "question", where),
        knowledge=_compiled(asking, "knowledge", where, flags=0),
        value=_compiled(asking, "value", where, flags=0),
        name=_compiled(asking, "name", where, flags=0),
        state=_compiled(asking, "state", where),
        demand=_compiled(asking, "demand", where),
        sides=sides,
        negations=negations,
        reach=get(opposites, "reach", int, where),
        behind=get(opposites, "behind", bool, where),
        telling=_words(opposites, "telling", where),
        quoted=_compiled(opposites, "quoted", where),
        only_with=only_with,
        only_without=only_without,
        doubtful=frozenset((*only_with, *only_without)),
    )


@cache
def compiled_once(language: str, part: str, key: str) -> re.Pattern[str]:
    """One more expression of a language's file, case ignored. Raises BundleError for a damaged file."""
    where = str(FOLDER / f"{language}.json")
    return _compiled(get(dict(content(language)), part, dict, where), key, where)


def _word(told: str, spaces: bool, known: frozenset[str]) -> str:
    """What a word is: without spaces the longest one that is known, or else a letter."""
    if spaces:
        return _LETTERS if told == "letters" else _WORD
    longest = sorted(known, key=lambda word: (-len(word), word))
    return "|".join([*map(re.escape, longest), "[0-9a-z]+", r"[^\W_]"])


def _words(part: dict[str, Any], key: str, where: str) -> frozenset[str]:
    return frozenset(" ".join(_texts(part, key, where)).split())


def _texts(part: dict[str, Any], key: str, where: str) -> list[str]:
    found: list[str] = get(part, key, list, where)
    if not all(isinstance(text, str) for text in found):
        raise BundleError(f'{where}: "{key}" must be a list of texts; install edgeret again')
    return found


def _sides(opposites: dict[str, Any], where: str) -> Mapping[str, int]:
    """Words, English ones as stems, with the numbers of their sides. Another language names its pairs by the first word
    of the English one, and has its words in all their forms: of "eine" a stem would be "ein"."""
    told = opposites.get("pairs")
    numbers = {one.split()[0]: number for number, (one, _) in enumerate(pairs())}
    named = dict(zip(numbers, told, strict=False)) if isinstance(told, list) else told
    if not isinstance(named, dict) or not all(_is_pair(pair) for pair in named.values()):
        raise BundleError(f'{where}: "pairs" must give two texts for each; install edgeret again')
    found: dict[str, int] = {}
    for name, pair in named.items():
        if name not in numbers:
            raise BundleError(f'{where}: "pairs" has "{name}", which begins no English pair; install edgeret again')
        for side in (0, 1):
            words = pair[side].split()
            found |= {(stem(word) if isinstance(told, list) else word): 2 * numbers[name] + side for word in words}
    return found


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(side, str) for side in pair)


def _by_word(part: dict[str, Any], key: str, where: str) -> Expressions:
    told = get(part, key, dict, where)
    return {word: _compiled(told, word, where) for word in told}


def _compiled(part: dict[str, Any], key: str, where: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return _expression("".join(_texts(part, key, where)), key, where, flags)


def _expression(text: str, key: str, where: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    try:
        return re.compile(text, flags)
    except re.error as error:
        raise BundleError(f'{where}: "{key}" is no expression ({error}); install edgeret again') from error
