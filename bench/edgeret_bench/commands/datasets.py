"""The commands `fetch` and `stats` of `edgeret-bench`. Parses arguments and prints; the work is elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.terminal.console import add_command, needing, table
from edgeret_bench.commands.common import FITTING, add_benchmark


def add_commands(commands: Any) -> None:
    """Adds both commands to the parser's subparsers."""
    fetch = add_command(
        commands, "fetch", "A public dataset in edgeret's formats; no NAME: lists them.", _fetch, _print
    )
    fetch.add_argument("name", nargs="?", metavar="NAME", help="the dataset")
    fetch.add_argument("-o", "--output", metavar="DIR", help="folder of the files written (default: NAME)")
    fetch.add_argument("--from", dest="folder", metavar="FOLDER", help="read a copy of the original; fetch nothing")
    fetch.add_argument(
        "--allow-unpinned", action="store_true", help="take files of which no hash is known; theirs is printed and kept"
    )
    stats = add_benchmark(commands, "stats", "Figures of a set of plans.", _stats)
    stats.add_argument("--tools", required=True, action="append", metavar="T", help="may be given several times")
    stats.add_argument("--demos", required=True, metavar="D", help="demonstrations: JSONL")


def _fetch(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.datasets.registry import DATASETS, find_source

    if arguments.name is None:
        if arguments.output or arguments.folder or arguments.allow_unpinned:
            raise InputError("options of fetch need the NAME of a dataset before them; none lists the datasets")
        return {
            "datasets": {
                name: {
                    "title": source.title,
                    "holds": source.holds,
                    "licence": source.licence,
                    "pinned": source.pinned,
                    "sources": sorted({f"{file.kind}:{file.place}" for file in source.files}),
                    "files": [{"file": file.name, "from": str(file), "sha256": file.sha256} for file in source.files],
                }
                for name, source in DATASETS.items()
            }
        }
    source = find_source(arguments.name)
    with needing(FITTING, f"fetch {source.name}"):
        from edgeret_bench.datasets import convert, fetch

    if arguments.folder is not None:
        folder = Path(arguments.folder)
        if not folder.is_dir():
            raise InputError(
                f"{folder}: no such folder; expected {', '.join(file.name for file in source.files)} in it"
            )
    else:
        folder = fetch.fetch_dataset(source.name, fetch.originals_folder(source.name), arguments.allow_unpinned)
    dataset = source.reader(folder)
    written = convert.write(dataset, Path(arguments.output or source.name))
    return {
        "name": source.name,
        "licence": source.licence,
        "originals": str(folder),
        "written": [str(file) for file in written],
        "n_tools": len(dataset.tools),
        "n_demonstrations": len(dataset.demonstrations),
        "n_queries": len(dataset.queries),
        "skipped": dict(dataset.skipped),
        "unpinned": dict(fetch.unpinned_hashes(source, folder)) if arguments.folder is None else {},
        "unlike_pinned": fetch.differing(source, folder) if arguments.folder is not None else [],
    }


def _print(result: Mapping[str, Any]) -> str:
    if "datasets" in result:
        rows = [
            [name, d["title"], d["licence"], "yes" if d["pinned"] else "no", " ".join(d["sources"])]
            for name, d in result["datasets"].items()
        ]
        return table(rows, ("dataset", "what", "licence", "pinned", "from"))
    counts = (f"{result[f'n_{what}']} {what}" for what in ("tools", "demonstrations", "queries"))
    lines = [f"{result['name']}: {', '.join(counts)}; licence: {result['licence']}"]
    lines += [f"wrote {file}" for file in result["written"]]
    lines += [f"  {count} × {reason}" for reason, count in result["skipped"].items()]
    lines += [f"not pinned: {name} has sha256 {digest}" for name, digest in result["unpinned"].items()]
    lines += [f"not the pinned release: {wrong}" for wrong in result["unlike_pinned"]]
    return "\n".join(lines)


def _stats(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.datasets.stats import statistics

    tools = read_tools(*arguments.tools)
    return statistics(tools, read_demonstrations(arguments.demos, [tool.name for tool in tools]))
