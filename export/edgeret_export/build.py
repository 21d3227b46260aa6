"""Tools, demonstrations and a model card to a bundle. The order of the work, and nothing of how each part is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgeret
from edgeret.bundle import roles
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.errors import CheckFailedError, InputError, MissingExtraError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import tool_text
from edgeret.runtime.options import LOSS
from edgeret.terminal.progress import say, track
from edgeret.types import Tool
from edgeret_export.argument_stage import argument_role, read_by
from edgeret_export.encoded import Encoded, golden_of
from edgeret_export.encoders import parity
from edgeret_export.encoders.argument_card import argument_card_of
from edgeret_export.encoders.encodings import Encodings, remembered, start
from edgeret_export.encoders.expansion import expand_vectors
from edgeret_export.encoders.export import ExportedEncoder, attempts, encoder_of, export_encoder
from edgeret_export.encoders.gate import gate_of
from edgeret_export.encoders.pretrained import token_vectors_of
from edgeret_export.encoders.questions import from_tools
from edgeret_export.encoders.targets import Wanted, make_variants
from edgeret_export.encoders.word_vectors import word_vectors
from edgeret_export.finetune import finetuned
from edgeret_export.fitting import declines
from edgeret_export.fitting.cascade import fit_thresholds
from edgeret_export.fitting.crossfit import Fitted, crossfit
from edgeret_export.fitting.familiarity import means_of, no_means, read_sayings, usual_edge
from edgeret_export.fitting.folds import plan_calls
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.parameters import Parameters
from edgeret_export.fitting.shown import shown_examples, undemonstrated
from edgeret_export.fitting.spoken import spoken
from edgeret_export.fitting.training_set import TrainingSet, training_set
from edgeret_export.fitting.whole import Whole, fit_whole
from edgeret_export.golden import finish
from edgeret_export.places import HERE, Place
from edgeret_export.planner.exemplars import choose_exemplars, pack_exemplars
from edgeret_export.planner.package import PlannerModel, add_planner, fetch_planner
from edgeret_export.recipe import Recipe
from edgeret_export.reference.encoders.encoder_arrays import pack_arrays
from edgeret_export.reference.encoders.word_vectors import pack_word_vectors
from edgeret_export.reference.scoring import index as indexing
from edgeret_export.reference.scoring.calibration import pack_calibration
from edgeret_export.reference.scoring.cascade import Thresholds
from edgeret_export.reference.scoring.episodes import pack_memory
from edgeret_export.reference.scoring.familiarity import Familiarity, pack_familiarity
from edgeret_export.reference.scoring.graph import GraphTables, pack_graph
from edgeret_export.reference.scoring.head import HeadArrays, pack_head
from edgeret_export.reference.shown import texts_of
from edgeret_export.reference.similar_words import table_of
from edgeret_export.reference.tool_set import pack_tools
from edgeret_export.reference.word_table import pack_words
from edgeret_export.refusal_level import leveled
from edgeret_export.sources.cards import Card
from edgeret_export.sources.expansions import Expansion
from edgeret_export.sources.priors import PriorCard, prior_for, prior_of_tables
from edgeret_export.static_stage import static_encoded, turn
from edgeret_export.target_stage import chosen_precision, tried, write_variants
from edgeret_export.writer import BundleWriter, writing

MOST_TOKENS = 100_000
"""Tokens that an encoder's vocabulary may have for a table beside it: each is encoded once, so that of a multilingual
one would take longer than all the rest of a build, and be as large as its int8 encoder's layers."""
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
    token_vectors: str | None = None,
    argument_head: str | None = None,
    place: Place = HERE,
) -> Built:
    """Builds and writes a bundle; the same inputs and recipe on the same machine give the same bytes.

    `finetune` tunes the encoder on the demonstrations first; `planner` is the card of a language model to put in,
    `expansion` holds queries that make tools' vectors better; `token_vectors` names a file where tables of them start,
    and `argument_head` what reads arguments, in place of what is shipped for the encoder (`none`: without). The `place`
    is where texts are encoded and heads fitted, and changes no byte. Raises CheckFailedError if the parity gate fails,
    InputError for a target or inputs that do not fit, MissingExtraError without an extra that is needed. Nothing
    appears at `target` unless everything succeeded.
    """
    if len(tools) >= recipe.hnsw_from and not indexing.hnswlib_available():
        raise MissingExtraError("hnsw", f"an index of {len(tools)} tools (HNSW from {recipe.hnsw_from})")
    if token_vectors is not None and recipe.profile == "full":
        raise InputError("--token-vectors: a bundle of the profile full has no table that could start there")
    model = None if planner is None else fetch_planner(planner, offline, allow_unpinned)
    tools = undemonstrated(tools, demonstrations)
    with writing(target, overwrite) as writer:
        held_back = None
        if finetune:
            card, held_back = finetuned(card, tools, demonstrations, recipe.seed, offline)
        start_at, head = token_vectors_of(card, token_vectors), argument_card_of(card, argument_head)
        encoded = encode(card, recipe, demonstrations, tools, offline, expansion, place)
        encoded = replace(encoded, token_vectors=start_at, argument_card=head)
        if held_back is not None and encoded.training is not None:
            encoded = replace(encoded, training=encoded.training.judged_by(held_back))
        content_hash, report = assemble(writer, card, encoded, recipe, model, place)
    nothing = declines.foreign(edgeret.load(target), tools, start(encoded.exported), encoded.training)
    return Built(target, content_hash, {**report, "nothing": {**report["nothing"], **nothing}})


