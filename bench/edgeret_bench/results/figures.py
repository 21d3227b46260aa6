"""A result's figures as drawings (plotly), one function a kind of result. Colours and fonts are the page's business."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeret.errors import MissingExtraError

try:
    import plotly.graph_objects as go
except ImportError:
    raise MissingExtraError("bench", "an HTML report") from None

Result = Mapping[str, Any]
POINTS = 200
"""Points of an ECDF; more cannot be told apart."""
FIRST_STAGES = ("tokenize", "encode", "search", "graph", "head", "decide")
LOG_DECADES = 2.0


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with a heading and a sentence on how to read it."""

    title: str
    caption: str
    drawing: Any


def figures(name: str, result: Result) -> list[Figure]:
    """The drawings of one result, `name` being what its file is called; none for a kind that is better read."""
    draw = _BY_KIND.get(str(result["kind"]))
    return [Figure(f"{name}: {f.title}", f.caption, f.drawing) for f in (draw(result) if draw else [])]


def _axes(drawing: Any, x: str, y: str, log_x: bool = False, log_y: bool = False) -> Any:
    drawing.update_layout(xaxis_title=x, yaxis_title=y)
    drawing.update_xaxes(type="log" if log_x else None)
    drawing.update_yaxes(type="log" if log_y else None)
    return drawing


def _lines(series: Mapping[str, tuple[Sequence[Any], Sequence[Any]]]) -> Any:
    return go.Figure([go.Scatter(x=list(x), y=list(y), name=n, mode="lines+markers") for n, (x, y) in series.items()])


def _next_tool(result: Result) -> list[Figure]:
    methods, cost = result["methods"], result["ms_per_step"]
    scatter = go.Figure(
        [
            go.Scatter(
                x=[cost[m]["p50"]],
                y=[v["top1"]],
                name=m,
                text=[m],
                mode="markers+text",
                textposition="top center",
                cliponaxis=False,
            )
            for m, v in methods.items()
        ]
    ).update_layout(showlegend=False)
    groups = result["by_plan_length"]
    lengths = _lines({m: (list(g), [row["top1"] for row in g.values()]) for m, g in groups.items()})
    lengths.update_xaxes(type="category")
    points = result["calibration"]["reliability"]
    sure, right = [p["confidence"] for p in points], [p["right"] for p in points]
    reliable = _lines({"edgeret": (sure, right)})
    reliable.add_scatter(x=[0, 1], y=[0, 1], name="as sure as right", mode="lines", line_dash="dot")
    refusal = result["calibration"]["refusal_curve"]
    keys = [k for k in refusal[0] if k != "share"]
    declined = _lines({k: ([p["share"] for p in refusal], [p[k] for p in refusal]) for k in keys})
    return [
        Figure(
            "accuracy against time",
            "Top-1 of every method and its median time a step, after the query's encoding. Up and left is better.",
            _axes(scatter, "ms a step", "top-1", log_x=True),
        ),
        Figure(
            "accuracy by plan length",
            "Top-1 over the steps of plans with so many calls; longer plans are harder.",
            _axes(lengths, "calls of the plan", "top-1"),
        ),
        Figure(
            "calibration",
            "How often decisions were right, by how sure they were, a tenth of the decisions a point. "
            f"Expected calibration error {result['calibration']['ece']:.4f}.",
            _axes(reliable, "probability", "share right"),
        ),
        Figure(
            "refusal",
            "Accuracy if only the most confident share of the decisions is taken and the rest is declined.",
            _axes(declined, "share of decisions taken", "share right"),
        ),
    ]


