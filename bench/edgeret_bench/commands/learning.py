"""Accuracy by what was learned: from how many demonstrations at the build, and on the device plan by plan."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli.options import add_runtime_options, load_runtime, positive
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import add_offline
from edgeret_bench.commands.common import ENCODER, FITTING, add_benchmark, numbers, seed


def add_commands(commands: Any) -> None:
    """Adds few and stream."""
    _add_few(commands)
    _add_stream(commands)


def _add_few(commands: Any) -> None:
    few = add_benchmark(
        commands,
        "few",
        "Accuracy by the number of demonstrations: builds on subsets, tested.",
        _few,
        extra=FITTING,
    )
    few.add_argument("--tools", required=True, action="append", metavar="T", help="may be given several times")
    few.add_argument("--train", required=True, metavar="D", help="demonstrations to build on: JSONL")
    few.add_argument("--demos", required=True, metavar="D", help="demonstrations to test on: JSONL")
    few.add_argument(
        "--sizes",
        metavar="a,b",
        help="how many demonstrations to build on; 0: tools alone (default: 0,10,30,100,300,1000, as far as there are "
        "so many)",
    )
    few.add_argument("--seed", type=seed, default=0, metavar="N", help="of the samples (default: %(default)s)")
    few.add_argument(
        "--repeats", type=positive, default=1, metavar="N", help="samples of every size (default: %(default)s)"
    )
    few.add_argument("--encoder", default=ENCODER, metavar="CARD", help="default: %(default)s")
    add_offline(few)


def _add_stream(commands: Any) -> None:
    stream = add_benchmark(
        commands,
        "stream",
        "Learning on the device: predict, then learn, one plan after another.",
        _stream,
        bundle=True,
    )
    stream.add_argument("--stream", required=True, metavar="D", help="demonstrations to learn one by one: JSONL")
    stream.add_argument("--test", metavar="D", help="demonstrations to test on before and after; never learned")
    stream.add_argument("--others", metavar="D", help="the same of other users, who must not lose")
    stream.add_argument(
        "--tools", metavar="T", help="add those of these tools that the bundle lacks: what came after the build"
    )
    stream.add_argument(
        "--new-tool", metavar="NAME", help="hold its plans back; test after 0, 1, 3 and 10 of them (needs --test)"
    )
    stream.add_argument(
        "--replay",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="repeat some earlier plans with every new one (default: yes)",
    )
    stream.add_argument("--seed", type=seed, metavar="N", help="shuffle the plans (default: the order of the file)")
    stream.add_argument("--limit", type=positive, metavar="N", help="take the first plans only")
    add_runtime_options(stream)


def _few(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import few
    from edgeret_export.build import encode
    from edgeret_export.recipe import read_recipe
    from edgeret_export.sources.cards import find_card

    sizes = few.SIZES if arguments.sizes is None else numbers(arguments.sizes, int, "--sizes")
    few.check(sizes, arguments.repeats)
    tools = read_tools(*arguments.tools)
    names = [tool.name for tool in tools]
    train, test = (read_demonstrations(path, names) for path in (arguments.train, arguments.demos))
    card, recipe = find_card(arguments.encoder), read_recipe(None, seed=arguments.seed, profile="full")
    encoded = encode(card, recipe, train, tools, arguments.offline)
    result = few.run(card, recipe, encoded, test, sizes, arguments.repeats, arguments.seed)
    precision = encoded.exported.spec.precision
    return {"n_tools": len(tools), "encoder": {"card": card.name, "precision": precision}, **result}


def _stream(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import stream

    runtime = load_runtime(arguments)
    if arguments.tools is not None:
        later = [tool for tool in read_tools(arguments.tools) if tool.name not in runtime.tools]
        runtime = runtime.with_tools(add=later) if later else runtime
    plans = read_demonstrations(arguments.stream, runtime.tools)
    test, others = (_read(path, runtime) for path in (arguments.test, arguments.others))
    options = stream.Options(arguments.replay, arguments.seed, arguments.limit, arguments.new_tool)
    result = stream.run(runtime, plans, test, others, options)
    return {"bundle_hash": runtime.manifest.content_hash, **result}


def _read(path: str | None, runtime: Runtime) -> list[Demonstration]:
    return [] if path is None else read_demonstrations(path, runtime.tools)
