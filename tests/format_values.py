"""Kinds of values of a second reader, read from section 16.12 of docs/FORMAT.md itself. Knows nothing of edgeret."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = (Path(__file__).parents[1] / "docs" / "FORMAT.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("\n### 16.12 ")[2].partition("\n## ")[0]
LISTS = {
    name: [word for line in block.splitlines() for word in line.split()]
    for name, block in re.findall(r"`<(\w+)>`:\n\n((?:    .+\n)+)", SECTION)
}
LINES = re.findall(r"^    (\w+): (.+)$", SECTION, re.MULTILINE)
KINDS = [kind for kind, _ in LINES[: len(LINES) // 2]]
TAKEN = {kind: set(words.split()) for kind, words in LINES[len(KINDS) :]}
LIKE = {"uri": "url", "url": "url", "email": "email", "date": "date", "time": "time", "date-time": "date"}


def alternatives(name: str) -> str:
    return "|".join(map(re.escape, LISTS[name]))


PATTERNS = {
    kind: re.compile(
        re.sub(r"<(date|time|unit|count|money)>", lambda found: alternatives(found[1]), told),
        0 if kind == "iban" else re.IGNORECASE,
    )
    for kind, told in LINES[: len(KINDS)]
}
MAY = re.compile(r"[0-9@#/*%$€£¥\"“«「'.一-鿿]")
WORD = re.compile("|".join(alternatives(name) for name in ("date", "time", "unit")), re.IGNORECASE)


def held(query: str) -> list[str]:
    """The kinds that a query holds."""
    runs = query.split()
    if not any(MAY.search(run) or WORD.fullmatch(re.sub(r"^\W+|\W+$", "", run)) for run in runs):
        return []
    return [kind for kind in KINDS if PATTERNS[kind].search(query[:4000])]


def taken(tool: dict[str, Any], in_words: Callable[[str], str]) -> set[str]:
    """The kinds that a tool takes."""
    properties = tool["parameters"].get("properties")
    found = set()
    for name, schema in list(properties.items())[:48] if isinstance(properties, dict) else ():
        words = {word.rstrip("0123456789") for word in in_words(name).lower().split()}
        found |= {kind for kind in KINDS if words & TAKEN[kind]}
        told = schema.get("format") if isinstance(schema, dict) else None
        found |= {LIKE[told]} if isinstance(told, str) and told in LIKE else set()
    return found
