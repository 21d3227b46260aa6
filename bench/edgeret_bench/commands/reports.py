"""Results side by side: report, compare, and a suite that measures everything and reports it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.console import add_command, table
from edgeret_bench.results import read_result


def add_commands(commands: Any) -> None:
    """Adds report and compare."""
    report = add_command(commands, "report", "One page of any results: figures and tables.", _report, _print_report)
    report.add_argument("results", nargs="+", metavar="RESULT.json", help="files that -o of other commands wrote")
    report.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="ends in .html, .md or .csv (default: %(default)s)",
    )

    compare = add_command(
        commands,
        "compare",
        "Ratios between two results; exits 1 if the second is a regression.",
        _compare,
        _print_compare,
    )
    compare.add_argument("before", metavar="BEFORE.json")
    compare.add_argument("after", metavar="AFTER.json")
    compare.add_argument(
        "--threshold",
        type=float,
        metavar="X",
        help="how many times worse is too bad (default: 1.1 for times, 1.02 for scores)",
    )
    compare.add_argument("--series", metavar="NAME", help="compare this series only, for example first_select")
    compare.add_argument("--seed", type=int, default=0, metavar="N", help="of the bootstrap (default: %(default)s)")


def _report(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.report import write_report

    results = [(Path(name).stem, read_result(name)) for name in arguments.results]
    return write_report(results, Path(arguments.output))


def _print_report(result: Mapping[str, Any]) -> str:
    return (
        f"{result['report']}: {result['figures']} figures and {result['tables']} tables of {result['results']} results"
    )


def _compare(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.compare import compare

    before, after = read_result(arguments.before), read_result(arguments.after)
    return compare(before, after, arguments.threshold, arguments.seed, arguments.series)


def _print_compare(result: Mapping[str, Any]) -> str:
    columns = ("name", "before", "after", "worse", "low", "high", "verdict")
    rows = [[row[column] for column in columns] for row in result["series"]]
    header = ("series", f"before ({result['unit']})", "after", "times worse", "from", "to", "verdict")
    lines = [table(rows, header), "", f"confidence {result['confidence']:.0%}, threshold {result['threshold']:g}"]
    return "\n".join([*lines, *(f"mind: {warning}" for warning in result["warnings"])])
