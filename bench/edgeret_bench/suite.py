"""Everything that can be measured of a bundle, one benchmark after the other, and one report of it all."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from edgeret.errors import EdgeretError, InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.terminal.console import write_whole
from edgeret.terminal.progress import say
from edgeret.types import Tool
from edgeret_bench import NEXT_TOOL_METHODS, SUITE_PARTS, SWEEPS
from edgeret_bench.results.files import read_result
from edgeret_bench.results.report import write_report

METHODS = ",".join((*NEXT_TOOL_METHODS, "similarity", "bm25", "tool-graph"))
NEEDS = {"methods": "--train, the demonstrations of the build", "few": "--train, the demonstrations of the build"}
NEEDS |= {"abstain": "--nothing, requests that no tool fits"}
"""What parts need beside the held-out demonstrations."""
SUSTAINED_SECONDS = 15
REPORT = "report.html"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a bundle's folder, its tools and the card of its encoder; held-out demonstrations with the file
    that they were read from; and the files of those of the build and of requests that no tool fits, where known."""

    bundle: str
    tools: Sequence[Tool]
    encoder: str
    demonstrations: Sequence[Demonstration]
    demos: str
    train: str | None
    nothing: str | None = None


def choose(only: Sequence[str], skip: Sequence[str], given: Collection[str]) -> list[str]:
    """The parts to run, in the order of SUITE_PARTS: those named in `only` (empty: all) but for those in `skip`.

    Parts that need more are left out unless it is among the options `given`. Raises InputError for an unknown part,
    for one in `only` that lacks what it needs, or for none.
    """
    for name in (*only, *skip):
        if name not in SUITE_PARTS:
            raise InputError(f"unknown part '{name}' of the suite; choose among: {', '.join(SUITE_PARTS)}")
    unfit = [name for name, needed in NEEDS.items() if needed.partition(",")[0] not in given]
    if refused := [name for name in unfit if name in only]:
        raise InputError(f"part '{refused[0]}' needs {NEEDS[refused[0]]}")
    left = [p for p in SUITE_PARTS if p in (only or SUITE_PARTS) and p not in (*skip, *unfit)]
    if "latency" in skip and SWEEPS in left:
        left.remove(SWEEPS)  # they are measured with latency
    if not left:
        raise InputError(f"--only and --skip leave no part of the suite; choose among: {', '.join(SUITE_PARTS)}")
    return left


def run(
    subject: Subject,
    target: Path,
    benchmark: Callable[[Sequence[str]], Mapping[str, Any]],
    parts: Sequence[str],
) -> dict[str, Any]:
    """Measures `parts` (see `choose`) and writes results and report into `target`.

    `benchmark` runs one command of edgeret-bench. A benchmark that cannot be run here is reported with the reason, and
    the others go on. Raises InputError if the folder cannot be written.
    """
    queries, tools = target / "queries.jsonl", target / "tools.jsonl"
    write_whole(queries, "".join(map(_query, subject.demonstrations)), "-o")
    write_whole(tools, "".join(_line(tool.to_dict()) for tool in subject.tools), "-o")
    plan = _commands(subject, queries, tools, parts)
    written, missing, seconds = [], {}, {}
    for number, (name, options) in enumerate(plan.items(), 1):
        say(f"{name} ({number} of {len(plan)})")
        file, began = target / f"{name}.json", perf_counter()
        try:
            benchmark([name, *options, "-o", str(file)])
        except (EdgeretError, ModuleNotFoundError) as error:
            missing[name] = str(error)
            say(f"{name} ({number} of {len(plan)}): not measured, {error}")
            continue
        seconds[name] = round(perf_counter() - began, 1)
        say(f"{name} ({number} of {len(plan)}): {seconds[name]:g} s")
        written.append(file)
    report = write_report([(file.stem, read_result(file)) for file in written], target / REPORT) if written else {}
    results = [str(file) for file in written]
    return {**report, "ok": bool(written), "results": results, "unavailable": missing, "seconds": seconds}


def _commands(subject: Subject, queries: Path, tools: Path, parts: Sequence[str]) -> dict[str, list[str]]:
    """The commands to run, with their arguments."""
    bundle, demos = subject.bundle, subject.demos
    timed = [bundle, "--queries", str(queries)]
    sweeps = ["--sweep-threads", "--batches", "1,4,16", "--sustained", str(SUSTAINED_SECONDS)]
    learned = ["--train", str(subject.train), "--demos", demos]
    everything: dict[str, list[str]] = {
        "next-tool": [bundle, "--demos", demos, "--methods", METHODS],
        "abstain": [bundle, "--demos", demos, "--nothing", str(subject.nothing)],
        "plan": [bundle, "--demos", demos],
        "peers": timed,
        "latency": [*timed, *(sweeps if SWEEPS in parts else ())],
        "scaling": [],
        "methods": [bundle, *learned],
        "few": ["--tools", str(tools), *learned, "--encoder", subject.encoder],
    }
    wanted = {"latency" if part == SWEEPS else part for part in parts}
    return {name: options for name, options in everything.items() if name in wanted}


def _query(demonstration: Demonstration) -> str:
    """A retrieval query: the request, and the tools that solved it."""
    tools = list(dict.fromkeys(call.tool for call in demonstration.calls))
    return _line({"id": demonstration.id, "query": demonstration.query, "tools": tools})


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
