"""How folds are fitted: half of the head's penalty is tried while that helps the first fold by more than chance, and a
second encoder's heads begin where the first one's ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import build_tiny, full

import edgeret
from edgeret.types import SPELLING_BUCKETS
from edgeret_export.fitting import folds
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.parameters import Parameters
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.recipe import Recipe

LEAST = HeadOptions().inverse_regularisation


@pytest.mark.parametrize(
    ("losses", "tried", "chosen"),
    [
        (([3, 3], [2, 2], [2, 2]), 2, 2),
        (([3, 3, 3, 3], [2, 2, 2, 3], [1.5, 2, 2, 2.5]), 2, 4),
        *full((([3, 3], [2, 2], [1, 1]), 2, 4), (([3, 3], [4, 4]), 1, 1), (([3, 3, 3, 3], [1, 2, 4, 4.5]), 1, 1)),
    ],
)
def test_half_of_the_penalty_is_tried_as_long_as_that_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, losses: tuple[list[float], ...], tried: int, chosen: int
) -> None:
    told, fitted, real = list(losses), [], folds.fit_from

    def fit(start: Parameters | None, train: TrainingSet, options: HeadOptions) -> object:
        fitted.append(options.inverse_regularisation / LEAST)
        return real(start, train, replace(options, inverse_regularisation=LEAST))

    monkeypatch.setattr(folds, "fit_from", fit)
    monkeypatch.setattr(folds, "_plan_losses", lambda *_: np.array(told.pop(0)))
    bundle = build_tiny(tmp_path / "bundle")
    report = edgeret.load(bundle, threads=1).manifest.info["report"]["held_out"]
    assert report["inverse_regularisation"] == chosen * LEAST
    assert fitted[: 1 + tried] == [2**i for i in range(1 + tried)]
    assert set(fitted[1 + tried :]) == {chosen} and len(fitted) == tried + report["folds"]
    assert not told


def test_a_tables_folds_begin_where_the_full_encoders_of_the_same_number_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended: list[Parameters] = []
    starts: list[Parameters | None] = []
    real = folds.fit_from

    def fit(start: Parameters | None, train: TrainingSet, options: HeadOptions) -> tuple[object, Parameters]:
        head, end = real(start, train, options)
        starts.append(start)
        ended.append(end)
        return head, end

    monkeypatch.setattr(folds, "fit_from", fit)
    monkeypatch.setattr(folds, "_choose_penalty", lambda given, number: (folds.fit_fold(given, number), given.options))
    recipe = Recipe(precision="fp32", profile="default")
    bundle = build_tiny(tmp_path / "bundle", recipe=recipe, few=0)
    number = edgeret.load(bundle, threads=1).manifest.info["report"]["held_out"]["folds"]
    assert len(starts) == 2 * number and starts[:number] == [None] * number
    for start, end in zip(starts[number:], ended, strict=False):
        assert start is not None
        np.testing.assert_array_equal(start.query[-SPELLING_BUCKETS:], end.query[-SPELLING_BUCKETS:])
        np.testing.assert_array_equal(start.bias, end.bias)
