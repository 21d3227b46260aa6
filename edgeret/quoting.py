"""Strangers' words in messages and on terminals: on one line, in bounded length, with nothing that acts or hides.

Imports nothing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Control characters, line and paragraph separators, bidirectional controls, tags, halves of surrogate pairs."""
_MOST_SHOWN, _MOST_SAID, _MOST_NAMED = 160, 300, 3
_MOST_COMPARED, _LONGEST_COMPARED = 10_000, 64


def quoted(text: str) -> str:
    """A stranger's words for a message: `shortened`, in quotes."""
    return f'"{shortened(text)}"'


def shortened(text: str) -> str:
    """A stranger's words on one line: both ends of a long text, nothing invisible."""
    text = " ".join(text.split())
    return visible(text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN // 2]}…{text[-_MOST_SHOWN // 2 :]}")


def few(names: Sequence[str]) -> str:
    """The first names of a list for a message, each `shortened`."""
    return ", ".join(shortened(name) for name in names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def said(error: BaseException) -> str:
    """What a library or the system says of a failure, for a message: its beginning, on one line, nothing invisible; or
    the failure's kind where it says nothing. Such words quote the file that was read, and may fill pages."""
    return visible(" ".join(str(error).split())[:_MOST_SAID]) or type(error).__name__


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: `; did you mean "…"?` with the most similar known one, or nothing.

    Long names and all but the first 10,000 known ones are left out: comparing takes a quarter of a second for so many.
    """
    from difflib import get_close_matches

    compared = islice(known, _MOST_COMPARED) if len(name) <= _LONGEST_COMPARED else ()
    found = get_close_matches(name, compared, 1)
    return f"; did you mean {quoted(found[0])}?" if found else ""


def visible(text: str, keep: str = "") -> str:
    """The text with everything that a terminal would obey, or a reader not see, as an escape; but for `keep`."""
    return UNSEEN.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)
