"""What reports are made of: intervals, the waterfall, looks of methods, and tables in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bench_samples import few_result, stream_result

from edgeret.runtime.options import POLICIES
from edgeret_bench import FITTED_METHODS, NEEDED, NEXT_TOOL_METHODS, OTHER_METHODS, RETRIEVAL_METHODS, STRATEGY_METHODS
from edgeret_bench.peers import PEERS
from edgeret_bench.results.figures import figures
from edgeret_bench.results.first_decisions import First, by_stage, without_encoder
from edgeret_bench.results.intervals import interval
from edgeret_bench.results.methods import METHODS
from edgeret_bench.results.table import Table
from edgeret_bench.results.tables import measured
from edgeret_bench.results.writing import as_text, cell_text, to_csv, to_markdown


def test_every_method_and_peer_that_can_be_measured_is_described() -> None:
    known = {
        *NEXT_TOOL_METHODS,
        *FITTED_METHODS,
        *OTHER_METHODS,
        *RETRIEVAL_METHODS,
        *STRATEGY_METHODS,
        NEEDED,
        *PEERS,
        *POLICIES,
    }
    assert known <= set(METHODS)


def test_intervals_hold_the_value_and_shrink_with_the_number_of_samples() -> None:
    rng = np.random.default_rng(1)
    few, many = (rng.lognormal(size=64 * n).tolist() for n in (8, 128))
    spans = []
    for values in (few, many):
        found = interval({"samples": {"unit": "ms", "series": {"encode": values}}}, "encode")
        assert found is not None
        assert found[0] <= float(np.median(values)) <= found[1]
        spans.append(found[1] - found[0])
    assert spans[1] < spans[0] / 2


def test_steps_of_one_plan_are_drawn_together() -> None:
    right = [1.0] * 60 + [0.0] * 60
    alone = interval({"samples": {"unit": "score", "series": {"a": right}}}, "a")
    plans = [i // 10 for i in range(120)]
    together = interval({"samples": {"unit": "score", "series": {"a": right}, "groups": plans}}, "a")
    assert alone is not None
    assert together is not None
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


@pytest.mark.parametrize("samples", [{}, {"unit": "ms", "series": {"a": [1.0] * 100}}, {"unit": "score", "series": {}}])
def test_too_few_samples_give_no_interval(samples: dict[str, Any]) -> None:
    assert interval({"samples": samples}, "a") is None


def test_each_stage_that_decided_has_a_waterfall_whose_parts_add_up() -> None:
    fast = [First("static", 0.3 + i / 100, {"search": 0.1, "decide": 0.1, "total": 0.2}) for i in range(8)]
    slow = [First("full", 4.0 + i, {"search": 0.1, "encode": 3.5 + i, "total": 3.6 + i}) for i in range(2)]
    decided = by_stage([*slow, *fast])
    assert [(stage, each["share"]) for stage, each in decided.items()] == [("static", 0.8), ("full", 0.2)]
    assert without_encoder(decided) == 0.8
    drawn = figures("n", {"kind": "latency", "first_decisions": decided})
    assert [figure.caption.split(",")[0] for figure in drawn] == [
        "80% of first decisions were made by the table of token vectors",
        "20% of first decisions were made by the full encoder",
    ]
    for figure, each in zip(drawn, decided.values(), strict=True):
        fall = figure.drawing.data[0]
        *parts, total = fall.x
        assert sum(parts) == pytest.approx(total) == pytest.approx(each["ms"]["mean"])
        assert min(parts) >= 0
        assert fall.measure[-1] == "total"
        assert "busy" not in figure.caption


def test_a_result_that_did_not_count_who_decided_has_no_waterfall() -> None:
    assert figures("n", {"kind": "latency", "stages": {}}) == []


def test_no_two_methods_of_a_figure_look_alike() -> None:
    names = [f"method{i}" for i in range(30)]
    result = {
        "kind": "peers",
        "systems": {name: {"ms": {"p50": 1.0}, "accuracy": {"ndcg@5": 0.5}} for name in names},
    }
    drawn = figures("n", result)[0].drawing.data
    assert len({(trace.marker.color, trace.marker.symbol) for trace in drawn}) == len(names)
    assert len({trace.marker.color for trace in drawn[:12]}) == 12


def test_cells_of_every_kind() -> None:
    found = [
        Table("t", ["what", "value"], [["a", None], ["b", True], ["c", 0.123456], ["d", 3], ["e|f", "g,h"]], "note")
    ]
    cells = ["–", "yes", "0.1235", "3", "g,h"]
    assert [cell_text(row[1]) for row in found[0].rows] == cells
    assert to_markdown(found).splitlines()[2:6] == ["note", "", "| what | value |", "| --- | --- |"]
    assert "| e\\|f | g,h |" in to_markdown(found)
    assert to_csv(found).splitlines()[1:3] == ["t,a,value,", "t,b,value,True"]
    assert to_csv(found).splitlines()[-1] == 't,e|f,value,"g,h"'


def test_a_line_break_does_not_end_a_row_of_markdown() -> None:
    lines = to_markdown([Table("t", ["what", "value"], [["command", "a\nb"]])]).splitlines()
    assert all(line.startswith(("##", "|")) for line in lines if line)


def test_a_table_for_a_terminal_has_dashes_for_what_was_not_measured() -> None:
    assert as_text([Table("t", ("a", "b"), [["x", None], ["y", 1.5]], "n")]).splitlines() == [
        "a       b",
        "-  ------",
        "x       –",
        "y  1.5000",
        "",
        "n",
    ]


def test_tools_alone_stand_left_of_the_smallest_sample_and_are_called_0() -> None:
    drawing = figures("n", few_result())[0].drawing
    assert drawing.layout.xaxis.type == "log"
    assert drawing.layout.xaxis.ticktext == ("0", "10", "300")
    for trace in drawing.data:
        assert tuple(trace.x) == drawing.layout.xaxis.tickvals
        assert 0 < trace.x[0] < trace.x[1] == 10
    top1, first, search = drawing.data
    assert tuple(top1.y) == (0.44, 0.53, 0.75)
    assert top1.error_y.array == pytest.approx((0.03,) * 3)
    assert top1.error_y.arrayminus == pytest.approx((0.03,) * 3)
    assert [trace.name.split(",")[0] for trace in (first, search)] == ["first tool", "first tool"]


def test_a_metric_that_no_request_has_is_not_drawn() -> None:
    result = few_result()
    for row in result["sizes"].values():
        row["first_tool_top1"] = row["search_first_tool_top1"] = None
    assert [len(trace.x) for trace in figures("n", result)[0].drawing.data] == [3, 0, 0]
    assert "–" in as_text(measured(result))


def test_repeats_are_told_in_the_table_of_few() -> None:
    assert "means of 3 samples" in measured(few_result(3))[0].note
    assert "means of" not in measured(few_result())[0].note


def test_a_stream_ends_at_all_its_plans_and_shows_only_the_tests_it_had() -> None:
    learned, tested, new = figures("n", stream_result())
    assert [tuple(trace.x) for trace in learned.drawing.data] == [(10, 30, 40)] * 2
    assert learned.drawing.data[0].error_y.array[0] == 0  # of ten plans no interval was told
    assert [trace.name for trace in tested.drawing.data] == ["before", "after"]
    assert tested.drawing.data[1].y == (0.783, 0.85, 0.806, 0.881)
    assert tuple(new.drawing.data[0].x) == (0, 1, 3)
    alone = stream_result(**dict.fromkeys(("before_test", "test", "before_others", "others")))
    del alone["new_tool"]
    assert len(figures("n", alone)) == len(measured(alone)) == 1
