"""A result's figures as drawings (plotly), one function a kind of result. Fonts, and light or dark, are the page's.

Captions say what is drawn and how to read it, never what was found: the next result may find the opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from edgeret.errors import MissingExtraError
from edgeret_bench.results import abstaining_drawn, arguments_drawn
from edgeret_bench.results.drawing import (
    COLOURS,
    Figure,
    bar_chart,
    curve_chart,
    error_bars,
    line_chart,
    point_chart,
    with_axes,
    with_diagonal,
)
from edgeret_bench.results.intervals import interval, span_text
from edgeret_bench.results.search import TITLE, UNLIKE, Group, frontier
from edgeret_bench.results.timing import DECIDERS

try:
    import plotly.graph_objects as go
except ImportError:
    raise MissingExtraError("edgeret-bench", "an HTML report") from None

Result = Mapping[str, Any]
POINTS = 200
"""Points of an ECDF; more cannot be told apart."""


def figures(name: str, result: Result) -> list[Figure]:
    """The drawings of one result, `name` being what its file is called; none for a kind that is better read."""
    draw = _BY_KIND.get(str(result["kind"]))
    found = draw(result) if draw else []
    for figure in found:
        figure.drawing.update_layout(template="none")
    return [Figure(f"{name}: {f.title}", f.caption, f.drawing) for f in found]


def _next_tool(result: Result) -> list[Figure]:
    methods, cost, groups = result["methods"], result["ms_per_step"], result["by_plan_length"]
    scatter = point_chart((m, cost[m]["p50"], v["top1"], interval(result, f"{m} top1")) for m, v in methods.items())
    lengths = line_chart({m: (list(g), [row["top1"] for row in g.values()]) for m, g in groups.items()})
    lengths.update_xaxes(type="category")
    calibration = result["calibration"]
    points, refusal = calibration["reliability"], calibration["refusal_curve"]
    reliable = line_chart({"decisions": ([p["confidence"] for p in points], [p["right"] for p in points])})
    taken = [p["share"] for p in refusal]
    declined = line_chart({k: (taken, [p[k] for p in refusal]) for k in refusal[0] if k != "share"})
    return [
        Figure(
            "accuracy against time",
            "Top-1 of every method against its median time a step, without the encoding of the request. Up and left "
            "is better. Bars: 95 % intervals.",
            with_axes(scatter, "ms a step", "top-1", log_x=True),
        ),
        Figure(
            "accuracy by plan length",
            "Top-1 over the steps of plans with so many calls.",
            with_axes(lengths, "calls of the plan", "top-1"),
        ),
        Figure(
            "calibration",
            "How often decisions were right, by how sure they were, a tenth of the decisions a point. "
            f"Calibration error {calibration['ece']:.4f}, by chance {span_text(calibration.get('ece_by_chance'))}.",
            with_axes(with_diagonal(reliable, 0, "as sure as right"), "probability", "share right"),
        ),
        Figure(
            "refusal",
            "Accuracy if only the most confident share of the decisions is taken and the rest is declined.",
            with_axes(declined, "share of decisions taken", "share right"),
        ),
    ]


def _latency(result: Result) -> list[Figure]:
    found = [_waterfall(stage, decided) for stage, decided in result.get("first_decisions", {}).items()]
    if "samples" in result:
        found += _distributions(result["samples"]["series"])
    for key, what in (("threads_sweep", "CPU threads"), ("batches", "batch size"), ("providers_sweep", "provider")):
        rows = {k: v for k, v in result.get(key, {}).items() if "p50" in v}
        if rows:
            bars = bar_chart(list(rows), {q: [v[q] for v in rows.values()] for q in ("p50", "p90", "p99")})
            caption = "Time to encode a batch." if key == "batches" else "Time of a first selection."
            found.append(Figure(f"by {what}", caption, with_axes(bars, what, "ms")))
    if "sustained" in result:
        slices = result["sustained"]["slices"]
        over = line_chart({q: ([s["second"] for s in slices], [s[q] for s in slices]) for q in ("p50", "p99")})
        caption = "First selections without a pause, slice by slice."
        found.append(Figure("over time", caption, with_axes(over, "seconds", "ms")))
    return found


def _waterfall(stage: str, decided: Mapping[str, Any]) -> Figure:
    """The parts of the mean first decision that one stage made, and the mean, at which they end: all are parts of the
    same decisions."""
    mean = decided["ms"]["mean"]
    shown = {**decided["parts"], "mean": mean}
    fall = go.Figure(
        go.Waterfall(
            y=[f"{name} {ms:.3f}" for name, ms in shown.items()],
            x=list(shown.values()),
            orientation="h",
            measure=[*["relative"] * (len(shown) - 1), "total"],
            increasing_marker_color=COLOURS[0],
            totals_marker_color=COLOURS[9],
        )
    )
    fall.update_yaxes(autorange="reversed")
    caption = (
        f"{decided['share']:.0%} of first decisions were made by {DECIDERS[stage]}, in {mean:.3f} ms in the mean and "
        f"{decided['ms']['p50']:.3f} at the median. Bars are means of these decisions, and add up. Around: outside all "
        "stages, where the task is made."
    )
    return Figure(f"where the time goes, decided by {DECIDERS[stage]}", caption, with_axes(fall, "ms", ""))


def _distributions(series: Mapping[str, Sequence[float]]) -> list[Figure]:
    shares = np.linspace(0, 1, POINTS)
    ecdf = line_chart({k: (np.quantile(v, shares).tolist(), shares.tolist()) for k, v in series.items()}, "lines")
    boxes = go.Figure()
    for i, name in enumerate(("encode", "first_select", "next_select")):
        low, q1, median, q3, high = np.quantile(series[name], (0.01, 0.25, 0.5, 0.75, 0.99)).tolist()
        five = {"q1": [q1], "median": [median], "q3": [q3], "lowerfence": [low], "upperfence": [high]}
        boxes.add_box(**five, y=[name], name=name, orientation="h", marker_color=COLOURS[i])
    boxes.update_layout(showlegend=False)
    return [
        Figure(
            "distribution of times",
            "Share of the queries in which a stage took at most so many milliseconds.",
            with_axes(ecdf, "ms", "share of queries", log_x=True),
        ),
        Figure(
            "spread",
            "Box: the middle half of the times; line in it: the median; whiskers: from p1 to p99.",
            with_axes(boxes, "ms", "", True),
        ),
    ]


def _plan(result: Result) -> list[Figure]:
    methods, conformal = result["methods"], result["conformal"]
    bars = bar_chart(list(methods), {"fsa": [m["fsa"] for m in methods.values()]})
    cover = line_chart({"measured": ([c["nominal"] for c in conformal], [c["covered"] for c in conformal])})
    found = [
        Figure("function selection accuracy", "Share of right functions, by policy.", with_axes(bars, "", "FSA")),
        Figure(
            "coverage of conformal sets",
            "How often the set of candidates held a right function, by how often it was meant to.",
            with_axes(with_diagonal(cover, 0.75, "as promised"), "nominal", "measured"),
        ),
    ]
    prompts = result["prompts"].get("maskings")
    if prompts:
        tokens = bar_chart(list(prompts), {k: [p[k] for p in prompts.values()] for k in ("constant", "variable")})
        tokens.update_layout(barmode="stack")
        caption = "Mean tokens by masking; the constant part is read once and kept."
        found.append(Figure("length of prompts", caption, with_axes(tokens, "masking", "tokens")))
    return found


def _curves(rows: Sequence[Mapping[str, Any]], x: str, what: str, y: str, log: bool = True) -> Any:
    """Every column but `x` that is a figure above 0 as a line."""
    series: dict[str, tuple[list[Any], list[Any]]] = {}
    for row in rows:
        for key, value in row.items():
            number = value["p50"] if isinstance(value, Mapping) else value
            wanted = key != x and (isinstance(value, Mapping) or not y.startswith("ms"))
            if wanted and isinstance(number, float):
                at, values = series.setdefault(key, ([], []))
                at.append(row[x])
                values.append(number)
    return with_axes(line_chart(series), what, y, log_x=log, log_y=log and y.startswith("ms"))


def _scaling(result: Result) -> list[Figure]:
    texts = {
        "tools": "Medians among so many tools: a first decision with its encoding, a later step, a search.",
        "history": "Median of a step after so many calls.",
        "learned": "Medians after so many learned plans: learning one, a first decision, a later step.",
    }
    return [
        Figure(f"cost by {key}", text, _curves(result[key], key, key, "ms", log=key == "tools"))
        for key, text in texts.items()
    ]


def _few(result: Result) -> list[Figure]:
    names = {
        "top1": "all decisions",
        "first_tool_top1": "first tool, edgeret's decision",
        "search_first_tool_top1": "first tool, description search",
    }
    sizes = {int(size): row for size, row in result["sizes"].items()}
    # A logarithmic axis has no 0: that stands half a decade left of the smallest sample.
    zero = min((size for size in sizes if size), default=1) / 3
    drawing = with_axes(
        curve_chart({n or zero: row for n, row in sizes.items()}, names), "demonstrations", "top-1", log_x=True
    )
    drawing.update_xaxes(tickvals=[n or zero for n in sizes], ticktext=[str(n) for n in sizes])
    caption = (
        "Top-1 on the same held-out plans, after builds on so many demonstrations; 0 is the tools alone. First tool: "
        "whether the best tool of the first decision is right, of requests that need one. Bars: 95 % intervals."
    )
    return [Figure("accuracy by demonstrations", caption, drawing)]


def _stream(result: Result) -> list[Figure]:
    cumulative = result["cumulative"]
    rows = {int(n): row for n, row in cumulative.items() if n != "all"} | {result["n_plans"]: cumulative["all"]}
    so_far = with_axes(curve_chart(rows, {"top1": "top-1", "mrr": "MRR"}), "plans learned", "mean so far", log_x=True)
    so_far.update_xaxes(tickvals=list(rows), ticktext=[str(n) for n in rows])
    caption = "Mean over all decisions so far, each made before its plan was learned. Bars: 95 % intervals."
    found = [Figure("accuracy while learning", caption, so_far)]
    tests = [name for name in ("test", "others") if result[name] is not None]
    if tests:
        bars = go.Figure()
        places = [f"{name}, {what}" for name in tests for what in ("top-1", "MRR")]
        for i, (when, prefix) in enumerate((("before", "before_"), ("after", ""))):
            picked = [(result[prefix + name], key) for name in tests for key in ("top1", "mrr")]
            values = [row[key] for row, key in picked]
            sure = error_bars(values, [row["intervals"][key] for row, key in picked])
            bars.add_bar(x=places, y=values, name=when, marker_color=COLOURS[i], error_y=sure)
        bars.update_xaxes(type="category")
        text = "Accuracy on plans that were never learned, before and after learning the others. Bars: 95 % intervals."
        found.append(Figure("before and after learning", text, with_axes(bars, "", "score")))
    if new := result.get("new_tool"):
        after = new["after"]
        keys = {"top1": "top-1", "recall@5": "recall@5", "others_top1": "top-1 of other decisions"}
        numbers = [int(n) for n in after]
        lines = line_chart({text: (numbers, [row[key] for row in after.values()]) for key, text in keys.items()})
        text = "How well the tool is found where it is right, and all other decisions, by demonstrations learned of it."
        lines.update_xaxes(tickvals=numbers)
        drawing = with_axes(lines, "demonstrations of the tool", "share of decisions")
        found.append(Figure(f"new tool {new['tool']}", text, drawing))
    return found


def _retrieval(result: Result) -> list[Figure]:
    methods = result["methods"]
    bars = bar_chart(
        list(methods), {k: [m[k] for m in methods.values()] for k in ("ndcg@5", "recall@5", "completeness@10")}
    )
    return [Figure("tool search", f"{result['n_queries']} queries.", with_axes(bars, "", "score"))]


def _peers(result: Result) -> list[Figure]:
    metric = "ndcg@5"
    scatter = point_chart((name, s["ms"]["p50"], s["accuracy"][metric], None) for name, s in result["systems"].items())
    caption = "Every system on the same queries and tools, in one run. Up and left is better."
    return [Figure("accuracy against time", caption, with_axes(scatter, "ms a query (median)", metric, log_x=True))]


def search_figure(group: Group) -> Figure:
    """nDCG@5 against time of all that was measured on one data set."""
    points, known = group.points, group.known
    drawing = point_chart((name, ms, score, None) for name, ms, score in points)
    span = [min(ms for _, ms, _ in points), max(ms for _, ms, _ in points)]
    best = frontier(points)
    x, y = [ms for ms, _ in best] + span[1:], [score for _, score in best] + [best[-1][1]]
    look = {"mode": "lines", "line": {"shape": "hv", "color": COLOURS[9]}}
    drawing.add_scatter(x=x, y=y, name="Pareto frontier", **look)
    caption = (
        "Every method by its median time a query and its nDCG@5. Up and left is better; what lies below the line is "
        "beaten in both by a method on it."
    )
    reported = [(row.metrics["ndcg@5"], row.name) for row in known.rows if "ndcg@5" in row.metrics] if known else []
    if reported:
        score, name = max(reported)
        dots = {"mode": "lines", "line": {"dash": "dot", "color": COLOURS[9]}}
        drawing.add_scatter(x=span, y=[score, score], name=name, **dots)
        caption += " Dotted: the most that a paper reports, on its own machines and queries; its time is not told."
    if not group.alike:
        caption += f" {UNLIKE}"
    drawing.update_layout(template="none")
    return Figure(f"{TITLE}: {group.title}", caption, with_axes(drawing, "ms a query (median)", "nDCG@5", log_x=True))


def _cascade(result: Result) -> list[Figure]:
    scatter = point_chart((name, p["first_ms"]["mean"], p["top1"], None) for name, p in result["profiles"].items())
    caption = "Every profile on the same requests, in turns. Up and left is better."
    return [Figure("accuracy against time", caption, with_axes(scatter, "ms of a first decision (mean)", "top-1"))]


_BY_KIND: Mapping[str, Callable[[Result], list[Figure]]] = {
    "next-tool": _next_tool,
    "abstain": abstaining_drawn.figures,
    "arguments": arguments_drawn.figures,
    "latency": _latency,
    "plan": _plan,
    "cascade": _cascade,
    "scaling": _scaling,
    "few": _few,
    "stream": _stream,
    "retrieval": _retrieval,
    "peers": _peers,
}
