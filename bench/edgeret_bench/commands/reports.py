"""Results side by side: report, compare, and a suite that measures everything and reports it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from edgeret.terminal.console import add_command, table
from edgeret_bench import SUITE_PARTS
from edgeret_bench.commands.common import names, seed
from edgeret_bench.results.files import read_result


def add_commands(commands: Any) -> None:
    """Adds report, suite and compare."""
    report = add_command(commands, "report", "One page of any results: figures and tables.", _report, _print_report)
    report.add_argument("results", nargs="+", metavar="RESULT.json", help="files that -o of other commands wrote")
    report.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="ends in .html, .md or .csv (default: %(default)s)",
    )

    suite = add_command(
        commands,
        "suite",
        "Everything that can be measured of a bundle, and one report of it.",
        partial(_suite, commands.choices),
        _print_suite,
        True,
    )
    suite.add_argument("--demos", required=True, metavar="D", help="demonstrations: JSONL; not those of the build")
    suite.add_argument("--train", metavar="D", help="those of the build, for methods and few")
    suite.add_argument("--nothing", metavar="N", help="requests that no tool fits, for abstain: JSONL or plain lines")
    suite.add_argument(
        "-o",
        "--output",
        default="bench-results",
        metavar="DIR",
        help="folder of results and report (default: %(default)s)",
    )
    suite.add_argument("--only", default="", metavar="a,b", help=f"these parts alone, of {', '.join(SUITE_PARTS)}")
    suite.add_argument("--skip", default="", metavar="a,b", help="not these parts; sweeps are those of latency")

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
    compare.add_argument(
        "--again",
        nargs=2,
        action="append",
        default=[],
        metavar=("BEFORE.json", "AFTER.json"),
        help="one more pair of runs, measured in turn with the others; narrows the intervals of times",
    )
    compare.add_argument("--series", metavar="NAME", help="compare this series only, for example first_select")
    compare.add_argument("--seed", type=seed, default=0, metavar="N", help="of the bootstrap (default: %(default)s)")


def _report(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.results.report import write_report

    results = [(Path(name).stem, read_result(name)) for name in arguments.results]
    return write_report(results, Path(arguments.output))


def _print_report(result: Mapping[str, Any]) -> str:
    return (
        f"{result['report']}: {result['figures']} figures and {result['tables']} tables of {result['results']} results"
    )


def _suite(parsers: Mapping[str, argparse.ArgumentParser], arguments: argparse.Namespace) -> Mapping[str, Any]:
    """`parsers` are those of all commands, by name."""
    from edgeret.bundle import roles
    from edgeret.bundle.reader import open_bundle
    from edgeret.fields import get
    from edgeret.inputs.demonstrations import read_demonstrations
    from edgeret.inputs.queries import read_texts
    from edgeret_bench import suite
    from edgeret_export.reference.tool_set import load_tools

    def benchmark(argv: Sequence[str]) -> Mapping[str, Any]:
        parsed = parsers[argv[0]].parse_args(argv[1:])
        parsed.argv = [*parsers[argv[0]].prog.split()[1:], *argv[1:]]
        result: Mapping[str, Any] = parsed.handler(parsed)
        return result

    given = [option for option in ("--train", "--nothing") if getattr(arguments, option[2:]) is not None]
    parts = suite.choose(names(arguments.only), names(arguments.skip), given)
    bundle = open_bundle(arguments.bundle)
    tools, encoder = load_tools(bundle), get(bundle.manifest.info, roles.INFO_ENCODER, dict, str(bundle.path))
    demonstrations = read_demonstrations(arguments.demos, tools)
    if arguments.train is not None:
        read_demonstrations(arguments.train, tools)  # better refused now than after the other benchmarks
    if arguments.nothing is not None:
        read_texts(arguments.nothing)
    subject = suite.Subject(
        arguments.bundle,
        list(tools.values()),
        get(encoder, "card", str, str(bundle.path)),
        demonstrations,
        arguments.demos,
        arguments.train,
        arguments.nothing,
    )
    return suite.run(subject, Path(arguments.output), benchmark, parts)


def _print_suite(result: Mapping[str, Any]) -> str:
    lines = [f"{name}: {seconds:g} s" for name, seconds in result["seconds"].items()]
    lines += [f"no {name}: {reason}" for name, reason in result["unavailable"].items()]
    return "\n".join([*lines, *([f"open {result['report']}"] if "report" in result else [])])


def _compare(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.results.compare import compare

    before, after = read_result(arguments.before), read_result(arguments.after)
    again = [(read_result(first), read_result(second)) for first, second in arguments.again]
    return compare(before, after, arguments.threshold, arguments.seed, arguments.series, again)


def _print_compare(result: Mapping[str, Any]) -> str:
    columns = ("name", "before", "after", "worse", "low", "high", "verdict")
    rows = [[row[column] for column in columns] for row in result["series"]]
    header = ("series", f"before ({result['unit']})", "after", "times worse", "from", "to", "verdict")
    lines = [table(rows, header), "", f"confidence {result['confidence']:.0%}, threshold {result['threshold']:g}"]
    return "\n".join([*lines, *(f"mind: {warning}" for warning in result["warnings"])])
