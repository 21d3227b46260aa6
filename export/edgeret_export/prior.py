"""Other people's tools and plans to a prior card: the weights, what they were fitted on, and what they are worth. The
order of the work; how the fit is made is `fitting.prior`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.errors import InputError
from edgeret.host import available_cpus
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import tool_text
from edgeret.inputs.words import forms
from edgeret.terminal.progress import say, track
from edgeret.types import END, Tool
from edgeret_export.encoders.adapter import with_adapter
from edgeret_export.encoders.export import ExportedEncoder, encoder_of, export_encoder
from edgeret_export.encoders.pretrained import TokenVectors, token_vectors_of
from edgeret_export.encoders.word_vectors import word_reader
from edgeret_export.fitting.calibration import fit_confidence_map
from edgeret_export.fitting.familiarity import read_sayings
from edgeret_export.fitting.joined import joined
from edgeret_export.fitting.nothing import NothingSet
from edgeret_export.fitting.nothing_sets import cut_sets
from edgeret_export.fitting.prior import BLANK, PriorFigures, fit_prior, leave_one_out
from edgeret_export.fitting.prior_sets import PriorSet, Request
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.encoders.load import start_encoder
from edgeret_export.reference.encoders.windows import WindowEncoder
from edgeret_export.reference.encoders.word_vectors import WordVectors
from edgeret_export.reference.evidence import evidence, passages
from edgeret_export.reference.lexicon import Lexicon, tool_flow, tool_words
from edgeret_export.reference.scoring.prior import Evidence, Prior
from edgeret_export.reference.similar_words import SimilarWords, table_of
from edgeret_export.sources.cards import Card
from edgeret_export.sources.fetch import sha256_of
from edgeret_export.sources.plans import Source
from edgeret_export.sources.priors import PriorCard
from edgeret_export.static_stage import reader_of, table_of_tools

MOST_TOOLS = 300
"""Of one set; larger ones are cut into CUTS sets of CUT_TOOLS tools, which is what users have."""
CUTS, CUT_TOOLS, CUT_REQUESTS = 4, 200, 80
SMALL_CUTS, SMALL_REQUESTS = 2, 5
"""And sets of the tools that a handful of requests need."""


def read_pairs(option: str, told: Sequence[str]) -> dict[str, str]:
    """Folders or files by the set that each reads, from `SET=PLACE`. Raises InputError."""
    found = {}
    for each in told:
        name, _, place = each.partition("=")
        if not name or not place:
            raise InputError(f"{option}: expected SET=PLACE, found '{each}'")
        found[name] = place
    return found


def make_card(
    sources: Sequence[Source],
    card: Card,
    precision: str,
    tool_form: str,
    seed: int,
    offline: bool,
    adapters: Mapping[str, str] = MappingProxyType({}),
    token_vectors: Mapping[str, str] = MappingProxyType({}),
    before: PriorCard | None = None,
    only: str | None = None,
) -> dict[str, Any]:
    """The prior card of these sources: weights, calibration map, recipe and figures, as plain data.

    `adapters` are folders by the name of the source that is read with them. An encoder that was tuned on these sources
    finds their tools too well, and weights fitted on that trust its cosines too much elsewhere: so each source is read
    by one that was tuned without it. `token_vectors` are files by the name of the source that is read with them, for
    the same reason, all or none: the card then is for tables that start there. With a card of `before`, the block of
    weights named `only` is fitted anew, and all else that the card says stays. Raises InputError for fewer than two
    sources and for an adapter or token vectors of a source that is not there, MissingExtraError without the export
    extra.
    """
    names = {source.name for source in sources}
    if len(names) < 2:
        raise InputError("one source cannot be left out of itself; give --set at least twice, with different names")
    if unknown := sorted(set(adapters) - names):
        raise InputError(f"--adapter-for {unknown[0]}: no --set of that name; there are {', '.join(sorted(names))}")
    if token_vectors and (wrong := sorted(names ^ set(token_vectors))):
        raise InputError(f"--token-vectors-for: expected one for every --set and no other; see '{wrong[0]}'")
    sets, asked = _all_sets(sources, card, (precision, tool_form, seed, offline), adapters, token_vectors, only)
    if before is not None:
        say(f"fitting {only} on all sources")
        weights = fit_prior(sets, asked, before.weights, only)
        plans = {source.name: len(source.demonstrations) for source in sources}
        again = {**before.told.get("fitted_later", {}), str(only): {"adapter": _adapter_of(card), "plans": plans}}
        return {**before.told, "weights": weights.to_dict(), "fitted_later": again}
    say("fitting on all sources but one, in turn")
    figures = leave_one_out(sets, asked)
    say("fitting on all sources")
    files = {name: sha256_of(Path(file)) for name, file in token_vectors.items()}
    hashes = {"token_vectors": files} if files else {}
    return {
        "encoder": card.name,
        "weights": fit_prior(sets, asked).to_dict(),
        "calibration_map": [list(point) for point in calibration_map(figures)],
        "recipe": {
            "precision": precision,
            "tool_text": tool_form,
            "seed": seed,
            "adapter": _adapter_of(card),
            **hashes,
            **({"adapters": {name: _identity(card, folder) for name, folder in adapters.items()}} if adapters else {}),
        },
        "sources": {
            source.name: {"tools": len(source.tools), "plans": len(source.demonstrations)} for source in sources
        },
        "left_out": {name: found.to_dict() for name, found in figures.items()},
    }


def _all_sets(
    sources: Sequence[Source],
    card: Card,
    how: tuple[str, str, int, bool],
    adapters: Mapping[str, str],
    token_vectors: Mapping[str, str],
    only: str | None,
) -> tuple[list[PriorSet], list[NothingSet]]:
    """What the weights are fitted on, as far as the block `only` needs it."""
    precision, tool_form, seed, offline = how
    sets: list[PriorSet] = []
    asked: list[NothingSet] = []
    for folder in dict.fromkeys(adapters.get(source.name) for source in sources):
        reader = _reader(with_adapter(card, folder), precision, offline)
        own = [source for source in sources if adapters.get(source.name) == folder]
        tables = {name: token_vectors_of(card, file) for name, file in token_vectors.items()}
        if only != "nothing":
            sets += _read([part for source in own for part in cut(source, seed)], reader, tool_form, tables)
        if only not in (None, "nothing"):
            continue
        for file in dict.fromkeys(token_vectors.get(source.name) for source in own):
            alike = [source for source in own if token_vectors.get(source.name) == file]
            asked += ask(alike, reader, tool_form, seed, token_vectors_of(card, file) if file else None)
    return sets, asked


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


@dataclass(frozen=True, slots=True)
class _Reader:
    """What reads requests and tools: an encoder, the vectors of its words by themselves, and its export."""

    encoder: WindowEncoder
    words: WordVectors
    exported: ExportedEncoder

    def of_tools(self, texts: Sequence[str], start: TokenVectors | None) -> tuple[Encoder, NDArray[np.float32]]:
        """What reads requests to tools with these texts, and the tools' vectors (texts, dimension): the encoder itself,
        or a table that starts at these token vectors and is pulled by the tools."""
        vectors = self.encoder.encode_tools(texts)
        if start is None:
            return self.encoder, vectors
        table, found = table_of_tools(self.exported, self.encoder, texts, vectors, start)
        return reader_of(table), found


def _reader(card: Card, precision: str, offline: bool) -> _Reader:
    found = export_encoder(card, precision, offline, 0)
    encoder = start_encoder(found.model, found.tokenizer, found.spec, available_cpus())
    return _Reader(encoder, word_reader(found), found)


def _adapter_of(card: Card) -> str | None:
    adapter = encoder_of(card).adapter
    return adapter.name if adapter else None


def _identity(card: Card, folder: str) -> str | None:
    """The SHA-256 of an adapter's weights; None where there is none."""
    adapter = encoder_of(with_adapter(card, folder)).adapter
    return None if adapter is None else adapter.sha256