def assemble(
    writer: BundleWriter,
    card: Card,
    encoded: Encoded,
    recipe: Recipe,
    model: PlannerModel | None = None,
    place: Place = HERE,
) -> tuple[str, dict[str, Any]]:
    """Fits everything on what was encoded and writes it; returns the content hash and the build's report."""
    if recipe.profile == "tiny":
        # A table's cosines say less than the encoder's, so other weights are right for them.
        tabled = None if encoded.token_vectors is None else prior_of_tables(card)
        encoded = static_encoded(replace(encoded, prior=tabled or encoded.prior), recipe)
    training, fitted = encoded.training, _fitted(encoded, recipe, place)
    demonstrations = () if training is None else training.demonstrations
    licence, source = card.licence, f"{card.name}: {card.sources[0]}"
    tokenizer = writer.add("tokenizer.json", roles.TOKENIZER, encoded.exported.tokenizer, licence, source)
    words = pack_word_vectors(encoded.word_vectors, tokenizer.sha256)
    writer.add("word-vectors.msgpack", roles.WORD_VECTORS, words, licence, source)
    writer.add("tools.json", roles.TOOLS, pack_tools(encoded.tools), OWN_LICENCE, OURS)
    if len(encoded.tools) >= recipe.hnsw_from:
        writer.add("words.msgpack", roles.WORDS, pack_words(table_of(encoded.tools)), OWN_LICENCE, OURS)
    writer.add("exemplars.json", roles.EXEMPLARS, pack_exemplars(choose_exemplars(demonstrations)), OWN_LICENCE, OURS)
    stage = Stage(encoded, fitted, recipe, place)
    info = _write_stage(writer, None, card, stage, tokenizer.sha256)
    info |= write_variants(writer, encoded.variants, licence, source)
    report = {"parity": encoded.parity.to_dict(), "held_out": fitted.report, **encoded.report}
    report["nothing"] = declines.in_scope(training, fitted)
    if encoded.token_vectors is not None and recipe.profile != "full":
        report["token_vectors"] = {"sha256": encoded.token_vectors.sha256, **encoded.token_vectors.told}
    if encoded.variants:
        report["variants"] = {each.variant.name: dict(each.report) for each in encoded.variants}
    if recipe.profile == "default":
        first = _first_stage(stage)
        if first is not None:
            own = _write_stage(writer, roles.STATIC, card, first.stage, tokenizer.sha256)
            info[roles.STATIC] = {**own, roles.INFO_CASCADE: first.thresholds.to_dict()}
            report["cascade"] = {"held_out": first.stage.fitted.report, **first.report}
    read = argument_role(encoded, info[roles.INFO_ENCODER]["fingerprint"], recipe.seed)
    if read is not None:
        writer.add("arguments.msgpack", roles.ARGUMENTS, read.data, OWN_LICENCE, OURS)
        report["arguments"] = read.report
    planner_info = None
    if model is not None:
        reads = read_by(None if read is None else read.reader, encoded.tools)
        planner_info, report["planner"] = add_planner(writer, model, training, fitted, recipe.planner_questions, reads)
    toolchain = {**encoded.exported.toolchain, "scikit-learn": version("scikit-learn"), "numpy": version("numpy")}
    told = {
        roles.INFO_EDGERET: edgeret.__version__,
        **info,
        **({} if planner_info is None else {roles.INFO_PLANNER: planner_info}),
        roles.INFO_PRIOR: encoded.prior.weights.to_dict(),
        roles.INFO_COUNTS: _counts(encoded.tools, training, fitted),
        roles.INFO_RECIPE: asdict(recipe),
        roles.INFO_REPORT: report,
        roles.INFO_TOOLCHAIN: toolchain,
    }
    return finish(writer, encoded, leveled(writer, encoded, told)), report


@dataclass(frozen=True, slots=True)
class Stage:
    """What one encoder read, what was fitted and chosen on it, and how and where that goes on."""

    encoded: Encoded
    fitted: Fitted
    recipe: Recipe
    place: Place


