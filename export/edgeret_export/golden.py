"""What a finished bundle decides, written into it: whoever loads it elsewhere can tell whether it decides so there.
Fits nothing, and chooses only decisions that are right and sure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.layout import MANIFEST
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import check_query
from edgeret.inputs.tool_text import name_in_words
from edgeret.runtime.golden import GoldenDecision, decide_again, stages
from edgeret.runtime.loading import load
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.unread import unread
from edgeret.types import END, Tool
from edgeret_export.encoded import Encoded
from edgeret_export.encoders.questions import mixed, sample
from edgeret_export.fitting.familiarity import read_sayings
from edgeret_export.fitting.spoken import spoken
from edgeret_export.writer import BundleWriter

SURE = 0.25
"""By how much the second candidate must be less probable: int8 on another CPU moves probabilities by less."""
FIRST, LATER, NOTHING = 9, 5, 2
"""First decisions, those behind a call, and requests that nothing fits: as many of each at most."""
TRIED = 40
"""Requests that are tried for each kind; most of what was demonstrated is right and sure."""

_Case = tuple[str, tuple[str, ...], str]
"""A query, the calls so far, and what is right."""


def finish(writer: BundleWriter, encoded: Encoded, info: dict[str, Any]) -> str:
    """Writes the manifest with what the bundle decides, and returns the content hash. The bundle is loaded as a device
    loads it, so a manifest without decisions stands there first."""
    writer.finish(info)
    found = [_chosen(stage, encoded) for _, stage in stages(load(writer.folder, loss=1.0))]
    (writer.folder / MANIFEST).unlink()
    info = {**info, roles.INFO_DECISIONS: found[0]}
    if roles.STATIC in info:
        info[roles.STATIC] = {**info[roles.STATIC], roles.INFO_DECISIONS: found[1] if len(found) > 1 else []}
    return writer.finish(info)


def _chosen(runtime: Runtime, encoded: Encoded) -> list[Mapping[str, Any]]:
    """The decisions of one encoder that are right and sure, first ones before later ones, declined ones last."""
    demonstrations = () if encoded.training is None else encoded.training.demonstrations
    languages = spoken(demonstrations, encoded.tools)
    found = [
        *_sure(runtime, _first(demonstrations, encoded.tools), FIRST),
        *_sure(runtime, _later(demonstrations), LATER),
        *_sure(runtime, _nothing(demonstrations, read_sayings(languages)), NOTHING),
    ]
    return [decision.to_dict() for decision in found]


def _first(demonstrations: Sequence[Demonstration], tools: Sequence[Tool]) -> Iterator[_Case]:
    """Demonstrated first calls; of tools alone their names in words and their descriptions."""
    if demonstrations:
        calling = [shown for shown in demonstrations if shown.calls]
        for i in mixed(len(calling))[:TRIED]:
            yield calling[i].query, (), calling[i].calls[0].tool
        return
    for number, i in enumerate(mixed(len(tools))[:TRIED]):
        yield (tools[i].description if number % 2 else name_in_words(tools[i].name)), (), tools[i].name


def _later(demonstrations: Sequence[Demonstration]) -> Iterator[_Case]:
    """What was demonstrated behind a first call, an end too."""
    calling = [shown for shown in demonstrations if shown.calls]
    for i in mixed(len(calling))[:TRIED]:
        names = [call.tool for call in calling[i].calls]
        yield calling[i].query, tuple(names[:1]), names[1] if len(names) > 1 else END


def _nothing(demonstrations: Sequence[Demonstration], sayings: Sequence[str]) -> Iterator[_Case]:
    """Requests that no tool fits: demonstrated ones, then what few assistants serve."""
    shown = [each.query for each in demonstrations if not each.calls]
    for query in (*shown[:1], *(sayings[i] for i in sample(len(sayings), TRIED))):
        yield query, (), END


def _sure(runtime: Runtime, cases: Iterator[_Case], most: int) -> list[GoldenDecision]:
    """Some of the cases that are decided rightly and surely, of many tools, by queries that the encoder can read."""
    found: dict[tuple[str, tuple[str, ...]], GoldenDecision] = {}
    for query, history, right in cases:
        try:
            check_query(query)
        except InputError:
            continue
        if unread(query, runtime.loaded.languages) is not None:
            continue
        decided, ahead = decide_again(runtime, query, history)
        if decided.tool == right and ahead >= SURE:
            found[query, history] = decided
    by_tool: dict[str, list[GoldenDecision]] = {}
    for decision in found.values():
        by_tool.setdefault(decision.tool, []).append(decision)
    in_turns = (each for turn in itertools.zip_longest(*by_tool.values()) for each in turn if each is not None)
    return list(itertools.islice(in_turns, most))
