"""Forges bundles by the thousand and reports which of them did harm: `make fuzz`.

Every case is a family and a number, and can be run again alone with `--case FAMILY:NUMBER`. Exit code 1 if there are
findings.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from forge_cases import FAMILIES, Case, Forge, make_bases, plan, scratch
from forge_workers import Found, run_cases


def report(found: Sequence[Found]) -> str:
    """A table of families, and one line for every distinct finding with the case that makes it again."""
    lines = [f"{len(found)} cases, {sum(result.cpu for _, result in found):.0f} s of processor time", ""]
    lines.append(f"{'family':24} {'cases':>6} {'refused':>8} {'decided':>8} {'findings':>9} {'CPU s':>7}")
    for name in FAMILIES:
        mine = [result for case, result in found if case[0] == name]
        bad = sum(bool(result.findings) for result in mine)
        refused = sum(result.refused and not result.findings for result in mine)
        if mine:
            counts = f"{len(mine):6} {refused:8} {len(mine) - bad - refused:8} {bad:9}"
            lines.append(f"{name:24} {counts} {sum(result.cpu for result in mine):7.1f}")
    return "\n".join([*lines, "", *distinct(found)])


def distinct(found: Sequence[Found]) -> list[str]:
    """Findings that differ in family, kind or place, the most frequent first, one line each."""
    first: dict[tuple[str, str, str], str] = {}
    times: Counter[tuple[str, str, str]] = Counter()
    for (family, number), result in sorted(found, key=lambda item: item[0]):
        for finding in result.findings:
            key = (family, finding.kind, finding.frame)
            times[key] += 1
            told = "{step}: {kind} at {frame}: {message}".format(**asdict(finding))
            first.setdefault(key, f"{family} {number}: " + " ".join(ascii(f"{told} [{result.what}]")[1:-1].split()))
    return [f"{first[key]} ({count} times)" for key, count in times.most_common()]


def again(case: Case, bases: Path) -> int:
    """Runs one case in this process, with tracebacks, and leaves its bundle to be looked at."""
    faulthandler.enable()
    kept = Path(tempfile.mkdtemp(prefix="edgeret-case-")) / "bundle"
    print(kept, flush=True)
    result = Forge(bases).attempt(case, kept)
    print("\n".join((*result.traces, "refused" if result.refused else "loaded", *result.errors)))
    for finding in result.findings:
        print("{step}: {kind} at {frame}: {message}".format(**asdict(finding)))
    return 1 if result.findings else 0


def progress(found: Sequence[Found]) -> None:
    """Says now and then how far it is."""
    if len(found) % 100 == 0:
        bad = sum(bool(result.findings) for _, result in found)
        print(f"\r{len(found)} cases, {bad} with findings", end="", file=sys.stderr, flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Forges bundles and reports which of them did harm.")
    parser.add_argument("--cases", type=int, default=15_000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="where each family's numbers begin (default: %(default)s)")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="these families alone")
    parser.add_argument("--case", metavar="FAMILY:NUMBER", help="one case, here, with its traceback")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="workers (default: one a CPU)")
    options = parser.parse_args()
    with scratch("edgeret-forged-") as bases:
        make_bases(bases)
        if options.case is not None:
            name, _, number = options.case.partition(":")
            return again((name, int(number)), bases)
        cases = plan(options.family or list(FAMILIES), options.cases, options.seed)
        found = run_cases(bases, cases, options.jobs, progress)
    print(file=sys.stderr)
    print(report(found))
    return 1 if any(result.findings for _, result in found) else 0


if __name__ == "__main__":
    sys.exit(main())
