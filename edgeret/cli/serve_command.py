"""The commands `edgeret serve` and `edgeret pipe`: their options. What is done with them is elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgeret.adapters.serve.lines import answer_lines
from edgeret.adapters.serve.service import Changes, Service
from edgeret.cli.options import (
    add_base,
    add_examples,
    add_overlay_options,
    add_runtime_options,
    changes_in,
    chosen_key,
    chosen_overlay,
    from_files,
    load_runtime,
    positive,
    take_file_of_tools,
)
from edgeret.cli.store_command import store_in
from edgeret.cli.tokens import add_token_options, chosen_token
from edgeret.errors import EdgeretError, InputError
from edgeret.runtime.runtime import Runtime
from edgeret.store.generation import Switched
from edgeret.store.state import FILE
from edgeret.store.tool_changes import FILE as TOOLS
from edgeret.terminal.console import add_command, counts, needing, speaker, warn

TOKEN_VARIABLE = "EDGERET_SERVE_TOKEN"
LOOK_S = 1.0
"""Between two looks at a store for a switch that somebody else made."""
_SERVE = """\
Decides for programs in any language, over HTTP on this machine:

  edgeret serve bundle
  curl http://127.0.0.1:8090/v1/decide -H 'content-type: application/json' \\
    -d '{"query": "Mail the minutes to Ana", "calls": ["find_file"]}'

A browser shows all that can be asked at http://127.0.0.1:8090/, a program reads
it at /openapi.json. Answers are the objects of select, search and plan --json."""
_PIPE = """\
Decides for the program that starts it: one JSON object a line on standard input,
one a line on standard output, and nothing else there.

  {"do": "decide", "query": "Mail the minutes to Ana", "calls": ["find_file"]}

"do" is decide, search, plan, learn, tools or health; other fields are those of
edgeret serve. An "id" comes back with the answer. What cannot be answered has an
"error" there. It ends where its input ends."""


def add_serve_commands(commands: Any) -> None:
    """Adds `serve` and `pipe`."""
    told = "Decide for other programs, over HTTP on this machine."
    serve = add_command(commands, "serve", told, _serve, counts, about=_SERVE)
    place = serve.add_mutually_exclusive_group()
    place.add_argument("--port", type=_port, metavar="N", help="of this machine (default: 8090)")
    place.add_argument("--listen", metavar="HOST:PORT", help="or another address of it; others than this need a token")
    place.add_argument("--socket", metavar="PATH", help="or a socket file, which your user alone may open")
    add_token_options(serve, TOKEN_VARIABLE)
    told = "Decide for the program that starts it: a JSON object a line."
    pipe = add_command(commands, "pipe", told, _pipe, counts, about=_PIPE)
    for command in (serve, pipe):
        command.add_argument("bundle", nargs="?", metavar="BUNDLE", help="folder of the bundle")
        command.add_argument("--tools", action="append", metavar="T", help="no bundle: decide from these tools alone")
        command.add_argument(
            "--store", metavar="FOLDER", help="a store's active version, and what others activate there meanwhile"
        )
        add_base(command)
        add_examples(command)
        command.add_argument("--learn", action="store_true", help="let clients teach it (default: they may not)")
        command.add_argument("--read-only", action="store_true", help="do not let clients add and remove tools")
        command.add_argument("--log", metavar="FOLDER", help="log decisions there (default: nowhere); edgeret report")
        command.add_argument(
            "--log-words",
            action="store_true",
            help="with --log: clients' words too, without what is quoted, numbers, …",
        )
        add_runtime_options(command)
        add_overlay_options(command)


def _port(text: str) -> int:
    if (port := positive(text)) > 65535:
        raise argparse.ArgumentTypeError(f"must be at most 65535, found {port}")
    return port


def _serve(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with needing("serve", "edgeret serve"):
        from edgeret.adapters.serve import server

    listen = server.LISTEN if arguments.port is None else f"127.0.0.1:{arguments.port}"
    options = server.Options(
        listen=arguments.listen or listen,
        socket=Path(arguments.socket).absolute() if arguments.socket else None,
        token=chosen_token(arguments, TOKEN_VARIABLE),
        origins=arguments.allow_origin,
    )
    say = speaker("edgeret serve")
    return server.run(_service(arguments, say), options, say)


def _pipe(arguments: argparse.Namespace) -> Mapping[str, Any]:
    # Whatever else writes to standard output, our own code or a library's, must not stand between two answers.
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        service = _service(arguments, warn)
        try:
            return answer_lines(service, sys.stdin.buffer, out)
        finally:
            service.close()


def _service(arguments: argparse.Namespace, say: Callable[[str], None]) -> Service:
    """What the options ask for, warm. Raises EdgeretError."""
    take_file_of_tools(arguments)
    if sum(given is not None for given in (arguments.bundle, arguments.tools, arguments.store)) != 1:
        raise InputError(
            "give a bundle, or --tools T to decide from these tools alone, or --store FOLDER; one of these"
        )
    if arguments.store is not None:
        return _of_store(arguments, say)
    if arguments.tools is not None:
        runtime, path, changed = _from_tools(arguments), None, Changes()
    else:
        arguments.writes = arguments.learn or not arguments.read_only
        runtime, path = load_runtime(arguments), chosen_overlay(arguments)
        changed = changes_in(runtime, path, chosen_key(arguments))
    service = Service(runtime, learns=arguments.learn, changes=not arguments.read_only, overlay=path, changed=changed)
    service.warm()
    _watched(runtime, arguments)
    return service


def _of_store(arguments: argparse.Namespace, say: Callable[[str], None]) -> Service:
    """The same by the active version of a store, whichever that is from now on. Raises EdgeretError."""
    folder, overlay = Path(arguments.store), bool(arguments.overlay)
    if arguments.overlay not in (True, False):
        raise InputError(
            "--overlay goes with a bundle; a store keeps what is learned itself, --no-overlay keeps nothing"
        )
    if arguments.content_hash is not None or arguments.base is not None or arguments.examples is not None:
        raise InputError("--content-hash, --base and --examples go with one bundle or its tools, not with a store")
    if not (folder / FILE).is_file():
        raise InputError(f"{folder}: no store; make one by adding a bundle: edgeret store add {folder} BUNDLE")
    store = store_in(folder, arguments, overlay=overlay)
    service = Service(
        store, learns=arguments.learn, changes=not arguments.read_only, overlay=folder / TOOLS if overlay else None
    )
    service.warm()
    _watched(store.runtime, arguments)
    store.watch(LOOK_S, lambda found: say(_switched(found)))
    return service


def _switched(found: Switched | EdgeretError) -> str:
    if isinstance(found, EdgeretError):
        return f"goes on as before, the active version cannot be used here: {found}"
    return f"now decides {found.version.name}" + "".join(f"; {line}" for line in found.tools_left)


def _watched(runtime: Runtime, arguments: argparse.Namespace) -> None:
    """Logs what is decided, if that is asked for, and tells OpenTelemetry where that was set up before us."""
    if arguments.log_words and arguments.log is None:
        raise InputError("--log-words goes with --log FOLDER, where they are kept")
    if arguments.log is not None:
        runtime.log_to(arguments.log, words=arguments.log_words)
    if "opentelemetry" in sys.modules:  # as opentelemetry-instrument does
        from edgeret.adapters import otel

        otel.watch(runtime)


def _from_tools(arguments: argparse.Namespace) -> Runtime:
    if arguments.overlay is not True and arguments.overlay is not False:
        raise InputError("--overlay goes with a bundle; what comes after --tools ends with the process")
    return from_files(arguments, arguments.tools)
