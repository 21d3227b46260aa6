"""Fits the head for arguments that is shipped for an encoder, on requests with arguments.

A set is a folder with `tools.jsonl`, whose types are JSON Schema's, and `demonstrations.jsonl`. The `own` sets are in
the style that strangers' tools are thought to have: they count twice. What joins the head with the rules is
fitted on all sets, each of three parts with a head that was fitted without it, and on those `beside`, which no head
is fitted on: it is to know styles apart. It may be what another encoder's head has, and the fit takes a quarter of the
time.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.terminal.progress import say
from edgeret.types import Tool
from edgeret_export.encoders.argument_card import ArgumentCard
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import encoder_of, export_encoder
from edgeret_export.encoders.pretrained import made_for
from edgeret_export.fitting.argument_cases import Case, cases, halves
from edgeret_export.fitting.argument_fit import Against, Arrays, Reading, fit, reader_of
from edgeret_export.fitting.argument_pool import (
    START,
    Judged,
    Row,
    Step,
    fit_pool,
    fit_traits,
    judge,
    rows_of,
    steps_of,
    summed,
)
from edgeret_export.fitting.argument_weights import choices
from edgeret_export.fitting.argument_weights import fit as fit_signs
from edgeret_export.reference.arguments.features import parameter_text
from edgeret_export.reference.arguments.reader import wanted_of
from edgeret_export.reference.arguments.spans import is_beyond_latin
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.scoring.argument_joining import ANY_SCRIPT, TUNED
from edgeret_export.sources.cards import Card

PASSES, PEAKS, PARTS, OWN = (6, 6), (1.2e-3, 8e-4), 3, 2
BY_HEART = Against(hidden=0.25, dropout=0.2, blurred=0.3, shortened=0.4)
"""In the second half of the passes, so that other people's functions are read as well as these."""
SEEDS = (2, 5)
"""Of the fits of that half, whose weights' mean is better than any of them."""
DISTRACTED, MOST_BESIDE, ALIKE = 0.6, 3, 0.6
"""In how many calls parameters of other tools stand beside a call's own, how many, and the cosine from which on one is
too much like one of these."""
OWN_JOINED, MOST_JOINED, MARGIN = 2.0, 4.0, 0.3
"""For the joining each group of sets counts by the root of its size, a row at most so much, and the own sets twice. A
stranger's style is further from these sets than they are from each other: names, messages and plain words are a little
less sure."""


class Set(NamedTuple):
    """A set's name, tools and demonstrations, and its cases without and with parameters of other tools beside."""

    name: str
    tools: Mapping[str, Tool]
    demonstrations: Sequence[Demonstration]
    bare: Sequence[Case]
    distracted: Sequence[Case]


def read_set(folder: Path, reading: Reading, chance: random.Random, languages: Sequence[str] = ()) -> Set:
    """A folder's set, with all its texts encoded; of other languages what has arguments, `demonstrations.de.jsonl`."""
    tools = {tool.name: tool for tool in read_tools(folder / "tools.jsonl")}
    demonstrations = list(read_demonstrations(folder / "demonstrations.jsonl", tools))
    for file in (folder / f"demonstrations.{language}.jsonl" for language in languages):
        said = list(read_demonstrations(file, tools)) if file.exists() else []
        demonstrations += said if any(call.arguments for one in said for call in one.calls) else []
    called = {call.tool for one in demonstrations for call in one.calls}
    others = _others([tools[name] for name in sorted(called)], reading, chance)
    found = [
        [case for one in demonstrations for case in cases(tools, one.query, one.calls, reading.encode_query, by)]
        for by in (None, others)
    ]
    for case in chain(*found):
        told = case.texts[: 1 + len(case.counts)]
        reading.encode_tools([*case.texts, *chain.from_iterable(halves(text) for text in told)])
    return Set(folder.name, tools, demonstrations, *found)


