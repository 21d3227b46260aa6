"""The command `check`: its options and what it prints. The work is `check`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import load
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.queries import read_texts
from edgeret.terminal.console import add_command, check_place, table, write_whole
from edgeret_export.check_budget import SHARES, read_budget

MOST_TOLD = 10
"""Requests that a person is shown of each measure that fell."""
VERDICTS = {"ok": "ok", "fell": "FELL", "unsure": "unsure"}


def add_check(commands: Any) -> None:
    """Adds the command."""
    check = add_command(
        commands, "check", "Whether a newer bundle may take an older one's place: a gate for releases.", _check, _print
    )
    check.add_argument("new", metavar="NEW", help="folder of the newer bundle")
    check.add_argument("--against", required=True, metavar="OLD", help="folder of the older one")
    check.add_argument("--demos", metavar="D", help="demonstrations that neither was built from: JSONL")
    check.add_argument("--nothing", metavar="N", help="requests that no tool fits: plain lines, or JSONL with a query")
    check.add_argument(
        "--must",
        metavar="FILE",
        help='requests that must be decided so: {"query", "calls", "tool": name or null} a line',
    )
    check.add_argument(
        "--budget", metavar="FILE.toml", help="the most that may be lost of each; see docs/howto/release.md"
    )
    check.add_argument("--html", metavar="FILE", help="draw it too")


def _check(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.check import check
    from edgeret_export.check_requests import read_must

    budget = read_budget(arguments.budget)
    nothing = [] if arguments.nothing is None else read_texts(arguments.nothing)
    if arguments.html is not None:
        check_place(Path(arguments.html), "--html")
    before, after = load(arguments.against), load(arguments.new)
    known = {*before.tools, *after.tools}
    demonstrations = [] if arguments.demos is None else read_demonstrations(arguments.demos, known)
    must = [] if arguments.must is None else read_must(arguments.must, known)
    found = {"bundles": [arguments.against, arguments.new]}
    found |= check(before, after, demonstrations, nothing, must, budget)
    if arguments.html is not None:
        found["html"] = arguments.html
        _draw(found, Path(arguments.html))
    return found


def _draw(result: Mapping[str, Any], target: Path) -> None:
    from edgeret.cli.pages import render

    page = render(
        "check.html",
        extra="html",
        needed_for="check --html",
        package="edgeret_export",
        result=result,
        verdict=_verdict(result),
        header=_HEADER,
        rows=[(row["verdict"], _cells(row)) for row in result["measures"]],
        changed=[row for row in result["measures"] if row["changed"]],
    )
    write_whole(target, page, "--html")


_HEADER = ("what", "of", "old", "new", "loss", "95 % sure", "allowed", "")


def _print(result: Mapping[str, Any]) -> str:
    lines = [
        f"bundles  {' → '.join(result['bundles'])}",
        f"hashes   {' → '.join(each[:12] for each in result['content_hash'])}",
        "",
        table([_cells(row) for row in result["measures"]], _HEADER),
    ]
    if new := result["only_new"]:
        lines += ["", f"new      {new['decisions']} decisions with tools that only it has: {new['right']:.3f} right"]
    lines += ["", *(f"not      checked: {what}" for what in result["unchecked"]), ""]
    for row in result["measures"]:
        if row["verdict"] == "fell" and row["changed"]:
            lines += [f"{row['told']}, {row['lost']} lost, {row['gained']} gained:", *_listed(row["changed"]), ""]
    if "html" in result:
        lines.append(f"picture  {result['html']}")
    return "\n".join([*lines, _verdict(result)])


def _verdict(result: Mapping[str, Any]) -> str:
    told = {row["name"]: row["told"] for row in result["measures"]}
    if result["fell"]:
        return f"FELL     {', '.join(told[name] for name in result['fell'])}"
    unsure = ", ".join(told[name] for name in result["unsure"])
    if not result["ok"]:
        return f"FELL     not sure of {unsure}, and the budget says that this is to fail"
    return "ok" + (f", but too few requests to be sure of: {unsure}" if unsure else "")


def _cells(row: Mapping[str, Any]) -> list[str]:
    """A measure for people: shares with three digits, losses in points."""
    verdict = VERDICTS[row["verdict"]]
    if row["name"] in SHARES:
        of = f"{row['requests']} requests" + (
            f", {row['decisions']} steps" if row["decisions"] > row["requests"] else ""
        )
        sure = f"{_points(row['shown'])} to {_points(row['at_most'])}"
        allowed = f"{100 * row['allowed']:.1f}"
        return [row["told"], of, f"{row['old']:.3f}", f"{row['new']:.3f}", _points(row["loss"]), sure, allowed, verdict]
    if row["name"] == "must":
        lost = f"{row['loss']} not so"
        return [
            row["told"],
            str(row["requests"]),
            str(row["old"]),
            str(row["new"]),
            lost,
            "",
            str(row["allowed"]),
            verdict,
        ]
    unit, of, sure = "MB", "", ""
    if row["name"] == "latency":
        unit, of, sure = "ms", f"{row['requests']} requests", f"× {row['shown']:.2f} to {row['at_most']:.2f}"
    old, new = f"{row['old']:.2f} {unit}", f"{row['new']:.2f} {unit}"
    return [row["told"], of, old, new, f"× {row['loss']:.2f}", sure, f"× {row['allowed']:.2f}", verdict]


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _listed(changed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in changed[:MOST_TOLD]:
        calls = f" after {', '.join(each['calls'])}" if each["calls"] else ""
        yield f"  {each['query']}{calls}: expected {' or '.join(each['expected'])}, {each['old']} → {each['new']}"
    if len(changed) > MOST_TOLD:
        yield f"  and {len(changed) - MOST_TOLD} more (--json)"
