"""A result's figures as tables, one function a kind of result: what the terminal, a report and a spreadsheet all show.

Knows no way of writing them; see `writing` and `page`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edgeret_bench.results import abstaining, arguments, graphs
from edgeret_bench.results.intervals import interval_text, span_text
from edgeret_bench.results.table import SURE, Result, Table, lines, missing, without_empty
from edgeret_bench.results.timing import TIMES, latency_tables, times

BY_CHANCE = "by chance: the ece of exact probabilities on so few, nine of ten times"
TESTS = ("before_test", "test", "before_others", "others")
"""Keys of a stream's tests, which may be null."""
SEARCH_COLUMNS: Mapping[str, str] = {
    **{key: key for key in ("ndcg@1", "ndcg@5", "ndcg@10", "recall@1", "recall@5", "recall@10")},
    **{"complete@5": "completeness@5", "complete@10": "completeness@10", "mrr": "mrr", "answers": "answers"},
    **{"tokens": "tokens", "ms p50": "ms", "ms mean": "ms_mean", "kept": "kept", "finished": "complete"},
}
"""Heads of the columns that tell of a method of tool search, to the keys of its row."""


def measured(result: Result) -> list[Table]:
    """The tables of what one result measured."""
    return _BY_KIND[str(result["kind"])](result)


def tables(name: str, result: Result) -> list[Table]:
    """The same for a report, `name` being what the result's file is called; its environment comes last."""
    return [replace(t, title=f"{name}: {t.title}") for t in (*measured(result), _provenance(result))]


def _methods(result: Result) -> list[Table]:
    methods, calls, cost = result["methods"], result.get("calls", {}), result.get("ms_per_step", {})
    metrics = list(next(iter(methods.values()), {}))
    sure = {m: interval_text(result, f"{m} top1") for m in methods}
    header, body = ["method"], [[m] for m in methods]
    for metric in metrics:
        _add(header, body, metric, [v[metric] for v in methods.values()])
        if metric == "top1" and any(sure.values()):
            _add(header, body, f"top1 {SURE}", list(sure.values()))
    if calls:
        _add(header, body, "calls top1", [calls[m]["top1"] for m in methods])
    if cost:
        _add(header, body, "ms p50", [cost[m]["p50"] for m in methods])
    notes = [
        f"{result['n_steps']} decisions",
        "ms: a step's median, without the encoding of the request" if cost else "",
    ]
    if errors := result.get("calibration"):
        notes.append(f"calibration error {errors['ece']:.4f}, by chance {span_text(errors.get('ece_by_chance'))}")
        notes += _fitness(result["fitness"])
    found = [Table("accuracy by method", header, body, lines(*notes))]
    if "by_plan_length" in result:
        found.append(_groups("top-1 by calls of the plan", "method", result["by_plan_length"], "top1"))
    return found


def _conversation(result: Result) -> list[Table]:
    ways, kinds = result["ways"], ("all", "first", "calls", "ends")
    header = ["way", *(part for kind in kinds for part in (f"{kind} top1", SURE)), "mrr", "ece", "by chance"]
    header += ["declined", "wrongly", "first ms p50", "next ms p50"]
    rows = []
    for name, each in ways.items():
        told = [cell for kind in kinds for cell in (each[kind]["top1"], span_text(each[kind]["intervals"]["top1"]))]
        told += [each["all"]["mrr"], each["ece"], span_text(each.get("ece_by_chance"))]
        told += [each["declined_when_none_fits"], each["declined_when_fitting"]]
        rows.append([name, *told, *(each[key] and each[key]["p50"] for key in ("first_ms", "next_ms"))])
    steps = f"{result['n_steps']} decisions of {result['n_conversations']} conversations, from the second turn on"
    note = f"declined: of turns that none fits, at their first step; wrongly: of the others; {BY_CHANCE}"
    return [Table("later turns", *without_empty(header, rows), lines(steps, note))]


