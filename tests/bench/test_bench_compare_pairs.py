"""Comparing several runs a side: what differs from run to run shrinks. All times are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_cli import printed, refused
from bench_samples import noisy, row, saved, scores

from edgeret.errors import InputError
from edgeret_bench.results.compare import compare


def runs(seed: int, slower: float = 1.0) -> list[dict[str, Any]]:
    """Four results whose "work" differs by 6 % from run to run, as they themselves say."""
    rng = np.random.default_rng(seed)
    found = [noisy(seed + i, slower * mood) for i, mood in enumerate(rng.lognormal(0, 0.06, 4))]
    for result in found:
        result["samples"]["run_to_run"] = {"work": 0.06 * 2**0.5}
    return found


def test_more_pairs_of_runs_are_surer() -> None:
    widths, flagged = {1: [], 4: []}, {1: 0, 4: 0}
    for seed in range(0, 200, 10):
        pairs = list(zip(runs(seed), runs(seed + 1000, slower=1.2), strict=True))
        for n in widths:
            found = row(compare(*pairs[0], again=pairs[1:n]), "work")
            widths[n].append(np.log(found["high"] / found["low"]))
            flagged[n] += found["verdict"] == "regression"
    assert np.median(widths[4]) == pytest.approx(np.median(widths[1]) / 2, rel=0.1)
    assert flagged[1] < flagged[4] == 20
    for seed in range(0, 100, 10):
        pairs = list(zip(runs(seed), runs(seed + 1000), strict=True))
        assert compare(*pairs[0], again=pairs[1:])["ok"]


def test_the_order_of_pairs_does_not_matter() -> None:
    pairs = list(zip(runs(0), runs(1000, slower=1.1), strict=True))
    there, back = (compare(*p[0], again=p[1:]) for p in (pairs, pairs[::-1]))
    assert there["pairs"] == back["pairs"] == 4
    assert row(there, "work")["worse"] == pytest.approx(row(back, "work")["worse"])
    assert row(there, "work")["high"] == pytest.approx(row(back, "work")["high"], rel=0.02)


def test_a_pair_too_short_leaves_all_unknown() -> None:
    short = noisy(0, n=64)
    assert row(compare(noisy(0), noisy(1), again=[(short, short)]), "work")["verdict"].startswith("too few samples")


def test_pairs_of_scores_or_of_another_kind_are_refused() -> None:
    score = scores({"top1": [0.0, 1.0] * 8})
    with pytest.raises(InputError, match="scores do not change from run to run"):
        compare(score, score, again=[(score, score)])
    with pytest.raises(InputError, match="cannot compare a result of 'latency' with one of 'next-tool'"):
        compare(noisy(0), noisy(1), again=[(noisy(0), score)])


def test_the_command_takes_more_pairs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = saved(tmp_path, noisy(0), noisy(1), noisy(2), noisy(3))
    found = printed(capsys, "compare", *files[:2], "--again", *files[2:])
    assert found["pairs"] == 2
    assert "gone.json" in refused(capsys, "compare", *files[:2], "--again", files[2], tmp_path / "gone.json")
