"""`edgeret mcp` as its client sees it: how often a search finds what a request needs, and how much of all definitions
is sent. Nothing was demonstrated or learned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeret.adapters.mcp.catalogue import Catalogue
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.mcp.toolbox import Shown
from edgeret.errors import InputError
from edgeret.inputs.jsonl import parse_objects, read_text
from edgeret_bench.metrics import mean

PARTS = ("seen", "unseen")


@dataclass(frozen=True, slots=True)
class Wish:
    """A request in somebody's words, and the tools that would do, by the client's names; none where nothing fits."""

    query: str
    tools: tuple[str, ...]
    part: str


def read_wishes(path: Path, part: str) -> list[Wish]:
    """The requests of a file that belong to a part ("all": every one). Raises InputError."""
    found = []
    for where, entry in parse_objects(read_text(path, 'requests as JSONL {"query", "tools", "part"}'), path):
        query, tools, own = entry.get("query"), entry.get("tools"), entry.get("part", "seen")
        if not isinstance(query, str) or not isinstance(tools, list) or own not in PARTS:
            raise InputError(f'{where}: expected {{"query": text, "tools": [names], "part": "seen" or "unseen"}}')
        if part in ("all", own):
            found.append(Wish(query, tuple(tools), own))
    if not any(wish.tools for wish in found):
        raise InputError(f"{path}: no request of the part {part} in it that a tool fits")
    return found


def measure_search(wishes: Sequence[Wish], tools: Mapping[str, Definition], base: Path, k: int) -> dict[str, Any]:
    """hit@1, 3 and 5 and MRR over all tools, of requests that one fits; how many of these are told that nothing fits
    (`lost`), and how many of the others (`declined`, None without any); and characters of definitions as compact JSON:
    of all tools, of what mode `search` always lists, and of what a search of `k` gives on average. Raises InputError
    for tools that are not there."""
    if missing := sorted({name for wish in wishes for name in wish.tools} - set(tools)):
        raise InputError(f"requests need tools that no server has: {', '.join(missing[:5])}; start those servers too")
    catalogue = Catalogue(base, None)
    while catalogue.update(tools):
        pass
    rows = []
    fitting = [wish for wish in wishes if wish.tools]
    nothing = [float(not catalogue.fits(wish.query)) for wish in wishes if not wish.tools]
    for wish in fitting:
        ranking = list(catalogue.rank(wish.query, len(tools)))
        first = 1 + min(ranking.index(name) for name in wish.tools)
        sent = float(_chars([tools[name].found for name in ranking[:k]]))
        hits = {f"hit@{n}": float(first <= n) for n in (1, 3, 5)}
        rows.append({**hits, "mrr": 1 / first, "lost": float(not catalogue.fits(wish.query)), "sent": sent})
    means = mean(rows)
    shown = Shown("search", k, tuple(dict.fromkeys(tool.server for tool in tools.values())))
    whole, listed, sent = _chars([tool.raw for tool in tools.values()]), _chars([shown.find, shown.call]), means["sent"]
    chars = {"all": whole, "listed": listed, "found": sent, "share": (listed + sent) / whole}
    declined = sum(nothing) / len(nothing) if nothing else None
    figures = {key: value for key, value in means.items() if key != "sent"}
    return {**figures, "declined": declined, "definition_chars": chars}


def _chars(definitions: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(definitions, ensure_ascii=False, separators=(",", ":")))
