"""Tools, demonstrations and a model card to a bundle. The order of the work, and nothing of how each part is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgeret
from edgeret.bundle import roles
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.bundle.writer import BundleWriter, writing
from edgeret.cli.progress import say, track
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.errors import CheckFailedError, MissingExtraError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import name_in_words, tool_text
from edgeret.planner.exemplars import pack_exemplars
from edgeret.runtime.tool_set import pack_tools
from edgeret.scoring import index as indexing
from edgeret.scoring.calibration import pack_calibration
from edgeret.scoring.episodes import pack_memory
from edgeret.scoring.graph import pack_graph
from edgeret.scoring.head import pack_head
from edgeret.types import Tool
from edgeret_export.encoders import parity
from edgeret_export.encoders.expansion import expand_vectors
from edgeret_export.encoders.export import ExportedEncoder, attempts, encoder_of, export_encoder
from edgeret_export.encoders.gate import Gate, start
from edgeret_export.encoders.questions import sample
from edgeret_export.finetune import finetuned
from edgeret_export.fitting.crossfit import Fitted, crossfit, plan_calls
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import fit_factored
from edgeret_export.fitting.training_set import TrainingSet, training_set
from edgeret_export.planner.exemplars import choose_exemplars
from edgeret_export.planner.package import PlannerModel, add_planner, fetch_planner
from edgeret_export.recipe import AUTO, Recipe
from edgeret_export.sources.cards import Card
from edgeret_export.sources.expansions import Expansion
from edgeret_export.sources.priors import PriorCard, read_prior

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
    finetune: bool = False,
    planner: Card | None = None,
    expansion: Expansion | None = None,
    overwrite: bool = False,
    offline: bool = False,
    allow_unpinned: bool = False,
) -> Built:
    """Builds and writes a bundle; the same inputs and recipe on the same machine give the same bytes.

    `finetune` tunes the encoder on the demonstrations first; `planner` is the card of a language model to put in,
    `expansion` holds queries that make tools' vectors better. Raises CheckFailedError when the parity gate fails,
    InputError for a target or inputs that do not fit, MissingExtraError without the export extra (`planner` or `train`,
    where these are used). Nothing appears at `target` unless everything succeeded.
    """
    if len(tools) >= recipe.hnsw_from and not indexing.hnsw_available():
        raise MissingExtraError("hnsw", f"an index of {len(tools)} tools (HNSW from {recipe.hnsw_from})")
    model = None if planner is None else fetch_planner(planner, offline, allow_unpinned)
    with writing(target, overwrite) as writer:
        held_back = None
        if finetune:
            card, held_back = finetuned(card, tools, demonstrations, recipe.seed, offline)
        encoded = encode(card, recipe, demonstrations, tools, offline, expansion)
        if held_back is not None and encoded.training is not None:
            encoded = replace(encoded, training=encoded.training.judged_by(held_back))
        content_hash, report = assemble(writer, card, encoded, recipe, model)
    return Built(target, content_hash, report)


def assemble(
    writer: BundleWriter, card: Card, encoded: Encoded, recipe: Recipe, model: PlannerModel | None = None
) -> tuple[str, dict[str, Any]]:
    """Fits everything on what was encoded and writes it; returns the content hash and the build's report."""
    training, spec, adapter = encoded.training, encoded.exported.spec, encoder_of(card).adapter
    fitted = Fitted.of_nothing(recipe.order, encoded.prior.calibration_map)
    if training is not None:
        fitted = crossfit(training, recipe.order, recipe.head_options, encoded.prior.calibration_map)
    fingerprint = _write_encoder(writer, card, encoded.exported)
    _write_index(writer, encoded, recipe, fingerprint)
    if training is not None:
        _write_heads(writer, training, fitted, recipe, fingerprint)
    demonstrations = () if training is None else training.demonstrations
    writer.add("exemplars.json", roles.EXEMPLARS, pack_exemplars(choose_exemplars(demonstrations)), OWN_LICENCE, OURS)
    report = {"parity": encoded.parity.to_dict(), "held_out": fitted.report, **encoded.report}
    planner_info = None
    if model is not None:
        planner_info, report["planner"] = add_planner(writer, model, training, fitted, recipe.planner_questions)
    hashes = {entry.role: entry.sha256 for entry in writer.entries}
    toolchain = {**encoded.exported.toolchain, "scikit-learn": version("scikit-learn"), "numpy": version("numpy")}
    content_hash = writer.finish(
        {
            roles.INFO_EDGERET: edgeret.__version__,
            roles.INFO_ENCODER: {
                "card": card.name,
                "fingerprint": fingerprint,
                "spec": spec.to_dict(),
                **({} if adapter is None else {"adapter": {"name": adapter.name, "sha256": adapter.sha256}}),
            },
            **({} if planner_info is None else {roles.INFO_PLANNER: planner_info}),
            roles.INFO_CALIBRATION: pack_calibration(fitted.calibration, fingerprint, hashes),
            roles.INFO_PRIOR: encoded.prior.weights.to_dict(),
            roles.INFO_GOLDEN: encoded.golden,
            roles.INFO_COUNTS: _counts(encoded.tools, training, fitted),
            roles.INFO_RECIPE: asdict(recipe),
            roles.INFO_REPORT: report,
            roles.INFO_TOOLCHAIN: toolchain,
        }
    )
    return content_hash, report


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoder that passed the parity gate, the tools with their vectors (tools, dimension), the training set of the
    demonstrations (None if there are none), queries whose vectors travel along, and the prior for all of it. `report`
    tells of the expansion, if there was one."""

    exported: ExportedEncoder
    tools: Sequence[Tool]
    tool_vectors: NDArray[np.float32]
    training: TrainingSet | None
    golden: Mapping[str, Any]
    prior: PriorCard
    parity: parity.Parity
    report: Mapping[str, Any] = field(default_factory=dict)


def encode(
    card: Card,
    recipe: Recipe,
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    offline: bool,
    expansion: Expansion | None = None,
) -> Encoded:
    """Exports the encoder and encodes everything with it, trying what card and recipe allow until the gate passes.

    Raises CheckFailedError when fp32 is not its torch original, or when the precision that was asked for does not pass.
    """
    prior = read_prior(card.name)
    gate = Gate(
        export_encoder(card, "fp32", offline), demonstrations, tools, [tool_text(t, recipe.tool_text) for t in tools]
    )
    objections = ""
    for precision, attempt in attempts(card, None if recipe.precision == AUTO else recipe.precision):
        if objections:
            say(f"parity gate: {objections}; trying {precision} with more of the model in fp32")
        exported = export_encoder(card, precision, offline, attempt)
        encoded = encode_with(exported, gate, recipe, demonstrations, tools, prior, expansion)
        objections = "; ".join(parity.problems(encoded.parity))
        if not objections:
            say(f"encoder: {encoded.parity.cost()}")
            return encoded
    raise CheckFailedError(
        f"parity gate ({recipe.precision}): {objections}. Nothing was written. Without --precision {recipe.precision} "
        "the build goes on to fp32 by itself"
    )


def encode_with(
    exported: ExportedEncoder,
    gate: Gate,
    recipe: Recipe,
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    prior: PriorCard,
    expansion: Expansion | None = None,
) -> Encoded:
    """Everything encoded with an exported encoder, and how its vectors compare with the original's. Demonstrations may
    be none."""
    encoder, texts = start(exported), [tool_text(tool, recipe.tool_text) for tool in tools]
    plain = tool_vectors = encoder.encode_tools(texts)
    report: dict[str, Any] = {}
    if expansion is not None:
        expanded = expand_vectors(plain, texts, expansion.of(tools), encoder, recipe.seed)
        tool_vectors = expanded.vectors
        report["expansion"] = {"sha256": expansion.sha256, **expanded.report}
    training = None
    vectors = np.zeros((0, exported.spec.dimension), np.float32)
    if demonstrations:
        shown = track(demonstrations, "encoding demonstrations", len(demonstrations))
        queries = (encoder.encode_query(demonstration.query) for demonstration in shown)
        training = training_set(demonstrations, tools, queries, tool_vectors, prior.weights, recipe.seed)
        vectors = training.queries.vectors
    measured = gate.measure(exported, encoder, vectors, plain)
    golden = _golden(encoder, demonstrations, tools, vectors)
    return Encoded(exported, tools, tool_vectors, training, golden, prior, measured, report)


def _write_encoder(writer: BundleWriter, card: Card, exported: ExportedEncoder) -> str:
    adapter, source = encoder_of(card).adapter, f"{card.name}: {card.sources[0]}"
    tuned = source if adapter is None else f"{source}, tuned with {adapter.name} (sha256 {adapter.sha256})"
    weights = writer.add("encoder.onnx", roles.ENCODER, exported.model, card.licence, tuned)
    tokenizer = writer.add("tokenizer.json", roles.TOKENIZER, exported.tokenizer, card.licence, source)
    return encoder_fingerprint(exported.spec.to_dict(), weights.sha256, tokenizer.sha256)


def _write_index(writer: BundleWriter, encoded: Encoded, recipe: Recipe, fingerprint: str) -> None:
    tools, vectors = encoded.tools, encoded.tool_vectors
    writer.add("tools.json", roles.TOOLS, pack_tools(tools), OWN_LICENCE, OURS)
    data = indexing.pack_index([tool.name for tool in tools], vectors, fingerprint)
    writer.add("index.msgpack", roles.INDEX, data, OWN_LICENCE, OURS)
    if len(tools) >= recipe.hnsw_from:
        say("building the HNSW graph")
        writer.add("index.hnsw", roles.HNSW, indexing.build_hnsw(vectors, recipe.seed), OWN_LICENCE, OURS)


def _write_heads(writer: BundleWriter, training: TrainingSet, fitted: Fitted, recipe: Recipe, fingerprint: str) -> None:
    say("fitting graph and head on all demonstrations")
    graph = pack_graph(fit_graph(training, fitted.n_clusters, recipe.order), fitted.graph_options, fingerprint)
    head = pack_head(fit_factored(training, recipe.head_options).arrays, fingerprint)
    writer.add("graph.msgpack", roles.GRAPH, graph, OWN_LICENCE, OURS)
    writer.add("head.msgpack", roles.HEAD, head, OWN_LICENCE, OURS)
    if training.prior.steps is not None:
        memory = pack_memory(training.queries.vectors[training.plans], plan_calls(training), fingerprint)
        writer.add("memory.msgpack", roles.MEMORY, memory, OWN_LICENCE, OURS)


def _golden(
    encoder: OnnxEncoder,
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    vectors: NDArray[np.float32],
) -> dict[str, Any]:
    """Some of the demonstrations' queries with their vectors (plans, dimension); without demonstrations tools' names in
    words."""
    chosen = sample(len(demonstrations) or len(tools), GOLDEN)
    if demonstrations:
        return {"queries": [demonstrations[i].query for i in chosen], "vectors": vectors[chosen]}
    queries = [name_in_words(tools[i].name) for i in chosen]
    return {"queries": queries, "vectors": np.stack([encoder.encode_query(query).vector for query in queries])}


def _counts(tools: Sequence[Tool], training: TrainingSet | None, fitted: Fitted) -> dict[str, Any]:
    demonstrations = () if training is None else training.demonstrations
    labels = () if training is None else training.decisions.labels
    return {
        "tools": len(tools),
        "demonstrations": len(demonstrations),
        "decisions": 0 if training is None else int(training.decisions.written.sum()),
        "clusters": fitted.n_clusters,
        "longest_plan": max((len(d.calls) for d in demonstrations), default=0),
        "no_tool_demonstrations": sum(not d.calls for d in demonstrations),
        "without_demonstration": sorted(tool.name for tool in tools if tool.name not in labels),
    }