@dataclass(frozen=True, slots=True)
class _First:
    """What decides before the full encoder is asked."""

    stage: Stage
    thresholds: Thresholds
    report: Mapping[str, Any]


def _first_stage(full: Stage) -> _First | None:
    """A table of token vectors with heads of its own; None where there are too few demonstrations to say when it is
    sure enough, or where it never is."""
    if full.fitted.held_out is None:
        return None
    if (tokens := start(full.encoded.exported).vocabulary) > MOST_TOKENS:
        say(f"token vectors: left out, since {tokens} would each be read; --profile tiny makes them all the same")
        return None
    small = static_encoded(full.encoded, full.recipe)
    if full.encoded.training is None or small.training is None:
        return None
    # Its heads want as much penalty as those of the full encoder, and begin where these ended.
    options, turned = replace(full.fitted.head_options, halvings=0), turn(small.training, full.encoded.training)
    starts = {number: end.turned(turned) for number, end in full.fitted.ends.items()}
    refitted = _fitted(small, full.recipe, full.place, options, starts)
    if refitted.held_out is None:
        return None
    words = small.training.prior.static
    thresholds, report = fit_thresholds(full.encoded.training, words, refitted.held_out, full.fitted.held_out)
    if thresholds.at(LOSS) > 1:
        say("token vectors: never sure enough to decide without the full encoder, so they are left out")
        return None
    return _First(replace(full, encoded=small, fitted=refitted), thresholds, report)


def _fitted(
    encoded: Encoded,
    recipe: Recipe,
    place: Place,
    options: HeadOptions | None = None,
    starts: Mapping[int, Parameters] | None = None,
) -> Fitted:
    options, prior_map = options or recipe.head_options, encoded.prior.calibration_map
    if encoded.training is None:
        return Fitted.of_nothing(usual_edge(encoded.sayings), recipe.order, options, prior_map)
    of_table = encoded.exported.role == roles.TABLE
    risk = recipe.risk or None
    return crossfit(encoded.training, encoded.sayings, recipe.order, options, prior_map, risk, place, of_table, starts)


def _write_stage(writer: BundleWriter, part: str | None, card: Card, stage: Stage, tokenizer: str) -> dict[str, Any]:
    """Writes an encoder and its heads, as a part or the bundle; what the manifest says. `tokenizer`: its sha256."""
    encoded, fitted, recipe = stage.encoded, stage.fitted, stage.recipe
    exported, adapter = encoded.exported, encoder_of(card).adapter
    hashes: dict[str, str] = {}

    def add(role: str, file: str, data: bytes, licence: str = OWN_LICENCE, source: str = OURS) -> None:
        file, played = (file, role) if part is None else (roles.of_part(part, file), roles.of_part(part, role))
        hashes[role] = writer.add(file, played, data, licence, source).sha256

    source = f"{card.name}: {card.sources[0]}"
    tuned = source if adapter is None else f"{source}, tuned with {adapter.name} (sha256 {adapter.sha256})"
    if exported.role == roles.ENCODER:
        add(roles.ENCODER, "encoder.onnx", exported.model, card.licence, tuned)
        if (arrays := pack_arrays(exported.model, exported.spec)) is not None:
            add(roles.ENCODER_ARRAYS, "encoder-arrays.msgpack", arrays)
    else:
        made_of = tuned if exported.role == roles.ENCODER_ARRAYS else f"token vectors fitted to {tuned}"
        add(exported.role, f"{exported.role}.msgpack", exported.model, card.licence, made_of)
    fingerprint = encoder_fingerprint(exported.spec.to_dict(), hashes[exported.role], tokenizer)
    names, vectors, shown = [tool.name for tool in encoded.tools], encoded.tool_vectors, encoded.examples
    add(roles.INDEX, "index.msgpack", indexing.pack_index(names, vectors, fingerprint, recipe.stored_as, shown))
    if len(names) >= recipe.hnsw_from:
        say("building the HNSW graph")
        add(roles.HNSW, "hnsw.msgpack", indexing.build_hnsw(vectors, recipe.seed, fingerprint))
    training = encoded.training
    if training is not None:
        say("fitting graph and head on all demonstrations")
        given = Whole(training.bare(), fitted.n_clusters, recipe.order, fitted.head_options, fitted.start)
        tables, head = stage.place.each(fit_whole, given, ("graph", "head"))
        assert isinstance(tables, GraphTables) and isinstance(head, HeadArrays)
        add(roles.GRAPH, "graph.msgpack", pack_graph(tables, fitted.graph_options, fingerprint))
        add(roles.HEAD, "head.msgpack", pack_head(head, fingerprint))
        if training.prior.steps is not None:
            memory = pack_memory(training.queries.vectors[training.plans], plan_calls(training), fingerprint)
            add(roles.MEMORY, "memory.msgpack", memory)
    means = no_means(vectors.shape[1]) if training is None else means_of(training)
    add(roles.FAMILIARITY, "familiarity.msgpack", pack_familiarity(Familiarity(means, fitted.edge.edge), fingerprint))
    return {
        roles.INFO_ENCODER: {
            "card": card.name,
            "fingerprint": fingerprint,
            "spec": exported.spec.to_dict(),
            **({"languages": list(told)} if (told := encoder_of(card).languages) else {}),
            **({} if adapter is None else {"adapter": {"name": adapter.name, "sha256": adapter.sha256}}),
        },
        roles.INFO_CALIBRATION: pack_calibration(fitted.calibration, fingerprint, hashes),
        roles.INFO_GOLDEN: encoded.golden,
    }


