"""The command `edgeret mcp`: its options, and what it prints where it serves nobody. The work is elsewhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import (
    add_base,
    add_examples,
    add_overlay_key,
    add_trust,
    base_options,
    chosen_base,
    learned_path,
    positive,
)
from edgeret.errors import InputError
from edgeret.inputs.examples_file import read_examples
from edgeret.runtime.loading import load
from edgeret.terminal.console import add_command, needing, table, warn

NAMES = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf")
K, START_S, CALL_S = 5, 30, 300


def add_mcp_command(commands: Any) -> None:
    """Adds `mcp`, with `mcp install` and `mcp uninstall`."""
    mcp = add_command(
        commands,
        "mcp",
        "Stand between an MCP client and its servers, on standard input and output: show the tools that a request "
        "needs, pass calls through.",
        _mcp,
        _print,
    )
    mcp.add_argument(
        "--config",
        metavar="FILE",
        help='the servers, as any MCP client writes them: {"mcpServers": …}, VS Code\'s "servers", Codex\' TOML, … '
        "(needed, but for install and uninstall)",
    )
    _add_serving(mcp)
    mcp.add_argument(
        "--accept", metavar="SERVER[/TOOL]", help="with --pins: pin the definitions as they are now, and end"
    )
    mcp.add_argument(
        "--login", metavar="SERVER", help="log in at a server that asks for it, in a browser, keep that, and end"
    )
    mcp.add_argument(
        "--check", action="store_true", help="start all servers, show how each is reached and its tools, and end"
    )
    inner = mcp.add_subparsers(metavar="install|uninstall", help="put the proxy into a client's file, or take it out")
    install = add_command(
        inner,
        "install",
        "Put the proxy in the place of a client's servers, in the client's own file: they move to a file beside it, "
        "NAME.edgeret.json, which the proxy serves with the options given here. A copy of the file is kept.",
        _install,
        _print_installed,
    )
    _add_client(install)
    install.add_argument(
        "--config", metavar="FILE", help="serve these servers, and leave those of the client's file where they are"
    )
    _add_serving(install)
    _add_client(
        add_command(
            inner,
            "uninstall",
            "Put a client's servers back into its file as they were, and take the proxy out.",
            _uninstall,
            _print_uninstalled,
        )
    )


def _add_client(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", choices=NAMES, metavar="CLIENT", type=_client, help=", ".join(NAMES))
    parser.add_argument("--file", metavar="FILE", help="the client's file (default: its user's own)")


def _client(text: str) -> str:
    return text.lower().replace("_", "-").replace(" ", "-").replace("vs-code", "vscode")


def _add_serving(mcp: argparse.ArgumentParser) -> None:
    """Adds what a proxy that serves is told."""
    add_base(mcp)
    add_trust(mcp)
    add_overlay_key(mcp)
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
        default=K,
        metavar="N",
        help="tools that a search gives, and trim lists (default: %(default)s)",
    )
    mcp.add_argument(
        "--max-result",
        type=positive,
        metavar="BYTES",
        help="pass on so much of a result's text, and keep the rest for a third tool, read_more (default: all of it)",
    )
    mcp.add_argument("--learn", action="store_true", help="learn on this device which tool met which search")
    mcp.add_argument(
        "--overlay",
        metavar="FILE",
        help="where that is kept, and read without --learn too (with --learn: BUNDLE.mcp.overlay beside --base, or in "
        "~/.edgeret)",
    )
    add_examples(mcp, "")
    mcp.add_argument(
        "--pins", metavar="FILE", help="keep hashes of all definitions; withhold a tool whose definition changed"
    )
    mcp.add_argument(
        "--ca", metavar="FILE", help="certificates of authorities that servers over HTTPS may have as well"
    )
    mcp.add_argument("--metrics", metavar="HOST:PORT", help="where Prometheus may ask for /metrics (default: nowhere)")
    mcp.add_argument(
        "--start-timeout",
        type=positive,
        default=START_S,
        metavar="S",
        help="seconds that a server has to start (default: %(default)s)",
    )
    mcp.add_argument(
        "--call-timeout",
        type=positive,
        default=CALL_S,
        metavar="S",
        help="seconds that a call may take (default: %(default)s)",
    )


def _mcp(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with needing("mcp", "edgeret mcp"):
        from edgeret.adapters.mcp.config import read_config
        from edgeret.adapters.mcp.logins import Logins, logins_path
        from edgeret.adapters.mcp.look import accept, login, look
        from edgeret.adapters.mcp.serve import Options, serve
        from edgeret.adapters.mcp.upstream import Patience
        from edgeret.adapters.mcp.web import Access, check_access

    if arguments.config is None:
        raise InputError("--config FILE names the servers; give it, or see: edgeret mcp install --help")
    servers = read_config(arguments.config, warn)
    patience = Patience(float(arguments.start_timeout), float(arguments.call_timeout))
    access = Access(Path(arguments.ca) if arguments.ca else None, Logins(logins_path()).auth)
    check_access(access)
    pins = Path(arguments.pins) if arguments.pins else None
    examples = read_examples(arguments.examples, warn) if arguments.examples else {}
    if arguments.accept:
        if pins is None:
            raise InputError("--accept pins definitions in a file; name it with --pins")
        return {"accepted": accept(servers, pins, arguments.accept, patience, access, warn)}
    if arguments.login:
        tools, asked = login(servers, arguments.login, patience, access, logins_path(), warn)
        return {"server": arguments.login, "tools": tools, "kept": str(logins_path()) if asked else None}
    if arguments.check:
        found, searched = look(servers, pins, patience, access, warn, examples)
        if any(tool.examples for tool in searched):
            for line in load(chosen_base(arguments), trust=arguments.trust).odd_examples(searched):
                warn(line)
        return {"ok": not any(entry["problem"] or entry["withheld"] for entry in found), "servers": found}
    base = chosen_base(arguments)
    overlay = Path(arguments.overlay) if arguments.overlay else learned_path(base, "mcp") if arguments.learn else None
    options = Options(
        *(base, arguments.mode, arguments.k, arguments.learn, overlay, pins, patience, access, arguments.max_result),
        *(examples, arguments.metrics, base_options(arguments)),
    )
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
        [
            *(entry["server"], entry["tools"], entry["tools"] - entry["examples"]["none"]),
            *(len(entry["withheld"]), entry["reached"], entry["problem"] or "fine"),
        ]
        for entry in result["servers"]
    ]
    return table(rows, ("server", "tools", "with examples", "withheld", "reached by", ""))


def _install(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret.adapters.mcp.clients import CLIENTS
    from edgeret.adapters.mcp.install import install

    _check_order(arguments)
    client = CLIENTS[arguments.client]
    base = [] if arguments.base is None else ["--base", str(chosen_base(arguments).resolve())]
    options = _serving(arguments)

    def words(config: Path) -> list[str]:
        return [*_program(), "mcp", "--config", str(config), *base, *options]

    file = Path(arguments.file) if arguments.file else client.file()
    done = install(client, file, words, Path(arguments.config) if arguments.config else None, warn)
    return {**done, "command": words(Path(done["config"]))}


def _uninstall(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret.adapters.mcp.clients import CLIENTS
    from edgeret.adapters.mcp.install import uninstall

    _check_order(arguments)
    client = CLIENTS[arguments.client]
    return uninstall(client, Path(arguments.file) if arguments.file else client.file())


def _check_order(arguments: argparse.Namespace) -> None:
    """Options before `install` would be taken for those of the proxy itself, and be lost. Raises InputError."""
    if arguments.argv[1] not in ("install", "uninstall"):
        raise InputError("write options behind the command: edgeret mcp install CLIENT …")


def _program() -> list[str]:
    """This program as a client can start it, wherever the client is started."""
    script = Path(sys.argv[0])
    if script.stem == "edgeret" and script.is_file():
        return [str(script.absolute())]
    return [sys.executable, "-m", "edgeret"]


def _serving(arguments: argparse.Namespace) -> list[str]:
    """The options that were given, for the proxy that the client starts; files by their absolute paths."""
    found = ["--learn"] if arguments.learn else []
    files = (
        *(("--overlay", arguments.overlay), ("--examples", arguments.examples)),
        *(("--pins", arguments.pins), ("--ca", arguments.ca), ("--overlay-key", arguments.overlay_key)),
        *(("--trust", key) for key in arguments.trust or ()),
    )
    for option, value in files:
        found += [option, str(Path(value).absolute())] if value else []
    plain = (
        ("--mode", arguments.mode, "search"),
        ("-k", arguments.k, K),
        ("--max-result", arguments.max_result, None),
        ("--metrics", arguments.metrics, None),
        ("--start-timeout", arguments.start_timeout, START_S),
        ("--call-timeout", arguments.call_timeout, CALL_S),
    )
    return [*found, *(word for option, value, default in plain if value != default for word in (option, str(value)))]


def _print_installed(result: Mapping[str, Any]) -> str:
    client, file, beside = result["client"], result["file"], ", ".join(result["beside"])
    if not result["changed"]:
        lines = [f'{client} has the proxy already, as "{result["entry"]}" in {file}: nothing was changed']
        return "\n".join([*lines, *([f"beside it stand: {beside}"] if beside else [])])
    lines = [f'{client} starts the proxy now, as "{result["entry"]}" in {file}']
    lines += [f"moved to {result['config']}: {', '.join(result['servers'])}"] if result["servers"] else []
    lines += [f"left beside it: {beside}"] if beside else []
    lines += [f"the file as it was: {result['copy']}"] if result["copy"] else []
    return "\n".join([*lines, f"see that all servers start: edgeret mcp --config {result['config']} --check"])


def _print_uninstalled(result: Mapping[str, Any]) -> str:
    client, file = result["client"], result["file"]
    if not result["changed"]:
        return f"{client} does not have the proxy in {file}: nothing was changed"
    lines = [f"{client} has its own servers again, in {file}: {', '.join(result['servers']) or 'none'}"]
    lines += [f"the file as it was before the proxy came: {result['copy']}"] if result["copy"] else []
    return "\n".join(lines)
