"""How often the tools that a request needs are among those that `select_tools` keeps, and how many it keeps. A command:
`kept_run.py --help`.

The tool sets are those of the examples, read from their descriptions alone; the desktop example's was in no fit of the
prior. `next` is the share of calls that were kept at their step, when those before had been made; `all` the share of
requests with several calls all of whose tools were kept before the first one; `size` how many tools were kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import edgeret
from edgeret.adapters.conversation import Called, Conversation
from edgeret.adapters.selection import Amount, select

EXAMPLES = Path(__file__).parents[1] / "examples"
AMOUNTS = [*(Amount(k=k) for k in (5, 8, 16)), *(Amount(coverage=c) for c in (0.8, 0.9, 0.95))]


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="a bundle whose encoder reads the tools")
    parser.add_argument("--bundle", type=Path, help="also a bundle of the desktop example with its demonstrations")
    arguments = parser.parse_args()
    base = edgeret.load(arguments.base)
    found = {}
    for folder in sorted((EXAMPLES / "transfer").iterdir()):
        runtime = edgeret.from_tools(edgeret.read_tools(folder / "tools.jsonl"), base=base)
        found[folder.name] = measure(runtime, folder / "demonstrations.jsonl")
    desktop = EXAMPLES / "desktop"
    runtime = edgeret.from_tools(edgeret.read_tools(desktop / "tools.jsonl"), base=base)
    found["desktop"] = measure(runtime, desktop / "requests.jsonl")
    if arguments.bundle:
        found["desktop, demonstrated"] = measure(edgeret.load(arguments.bundle), desktop / "requests.jsonl")
    sys.stdout.write(f"{json.dumps(found, indent=1)}\n")


def measure(runtime: edgeret.Runtime, file: Path) -> dict[str, Any]:
    """One tool set, every amount."""
    names = set(runtime.tools)
    plans = [demo for demo in edgeret.read_demonstrations(file, tuple(names)) if demo.calls]
    result: dict[str, Any] = {"tools": len(names), "requests": len(plans)}
    for amount in AMOUNTS:
        kept_next, kept_all, sizes = [], [], []
        for plan in plans:
            for step, call in enumerate(plan.calls):
                made = tuple(Called(before.tool, True) for before in plan.calls[:step])
                kept = select(runtime, Conversation(plan.query, made, frozenset()), names, amount)
                kept_next.append(call.tool in kept)
                sizes.append(len(kept))
                if step == 0 and len(plan.calls) > 1:
                    kept_all.append({other.tool for other in plan.calls} <= kept)
        how = f"k={amount.k}" if amount.k else f"coverage={amount.coverage}"
        result[how] = {
            "next": round(statistics.mean(kept_next), 3),
            "all": round(statistics.mean(kept_all), 3) if kept_all else None,
            "size": round(statistics.mean(sizes), 1),
        }
    return result


if __name__ == "__main__":
    main()
