"""Fits the head for arguments that is shipped for an encoder, on requests with arguments.

    python -m edgeret_export.argument_lab --encoder CARD --others SET... --own SET... -o FILE

A SET is a folder with `tools.jsonl`, whose types are JSON Schema's, and `demonstrations.jsonl`. The `own` sets are in
the style that strangers' tools are thought to have: they count three times, and what joins the head with the rules is
fitted on them, each of three parts with a head that was fitted without it. With `--joined-as CARD` that is what another
encoder's head has, and the fit takes a quarter of the time.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgeret.inputs.argument_features import parameter_text
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.parameters import Parameter
from edgeret.inputs.tools import read_tools
from edgeret.runtime.argument_reader import wanted_of
from edgeret.terminal.progress import say
from edgeret.types import Tool
from edgeret_export.encoders.argument_card import ArgumentCard, argument_card_of, pack_card
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import export_encoder
from edgeret_export.encoders.pretrained import made_for
from edgeret_export.fitting.argument_cases import Case, cases
from edgeret_export.fitting.argument_fit import Arrays, Reading, fit, reader_of
from edgeret_export.fitting.argument_pool import (
    START,
    Judged,
    fit_pool,
    fit_traits,
    judge,
    rows_of,
    steps_of,
    summed,
)
from edgeret_export.fitting.argument_weights import choices
from edgeret_export.fitting.argument_weights import fit as fit_signs
from edgeret_export.sources.cards import find_card

PASSES, PEAKS, PARTS, OWN = (6, 4), (1.2e-3, 8e-4), 3, 3
DISTRACTED, MOST_BESIDE, ALIKE = 0.6, 3, 0.6
"""In how many calls parameters of other tools stand beside a call's own, how many, and the cosine from which on one is
too much like one of these."""
MORE_RULES, LESS_HEAD, MARGIN = 0.2, 0.75, 0.3
"""A stranger's style is further from these sets than they are from each other: the rules count for more, the head for
less, and names, messages and plain words are a little less sure."""


class Set(NamedTuple):
    """A set's tools and demonstrations, and its cases without and with parameters of other tools beside."""

    tools: Mapping[str, Tool]
    demonstrations: Sequence[Demonstration]
    bare: Sequence[Case]
    distracted: Sequence[Case]


def read_set(folder: Path, reading: Reading, chance: random.Random) -> Set:
    """A folder's set, with all its texts encoded."""
    tools = {tool.name: tool for tool in read_tools(folder / "tools.jsonl")}
    demonstrations = list(read_demonstrations(folder / "demonstrations.jsonl", tools))
    called = {call.tool for one in demonstrations for call in one.calls}
    others = _others([tools[name] for name in sorted(called)], reading, chance)
    found = [
        [case for one in demonstrations for case in cases(tools, one.query, one.calls, reading.encode_query, by)]
        for by in (None, others)
    ]
    for case in chain(*found):
        reading.encode_tools(case.texts)
    return Set(tools, demonstrations, *found)


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
    """The head's weights, fitted to these sets: first to their calls, then with other tools' parameters beside."""
    every = [*others, *(one for one in own for _ in range(OWN))]
    arrays = fit([case for one in every for case in one.bare], reading.texts, passes[0], PEAKS[0], 0, None)
    return fit([case for one in every for case in one.distracted], reading.texts, passes[1], PEAKS[1], 1, arrays)


def fit_card(
    own: Sequence[Set], others: Sequence[Set], reading: Reading, passes: Sequence[int] = PASSES
) -> tuple[Arrays, dict[str, float], dict[str, float], Judged]:
    """The head's weights, what joins them with the rules, the weights of confidence, and how the `own` sets come out
    where each is read by what was fitted without it."""
    trials, rows = [], []
    for part in range(PARTS):
        rest, held = [one for i, one in enumerate(own) if i % PARTS != part], own[part::PARTS]
        say(f"arguments: fitting without part {part + 1} of {PARTS}")
        arrays = fit_head(rest, others, reading, passes)
        by_sign = fit_signs([choice for one in rest for choice in choices(dict(one.tools), one.demonstrations)])
        reader = reader_of(arrays, reading, START_POOL, {}, {})
        steps = [(one, steps_of(one.tools, [(d.query, d.calls) for d in one.demonstrations])) for one in held]
        rows.append([row for one, listed in steps for row in rows_of(listed, one.tools, reader, by_sign)])
        trials.append((arrays, by_sign, steps))
    judged = []
    for part, (arrays, by_sign, steps) in enumerate(trials):
        pool = cautious(fit_pool([row for i, listed in enumerate(rows) if i != part for row in listed]))
        reader = reader_of(arrays, reading, pool, {}, {})
        judged += [judge(listed, one.tools, reader, by_sign) for one, listed in steps]
    whole = summed(judged)
    traits = fit_traits(whole.values)
    traits |= {name: round(traits[name] - MARGIN, 3) for name in ("name", "told", "plain")}
    say("arguments: fitting on all")
    return fit_head(own, others, reading, passes), cautious(fit_pool(list(chain(*rows)))), traits, whole


START_POOL = {**dict.fromkeys(fit_pool([]), 0.0), **START}


def cautious(pool: Mapping[str, float]) -> dict[str, float]:
    """The same for strangers' tools."""
    changed = {"rules": round(pool["rules"] + MORE_RULES, 3), "head": round(pool["head"] * LESS_HEAD, 3)}
    return {**pool, **changed}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Fits a head for arguments.")
    parser.add_argument("--encoder", required=True, metavar="CARD")
    parser.add_argument("--own", nargs="+", required=True, metavar="SET")
    parser.add_argument("--others", nargs="*", default=[], metavar="SET")
    parser.add_argument("--passes", nargs=2, type=int, default=PASSES, metavar="N")
    parser.add_argument("--joined-as", metavar="CARD")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    given = parser.parse_args(argv)
    card = find_card(given.encoder)
    reading, chance = Reading(start(export_encoder(card, "int8", False))), random.Random(1)
    own, others = ([read_set(Path(one), reading, chance) for one in listed] for listed in (given.own, given.others))
    told: dict[str, object] = {
        "card": card.name,
        "licence": card.licence,
        "made_for": made_for(card),
        "sets": [Path(one).name for one in (*given.others, *given.own)],
        "recipe": {"passes": list(given.passes), "peaks": PEAKS, "own_times": OWN, "distracted": DISTRACTED},
    }
    if given.joined_as is None:
        arrays, pool, traits, whole = fit_card(own, others, reading, given.passes)
        told["figures"] = {
            "calls": whole.of,
            "calls_right": round(whole.calls / max(whole.of, 1), 4),
            "precision": round(whole.right / max(whole.found, 1), 4),
            "recall": round(whole.right / max(whole.wanted, 1), 4),
        }
    else:
        other = argument_card_of(find_card(given.joined_as))
        if other is None:
            parser.error(f"--joined-as {given.joined_as}: there is no head for this encoder")
        arrays, pool, traits = fit_head(own, others, reading, given.passes), dict(other.pool), dict(other.traits)
        told["figures"] = {"joined_as": given.joined_as}
    arrays = {name: np.asarray(one, np.float32) for name, one in arrays.items()}
    Path(given.output).write_bytes(pack_card(ArgumentCard(told, arrays, pool, traits)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
