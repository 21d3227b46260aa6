"""The command `edgeret report`: what a log of decisions says, as tables and as a page. Numbers are made elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.cli.options import positive
from edgeret.cli.pages import render
from edgeret.terminal.console import add_command, check_place, table, write_whole
from edgeret.usage.read import read_log
from edgeret.usage.report import summarise

_ABOUT = """\
Draws what a log of decisions says: what was asked, what was declined, where users
corrected, which tools never fire, whether probabilities held, whether requests
grow unlike the demonstrations, how long it took, and what to demonstrate next.

  edgeret report log --html week.html

Programs write logs with runtime.log_to(FOLDER), and servers with --log FOLDER.
Nothing is sent anywhere, and nothing but the log is read."""


def add_report_command(commands: Any) -> None:
    """Adds `report`."""
    told = "Tell what a log of decisions says of a week."
    report = add_command(commands, "report", told, _report, _print, about=_ABOUT)
    report.add_argument("logs", nargs="+", metavar="LOG", help="the folder of a log, or its files")
    report.add_argument("--html", metavar="FILE", help="draw it as a page, too")
    report.add_argument(
        "--next", type=positive, default=10, metavar="N", help="requests to demonstrate (default: %(default)s)"
    )


def _report(arguments: argparse.Namespace) -> Mapping[str, Any]:
    if arguments.html:
        check_place(Path(arguments.html), "--html")
    told = summarise(read_log(arguments.logs), arguments.next)
    if arguments.html:
        facts, sections = _facts(told), _sections(told)
        page = render("report.html", extra="html", needed_for="report --html", facts=facts, sections=sections)
        write_whole(Path(arguments.html), page, "--html")
    return told


def _facts(told: Mapping[str, Any]) -> list[str]:
    """What is said in lines above all tables."""
    decisions = told["decisions"]
    lines = [
        f"{decisions} decisions for {told['requests']} requests, {told['from']} to {told['to']} (UTC)",
        f"declined {told['declines']} ({_percent(told['declines'], decisions)}), "
        f"accepted {told['accepted']}, corrected {told['corrections']}, plans ended {told['ends']}",
    ]
    if told["right"] is not None:
        lines.append(f"right, of those of which somebody said so: {told['right']:.1%}")
    if (calibration := told["calibration"]) is not None:
        lines.append(
            f"probabilities were off by {calibration['error']:.3f} on average ({calibration['decisions']} decisions)"
        )
    if (drift := told["drift"]) is not None:
        moved = "moved" if abs(drift["z"]) > 3 else "no clear change"
        lines.append(
            f"unlike all that was demonstrated: {drift['early']:.1%} of requests in the first half, "
            f"{drift['late']:.1%} in the second ({moved}, z {drift['z']:+.1f})"
        )
    if told["unread"]:
        lines.append(f"{told['unread']} of {told['lines']} lines could not be read")
    if not told["with_words"]:
        lines.append("no words were kept; log with words=True to see phrases, and what to demonstrate")
    return lines


def _percent(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "–"


_Section = tuple[str, str, tuple[str, ...], list[list[Any]]]
"""A title, what the table says, heads and rows."""


def _sections(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables that have rows."""
    return [
        {"title": title, "told": what, "heads": heads, "rows": rows, "bars": _bars(title, rows, told)}
        for title, what, heads, rows in (*_wrong(told), *_counted(told))
        if rows
    ]


def _wrong(told: Mapping[str, Any]) -> list[_Section]:
    return [
        (
            "What to demonstrate next",
            "Requests whose plans mend most of what went wrong, the first most. Take them with: edgeret-export demos",
            ("request", "calls", "decided instead", "missed", "like it", "of all wrong"),
            [
                [
                    *(one["query"], ", ".join(one["calls"]), one["decided"] or "(declined)"),
                    *(", ".join(one["missed"]), one["like"], one["share"]),
                ]
                for one in told["demonstrate"]
            ],
        ),
        (
            "Corrected",
            "What was decided, and what users called instead.",
            ("decided", "called", "times", "probability", "for instance"),
            [
                [one["decided"], one["called"], one["times"], one["probability"], " · ".join(one["phrases"])]
                for one in told["corrected"]
            ],
        ),
        (
            "Declined",
            "Why nothing was decided, what would have come first, and what users then called themselves.",
            ("reason", "best", "times", "then called", "for instance"),
            [
                [one["reason"], one["best"], one["times"], _counts(one["then_called"]), " · ".join(one["phrases"])]
                for one in told["declined"]
            ],
        ),
    ]


def _counted(told: Mapping[str, Any]) -> list[_Section]:
    never, calibration = told["never"] or {"fired": [], "decided": []}, told["calibration"] or {"bins": []}
    return [
        (
            "Asked",
            "The tools that were decided and called most.",
            ("tool", "decided", "accepted", "called"),
            [[one["tool"], one["decided"], one["accepted"], one["called"]] for one in told["asked"]],
        ),
        (
            "Never",
            "Tools that nobody needed, and tools that were called and never decided.",
            ("", "how many", "tools"),
            [
                [what, len(names), ", ".join(names)]
                for what, names in (
                    ("called, never decided", never["decided"]),
                    ("neither decided nor called", never["fired"]),
                )
                if names
            ],
        ),
        (
            "Promised and right",
            "Probabilities of decisions, and how many of these were accepted.",
            ("from", "to", "decisions", "promised", "right"),
            [list(row.values()) for row in calibration["bins"]],
        ),
        (
            "Days",
            "Of UTC. Unlike: requests for which it is likelier than not that no tool fits.",
            ("day", "decisions", "declined", "corrected", "unlike"),
            [list(row.values()) for row in told["days"]],
        ),
        (
            "Failed",
            "Tools that were tried and did not work.",
            ("tool", "times"),
            [list(item) for item in told["failed"].items()],
        ),
        (
            "Milliseconds",
            "By the stage that decided; the first decision of a request reads it, later ones do not.",
            ("stage", "decisions", "p50", "p95", "p99"),
            [
                [name, one["decisions"], one["p50"], one["p95"], one["p99"]]
                for name, one in told["latency"]["stages"].items()
            ],
        ),
    ]


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.items())


def _bars(title: str, rows: Sequence[Sequence[Any]], told: Mapping[str, Any]) -> list[list[tuple[str, float, float]]]:
    """What is drawn beside each row, as bars from left to right: name, height of 0 to 1, and what was promised."""
    if title == "Promised and right":
        return [[("right", row[4], row[3])] for row in rows]
    if title != "Milliseconds":
        return []
    bounds = [*(f"≤ {bound:g} ms" for bound in told["latency"]["bounds_ms"]), "more"]
    found = []
    for one in told["latency"]["stages"].values():
        most = max(one["counts"])
        found.append([(f"{b}: {count}", count / most, 0.0) for b, count in zip(bounds, one["counts"], strict=True)])
    return found


def _print(told: Mapping[str, Any]) -> str:
    parts = ["\n".join(_facts(told))]
    for section in _sections(told):
        rows = [[_short(cell) for cell in row] for row in section["rows"]]
        parts.append(f"{section['title']}. {section['told']}\n\n{table(rows, section['heads'])}")
    return "\n\n".join(parts)


def _short(cell: Any) -> Any:
    return f"{cell[:59]}…" if isinstance(cell, str) and len(cell) > 60 else cell
