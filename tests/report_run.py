"""Whether what a report names is worth demonstrating. A command: `python tests/report_run.py --help`.

A bundle is built from demonstrations of every second plan of the desktop example. A simulated user asks it what stands
in the other half, accepts what is right and corrects what is wrong, until 2,000 decisions are logged. The report names
ten requests of that day. The bundle is built again with their plans, and with ten others that are drawn at random from
the same log, several times; each is measured on requests that nobody asked that day. Exits 1 unless the ten gain more
than random ones on average.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import edgeret
from edgeret import END, Demonstration, Tool, read_demonstrations, read_tools
from edgeret.usage.read import read_log
from edgeret.usage.report import summarise
from edgeret_export.build import build_bundle
from edgeret_export.cli import main as export
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

EXAMPLE = Path(__file__).parents[1] / "examples" / "desktop"
DECISIONS, NAMED = 2_000, 10


def main() -> None:
    """Builds, asks, builds again, and prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=int, default=300, help="demonstrations of the first bundle (0: half of all)")
    parser.add_argument("--draws", type=int, default=4, help="times that ten are drawn at random")
    parser.add_argument("--least", type=int, default=1, help="calls of each plan that is drawn")
    parser.add_argument("--profile", default="full", choices=("tiny", "default", "full"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    tools = read_tools(EXAMPLE / "tools.jsonl")
    every = read_demonstrations(EXAMPLE / "demonstrations.jsonl", [tool.name for tool in tools])
    shown, held = every[::2], every[1::2]
    shown = shown[: arguments.base or len(shown)]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), tools, arguments.profile)
        told = measured(bench, shown, held, arguments)
    print(json.dumps(told, indent=1, ensure_ascii=False))
    sys.exit(not told["gains"]["named"] > told["gains"]["random"])


class Bench:
    """Builds bundles and asks them."""

    def __init__(self, folder: Path, tools: Sequence[Tool], profile: str) -> None:
        self.folder, self._tools, self._recipe = folder, tools, Recipe(profile=profile)  # type: ignore[arg-type]

    def build(self, name: str, demonstrations: Sequence[Demonstration]) -> edgeret.Runtime:
        path = self.folder / name  # how well arguments are read is not asked here
        build_bundle(self._tools, demonstrations, path, find_card(DEFAULT_ENCODER), self._recipe, argument_head="none")
        return edgeret.load(path, threads=1)


def measured(
    bench: Bench, shown: Sequence[Demonstration], held: Sequence[Demonstration], arguments: argparse.Namespace
) -> dict[str, Any]:
    draws = arguments.draws
    base = bench.build("base", shown)
    log = base.log_to(bench.folder / "log", words=True, redact=None)
    asked = a_day(base, held)
    log.close()
    report = summarise(read_log([log.folder]), NAMED)
    back = bench.folder / "from-log.jsonl"
    with contextlib.redirect_stdout(sys.stderr):
        assert export(["demos", str(log.folder), "-o", str(back)]) in (None, 0)
    known = {one.query: one for one in read_demonstrations(back, list(base.tools))}
    named = [known[one["query"]] for one in report["demonstrate"]]
    rest = [*held[asked:], *other_words(base)]
    draw = random.Random(arguments.seed)
    pool = [one for one in known.values() if len(one.calls) >= arguments.least]
    before = shares(base, rest)
    after = shares(bench.build("named", [*shown, *named]), rest)
    drawn = []
    for number in range(draws):
        some = draw.sample(pool, NAMED)
        drawn.append(shares(bench.build(f"random-{number}", [*shown, *some]), rest))
        sys.stderr.write(f"{before} {after} {drawn}\n")
    right = {"base": before, "named": after, "random": drawn}
    gains = {
        "named": round(after["best"] - before["best"], 5),
        "random": round(sum(one["best"] for one in drawn) / draws - before["best"], 5),
    }
    return {
        "demonstrations": len(shown), "asked": asked, "decisions": report["decisions"],
        "declines": report["declines"], "corrections": report["corrections"], "from_log": len(known),
        "measured_on": len(rest), "right": right, "gains": gains, "named": report["demonstrate"],
    }  # fmt: skip


def a_day(runtime: edgeret.Runtime, held: Sequence[Demonstration]) -> int:
    """A user who knows what is right: accepts it, calls it instead of what is wrong, and stops where all is done. How
    many requests that took."""
    decisions = 0
    for number, wanted in enumerate(held):
        task = runtime.task(wanted.query)
        for call in (*wanted.calls, None):
            if decisions == DECISIONS:
                return number + 1
            decision = task.next()
            decisions += 1
            if call is None:
                break
            if decision.tool == call.tool:
                task.accept(decision, call.arguments)
            else:
                task.correct(call.tool, call.arguments)
    raise SystemExit(f"only {decisions} decisions in the held-back half")


def other_words(runtime: edgeret.Runtime) -> list[Demonstration]:
    return [
        one
        for name in ("requests.jsonl", "validation.jsonl", "terse.jsonl")
        for one in read_demonstrations(EXAMPLE / name, list(runtime.tools))
    ]


def shares(runtime: edgeret.Runtime, demonstrations: Sequence[Demonstration]) -> dict[str, float]:
    """Of decisions, each behind the right calls: how many are right, and how many have the right candidate first,
    declined or not, which a floor decides that each build chooses anew."""
    right = best = total = 0
    for wanted in demonstrations:
        task = runtime.task(wanted.query)
        for call in (*wanted.calls, None):
            decision = task.next()
            total += 1
            right += decision.tool == (call.tool if call else END if wanted.calls else None)
            best += decision.candidates[0].tool == (call.tool if call else END)
            if call is not None:
                task.call(call.tool)
    return {"decided": round(right / total, 5), "best": round(best / total, 5), "decisions": total}


if __name__ == "__main__":
    main()