def encode(
    card: Card,
    recipe: Recipe,
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    offline: bool,
    expansion: Expansion | None = None,
    place: Place = HERE,
) -> Encoded:
    """Exports the encoder and encodes everything with it, trying what card and recipe allow until the gate passes.

    Raises CheckFailedError when fp32 is not its torch original, or when the precision that was asked for does not pass.
    """
    prior, texts = prior_for(card), [tool_text(tool, recipe.tool_text) for tool in tools]
    objections, int8_attempt = "", 0
    with gate_of(export_encoder(card, "fp32", offline), demonstrations, tools, texts) as gate:
        for precision, attempt in attempts(card, chosen_precision(recipe)):
            if objections:
                say(f"parity gate: {objections}; trying {precision} with more of the model in fp32")
            int8_attempt = attempt if precision == "int8" else int8_attempt
            exported = export_encoder(card, precision, offline, attempt)
            with remembered(exported, start(exported), place) as encodings:
                vectors = encodings.tools(texts)
                measured = gate.measure(len(exported.model), encodings, vectors)
                objections = "; ".join(parity.problems(measured))
                if not objections:
                    say(f"{'it teaches the table' if recipe.profile == 'tiny' else 'encoder'}: {measured.cost()}")
                    wanted = Wanted(
                        recipe.target_names,
                        recipe.npu_lengths,
                        [given.query for given in demonstrations] or from_tools(tools).texts,
                        texts,
                        int8_attempt,
                    )
                    variants = tuple(tried(make_variants(card, exported, wanted, offline), gate, vectors))
                    passed = Passed(exported, encodings, vectors, measured)
                    encoded = encode_with(passed, recipe, demonstrations, tools, prior, expansion)
                    return replace(encoded, variants=variants)
    raise CheckFailedError(
        f"parity gate ({recipe.precision}): {objections}. Nothing was written. Without --precision {recipe.precision} "
        "the build goes on to fp32 by itself"
    )


@dataclass(frozen=True, slots=True)
class Passed:
    """An export that passed the parity gate, its encodings and vectors of the tools (tools, dimension), and what the
    gate measured."""

    exported: ExportedEncoder
    encodings: Encodings
    tool_vectors: NDArray[np.float32]
    parity: parity.Parity


def encode_with(
    passed: Passed,
    recipe: Recipe,
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    prior: PriorCard,
    expansion: Expansion | None = None,
) -> Encoded:
    """Everything encoded with an exported encoder. Demonstrations may be none."""
    encoder, exported, tool_vectors = passed.encodings.encoder, passed.exported, passed.tool_vectors
    report: dict[str, Any] = {}
    if expansion is not None:
        texts = [tool_text(tool, recipe.tool_text) for tool in tools]
        expanded = expand_vectors(tool_vectors, texts, expansion.of(tools), encoder, recipe.seed)
        tool_vectors = expanded.vectors
        report["expansion"] = {"sha256": expansion.sha256, **expanded.report}
    tool_vectors = indexing.as_stored(tool_vectors, recipe.stored_as)
    training, examples = None, shown_examples(tools, passed.encodings.queries(texts_of(tools)))
    if demonstrations:
        shown = track(demonstrations, "encoding demonstrations", len(demonstrations))
        queries = passed.encodings.passages(demonstration.query for demonstration in shown)
        training = training_set(
            demonstrations, tools, queries, tool_vectors, prior.weights, recipe.seed, examples=examples
        )
    golden, words = golden_of(encoder, demonstrations, tools), word_vectors(exported)
    sayings = passed.encodings.queries(read_sayings(spoken(demonstrations, tools)))
    found = Encoded(exported, tools, tool_vectors, sayings, words, training, golden, prior, passed.parity, report)
    return replace(found, examples=examples)


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
