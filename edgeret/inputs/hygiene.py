"""Texts by strangers: which names can be taken, and which characters a reader would not see. Knows nothing of files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from edgeret.errors import InputError
from edgeret.quoting import quoted
from edgeret.types import END, START

MAX_NAME_CHARS = 256

_LAYOUT, _JOINERS = "\t\n\r\u2028\u2029", "\u200c\u200d"

# Nothing is drawn for these, whatever their category says. Two variation selectors belong to emoji and are let through.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\U000e0000-\U000e0fff]"
)


def check_name(name: str, where: str) -> None:
    """Raises InputError unless the name is short, no reserved one, on one line, and made of what a reader can see."""
    if name in (START, END):
        raise InputError(f"{where}: the name {quoted(name)} is reserved")
    if len(name) > MAX_NAME_CHARS or name != name.strip():
        raise InputError(
            f"{where}: {quoted(name)} is no name; one has at most {MAX_NAME_CHARS} characters and no space at its ends"
        )
    if hidden := hidden_character(name, _LAYOUT + _JOINERS):
        raise InputError(f"{where}: the name {quoted(name)} contains {hidden}; take it out")


def check_names(names: Collection[str], where: str) -> None:
    """The same of very many names, in a fraction of the time."""
    plain = _is_plain("".join(names)) and all(names) and list(map(str.strip, names)) == list(names)
    plain = plain and max(map(len, names), default=0) <= MAX_NAME_CHARS
    if not plain or not {START, END}.isdisjoint(names):
        for name in names:
            check_name(name, where)


def without_hidden(text: str) -> str:
    """The text without what `is_hidden` finds in it."""
    return text if _is_plain(text) else "".join(c for c in text if not is_hidden(c))


def hidden_character(text: str, forbidden: str = "") -> str | None:
    """The first character that is hidden or forbidden, in words."""
    found = None if _is_plain(text) else next((c for c in text if c in forbidden or is_hidden(c)), None)
    return None if found is None else f"the invisible character U+{ord(found):04X}"


def _is_plain(text: str) -> bool:
    """Whether nothing in the text can be hidden; true of nearly every one, and found a hundred times sooner."""
    return text.isprintable() and (text.isascii() or not _BLANK.search(text))


def is_hidden(char: str) -> bool:
    """Whether a reader of the text would not see the character: controls, tag characters, bidirectional overrides,
    fillers.

    Joiners are let through: U+200C and U+200D belong to Persian, Indic scripts and emoji. So are tabs and ends of lines
    and paragraphs.
    """
    if char in _LAYOUT or char in _JOINERS:
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs") or _BLANK.match(char) is not None
