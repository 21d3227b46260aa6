"""Takes the values out of what users say, so that what is left may be kept: what they ask for, and not about whom.
Knows nothing of logs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from edgeret.core.understood import words_of
from edgeret.types import REFERENCE

Redact = Callable[[str], str]
"""Gives a text back with nothing in it that must not be kept."""
WITHHELD = "[withheld]"
_WITHOUT = frozenset(("url", "email", "path", "channel", "iban", "phone", "quoted", "number"))
_READ, _STEP = 4000, 3000
"""Characters in which the library looks for values at a time, and from one such time to the next."""
_FILES = "txt|md|pdf|csv|json|py|js|ts|html|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|zip|log|ya?ml|xml|mp[34]|wav|sh"
_VALUES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (f"[{name}]", re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("quoted", r"\"[^\"]*\"|“[^”]*”|«[^»]*»|「[^」]*」|‘[^’]{2,200}’(?!\w)|(?<!\w)'[^']{2,200}'(?!\w)"),
        ("url", r"https?://\S+|\bwww\.\S+|[\w-]{2,40}(?:\.[\w-]{1,40}){0,3}\.(?:com|org|net|io|dev|de|fr|es|cn|edu|gov"
         r"|ai|app|co\.uk)\b(?!@)(?:/\S*)?"),
        ("path", rf"(?:(?<=\s)|^)(?:~/|/)[\w.-]\S*|\*\.\w+|\b[\w.-]{{1,60}}/[\w./-]+|\b[\w-]{{1,60}}\.(?:{_FILES})\b"),
        ("channel", r"(?:(?<=\s)|^)[#@][^\W\d_][\w-]*"),
        ("number", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3}\b)?|\+?\w*\d(?:[\d ().,:/-]*\d)?\w*"),
    )
)  # fmt: skip
_EMAIL = "[email]", re.compile(r"[^\s@<>()\",;]+@[^\s@<>()\",;]*\w")


def redacted(text: str) -> str:
    """The text with `[quoted]`, `[email]`, `[url]`, `[path]`, `[channel]` or `[number]` for what stands between quotes,
    for addresses, files, handles, and all that has a digit; and nothing of a text in which such a value is left
    nevertheless. Names of people and places stay."""
    for name, pattern in (_VALUES[0], _EMAIL, *_VALUES[1:]):
        text = pattern.sub(name, text)
    plain = re.sub(r"\[[a-z]+\]", " it ", text)
    parts = (plain[at : at + _READ] for at in range(0, len(plain), _STEP))
    return WITHHELD if any(not _WITHOUT.isdisjoint(words_of(part).values) for part in parts) else text


def redact_value(value: Any, redact: Redact) -> Any:
    """The same of every text and number in a decoded JSON value; names of fields stay, which tools gave, and so
    do references to outputs. A number in which something is found becomes text."""
    if isinstance(value, str):
        return value if REFERENCE.fullmatch(value) else redact(value)
    if isinstance(value, Mapping):
        return {key: redact_value(each, redact) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(each, redact) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    written = json.dumps(value)
    found = redact(written)
    return value if found == written else found
