"""Every format, by the name that `--from` says. A new one is a file in `formats` and a line here."""

from __future__ import annotations

from edgeret_export.transcripts.formats import (
    anthropic,
    bedrock,
    claude_code,
    codex,
    edgeret,
    gemini,
    glaive,
    langchain,
    mcp,
    openai_chat,
    openai_responses,
    otel,
    sharegpt,
    table,
    xlam,
)
from edgeret_export.transcripts.formats.base import Format

AUTO = "auto"
FORMATS: tuple[Format, ...] = (
    table.FORMAT,
    edgeret.FORMAT,
    mcp.FORMAT,
    otel.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    sharegpt.FORMAT,
    glaive.FORMAT,
    xlam.FORMAT,
    gemini.FORMAT,
    bedrock.FORMAT,
    langchain.FORMAT,
    openai_responses.FORMAT,
    anthropic.FORMAT,
    openai_chat.FORMAT,
)
"""The more particular ones first: where two fit as well, the one that fitted before is taken, then the first."""
NAMES = (*dict.fromkeys(each.name for each in reversed(FORMATS)), AUTO)


def formats_of(name: str) -> tuple[Format, ...]:
    """The formats that a name of `NAMES` stands for."""
    return FORMATS if name == AUTO else tuple(each for each in FORMATS if each.name == name)
