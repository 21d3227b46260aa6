"""Section 16.13 of docs/FORMAT.md for a second reader: who only asks, and what changes something. Knows nothing of
edgeret."""

from __future__ import annotations

import re
from typing import Any

from format_language import TOLD, Rules, listed
from format_words import in_words, stem


def only_asks(query: str, rules: Rules) -> bool:
    """Whether a query only asks."""
    asking = {key: rules.expression(TOLD[rules.code]["asking"][key]) for key in ("question", "state", "demand")}
    text = query[:400].strip()
    begins = [asking[key] for key in ("question", "state")]
    if asking["demand"].search(text) or not (set("?？") & set(text) or any(one.match(text) for one in begins)):
        return False
    for sentence in re.split(r"(?<=[.!?])\s+|(?<=[。！？])", text):
        if not sentence or any(one.match(sentence) for one in begins):
            continue
        words = rules.word.findall(sentence.lower())
        if not re.search("[?？][\"'”»)]*$", sentence) or not words or words[0] in rules.lists["verbs"]:
            return False
    return True


def changes(tool: dict[str, Any]) -> bool:
    """Whether a tool changes something."""
    told = TOLD["en"]["tools"]
    kinds = {stem(word): key == "changes" for key in ("tells", "changes") for word in listed(told[key])}
    own = in_words(tool["name"]).lower().split()
    said = [*own[:1], *tool["description"][:200].lower().split()[:6], *own[1:]]
    return next((kinds[s] for s in (stem(word.strip(".,:;()")) for word in said) if s in kinds), False)
