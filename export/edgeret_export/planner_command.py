"""The command `planner`: its options, what it reads, and what it prints. The work is `planner.convert`'s."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeret.cli.options import positive, probability
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.planner.chat import CHAT_FORMATS, ChatFormat, render
from edgeret.terminal.console import add_command, add_offline
from edgeret_export.example import example_folder
from edgeret_export.planner.gguf_limits import MAX_PERPLEXITY_RATIO, MIN_KEPT, QUESTIONS, SHOWN, Limits
from edgeret_export.planner.quantise import TYPES
from edgeret_export.sources.cards import find_card

if TYPE_CHECKING:
    from edgeret_export.planner.convert import Order, Trial

WEIGHED_BY = 64
"""Prompts that say which weights count."""


def add_planner(commands: Any) -> None:
    """Adds the command."""
    made = add_command(
        commands,
        "planner",
        "Make a planner of a language model's weights: a quantised GGUF, and a card to build with.",
        _planner,
        _print,
    )
    made.add_argument(
        "model", metavar="MODEL", help="folder with weights in safetensors, or a card of the kind weights"
    )
    made.add_argument("-o", "--output", required=True, metavar="X.gguf", help="file to write; X.toml is its card")
    made.add_argument(
        "--quantize", type=str.upper, choices=TYPES, default="Q8_0", metavar="TYPE",
        help=f"one of {', '.join(TYPES)} (default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--importance", action="store_true", help="weigh each column of the weights by how much prompts of ours use it"
    )
    made.add_argument("--adapter", metavar="FOLDER", help="LoRA adapter to merge into the weights")
    made.add_argument(
        "--adapter-beside", action="store_true", help="write the adapter as a GGUF of its own, and do not merge it"
    )
    made.add_argument(
        "--chat", choices=CHAT_FORMATS, help="chat format (default: what the model's own template writes)"
    )
    made.add_argument("--context", type=positive, metavar="N", help="tokens (default: what the model was trained for)")
    _add_about(made)
    _add_trial(made)
    made.add_argument(
        "--allow-unpinned", action="store_true", help="take weights whose card names no hash for its files"
    )
    add_offline(made)


def _add_about(made: argparse.ArgumentParser) -> None:
    """What is written down of where the model comes from."""
    made.add_argument("--licence", metavar="NAME", help="of the weights; needed unless a card names it")
    made.add_argument(
        "--licence-file",
        action="append",
        default=[],
        metavar="FILE",
        help="the licence's text, which travels with the weights (default: the card's, or LICENSE* of the folder)",
    )
    made.add_argument("--name", help="of the model (default: the card's or the folder's)")
    made.add_argument("--source", metavar="TEXT", help="where the weights come from (default: the card's, or a hash)")
    made.add_argument("--base-model", metavar="NAME", help="the model that these weights were trained from, if any")


def _add_trial(made: argparse.ArgumentParser) -> None:
    """What the gate asks, and what it lets through."""
    made.add_argument(
        "--tools", action="append", default=[], metavar="T", help="tools to ask about (default: the desktop example's)"
    )
    made.add_argument(
        "--demos", action="append", default=[], metavar="D", help="demonstrations that call them, for the same"
    )
    made.add_argument(
        "--max-perplexity",
        type=float,
        default=MAX_PERPLEXITY_RATIO,
        metavar="R",
        help="perplexity that is allowed, over that of the model before (default: %(default)s)",
    )
    made.add_argument(
        "--min-kept",
        type=probability,
        default=MIN_KEPT,
        metavar="S",
        help="share of the model's choices among tools that must stay (default: %(default)s)",
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of what is asked (default: 0)")


@dataclass(frozen=True, slots=True)
class _Given:
    """The weights and what is known of them."""

    folder: Path
    name: str
    source: str
    licence: str
    licence_files: tuple[Path, ...]
    chat: str | None = None
    base_model: str | None = None


def _planner(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.planner.convert import check_target, convert

    target = Path(arguments.output)
    check_target(target)
    if arguments.adapter_beside and not arguments.adapter:
        raise InputError("--adapter-beside says how an adapter is written; give it with --adapter")
    order = _order(arguments)
    trial = _trial(arguments, order.spec.chat)
    return convert(order, target, trial, arguments.offline)


def _order(arguments: argparse.Namespace) -> Order:
    from edgeret.planner.spec import PlannerSpec
    from edgeret_export.planner.convert import Order
    from edgeret_export.planner.weights import About, chat_of, check_adapter, read_weights

    given = _from_folder(arguments) if Path(arguments.model).is_dir() else _from_card(arguments)
    weights = read_weights(given.folder)
    adapter = None if arguments.adapter is None else check_adapter(Path(arguments.adapter))
    base = arguments.base_model or given.base_model
    merged = adapter is not None and not arguments.adapter_beside
    about = About(
        name=arguments.name or given.name,
        licence=arguments.licence or given.licence,
        source=f"{given.source} with the adapter {_told(adapter)}" if merged and adapter else given.source,
        base_model=base or (given.name if merged else None),
    )
    spec = PlannerSpec(chat_of(weights, arguments.chat or given.chat), arguments.context or weights.context)
    return Order(weights, about, arguments.quantize, spec, given.licence_files, adapter, arguments.adapter_beside)


def _from_card(arguments: argparse.Namespace) -> _Given:
    from edgeret_export.sources.fetch import fetch

    card = find_card(arguments.model)
    if card.weights is None:
        raise InputError(
            f"model card '{card.name}' is of the kind {card.kind}; give one of the kind weights, or a folder with "
            "weights in safetensors"
        )
    folder = fetch(card, arguments.offline, arguments.allow_unpinned)
    files = _licence_files(arguments) or tuple(folder / name for name in card.weights.licence_files)
    source = arguments.source or f"{card.name}: {card.sources[0]}"
    return _Given(folder, card.name, source, card.licence, files, card.weights.chat, card.weights.base_model)


def _from_folder(arguments: argparse.Namespace) -> _Given:
    folder = Path(arguments.model)
    if not arguments.licence:
        raise InputError(
            f"{folder}: whose licence? Name that of the weights with --licence, as in --licence Apache-2.0"
        )
    files = _licence_files(arguments) or tuple(sorted(folder.glob("LICEN[CS]E*")))
    if not files:
        raise InputError(f"{folder}: no LICENSE in it; give the licence's text with --licence-file")
    name = folder.resolve().name
    return _Given(folder, name, arguments.source or _told(folder), arguments.licence, files)


def _licence_files(arguments: argparse.Namespace) -> tuple[Path, ...]:
    files = tuple(map(Path, arguments.licence_file))
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None:
        raise InputError(f"{missing}: no such file; --licence-file is the licence's text")
    if len({file.name for file in files}) < len(files):
        raise InputError("--licence-file: two files of one name, which would lie in one place; rename one")
    return files


def _told(folder: Path) -> str:
    """A folder's name and a hash of its weights, by which they can be known again."""
    from edgeret_export.sources.fetch import sha256_of

    hashes = "".join(f"{path.name} {sha256_of(path)}\n" for path in sorted(folder.glob("*.safetensors")))
    return f"{folder.resolve().name} (sha256 of its weights' hashes: {hashlib.sha256(hashes.encode()).hexdigest()})"


