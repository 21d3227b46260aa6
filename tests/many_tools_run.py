"""Writes a library of very many tools, made of other people's, and says what a bundle of it takes to load and to ask.
A command: see `--help`.

A made-up tool has a word of one tool's name and the rest of another's, and the description and parameters of a third
with a sentence of a fourth: so words are about as frequent, texts as long and schemas as large as in real sets.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.hygiene import check_name
from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.tools import read_tools
from edgeret.types import Tool

FOLDERS = "toolbench", "seal-tools", "toole", "ultratool-plans", "ultratool-test"
_MEASURE = """
import json, sys
from time import perf_counter as now, process_time as cpu
import edgeret
from edgeret.host import peak_resident_mb, resident_mb
a, c = now(), cpu()
runtime = edgeret.load(sys.argv[1])
b, d, loaded = now(), cpu(), resident_mb()
queries, first = json.load(sys.stdin), []
def beyond(query):
    began, used = now(), cpu()
    stages = runtime.task(query).next().timings_ms
    return {"ms": (now() - began) * 1e3 - stages["tokenize"] - stages["encode"], "cpu_ms": (cpu() - used) * 1e3}
first, rest = beyond(queries[0]), sorted(beyond(query)["ms"] for query in queries[1:] * 3)
print(json.dumps({"load_ms": (b - a) * 1e3, "load_cpu_ms": (d - c) * 1e3, "very_first_ms": first["ms"],
                  "very_first_cpu_ms": first["cpu_ms"], "beyond_encoding_ms": rest[len(rest) // 2],
                  "loaded_mb": loaded, "asked_mb": resident_mb(), "peak_mb": peak_resident_mb()}))
"""


def main() -> None:
    """Writes tools, or prints a JSON object of medians a bundle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help=f"a folder with {', '.join(FOLDERS)} in it, each with tools.jsonl")
    parser.add_argument("--out", type=Path, help="where to write the tools as JSONL")
    parser.add_argument("--count", type=int, default=44_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure", type=Path, nargs="*", default=[], help="bundles, in fresh processes, in turns")
    parser.add_argument("--queries", type=Path, help="JSONL with a query a line; first decisions are about these")
    parser.add_argument("--runs", type=int, default=7, help="processes a bundle")
    arguments = parser.parse_args()
    if arguments.data and arguments.out:
        write(arguments.out, library(arguments.data, arguments.count, arguments.seed))
    if arguments.measure:
        lines = arguments.queries.read_text(encoding="utf-8").split("\n") if arguments.queries else []
        queries = [json.loads(line)["query"] for line in lines[:200] if line] or ["send a mail", "play some music"]
        for bundle, found in measured(arguments.measure, queries, arguments.runs):
            print(json.dumps({"bundle": str(bundle), **found}), flush=True)


def library(data: Path, count: int, seed: int) -> list[Tool]:
    """So many tools with different names, the real ones first. Raises InputError for data that cannot be read."""
    real = {tool.name: tool for folder in FOLDERS for tool in read_tools(data / folder / "tools.jsonl")}
    tools, draw, found = list(real.values()), random.Random(seed), dict(list(real.items())[:count])
    while len(found) < count:
        one, other, third, fourth = draw.choices(tools, k=4)
        name = "_".join((draw.choice(name_in_words(one.name).split()), *name_in_words(other.name).split()))
        description = f"{third.description} {draw.choice(fourth.description.split('. '))}"[:2000]
        try:
            check_name(name, name)
        except InputError:
            continue
        found.setdefault(name, Tool(name, description, third.parameters))
    return list(found.values())


def write(path: Path, tools: Sequence[Tool]) -> None:
    """One tool a line."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(asdict(tool)) + "\n" for tool in tools)


def measured(bundles: Sequence[Path], queries: Sequence[str], runs: int) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Medians of fresh processes, the bundles in turns."""
    found: dict[Path, list[dict[str, float]]] = {bundle: [] for bundle in bundles}
    for _ in range(runs):
        for bundle in bundles:
            command = [sys.executable, "-c", _MEASURE, str(bundle)]
            told = subprocess.run(command, input=json.dumps(queries).encode(), check=True, capture_output=True).stdout
            found[bundle].append(json.loads(told))
    for bundle, rows in found.items():
        yield bundle, {key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}


if __name__ == "__main__":
    main()