def _read(
    read: Sequence[Source], reader: _Reader, tool_form: str, tables: Mapping[str, TokenVectors | None]
) -> list[PriorSet]:
    """These sources, by one reader, or by the table of each."""
    if tables:
        return [
            _arranged(part, {}, reader, tool_form, tables[part.name])
            for part in track(read, "fitting tables", len(read))
        ]
    queries = sorted({demonstration.query for part in read for demonstration in part.demonstrations})
    encoded = {query: reader.encoder.encode_query(query) for query in track(queries, "encoding", len(queries))}
    return [_arranged(part, encoded, reader, tool_form, None) for part in read]


def _queries(part: Source) -> list[str]:
    return [demonstration.query for demonstration in (*part.demonstrations, *joined(part.name, part.demonstrations))]


def ask(
    sources: Sequence[Source], reader: _Reader, tool_form: str, seed: int, start: TokenVectors | None
) -> list[NothingSet]:
    """Sets of few and many of these sources' tools, with what they fit and what they do not; read by one reader, or by
    one table of all these tools."""
    texts = {tool_text(tool, tool_form): None for source in sources for tool in source.tools}
    encoder, found = reader.of_tools(list(texts), start)
    vectors = dict(zip(texts, found, strict=True))
    of_tools = {s.name: np.stack([vectors[tool_text(tool, tool_form)] for tool in s.tools]) for s in sources}
    told = {d.query for source in sources for d in source.demonstrations if not d.calls}
    read = {saying: passages(saying, encoder.encode_query(saying)) for saying in sorted({*read_sayings(), *told})}
    cuts = list(cut_sets(sources, of_tools, {saying: parts.rows[0] for saying, parts in read.items()}, seed))
    queries = sorted({query for cut in cuts for query in (*cut.requests, *cut.strangers)} - set(read))
    read |= {q: passages(q, encoder.encode_query(q)) for q in track(queries, "encoding", len(queries))}
    words = {id(tool): tool_words(tool) for source in sources for tool in source.tools}
    sets = []
    for cut in cuts:
        said = [*(words[id(tool)] for tool in cut.tools), tool_words(Tool(END, ""))]
        rows = np.stack([vectors[tool_text(tool, tool_form)] for tool in cut.tools])
        flow = tool_flow(said, [*(tool.name for tool in cut.tools), END])
        prior = Prior(np.vstack((rows, np.zeros((1, rows.shape[1]), np.float32))), len(rows), flow, BLANK)
        lexicon = Lexicon(said)
        fit, unfit = (tuple(evidence(q, read[q], lexicon) for q in asked) for asked in (cut.requests, cut.strangers))
        sets.append(NothingSet(cut.group, cut.size, prior, fit, unfit, cut.sayings))
    return sets


