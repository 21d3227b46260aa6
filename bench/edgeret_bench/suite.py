"""Everything that can be measured of a bundle, one benchmark after the other, and one report of it all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from edgeret.cli.console import write_whole
from edgeret.cli.progress import say
from edgeret.errors import EdgeretError
from edgeret.inputs.demonstrations import Demonstration
from edgeret_bench import NEXT_TOOL_METHODS
from edgeret_bench.results.files import read_result
from edgeret_bench.results.report import write_report

METHODS = ",".join((*NEXT_TOOL_METHODS, "similarity", "bm25", "tool-graph"))
SUSTAINED_SECONDS = 15
REPORT = "report.html"


def run(
    bundle: str,
    demonstrations: Sequence[Demonstration],
    demos: str,
    train: str | None,
    target: Path,
    benchmark: Callable[[Sequence[str]], Mapping[str, Any]],
) -> dict[str, Any]:
    """Measures the bundle on `demonstrations` (read from the file `demos`) and writes results and report into `target`.

    `benchmark` runs one command of edgeret-bench. A benchmark that cannot be run here is reported with the reason, and
    the others go on. Raises InputError if the folder cannot be written.
    """
    queries = target / "queries.jsonl"
    write_whole(queries, "".join(map(_query, demonstrations)), "-o")
    timed = ["--queries", str(queries)]
    plan: dict[str, list[str]] = {
        "next-tool": [bundle, "--demos", demos, "--methods", METHODS],
        "plan": [bundle, "--demos", demos],
        "peers": [bundle, *timed],
        "latency": [bundle, *timed, "--sweep-threads", "--batches", "1,4,16", "--sustained", str(SUSTAINED_SECONDS)],
        "scaling": [],
    }
    if train is not None:
        plan["learning"] = [bundle, "--train", train, "--demos", demos]
    written, missing, seconds = [], {}, {}
    for number, (name, options) in enumerate(plan.items(), 1):
        say(f"{name} ({number} of {len(plan)})")
        file, began = target / f"{name}.json", perf_counter()
        try:
            benchmark([name, *options, "-o", str(file)])
        except (EdgeretError, ModuleNotFoundError) as error:
            missing[name] = str(error)
            continue
        seconds[name] = round(perf_counter() - began, 1)
        written.append(file)
    report = write_report([(file.stem, read_result(file)) for file in written], target / REPORT) if written else {}
    results = [str(file) for file in written]
    return {**report, "ok": bool(written), "results": results, "unavailable": missing, "seconds": seconds}


def _query(demonstration: Demonstration) -> str:
    """A retrieval query: the request, and the tools that solved it."""
    tools = list(dict.fromkeys(call.tool for call in demonstration.calls))
    return json.dumps({"id": demonstration.id, "query": demonstration.query, "tools": tools}, ensure_ascii=False) + "\n"
