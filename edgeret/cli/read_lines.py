"""What a search read in its texts, for people: `search --trace`. Knows nothing of how it was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgeret.core.understood import LANGUAGES
from edgeret.quoting import few, quoted


def read_lines(texts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of what `Runtime.understood` tells of each text, as JSON-ready data."""
    return [line for one in texts for line in _lines(one)]


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    """What was read in a text, in lines."""
    asks = ", a question that changes nothing" if one["only_asks"] else ""
    parts = "".join(f"; {quoted(clause)}" for clause in one["clauses"])
    yield f"{quoted(one['text'])} is read as {LANGUAGES[one['language']]}{asks}{parts}"
    for kind, takers in one["values"].items():
        named = few(takers["first"]) or "none"
        yield f"  {kind}: {takers['tools']} tools take one, by their parameters' names: {named}"
    for near in one["examples"]:
        shared = f", shown by {near['shown_by']} tools, so it counts less" if near["shown_by"] > 1 else ""
        yield f"  example of {near['tool']}: {quoted(near['text'])}, cosine {near['cosine']:.2f}{shared}"
