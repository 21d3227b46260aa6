"""A result's figures as tables, one function a kind of result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeret_bench.results.files import others_share

QUANTILES = ("p50", "p90", "p99", "max")
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; the first column names the row."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


def tables(name: str, result: Result) -> list[Table]:
    """The tables of one result, `name` being what its file is called; its environment comes last."""
    found = _BY_KIND[str(result["kind"])](result)
    return [Table(f"{name}: {t.title}", t.header, t.rows, t.note) for t in (*found, _provenance(result))]


def cell_text(value: Any) -> str:
    """A cell for people: four decimals, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _methods(result: Result) -> list[Table]:
    rows = result["methods"]
    metrics = list(next(iter(rows.values()), {}))
    cost = result.get("ms_per_step", {})
    header = ["method", *metrics, *(["ms p50"] if cost else [])]
    body = [[m, *v.values(), *([cost[m]["p50"]] if cost else [])] for m, v in rows.items()]
    n = result.get("n_steps", result.get("n_queries"))
    found = [
        Table("accuracy by method", header, body, f"{n} decisions; ms exclude the query's encoding" if cost else "")
    ]
    if "by_plan_length" in result:
        found.append(_groups("top-1 by calls of the plan", result["by_plan_length"], "top1"))
    return found


def _groups(title: str, methods: Mapping[str, Any], key: str) -> Table:
    columns = list(dict.fromkeys(c for groups in methods.values() for c in groups))
    rows = [[name, *(groups.get(c, {}).get(key) for c in columns)] for name, groups in methods.items()]
    counts: Mapping[str, Any] = next(iter(methods.values()), {})
    return Table(title, ["method", *columns], [*rows, ["decisions", *(counts.get(c, {}).get("n") for c in columns)]])


def _plan(result: Result) -> list[Table]:
    keys = ("fsa", "abstained", "planner_calls_per_step", "constant_tokens", "variable_tokens", "outside_mask")
    rows = [[m, *(v[k] for k in keys), v["ms_per_step"]["p50"]] for m, v in result["methods"].items()]
    found = [Table("decisions by policy", ["policy", *keys, "ms p50"], rows, f"{result['n_steps']} decisions")]
    found += [
        _groups(title, result[key], "fsa")
        for key, title in (("by_plan_length", "FSA by calls of the plan"), ("by_history", "FSA by calls made"))
    ]
    conformal = [[str(c["nominal"]), c["covered"], c["mean_size"]] for c in result["conformal"]]
    found.append(Table("conformal sets", ["nominal coverage", "measured", "mean size"], conformal))
    if result["plans"]:
        figures = ("sr", "plan_fsa", "valid_arguments", "ms_per_plan")
        plans = [[name, *(p[k] for k in figures)] for name, p in result["plans"].items()]
        found.append(Table("whole plans", ["policy", *figures], plans))
    return found


def _latency(result: Result) -> list[Table]:
    def rows(stages: Mapping[str, Any]) -> list[list[Any]]:
        return [[name, *(stage[q] for q in QUANTILES)] for name, stage in stages.items() if "p50" in stage]

    others = others_share(result)
    busy = "" if others is None else f"; other programs took {others:.0%} of the CPU"
    found = [
        Table(
            "milliseconds",
            ["stage", *QUANTILES],
            [
                *rows(result["stages"]),
                *rows({f"{k} (peer)": v for k, v in result.get("peers", {}).items()}),
                *rows({f"cold {k.removesuffix('_ms')}": v for k, v in result["cold_start"].items()}),
            ],
            f"{result['n_queries']} queries; first_select / (tokenize + encode) "
            f"{result['overhead']['first_select_ratio']:.3f}; {result['rss_mb']:.0f} MB after load{busy}",
        )
    ]
    for key, title in (
        ("threads_sweep", "by CPU threads"),
        ("batches", "by batch"),
        ("providers_sweep", "by provider"),
    ):
        if key in result:
            missing = "; ".join(f"{k}: {v['unavailable']}" for k, v in result[key].items() if "p50" not in v)
            found.append(Table(f"milliseconds {title}", [title[3:], *QUANTILES], rows(result[key]), missing))
    return found


def _rows(key: str, title: str) -> Callable[[Result], Table]:
    def make(result: Result) -> Table:
        rows = result[key]
        body = [[v["p50"] if isinstance(v, Mapping) else v for v in row.values()] for row in rows]
        return Table(title, list(rows[0]), body)

    return make


def _peers(result: Result) -> list[Table]:
    metrics = list(next(iter(result["systems"].values()))["accuracy"])
    rows = [
        [name, *s["accuracy"].values(), *(s["ms"][q] for q in QUANTILES), s.get("version")]
        for name, s in result["systems"].items()
    ]
    missing = "; ".join(f"{k}: {v}" for k, v in result.get("unavailable", {}).items())
    return [Table("side by side", ["system", *metrics, *QUANTILES, "version"], rows, missing)]


def _stats(result: Result) -> list[Table]:
    flat = [[k, v] for k, v in result.items() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return [Table("figures", ["what", "value"], flat)]


def _provenance(result: Result) -> Table:
    environment = result["environment"]
    rows: list[list[Any]] = [[k, v] for k, v in environment.items() if not isinstance(v, Mapping)]
    rows += [[f"version of {k}", v] for k, v in environment["versions"].items()]
    rows += [[f"input {k}", f"{v['name']} sha256 {v['sha256']}"] for k, v in result.get("inputs", {}).items()]
    rows += [["bundle", f"{result.get('bundle')} {result['bundle_hash']}"]] if "bundle_hash" in result else []
    rows += [["command", " ".join(map(str, result["command"]))], ["measured", result["created"]]]
    return Table("where and how", ["what", "value"], rows)


_BY_KIND: Mapping[str, Callable[[Result], list[Table]]] = {
    "next-tool": _methods,
    "methods": _methods,
    "retrieval": _methods,
    "plan": _plan,
    "latency": _latency,
    "learning": lambda r: [
        _rows("by_demonstrations", "top-1 by demonstrations")(r),
        _rows("by_clusters", "top-1 by clusters")(r),
    ],
    "scaling": lambda r: [_rows(k, f"ms by {k}")(r) for k in ("tools", "labels", "clusters", "history")],
    "peers": _peers,
    "stats": _stats,
}
