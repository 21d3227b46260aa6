"""A table of token vectors: how it is fitted, and from which probability on its decisions stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgeret
from edgeret.bundle import roles
from edgeret.bundle.reader import open_bundle, read_manifest
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.static import Alone, TableFit, Texts, principal, single_tokens
from edgeret_export.fitting.cascade import LOSSES, fit_thresholds
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.kinds import leave_kinds_out
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.recipe import Recipe
from edgeret_export.reference.fits import SURELY_SHOWN
from edgeret_export.reference.runtime import components_of
from edgeret_export.reference.scoring.cascade import AGAINST, ALONE, LATER, Thresholds
from edgeret_export.static_stage import static_encoded
from tests.conftest import TOOLS, build_tiny, encode_tiny, full, make_demonstrations, tiny_exported

RNG = np.random.default_rng(0)


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def some_texts(n: int, vocabulary: int, dimension: int, noise: float = 0.0) -> tuple[Texts, np.ndarray]:
    """Texts whose vectors really are means of token vectors, and these."""
    truth = RNG.normal(size=(vocabulary, dimension)).astype(np.float32)
    tokens = [RNG.integers(0, vocabulary, size=RNG.integers(2, 9)) for _ in range(n)]
    vectors = np.stack([truth[ids].mean(axis=0) for ids in tokens])
    return Texts(tokens, unit(vectors + noise * RNG.normal(size=vectors.shape))), truth


def test_a_table_finds_the_vectors_that_texts_are_means_of() -> None:
    texts, truth = some_texts(400, 60, 16)
    fit = TableFit(texts, Alone(unit(truth), 16), 60)
    held = np.arange(400) % 5 == 0
    assert fit.cosines(fit.fit(~held, fit.choose(held)), held).mean() > 0.95


def test_tokens_that_no_text_holds_mean_what_they_mean_alone() -> None:
    texts, truth = some_texts(400, 60, 16)
    seen = Texts([ids[ids < 50] if (ids < 50).any() else np.array([0]) for ids in texts.tokens], texts.vectors)
    vectors = unit(np.stack([truth[ids].mean(axis=0) for ids in seen.tokens]))
    fit = TableFit(Texts(seen.tokens, vectors), Alone(truth, 16), 60)
    table = fit.fit(np.ones(400, bool), 0.03)
    foreign = Texts([np.array([token]) for token in range(50, 60)], unit(truth[50:]))
    assert (unit(table[50:]) * fit.project(foreign.vectors)).sum(axis=1).min() > 0.9


def test_fewer_dimensions_keep_most_of_the_cosines() -> None:
    vectors = unit(RNG.normal(size=(300, 5)) @ RNG.normal(size=(5, 40)))
    columns = principal(vectors, 5)
    assert columns.shape == (40, 5)
    assert np.allclose(columns.T @ columns, np.eye(5), atol=1e-5)
    assert np.allclose((vectors @ columns) @ (vectors @ columns).T, vectors @ vectors.T, atol=1e-5)
    assert principal(vectors, 100).shape == (40, 40)


def test_the_same_inputs_give_the_same_table() -> None:
    recipe = Recipe(precision="fp32")
    encoded = encode_tiny(recipe, make_demonstrations())
    assert static_encoded(encoded, recipe).exported.model == static_encoded(encoded, recipe).exported.model


def test_single_tokens_are_read_with_the_special_ones_around_them() -> None:
    exported = tiny_exported()
    encoder = start(exported)
    found = single_tokens(exported, encoder)
    word = encoder.tokenizer.library.token_to_id("mail")
    assert np.allclose(found[word], encoder.encode("mail"))
    assert found.shape == (encoder.vocabulary, exported.spec.dimension)


def test_queries_are_read_by_tables_that_were_not_fitted_to_them() -> None:
    recipe = Recipe(precision="fp32")
    encoded = encode_tiny(recipe, make_demonstrations(), few=0)
    small = static_encoded(encoded, recipe)
    assert encoded.training is not None
    assert small.training is not None
    assert (small.training.folds == encoded.training.folds).all()
    assert small.exported.role == roles.TABLE
    assert small.training.queries.vectors.shape == (56, small.tool_vectors.shape[1])


def held_out(
    rows: int, labels: tuple[str, ...], chosen: np.ndarray, sure: np.ndarray, nothing: float = 0.0, alone: float = 0.0
) -> HeldOut:
    probabilities = np.zeros((rows, len(labels)), np.float32)
    probabilities[:, -1] = nothing
    probabilities[np.arange(rows), chosen] = sure
    return HeldOut(labels, np.arange(rows), probabilities, np.full(rows, alone, np.float32), np.zeros(0))


def words_for(training: TrainingSet, chosen: np.ndarray) -> np.ndarray:
    """What queries' words say of tools, if they name what was chosen (rows,) before any call."""
    words = np.zeros((len(training.folds), len(training.decisions.labels)), np.float32)
    first = training.decisions.first()
    words[training.decisions.plan[first], chosen[first]] = 1
    return words