def _cascade(result: Result) -> list[Table]:
    profiles = result["profiles"]
    stages = sorted({stage for each in profiles.values() for stage in each["stages"]})
    header = ["profile", "top1", "mrr", f"lost {SURE}", "ece", "by chance", "first ms p50", "mean", "of full"]
    header += ["next ms p50", *(f"{kind} by {stage}" for kind in ("first", "steps") for stage in stages)]
    rows = [
        [
            *(name, each["top1"], each["mrr"], span_text(each["lost_interval"])),
            *(each["ece"], span_text(each.get("ece_by_chance"))),
            *(each["first_ms"]["p50"], each["first_ms"]["mean"], each["first_time_of_full"]),
            None if each["next_ms"] is None else each["next_ms"]["p50"],
            *(each["first_stages"].get(stage, 0.0) for stage in stages),
            *(each["stages"].get(stage, 0.0) for stage in stages),
        ]
        for name, each in profiles.items()
    ]
    declined = {name: each["declined_when_none_fits"] for name, each in profiles.items()}
    told = ", ".join(f"{name} {share:.1%}" for name, share in declined.items() if share is not None)
    notes = (
        f"{result['n_steps']} decisions of {result['n_plans']} plans, the profiles in turns; first ones with encoding",
        f"lost: top-1 of full less the profile's own; {BY_CHANCE}",
        f"of {result['n_without_tool']} requests that none fits, declined: {told}" if told else "",
    )
    return [Table("who decides", *without_empty(header, rows), lines(*notes))]


def _targets(result: Result) -> list[Table]:
    return [
        Table(f"graphs of the encoder, {name}", *without_empty(graphs.HEADER, graphs.rows(each)), graphs.note(each))
        for name, each in result["sets"].items()
    ]


def search_cells(row: Mapping[str, Any]) -> list[Any]:
    """SEARCH_COLUMNS of one method of tool search, None for what it has not."""
    flat = {**row, "ms": (ms := row.get("ms", {})).get("p50"), "ms_mean": ms.get("mean")}
    return [flat.get(key) for key in SEARCH_COLUMNS.values()]


def _search(result: Result) -> list[Table]:
    rows = [[method, *search_cells(row)] for method, row in result["methods"].items()]
    return [Table("accuracy by method", *without_empty(("method", *SEARCH_COLUMNS), rows), _searched(result))]


def _searched(result: Result) -> str:
    stepped, budget = ", ".join(result.get("with_steps", ())), result.get("budget_ms")
    return lines(
        f"{result['n_queries']} queries",
        f"sub-tasks were given to {stepped}" if stepped else "",
        "" if budget is None else f"kept: share of searches that took at most {budget:g} ms",
    )


def _add(header: list[str], body: list[list[Any]], name: str, column: Sequence[Any]) -> None:
    header.append(name)
    for row, value in zip(body, column, strict=True):
        row.append(value)


def _fitness(fitness: Mapping[str, Any]) -> list[str]:
    offered, declined = fitness["offered_when_fitting"], fitness["declined_when_none_fits"]
    found = []
    if offered is not None:
        found.append(f"a tool was offered for {offered:.1%} of {fitness['n_fitting']} requests that one fits")
    if declined is not None:
        found.append(f"nothing was offered for {declined:.1%} of {fitness['n_without_tool']} requests that none fits")
    return found


def _groups(title: str, what: str, groups_of: Mapping[str, Any], key: str) -> Table:
    columns = list(dict.fromkeys(c for groups in groups_of.values() for c in groups))
    rows = [[name, *(groups.get(c, {}).get(key) for c in columns)] for name, groups in groups_of.items()]
    counts: Mapping[str, Any] = next(iter(groups_of.values()), {})
    return Table(title, [what, *columns], [*rows, ["decisions", *(counts.get(c, {}).get("n") for c in columns)]])


