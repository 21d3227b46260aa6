"""`edgeret mcp` as its client sees it: how often a search finds what a request needs, and how much of all definitions
is sent. Nothing was demonstrated or learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import edgeret
from edgeret.adapters.mcp.catalogue import Catalogue
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.mcp.toolbox import Shown
from edgeret.errors import InputError
from edgeret.inputs.jsonl import list_field, parse_objects, read_text
from edgeret.inputs.query import check_texts
from edgeret_bench.metrics import mean

PARTS = ("seen", "unseen")


@dataclass(frozen=True, slots=True)
class Wish:
    """A request in somebody's words, and the tools that would do, by the client's names; none where nothing fits.
    `queries` say what each needed tool should do, as a client's model would; none where nobody wrote them."""

    query: str
    tools: tuple[str, ...]
    part: str
    queries: tuple[str, ...] = ()


WAYS: Mapping[str, Callable[[Wish], tuple[str, ...]]] = {
    "words": lambda wish: (wish.query,),
    "queries": lambda wish: wish.queries,
    "both": lambda wish: check_texts((wish.query, *wish.queries)),
}
"""What is searched for of a wish."""


def read_wishes(path: Path, part: str) -> list[Wish]:
    """The requests of a file that belong to a part ("all": every one). Raises InputError."""
    found = []
    for where, entry in parse_objects(
        read_text(path, 'requests as JSONL {"query", "tools", "part", "queries"?}'), path
    ):
        query, tools, own = entry.get("query"), entry.get("tools"), entry.get("part", "seen")
        if not isinstance(query, str) or not isinstance(tools, list) or own not in PARTS:
            raise InputError(f'{where}: expected {{"query": text, "tools": [names], "part": "seen" or "unseen"}}')
        if part in ("all", own):
            found.append(Wish(query, tuple(tools), own, _queries(where, query, entry)))
    if not any(wish.tools for wish in found):
        raise InputError(f"{path}: no request of the part {part} in it that a tool fits")
    if 0 < (written := sum(bool(wish.queries) for wish in found)) < len(found):
        raise InputError(f'{path}: {written} of {len(found)} requests have "queries"; write them for all, or for none')
    return found


def _queries(where: str, query: str, entry: dict[str, Any]) -> tuple[str, ...]:
    """A request's queries, with room for its own words beside them. Raises InputError."""
    if "queries" not in entry:
        return ()
    queries = list_field(where, entry, "queries")
    try:
        check_texts([query, *queries])
        return check_texts(queries)
    except InputError as error:
        raise InputError(f'{where}: "queries": {error}') from None


def measure_search(
    wishes: Sequence[Wish],
    tools: Mapping[str, Definition],
    base: Path,
    k: int,
    examples: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> dict[str, Any]:
    """hit@1, 3 and 5 and MRR over all tools, of requests that one fits; how many of these are told that nothing fits
    (`lost`), and how many of the others (`declined`, None without any): of the users' words, and under `queries` and
    `both` of what was written for tools, alone and beside them. Tools show the requests that `examples` have by their
    names, else those that come with edgeret; `bare` is of the users' words where no tool shows any.

    Also characters of definitions as compact JSON: of all tools, of what mode `search` always lists, and of what a
    search of `k` gives on average. Raises InputError for tools that are not there."""
    if missing := sorted({name for wish in wishes for name in wish.tools} - set(tools)):
        raise InputError(f"requests need tools that no server has: {', '.join(missing[:5])}; start those servers too")
    catalogue = Catalogue(base, None, examples)
    while catalogue.update(tools):
        pass
    figures = _measured(catalogue, wishes, WAYS["words"], tools, k)
    shown = Shown("search", k, tuple(dict.fromkeys(tool.server for tool in tools.values())))
    whole, listed = _chars([tool.raw for tool in tools.values()]), _chars([shown.find, shown.call])
    sent = figures.pop("sent")
    chars = {"all": whole, "listed": listed, "found": sent, "share": (listed + sent) / whole}
    more: dict[str, Any] = {}
    if any(wish.queries for wish in wishes):
        for way in ("queries", "both"):
            more[way] = _measured(catalogue, wishes, WAYS[way], tools, k)
            del more[way]["sent"]
    return {**figures, **more, "bare": _bare(wishes, tools, base), "definition_chars": chars}


def _measured(
    catalogue: Catalogue,
    wishes: Sequence[Wish],
    way: Callable[[Wish], tuple[str, ...]],
    tools: Mapping[str, Definition],
    k: int,
) -> dict[str, Any]:
    """The figures of one way to search, and the characters that it sends."""
    rows = []
    nothing = [float(not catalogue.fits(way(wish))) for wish in wishes if not wish.tools]
    for wish in wishes:
        if not wish.tools:
            continue
        texts = way(wish)
        ranking = list(catalogue.rank(texts, len(tools)))
        sent = float(_chars([tools[name].found for name in ranking[:k]]))
        rows.append({**_hits(ranking, wish), "lost": float(not catalogue.fits(texts)), "sent": sent})
    return {**mean(rows), "declined": sum(nothing) / len(nothing) if nothing else None}


def _bare(wishes: Sequence[Wish], tools: Mapping[str, Definition], base: Path) -> dict[str, float]:
    """hit@1, 3 and 5 and MRR of the users' words, by the tools' definitions alone."""
    runtime = edgeret.from_tools([replace(tool.searched(), examples=()) for tool in tools.values()], base=base)
    rankings = ([hit.tool for hit in runtime.search(wish.query, len(tools))] for wish in wishes if wish.tools)
    fitting = (wish for wish in wishes if wish.tools)
    return mean([_hits(ranking, wish) for ranking, wish in zip(rankings, fitting, strict=True)])


def _hits(ranking: Sequence[str], wish: Wish) -> dict[str, float]:
    first = 1 + min(ranking.index(name) for name in wish.tools)
    return {**{f"hit@{n}": float(first <= n) for n in (1, 3, 5)}, "mrr": 1 / first}


def _chars(definitions: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(definitions, ensure_ascii=False, separators=(",", ":")))
