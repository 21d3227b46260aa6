"""When a planner is worth its time in search: the arithmetic by hand, and the command with a planner that is told what
to say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret import read_route
from edgeret.errors import InputError
from edgeret.inputs.queries import RetrievalQuery
from edgeret.strategies.routing import Route
from edgeret.types import Hit
from edgeret_export import cli
from edgeret_export.route import LEAST, SUFFICES, Measured, Searched, fit, measure, report, routed


def searched(tools: str, shares: Sequence[float], ms: float) -> Searched:
    return Searched(tuple(Hit(tool, 0.5, share) for tool, share in zip(tools, shares, strict=True)), ms)


def asked(
    second: float, plain: str, with_planner: str, strategy: str = "re-invoke", ms: float = 1000.0, needed: str = "a"
) -> Measured:
    """Four tools in the order without and with a planner; the second one has `second` times the first one's share, the
    others a hundredth."""
    found = searched(plain, (0.5, 0.5 * second, 0.005, 0.005), 5.0)
    return Measured(frozenset(needed), found, {strategy: searched(with_planner, (0.4, 0.3, 0.2, 0.1), ms)})


SURE = [asked(0.1, "abcd", "abcd")] * 30
UNSURE = [asked(0.7, "bcda", "abcd")] * 10


def test_it_asks_only_where_search_is_unsure_and_asking_helps() -> None:
    route = fit([*SURE, *UNSURE])
    assert route == Route("re-invoke", 0.15, 1000.0)  # the first threshold that leaves the sure ones out
    ndcg5, ms = routed([*SURE, *UNSURE], route)
    assert (ndcg5.mean(), ms.mean()) == (1.0, 30 / 40 * 5 + 10 / 40 * 1000)


def test_a_strategy_that_reads_tools_one_by_one_reads_those_alone_that_are_contested() -> None:
    one = asked(0.7, "bacd", "dabc", "rerank", 1000.0)
    worth = [one.worth(Route("rerank", least, 0.0)) for least in (0.0, 0.5, 0.8)]
    # All four: d, a, b, c. Two of four: a, b as among all, then c, d. The first alone: nothing is asked.
    assert worth == [(pytest.approx(1 / np.log2(3)), 1000.0), (1.0, 5.0 + 995 / 2), (pytest.approx(1 / np.log2(3)), 5)]
    # 200 ms passed before any was read, and would not with two, which are not named.
    named = replace(one, asked={"rerank": replace(one.asked["rerank"], before=200.0)})
    assert [named.worth(Route("rerank", least, 0.0))[1] for least in (0.0, 0.5)] == [1000.0, 5.0 + 800 / 2]
    whole = replace(one, asked={"re-invoke": one.asked["rerank"]}).worth(Route("re-invoke", 0.5, 0.0))
    assert whole == (pytest.approx(1 / np.log2(3)), 1000.0)


def test_it_never_asks_where_that_gains_too_little_or_nothing_that_is_sure() -> None:
    assert fit([asked(0.3, "abcd", "abcd")] * 40) is None
    noise = [asked(0.9, "abcd", "bacd"), asked(0.9, "bacd", "abcd")] * 20
    assert fit([*noise, asked(0.9, "bacd", "abcd")]) is None
    assert fit([]) is None


def test_of_two_strategies_that_suffice_it_takes_the_faster() -> None:
    one, other = asked(0.9, "bcda", "abcd", "toolqp", 4000.0), asked(0.9, "bcda", "abcd", "less-is-more", 300.0)
    route = fit([replace(one, asked={**one.asked, **other.asked})] * 30)
    assert route is not None and (route.strategy, route.ms) == ("less-is-more", 300.0)


def test_it_aims_higher_than_what_suffices_where_a_quarter_of_the_time_is_enough() -> None:
    open_ones, sure = [asked(0.9, "bcda", "abcd")] * 20, [asked(0.05, "abcd", "abcd")] * 20
    for more, least in ((1, 0.35), (2, 0.35), (3, 0.07)):  # 0.9963, 0.9926, and 0.9889, which does not suffice
        others = [asked(0.3, "bacd", "abcd")] * more + [asked(0.3, "abcd", "abcd")] * (60 - more)
        route = fit([*open_ones, *others, *sure])
        assert route is not None and route.contested == least


@given(
    st.lists(
        st.builds(
            asked,
            st.floats(0, 1),
            st.permutations("abcd").map("".join),
            st.permutations("abcd").map("".join),
            st.just("rerank"),
            st.floats(1, 1e4),
        ),
        min_size=2,
        max_size=40,
    )
)
def test_a_route_that_is_fitted_suffices_on_what_it_was_fitted_on(measured: list[Measured]) -> None:
    route = fit(measured)
    best = max(routed(measured, each)[0].mean() for each in (None, Route("rerank", 0.0, 0.0)))
    if route is not None:
        assert routed(measured, route)[0].mean() >= SUFFICES * best - 1e-6


def test_what_suffices_is_beside_the_best_strategy_and_not_beside_the_best_threshold() -> None:
    open_ones, sure = [asked(0.9, "bcda", "abcd")] * 20, [asked(0.05, "abcd", "abcd")] * 64
    middle = [asked(0.3, "bacd", "abcd")] * 4 + [asked(0.3, "abcd", "abcd")] * 10
    harmed = [asked(0.05, "abcd", "bacd")] * 2  # always: 0.9926; from 0.3 on: 1; the open ones: 0.9852
    route = fit([*open_ones, *middle, *harmed, *sure])
    assert route is not None and route.contested == 0.35


def test_a_report_fits_on_one_half_and_tests_on_the_other() -> None:
    found = report([*SURE, *UNSURE], seed=0)
    assert found["route"] == {"strategy": "re-invoke", "contested": 0.15, "ms": 1000.0}
    assert (found["best"], found["asked"], found["held_out"]["ndcg5"]) == ("re-invoke", 0.25, 1.0)
    assert found["held_out"]["of_best_ms"] == pytest.approx(0.2537, abs=1e-3)
    curve = found["frontier"]
    assert [point["ndcg5"] for point in curve] == sorted(point["ndcg5"] for point in curve)
    assert (curve[0]["asked"], curve[0]["ndcg5"], curve[-1]["asked"], curve[-1]["ms"]) == (0.0, 0.8577, 1.0, 1000.0)
    with pytest.raises(InputError, match=f"at least {LEAST} are needed"):
        report(SURE[: LEAST - 1], seed=0)


def test_a_threshold_that_helps_only_where_it_was_chosen_is_not_taken() -> None:
    drawn = [(rng.random(), *rng.integers(0, 4, 2).tolist()) for rng in [np.random.default_rng(0)] for _ in range(60)]
    orders = ("abcd", "bacd", "bcad", "bcda")
    lucky = [asked(float(sure), orders[plain], orders[gain]) for sure, plain, gain in drawn]
    assert fit(lucky) is not None  # some threshold looks well
    assert report(lucky, seed=0)["route"] is None


class Telling:
    """Imagines the tool that a request is about."""

    def answer(self, prompt: object, shape: object, limits: object) -> object:
        from edgeret.planner.answers import Answer
        from edgeret.types import Usage

        return Answer({"intents": ["find a file"]}, Usage(1, 1, 1, 0, 1.0))


def test_requests_are_measured_with_and_without_a_planner(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original, threads=1)
    queries = [RetrievalQuery("1", "send the mail", frozenset({"send_mail", "find_file"}))]
    (found,) = measure(runtime, queries, ["re-invoke"], Telling())  # type: ignore[arg-type]
    for route in (None, Route("re-invoke", 0.0, 0.0)):
        ndcg5, ms = found.worth(route)
        assert 0 <= ndcg5 <= 1 and ms > 0


def test_the_command_says_what_is_missing(
    tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries, target = tmp_path / "queries.jsonl", tmp_path / "route.json"
    queries.write_text(json.dumps({"query": "send it", "tools": ["send_mail"]}) + "\n", encoding="utf-8")
    line = ["lab", "route", str(tiny_original), "--queries", str(queries), "-o", str(target)]
    for options, problem in (
        ([], "no planner"),
        (["--model", "m"], "add --endpoint"),
        (["--strategies", ","], "none given"),
    ):
        assert cli.main([*line, *options]) == 2
        assert problem in capsys.readouterr().err
    assert not target.exists()
    with pytest.raises(InputError, match="no such file"):
        read_route(target)
