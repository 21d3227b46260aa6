"""The texts of requests, checked. Knows nothing of calls and files."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret.errors import InputError
from edgeret.inputs.jsonl import is_text
from edgeret.types import MOST_TEXTS

MAX_QUERY_CHARS = 20_000


def check_query(query: str, where: str = "query") -> str:
    """The query, unless it is blank or longer than `MAX_QUERY_CHARS`. Raises InputError."""
    if not isinstance(query, str):
        raise InputError(f"{where}: expected text, found {type(query).__name__}; give the user's words")
    if not query.strip():
        raise InputError(f"{where}: empty; give the user's words")
    if not is_text(query):
        raise InputError(f"{where}: holds half a surrogate pair, which no text can; check its encoding")
    if len(query) > MAX_QUERY_CHARS:
        raise InputError(f"{where}: {len(query)} characters, at most {MAX_QUERY_CHARS} are allowed; shorten the text")
    return query


def plain(query: str) -> str:
    """The query's words, whatever its case and spaces."""
    return " ".join(query.lower().split())


def check_texts(texts: str | Sequence[str]) -> tuple[str, ...]:
    """The texts of one search: one, or a list of one to `MOST_TEXTS` different ones. Those that differ in case and
    blanks alone count once. Raises InputError."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        return (check_query(texts),)
    found: dict[str, str] = {}
    for number, text in enumerate(texts, 1):
        checked = check_query(text, f"text {number} of {len(texts)}")
        found.setdefault(" ".join(checked.casefold().split()), checked)
        if len(found) > MOST_TEXTS:
            raise InputError(f"more than {MOST_TEXTS} different texts to search for; search for the others after these")
    if not found:
        raise InputError("no text to search for; give the user's words, or what the tool should do")
    return tuple(found.values())
