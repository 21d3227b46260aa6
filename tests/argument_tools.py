"""Tools whose arguments tests read out of requests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from edgeret import Call, Runtime, Tool, from_tools
from edgeret.bundle import roles
from edgeret.bundle.reader import verify_bundle
from edgeret.runtime.bases import PACKAGED
from edgeret_export.reference.arguments.filling import fill
from edgeret_export.writer import writing

NOW = datetime(2026, 11, 26, 12)
TEXT = {"type": "string"}


def tool(name: str, description: str, required: Sequence[str] | None = None, /, **properties: Any) -> Tool:
    """A tool with these parameters, all of which a call must have unless `required` says which."""
    needed = list(properties) if required is None else list(required)
    return Tool(name, description, {"type": "object", "properties": properties, "required": needed})


EMAIL = {"type": "string", "format": "email", "description": "E-mail address."}
MAIL = tool("send_mail", "Sends an e-mail to an address.", to=EMAIL)
MESSAGE = tool(
    *("message_person", "Sends a message to a person.", None),
    person={"type": "string", "description": "Name of the person."},
    text={"type": "string", "description": "Text of the message."},
)
DAY = {"type": "string", "format": "date", "description": "Day on which it takes place."}
EVENT = tool("find_event", "Looks up an appointment. Returns the id of the event.", day=DAY)
CANCEL = tool(
    *("cancel_event", "Takes an appointment off the calendar.", None),
    event_id={"type": "string", "description": "Id of the event, from find_event."},
)
TIMER = tool("set_timer", "Sets a timer.", minutes={"type": "integer", "minimum": 1, "maximum": 600})
THEME = tool("set_theme", "Changes the look of the desktop.", mode={"type": "string", "enum": ["light", "dark"]})
FLAG = tool("switch_flag", "Switches a flag.", on={"type": "boolean", "description": "True for on."})
ALL = {one.name: one for one in (MAIL, MESSAGE, EVENT, CANCEL, TIMER, THEME, FLAG)}


@cache
def _without_head() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="edgeret-rules-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    manifest = verify_bundle(PACKAGED)
    with writing(folder / "base") as writer:
        for entry in manifest.files:
            if entry.role != roles.ARGUMENTS:
                writer.add_file(entry.name, entry.role, PACKAGED / entry.name, entry.licence, entry.source)
        writer.finish(dict(manifest.info))
    return folder / "base"


def by_rules(tools: Sequence[Tool]) -> Runtime:
    """A runtime of these tools alone, whose arguments rules read without a head."""
    return from_tools(tools, base=_without_head())


def same_by_both(runtime: Runtime, name: str, query: str, now: datetime | None = None) -> dict[str, Any]:
    """What a request gives a tool of a bundle without a head, by name: alike by the library and by Python."""
    found = runtime.task(query, now=now).arguments(name)
    assert found == fill(runtime.tools[name], query, (), runtime.tools, now)
    return {parameter: one.value for parameter, one in found.given.items()}


def read(of: Tool, query: str, calls: Sequence[Call] = (), now: datetime | None = None) -> dict[str, Any]:
    """What a request and the calls before it give, by name."""
    tools = ALL | {of.name: of}
    found = fill(of, query, calls, tools, now)
    core = by_rules(list(tools.values())).loaded.core
    assert core is not None
    assert core.begin(query, None).arguments(of.name, calls, now, True) == found
    return {name: one.value for name, one in found.given.items()}