def _plan(result: Result) -> list[Table]:
    methods = result["methods"]
    keys = ("fsa", "abstained", "declined_rightly", "planner_calls_per_step", "outside_mask")
    rows = [[m, *(v[k] for k in keys), v["ms_per_step"]["p50"], v["ms_per_step"]["p90"]] for m, v in methods.items()]
    notes = [f"{result['n_steps']} decisions of {result['n_plans']} plans, seed {result['seed']}"]
    header = ("policy", "fsa", "abstained", "declined rightly", "planner calls a step", "outside mask")
    found = [Table("decisions by policy", (*header, "ms p50", "ms p90"), rows, lines(*notes, *_planner_notes(result)))]
    asked = {m: v for m, v in methods.items() if v["ms_per_planner_call"]}
    if asked:
        token_keys = ("constant_tokens", "variable_tokens", "tokens_evaluated", "tokens_reused")
        cost = [
            [m, *(v[k] for k in token_keys), v["reuse_from_second_step"], v["ms_per_planner_call"]["p50"]]
            for m, v in asked.items()
        ]
        names = ("policy", "constant tokens", "variable tokens", "read", "reused", "reused 2+", "ms p50")
        found.append(Table("what a question to the planner costs", names, cost))
    found += [
        _groups(title, "policy", result[key], "fsa")
        for key, title in (("by_plan_length", "fsa by calls of the plan"), ("by_history", "fsa by calls made"))
    ]
    sets = [[str(c["nominal"]), c["covered"], c["mean_size"]] for c in result["conformal"]]
    found.append(Table("conformal sets", ("nominal coverage", "measured", "mean size"), sets))
    if "maskings" in result["prompts"]:
        prompts = [[m, v["constant"], v["variable"], v["total"]] for m, v in result["prompts"]["maskings"].items()]
        found.append(Table("tokens of prompts", ("masking", "constant tokens", "variable tokens", "total"), prompts))
    if result["plans"]:
        figures = ("sr", "plan_fsa", "valid_arguments", "ms_per_plan")
        plans = [[m, *(p[k] for k in figures)] for m, p in result["plans"].items()]
        found.append(Table("whole plans", ("policy", "sr", "plan fsa", "valid arguments", "ms a plan"), plans))
    return found


def _planner_notes(result: Result) -> list[str]:
    saved, ratio = result["prompts"].get("hard_saves"), result["reuse"].get("warm_over_cold")
    return [
        "" if saved is None else f"masking hard saves {saved:.1%} of masking none's tokens",
        "" if ratio is None else f"time with a warm cache / with an empty one {ratio:.3f}",
        *missing(result["unavailable"]),
    ]


def _rows(result: Result, key: str, title: str, note: str = "") -> Table:
    rows = result[key]
    body = [[v["p50"] if isinstance(v, Mapping) else v for v in row.values()] for row in rows]
    return Table(title, list(rows[0]), body, note)


def _few(result: Result) -> list[Table]:
    header = ("demonstrations", "top1", f"top1 {SURE}", "mrr", "first tool", f"first {SURE}", "by search", "ece")
    rows = [
        [
            size,
            row["top1"],
            span_text(row["intervals"]["top1"]),
            row["mrr"],
            row["first_tool_top1"],
            span_text(row["intervals"]["first_tool_top1"]),
            row["search_first_tool_top1"],
            row["ece"],
        ]
        for size, row in result["sizes"].items()
    ]
    repeats = result["repeats"]
    notes = (
        f"{result['n_steps']} decisions of {result['n_plans']} plans; first tool, also by description search: of "
        f"{result['n_fitting']} requests that need one",
        f"means of {repeats} samples of every size" if repeats > 1 else "",
        f"{result['repeated_queries']} test queries are among those to build on" if result["repeated_queries"] else "",
    )
    return [Table("accuracy by demonstrations", header, rows, lines(*notes))]


def _stream(result: Result) -> list[Table]:
    header = ("what", "top1", f"top1 {SURE}", "mrr", f"mrr {SURE}")
    learned = {f"first {name} plans": row for name, row in result["cumulative"].items() if name != "all"}
    learned |= {"all plans": result["cumulative"]["all"]}
    tested = {name.replace("_", " "): result[name] for name in TESTS if result[name] is not None}
    learning, whole = result["update_us"], result["plan_us"]
    notes = (
        f"{result['n_steps']} decisions of {result['n_plans']} plans, each predicted before it was learned",
        f"µs to learn a plan, without encoding: p50 {learning['p50']:.0f}, p99 {learning['p99']:.0f}",
        f"µs to predict it and learn it: p50 {whole['p50']:.0f}, p99 {whole['p99']:.0f}",
        f"learned {result['learned_mb']:.3f} MB",
    )
    found = [Table("accuracy while learning", header, [_sure(*item) for item in learned.items()], lines(*notes))]
    if tested:
        rows = [_sure(*item) for item in tested.items()]
        found.append(Table("before and after learning", header, rows, "nothing was learned from these plans"))
    if new := result.get("new_tool"):
        keys = ("top1", "recall@5", "others_top1")
        rows = [[number, *(row[key] for key in keys)] for number, row in new["after"].items()]
        note = "the bundle was built with demonstrations of it" if new["known_before"] else ""
        found.append(Table(f"new tool {new['tool']}", ("demonstrations", *keys), rows, note))
    return found


