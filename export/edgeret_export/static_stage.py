"""The same tools and demonstrations, read by a table of token vectors in the place of the large encoder. Fits the
table, and nothing on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.encoders.base import MAX_TOKENS, EncodedQuery, EncoderSpec
from edgeret.inputs.tool_text import tool_text
from edgeret.terminal.progress import say, track
from edgeret.types import Tool
from edgeret_export.encoded import Encoded, golden_of
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.pretrained import TokenVectors
from edgeret_export.encoders.questions import from_tools
from edgeret_export.encoders.static import DIMENSION, Alone, TableFit, Texts, single_tokens
from edgeret_export.fitting.familiarity import read_sayings
from edgeret_export.fitting.shown import shown_examples
from edgeret_export.fitting.spoken import spoken
from edgeret_export.fitting.training_set import FOLDS, TrainingSet, training_set
from edgeret_export.recipe import Recipe
from edgeret_export.reference.encoders.static import StaticEncoder, pack_table
from edgeret_export.reference.encoders.windows import WindowEncoder
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.index import as_stored
from edgeret_export.reference.shown import encode_examples

OF_TOOLS = 0.03
"""Penalty of a table that starts at other people's requests and is pulled by tools' texts alone, a tenth to ten times
of which finds nearly as much. Those texts held back could not say: they are no requests."""
EVERYWHERE = -1
"""The fold of texts that every table may be fitted to: those of the tools."""


def static_encoded(encoded: Encoded, recipe: Recipe) -> Encoded:
    """What a table of token vectors makes of everything that the large encoder read.

    Every demonstration's query is read by a table that was not fitted to it, so that what is fitted on its vectors
    meets the queries of users; the table that ships is fitted to all.
    """
    say("fitting token vectors")
    exported, training = encoded.exported, encoded.training
    pretrained = encoded.token_vectors
    encoder = start(exported)
    texts = [tool_text(tool, recipe.tool_text) for tool in encoded.tools]
    vectors = encoded.tool_vectors
    if training is None and pretrained is not None:
        final, found = table_of_tools(exported, encoder, texts, vectors, pretrained)
        return _with_table(encoded, final, as_stored(found, recipe.stored_as), None)
    if training is None:
        # Beside demonstrations, and beside requests that were read before, they cost accuracy: nobody writes like them.
        texts += (of_tools := from_tools(encoded.tools).texts)
        vectors = np.concatenate((vectors, [encoder.encode(text) for text in of_tools]))
    folds = np.full(len(texts), EVERYWHERE)
    if training is not None:
        plans = training.head_plans
        texts += [training.demonstrations[plan].query for plan in plans.tolist()]
        vectors = np.concatenate((vectors, training.queries.vectors[plans]))
        folds = np.append(folds, training.folds[plans])
    # Many demonstrations tell which directions matter to them, so fewer do; and what is learnt of them needs the room.
    many = training is not None and training.prior.steps is None
    start_at = (
        Alone(single_tokens(exported, encoder))
        if pretrained is None
        else pretrained.start(encoder.vocabulary, DIMENSION if many else None)
    )
    fit = TableFit(Texts([encoder.tokenize_words(text) for text in texts], vectors), start_at, encoder.vocabulary)
    penalty = fit.choose(folds == 0 if training is not None else np.arange(len(texts)) % FOLDS == 0)
    tool_vectors, learned = as_stored(fit.project(encoded.tool_vectors), recipe.stored_as), None
    final = _exported(exported, fit.fit(np.ones(len(texts), bool), penalty))
    if training is not None:
        numbers = track(range(training.n_folds), "fitting token vectors", training.n_folds)
        readers = [reader_of(_exported(exported, fit.fit(folds != fold, penalty))) for fold in numbers]
        learned = training_set(
            training.demonstrations,
            encoded.tools,
            _read(training, readers),
            tool_vectors,
            encoded.prior.weights,
            training.seed,
            examples=_examples(encoded.tools, reader_of(final)),
        )
        learned = replace(learned, judging=training.judging, folds=training.folds)
    return _with_table(encoded, final, tool_vectors, learned)


def _with_table(
    encoded: Encoded, table: ExportedEncoder, tool_vectors: NDArray[np.float32], training: TrainingSet | None
) -> Encoded:
    demonstrations = () if training is None else training.demonstrations
    reader, languages = reader_of(table), spoken(demonstrations, encoded.tools)
    return replace(
        encoded,
        exported=table,
        tool_vectors=tool_vectors,
        training=training,
        golden=golden_of(reader, demonstrations, encoded.tools),
        sayings=np.stack([reader.encode_query(saying).vector for saying in read_sayings(languages)]),
        examples=_examples(encoded.tools, reader),
    )


def _examples(tools: Sequence[Tool], reader: StaticEncoder) -> Examples | None:
    return shown_examples(tools, encode_examples(tools, reader))


def table_of_tools(
    exported: ExportedEncoder,
    encoder: WindowEncoder,
    texts: Sequence[str],
    vectors: NDArray[np.float32],
    token_vectors: TokenVectors,
) -> tuple[ExportedEncoder, NDArray[np.float32]]:
    """What reads requests to tools alone, of which the encoder makes these vectors (tools, large dimension): a table
    that starts at token vectors and is pulled by the tools' texts; and the vectors in its space (tools, dimension)."""
    start_at = token_vectors.start(encoder.vocabulary)
    fit = TableFit(Texts([encoder.tokenize_words(text) for text in texts], vectors), start_at, encoder.vocabulary)
    return _exported(exported, fit.fit(np.ones(len(texts), bool), OF_TOOLS)), fit.project(vectors)


def _exported(exported: ExportedEncoder, table: NDArray[np.float32]) -> ExportedEncoder:
    """The table (vocabulary, dimension) in the place of the encoder that it was fitted to."""
    spec = static_spec(exported.spec, table.shape[1])
    return replace(exported, model=pack_table(table), spec=spec, role=roles.TABLE)


def static_spec(spec: EncoderSpec, dimension: int) -> EncoderSpec:
    """What a table's encoder is told of. It is fitted to the texts themselves, so it puts nothing before them."""
    return EncoderSpec(dimension, MAX_TOKENS, "mean", spec.normalised, "", "", "int8", "any")


def reader_of(exported: ExportedEncoder) -> StaticEncoder:
    """The encoder of a table."""
    return StaticEncoder(exported.model, exported.tokenizer, exported.spec)


def _read(training: TrainingSet, readers: list[StaticEncoder]) -> Iterator[EncodedQuery]:
    """Every plan's query, by the table that was fitted without its fold."""
    for demonstration, fold in zip(training.demonstrations, training.folds.tolist(), strict=True):
        yield readers[fold].encode_query(demonstration.query)


def turn(of: TrainingSet, to: TrainingSet) -> NDArray[np.float32]:
    """What takes one encoder's vectors of the demonstrated queries to another's (dimension, dimension), nearly."""
    vectors, wanted = of.queries.vectors, to.queries.vectors
    gram = vectors.T @ vectors + np.eye(vectors.shape[1], dtype=np.float32)
    found: NDArray[np.float32] = np.linalg.solve(gram, vectors.T @ wanted)
    return found
