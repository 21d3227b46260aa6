"""Builds whole bundles from tool sets cut at random out of public data, and loads each. A command: see `--help`.

A dataset is read from the folders given, or fetched as by `edgeret-bench lab fetch`, or left out, and says so.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.queries import read_queries
from edgeret.inputs.tools import read_tools
from edgeret.types import Call, Tool
from edgeret_bench.datasets.fetch import fetch_dataset, originals_folder
from edgeret_bench.datasets.registry import find_source
from edgeret_export.build import build_bundle
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

NAMES = "seal-tools", "bfcl", "toolbench"
Inputs = tuple[Sequence[Tool], list[Demonstration]]


def main() -> None:
    """Prints one JSON object a set; exits 1 if one gave no bundle that decides, or if there was no data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="folders with datasets' folders in them")
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sources = {}
    for name in NAMES:
        try:
            sources[name] = read(name, arguments.data)
        except InputError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    if not sources:
        sys.exit("no dataset could be had; give --data FOLDER")
    draw, failed = random.Random(arguments.seed), False
    for name in itertools.islice(itertools.cycle(sources), arguments.sets):
        found = build(*cut(draw, *sources[name]))
        failed |= "failed" in found
        print(json.dumps({"source": name, **found}), flush=True)
    sys.exit(failed)


def read(name: str, folders: Sequence[Path]) -> Inputs:
    """A dataset's tools and plans; of a query without a plan, the tools that it needs. Raises InputError."""
    folder = next((folder / name for folder in folders if (folder / name).is_dir()), None)
    if folder is None:
        dataset = find_source(name).reader(fetch_dataset(name, originals_folder(name)))
        tools, plans, queries = dataset.tools, list(dataset.demonstrations), list(dataset.queries)
    else:
        tools, plans, queries = tuple(read_tools(folder / "tools.jsonl")), [], []
        for file in sorted(folder.glob("*.jsonl")):
            if file.name == "queries.jsonl":
                queries += read_queries(file)
            elif file.name != "tools.jsonl":
                plans += read_demonstrations(file, {tool.name for tool in tools})
    plans += [Demonstration(query.id, query.query, tuple(map(Call, sorted(query.tools)))) for query in queries]
    # Of BFCL, plans of several turns are what edgeret is measured by: nothing is fitted on them.
    return tools, [plan for plan in plans if not plan.id.startswith("multi_turn")]


def cut(draw: random.Random, tools: Sequence[Tool], plans: Sequence[Demonstration]) -> Inputs:
    """0 to 200 plans, handfuls as often as hundreds, and the tools that they call among 2 to 120 others."""
    shown = draw.sample(plans, draw.randint(0, draw.choice((0, 5, 40, 200))))
    names = {call.tool for plan in shown for call in plan.calls}
    names |= set(draw.sample([tool.name for tool in tools if tool.name not in names], draw.randint(2, 120)))
    return [tool for tool in tools if tool.name in names], shown


def build(tools: Sequence[Tool], demonstrations: Sequence[Demonstration]) -> dict[str, Any]:
    """What the default recipe makes of a set. An error of any kind is the set's, so that the others are built too."""
    found: dict[str, Any] = {"tools": len(tools), "demonstrations": len(demonstrations)}
    started = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            built = build_bundle(tools, demonstrations, Path(folder) / "b", find_card(DEFAULT_ENCODER), Recipe())
            decision = edgeret.load(built.path).task(tools[0].name).next()
        found |= {"precision": built.report["parity"]["precision"], "decided": decision.tool}
    except Exception as error:
        found["failed"] = f"{type(error).__name__}: {error}"
    return {**found, "seconds": round(time.perf_counter() - started, 1)}


if __name__ == "__main__":
    main()
