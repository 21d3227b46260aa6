"""Tools, demonstrations and a model card to a bundle. The order of the work, and nothing of how each part is done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgeret
from edgeret.bundle import roles
from edgeret.bundle.codec import pack
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.bundle.writer import BundleWriter, writing
from edgeret.cli.progress import say, track
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.encoders.providers import choose
from edgeret.errors import CheckFailedError, MissingExtraError
from edgeret.host import available_cpus
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import tool_text
from edgeret.scoring import index as indexing
from edgeret.types import Tool
from edgeret_export.encoders import parity
from edgeret_export.encoders.export import ExportedEncoder, encoder_of, export_encoder
from edgeret_export.fitting.crossfit import Fitted, crossfit
from edgeret_export.fitting.decisions import StepTable, build_table
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import HeadOptions, Queries, fit_factored, head_to_dict
from edgeret_export.planner.exemplars import pack_exemplars
from edgeret_export.planner.package import PlannerModel, add_planner, fetch_planner
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import Card

GOLDEN = 16
"""Queries whose vectors travel in the bundle, for `edgeret doctor` to repeat on the device."""
OURS, OWN_LICENCE = "built by edgeret-export from the tools and demonstrations given", "as its inputs"


@dataclass(frozen=True, slots=True)
class Built:
    """What a build reports: where the bundle is, its content hash, and what was measured on the way."""

    path: Path
    content_hash: str
    report: dict[str, Any]


def build_bundle(
    tools: Sequence[Tool],
    demonstrations: Sequence[Demonstration],
    target: Path,
    card: Card,
    recipe: Recipe,
    *,
    planner: Card | None = None,
    overwrite: bool = False,
    offline: bool = False,
    allow_unpinned: bool = False,
) -> Built:
    """Builds and writes a bundle; the same inputs and recipe on the same machine give the same bytes.

    `planner` is the card of a language model to put in. Raises CheckFailedError when the parity gate fails, InputError
    for a target or inputs that do not fit, MissingExtraError without the export extra (or `planner`, if one is to go
    in). Nothing appears at `target` unless everything succeeded.
    """
    if len(tools) >= recipe.hnsw_from and not indexing.hnsw_available():
        raise MissingExtraError("hnsw", f"an index of {len(tools)} tools (HNSW from {recipe.hnsw_from})")
    model = None if planner is None else fetch_planner(planner, offline, allow_unpinned)
    with writing(target, overwrite) as writer:
        part = encode(card, recipe, demonstrations, tools, offline)
        content_hash, report = assemble(writer, card, part, tools, demonstrations, recipe, model)
    return Built(target, content_hash, report)


def assemble(
    writer: BundleWriter,
    card: Card,
    part: Encoded,
    tools: Sequence[Tool],
    demonstrations: Sequence[Demonstration],
    recipe: Recipe,
    model: PlannerModel | None = None,
) -> tuple[str, dict[str, Any]]:
    """Fits everything on encoded demonstrations and writes it; returns the content hash and the build's report."""
    texts = [d.query for d in demonstrations]
    table = build_table(demonstrations, tools)
    position = {tool.name: i for i, tool in enumerate(tools)}
    label_vectors = part.tool_vectors[np.array([position[name] for name in table.labels[:-1]], np.intp)]
    queries = Queries(part.vectors, part.segments, label_vectors)
    options = HeadOptions(recipe.inverse_regularisation, recipe.history_scale, recipe.label_smoothing)
    fitted = crossfit(table, queries, texts, recipe.order, options, recipe.seed)
    fingerprint = _write_encoder(writer, card, part.exported)
    _write_index(writer, tools, part.tool_vectors, recipe, fingerprint)
    _write_heads(writer, table, queries, fitted, options, recipe, fingerprint)
    exemplars = pack_exemplars(demonstrations)
    writer.add("exemplars.json", roles.EXEMPLARS, exemplars, OWN_LICENCE, OURS)
    report = {"parity": part.parity.to_dict(), "held_out": fitted.report}
    planner_info = None
    if model is not None:
        planner_info, report["planner"] = add_planner(
            writer, model, fitted, table, demonstrations, tools, recipe, exemplars
        )
    toolchain = {**part.exported.toolchain, "scikit-learn": version("scikit-learn"), "numpy": version("numpy")}
    content_hash = writer.finish(
        {
            roles.INFO_EDGERET: edgeret.__version__,
            roles.INFO_ENCODER: {"card": card.name, "fingerprint": fingerprint, "spec": part.exported.spec.to_dict()},
            **({} if planner_info is None else {roles.INFO_PLANNER: planner_info}),
            roles.INFO_CALIBRATION: _calibration(writer, fitted, fingerprint),
            roles.INFO_GOLDEN: _golden(texts, part.vectors),
            roles.INFO_COUNTS: _counts(tools, demonstrations, table, fitted),
            roles.INFO_RECIPE: asdict(recipe),
            roles.INFO_REPORT: report,
            roles.INFO_TOOLCHAIN: toolchain,
        }
    )
    return content_hash, report


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoder that passed the parity gate, with the vectors it gave: of the demonstrations' queries
    (plans, dimension), of their parts (plans, SEGMENTS, dimension), and of the tools (tools, dimension)."""

    exported: ExportedEncoder
    encoder: OnnxEncoder
    vectors: NDArray[np.float32]
    segments: NDArray[np.float32]
    tool_vectors: NDArray[np.float32]
    parity: parity.Parity


def encode(
    card: Card, recipe: Recipe, demonstrations: Sequence[Demonstration], tools: Sequence[Tool], offline: bool
) -> Encoded:
    """Exports the encoder and encodes everything with it, trying what the card allows until the parity gate passes.

    Raises CheckFailedError with the last attempt's figures when none does.
    """
    attempts = len(encoder_of(card).int8_keep) if recipe.precision == "int8" else 1
    attempt = 0
    while True:
        encoded = _encode(card, recipe, demonstrations, tools, offline, attempt)
        try:
            parity.check(encoded.parity, recipe.precision)
        except CheckFailedError as error:
            attempt += 1
            if attempt == attempts:
                raise
            say(f"{error}; trying again with more of the model in fp32")
        else:
            return encoded


def _encode(
    card: Card,
    recipe: Recipe,
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    offline: bool,
    attempt: int,
) -> Encoded:
    exported = export_encoder(card, recipe.precision, offline, attempt)
    choice = choose(("cpu",), False, {})
    encoder = OnnxEncoder(exported.model, exported.tokenizer, exported.spec, choice, available_cpus())
    n = len(demonstrations)
    both = [encoder.encode_query(d.query)[0] for d in track(demonstrations, "encoding demonstrations", n)]
    vectors, segments = np.stack([rows[0] for rows in both]), np.stack([rows[1:] for rows in both])
    texts = [tool_text(tool, recipe.tool_text) for tool in tools]
    tool_vectors = encoder.encode_tools(texts)
    say("comparing with the torch original")
    position = {tool.name: i for i, tool in enumerate(tools)}
    chosen = parity.sample(n)
    measured = parity.measure(
        exported.model_folder,
        encoder,
        [demonstrations[i].query for i in chosen],
        [frozenset(position[call.tool] for call in demonstrations[i].calls) for i in chosen],
        texts,
        vectors[chosen],
        tool_vectors,
    )
    return Encoded(exported, encoder, vectors, segments, tool_vectors, measured)


def _write_encoder(writer: BundleWriter, card: Card, exported: ExportedEncoder) -> str:
    source = f"{card.name}: {card.sources[0]}"
    weights = writer.add("encoder.onnx", roles.ENCODER, exported.model, card.licence, source)
    tokenizer = writer.add("tokenizer.json", roles.TOKENIZER, exported.tokenizer, card.licence, source)
    return encoder_fingerprint(exported.spec.to_dict(), weights.sha256, tokenizer.sha256)


def _write_index(
    writer: BundleWriter, tools: Sequence[Tool], vectors: NDArray[np.float32], recipe: Recipe, fingerprint: str
) -> None:
    listed = [asdict(tool) for tool in tools]
    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    writer.add("tools.json", roles.TOOLS, text.encode(), OWN_LICENCE, OURS)
    names = [tool.name for tool in tools]
    data = indexing.pack_index(names, vectors, fingerprint)
    writer.add("index.msgpack", roles.INDEX, data, OWN_LICENCE, OURS)
    if len(tools) >= recipe.hnsw_from:
        say("building the HNSW graph")
        writer.add("index.hnsw", roles.HNSW, indexing.build_hnsw(vectors, recipe.seed), OWN_LICENCE, OURS)


def _write_heads(
    writer: BundleWriter,
    table: StepTable,
    queries: Queries,
    fitted: Fitted,
    options: HeadOptions,
    recipe: Recipe,
    fingerprint: str,
) -> None:
    say("fitting graph and head on all demonstrations")
    graph = fit_graph(table, queries.vectors, fitted.n_clusters, recipe.order, recipe.seed)
    head = fit_factored(table, queries, options)
    packed = pack(graph.to_dict(fitted.graph_options, fingerprint))
    writer.add("graph.msgpack", roles.GRAPH, packed, OWN_LICENCE, OURS)
    writer.add("head.msgpack", roles.HEAD, pack(head_to_dict(head, fingerprint)), OWN_LICENCE, OURS)


def _calibration(writer: BundleWriter, fitted: Fitted, fingerprint: str) -> dict[str, Any]:
    """What was fitted on held-out decisions, tied to the very heads it was fitted with."""
    hashes = {entry.role: entry.sha256 for entry in writer.entries}
    owners = {"encoder": fingerprint, **{role: hashes[role] for role in (roles.GRAPH, roles.HEAD)}}
    return {**owners, "parameters": fitted.calibration.to_dict()}


def _golden(queries: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, Any]:
    chosen = parity.sample(len(queries), GOLDEN)
    return {"queries": [queries[i] for i in chosen], "vectors": vectors[chosen]}


def _counts(
    tools: Sequence[Tool], demonstrations: Sequence[Demonstration], table: StepTable, fitted: Fitted
) -> dict[str, Any]:
    return {
        "tools": len(tools),
        "demonstrations": len(demonstrations),
        "decisions": int(table.written.sum()),
        "clusters": fitted.n_clusters,
        "longest_plan": max(len(d.calls) for d in demonstrations),
        "no_tool_demonstrations": sum(not d.calls for d in demonstrations),
        "without_demonstration": sorted(tool.name for tool in tools if tool.name not in table.labels),
    }
