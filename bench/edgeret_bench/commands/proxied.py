"""`edgeret-bench lab mcp`: the proxy between MCP clients and servers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import add_examples, positive
from edgeret.errors import CheckFailedError
from edgeret.inputs.examples_file import read_examples
from edgeret.terminal.console import add_command, needing, table, warn


def add_commands(commands: Any) -> None:
    """Adds mcp."""
    mcp = add_command(
        commands,
        "mcp",
        "What edgeret mcp finds for people's requests, how much of all definitions it sends, what it adds to a call.",
        _mcp,
        _print,
    )
    mcp.add_argument("--config", required=True, metavar="FILE", help="the servers, as for edgeret mcp")
    mcp.add_argument(
        "--base", required=True, metavar="BUNDLE", help="the bundle whose encoder reads, as for edgeret mcp"
    )
    mcp.add_argument("--requests", required=True, metavar="R", help='JSONL of {"query", "tools", "part", "queries"?}')
    add_examples(mcp, "")
    mcp.add_argument("--part", choices=("seen", "unseen", "all"), default="all", help="default: %(default)s")
    mcp.add_argument(
        "-k", type=positive, default=5, metavar="N", help="tools that a search gives (default: %(default)s)"
    )
    mcp.add_argument(
        "--time", metavar="TOOL", help="also time calls of this tool, by the client's name, e.g. office__canteen_menu"
    )
    mcp.add_argument("--calls", type=positive, default=500, metavar="N", help="of it, each way (default: %(default)s)")


def _mcp(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with needing("mcp", "edgeret-bench lab mcp"):
        import anyio

        from edgeret.adapters.mcp.config import read_config
        from edgeret.adapters.mcp.look import seen
        from edgeret.adapters.mcp.upstream import Patience
        from edgeret.adapters.mcp.web import Access
        from edgeret_bench.accuracy.proxied import measure_search, read_wishes
        from edgeret_bench.speed.proxied import measure_calls

    config, base = Path(arguments.config), Path(arguments.base)
    wishes = read_wishes(Path(arguments.requests), arguments.part)
    examples = read_examples(arguments.examples, warn) if arguments.examples else {}
    servers = read_config(config, warn)
    upstreams = anyio.run(seen, servers, Patience(), Access(), warn)
    for upstream in upstreams:
        if upstream.failed:
            raise CheckFailedError(f"server {upstream.server.name} {upstream.problem}{upstream.detail}")
    tools = {name: tool for upstream in upstreams for name, tool in upstream.tools.items()}
    result = {
        "n_requests": len(wishes),
        "n_tools": len(tools),
        "n_servers": len(servers),
        "part": arguments.part,
        "k": arguments.k,
        **measure_search(wishes, tools, base, arguments.k, examples),
    }
    if arguments.time:
        if arguments.time not in tools:
            raise CheckFailedError(f"no server has the tool {arguments.time}; --time takes the name that a client uses")
        named = {server.name: server for server in servers}
        result["calls"] = measure_calls(config, named, tools[arguments.time], base, arguments.calls)
    return result


def _print(result: Mapping[str, Any]) -> str:
    chars = result["definition_chars"]
    ways = {"users' words": result} | {way: result[way] for way in ("queries", "both") if way in result}
    ways |= {"words, no examples": result["bare"]}
    named = {key: key for key in ("hit@1", "hit@3", "hit@5", "mrr")}
    named["lost"] = "told that nothing fits, where a tool does"
    if result["declined"] is not None:
        named["declined"] = "and where none does"
    rows: list[list[object]] = [[name, *(way.get(key, "") for way in ways.values())] for key, name in named.items()]
    more = [""] * (len(ways) - 1)
    rows.append(["definitions sent, of all", chars["share"], *more])
    for way, times in result.get("calls", {}).items():
        rows += [[f"{way} {key}", times[key], *more] for key in ("p50", "p99")]
    tools = f"{result['n_tools']} tools of {result['n_servers']} servers"
    told = f"{result['n_requests']} requests ({result['part']}), {tools}, k = {result['k']}"
    return f"{told}\n\n{table(rows, ('', *ways))}"
