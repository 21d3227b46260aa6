"""The weights of the signs by which arguments are read from a request, fitted on requests with arguments.

    python -m edgeret_export.fitting.argument_weights SET... -o FILE

A SET is a folder with `tools.jsonl` and `demonstrations.jsonl`. Each parameter of each call is one choice, among the
chunks
that it may take and none; a chunk is right if its value is, and references are left out. How sure a value is that is
found so is fitted too, each set being left out once. Knows nothing of outputs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.types import Tool, references
from edgeret_export.fitting.compared import comparable, same
from edgeret_export.reference.arguments.filling import found_in
from edgeret_export.reference.arguments.spans import Suitor, absent_signs
from edgeret_export.reference.arguments.sureness import traits
from edgeret_export.reference.inputs.chunks import chunks
from edgeret_export.reference.inputs.parameters import parameters
from edgeret_export.reference.scoring.argument_shape import TRAITS

L2, STEPS = 3.0, 300
"""The weight of all squares, and steps of the fit: it is convex but for choices with several right chunks."""


class Choice(NamedTuple):
    """One parameter of one call: the signs of "none" and of each chunk, and which of these are right."""

    signs: Sequence[Sequence[tuple[str, float]]]
    right: Sequence[bool]


def choices(tools: dict[str, Tool], demonstrations: Iterable[Demonstration]) -> list[Choice]:
    """All choices of some demonstrations."""
    found = []
    for demonstration in demonstrations:
        for i, call in enumerate(demonstration.calls):
            tool, before = tools[call.tool], demonstration.calls[:i]
            suitor = Suitor(chunks(demonstration.query), tool, before, None)
            for one in parameters(tool):
                given = call.arguments.get(one.name)
                if references({"": given}):
                    continue
                wanted = (
                    [] if given is None else [comparable(v) for v in (given if isinstance(given, list) else [given])]
                )
                told = [(comparable(value), tuple(signs)) for _, value, signs in suitor.candidates(one)]
                hits = [value in wanted for value, _ in told]
                right = [not any(hits), *hits]  # what cannot be taken is better missing
                if told:
                    found.append(Choice([[(s, 1.0) for s in absent_signs(one)], *(signs for _, signs in told)], right))
    return found


PRIOR = {
    **{"led": 1.2, "cued": 1.2, "told cue": 0.4, "near": 0.9, "taken": -2.5, "said": -1.0, "the tool's words": -1.5},
    **{"when within": -2.0, "number within": -1.0, "part of a moment": -2.0, "part of a token": -1.5},
    **{"part of a measure": -1.5, "of the unit": 1.5, "name within": 0.5, "of a quotation": -1.0},
    **{"email|email": 3.0, "url|url": 3.0, "phone|phone": 3.0, "when|moment": 2.5, "when|date": 2.0, "when|time": 2.0},
    **{"any|quoted": 2.0, "any|name": 1.0, "person|name": 1.0, "path|path": 2.5, "text|told": 2.2, "|code": 0.5},
    **{"any|head": -1.0, "any|tail": -1.0, "any|rest": -1.0, "any|clause": -1.0, "any|joined": -0.5},
    **{"any|addressee": 2.0, "person|addressee": 1.5, "command|command": 3.0, "command|quoted": 3.5, "its part": 1.5},
    **{"shape of an example": 2.0, "behind the verb": 0.5},
    **{"text|quoted": 1.0, "person|quoted": -1.0},
    **{"absent required": 1.0, "absent optional": 2.5},
}
"""What is thought of signs before anything is counted, so that rare ones are not nothing."""


def fit(all_choices: Sequence[Choice], l2: float = L2) -> dict[str, float]:
    """The weights that make the right chunks most probable, small ones where little is known."""
    names = sorted({sign for choice in all_choices for signs in choice.signs for sign, _ in signs})
    number = {name: i for i, name in enumerate(names)}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    owner: list[int] = []
    right: list[bool] = []
    for k, choice in enumerate(all_choices):
        for signs, is_right in zip(choice.signs, choice.right, strict=True):
            for sign, value in signs:
                rows.append(len(owner))
                columns.append(number[sign])
                values.append(value)
            owner.append(k)
            right.append(is_right)
    row, column, size = np.array(rows), np.array(columns), np.array(values)
    of, good = np.array(owner), np.array(right)
    prior = np.array([PRIOR.get(name, 0.0) for name in names])
    weights = prior.copy()
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = np.bincount(row, size * weights[column], len(of))
        share = _shares(scores, of, len(all_choices))
        of_right = np.bincount(of, share * good, len(all_choices))
        pull = share * good / np.maximum(of_right, 1e-12)[of] - share
        gradient = np.bincount(column, size * pull[row], len(names)) - l2 * (weights - prior)
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        rate = 0.1 * min(1.0, 3 * (1 - step / (STEPS + 1)))
        weights += rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
    found = {**PRIOR, **dict(zip(names, weights.tolist(), strict=True))}
    return {name: round(weight, 3) for name, weight in sorted(found.items()) if abs(weight) >= 0.005}


MARGIN = {"plain": 0.3, "name": 0.3, "told": 0.3}
"""What is taken off the confidence of words, in logits: a stranger's words are further from these than numbers are."""
STEPS_OF_NEWTON, L2_OF_TRAITS = 40, 2.0


