"""What text stands for a tool when it is embedded. The choice is part of a bundle, since it changes every vector."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from edgeret.errors import InputError
from edgeret.types import Tool

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def name_in_words(name: str) -> str:
    """`send_sms` and `sendSms` as "send sms" and "send Sms": encoders know words, not identifiers."""
    return _CAMEL.sub(" ", name.replace("_", " ").replace("-", " ").replace(".", " ")).strip()


USUAL = "name+description"
"""Where a bundle does not tell how its tools were read."""
FORMS: Mapping[str, Callable[[Tool], str]] = {
    # Of nine forms tried on three tool sets this one found most (docs/decisions); the bar beats a colon.
    "name+description": lambda tool: f"{name_in_words(tool.name)} | {tool.description}",
    # What the papers embed, and so what their figures are compared with.
    "description": lambda tool: tool.description,
}


def tool_text(tool: Tool, form: str) -> str:
    """The text of `tool` in one of FORMS. Raises InputError for another form."""
    if form not in FORMS:
        raise InputError(f"unknown tool text '{form}'; choose one of: {', '.join(FORMS)}")
    return FORMS[form](tool)
