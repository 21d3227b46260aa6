"""Other people's tools and plans to a prior card: the weights, what they were fitted on, and what they are worth. The
order of the work; how the fit is made is `fitting.prior`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgeret.cli.progress import say, track
from edgeret.encoders.base import EncodedQuery
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.encoders.providers import choose
from edgeret.errors import InputError
from edgeret.host import available_cpus
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.jsonl import parse_objects, read_text
from edgeret.inputs.query import check_query
from edgeret.inputs.tool_text import tool_text
from edgeret.inputs.tools import read_tools
from edgeret.runtime.evidence import evidence
from edgeret.runtime.lexicon import Lexicon, tool_flow, tool_words
from edgeret.scoring.prior import Evidence, Prior
from edgeret.types import END, Call, Tool
from edgeret_export.encoders.export import encoder_of, export_encoder
from edgeret_export.fitting.calibration import fit_confidence_map
from edgeret_export.fitting.prior import BLANK, PriorFigures, PriorSet, Request, fit_prior, leave_one_out
from edgeret_export.sources.cards import Card

MOST_TOOLS = 300
"""Of one set; larger ones are cut into CUTS sets of CUT_TOOLS tools, which is what users have."""
CUTS, CUT_TOOLS, CUT_REQUESTS = 4, 200, 80
SMALL_CUTS, SMALL_REQUESTS = 2, 5
"""And sets of the tools that a handful of requests need."""
STRANGERS = 30
"""Requests of other groups that are asked of each set, as ones that no tool fits."""


@dataclass(frozen=True, slots=True)
class Source:
    """Tools and plans of one origin, as given on the command line."""

    name: str
    tools: tuple[Tool, ...]
    demonstrations: tuple[Demonstration, ...]


def read_source(told: str, leave_out: Sequence[str] = ()) -> Source:
    """A source from `[NAME=]FOLDER` or `[NAME=]TOOLS:PLANS`; plans whose ids begin with one of `leave_out` are left
    out, and the calls of plans that list only `tools` are these, in order. Raises InputError."""
    name, _, place = told.rpartition("=")
    tools_file, _, plans_file = place.partition(":")
    if not plans_file:
        folder = Path(place)
        tools_file, plans_file = str(folder / "tools.jsonl"), str(folder / "demonstrations.jsonl")
    tools = read_tools(tools_file)
    known = {tool.name for tool in tools}
    found: list[Demonstration] = []
    for where, value in parse_objects(read_text(Path(plans_file), "plans as JSONL"), Path(plans_file)):
        listed = value.get("calls", value.get("tools"))
        if not isinstance(listed, list):
            raise InputError(f'{where}: expected "calls" or "tools", found neither')
        names = [call.get("tool") if isinstance(call, dict) else call for call in listed]
        identity = str(value.get("id", len(found)))
        if not identity.startswith(tuple(leave_out)) and all(name in known for name in names):
            query = check_query(value.get("query", ""), where)
            found.append(Demonstration(identity, query, tuple(Call(str(name)) for name in names)))
    if not found:
        raise InputError(f"{plans_file}: no plan over these tools is left in it")
    return Source(name or Path(tools_file).parent.name, tuple(tools), tuple(found))


def make_card(
    sources: Sequence[Source], card: Card, precision: str, tool_form: str, seed: int, offline: bool
) -> dict[str, Any]:
    """The prior card of these sources: weights, calibration map, recipe and figures, as plain data.

    Raises InputError for fewer than two sources, MissingExtraError without the export extra.
    """
    if len({source.name for source in sources}) < 2:
        raise InputError("one source cannot be left out of itself; give --set at least twice, with different names")
    exported = export_encoder(card, precision, offline, 0)
    encoder = OnnxEncoder(
        exported.model, exported.tokenizer, exported.spec, choose(("cpu",), False, {}), available_cpus()
    )
    parts = [part for source in sources for part in cut(source, seed)]
    asked = sorted({d.query for part in parts for d in part.demonstrations})
    encoded = {query: encoder.encode_query(query) for query in track(asked, "encoding", len(asked))}
    say("fitting on all sources but one, in turn")
    sets = [_arranged(part, parts, encoded, encoder, tool_form, seed) for part in parts]
    figures = leave_one_out(sets)
    say("fitting on all sources")
    return {
        "encoder": card.name,
        "weights": fit_prior(sets).to_dict(),
        "calibration_map": [list(point) for point in calibration_map(figures)],
        "recipe": {
            "precision": precision,
            "tool_text": tool_form,
            "seed": seed,
            "adapter": adapter.name if (adapter := encoder_of(card).adapter) else None,
        },
        "sources": {
            source.name: {"tools": len(source.tools), "plans": len(source.demonstrations)} for source in sources
        },
        "left_out": {name: found.to_dict() for name, found in figures.items()},
    }


def calibration_map(figures: Mapping[str, PriorFigures]) -> tuple[tuple[float, float], ...]:
    """From the prior's confidence to how often it was right, on sets that it was not fitted on."""
    confidence = np.concatenate([found.confidence for found in figures.values()])
    return fit_confidence_map(confidence, np.concatenate([found.correct for found in figures.values()]))


