"""Texts by strangers: which names can be taken, and which characters a reader would not see. Knows nothing of files.

What hides is dropped where strangers' definitions are read, and refused where edgeret's own files and objects hold it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection
from typing import Any, TypeVar

from edgeret.errors import InputError
from edgeret.quoting import quoted
from edgeret.types import END, START

T = TypeVar("T")
MAX_NAME_CHARS = 256

_LAYOUT = "\t\n\r\u2028\u2029"
_BY_CONTEXT = "\u200c\u200d\ufe0e\ufe0f"
"""Joiners and the variation selectors of emoji: where they shape what is seen they stay, and hide anywhere else."""
_SEEN_ALL_THE_SAME = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Formats by their category, and drawn: signs of Arabic, Syriac and Kaithi that stand around numbers."""

# Nothing is drawn for these, whatever their category says.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0\ufe00-\ufe0f\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
# The flags that emoji spell with tags. Any other tags could spell anything.
_FLAG = re.compile(
    "(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f)"
)
_EMOJI = "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
# Scripts whose letters change beside a joiner: Arabic, Syriac, those of India and South-East Asia, Mongolian.
_JOINED = "[\u0600-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff]"
_IN_PLACE = re.compile(
    f"((?<={_EMOJI})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?:(?<={_EMOJI})|(?<={_EMOJI}\ufe0f))\u200d(?={_EMOJI})"
    f"|(?<={_JOINED})[\u200c\u200d](?![\u200c\u200d])|(?<![\u200c\u200d])[\u200c\u200d](?={_JOINED}))"
    f"|[{_BY_CONTEXT}]"
)
_MOST_PASSES = 4
"""To drop what is out of place only since something else was dropped; real texts take one."""


def check_name(name: str, where: str) -> None:
    """Raises InputError unless the name is short, no reserved one, on one line, and made of what a reader can see."""
    if name in (START, END):
        raise InputError(f"{where}: the name {quoted(name)} is reserved")
    if len(name) > MAX_NAME_CHARS or name != name.strip():
        raise InputError(
            f"{where}: {quoted(name)} is no name; one has at most {MAX_NAME_CHARS} characters and no space at its ends"
        )
    if hidden := hidden_character(name, _LAYOUT + "\u200c\u200d"):
        raise InputError(f"{where}: the name {quoted(name)} contains {hidden}; take it out")


def check_names(names: Collection[str], where: str) -> None:
    """The same of very many names, in a fraction of the time."""
    plain = _is_plain("".join(names)) and all(names) and list(map(str.strip, names)) == list(names)
    plain = plain and max(map(len, names), default=0) <= MAX_NAME_CHARS
    if not plain or not {START, END}.isdisjoint(names):
        for name in names:
            check_name(name, where)


def without_hidden(value: T) -> T:
    """A text, or JSON as it is decoded, without the characters that a reader would not see: controls, tag characters,
    bidirectional controls, zero widths, fillers, halves of surrogate pairs; in keys, too. What hides nothing comes back
    itself, and nothing that was given is changed.

    Joiners, variation selectors and tags stay where scripts and emoji need them, and tabs and ends of lines stay.
    Raises ValueError and TypeError for what JSON cannot hold.
    """
    if isinstance(value, str):
        return _seen(value)  # type: ignore[return-value]
    try:
        plain = shows_all(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        plain = False
    return value if plain else _cleaned(value)


def shows_all(text: str) -> bool:
    """Whether no string of a JSON text hides anything; some that hide nothing are not recognised. Costs next to
    nothing."""
    return "\\u" not in text and _is_plain(text)


def hidden_character(text: str, forbidden: str = "") -> str | None:
    """The first character that is hidden whatever stands around it, or forbidden, in words."""
    if _is_plain(text):
        return None
    found = next((c for c in _FLAG.sub("", text) if c in forbidden or is_hidden(c)), None)
    return None if found is None else f"the invisible character U+{ord(found):04X}"


def is_hidden(char: str) -> bool:
    """Whether a reader of any text would not see the character. Joiners and the variation selectors of emoji may be
    seen; `without_hidden` looks at what stands around them."""
    if char in _LAYOUT or char in _BY_CONTEXT or char in _SEEN_ALL_THE_SAME:
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs") or _BLANK.match(char) is not None


def _is_plain(text: str) -> bool:
    """Whether nothing in the text can be hidden; true of nearly every one, and found a hundred times sooner."""
    return text.isprintable() and (text.isascii() or not _BLANK.search(text))


def _seen(text: str) -> str:
    """The text without what hides in it; the same again for what it gives."""
    if _is_plain(text) or _is_plain(text.replace("\n", " ")):
        return text
    # Every second part is a flag.
    parts = _FLAG.split(text)
    kept = "".join(part if i % 2 else "".join(c for c in part if not is_hidden(c)) for i, part in enumerate(parts))
    for _ in range(_MOST_PASSES):
        before, kept = kept, _IN_PLACE.sub(lambda match: match[1] or "", kept)
        if kept == before:
            return kept
    return "".join(c for c in kept if c not in _BY_CONTEXT)


def _cleaned(value: Any) -> Any:
    """A copy of JSON without what hides; not by recursion, since strangers nest. Of two keys that are one then, the one
    that hid nothing counts."""
    holder = [value]
    waiting: list[Any] = [holder]
    while waiting:
        into = waiting.pop()
        for key, item in into.items() if isinstance(into, dict) else enumerate(into):
            if isinstance(item, str):
                into[key] = _seen(item)
            elif isinstance(item, dict):
                into[key] = {}
                for name, inner in item.items():
                    seen = _seen(name)
                    if seen == name or seen not in into[key]:
                        into[key][seen] = inner
                waiting.append(into[key])
            elif isinstance(item, list | tuple):
                into[key] = list(item)
                waiting.append(into[key])
    return holder[0]