def _others(
    tools: Sequence[Tool], reading: Reading, chance: random.Random
) -> Callable[[Tool, Sequence[Parameter]], list[Parameter]]:
    pool = [(tool.name, one) for tool in tools for one in wanted_of(tool)]

    def others(tool: Tool, wanted: Sequence[Parameter]) -> list[Parameter]:
        found: list[Parameter] = []
        if chance.random() >= DISTRACTED:
            return found
        for _ in range(chance.randint(1, MOST_BESIDE)):
            name, one = chance.choice(pool)
            own = [*wanted, *found]
            if name == tool.name or any(one.name == other.name for other in own):
                continue
            vector, *beside = reading.encode_tools([parameter_text(each) for each in (one, *own)])
            if all(float(vector @ other) <= ALIKE for other in beside):
                found.append(one._replace(required=chance.random() < 0.3))
        return found

    return others


def fit_head(own: Sequence[Set], others: Sequence[Set], reading: Reading, passes: Sequence[int] = PASSES) -> Arrays:
    """The head's weights, fitted to these sets: first to their calls, then to each once, with other tools' parameters
    beside, and against learning by heart."""
    every = [*others, *(one for one in own for _ in range(OWN))]
    if not any(one.bare for one in every):
        raise InputError("a head would be fitted to no call with arguments; give more sets with --own or --others")
    begin = fit([case for one in every for case in one.bare], reading.texts, passes[0], PEAKS[0], 0, None)
    again = [case for one in (*others, *own) for case in one.distracted]
    found = [fit(again, reading.texts, passes[1], PEAKS[1], seed, begin, BY_HEART) for seed in SEEDS]
    return {name: np.mean([one[name] for one in found], axis=0, dtype=np.float32) for name in begin}


class Held(NamedTuple):
    """Calls that the head of a part did not see, with the group of sets that they are from."""

    group: str
    tools: Mapping[str, Tool]
    steps: Sequence[Step]


class Fitted(NamedTuple):
    """A head's weights, what joins it with the rules, the weights of confidence, and how each group's calls come out
    where each part is read and joined by what was fitted without it."""

    arrays: Arrays
    pool: Mapping[str, float]
    traits: Mapping[str, float]
    judged: Mapping[str, Judged]


def fit_card(
    own: Sequence[Set],
    others: Sequence[Set],
    beside: Sequence[Set],
    reading: Reading,
    passes: Sequence[int] = PASSES,
) -> Fitted:
    """A head and all that goes with it. Of the `own` sets each is of one part, of the others each function is."""
    trials, rows = [], []
    for part in range(PARTS):
        rest = [one for i, one in enumerate(own) if i % PARTS != part]
        held = [Held("own", one.tools, _steps(one)) for one in own[part::PARTS]]
        for one in (*others, *beside):
            of = _parts(one)
            held.append(Held(one.name, one.tools, [step for step in _steps(one) if of[step[0].name] == part]))
        say(f"arguments: fitting without part {part + 1} of {PARTS}")
        arrays = fit_head(rest, [_without(one, part) for one in others], reading, passes)
        by_sign = fit_signs([choice for one in rest for choice in choices(dict(one.tools), one.demonstrations)])
        reader = reader_of(arrays, reading, START_POOL, {}, {})
        rows.append([(one.group, row) for one in held for row in rows_of(one.steps, one.tools, reader, by_sign)])
        trials.append((arrays, by_sign, held))
    judged: dict[str, list[Judged]] = {}
    for part, (arrays, by_sign, held) in enumerate(trials):
        pool = _joined([row for i, listed in enumerate(rows) if i != part for row in listed])
        reader = reader_of(arrays, reading, pool, {}, {})
        for each in held:
            judged.setdefault(each.group, []).append(judge(each.steps, each.tools, reader, by_sign))
    by_group = {group: summed(listed) for group, listed in judged.items()}
    traits = fit_traits(summed(by_group.values()).values)
    traits |= {name: round(traits[name] - MARGIN, 3) for name in ("name", "told", "plain")}
    say("arguments: fitting on all")
    return Fitted(fit_head(own, others, reading, passes), _joined(list(chain(*rows))), traits, by_group)


