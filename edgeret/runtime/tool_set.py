"""A bundle's tools: the file that lists them, written and read. Knows nothing of vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType

from edgeret.bundle import roles
from edgeret.bundle.codec import unpack_json
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError, InputError
from edgeret.inputs.tools import check_tools, parse_tool
from edgeret.types import Tool


def pack_tools(tools: Sequence[Tool]) -> bytes:
    """The file with the role `tools`, in the order given."""
    return json.dumps([asdict(tool) for tool in tools], ensure_ascii=False, separators=(",", ":")).encode()


def load_tools(bundle: Bundle) -> Mapping[str, Tool]:
    """The bundle's tools by name, in index order. Raises BundleError."""
    where = f"{bundle.path} ({roles.TOOLS})"
    entries = unpack_json(bundle.read(roles.TOOLS), where)
    if not isinstance(entries, list):
        raise BundleError(f"{where}: expected an array, found {type(entries).__name__}; build the bundle again")
    try:
        tools = check_tools([(where, parse_tool(entry, where)) for entry in entries], where)
    except InputError as error:
        raise BundleError(f"{error}; build the bundle again") from None
    return MappingProxyType({tool.name: tool for tool in tools})