def cut(source: Source, seed: int) -> list[Source]:
    """The source itself, or sets of some of its tools if it has more than a user would have; and a few sets of a
    handful of tools, since among few tools every one is near to everything."""
    solved = [demonstration for demonstration in source.demonstrations if demonstration.calls]
    small = [_drawn(source, solved, SMALL_REQUESTS, 0, f"small {seed} {number}") for number in range(SMALL_CUTS)]
    if len(source.tools) <= MOST_TOOLS:
        return [source, *small]
    large = [_drawn(source, solved, CUT_REQUESTS, CUT_TOOLS, f"{seed} {number}") for number in range(CUTS)]
    return [*large, *small]


def _drawn(source: Source, solved: Sequence[Demonstration], requests: int, tools: int, seed: str) -> Source:
    """So many requests, the tools that they need, others up to a number of `tools`, and every request that these
    solve."""
    rng = random.Random(f"{source.name} {seed}")
    asked = rng.sample(solved, min(requests, len(solved)))
    needed = {call.tool for demonstration in asked for call in demonstration.calls}
    others = [tool.name for tool in source.tools if tool.name not in needed]
    needed.update(rng.sample(others, min(len(others), max(0, tools - len(needed)))))
    kept = tuple(tool for tool in source.tools if tool.name in needed)
    if not tools:
        asked = [d for d in solved if all(call.tool in needed for call in d.calls)]
    return Source(source.name, kept, tuple(asked))


def _arranged(
    part: Source,
    parts: Sequence[Source],
    encoded: Mapping[str, EncodedQuery],
    encoder: OnnxEncoder,
    tool_form: str,
    seed: int,
) -> PriorSet:
    """A set as the runtime would arrange it, `<end>` behind its tools."""
    said = [*(tool_words(tool) for tool in part.tools), tool_words(Tool(END, ""))]
    names = [*(tool.name for tool in part.tools), END]
    lexicon, end = Lexicon(said), len(part.tools)
    vectors = encoder.encode_tools([tool_text(tool, tool_form) for tool in part.tools])
    prior = Prior(np.vstack((vectors, np.zeros((1, vectors.shape[1]), np.float32))), end, tool_flow(said, names), BLANK)
    position = {name: i for i, name in enumerate(names)}

    def read(query: str) -> Evidence:
        return evidence(query, encoded[query], lexicon)

    requests = []
    for demonstration in part.demonstrations:
        steps = demonstration.steps()
        calls = tuple(position[call.tool] for call in demonstration.calls)
        accepted = tuple(frozenset(position[name] for name in step.acceptable) for step in steps)
        requests.append(Request(read(demonstration.query), calls, accepted))
    others = [d.query for other in parts if other.name != part.name for d in other.demonstrations if d.calls]
    strangers = random.Random(f"{part.name} {seed}").sample(others, min(STRANGERS, len(others)))
    return PriorSet(part.name, part.name, prior, tuple(requests), tuple(map(read, strangers)))
