"""The command `edgeret learn`: what is learned on the device, listed, exported and forgotten. The work is elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgeret.cli.options import add_overlay_options, add_runtime_options, chosen_overlay, load_runtime
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import add_command, check_place, table, write_whole

AT_ONCE = 8
"""Demonstrations that are learned between two looks at the bar."""


def add_learn_command(commands: Any) -> None:
    """Adds `learn`."""
    learn = add_command(
        commands, "learn", "Learn from demonstrations on the device; list, export, forget.", _learn, _print, bundle=True
    )
    what = learn.add_mutually_exclusive_group(required=True)
    what.add_argument("--demos", action="append", metavar="D", help="learn these: JSONL; may be given several times")
    what.add_argument("--list", action="store_true", help="show what was learned")
    what.add_argument("--export", metavar="OUT.jsonl", help="write what was learned as demonstrations")
    what.add_argument("--forget", metavar="QUERY", help="forget what was learned from these words")
    what.add_argument("--forget-tool", metavar="NAME", help="forget plans that call this tool")
    what.add_argument("--forget-id", type=int, metavar="N", help="forget the plan that --list shows with this id")
    what.add_argument("--forget-all", action="store_true", help="forget everything that was learned")
    learn.add_argument(
        "--no-words", action="store_true", help="with --demos: keep vectors and names of tools, no queries"
    )
    add_runtime_options(learn)
    add_overlay_options(learn, writes=True)


def _learn(arguments: argparse.Namespace) -> Mapping[str, Any]:
    if arguments.no_words and not arguments.demos:
        raise InputError("--no-words goes with --demos: it says how demonstrations are kept")
    if arguments.export is not None:
        check_place(Path(arguments.export), "--export")
    arguments.writes = bool(arguments.demos)  # nothing is listed or forgotten of a file that is not there
    path = chosen_overlay(arguments)
    assert path is not None, "a command that writes has an overlay"
    with closing(load_runtime(arguments)) as runtime:
        done = _done(arguments, runtime, there=path.exists())
        stored = {key: value for key, value in runtime.learned.report().to_dict().items() if key != "learned"}
    size = path.stat().st_size if path.exists() else 0
    return {**done, **stored, "overlay": str(path), "overlay_bytes": size}


def _done(arguments: argparse.Namespace, runtime: Runtime, there: bool) -> dict[str, Any]:
    """What was asked for, done; `there`: whether there is an overlay, since nothing is forgotten of none."""
    if arguments.demos:
        return {"learned": _learned(arguments, runtime)}
    if arguments.list:
        return {"plans": [asdict(plan) for plan in runtime.learned.plans]}
    if arguments.export is not None:
        return _exported(runtime, Path(arguments.export))
    if not there:
        return {"forgotten": 0}
    gone = runtime.forget(
        arguments.forget, tool=arguments.forget_tool, id=arguments.forget_id, everything=arguments.forget_all
    )
    return {"forgotten": gone}


def _learned(arguments: argparse.Namespace, runtime: Runtime) -> int:
    found = [demo for file in arguments.demos for demo in read_demonstrations(file, tuple(runtime.tools))]
    parts = [found[i : i + AT_ONCE] for i in range(0, len(found), AT_ONCE)]
    for number, part in enumerate(parts, 1):
        runtime.learn(part, keep_words=not arguments.no_words)
        # A bar would need rich, which a device does not have.
        if len(parts) > 1 and sys.stderr.isatty():
            sys.stderr.write(
                f"\rlearned {min(number * AT_ONCE, len(found))} of {len(found)}" + "\n" * (part is parts[-1])
            )
    return len(found)


def _exported(runtime: Runtime, target: Path) -> dict[str, Any]:
    demonstrations = runtime.learned.demonstrations()
    lines = [
        json.dumps(
            {"id": demo.id, "query": demo.query, "calls": [{"tool": call.tool} for call in demo.calls]},
            ensure_ascii=False,
        )
        for demo in demonstrations
    ]
    write_whole(target, "".join(f"{line}\n" for line in lines), "--export")
    left_out = runtime.learned.count - len(demonstrations)
    return {"exported": len(demonstrations), "without_words": left_out, "file": str(target)}


def _print(result: Mapping[str, Any]) -> str:
    lines = []
    if "plans" in result:
        rows = [
            [
                plan["id"],
                _when(plan["learned_at"]),
                plan["origin"],
                plan["query"],
                ", ".join(plan["calls"]) or "(no tool)",
            ]
            for plan in result["plans"]
        ]
        lines += [table(rows, ("id", "learned at (UTC)", "origin", "query", "calls")), ""]
    if "exported" in result:
        left_out = f", {result['without_words']} left out, whose words were not kept" if result["without_words"] else ""
        lines.append(f"exported {result['exported']} plans to {result['file']}{left_out}")
    lines += [f"{what} {result[what]} plans" for what in ("learned", "forgotten") if what in result]
    lines.append(f"{result['status']} ({'used' if result['used'] else 'not used'} in decisions)")
    lines.append(f"kept in {result['overlay']}, {result['overlay_bytes']} bytes")
    return "\n".join(lines)


def _when(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "?"
