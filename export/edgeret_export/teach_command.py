"""The commands `trajectories` and `teach`: their options, what they read, and what they print. Parses and prints; the
work is `planner`'s."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeret.cli.options import positive
from edgeret.errors import InputError
from edgeret.inputs.tool_text import tool_text
from edgeret.inputs.tools import read_tools
from edgeret.terminal.console import add_command, add_offline, check_place
from edgeret.types import Tool
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card
from edgeret_export.sources.priors import prior_for

if TYPE_CHECKING:
    from edgeret_export.planner.teach import Task
    from edgeret_export.reference.python_finder import Ranker

PRECISION, TOOL_TEXT = "fp32", "name+description"
"""Of the encoder that searches: the same on every CPU. Its texts are a build's by default."""


def add_trajectories(commands: Any) -> None:
    """Adds the command `trajectories`."""
    made = add_command(
        commands,
        "trajectories",
        "Make a search planner's training data: what it should have said for requests whose tools are known.",
        _trajectories,
        _print_trajectories,
    )
    _add_searching(made)
    made.add_argument("--queries", required=True, metavar="Q", help='JSONL of {"id", "query", "tools"}')
    teacher = made.add_mutually_exclusive_group(required=True)
    teacher.add_argument("--planner", metavar="CARD", help="this planner teaches; see: edgeret-export cards")
    teacher.add_argument("--endpoint", metavar="URL", help="a model behind an OpenAI-compatible endpoint teaches")
    made.add_argument("--model", metavar="NAME", help="which of the endpoint's models (default: its first)")
    made.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="JSONL to write; what it has already is gone on with"
    )
    made.add_argument(
        "--candidates",
        type=positive,
        default=4,
        metavar="N",
        help="queries drawn for a sub-goal at each level (default: %(default)s)",
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything drawn (default: 0)")


def add_teach(commands: Any) -> None:
    """Adds the command `teach` with its two ways."""
    what = "Teach a language model to search for tools, from trajectories."
    ways = commands.add_parser("teach", help=what, description=what).add_subparsers(required=True, metavar="METHOD")
    heart = add_command(ways, "sft", "Teach a planner to say what the trajectories say.", _sft, _print_taught)
    _add_teaching(heart, learning_rate=2e-5, batch=32)
    heart.add_argument("--epochs", type=float, default=3.0, metavar="N", help="default: %(default)s")
    drawn = add_command(ways, "grpo", "Teach a planner by what its own answers find.", _grpo, _print_taught)
    _add_teaching(drawn, learning_rate=1e-6, batch=256)
    _add_searching(drawn)
    drawn.add_argument("--steps", type=positive, default=500, metavar="N", help="default: %(default)s")
    drawn.add_argument(
        "--group", type=positive, default=4, metavar="N", help="answers drawn for a state (default: %(default)s)"
    )


def _add_searching(command: argparse.ArgumentParser) -> None:
    """The options of what is searched."""
    command.add_argument(
        "--tools", required=True, action="append", metavar="T", help="tools to search; may be given several times"
    )
    command.add_argument("--encoder", default=DEFAULT_ENCODER, metavar="CARD", help="default: %(default)s")
    add_offline(command)


def _add_teaching(command: argparse.ArgumentParser, learning_rate: float, batch: int) -> None:
    """The options that both ways to teach have."""
    command.add_argument(
        "--model", required=True, metavar="FOLDER", help="model to teach: safetensors, tokenizer, chat template"
    )
    command.add_argument("--trajectories", required=True, metavar="FILE", help="what `trajectories` wrote")
    command.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder to write; must not exist yet")
    command.add_argument("--learning-rate", type=float, default=learning_rate, metavar="X", help="default: %(default)s")
    command.add_argument(
        "--batch", type=positive, default=batch, metavar="N", help="answers of a step (default: %(default)s)"
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything drawn (default: 0)")
    command.add_argument("--resume", action="store_true", help="go on with an interrupted teaching, if there is one")


@dataclass(frozen=True, slots=True)
class Searcher:
    """Tools, arranged for search as a runtime does it."""

    tools: Mapping[str, Tool]
    ranker: Ranker
    similarity: Callable[[str, str], float]
    told: Mapping[str, Any]
    """What it is made of, JSON-ready."""


def make_searcher(files: Sequence[str], encoder_card: str, offline: bool) -> Searcher:
    """A searcher over the tools of these files. Raises InputError."""
    from edgeret.host import available_cpus
    from edgeret_export.encoders.export import export_encoder
    from edgeret_export.encoders.word_vectors import word_reader
    from edgeret_export.planner.trajectory_file import hash_of
    from edgeret_export.reference.encoders.load import start_encoder
    from edgeret_export.reference.hybrid import HybridSearch
    from edgeret_export.reference.scoring.index import Index

    card, tools = find_card(encoder_card), read_tools(*files)
    exported = export_encoder(card, PRECISION, offline)
    encoder = start_encoder(exported.model, exported.tokenizer, exported.spec, available_cpus())
    vectors = encoder.encode_tools([tool_text(tool, TOOL_TEXT) for tool in tools])
    index = Index([tool.name for tool in tools], vectors)
    weights = prior_for(card).weights
    told = {
        "encoder": card.name,
        "encoder_files": dict(card.files),
        "weights": weights.to_dict(),
        "tools": hash_of({tool.name: [tool.description, dict(tool.parameters)] for tool in tools}),
    }
    return Searcher(
        {tool.name: tool for tool in tools},
        HybridSearch(tools, index, encoder, word_reader(exported), weights),
        lambda first, second: float(encoder.encode(first) @ encoder.encode(second)),
        told,
    )


def _trajectories(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.planner.asking import named_model
    from edgeret_export.planner.teacher import Teacher
    from edgeret_export.planner.trajectories import Maker, TrajectoryOptions
    from edgeret_export.planner.trajectory_file import hash_of, read_requests, write_trajectories

    target = Path(arguments.output)
    check_place(target, "-o")
    options = TrajectoryOptions(arguments.candidates, arguments.seed)
    if arguments.model and not arguments.endpoint:
        raise InputError("--model names a model of an endpoint; give --endpoint too")
    names = [tool.name for tool in read_tools(*arguments.tools)]
    requests = read_requests(Path(arguments.queries), names)
    teacher = named_model(arguments.planner, arguments.endpoint, arguments.model, arguments.offline)
    assert teacher is not None  # argparse asks for one
    searcher = make_searcher(arguments.tools, arguments.encoder, arguments.offline)
    maker = Maker(Teacher(teacher.answerer, searcher.tools), searcher.ranker, options)
    inputs = {**searcher.told, "teacher": teacher.name, "candidates": options.candidates, "seed": options.seed}
    made = write_trajectories(target, requests, hash_of(inputs), maker.make)
    usable = [each for each in made if each.problem is None]
    problems = Counter(each.problem for each in made if each.problem is not None)
    return {
        "file": str(target),
        "requests": len(made),
        "usable": len(usable),
        "turns": sum(len(each.turns) for each in usable),
        "problems": dict(problems.most_common()),
    }


def _print_trajectories(result: Mapping[str, Any]) -> str:
    lines = [
        f"written  {result['file']}: {result['requests']} requests, {result['usable']} of them with {result['turns']} "
        "searches to learn from"
    ]
    lines += [f"problem  {problem}: {count}" for problem, count in result["problems"].items()]
    lines.append(f"next     edgeret-export lab teach sft --model FOLDER --trajectories {result['file']} -o TAUGHT")
    return "\n".join(lines)


def _sft(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.planner.teach import Sft, teach_sft

    method = Sft(arguments.epochs, arguments.batch, arguments.learning_rate, arguments.seed)
    return {"folder": arguments.output, **teach_sft(_task(arguments), method)}


def _grpo(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.planner.judge import Judge
    from edgeret_export.planner.teach import Grpo, Library, teach_grpo

    method = Grpo(arguments.steps, arguments.batch, arguments.group, arguments.learning_rate, arguments.seed)
    searcher = make_searcher(arguments.tools, arguments.encoder, arguments.offline)
    library = Library(searcher.tools, Judge(searcher.ranker, searcher.similarity), searcher.told)
    return {"folder": arguments.output, **teach_grpo(_task(arguments), method, library)}


def _task(arguments: argparse.Namespace) -> Task:
    from edgeret_export.planner.teach import Task

    return Task(Path(arguments.model), Path(arguments.trajectories), Path(arguments.output), arguments.resume)


def _print_taught(result: Mapping[str, Any]) -> str:
    curve, what = result["curve"], "loss" if result["method"] == "sft" else "reward"
    learned, files = result["trajectories"], [name for name in result["files"] if name.endswith(".safetensors")]
    return "\n".join(
        (
            f"written  {result['folder']}: {', '.join(files)}",
            f"learned  {learned['states']} states of {learned['usable']} trajectories in {result['steps']} steps",
            f"{what:<8} {curve[0][what]:.4f} → {curve[-1][what]:.4f}",
            f"chat     {result['chat']}",
        )
    )
