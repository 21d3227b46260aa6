"""A table of what a GPU computes beside the CPU. Knows no way of measuring it."""

from __future__ import annotations

from edgeret_bench.results.table import Result, Table, lines


def gpu_table(found: Result) -> Table:
    """What `tests/gpu_run.py` found beside times: the card, its memory, vectors and decisions against the CPU's."""
    card, golden, planner = found["card"], found["golden"], found["planner"]
    rows: list[list[object]] = [
        ["provider", f"{found['provider']}, {found['graph']}"],
        ["inputs and outputs bound", found["io_binding"]],
        [f"least cosine to {golden['n']} golden vectors", golden["least"]],
        *([name, detail] for name, detail in golden["told"].items()),
        ["least cosine in a batch to alone", found["batch_cosine"]],
    ]
    rows += [[f"a text alone, {name}, ms p50", each["p50"]] for name, each in found.get("encode_ms", {}).items()]
    for name, vectors in found["vectors"].items():
        decided = found["decisions"][name]
        beside = f"{name}, {vectors['precision']}"
        rows += [
            [f"least cosine to the CPU's ({beside})", vectors["least_cosine"]],
            [f"other decisions than the CPU's, of {decided['n']} ({beside})", decided["other"]],
            [f"probabilities at most apart ({beside})", decided["most_apart"]],
        ]
    if "memory_mb" in card:
        rows += [["card", card["name"]], ["driver", card["driver"]]]
        rows += [[f"MB on the card, {when}", mb] for when, mb in card["memory_mb"].items()]
    rows += [
        [f"planner's {step} question, ms p50", each["ms"]["p50"]] for step, each in planner.items() if "ms" in each
    ]
    missing = {"card": card.get("unavailable"), "planner on a GPU": planner.get("unavailable")}
    lacking = (f"no {what}: {why}" for what, why in missing.items() if why)
    return Table("on the device, beside the CPU", ("what", "value"), rows, lines(*lacking))