def _sure(name: str, row: Mapping[str, Any]) -> list[Any]:
    """A row of top-1 and MRR with their intervals."""
    return [name, *(cell for key in ("top1", "mrr") for cell in (row[key], span_text(row["intervals"][key])))]


def _scaling(result: Result) -> list[Table]:
    return [_rows(result, key, f"ms by {key}") for key in ("tools", "history", "learned")]


def _peers(result: Result) -> list[Table]:
    systems, encoder = result["systems"], result["encoder"]
    metrics = list(next(iter(systems.values()))["accuracy"])
    header = [
        "system",
        *metrics,
        *(f"{q} ms" for q in TIMES),
        f"p50 {SURE}",
        "× first decision",
        "build ms",
        "version",
    ]
    rows = [
        [
            name,
            *(s["accuracy"][m] for m in metrics),
            *times(s["ms"]),
            interval_text(result, name),
            s["times_first_select"],
            s["build_ms"],
            s["version"],
        ]
        for name, s in systems.items()
    ]
    notes = (
        f"{result['n_queries']} queries over {result['n_tools']} tools, the first {result['k']} ranked; "
        f"{result['n_without_tool']} more without a tool; {result['n_timed']} timed",
        f"{result['threads']} threads each; edgeret runs {encoder['card']} in {encoder['precision']}, "
        f"peers that embed run {result['peers_model']} in fp32",
        f"{share:.0%} of first decisions needed no encoder; ×: means"
        if (share := result.get("without_encoder")) is not None
        else "",
        *missing(result["unavailable"]),
    )
    return [Table("side by side", header, rows, lines(*notes))]


def _stats(result: Result) -> list[Table]:
    keys = ("n_plans", "n_tools", "n_tools_called")
    rows: list[list[Any]] = [[key[2:].replace("_", " "), result[key]] for key in keys]
    for key in ("calls_per_plan", "dependencies_per_plan", "links_per_plan"):
        rows.append([key.replace("_", " "), f"{result[key]['mean']:.1f} ± {result[key]['std']:.1f}"])
    lengths = [[length, count] for length, count in result["plans_by_length"].items()]
    note = f"{result['n_chains']} plans are chains"
    return [Table("figures", ("what", "value"), rows, note), Table("plans by length", ("calls", "plans"), lengths)]


def _provenance(result: Result) -> Table:
    environment = result["environment"]
    rows: list[list[Any]] = [[k, v] for k, v in environment.items() if not isinstance(v, Mapping)]
    rows += [[f"version of {k}", v] for k, v in environment["versions"].items()]
    rows += [[f"input {k}", f"{v['name']} sha256 {v['sha256']}"] for k, v in result.get("inputs", {}).items()]
    rows += [["bundle", f"{result.get('bundle')} {result['bundle_hash']}"]] if "bundle_hash" in result else []
    rows += [["command", " ".join(map(str, result["command"]))], ["measured", result["created"]]]
    return Table("where and how", ("what", "value"), rows)


_BY_KIND: Mapping[str, Callable[[Result], list[Table]]] = {
    "next-tool": _methods,
    "abstain": abstaining.tables,
    "methods": _methods,
    "retrieval": _search,
    "plan": _plan,
    "arguments": arguments.tables,
    "cascade": _cascade,
    "conversation": _conversation,
    "targets": _targets,
    "latency": latency_tables,
    "few": _few,
    "stream": _stream,
    "scaling": _scaling,
    "peers": _peers,
    "stats": _stats,
}
