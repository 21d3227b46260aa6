"""Comparing two results: what counts as a regression, what a slower machine does to it, and what is refused.

All times are made up, so nothing here depends on how fast this machine is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_cli import printed, refused, run
from bench_samples import ENVIRONMENT, noisy, row, saved, scores, times
from hypothesis import given
from hypothesis import strategies as st

from edgeret.errors import InputError
from edgeret_bench.results.compare import BLOCK, THRESHOLDS, compare
from edgeret_bench.results.files import write_result


def test_the_same_samples_are_the_same() -> None:
    found = compare(noisy(0), noisy(0))
    assert found["ok"]
    assert found["warnings"] == []
    assert (found["kind"], found["unit"], found["threshold"]) == ("latency", "ms", THRESHOLDS["ms"])
    for name in ("work", "other"):
        same = row(found, name)
        assert same["worse"] == 1.0
        known = same["low"], same["high"], same["verdict"].partition(":")[0]
        assert known in ((1.0, 1.0, "same"), (0.0, np.inf, "too few samples"))
        assert same["before"] == same["after"] == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("order", ["q", "other queries"])
@pytest.mark.parametrize("seed", range(4))
def test_a_stage_that_became_a_fifth_slower_is_a_regression(seed: int, order: str) -> None:
    found = compare(noisy(seed), noisy(seed + 100, slower=1.2, order=order))
    assert not found["ok"]
    assert row(found, "work")["verdict"] == "regression"
    assert row(found, "work")["worse"] == pytest.approx(1.2, rel=0.05)
    assert 1.1 < row(found, "work")["low"] <= row(found, "work")["worse"] <= row(found, "work")["high"] < 1.3
    assert row(found, "other")["verdict"] in ("same", "worse")


def test_and_the_way_back_is_better() -> None:
    found = compare(noisy(0, slower=1.2), noisy(100))
    assert found["ok"]
    assert row(found, "work")["verdict"] == "better"


@pytest.mark.parametrize("seed", range(4))
def test_a_machine_slower_at_everything_is_no_regression(seed: int) -> None:
    found = compare(noisy(seed), noisy(seed, machine=1.5))
    assert found["ok"]
    assert {r["verdict"] for r in found["series"]} == {"same"}
    assert row(found, "work")["worse"] == pytest.approx(1)
    assert row(found, "work")["after"] == pytest.approx(1.5 * row(found, "work")["before"])
    hidden = compare(noisy(seed), noisy(seed + 100, slower=1.2, machine=1 / 1.5))
    assert row(hidden, "work")["verdict"] == "regression"
    assert row(hidden, "work")["after"] < row(hidden, "work")["before"]


def test_a_machine_that_slows_down_half_way_is_no_regression_either() -> None:
    rng = np.random.default_rng(3)
    work, reference = 10 * rng.lognormal(0, 0.05, 1024), 2 * rng.lognormal(0, 0.05, 256)
    slows = np.where(np.arange(1024) < 512, 1, 2)
    found = compare(times({"a": work}, reference), times({"a": work * slows}, reference * slows[::4]))
    assert row(found, "a")["worse"] == pytest.approx(1)
    assert found["ok"]


def test_without_a_reference_a_slower_machine_is_blamed_with_a_warning() -> None:
    work = 10 * np.random.default_rng(0).lognormal(0, 0.1, 1024)
    found = compare(times({"a": work}), times({"a": 1.5 * work}))
    assert not found["ok"]
    assert any("no reference workload" in warning for warning in found["warnings"])


@pytest.mark.parametrize("first", [True, False])
def test_a_reference_in_only_one_of_them_is_not_used(first: bool) -> None:
    work, reference = np.full(256, 10.0), np.full(64, 2.0)
    both = times({"a": work}, reference), times({"a": work})
    found = compare(*(both if first else both[::-1]))
    assert any("no reference workload in one of them" in warning for warning in found["warnings"])
    assert row(found, "a")["worse"] == pytest.approx(1)


def test_two_runs_beside_different_work_are_not_divided_by_it() -> None:
    work = 10 * np.random.default_rng(0).lognormal(0, 0.1, 1024)
    before, after = times({"a": work}, [2.0] * 256), times({"a": work}, [4.0] * 256)
    after["samples"] |= {"reference": {"other": [4.0] * 256}, "reference_of": {"a": "other"}}
    found = compare(before, after)
    assert row(found, "a")["worse"] == pytest.approx(1)
    assert any("no reference workload in one of them" in warning for warning in found["warnings"])


def test_an_empty_reference_is_warned_of() -> None:
    # What a run too short for one round of the reference writes.
    short = times({"a": [1.0, 2.0, 3.0]}, [])
    assert any("no reference workload" in warning for warning in compare(short, short)["warnings"])


def test_the_threshold_decides_between_worse_and_regression() -> None:
    before, after = noisy(0), noisy(100, slower=1.2)
    assert row(compare(before, after, 1.5), "work")["verdict"] == "worse"
    assert compare(before, after, 1.5)["ok"]
    assert row(compare(before, after, 1.0), "work")["verdict"] == "regression"


def test_noise_alone_is_never_a_regression() -> None:
    for seed in range(10):
        assert compare(noisy(seed), noisy(seed + 1000))["ok"]


def test_one_slow_query_is_no_regression() -> None:
    after = noisy(0)
    after["samples"]["series"]["work"][5] = 1e6
    assert {r["verdict"] for r in compare(noisy(0), after)["series"]} == {"same"}


@pytest.mark.parametrize("reference", [[2.0] * 2, None], ids=["with a reference", "without"])
def test_a_few_samples_far_apart_are_a_regression(reference: list[float] | None) -> None:
    quick = times({"a": [1.0, 1.2, 0.9, 1.1]}, reference)
    slow = times({"a": [29.0, 31.0, 30.0, 28.0]}, reference)
    found = row(compare(quick, slow), "a")
    assert found["verdict"] == "regression"
    assert (found["low"], found["high"]) == (pytest.approx(28 / 1.2), pytest.approx(31 / 0.9))
    assert row(compare(slow, quick), "a")["verdict"] == "better"
    assert compare(quick, slow, again=[(quick, slow)])["ok"] is False


def test_a_few_samples_that_prove_nothing_say_how_many_it_takes() -> None:
    needed = "too few samples: 352 queries needed"
    quick, slow = [1.0, 1.2, 0.9, 1.1], [29.0, 31.0, 30.0, 28.0]
    for before, after in (
        (quick, [*slow[:3], 1.15]),  # one of them overlaps
        (quick[:2], slow[:2]),  # two and two fall apart every third time
        ([1.0, 1.01, 1.02, 1.0], [1.9, 1.8, 1.7, 1.9]),  # apart, but not by more than a busy moment makes of it
    ):
        found = compare(times({"a": before}), times({"a": after}))
        assert (row(found, "a")["verdict"], found["ok"]) == (needed, True)
    for n, known in ((351, False), (352, True)):
        assert row(compare(noisy(0, n=n), noisy(1, n=n)), "work")["verdict"].startswith("too few") is not known
    moody = times({"a": quick}), times({"a": [2.6] * 4})
    assert row(compare(*moody), "a")["verdict"] == "regression"
    for side in moody:
        side["samples"]["run_to_run"] = {"a": 0.13}
    assert row(compare(*moody), "a")["verdict"] == needed


def test_a_few_plans_are_judged_as_far_as_they_prove_something() -> None:
    plans = [0, 0, 1, 1, 2, 2, 3, 3]
    right, wrong = scores({"s": [1.0] * 8}, plans), scores({"s": [0.0] * 8}, plans)
    assert row(compare(right, wrong), "s")["verdict"] == "regression"
    assert row(compare(wrong, right), "s")["verdict"] == "better"
    single = scores({"s": [1.0] * 8}, [0] * 8), scores({"s": [0.0] * 8}, [0] * 8)
    assert row(compare(*single), "s")["verdict"] == "too few samples: 6 plans or queries needed"


def test_results_of_other_lengths_are_compared_as_far_as_both_go() -> None:
    found = compare(noisy(0), noisy(1, slower=1.2, n=512))
    assert row(found, "work")["verdict"] == "regression"
    found = compare(noisy(0, n=128), noisy(1, slower=1.2, n=1000, order="other"))
    assert row(found, "work")["worse"] == pytest.approx(1.2, rel=0.1)


def test_what_differs_beside_the_thing_measured_is_said() -> None:
    other = {**ENVIRONMENT, "cpu": "two", "versions": {"numpy": "3", "onnx": "1"}}
    after = times({"a": [1.0] * 64}, [1.0] * 16, environment=other, inputs={"queries": 1}, options={"threads": 2})
    assert compare(times({"a": [1.0] * 64}, [1.0] * 16), after)["warnings"] == [
        "the inputs differ",
        "the options differ",
        "cpu: one before, two after",
        "other versions of numpy, onnx",
    ]


def test_a_machine_busy_with_something_else_is_said() -> None:
    busy, idle, unknown = ({"other_load": {"others": share, "stolen": share}} for share in (0.34, 0.05, None))
    work = {"a": [1.0] * 512}
    warnings = compare(times(work, [1.0] * 128, **idle), times(work, [1.0] * 128, **busy))["warnings"]
    assert warnings == ["other programs took 34% of the CPU during the second run; measure when it is idle"]
    assert compare(times(work, [1.0] * 128, **unknown), times(work, [1.0] * 128, **idle))["warnings"] == []


def test_scores_are_paired_by_plan() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 3)
    before = (rng.random(300) < 0.8).astype(float)
    after = before.copy()
    after[np.flatnonzero(before)[:12]] = 0
    paired = compare(scores({"top1": before}, groups), scores({"top1": after}, groups))
    assert row(paired, "top1")["worse"] == pytest.approx(before.mean() / after.mean())
    assert row(paired, "top1")["verdict"] == "regression"
    assert paired["warnings"] == []
    # The same loss is lost in the noise if nothing says that these are the same plans.
    unpaired = compare(scores({"top1": before}, groups), scores({"top1": after}, groups, order="other"))
    assert row(unpaired, "top1")["verdict"] == "same"
    assert row(unpaired, "top1")["worse"] == row(paired, "top1")["worse"]


def test_steps_of_one_plan_count_as_one_witness() -> None:
    before = np.ones(60)
    after = before.copy()
    after[:10] = 0
    by_step = compare(scores({"s": before}), scores({"s": after}))
    # Those ten steps are a single plan of six: whether it is drawn at all decides everything.
    groups = np.repeat(np.arange(6), 10)
    by_plan = compare(scores({"s": before}, groups), scores({"s": after}, groups))
    assert row(by_step, "s")["worse"] == row(by_plan, "s")["worse"] == pytest.approx(60 / 50)
    assert row(by_step, "s")["verdict"] == "regression"
    assert row(by_plan, "s")["verdict"] == "same"


def test_plans_of_unlike_lengths_weigh_by_their_steps() -> None:
    found = compare(scores({"s": [1, 0, 0, 0]}, [7, 9, 9, 9]), scores({"s": [1, 0, 1, 0]}, [7, 9, 9, 9]))
    assert (row(found, "s")["before"], row(found, "s")["after"]) == (0.25, 0.5)
    assert row(found, "s")["worse"] == 0.5


def test_scores_of_nothing_right_are_the_same() -> None:
    found = row(compare(scores({"s": [0.0] * 9}), scores({"s": [0.0] * 9})), "s")
    assert (found["worse"], found["verdict"]) == (1.0, "same")


@st.composite
def results(draw: st.DrawFn) -> dict[str, Any]:
    """Any times or scores, with a reference or without."""
    if draw(st.booleans()):
        n = draw(st.integers(1, 40))
        values = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
        groups = draw(st.none() | st.lists(st.integers(0, 5), min_size=n, max_size=n))
        return scores({"a": values, "b": values[::-1]}, groups)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    n = BLOCK * draw(st.integers(1, 4)) + draw(st.integers(0, BLOCK - 1))
    reference = rng.gamma(2, 1, n // 4) if draw(st.booleans()) else None
    return times(
        {"a": rng.gamma(2, draw(st.sampled_from([1e-6, 1, 1e5])), n)}, reference, draw(st.none() | st.just("q"))
    )


@given(results(), st.integers(0, 5), st.none() | st.floats(1, 3))
def test_a_result_is_the_same_as_itself(result: dict[str, Any], seed: int, threshold: float | None) -> None:
    found = compare(result, result, threshold, seed)
    assert found["ok"]
    for same in found["series"]:
        assert same["worse"] == 1.0
        known = same["low"], same["high"], same["verdict"].partition(":")[0]
        assert known in ((1.0, 1.0, "same"), (0.0, np.inf, "too few samples"))


@given(st.integers(0, 1000), st.floats(0.3, 3), st.booleans(), st.integers(0, 3))
def test_changing_sides_turns_the_ratio_over(seed: int, slower: float, paired: bool, draw: int) -> None:
    before, after = noisy(seed, n=512), noisy(seed + 1, slower, n=512, order="q" if paired else "r")
    there, back = (compare(*sides, seed=draw) for sides in ((before, after), (after, before)))
    for a, b in zip(there["series"], back["series"], strict=True):
        assert a["worse"] * b["worse"] == pytest.approx(1, rel=1e-4)
        assert (a["before"], a["after"]) == (b["after"], b["before"])
        if paired:
            assert a["low"] * b["high"] == pytest.approx(1, rel=1e-4)


@given(st.lists(st.tuples(st.floats(0.1, 1), st.floats(0.1, 1)), min_size=1, max_size=30), st.booleans())
def test_changing_sides_turns_the_ratio_of_scores_over(pairs: list[tuple[float, float]], paired: bool) -> None:
    before, after = (
        scores({"s": [a for a, _ in pairs]}),
        scores({"s": [b for _, b in pairs]}, order="q" if paired else "r"),
    )
    there, back = row(compare(before, after), "s"), row(compare(after, before), "s")
    assert there["worse"] * back["worse"] == pytest.approx(1)
    if paired:
        known = {"same"}, {"better", "worse"}, {"better", "regression"}, {"too few samples"}
        assert {verdict.partition(":")[0] for verdict in (there["verdict"], back["verdict"])} in known


def test_a_seed_repeats_the_intervals() -> None:
    before, after = noisy(0), noisy(1)
    assert compare(before, after, seed=4) == compare(before, after, seed=4)
    assert compare(before, after, seed=4)["series"] != compare(before, after, seed=5)["series"]


def test_what_cannot_be_compared_is_refused_by_name() -> None:
    result = times({"a": [1.0] * 8, "b": [1.0] * 8})
    with pytest.raises(InputError, match=r"^cannot compare a result of 'latency' with one of 'next-tool'$"):
        compare(result, scores({"a": [1.0]}))
    for lacking in ({k: v for k, v in result.items() if k != "samples"}, {**result, "samples": {}}):
        for sides in ((result, lacking), (lacking, result)):
            with pytest.raises(
                InputError, match=r"without its samples cannot be compared.*--no-samples.*\('latency'\)"
            ):
                compare(*sides)
    for threshold in (0.99, 0, -1):
        with pytest.raises(InputError, match=f"at least 1; found {threshold}$"):
            compare(result, result, threshold)
    with pytest.raises(InputError, match=r"no series 'c' in common; the first has: a, b$"):
        compare(result, result, only="c")


def test_only_series_that_both_have_are_compared() -> None:
    found = compare(times({"a": [1.0] * 8, "b": [1.0] * 8}), times({"b": [1.0] * 8, "c": [1.0] * 8}))
    assert [r["name"] for r in found["series"]] == ["b"]


def test_two_results_without_a_series_in_common_are_refused() -> None:
    with pytest.raises(InputError, match="no series in common") as caught:
        compare(times({"a": [1.0]}), times({"b": [1.0]}))
    assert "None" not in str(caught.value)


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="threshold"):
        compare(noisy(0), noisy(1, slower=3), float("nan"))


def test_the_command_exits_1_for_a_regression(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before, after = saved(tmp_path, noisy(0), noisy(100, slower=1.2))
    assert printed(capsys, "compare", before, before)["ok"] is True
    found = printed(capsys, "compare", before, after, code=1)
    assert row(found, "work")["verdict"] == "regression"
    assert printed(capsys, "compare", before, after, "--threshold", 2)["threshold"] == 2
    only = printed(capsys, "compare", before, after, "--series", "other", "--seed", 3)
    assert ([r["name"] for r in only["series"]], only["seed"]) == (["other"], 3)


def test_the_command_prints_a_table_with_warnings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = saved(tmp_path, times({"a": [1.0] * 512}), times({"a": [2.0] * 512}))
    run("compare", *files, code=1)
    text = capsys.readouterr().out
    assert "regression" in text
    assert "mind: no reference workload" in text
    assert "confidence 95%, threshold 1.1" in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--series", "nope"], "no series 'nope' in common; the first has: work, other"),
        (["--threshold", "0.5"], "at least 1; found 0.5"),
        (["--threshold", "x"], "--threshold"),
        (["--seed", "1.5"], "--seed"),
        pytest.param(["--seed", "-1"], "seed"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], expected: str
) -> None:
    files = saved(tmp_path, noisy(0, n=64), noisy(1, n=64))
    assert expected in refused(capsys, "compare", *files, *options)


def test_bad_files_are_refused_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, other = saved(tmp_path, noisy(0, n=64), scores({"a": [1.0]}))
    assert "cannot compare" in refused(capsys, "compare", good, other)
    assert "cannot be read" in refused(capsys, "compare", good, tmp_path / "gone.json")
    (tmp_path / "broken.json").write_text("{")
    assert "not JSON" in refused(capsys, "compare", tmp_path / "broken.json", good)
    bare = {k: v for k, v in noisy(0).items() if k != "samples"}
    write_result(tmp_path / "bare.json", bare)
    assert "without its samples" in refused(capsys, "compare", good, tmp_path / "bare.json")


@pytest.mark.parametrize("samples", [{"series": {"a": [1]}}, {"unit": "ms"}, {"unit": "parsec", "series": {"a": [1]}}])
def test_samples_that_make_no_sense_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, samples: dict[str, Any]
) -> None:
    (file,) = saved(tmp_path, {**noisy(0, n=64), "samples": samples})
    assert "make no sense" in refused(capsys, "compare", file, file)


def test_what_two_runs_differ_by_widens_the_interval() -> None:
    plain = row(compare(noisy(0), noisy(1, slower=1.2)), "work")
    sides = noisy(0), noisy(1, slower=1.2)
    for side in sides:
        side["samples"]["run_to_run"] = {"work": 0.03}
    wide = row(compare(*sides), "work")
    assert wide["worse"] == plain["worse"]
    assert wide["verdict"] == "regression"
    for bound in ("low", "high"):
        expected = np.hypot(np.log(plain[bound] / plain["worse"]), 1.96 * 0.03)
        assert abs(np.log(wide[bound] / wide["worse"])) == pytest.approx(expected)
    assert row(compare(sides[0], sides[0]), "work")["verdict"] == "same"


def test_runs_with_other_threads_are_compared_as_they_are() -> None:
    # On one thread the reference work is slower too; divided by it, a slower run would look like a better one.
    two, one = noisy(1), noisy(2, slower=1.3, machine=1.0)
    one["samples"]["reference"]["serial"] = [1.6 * value for value in one["samples"]["reference"]["serial"]]
    assert row(compare(two, one), "work")["verdict"] == "better"
    found = compare({**two, "threads": 2}, {**one, "threads": 1})
    assert row(found, "work")["verdict"] == "regression"
    assert "other threads, so a slower machine looks like a slower edgeret" in found["warnings"]