def _arranged(
    part: Source,
    encoded: Mapping[str, EncodedQuery],
    reader: _Reader,
    tool_form: str,
    start: TokenVectors | None,
) -> PriorSet:
    """A set as the runtime would arrange it, `<end>` behind its tools; queries that are not `encoded` are read here."""
    listed = [*part.tools, Tool(END, "")]
    said = [tool_words(tool) for tool in listed]
    names = [*(tool.name for tool in part.tools), END]
    lexicon, end = Lexicon(said), len(part.tools)
    similar = SimilarWords(table_of(listed), reader.words)
    encoder, vectors = reader.of_tools([tool_text(tool, tool_form) for tool in part.tools], start)
    prior = Prior(np.vstack((vectors, np.zeros((1, vectors.shape[1]), np.float32))), end, tool_flow(said, names), BLANK)
    position = {name: i for i, name in enumerate(names)}

    def read(query: str) -> Evidence:
        return evidence(query, encoded.get(query) or encoder.encode_query(query), lexicon)

    requests, two = [], joined(part.name, part.demonstrations)
    for demonstration in (*part.demonstrations, *two):
        steps = demonstration.steps()
        calls = tuple(position[call.tool] for call in demonstration.calls)
        accepted = tuple(frozenset(position[name] for name in step.acceptable) for step in steps)
        meant = similar.overlaps(forms(demonstration.query))
        requests.append(Request(read(demonstration.query), meant, calls, accepted, demonstration in two))
    return PriorSet(part.name, part.name, prior, tuple(requests))
