"""What of a query an argument may be: words that stand together. Knows nothing of schemas and models."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
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