def _steps(one: Set) -> list[Step]:
    return steps_of(one.tools, [(d.query, d.calls) for d in one.demonstrations])


def _parts(one: Set) -> dict[str, int]:
    """The part that each function of a set is of."""
    names = sorted({call.tool for demonstration in one.demonstrations for call in demonstration.calls})
    random.Random(PARTS).shuffle(names)
    return {name: i % PARTS for i, name in enumerate(names)}


def _without(one: Set, part: int) -> Set:
    """A set without the calls of a part's functions."""
    of = _parts(one)
    bare, distracted = ([case for case in listed if of[case.tool] != part] for listed in (one.bare, one.distracted))
    return one._replace(bare=bare, distracted=distracted)


def _joined(rows: Sequence[tuple[str, Row]]) -> dict[str, float]:
    """What joins rules and head, from rows with the groups that they are of."""
    sizes = Counter(group for group, _ in rows)
    most = max(sizes.values(), default=1)
    counts = {group: min(MOST_JOINED, (most / size) ** 0.5) for group, size in sizes.items()}
    counts["own"] = OWN_JOINED * counts.get("own", 1.0)
    return fit_pool([row for _, row in rows], weights=[counts[group] for group, _ in rows]) | {TUNED: 0.0}


START_POOL = {**dict.fromkeys(fit_pool([]), 0.0), **START, TUNED: 0.0}


class Sets(NamedTuple):
    """Folders of sets: in the style that strangers' tools are thought to have, others, and for the joining alone."""

    own: Sequence[Path]
    others: Sequence[Path] = ()
    beside: Sequence[Path] = ()


def make_card(
    card: Card, sets: Sets, passes: Sequence[int], joined_as: ArgumentCard | None, offline: bool
) -> ArgumentCard:
    """A head for a card's encoder. Joined as another one is, nothing is left out, and its figures are of no call."""
    if twice := [
        name for name, of in Counter(["own", *(one.name for one in (*sets.others, *sets.beside))]).items() if of > 1
    ]:
        raise InputError(f"two sets are called {twice[0]}, and are told by their names; call one otherwise")
    reading, chance = Reading(start(export_encoder(card, "int8", offline))), random.Random(1)
    languages = encoder_of(card).languages
    own, others, beside = ([read_set(one, reading, chance, languages) for one in listed] for listed in sets)
    figures: dict[str, object]
    if joined_as is None:
        arrays, pool, traits, judged = fit_card(own, others, beside, reading, passes)
        figures = {name: _figures(one) for name, one in judged.items()}
    else:
        arrays, pool, traits = fit_head(own, others, reading, passes), joined_as.pool, joined_as.traits
        figures = {"joined_as": joined_as.told["card"]}
    if any(is_beyond_latin(each.query) for one in own for each in one.demonstrations):
        pool = {**pool, ANY_SCRIPT: 1.0}
    told: dict[str, object] = {
        "card": card.name,
        "licence": card.licence,
        "made_for": made_for(card),
        "sets": [one.name for one in (*sets.others, *sets.own)],
        "joined_with": [one.name for one in sets.beside],
        "recipe": {
            "passes": list(passes),
            "peaks": PEAKS,
            "own_times": OWN,
            "distracted": DISTRACTED,
            "by_heart": BY_HEART._asdict(),
            "seeds": SEEDS,
        },
        "figures": figures,
    }
    return ArgumentCard(told, {name: np.asarray(one, np.float32) for name, one in arrays.items()}, pool, traits)


def _figures(one: Judged) -> dict[str, object]:
    return {
        "calls": one.of,
        "calls_right": round(one.calls / max(one.of, 1), 4),
        "precision": round(one.right / max(one.found, 1), 4),
        "recall": round(one.right / max(one.wanted, 1), 4),
    }
