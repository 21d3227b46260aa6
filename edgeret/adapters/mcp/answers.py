"""Results of the proxy's own tools, in the protocol's form."""

from __future__ import annotations

from typing import Any


def text(words: str) -> dict[str, Any]:
    """A content part of text."""
    return {"type": "text", "text": words}


def failed(words: str) -> dict[str, Any]:
    """A result that says what went wrong, and that it is edgeret that says so."""
    return {"content": [text(f"edgeret: {words}")], "isError": True}
