"""The command `diff`: its options and what it prints. The work is `diff`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from edgeret import load
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.terminal.console import add_command, table


def add_diff(commands: Any) -> None:
    """Adds the command."""
    diff = add_command(commands, "diff", "What changed from one bundle to another.", _diff, _print)
    diff.add_argument("before", metavar="A", help="folder of the older bundle")
    diff.add_argument("after", metavar="B", help="folder of the newer one")
    diff.add_argument(
        "--demos",
        metavar="D",
        help="let both decide these demonstrations, step by step: accuracy, and what is now decided otherwise",
    )
    diff.add_argument(
        "--query",
        action="append",
        default=[],
        metavar="WORDS",
        help="tell both first decisions; may be given several times",
    )


def _diff(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.diff import compare

    before, after = load(arguments.before), load(arguments.after)
    known = {*before.tools, *after.tools}
    demonstrations = [] if arguments.demos is None else read_demonstrations(arguments.demos, known)
    return {"bundles": [arguments.before, arguments.after], **compare(before, after, demonstrations, arguments.query)}


def _print(result: Mapping[str, Any]) -> str:
    hashes = result["content_hash"]
    if hashes[0] == hashes[1]:
        return f"the same bundle twice: {hashes[0]}"
    lines = [f"bundles    {' → '.join(result['bundles'])}", f"hashes     {' → '.join(each[:12] for each in hashes)}"]
    lines += [*_tools(result["tools"]), *_vectors(result["vectors"])]
    for name, changes in result["info"].items():
        lines += [f"{name:<10} {key}: {_told(old)} → {_told(new)}" for key, (old, new) in changes.items()]
    lines += [
        f"file       {role}: {_megabytes(old)} → {_megabytes(new)}" for role, (old, new) in result["files"].items()
    ]
    if decisions := result["decisions"]:
        old, new = decisions["top1"]
        lines += [
            f"decisions  {decisions['steps']}: right {old:.3f} → {new:.3f}, the same {100 * decisions['same']:.1f} %; "
            f"only A right {decisions['only_before_right']}, only B right {decisions['only_after_right']}",
            *(f"           otherwise: {query}" for query in decisions["examples"]),
        ]
    if queries := result["queries"]:
        rows = [[each["query"], *_first(each, 0), *_first(each, 1), each["moved"]] for each in queries]
        lines += ["", table(rows, ("query", "A", "p", "B", "p", "moved"))]
    return "\n".join(lines)


def _tools(tools: Mapping[str, Any]) -> list[str]:
    changed = [
        f"{each['name']} ({', '.join([*(['description'] if each['description'] else []), *each['parameters']])})"
        for each in tools["changed"]
    ]
    named = {"added": tools["added"], "removed": tools["removed"], "changed": changed}
    return [f"tools      {len(names)} {what}: {_listed(names)}" for what, names in named.items() if names]


def _vectors(vectors: Mapping[str, Any] | None) -> list[str]:
    if vectors is None:
        return []
    kept = f"{100 * vectors['neighbours_kept']:.1f} % of each tool's nearest tools are the same"
    cosine = vectors["cosine"]
    moved = "other encoders" if cosine is None else f"cosine {cosine['mean']:.4f}, least {cosine['least']:.4f}"
    lines = [f"vectors    of {vectors['tools']} tools: {moved}; {kept}"]
    if most := vectors["most_moved"]:
        lines.append(f"           most moved: {_listed([f'{name} {value:.3f}' for name, value in most.items()])}")
    return lines


def _listed(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more (--json)" if len(names) > most else "")


def _told(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _megabytes(size: int | None) -> str:
    return "nothing" if size is None else f"{size / 1e6:.3f} MB"


def _first(asked: Mapping[str, Any], side: int) -> tuple[str, float]:
    return asked["tools"][side], asked["probabilities"][side]
