"""What a model searches for, as it writes that: the user's own words, and what each needed tool should do. Knows no
message formats and no tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from edgeret import InputError
from edgeret.adapters.conversation import bounded
from edgeret.types import MOST_TEXTS

HOW = (
    "the user's own words (\"is mum's train late again\"), and for each tool that is needed what it should do "
    '("look up the delays of a train")'
)
"""What `queries` are, with one example of each kind. Measured, the second kind finds most: see docs/howto/mcp.md."""
PROPERTIES: Mapping[str, Any] = {
    "queries": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_TEXTS},
    "query": {"type": "string", "description": "One text, where there are no queries"},
}
"""Of a search's arguments, as JSON Schema. None is required: either will do."""
FORM = f'give {{"queries": [one to {MOST_TEXTS} texts]}}: {HOW}; or one text as "query"'


def asked(given: Any) -> list[str]:
    """The texts of a call, those of `query` and of `queries`; a list may be its JSON text, as many models write it.
    What they may be is checked where they are searched for. Raises InputError, in words for the model."""
    found = _texts(given)
    if not found:
        raise InputError(f"no words to search for; {FORM}")
    for text in found:
        if not isinstance(text, str) or not text.strip():
            kind = "an empty text" if isinstance(text, str) else "something that is no text"
            raise InputError(f"{kind} among the queries; {FORM}")
    return [text.encode(errors="replace").decode() for text in found]


def usable(given: Any) -> list[str]:
    """As many of them as can be searched for, where nothing can be explained."""
    texts = [bounded(text) for text in _texts(given) if isinstance(text, str) and text.strip()]
    return asked({"queries": texts[:MOST_TEXTS]}) if texts else []


def _texts(given: Any) -> list[Any]:
    """What was given as texts, whatever it is. Models fill what they do not use with null, "" or []."""
    if not isinstance(given, Mapping):
        return []
    query, queries = given.get("query"), _listed(given.get("queries"))
    return [*([] if query is None or (query == "" and queries) else [query]), *queries]


def _listed(queries: Any) -> list[Any]:
    if isinstance(queries, str) and queries.lstrip().startswith("["):
        try:
            queries = json.loads(queries)
        except (ValueError, RecursionError):
            return [queries]  # a text that happens to begin so
    if queries is None or queries == "":
        return []
    return queries if isinstance(queries, list) else [queries]