def _latency(result: Result) -> list[Figure]:
    stages = result["stages"]
    found = []
    parts = [stages[s]["p50"] for s in FIRST_STAGES]
    fall = go.Figure(go.Waterfall(y=list(FIRST_STAGES), x=parts, orientation="h", measure=["relative"] * len(parts)))
    fall.update_yaxes(autorange="reversed")
    found.append(
        Figure(
            "where the time of a first selection goes",
            f"Median of every stage; first_select as a whole took {stages['first_select']['p50']:.3f} ms, "
            f"the next one {stages['next_select']['p50']:.3f} ms.",
            _axes(fall, "ms", ""),
        )
    )
    if "samples" in result:
        series = result["samples"]["series"]
        shares = np.linspace(0, 1, POINTS)
        ecdf = go.Figure(
            [
                go.Scatter(x=np.quantile(v, shares).tolist(), y=shares.tolist(), name=k, mode="lines")
                for k, v in series.items()
            ]
        )
        found.append(
            Figure(
                "distribution of times",
                "Share of the queries that were answered within so many milliseconds.",
                _axes(ecdf, "ms", "share of queries", log_x=True),
            )
        )
        shown = ("encode", "first_select", "next_select")
        boxes = go.Figure([go.Box(x=np.quantile(series[k], shares).tolist(), name=k, boxpoints=False) for k in shown])
        found.append(
            Figure(
                "spread",
                "Quartiles and reach of the times.",
                _axes(boxes.update_layout(showlegend=False), "ms", "", True),
            )
        )
    for key, what in (("threads_sweep", "CPU threads"), ("batches", "batch size"), ("providers_sweep", "provider")):
        rows = {k: v for k, v in result.get(key, {}).items() if "p50" in v}
        if rows:
            bars = go.Figure(
                [go.Bar(x=list(rows), y=[v[q] for v in rows.values()], name=q) for q in ("p50", "p90", "p99")]
            )
            bars.update_xaxes(type="category")
            caption = "Time of a batch." if key == "batches" else "Time of a first selection."
            found.append(Figure(f"by {what}", caption, _axes(bars, what, "ms")))
    if "sustained" in result:
        slices = result["sustained"]["slices"]
        at = [s["second"] for s in slices]
        over = _lines({q: (at, [s[q] for s in slices]) for q in ("p50", "p99")})
        caption = "First selections without a pause; a device that grows hot grows slow."
        found.append(Figure("over time", caption, _axes(over, "seconds", "ms")))
    return found


def _plan(result: Result) -> list[Figure]:
    methods = result["methods"]
    bars = go.Figure(go.Bar(x=list(methods), y=[m["fsa"] for m in methods.values()]))
    conformal = result["conformal"]
    nominal, held = [c["nominal"] for c in conformal], [c["covered"] for c in conformal]
    cover = _lines({"measured": (nominal, held)})
    cover.add_scatter(x=[0.75, 1], y=[0.75, 1], name="as promised", mode="lines", line_dash="dot")
    found = [
        Figure("function selection accuracy", "Share of right functions, by policy.", _axes(bars, "", "FSA")),
        Figure(
            "coverage of conformal sets",
            "How often the set of candidates held a right function, by how often it was meant to.",
            _axes(cover, "nominal", "measured"),
        ),
    ]
    prompts = result["prompts"].get("maskings")
    if prompts:
        both = ("constant", "variable")
        tokens = go.Figure([go.Bar(x=list(prompts), y=[p[k] for p in prompts.values()], name=k) for k in both])
        tokens.update_layout(barmode="stack")
        caption = "Mean tokens by masking; the constant part is read once and kept."
        found.append(Figure("length of prompts", caption, _axes(tokens, "masking", "tokens")))
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
    return _axes(_lines(series), what, y, log_x=log, log_y=log and y.startswith("ms"))


def _scaling(result: Result) -> list[Figure]:
    texts = {
        "tools": "Search among so many tools: all vectors read, or an HNSW graph walked.",
        "labels": "The head's share: once a task, and at every step.",
        "clusters": "The graph's share: once a task, and at every step.",
        "history": "A step's cost after so many calls.",
    }
    return [
        Figure(f"cost by {key}", text, _curves(result[key], key, key, "ms", log=key != "history"))
        for key, text in texts.items()
    ]


def _learning(result: Result) -> list[Figure]:
    return [
        Figure(
            f"accuracy by {x}",
            "Top-1 on held-out plans, heads fitted anew for each point.",
            _curves(
                [{k: v for k, v in row.items() if k == x or isinstance(v, float)} for row in result[key]], x, x, "top-1"
            ),
        )
        for key, x in (("by_demonstrations", "demonstrations"), ("by_clusters", "clusters"))
    ]


def _retrieval(result: Result) -> list[Figure]:
    methods = result["methods"]
    shown = ("ndcg@5", "recall@5", "completeness@10")
    bars = go.Figure([go.Bar(x=list(methods), y=[m[k] for m in methods.values()], name=k) for k in shown])
    return [Figure("tool search", f"{result['n_queries']} queries.", _axes(bars, "", "score"))]


def _peers(result: Result) -> list[Figure]:
    metric = "ndcg@5"
    points = [
        go.Scatter(
            x=[s["ms"]["p50"]],
            y=[s["accuracy"][metric]],
            text=[n],
            name=n,
            mode="markers+text",
            textposition="top center",
            cliponaxis=False,
        )
        for n, s in result["systems"].items()
    ]
    scatter = go.Figure(points).update_layout(showlegend=False)
    caption = "Every system on the same queries and tools, in one run. Up and to the left is better."
    return [Figure("accuracy against time", caption, _axes(scatter, "ms a query (median)", metric, log_x=True))]


_BY_KIND: Mapping[str, Callable[[Result], list[Figure]]] = {
    "next-tool": _next_tool,
    "latency": _latency,
    "plan": _plan,
    "scaling": _scaling,
    "learning": _learning,
    "retrieval": _retrieval,
    "peers": _peers,
}
