"""A text's words, brought to a form in which those that mean the same meet. Knows nothing of tools and vectors.

English, by rule: camel case is split, endings fall away, and words that every request has are left out. Where another
language is written the rules change little, and shared words still meet.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ies", "ing", "ed", "es", "s", "e")
_LEAST = 3
_LONG = 40
"""Characters from which on what stands between two spaces is read anew each time, and not kept."""
_COMMON_WORDS = (
    "a about all also an and any are as at be but by can could did do does for from had has have he her his how i if "
    "in into is it its just me my no not of on or our out please she so some that the their them then there they this "
    "to up us was we were what when which will with would you your"
)
COMMON = frozenset(_COMMON_WORDS.split(" "))
"""Words that say nothing of a request, as they are written."""


def words(text: str) -> list[str]:
    """The words of a text that say something, in order, lower case and without endings."""
    said: list[str] = []
    for part in text.split():
        kept = _READ.get(part)
        said += _read(part) if kept is None else kept
    return said


def forms(text: str) -> dict[str, str]:
    """What `words` gives, each with the shortest word of the text that it was made of, of equally short ones the first
    by code points: what may be shown to a tokenizer, which knows words and no stems."""
    found: dict[str, str] = {}
    for word in _written(text):
        merge_form(found, stem(word), word)
    return found


def merge_form(found: dict[str, str], stem: str, word: str) -> None:
    """Adds one more word of a stem to those found."""
    known = found.get(stem)
    if known is None or (len(word), word) < (len(known), known):
        found[stem] = word


def _written(text: str) -> list[str]:
    return [word for word in _WORD.findall(_CAMEL.sub(" ", text).lower()) if word not in COMMON]


def _read(part: str) -> tuple[str, ...]:
    said = tuple([stem(word) for word in _written(part)])
    if len(part) <= _LONG:
        if len(_READ) >= _MOST_READ:
            _READ.clear()
        _READ[part] = said
    return said


_MOST_READ = 1 << 14
_READ: dict[str, tuple[str, ...]] = {}
"""What was read before. Not an lru_cache, which moves every part that it finds: behind an encoding that is a trip to
main memory for each of its neighbours."""


@lru_cache(1 << 14)
def stem(word: str) -> str:
    # Most words have none, which one look tells; words of all tools are read before the first decision, the same ones
    # again and again.
    for ending in _ENDINGS if word.endswith(_ENDINGS) else ():
        # Of "address" nothing falls away, or it would not meet "addresses".
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST and (ending != "s" or word[-2] != "s"):
            word = word[: -len(ending)] + ("i" if ending == "ies" else "")
            break
    if len(word) > _LEAST and word.endswith("y"):
        return word[:-1] + "i"
    # "stopped" and "stop", but not "call" and "cal".
    return word[:-1] if len(word) > _LEAST and word[-1] == word[-2] and word[-1] not in "ls" else word
