"""Results of tool search side by side: data sets, papers' rows, the best of a column, the Pareto frontier."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from bench_samples import search_result

from edgeret.errors import InputError
from edgeret.inputs.queries import RetrievalQuery
from edgeret_bench import STEPPED_METHODS, STRATEGY_METHODS
from edgeret_bench.datasets import known, toole
from edgeret_bench.results.figures import search_figure
from edgeret_bench.results.published import SETS
from edgeret_bench.results.published_drawn import published_figure
from edgeret_bench.results.report import write_report
from edgeret_bench.results.search import UNLIKE, Group, frontier, search_groups, search_rows, search_table
from edgeret_bench.results.table import Table


def groups(**results: dict[str, Any]) -> list[Group]:
    return search_groups([row for name, result in results.items() for row in search_rows(name, result)])


def cells(table: Table, column: str) -> dict[str, Any]:
    """A column's cells by the rows' names."""
    return {row[0]: row[table.header.index(column)] for row in table.rows}


def bold(table: Table, column: str) -> set[str]:
    """Names of the rows whose cell of that column is the best."""
    return {table.rows[i][0] for i, j in table.best if table.header[j] == column}


def test_a_known_data_set_has_the_papers_rows_below_its_own() -> None:
    (group,) = groups(mine=search_result({"bm25": (0.3, 0.2), "hybrid": (0.9, 3.0)}, "toole-single"))
    table = search_table(group)
    assert table.title == "tool search: ToolE, one tool"
    assert [row[0] for row in table.rows[:2]] == ["mine: bm25", "mine: hybrid"]
    assert table.quoted == len(table.rows) - 2 == 7
    assert all(row[0].startswith("Re-Invoke paper: ") for row in table.rows[2:])
    assert cells(table, "ndcg@5")["Re-Invoke paper: Re-Invoke"] == 0.7821
    assert cells(table, "recall@10")["Re-Invoke paper: Re-Invoke"] is None
    assert cells(table, "queries")["Re-Invoke paper: Re-Invoke"] == 20_550
    told = cells(table, "conditions")
    assert told["Re-Invoke paper: Re-Invoke"].startswith("reported: Vertex AI")
    assert (told["mine: bm25"], told["mine: hybrid"]) == ("q.jsonl", "tiny int8; q.jsonl")
    assert "all 20,550 queries" in table.note


def test_the_best_is_the_best_that_was_measured_as_it_is_written() -> None:
    methods = {"bm25": (0.30001, 0.2), "dense": (0.30002, 5.0), "rrf": (0.2, 7.0)}
    table = search_table(groups(mine=search_result(methods, "toole-single"))[0])
    assert bold(table, "ndcg@5") == {"mine: bm25", "mine: dense"}
    assert bold(table, "ms p50") == {"mine: bm25"}
    assert not bold(table, "queries")
    alone = search_table(groups(mine=search_result({"bm25": (0.3, 0.2)}, "toole-single"))[0])
    assert not alone.best


def test_what_had_sub_tasks_stands_apart_from_what_had_the_request_alone() -> None:
    result = search_result({"hybrid": (0.6, 3.0), "steps": (0.8, 9.0)}, "ultratool", with_steps=["steps"])
    other = search_result({"hybrid": (0.5, 2.0)}, None, "2")
    found = groups(other=other, mine=result)
    assert [group.title for group in found] == [
        "UltraTool, the request alone",
        "UltraTool, sub-tasks given",
        "q.jsonl",
    ]
    alone, given, unknown = map(search_table, found)
    assert [row[0] for row in alone.rows[: -alone.quoted]] == ["mine: hybrid"]
    assert [row[0] for row in given.rows[: -given.quoted]] == ["mine: steps"]
    assert cells(given, "recall@5")["ToolReAGt paper: ToolReAGt, one tool a sub-task"] == pytest.approx(0.906)
    assert "not the same measure" in given.note and "not the same measure" not in alone.note
    assert unknown.quoted == 0 and "paper" not in unknown.note


def test_rows_of_other_queries_are_told() -> None:
    whole, part = (search_result({"bm25": (0.3, 0.2)}, "toole-multi", limit=limit) for limit in (None, 9))
    (alike,), (unlike,) = groups(a=whole, b=whole), groups(a=whole, b=part)
    assert UNLIKE not in search_table(alike).note and UNLIKE not in search_figure(alike).caption
    assert UNLIKE in search_table(unlike).note and UNLIKE in search_figure(unlike).caption
    assert cells(search_table(unlike), "conditions")["b: bm25"] == "q.jsonl, drawn by seed 0"


def test_a_planner_and_a_budget_are_conditions() -> None:
    result = search_result({"re-invoke": (0.3, 2.0)}, planner="p", budget_ms=500.0)
    result["methods"]["re-invoke"] |= {"answers": 1.5, "tokens": 90.0, "complete": 0.75, "kept": 0.5}
    table = search_table(groups(mine=result)[0])
    assert cells(table, "conditions")["mine: re-invoke"] == "tiny int8; p asked; budget 500 ms; q.jsonl"
    found = [cells(table, column)["mine: re-invoke"] for column in ("answers", "tokens", "kept", "finished")]
    assert found == [1.5, 90.0, 0.5, 0.75]


def test_a_result_from_before_all_methods_were_timed_is_still_tabulated() -> None:
    result = search_result({"bm25": (0.3, None), "dense": (0.4, None)})
    for key in ("dataset", "with_steps"):
        del result[key]
    (group,) = groups(old=result)
    assert "ms p50" not in search_table(group).header
    assert group.points == []


def test_the_frontier_is_what_no_other_beats_in_both() -> None:
    points = [("slow best", 9.0, 0.9), ("beaten", 5.0, 0.3), ("fast", 1.0, 0.3), ("tie", 9.0, 0.8), ("mid", 3.0, 0.6)]
    assert frontier(points) == [(1.0, 0.3), (3.0, 0.6), (9.0, 0.9)]
    assert frontier(points[:1]) == [(9.0, 0.9)]


def test_the_picture_has_a_logarithmic_axis_the_frontier_and_the_papers_best() -> None:
    methods = {"bm25": (0.3, 0.2), "dense": (0.6, 3.0), "clauses": (0.5, 8.0)}
    figure = search_figure(groups(mine=search_result(methods, "toole-multi"))[0])
    assert figure.drawing.layout.xaxis.type == "log"
    *points, line, paper = figure.drawing.data
    assert [(trace.name, trace.x, trace.y) for trace in points] == [
        (f"mine: {name}", (ms,), (score,)) for name, (score, ms) in methods.items()
    ]
    assert (line.name, line.x, line.y, line.line.shape) == ("Pareto frontier", (0.2, 3.0, 8.0), (0.3, 0.6, 0.6), "hv")
    assert (paper.name, paper.x, paper.y) == ("Re-Invoke paper: Re-Invoke", (0.2, 8.0), (0.7231, 0.7231))
    given = search_result({"steps": (0.6, 3.0)}, "ultratool", with_steps=["steps"])
    assert [trace.name for trace in search_figure(groups(mine=given)[0]).drawing.data][1:] == ["Pareto frontier"]


def test_every_reported_figure_is_a_share_and_says_its_model() -> None:
    rows = [row for public in SETS.values() for row in public.rows]
    told = {"toole-single", "toole-multi", "ultratool", "toolret-whole", "livemcpbench"}  # what `recognised` can say
    assert {name for name, _ in SETS} == told
    for row in rows:
        assert row.conditions and row.metrics
        assert all(0 < value < 1 for value in row.metrics.values())


def test_a_data_set_is_known_by_its_tools_and_how_many_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(b"a\0b").hexdigest()[:16]
    one, two, none = (RetrievalQuery("q", "q", frozenset(names)) for names in ("a", "ab", ""))
    assert known.recognised(["b", "a"], [one]) is None
    monkeypatch.setattr(known, "_TOOLS", {digest: "toole"})
    assert known.recognised(["b", "a"], [one, none]) == "toole-single"
    assert known.recognised(["b", "a"], [two]) == "toole-multi"
    assert known.recognised(["b", "a"], [one, two]) is None
    assert known.recognised(["a"], [one]) is None
    monkeypatch.setattr(known, "_TOOLS", {digest: "ultratool"})
    assert known.recognised(["b", "a"], [one, two]) == "ultratool"


@pytest.mark.parametrize(
    ("size", "some", "name"),
    [
        (527, ("find_parking_facilities", "get_earning_dates", "npmVersions"), "livemcpbench"),
        (44_453, ("apigen_tool_272",), "toolret-whole"),
    ],
)
def test_a_set_that_could_not_be_had_is_known_by_its_size_and_some_names(
    size: int, some: tuple[str, ...], name: str
) -> None:
    query = RetrievalQuery("q", "q", frozenset(some[:1]))
    others = [f"t{i}" for i in range(size - len(some))]
    assert known.recognised([*some, *others], [query]) == name
    assert known.recognised([*some, *others, "one more"], [query]) is None
    assert known.recognised([*some[1:], *others, "another"], [query]) is None


def test_bars_show_what_was_measured_beside_what_is_reported() -> None:
    (group,) = groups(mine=search_result({"bm25": (0.4, 0.2), "hybrid": (0.6, 3.0)}, "livemcpbench"))
    figure = published_figure(group)
    assert figure is not None
    assert figure.title == "tool search beside published figures: LiveMCPBench"
    assert "94 tasks" in figure.caption
    measured, reported = figure.drawing.data
    assert (measured.name, reported.name) == ("measured here", "reported")
    assert set(measured.y) == {"mine: bm25", "mine: hybrid"}
    assert dict(zip(reported.y, reported.x, strict=True))["callbus: Qwen3-Embedding-8B"] == 0.5082
    assert figure.drawing.layout.xaxis.title.text == "recall@5"
    order = figure.drawing.layout.yaxis.categoryarray
    assert len(order) == 7 and sorted(order) == sorted((*measured.y, *reported.y))


def test_bars_are_drawn_only_where_something_is_published_and_measured() -> None:
    (unknown,) = groups(mine=search_result({"bm25": (0.4, 0.2)}))
    assert published_figure(unknown) is None
    result = search_result({"bm25": (0.4, 0.2)}, "toolret-whole")
    result["methods"]["bm25"] = {"ndcg@5": 0.4, "ms": {}}
    assert published_figure(groups(mine=result)[0]) is None


def test_toole_as_published_is_known() -> None:
    dataset = toole.read(Path(__file__).parents[1] / "data" / "originals" / "toole")
    single = [query for query in dataset.queries if len(query.tools) == 1]
    assert known.recognised([tool.name for tool in dataset.tools], single) == "toole-single"
    assert known.recognised([tool.name for tool in dataset.tools], dataset.queries) is None


def test_methods_that_read_sub_tasks_are_strategies() -> None:
    assert set(STEPPED_METHODS) <= set(STRATEGY_METHODS)


def test_half_a_result_is_refused_by_name(tmp_path: Path) -> None:
    broken = search_result({"bm25": (0.3, 0.2)})
    del broken["inputs"]
    with pytest.raises(InputError, match=r"^half: not a whole result of 'retrieval' \(KeyError: 'inputs'\)"):
        write_report([("half", broken)], tmp_path / "r.md")


def test_csv_tells_rows_of_several_results_apart(tmp_path: Path) -> None:
    results = [(name, search_result({"bm25": (score, 0.2)}, "toole-multi")) for name, score in (("a", 0.1), ("b", 0.2))]
    write_report(results, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as stream:
        found = {(row["table"], row["row"], row["column"]): row["value"] for row in csv.DictReader(stream)}
    title = "tool search: ToolE, two tools"
    assert [found[title, f"{name}: bm25", "ndcg@5"] for name in "ab"] == ["0.1", "0.2"]
    assert found[title, "Re-Invoke paper: Re-Invoke", "ndcg@5"] == "0.7231"


def test_a_page_writes_the_best_bold_and_keeps_the_rows_of_papers_apart(tmp_path: Path) -> None:
    result = search_result({"bm25": (0.5, 0.2), "dense": (0.6, 3.0)}, "toole-multi")
    write_report([("r", result)], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    measured, quoted = re.findall(r'<tbody class="(?:measured|quoted)">(.*?)</tbody>', text, re.DOTALL)[:2]
    assert '<td data-value="0.6"><b>0.6000</b></td>' in measured and '<td data-value="0.5">0.5000</td>' in measured
    assert "Re-Invoke paper" in quoted and "Re-Invoke paper" not in measured and "<b>" not in quoted
    write_report([("r", result)], tmp_path / "r.md")
    assert "| r: dense | **0.6000** |" in (tmp_path / "r.md").read_text(encoding="utf-8")
