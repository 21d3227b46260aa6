"""The command `tune`: its options, what it reads, and its table. Parses and prints; the work is `encoders.tune`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import parse_objects, read_text
from edgeret.strategies.tooldreamer import KEYS, told
from edgeret.terminal.console import add_command, add_offline, table
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

SET = "[NAME=]FOLDER"


def add_tune(commands: Any) -> None:
    """Adds the command."""
    tune = add_command(
        commands, "tune", "Tune an embedding model for tool search, on other people's tool sets.", _tune, _print
    )
    tune.add_argument(
        "--set",
        required=True,
        action="append",
        metavar=SET,
        help="tuned on: a folder of tools.jsonl and demonstrations.jsonl, or TOOLS:PLANS; may be given several times",
    )
    tune.add_argument(
        "--left-out",
        action="append",
        default=[],
        metavar=SET,
        help="never tuned on: decides which state of the training is kept; may be given several times",
    )
    tune.add_argument(
        "--leave-out", action="append", default=[], metavar="PREFIX", help="plans whose ids begin so are left out"
    )
    tune.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder to write; must not exist yet")
    _add_training(tune)
    tune.add_argument("--resume", action="store_true", help="go on with an interrupted tuning, if there is one")
    add_offline(tune)
    tune.add_argument(
        "--licence",
        action="append",
        default=[],
        metavar="NAME=LICENCE",
        help="licence of a set, for the card that is written; may be given several times",
    )


def _add_training(tune: argparse.ArgumentParser) -> None:
    tune.add_argument(
        "--encoder", default=DEFAULT_ENCODER, metavar="CARD", help="card name or .toml (default: %(default)s)"
    )
    tune.add_argument("--from", dest="begun", metavar="FOLDER", help="adapter of this encoder to go on from")
    tune.add_argument("--rank", type=int, default=16, metavar="N", help="of the LoRA matrices (default: %(default)s)")
    tune.add_argument("--full", action="store_true", help="tune all weights in place of LoRA matrices")
    tune.add_argument("--epochs", type=float, default=1.0, metavar="N", help="default: %(default)s")
    tune.add_argument("--batch", type=int, default=64, metavar="N", help="pairs of a step (default: %(default)s)")
    tune.add_argument("--learning-rate", type=float, metavar="X", help="default: 0.0005, with --full 0.00002")
    tune.add_argument(
        "--anchors",
        default="query,clauses",
        metavar="A,B",
        help="texts of a request that search: query, clauses, history, tnd, qtnd (default: %(default)s)",
    )
    tune.add_argument(
        "--hypothetical",
        metavar="FILE",
        help='tools imagined for requests, which tnd and qtnd need: JSONL of "query" and "tools"',
    )
    tune.add_argument(
        "--stories",
        type=float,
        default=0.2,
        metavar="S",
        help="requests joined of two or three, as a multiple of all requests (default: %(default)s)",
    )
    tune.add_argument(
        "--level",
        type=float,
        default=0.0,
        metavar="X",
        help="weight of a second loss that makes cosines of different requests compare, so that they tell whether "
        "anything fits; requests without calls count then (default: 0, none)",
    )
    tune.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything drawn (default: 0)")


def _tune(arguments: argparse.Namespace) -> Mapping[str, Any]:
    card = find_card(arguments.encoder)
    from edgeret_export.encoders.pairs import PairOptions, ToolSet
    from edgeret_export.encoders.tune import Tuning, tune
    from edgeret_export.sources.plans import read_source

    anchors = tuple(name.strip() for name in arguments.anchors.split(",") if name.strip())
    imagined = None if arguments.hypothetical is None else read_imagined(Path(arguments.hypothetical))
    tuning = Tuning(
        rank=None if arguments.full else arguments.rank,
        epochs=arguments.epochs,
        batch=arguments.batch,
        learning_rate=arguments.learning_rate,
        pairs=PairOptions(anchors, arguments.stories, arguments.seed, imagined),
        level=arguments.level,
    )

    def read(told: Sequence[str]) -> list[ToolSet]:
        sources = [read_source(each, arguments.leave_out) for each in told]
        return [ToolSet(source.name, source.tools, source.demonstrations) for source in sources]

    sets, left_out = read(arguments.set), read(arguments.left_out)
    names = [each.name for each in (*sets, *left_out)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--set and --left-out: two sets are named '{name}'; give names of their own: NAME=FOLDER")
    for each in (*sets, *left_out):
        if not any(demonstration.calls for demonstration in each.demonstrations):
            raise InputError(f"set '{each.name}': no plan of it calls a tool; leave the set out")
    made = tune(
        sets,
        left_out,
        card,
        tuning,
        Path(arguments.output),
        resume=arguments.resume,
        offline=arguments.offline,
        licences=read_licences(arguments.licence, names),
        begun=None if arguments.begun is None else Path(arguments.begun),
    )
    return {"folder": arguments.output, **made}


def read_licences(told: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Licences by the name of their set. Raises InputError for other names."""
    found = {}
    for each in told:
        name, _, licence = each.partition("=")
        if name not in names or not licence:
            raise InputError(f"--licence {each}: expected NAME=LICENCE with a NAME among the sets ({', '.join(names)})")
        found[name] = licence
    return found


def read_imagined(path: Path) -> dict[str, tuple[str, ...]]:
    """By query, the texts of the tools that were imagined for it, as a strategy searches for them: "thought, name,
    description". Raises InputError naming the line."""
    found: dict[str, tuple[str, ...]] = {}
    for where, value in parse_objects(read_text(path, "imagined tools as JSONL"), path):
        query, tools = value.get("query"), value.get("tools")
        if not isinstance(query, str) or not isinstance(tools, list) or not all(isinstance(t, dict) for t in tools):
            raise InputError(f'{where}: expected "query" (text) and "tools" (a list of objects)')
        texts = [told({key: str(tool.get(key) or "") for key in KEYS}) for tool in tools]
        found[query] = tuple(text for text in texts if text)
    return found


def _print(result: Mapping[str, Any]) -> str:
    header = ("set", "", "dense", "→", "clauses", "→")
    rows = []
    for name, found in result["figures"].items():
        what = "left out" if name in result["left_out"] else "tuned on"
        before, after = found["before"], found["after"]
        rows.append([name, what, before["dense"], after["dense"], before["clauses"], after["clauses"]])
    return "\n".join(
        (
            f"written  {result['folder']}: {result['adapter']['file']}, kept from step {result['step']} of "
            f"{result['steps']}",
            f"sha256   {result['adapter']['sha256']}",
            "nDCG@5, before → after",
            table(rows, header),
            f"next     edgeret-export build --tools TOOLS -o BUNDLE --adapter {result['folder']}",
        )
    )