def _trial(arguments: argparse.Namespace, chat: ChatFormat) -> Trial:
    from edgeret.planner.prompts import selection_prompt
    from edgeret.types import Candidate
    from edgeret_export.planner.convert import Trial
    from edgeret_export.planner.gguf_parity import examination

    if bool(arguments.tools) != bool(arguments.demos):
        raise InputError("--tools and --demos go together: demonstrations call these tools")
    tools = read_tools(*(arguments.tools or [example_folder() / "tools.jsonl"]))
    names = [tool.name for tool in tools]
    asked, others = _demonstrations(arguments, names)
    if len(tools) < 3 or not asked:
        raise InputError("--tools, --demos: at least 3 tools and a demonstration are needed to ask about")
    texts = []
    for shown in others[:WEIGHED_BY] if arguments.importance else ():
        offered = [*dict.fromkeys([call.tool for call in shown.calls] + names)][:SHOWN]
        prompt = selection_prompt(tools, shown.query, (), [Candidate(name, 0.1) for name in offered])
        constant, variable = render(prompt, chat)
        texts.append("".join(piece.text for piece in (*constant, *variable)))
    if arguments.importance and not texts:
        raise InputError(f"--importance needs demonstrations beyond the {QUESTIONS} that are asked about")
    limits = Limits(arguments.max_perplexity, arguments.min_kept)
    return Trial(examination(tools, asked, arguments.seed), limits, tuple(texts))


def _demonstrations(
    arguments: argparse.Namespace, names: Sequence[str]
) -> tuple[list[Demonstration], list[Demonstration]]:
    """Those that are asked about, and others."""
    rng = np.random.default_rng(arguments.seed)
    if arguments.demos:
        given = [each for file in arguments.demos for each in read_demonstrations(file, names)]
        drawn = [given[i] for i in rng.permutation(len(given))]
        return drawn[:QUESTIONS], drawn[QUESTIONS:]
    asked = read_demonstrations(example_folder() / "requests.jsonl", names)
    others = read_demonstrations(example_folder() / "demonstrations.jsonl", names)
    return asked, [others[i] for i in rng.permutation(len(others))[:WEIGHED_BY]]


def told_of_quantising(measured: Mapping[str, Any]) -> str:
    """One line about what was lost."""
    size = f"{measured['bytes'] / 1e6:.1f} MB ({measured['bytes_before'] / 1e6:.1f} before)"
    kept = f"{measured['choices_kept']} of {measured['choices']} choices kept"
    return f"{measured['type']}, {size}; perplexity {measured['perplexity_ratio']:.3f} of before, {kept}"


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"written    {', '.join(result['files'])}",
            f"quantised  {told_of_quantising(result['measured'])}",
            f"next       edgeret-export build --tools T --demos D --planner {result['card']} -o BUNDLE",
        )
    )
