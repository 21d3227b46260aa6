"""Accuracy: next function, whole plans, the papers' methods, tool search."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import edgeret
from edgeret.bundle.index_form import STORED_AS
from edgeret.cli.options import add_mask_options, add_runtime_options, load_runtime, positive
from edgeret.encoders.base import PRECISIONS
from edgeret.errors import InputError
from edgeret.inputs.conversations import read_conversations
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.queries import read_queries
from edgeret.inputs.tool_text import FORMS, tool_text
from edgeret.inputs.tools import read_tools
from edgeret.planner.answers import Answerer, LocalAnswerer
from edgeret.planner.prompts import MASKINGS
from edgeret.runtime.options import POLICIES, PROFILES
from edgeret.runtime.runtime import Runtime
from edgeret.strategies.routing import read_route
from edgeret.terminal.console import add_offline
from edgeret.types import Tool
from edgeret_bench import NEXT_TOOL_METHODS, OTHER_METHODS, RETRIEVAL_METHODS
from edgeret_bench.commands.common import ENCODER, FITTING, add_benchmark, names, seed, some


def add_commands(commands: Any) -> None:
    """Adds next-tool, conversation, cascade, plan, methods and retrieval."""
    _add_next_tool(commands)
    _add_conversation(commands)
    _add_cascade(commands)
    _add_plan(commands)
    _add_methods(commands)
    _add_retrieval(commands)


def _add_next_tool(commands: Any) -> None:
    step = add_benchmark(commands, "next-tool", "Accuracy of the next function over plans.", _next_tool, bundle=True)
    step.add_argument("--demos", required=True, metavar="D", help="demonstrations: JSONL; not those of the build")
    step.add_argument(
        "--methods",
        metavar="a,b",
        help=f"default: {','.join(NEXT_TOOL_METHODS)}, as far as the bundle has them; also {', '.join(OTHER_METHODS)}",
    )
    step.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="seed of the method random (default: %(default)s)"
    )
    add_runtime_options(step)


def _add_conversation(commands: Any) -> None:
    conversation = add_benchmark(
        commands,
        "conversation",
        "Accuracy of later turns of conversations: joined to one request, the newest alone, and as a conversation.",
        _conversation,
        bundle=True,
    )
    conversation.add_argument(
        "--conversations", required=True, metavar="C", help='JSONL of {"turns": [{"query", "calls"}]}'
    )
    conversation.add_argument(
        "--tools", action="append", metavar="T", help="these tools alone in place of the bundle's; may be given often"
    )
    add_runtime_options(conversation)


def _add_cascade(commands: Any) -> None:
    cascade = add_benchmark(
        commands,
        "cascade",
        "What deciding without the full encoder costs and saves: the profiles of a bundle, in turns.",
        _cascade,
        bundle=True,
    )
    cascade.add_argument("--demos", required=True, metavar="D", help="demonstrations: JSONL; not those of the build")
    add_runtime_options(cascade)


def _add_plan(commands: Any) -> None:
    plan = add_benchmark(
        commands,
        "plan",
        "Decisions and whole plans with a planner in the loop: accuracy, tokens, reuse.",
        _plan,
        bundle=True,
    )
    plan.add_argument("--demos", required=True, metavar="D", help="demonstrations: JSONL; not those of the build")
    plan.add_argument("--policy", metavar="a,b", help=f"default: {','.join(POLICIES)}, as far as the bundle can")
    plan.add_argument(
        "--masking",
        default="hard",
        metavar="a,b",
        help=f"of policy planner, among {', '.join(MASKINGS)}; all but hard read long prompts (default: %(default)s)",
    )
    add_mask_options(plan)
    plan.add_argument(
        "--steps", type=int, default=300, metavar="N", help="teacher-forced steps; 0: all (default: %(default)s)"
    )
    plan.add_argument(
        "--plans", type=int, default=40, metavar="N", help="plans run freely; 0: none (default: %(default)s)"
    )
    plan.add_argument("--seed", type=seed, default=0, metavar="N", help="of the sample (default: %(default)s)")
    add_runtime_options(plan)


def _add_methods(commands: Any) -> None:
    compared = add_benchmark(
        commands,
        "methods",
        "The papers' methods beside edgeret's, all fitted anew.",
        _methods,
        bundle=True,
        extra=FITTING,
    )
    compared.add_argument("--train", required=True, metavar="D", help="demonstrations to learn from: JSONL")
    compared.add_argument("--demos", required=True, metavar="D", help="demonstrations to test on: JSONL")
    compared.add_argument("--seed", type=seed, default=0, metavar="N", help="default: %(default)s")
    add_runtime_options(compared)


def _add_retrieval(commands: Any) -> None:
    search = add_benchmark(
        commands, "retrieval", "Quality of tool search by a query's words.", _retrieval, extra=FITTING
    )
    among = search.add_mutually_exclusive_group(required=True)
    among.add_argument("--tools", action="append", metavar="T", help="tools alone; may be given several times")
    among.add_argument(
        "--bundle", metavar="BUNDLE", help="a bundle's tools, encoder and demonstrations, which `auto` goes by"
    )
    search.add_argument("--queries", required=True, metavar="Q", help='JSONL of {"id", "query", "tools", "steps"?}')
    search.add_argument(
        "--without-steps", action="store_true", help="show no strategy the sub-tasks that come with the queries"
    )
    search.add_argument("--encoder", default=ENCODER, metavar="CARD", help="default: %(default)s")
    search.add_argument(
        "--base",
        metavar="BUNDLE",
        help="with --tools: encode as this bundle does, and export no card",
    )
    search.add_argument("--precision", choices=PRECISIONS, default="fp32", help="of the encoder (default: %(default)s)")
    search.add_argument("--dimension", type=int, metavar="N", help="with --tools: as in a build")
    search.add_argument("--index-vectors", choices=STORED_AS, default=STORED_AS[0], help="the same")
    search.add_argument(
        "--methods",
        default=",".join(RETRIEVAL_METHODS),
        metavar="a,b",
        help="also strategies, and needed: hybrid with what calls need (default: %(default)s)",
    )
    search.add_argument(
        "--tool-text", choices=FORMS, default="name+description", help="what stands for a tool (default: %(default)s)"
    )
    search.add_argument(
        "--expansion", metavar="FILE.jsonl", help="with --tools: queries that make their vectors, as in a build"
    )
    search.add_argument(
        "--planner", metavar="CARD", help="ask this planner (default: the bundle's own); see: edgeret-export cards"
    )
    search.add_argument("--endpoint", metavar="URL", help="ask a model behind an OpenAI-compatible endpoint instead")
    search.add_argument("--model", metavar="NAME", help="which of the endpoint's models (default: its first)")
    search.add_argument("--route", metavar="FILE", help="when `routed` asks: what edgeret-export lab route wrote")
    search.add_argument("--budget-ms", type=positive, metavar="MS", help="time of one search (default: no bound)")
    search.add_argument("--limit", type=positive, metavar="N", help="so many queries, drawn by --seed (default: all)")
    search.add_argument("--seed", type=seed, default=0, metavar="N", help="default: %(default)s")
    add_offline(search)


def _conversation(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import conversation

    runtime = load_runtime(arguments)
    if arguments.tools:
        runtime = edgeret.from_tools([tool for path in arguments.tools for tool in read_tools(path)], base=runtime)
    conversations = read_conversations(arguments.conversations, runtime.tools)
    return {"bundle_hash": runtime.manifest.content_hash, **conversation.run(runtime, conversations)}


def _cascade(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import cascade

    runtimes: dict[str, Runtime] = {}
    for profile in PROFILES:
        arguments.profile = profile
        runtimes[profile] = load_runtime(arguments)
    demonstrations = read_demonstrations(arguments.demos, runtimes["full"].tools)
    return {**cascade.run(runtimes, demonstrations), "bundle_hash": runtimes["full"].manifest.content_hash}


def _next_tool(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import next_tool

    runtime = load_runtime(arguments)
    demonstrations = read_demonstrations(arguments.demos, runtime.tools)
    methods = () if arguments.methods is None else some(arguments.methods, "--methods")
    result = next_tool.run(runtime, demonstrations, methods, arguments.seed)
    return {"bundle_hash": runtime.manifest.content_hash, **result}


def _plan(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import with_llm as plan

    options = plan.Options(
        policies=names(arguments.policy or ""),
        maskings=names(arguments.masking),
        weighted=arguments.weighted,
        coverage=arguments.coverage,
        steps=arguments.steps,
        plans=arguments.plans,
        seed=arguments.seed,
    )
    plan.check(options)
    runtime = load_runtime(arguments)
    demonstrations = read_demonstrations(arguments.demos, runtime.tools)
    return {"bundle_hash": runtime.manifest.content_hash, **plan.run(runtime, demonstrations, options)}


def _methods(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import papers as methods

    runtime = load_runtime(arguments)
    train, test = (read_demonstrations(path, runtime.tools) for path in (arguments.train, arguments.demos))
    result = methods.run(runtime, train, test, arguments.seed)
    return {"bundle_hash": runtime.manifest.content_hash, **result}


def _retrieval(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import retrieval
    from edgeret_bench.datasets.known import recognised

    tools, encoder, told = _measured_by(arguments)
    queries = read_queries(arguments.queries, [tool.name for tool in tools])
    methods, own = some(arguments.methods, "--methods"), told.pop("own_planner", None)
    answerer, planner = _answerer(arguments), arguments.planner or arguments.model or arguments.endpoint
    if answerer is None and own is not None and retrieval.may_ask(methods):
        planner, held = own
        answerer = LocalAnswerer(held.get())
    options = retrieval.Options(
        told.pop("tool_text"),
        arguments.limit,
        arguments.seed,
        answerer,
        arguments.budget_ms,
        told.pop("goes_by"),
        told.pop("decider", None),
        None if arguments.route is None else read_route(arguments.route),
        told.pop("vectors"),
        told.pop("examples", None),
    )
    if arguments.without_steps:
        queries = [replace(query, steps=()) for query in queries]
    result = retrieval.run(tools, queries, encoder, methods, options)
    return {
        "dataset": recognised([tool.name for tool in tools], queries),
        **told,
        "planner": planner,
        **result,
    }


def _measured_by(arguments: argparse.Namespace) -> tuple[Sequence[Tool], Any, dict[str, Any]]:
    """Tools, encoder, and what is told of them and searched by: those of a bundle, or of a card."""
    if arguments.bundle:
        if arguments.expansion or arguments.dimension or arguments.index_vectors != STORED_AS[0]:
            raise InputError(
                "--expansion, --dimension and --index-vectors are for --tools; a bundle's vectors were made when it was"
                " built"
            )
        return _of_bundle(arguments.bundle)
    if arguments.base is None:
        return _of_card(arguments)
    if arguments.expansion or arguments.dimension or arguments.index_vectors != STORED_AS[0]:
        raise InputError("--expansion, --dimension and --index-vectors are for a card's encoder; leave --base out")
    _, encoder, told = _of_bundle(arguments.base)
    kept = {key: told[key] for key in ("bundle_hash", "encoder", "precision", "goes_by")}
    return read_tools(*arguments.tools), encoder, {**kept, "tool_text": arguments.tool_text, "vectors": None}


def _of_bundle(bundle: str) -> tuple[Sequence[Tool], Any, dict[str, Any]]:
    """The same of a bundle."""
    from edgeret.bundle import roles
    from edgeret_bench.accuracy.retrieval import GoesBy
    from edgeret_export.recipe import recipe_of
    from edgeret_export.reference.loaded import ComponentsLoaded
    from edgeret_export.reference.runtime import components_of

    runtime = edgeret.load(bundle)
    components, manifest = components_of(runtime), runtime.manifest
    return (
        [*runtime.tools.values()],
        components.encoder,
        {
            "bundle_hash": manifest.content_hash,
            "encoder": manifest.info[roles.INFO_ENCODER]["card"],
            "precision": components.encoder.spec.precision,
            "tool_text": recipe_of(manifest.info, bundle).tool_text,
            "goes_by": GoesBy(components.prior, components.word_vectors),
            "decider": ComponentsLoaded(components).scorer.decided,
            "vectors": components.index.vectors,
            "examples": components.index.examples,
            "own_planner": (manifest.info[roles.INFO_PLANNER]["card"], components.planner)
            if components.planner.exists
            else None,
        },
    )


def _of_card(arguments: argparse.Namespace) -> tuple[Sequence[Tool], Any, dict[str, Any]]:
    """The same of a card."""
    from edgeret.host import available_cpus
    from edgeret_bench.accuracy.retrieval import GoesBy
    from edgeret_export.encoders.expansion import expand_vectors
    from edgeret_export.encoders.export import export_encoder
    from edgeret_export.encoders.word_vectors import word_reader
    from edgeret_export.reference.encoders.load import start_encoder
    from edgeret_export.sources.cards import find_card, with_dimension
    from edgeret_export.sources.expansions import read_expansion
    from edgeret_export.sources.priors import prior_for

    card = with_dimension(find_card(arguments.encoder), arguments.dimension)
    exported = export_encoder(card, arguments.precision, arguments.offline)
    tools = read_tools(*arguments.tools)
    encoder = start_encoder(exported.model, exported.tokenizer, exported.spec, available_cpus())
    vectors, made = None, {}
    if arguments.expansion:
        texts = [tool_text(tool, arguments.tool_text) for tool in tools]
        expansion = read_expansion(arguments.expansion, tools)
        plain = encoder.encode_tools(texts)
        expanded = expand_vectors(plain, texts, expansion.of(tools), encoder, arguments.seed)
        vectors, made = expanded.vectors, {"expansion": {"sha256": expansion.sha256, **expanded.report}}
    if arguments.index_vectors != STORED_AS[0]:
        from edgeret_export.reference.scoring.index import as_stored

        if vectors is None:
            vectors = encoder.encode_tools([tool_text(tool, arguments.tool_text) for tool in tools])
        vectors, made = as_stored(vectors, arguments.index_vectors), {**made, "index_vectors": arguments.index_vectors}
    return (
        tools,
        encoder,
        {
            "encoder": arguments.encoder,
            **({} if card.encoder is None or card.encoder.truncate is None else {"dimension": card.encoder.truncate}),
            "precision": arguments.precision,
            "tool_text": arguments.tool_text,
            "goes_by": GoesBy(prior_for(card).weights, word_reader(exported)),
            "vectors": vectors,
            **made,
        },
    )


def _answerer(arguments: argparse.Namespace) -> Answerer | None:
    """The planner that was named, if one was."""
    from edgeret_export.planner.asking import named_model

    asked = named_model(arguments.planner, arguments.endpoint, arguments.model, arguments.offline)
    return None if asked is None else asked.answerer
