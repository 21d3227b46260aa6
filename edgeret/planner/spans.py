"""What of a query an argument may be: words that stand together, and numbers. Knows nothing of schemas and models."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple


class Word(NamedTuple):
    """A word of the query, its texts escaped for JSON: punctuation before and after it, mark by mark, which a span
    may leave out at its ends; the word; a final possessive 's, likewise; and the space up to the next word."""

    lead: tuple[str, ...]
    core: str
    possessive: str
    trail: tuple[str, ...]
    gap: str


# Inside what stands between two spaces, words also end at dashes, slashes and the like between letters, and around
# characters of scripts that are written without spaces.
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_CUT = re.compile(
    rf"(?<=[^\W\d_][/,;|])(?=[^\W\d_])|(?<=[—–…。、」』）！？])(?=\S)"
    rf"|(?<=[{_UNSPACED}])(?=[\w「『（])|(?<=\w)(?=[{_UNSPACED}])"
)
_CORE = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_MOST_MARKS = 8


def find_words(query: str) -> list[Word]:
    """The words of a query, in order; together they are the query without the space around it."""
    found: list[Word] = []
    for text, gap in re.findall(r"(\S+)(\s*)", query):
        pieces = [text] if "://" in text else [piece for piece in _CUT.split(text) if piece]
        for i, piece in enumerate(pieces):
            lead, core, possessive, trail = "", piece, "", ""
            if match := _CORE.search(piece):
                lead, core, trail = piece[: match.start()], match[0], piece[match.end() :]
                if len(core) > 2 and core[-2] in "'’" and core[-1] in "sS":
                    core, possessive = core[:-2], core[-2:]
            marks = tuple(map(escape, (*filter(None, (lead[:-_MOST_MARKS],)), *lead[-_MOST_MARKS:])))
            behind = tuple(map(escape, (*trail[:_MOST_MARKS], *filter(None, (trail[_MOST_MARKS:],)))))
            space = escape(gap) if i == len(pieces) - 1 else ""
            found.append(Word(marks, escape(core), escape(possessive), behind, space))
    return found


_DIGITS = re.compile(r"(?:(?<![^\s(\[{:=])[-+−])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_NUMERALS = dict(zip(_NUMBER_WORDS.split(), (*range(20), *range(20, 100, 10)), strict=True))


def find_numbers(query: str) -> list[Decimal]:
    """The numbers that stand in a query, without repeats: digits (12, -3.5, 1,200), then English words up to 999
    (forty-five, two hundred and ten), `half` being 0.5."""
    digits = (text.replace(",", "").replace("−", "-") for text in _DIGITS.findall(query))
    found = [Decimal(text) + 0 for text in digits if len(text) <= 18]
    words = re.findall(r"[^\W\d_]+|\d+|[^\w\s-]", query.lower())
    i = 0
    while i < len(words):
        value, end = _numeral(words, i)
        if value is not None and words[end : end + 1] == ["hundred"]:
            start = end + 1 + (words[end + 1 : end + 2] == ["and"])
            rest, behind = _numeral(words, start)
            value, end = (100 * value, end + 1) if rest is None else (100 * value + rest, behind)
        if value is not None:
            found.append(Decimal(value))
        elif words[i] == "half":
            found.append(Decimal("0.5"))
        i = max(end, i + 1)
    return list(dict.fromkeys(found))


def _numeral(words: Sequence[str], start: int) -> tuple[int | None, int]:
    """The number below 100 (or the "a" of "a hundred") that begins at a word, and where it ends."""
    word, following = (*words[start : start + 2], "", "")[:2]
    if word in ("a", "an") and following == "hundred":
        return 1, start + 1
    value = _NUMERALS.get(word)
    if value is not None and value >= 20 and 0 < _NUMERALS.get(following, 0) < 10:
        return value + _NUMERALS[following], start + 2
    return value, start + (value is not None)


def span_rules(words: Sequence[Word], rules: dict[str, str]) -> str:
    """Adds two rules in GBNF a word, "from this word on" and the same behind its first character; gives the body of a
    span, or "" without words.

    Where a span may begin is grouped by first characters: llama.cpp tries every token of its vocabulary against every
    open alternative, and a query has far fewer first characters than words.
    """
    starts: dict[str, list[str]] = {}
    for i, word in enumerate(words):
        end = 2 if word.core[0] == "\\" else 1
        head, rest = word.core[:end], word.core[end:]
        tail = _sequence(word.gap + "".join(words[i + 1].lead), f"w{i + 1}") if i + 1 < len(words) else ""
        for mark in reversed((word.possessive, *word.trail) if word.possessive else word.trail):
            tail = f"{quote(mark)} ( {tail} )?" if tail else quote(mark)
        rules[f"w{i}"] = f"{quote(head)} v{i}"
        rules[f"v{i}"] = _sequence(rest, f"( {tail} )?" if tail else "")
        starts.setdefault(head, []).append(f"v{i}")
        for cut, mark in enumerate(word.lead):
            starts.setdefault(mark, []).append(_sequence("".join(word.lead[cut + 1 :]), f"w{i}"))
    return " | ".join(f"{quote(head)} ( {' | '.join(dict.fromkeys(bodies))} )" for head, bodies in starts.items())


def _sequence(text: str, rule: str) -> str:
    return f"{quote(text)} {rule}".rstrip() if text or not rule else rule


def escape(text: str) -> str:
    """The text as it stands inside a string of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def quote(text: str) -> str:
    """The text as a literal of GBNF."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
