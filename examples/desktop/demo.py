"""Builds the desktop example into a bundle, loads it, and shows what it decides and how well: `make demo`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import edgeret
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import table
from edgeret_export.build import build_bundle
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

HERE = Path(__file__).parent
REQUESTS = (
    "My landlord wants the rent receipt, it's somewhere on this laptop. Mail it to him as a PDF, his name is Moser.",
    "No notifications until four please, I have an exam",
    "Find an hour next week when Ines and I are both free and put tennis there",
    "Order two pizzas with extra cheese",
)


@dataclass(frozen=True)
class Score:
    """How many decisions were right, with histories as in the test requests."""

    steps: int
    right: int
    first_steps: int
    first_right: int
    declined: int
    without_tool: int


def build(target: Path) -> None:
    """Exports the example, unless the bundle stands there already."""
    if target.exists():
        print(f"using the bundle at {target} (remove it to build again)\n")
        return
    print(f"building {target}: the encoder is fetched and exported, graph and heads are fitted (some minutes)\n")
    tools = read_tools(HERE / "tools.jsonl")
    demonstrations = read_demonstrations(HERE / "demonstrations.jsonl", [tool.name for tool in tools])
    target.parent.mkdir(parents=True, exist_ok=True)
    build_bundle(tools, demonstrations, target, find_card(DEFAULT_ENCODER), Recipe())


def show(runtime: Runtime, query: str) -> None:
    """Prints the plan for one request, with probability, source and the time of every stage."""
    print(f"» {query}")
    rows = []
    for number, decision in enumerate((step.decision for step in runtime.plan(query).steps), 1):
        stages = ", ".join(f"{stage} {ms:.2f}" for stage, ms in decision.timings_ms.items() if stage != "total")
        what = decision.tool or f"none of these ({decision.candidates[0].tool})"
        total = f"{decision.timings_ms['total']:.2f}"
        rows.append([number, what, decision.probability, decision.source, total, stages])
    print(table(rows, ("step", "function", "probability", "by", "ms", "of which")), end="\n\n")


def score(runtime: Runtime, requests: Sequence[Demonstration]) -> Score:
    """Decides every step of the requests; in a DAG any call whose predecessors are done is right."""
    right = first_right = steps = declined = 0
    fitting = [r for r in requests if r.calls]
    for request in fitting:
        task = runtime.task(request.query)
        for step, call in zip(request.steps(), (*request.calls, None), strict=True):
            good = task.candidates(1)[0].tool in step.acceptable
            steps += 1
            right += good
            first_right += good and not step.history
            if call is not None:
                task.call(call.tool)
    for request in requests:
        declined += not request.calls and runtime.task(request.query).next().abstained
    return Score(steps, right, len(fitting), first_right, declined, len(requests) - len(fitting))


def main() -> int:
    """Entry point; the argument is the bundle's folder."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/desktop")
    try:
        build(target)
        runtime = edgeret.load(target)
    except edgeret.EdgeretError as error:
        print(f"demo: {error}", file=sys.stderr)
        return error.exit_code
    runtime.warmup()
    for query in REQUESTS:
        show(runtime, query)
    found = score(runtime, read_demonstrations(HERE / "requests.jsonl", runtime.tools))
    print(f"test requests, written by hand and never trained on ({found.first_steps + found.without_tool}):")
    print(f"  next function right   {found.right / found.steps:.3f} of {found.steps} decisions")
    print(f"  first function right  {found.first_right / found.first_steps:.3f} of {found.first_steps} requests")
    print(f"  declined              {found.declined} of {found.without_tool} requests that no tool fits")
    print(f"\nnext: .venv/bin/edgeret select {target} 'your own words'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
