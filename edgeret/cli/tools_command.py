"""The command `edgeret tools`: tools that come and go without a build, kept in an overlay. The work is elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from edgeret.adapters.serve.service import altered, listed
from edgeret.cli.options import (
    add_examples,
    add_overlay_options,
    add_runtime_options,
    changes_in,
    chosen_key,
    chosen_overlay,
    load_runtime,
    read_shown,
)
from edgeret.errors import InputError
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import add_command, table, warn
from edgeret.types import Tool

SHOWN_CHARS = 60
"""Of a description, for people."""


def add_tools_command(commands: Any) -> None:
    """Adds `tools` with list, add and remove."""
    told = "List tools, add and remove them, without a build."
    actions = commands.add_parser("tools", help=told, description=told).add_subparsers(required=True, metavar="ACTION")
    listed = add_command(actions, "list", "List the tools, and which of them changed.", _list, _print_list, bundle=True)
    added = add_command(actions, "add", "Add tools to those of a bundle.", _add, _print_change, bundle=True)
    added.add_argument(
        "files",
        nargs="+",
        metavar="TOOLS",
        help="tools: JSONL, or a list as OpenAI, Anthropic, Gemini, Bedrock or MCP write it",
    )
    added.add_argument("--replace", action="store_true", help="replace tools that are there already")
    add_examples(added, "")
    removed = add_command(
        actions, "remove", "Remove tools from those of a bundle.", _remove, _print_change, bundle=True
    )
    removed.add_argument("names", nargs="+", metavar="NAME", help="a tool to remove")
    for command in (listed, added, removed):
        add_runtime_options(command)
        add_overlay_options(command, writes=command is not listed)


def _list(arguments: argparse.Namespace) -> Mapping[str, Any]:
    runtime, path = load_runtime(arguments), chosen_overlay(arguments)
    return listed(runtime, changes_in(runtime, path, chosen_key(arguments)), path)


def _print_list(result: Mapping[str, Any]) -> str:
    rows = [[tool["name"], tool["source"], _short(tool["description"])] for tool in result["tools"]]
    text = table(rows, ("tool", "from", "description"))
    return f"{text}\n\nremoved: {', '.join(result['removed'])}" if result["removed"] else text


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


def _add(arguments: argparse.Namespace) -> Mapping[str, Any]:
    tools = read_shown(arguments, arguments.files)
    arguments.examples = None  # of these files, and not of the bundle
    with closing(load_runtime(arguments)) as runtime:
        for line in runtime.odd_examples(tools):
            warn(line)
        there = [tool for tool in tools if runtime.tools.get(tool.name, tool) != tool]
        if there and not arguments.replace:
            raise InputError(
                f"{len(there)} of {len(tools)} tools are there already and differ, the first is {there[0].name}; "
                "replace them with --replace"
            )
        fresh = [tool for tool in tools if tool.name not in runtime.tools]
        return _changed(arguments, runtime, fresh, (), there)


def _remove(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with closing(load_runtime(arguments)) as runtime:
        return _changed(arguments, runtime, (), list(dict.fromkeys(arguments.names)), ())


def _changed(
    arguments: argparse.Namespace, runtime: Runtime, add: Sequence[Tool], remove: Sequence[str], replace: Sequence[Tool]
) -> Mapping[str, Any]:
    after = runtime.with_tools(add=add, remove=remove, replace=replace, keep=True)
    path = chosen_overlay(arguments)
    assert path is not None, "a command that writes has an overlay"
    return altered(after, add, remove, replace, path)


def _print_change(result: Mapping[str, Any]) -> str:
    done = [f"{kind}: {', '.join(result[kind])}" for kind in ("added", "removed", "replaced") if result[kind]]
    if not done:
        return f"nothing to do: all are there as they are; {result['tools']} tools"
    kept = f"{result['tools']} tools now; kept in {result['overlay']}, {result['overlay_bytes']} bytes"
    return "\n".join([*done, kept])
