"""Accuracy by the number of demonstrations: bundles built on nested samples of them, all tested on the same plans.

Knows nothing of how a bundle is built or decides: it builds as `edgeret-export build` does, and asks the runtime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgeret
from edgeret.encoders.base import EncodedQuery
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.terminal.progress import say, track
from edgeret.types import END, Decision
from edgeret.usage.reliability import expected_calibration_error
from edgeret_bench.accuracy.walk import Ranked, averages, ranked, repeated_queries, score, walk
from edgeret_bench.results.files import order_of, rounded
from edgeret_export.build import assemble
from edgeret_export.encoded import Encoded
from edgeret_export.encoders.encodings import start
from edgeret_export.fitting.training_set import training_set
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import Card
from edgeret_export.writer import writing

SIZES = (0, 10, 30, 100, 300, 1000)
OF_REQUESTS = ("first_tool_top1", "search_first_tool_top1")
"""Metrics with one value a request that needs a tool, not one a step."""


@dataclass
class Measured:
    """What one bundle gave: metrics of every step and of every request that needs a tool, with the number of its plan;
    and how sure the decisions were, and whether right."""

    bundle_hash: str
    steps: list[dict[str, float]] = field(default_factory=list)
    plans: list[int] = field(default_factory=list)
    requests: list[dict[str, float]] = field(default_factory=list)
    request_plans: list[int] = field(default_factory=list)
    confidence: list[float] = field(default_factory=list)
    correct: list[bool] = field(default_factory=list)


def check(sizes: Sequence[int], repeats: int) -> None:
    """Raises InputError for numbers that make no sense; before anything is encoded."""
    if not sizes or min(sizes) < 0 or repeats < 1:
        found = f"{','.join(map(str, sizes)) or 'none'} and {repeats}"
        raise InputError(f"--sizes must be numbers of demonstrations from 0 and --repeats at least 1, found {found}")


def run(
    card: Card,
    recipe: Recipe,
    encoded: Encoded,
    test: Sequence[Demonstration],
    sizes: Sequence[int] = SIZES,
    repeats: int = 1,
    seed: int = 0,
) -> dict[str, Any]:
    """The contract's `few` result. `encoded` are all demonstrations to draw from, and the tools.

    A smaller sample lies within every larger one. Sizes above the number of demonstrations become that number. With
    `repeats` every size is measured on so many samples and averaged. Raises InputError as `check` does.
    """
    check(sizes, repeats)
    train = () if encoded.training is None else encoded.training.demonstrations
    encoder = start(encoded.exported)
    queries = [encoder.encode_query(demonstration.query) for demonstration in train]
    chosen = sorted({min(size, len(train)) for size in sizes})
    if max(sizes) > len(train):
        say(f"{len(train)} demonstrations are all there are: sizes above are measured with {len(train)}")
    repeated = repeated_queries(train, test)
    orders = [np.random.default_rng((seed, i)).permutation(len(train)) for i in range(repeats)]
    rows: dict[str, Any] = {}
    series: dict[str, list[float]] = {}
    for size in chosen:
        # None and all of the demonstrations are the same sample however often it is drawn.
        drawn = [np.sort(order[:size]) for order in (orders if 0 < size < len(train) else orders[:1])]
        found = [
            _build_and_measure(card, recipe, part(encoded, queries, sample, recipe.seed), test) for sample in drawn
        ]
        rows[str(size)], steps = _row(found)
        series |= {f"{size} {key}": [step[key] for step in steps] for key in ("top1", "mrr")}
        say(_told(size, rows[str(size)]))
    return {
        "n_train": len(train),
        "n_plans": len(test),
        "n_steps": len(found[0].steps),
        "n_fitting": len(found[0].requests),
        "dag": any(d.links is not None for d in test),
        "repeated_queries": repeated,
        "repeats": repeats,
        "seed": seed,
        "sizes": rows,
        "samples": {
            "unit": "score",
            "order": order_of([d.query for d in test]),
            "groups": found[0].plans,
            "series": rounded(series),
        },
    }


def part(encoded: Encoded, queries: Sequence[EncodedQuery], chosen: NDArray[np.intp], seed: int) -> Encoded:
    """The same with these demonstrations alone; `queries` are all of them, encoded."""
    if encoded.training is None or not len(chosen):
        return replace(encoded, training=None)
    kept = [encoded.training.demonstrations[plan] for plan in chosen.tolist()]
    found = [queries[plan] for plan in chosen.tolist()]
    weights = encoded.prior.weights
    return replace(
        encoded,
        training=training_set(
            kept, encoded.tools, found, encoded.tool_vectors, weights, seed, examples=encoded.examples
        ),
    )


def _build_and_measure(card: Card, recipe: Recipe, encoded: Encoded, test: Sequence[Demonstration]) -> Measured:
    with built(card, recipe, encoded) as runtime:
        return measure(runtime, test)


@contextmanager
def built(card: Card, recipe: Recipe, encoded: Encoded) -> Iterator[Runtime]:
    """A runtime of what is built in a folder that goes with it."""
    with TemporaryDirectory(prefix="edgeret-few-") as folder:
        target = Path(folder) / "bundle"
        with writing(target) as writer:
            assemble(writer, card, encoded, recipe)
        yield edgeret.load(target)


def measure(runtime: Runtime, test: Sequence[Demonstration]) -> Measured:
    """Every test plan by this runtime."""
    found = Measured(runtime.manifest.content_hash)
    for number, demonstration in enumerate(track(test, "test plans", len(test))):
        steps, walked = demonstration.steps(), walk(runtime, demonstration, _look)
        for step, (candidates, decision) in zip(steps, walked, strict=True):
            found.steps.append(score(candidates, step))
            found.plans.append(number)
            best = decision.candidates[0]
            found.confidence.append(best.probability)
            found.correct.append(best.tool in step.acceptable)
        if demonstration.calls:
            first, acceptable = walked[0][1], steps[0].acceptable
            decided = next(candidate.tool for candidate in first.candidates if candidate.tool != END)
            searched = runtime.search(demonstration.query, 1, strategy="description")[0].tool
            found.requests.append(
                dict(zip(OF_REQUESTS, (float(decided in acceptable), float(searched in acceptable)), strict=True))
            )
            found.request_plans.append(number)
    return found


def _look(task: Task) -> tuple[Ranked, Decision]:
    """All candidates, and the decision with its first two: one of them is a tool."""
    return ranked(task), task.next(k=2)


def _row(found: Sequence[Measured]) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """A size's figures, and the metrics of its steps, both averaged over the samples of it. The intervals are of the
    test plans drawn; how much samples of demonstrations differ is told by `top1_by_repeat`."""
    steps = _mean_rows([one.steps for one in found])
    row: dict[str, Any] = averages(steps, found[0].plans)
    requests = _mean_rows([one.requests for one in found])
    if requests:
        of_requests: dict[str, Any] = averages(requests, found[0].request_plans, OF_REQUESTS)
    else:
        of_requests = {**dict.fromkeys(OF_REQUESTS), "intervals": dict.fromkeys(OF_REQUESTS)}
    errors = [expected_calibration_error(np.array(one.confidence), np.array(one.correct)) for one in found]
    return {
        **row,
        **of_requests,
        "ece": float(np.mean(errors)),
        "intervals": {**row["intervals"], **of_requests["intervals"]},
        "top1_by_repeat": [float(np.mean([step["top1"] for step in one.steps])) for one in found],
        "bundle_hashes": [one.bundle_hash for one in found],
    }, steps


def _mean_rows(parts: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """Row by row the mean of every metric over the parts, which have the same rows."""
    return [{key: float(np.mean([row[key] for row in rows])) for key in rows[0]} for rows in zip(*parts, strict=True)]


def _told(size: int, row: Mapping[str, Any]) -> str:
    first = row["first_tool_top1"]
    beside = "" if first is None else f", first tool {first:.3f} (search {row['search_first_tool_top1']:.3f})"
    return f"{size} demonstrations: top-1 {row['top1']:.3f}, MRR {row['mrr']:.3f}{beside}"
