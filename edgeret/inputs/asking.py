"""How a request is put, whatever it is about: people ask an assistant much that no tool answers, and ask it otherwise.
By rule, English; where another language is written nothing is found, and nothing is said. Knows nothing of tools."""

from __future__ import annotations

import re

_QUESTION = re.compile(r"\W*(?:what|why|who|whom|whose|when|where|which|how)\b", re.IGNORECASE)
_KNOWLEDGE = re.compile(
    r"\b(?:why|explain|how\s+(?:do|does|did|is|are|can|to|come)|what(?:['’]s|\s+(?:is|are))|who\s+(?:is|was|are))\b"
)
_VALUE = re.compile('[0-9"“«]')
_NAME = re.compile("[a-z,;:] [A-Z]")


def asks_question(text: str) -> bool:
    """Whether a text begins with a question word."""
    return _QUESTION.match(text) is not None


def asks_for_knowledge(text: str) -> bool:
    """Whether a text asks how, why, what or who something is, anywhere in it."""
    # Looked for as letters first, in a tenth of the time: most requests have none of these.
    said = text.lower()
    return ("wh" in said or "how" in said or "explain" in said) and _KNOWLEDGE.search(said) is not None


def is_bare(text: str) -> bool:
    """Whether a text has no number, no quotation and no name: nothing that a tool's parameters could take."""
    return _VALUE.search(text) is None and (text[1:].islower() or _NAME.search(text) is None)
