"""When a planner is worth its time in search: the arithmetic by hand, and the command with a planner that is told what
to say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret import read_route
from edgeret.errors import InputError
from edgeret.inputs.query import RetrievalQuery
from edgeret.strategies.routing import Route
from edgeret_export import cli
from edgeret_export.route import LEAST, SUFFICES, Measured, fit, measure, report, routed


def asked(sure: float, plain: float, with_planner: float, ms: float = 1000.0) -> Measured:
    return Measured(sure, (plain, 5.0), {"rerank": (with_planner, ms)})


SURE = [asked(0.9, 1.0, 1.0)] * 30
UNSURE = [asked(0.3, 0.2, 1.0)] * 10


def test_it_asks_only_where_search_is_unsure_and_asking_helps() -> None:
    route = fit([*SURE, *UNSURE])
    assert route == Route("rerank", 0.6, 1000.0)  # half way between the unsure and the sure
    ndcg5, ms = routed([*SURE, *UNSURE], route)
    assert (ndcg5.mean(), ms.mean()) == (1.0, 30 / 40 * 5 + 10 / 40 * 1000)


def test_it_never_asks_where_that_gains_too_little_or_nothing_that_is_sure() -> None:
    assert fit([asked(0.3, 0.80, 0.805)] * 40) is None  # 99 % without asking
    noise = [asked(0.1, 0.5, 1.0), asked(0.1, 0.5, 0.0)] * 20
    assert fit([*noise, asked(0.1, 0.5, 1.0)]) is None
    assert fit([]) is None


def test_of_two_strategies_that_suffice_it_takes_the_faster() -> None:
    both = [Measured(0.2, (0.2, 5.0), {"toolqp": (1.0, 4000.0), "rerank": (0.995, 300.0)})] * 30
    route = fit(both)
    assert route is not None and (route.strategy, route.ms) == ("rerank", 300.0)


@given(
    st.lists(
        st.builds(asked, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(1, 1e4)), min_size=2, max_size=40
    )
)
def test_a_route_that_is_fitted_suffices_on_what_it_was_fitted_on(measured: list[Measured]) -> None:
    route = fit(measured)
    best = max(np.mean([m.plain[0] for m in measured]), np.mean([m.asked["rerank"][0] for m in measured]))
    if route is not None:
        assert routed(measured, route)[0].mean() >= SUFFICES * best - 1e-6


def test_a_report_fits_on_one_half_and_tests_on_the_other() -> None:
    found = report([*SURE, *UNSURE], seed=0)
    assert found["route"] == {"strategy": "rerank", "ask_below": 0.6, "ms": 1000.0}
    assert (found["best"], found["asked"], found["held_out"]["ndcg5"]) == ("rerank", 0.25, 1.0)
    assert found["held_out"]["of_best_ms"] == pytest.approx(0.2537, abs=1e-3)
    curve = found["frontier"]
    assert [point["ndcg5"] for point in curve] == sorted(point["ndcg5"] for point in curve)
    assert (curve[0]["asked"], curve[0]["ndcg5"], curve[-1]["asked"], curve[-1]["ms"]) == (0.0, 0.8, 1.0, 1000.0)
    with pytest.raises(InputError, match=f"at least {LEAST} are needed"):
        report(SURE[: LEAST - 1], seed=0)


def test_a_threshold_that_helps_only_where_it_was_chosen_is_not_taken() -> None:
    drawn = np.random.default_rng(0).normal(0, 0.3, (60, 2))
    lucky = [asked(float(sure % 1), 0.5, 0.5 + float(gain)) for sure, gain in drawn]
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
    assert 0 < found.sure <= 1 and 0 <= found.plain[0] <= 1
    assert found.asked["re-invoke"][0] >= 0 and found.asked["re-invoke"][1] > 0


def test_the_command_says_what_is_missing(
    tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries, target = tmp_path / "queries.jsonl", tmp_path / "route.json"
    queries.write_text(json.dumps({"query": "send it", "tools": ["send_mail"]}) + "\n", encoding="utf-8")
    line = ["route", str(tiny_original), "--queries", str(queries), "-o", str(target)]
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