def test_the_threshold_is_where_what_is_lost_reaches_what_is_allowed() -> None:
    training = encode_tiny(Recipe(precision="fp32"), make_demonstrations(40), few=0).training
    assert training is not None
    training = training.written()
    decisions, labels = training.decisions, training.decisions.labels
    rows = len(decisions)
    right = decisions.acceptable().argmax(axis=1)
    tools = np.flatnonzero(right < len(labels) - 1)
    wrong = right.copy()
    lost = tools[: len(tools) // 10]
    wrong[lost] = (right[lost] + 1) % (len(labels) - 1)
    sure = np.where(np.isin(np.arange(rows), lost), 0.4, 0.95)
    small, large = held_out(rows, labels, wrong, sure), held_out(rows, labels, right, np.full(rows, 0.95))
    thresholds, report = fit_thresholds(training, words_for(training, wrong), small, large)
    assert thresholds.losses == LOSSES
    assert thresholds.at(0.005) == pytest.approx(0.95, abs=1e-6)
    assert report["by_loss"][4]["lost"] == 0
    # The first stage is as good: everything stands that the runtime lets stand, which is not that nothing fits.
    thresholds, report = fit_thresholds(training, words_for(training, right), large, large)
    assert thresholds.at(0.0) == pytest.approx(0.95, abs=1e-6)
    assert report["by_loss"][0]["small_first"] == 1


def test_what_is_told_is_what_the_runtime_lets_stand() -> None:
    training = encode_tiny(Recipe(precision="fp32"), make_demonstrations(40), few=0).training
    assert training is not None
    training = training.written()
    decisions, labels = training.decisions, training.decisions.labels
    right, first, end = decisions.acceptable().argmax(axis=1), decisions.first(), len(labels) - 1
    other = (right + 1) % end

    def taken(probability: float, alone: float, margin: float) -> dict[str, float]:
        """Where the words speak for another tool by a `margin`, and the head gives what it chose `alone` by itself."""
        found = held_out(len(right), labels, right, np.full(len(right), probability), alone=alone)
        words = words_for(training, right)
        words[decisions.plan[first], other[first]] = 1 + margin
        _, report = fit_thresholds(training, words, found, found)
        told: dict[str, float] = report["by_loss"][0]
        return told

    fits = float((right[first] < end).mean())
    for alone, margin, stands in (
        (ALONE - 0.01, AGAINST - 0.1, True),
        (ALONE + 0.01, AGAINST + 0.1, True),
        (ALONE - 0.01, AGAINST + 0.1, False),
    ):
        assert taken(0.5, alone, margin)["small_first"] == pytest.approx(fits if stands else 0, abs=1e-4)
    # Behind a call nothing stands below LATER.
    assert taken(LATER - 0.1, 0, 0)["small"] == pytest.approx(float((first & (right < end)).mean()), abs=1e-4)
    assert taken(LATER + 0.01, 0, 0)["small"] == taken(0.99, 0, 0)["small"] > taken(0.5, 0, 0)["small"]


def first_decisions(nothings: np.ndarray, n_fits: int) -> tuple[TrainingSet, np.ndarray, HeldOut, HeldOut]:
    """So many first decisions that no tool fits, where the small encoder gives a tool 0.9 of the rest and `<end>` these
    probabilities, and `n_fits` that a tool fits, where it says so; the large encoder is right everywhere. The words
    name what the small one does."""
    training = encode_tiny(Recipe(precision="fp32"), make_demonstrations(60), few=0).training
    assert training is not None
    decisions, end = training.decisions, len(training.decisions.labels) - 1
    acceptable, first = decisions.acceptable(), decisions.first()
    none, fits = np.flatnonzero(first & acceptable[:, end]), np.flatnonzero(first & ~acceptable[:, end])
    rows = np.concatenate((np.resize(none, len(nothings)), np.resize(fits, n_fits)))
    picked = replace(
        training,
        decisions=replace(
            decisions,
            plan=np.arange(len(rows)),
            histories=((),) * len(rows),
            written=np.ones(len(rows), bool),
            weight=np.ones(len(rows), np.float32),
            target_row=np.arange(len(rows)),
            target_label=acceptable[rows].argmax(axis=1),
            target_share=np.ones(len(rows), np.float32),
        ),
    )
    right = picked.decisions.target_label
    ended = np.concatenate((nothings, np.zeros(n_fits)))
    chosen = np.where(right == end, np.where(ended > 0.5, end, 0), right)
    sure = np.where(chosen == end, ended, 0.9 * (1 - ended))
    small = held_out(len(rows), decisions.labels, chosen, sure, 0.0)
    small.probabilities[:, end] = ended
    words = np.zeros((len(rows), end + 1), np.float32)
    words[np.arange(len(rows)), chosen] = 1
    return picked, words, small, held_out(len(rows), decisions.labels, right, np.full(len(rows), 0.9))


def test_how_much_may_speak_for_nothing_is_fitted_on_requests_that_no_tool_fits() -> None:
    # 400 refusals allow 48 to be lost: 41, and a standard error of 6.4.
    nothings = np.concatenate((np.linspace(0.001, 0.1, 100), np.full(300, 0.95)))
    thresholds, report = fit_thresholds(*first_decisions(nothings, 1000))
    assert thresholds.nothing == pytest.approx(np.linspace(0.001, 0.1, 100)[41], abs=1e-6)
    assert thresholds.declines == SURELY_SHOWN
    assert report["nothing"] == pytest.approx(thresholds.nothing, abs=1e-6)
    # Those that fit, the 300 that the table declines, and of the 41 those that the largest loss allows.
    assert report["by_loss"][-1]["small_first"] == pytest.approx(1336 / 1400, abs=1e-4)


def test_wrong_refusals_raise_what_the_table_needs_to_decline() -> None:
    training, words, small, large = first_decisions(np.full(200, 0.95), 5000)
    end = len(small.names) - 1
    wrong = np.linspace(0.81, 0.97, 40)
    small.probabilities[200:240] = 0
    small.probabilities[200:240, end] = wrong
    thresholds, _ = fit_thresholds(training, words, small, large)
    # 5,000 requests that a tool fits allow 10: 7, and a standard error of 2.6; the eighth is the bound.
    assert thresholds.declines == pytest.approx(wrong[::-1][7], abs=1e-6)


def test_sayings_that_the_full_encoder_declines_bound_what_the_table_may_take() -> None:
    training, words, small, large = first_decisions(np.full(0, 0.0), 300)
    sayings = np.linspace(0.0, 0.99, 100)
    small, large = replace(small, sayings=sayings), replace(large, sayings=np.full(100, 0.9))
    thresholds, _ = fit_thresholds(training, words, small, large)
    # A hundred allow 12: 9, and a standard error of 3.
    assert thresholds.nothing == pytest.approx(sayings[9], abs=1e-6)
    none, _ = fit_thresholds(training, words, small, replace(large, sayings=np.full(100, 0.1)))
    assert none.nothing == 1.0


def test_kinds_of_requests_that_no_tool_fits_share_a_fold() -> None:
    kinds = np.repeat(np.arange(20), 10)
    vectors = unit(np.concatenate((np.eye(20)[kinds] + 0.01 * RNG.normal(size=(200, 20)), RNG.normal(size=(100, 20)))))
    folds, none = np.arange(300) % 5, np.arange(300) < 200
    moved = leave_kinds_out(folds, vectors, none, 0)
    assert (moved[200:] == folds[200:]).all()
    assert all(len(set(moved[:200][kinds == kind])) == 1 for kind in range(20))
    assert np.bincount(moved[:200], minlength=5).min() >= 20
    assert (moved == leave_kinds_out(folds, vectors, none, 0)).all()
    few = np.arange(300) < 99
    assert leave_kinds_out(folds, vectors, few, 0) is folds


def test_profiles_hold_what_they_name(tmp_path: Path, tiny_cascade: Path, tiny_table: Path) -> None:
    full = build_tiny(tmp_path / "full", recipe=Recipe(precision="fp32", profile="full"), few=0)
    found = {name: {f.role for f in read_manifest(path).files} for name, path in
             {"full": full, "default": tiny_cascade, "tiny": tiny_table}.items()}  # fmt: skip
    assert roles.ENCODER in found["full"] & found["default"]
    assert roles.ENCODER not in found["tiny"]
    assert roles.TABLE in found["tiny"]
    assert {role for role in found["default"] if role.startswith(roles.STATIC)} >= {"static-table", "static-head"}
    assert not any(role.startswith(roles.STATIC) for role in found["full"] | found["tiny"])
    assert read_manifest(tiny_cascade).info["report"]["cascade"]["by_loss"]


@pytest.mark.parametrize("few", [0, *full(1500)])
def test_a_table_decides_nearly_as_the_encoder_that_it_was_fitted_to(tmp_path: Path, few: int) -> None:
    folder = build_tiny(tmp_path / "b", recipe=Recipe(precision="fp32", profile="default"), few=few)
    table, full = edgeret.load(folder, profile="tiny"), edgeret.load(folder, profile="full")
    for demonstration in make_demonstrations(2):
        one, other = (runtime.task(demonstration.query).next(policy="heads") for runtime in (table, full))
        assert one.tool == other.tool


def test_from_tools_alone_a_bundle_can_be_tiny(tmp_path: Path) -> None:
    folder = build_tiny(tmp_path / "b", recipe=Recipe(precision="fp32", profile="tiny"), demonstrations=())
    assert edgeret.load(folder).task("play music").next().tool == "play_music"
    assert open_bundle(folder).manifest.file(roles.ENCODER) is None


def test_a_default_build_without_held_out_figures_has_no_first_stage(tmp_path: Path) -> None:
    recipe = Recipe(precision="fp32", profile="default")
    for name, demonstrations in (("none", ()), ("few", make_demonstrations(1))):
        folder = build_tiny(tmp_path / name, recipe=recipe, demonstrations=demonstrations, tools=TOOLS)
        assert roles.STATIC not in read_manifest(folder).info
        assert components_of(edgeret.load(folder)).cascade is None


def test_thresholds_survive_the_manifest() -> None:
    thresholds = Thresholds((0.0, 0.003, 0.01), (2.0, 0.75, 0.5))
    found = replace(thresholds)
    assert found.at(0.003) == 0.75
    assert Thresholds(tuple(np.float32(thresholds.losses).tolist()), thresholds.least).at(0.003) == 0.75