def calibrate(sets: Sequence[tuple[dict[str, Tool], Sequence[Demonstration], Sequence[Choice]]]) -> dict[str, float]:
    """The weights of the traits by which words of a request are right: each set is read with weights fitted on the
    others, so that these say what may be expected of a stranger's."""
    rows: list[list[float]] = []
    right: list[float] = []
    for left_out, (tools, demonstrations, _) in enumerate(sets):
        by_sign = fit([choice for i, (_, _, listed) in enumerate(sets) if i != left_out for choice in listed])
        for demonstration in demonstrations:
            for i, call in enumerate(demonstration.calls):
                before = demonstration.calls[:i]
                for name, one in found_in(tools[call.tool], demonstration.query, before, tools, by_sign).items():
                    if one.source == "rule":
                        told = traits(one)
                        rows.append([told.get(trait, 0.0) for trait in TRAITS])
                        right.append(float(same(call.arguments.get(name), one.value)))
    seen, good = np.array(rows).reshape(-1, len(TRAITS)), np.array(right)
    prior = np.array([1.0 if trait == "share" else 0.0 for trait in TRAITS])
    weights = prior.copy()
    for _ in range(STEPS_OF_NEWTON):
        probability = 1.0 / (1.0 + np.exp(-seen @ weights))
        pull = seen.T @ (good - probability) - L2_OF_TRAITS * (weights - prior)
        bend = (seen.T * (probability * (1.0 - probability))) @ seen + L2_OF_TRAITS * np.eye(len(TRAITS))
        weights = weights + np.linalg.solve(bend, pull)
    return {
        trait: round(float(weight) - MARGIN.get(trait, 0.0), 3) for trait, weight in zip(TRAITS, weights, strict=True)
    }


def _shares(scores: NDArray[Any], of: NDArray[Any], count: int) -> NDArray[np.float64]:
    most = np.full(count, -np.inf)
    np.maximum.at(most, of, scores)
    powers: NDArray[np.float64] = np.exp(scores - most[of])
    found: NDArray[np.float64] = powers / np.bincount(of, powers, count)[of]
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Fits the weights by which arguments are read.")
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    given = parser.parse_args(argv)
    sets = []
    for folder in map(Path, given.sets):
        tools = {tool.name: tool for tool in read_tools(folder / "tools.jsonl")}
        demonstrations = read_demonstrations(folder / "demonstrations.jsonl", tools)
        sets.append((tools, demonstrations, choices(tools, demonstrations)))
    found = [choice for _, _, listed in sets for choice in listed]
    told = {
        "fitted_on": [Path(folder).name for folder in given.sets],
        "choices": len(found),
        "confidence": calibrate(sets),
        "weights": fit(found),
    }
    Path(given.output).write_text(json.dumps(told, indent=0, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
