"""A bundle's tools are read one by one, with their first use; whatever is wrong with one is said then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS
from rewritten import rewrite

import edgeret
from edgeret.bundle.reader import open_bundle
from edgeret.cli.commands import main
from edgeret.errors import BundleError
from edgeret.types import Tool
from edgeret_export.reference.tool_set import load_tools, pack_tools

SPOILT: dict[str, tuple[dict[str, Any], str]] = {
    "a schema that is none": ({"parameters": 5}, '"parameters" must be a JSON Schema object'),
    "a schema too large": ({"parameters": {"x": "y" * 70_000}}, "more than 65536 bytes"),
    "no words": ({"description": " "}, '"description" is empty'),
    "hidden words": ({"description": "sends\u200b"}, "contains the invisible character"),
    "another name": ({"name": "format_disk"}, '"format_disk" stands where the index has "send_mail"'),
    "no name": ({"name": None}, '"name"'),
}


def spoil(folder: Path, line: bytes | None = None, **changes: Any) -> None:
    """One tool's line changed, and all hashes right again."""
    lines = (folder / "tools.json").read_bytes().split(b"\n")
    place = next(i for i, found in enumerate(lines) if b'"send_mail"' in found)
    entry = json.loads(lines[place].rstrip(b","))
    lines[place] = (json.dumps({**entry, **changes}).encode() if line is None else line) + b","
    rewrite(folder, {"tools.json": b"\n".join(lines)})


def test_tools_are_those_that_were_packed_in_their_order(tiny: Path) -> None:
    tools = load_tools(open_bundle(tiny))
    assert list(tools.values()) == list(TOOLS)
    assert list(tools) == [tool.name for tool in TOOLS]
    assert (len(tools), "send_mail" in tools, "format_disk" in tools) == (len(TOOLS), True, False)
    assert tools["send_mail"] is tools["send_mail"]
    with pytest.raises(KeyError):
        tools["format_disk"]


def test_the_file_is_json_with_a_line_for_every_tool() -> None:
    tools = [Tool("a", "one\nline"), Tool("b", "two", {"properties": {"x": {"description": "\u2028,\n"}}})]
    data = pack_tools(tools)
    assert [Tool(**entry) for entry in json.loads(data)] == tools
    assert data.count(b"\n") == len(tools) + 2


@pytest.mark.parametrize("case", SPOILT)
def test_a_forged_tool_is_refused(tiny: Path, case: str) -> None:
    changes, message = SPOILT[case]
    spoil(tiny, **changes)
    with pytest.raises(BundleError, match=message):
        load_tools(open_bundle(tiny))["send_mail"]
    with pytest.raises(BundleError, match=r"\(tools\): .*; build the bundle again"):
        edgeret.load(tiny)


@pytest.mark.parametrize("line", [b"{", b"[]", b"5", b'{"name": "send_mail"}', b"{}" * 5, b"\xff"])
def test_a_line_that_is_no_tool_is_refused_when_it_is_read(tiny: Path, line: bytes) -> None:
    spoil(tiny, line)
    tools = load_tools(open_bundle(tiny))
    with pytest.raises(BundleError):
        tools["send_mail"]


@pytest.mark.parametrize("change", [lambda d: d[2:], lambda d: d[:-1], lambda d: d.replace(b",\n", b",\n{},\n", 1)])
def test_a_file_without_a_line_for_every_tool_is_refused_at_once(tiny: Path, change: Any) -> None:
    rewrite(tiny, {"tools.json": change((tiny / "tools.json").read_bytes())})
    with pytest.raises(BundleError, match=r"an array with a line for every tool|7 lines for the 6 tools"):
        edgeret.load(tiny)


@pytest.mark.parametrize("command", ["verify", "doctor"])
def test_checking_commands_read_every_tool(tiny: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(tiny, parameters=5)
    assert main([command, str(tiny), "--json"]) == 1
    failed = [check["detail"] for check in json.loads(capsys.readouterr().out)["checks"] if not check["ok"]]
    assert len(failed) == 1
    assert "JSON Schema object" in failed[0]
