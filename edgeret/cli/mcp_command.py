"""The command `edgeret mcp`: its options, and what it prints where it serves nobody. The work is elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.bundle.overlay_file import overlay_path
from edgeret.cli.console import add_command, table, warn
from edgeret.cli.options import add_base, chosen_base, positive
from edgeret.errors import InputError, MissingExtraError


def add_mcp_command(commands: Any) -> None:
    """Adds `mcp`."""
    mcp = add_command(
        commands,
        "mcp",
        "Stand between an MCP client and its servers, on standard input and output: show the tools that a request "
        "needs, pass calls through.",
        _mcp,
        _print,
    )
    mcp.add_argument(
        "--config", required=True, metavar="FILE", help='the servers, as MCP clients write them: {"mcpServers": …}'
    )
    add_base(mcp)
    mcp.add_argument(
        "--mode",
        choices=("search", "trim"),
        default="search",
        help="list two tools, one that finds tools and one that calls them (search, default), or the one that finds "
        "and the -k most probable ones, others as a request goes on (trim; for clients that read the list again)",
    )
    mcp.add_argument(
        "-k",
        type=positive,
        default=5,
        metavar="N",
        help="tools that a search gives, and trim lists (default: %(default)s)",
    )
    mcp.add_argument("--learn", action="store_true", help="learn on this device which tool met which search")
    mcp.add_argument(
        "--overlay",
        metavar="FILE",
        help="where that is kept, and read without --learn too (with --learn: BUNDLE.overlay)",
    )
    mcp.add_argument(
        "--pins", metavar="FILE", help="keep hashes of all definitions; withhold a tool whose definition changed"
    )
    mcp.add_argument(
        "--accept", metavar="SERVER[/TOOL]", help="with --pins: pin the definitions as they are now, and end"
    )
    _add_web(mcp)
    mcp.add_argument("--check", action="store_true", help="start all servers, show how many tools each has, and end")
    mcp.add_argument(
        "--start-timeout",
        type=positive,
        default=30,
        metavar="S",
        help="seconds that a server has to start (default: %(default)s)",
    )
    mcp.add_argument(
        "--call-timeout",
        type=positive,
        default=300,
        metavar="S",
        help="seconds that a call may take (default: %(default)s)",
    )


def _add_web(mcp: argparse.ArgumentParser) -> None:
    """Options for servers over HTTP."""
    mcp.add_argument(
        "--ca", metavar="FILE", help="certificates of authorities that servers over HTTPS may have as well"
    )
    mcp.add_argument(
        "--login", metavar="SERVER", help="log in at a server that asks for it, in a browser, keep that, and end"
    )


def _mcp(arguments: argparse.Namespace) -> Mapping[str, Any]:
    try:
        from edgeret.adapters.mcp.config import read_config
        from edgeret.adapters.mcp.logins import Logins, logins_path
        from edgeret.adapters.mcp.look import accept, login, look
        from edgeret.adapters.mcp.serve import Options, serve
        from edgeret.adapters.mcp.upstream import Patience
        from edgeret.adapters.mcp.web import Access, check_access
    except ModuleNotFoundError as error:
        raise MissingExtraError("mcp", f"edgeret mcp (it needs the module {error.name})") from None

    servers = read_config(arguments.config, warn)
    patience = Patience(float(arguments.start_timeout), float(arguments.call_timeout))
    access = Access(Path(arguments.ca) if arguments.ca else None, Logins(logins_path()).auth)
    check_access(access)
    pins = Path(arguments.pins) if arguments.pins else None
    if arguments.accept:
        if pins is None:
            raise InputError("--accept pins definitions in a file; name it with --pins")
        return {"accepted": accept(servers, pins, arguments.accept, patience, access, warn)}
    if arguments.login:
        tools, asked = login(servers, arguments.login, patience, access, logins_path(), warn)
        return {"server": arguments.login, "tools": tools, "kept": str(logins_path()) if asked else None}
    if arguments.check:
        found = look(servers, pins, patience, access, warn)
        return {"ok": not any(entry["problem"] or entry["withheld"] for entry in found), "servers": found}
    base = chosen_base(arguments)
    overlay = Path(arguments.overlay) if arguments.overlay else overlay_path(base) if arguments.learn else None
    options = Options(base, arguments.mode, arguments.k, arguments.learn, overlay, pins, patience, access)
    signalled = serve(servers, options, warn)
    # Nothing is printed: until the client was gone, standard output was the protocol's.
    raise SystemExit(143 if signalled else 0)


def _print(result: Mapping[str, Any]) -> str:
    if "kept" in result:
        did = f"logged in, kept in {result['kept']}" if result["kept"] else "it asked for no login"
        return f"{result['server']}: {did}; {result['tools']} tools"
    if "accepted" in result:
        return "accepted: " + (", ".join(result["accepted"]) or "nothing that was not accepted before")
    rows = [
        [entry["server"], entry["tools"], len(entry["withheld"]), entry["problem"] or "fine"]
        for entry in result["servers"]
    ]
    return table(rows, ("server", "tools", "withheld", ""))
