"""Encodes tool sets cut at random, gates them, and says which precision each got. A command: see `--help`.

Faithful int8 should pass on all of them, however few texts there are: a refusal here is taken for noise.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tools import read_tools
from edgeret.types import Call, Tool
from edgeret_export import build
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

EXAMPLE = Path(__file__).parents[1] / "examples" / "desktop"
EXPECTED = "int8"


def main() -> None:
    """Prints one JSON object a set; exits 1 if one ended in another precision than int8."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, default=EXAMPLE / "tools.jsonl")
    parser.add_argument(
        "--queries",
        type=Path,
        default=EXAMPLE / "demonstrations.jsonl",
        help="JSONL with `query` and `tools` (names) or `calls`",
    )
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most-tools", type=int, default=200)
    parser.add_argument("--most-queries", type=int, default=200)
    arguments = parser.parse_args()
    # The heads are not asked about, and need more demonstrations than some sets have.
    build.training_set = lambda *_: None
    tools, queries = read_tools(arguments.tools), read_queries(arguments.queries)
    draw = random.Random(arguments.seed)
    others = 0
    for _ in range(arguments.sets):
        found = gate(*cut(draw, tools, queries, arguments.most_tools, arguments.most_queries))
        others += found["precision"] != EXPECTED
        print(json.dumps(found), flush=True)
    sys.exit(bool(others))


def read_queries(path: Path) -> list[Demonstration]:
    """The file's queries, each with the tools that it needs."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    needed = [row["tools"] if "tools" in row else [call["tool"] for call in row["calls"]] for row in rows]
    return [
        Demonstration(str(i), row["query"], tuple(Call(name) for name in names))
        for i, (row, names) in enumerate(zip(rows, needed, strict=True))
    ]


def cut(
    draw: random.Random, tools: list[Tool], queries: list[Demonstration], most_tools: int, most_queries: int
) -> tuple[list[Tool], list[Demonstration]]:
    """5 to `most_tools` tools, and 0 to `most_queries` queries, for which the set has all tools that they need."""
    count = draw.randint(5, min(most_tools, len(tools)))
    asked = draw.sample(queries, min(draw.randint(0, most_queries), len(queries)))
    names: set[str] = set()
    for query in asked:
        more = names | {call.tool for call in query.calls}
        names = more if len(more) <= count else names
    names |= set(draw.sample([tool.name for tool in tools if tool.name not in names], count - len(names)))
    answered = [query for query in asked if {call.tool for call in query.calls} <= names]
    return [tool for tool in tools if tool.name in names], answered


def gate(tools: list[Tool], queries: list[Demonstration]) -> dict[str, Any]:
    """What the default recipe makes of a set."""
    started = time.perf_counter()
    parity = build.encode(find_card(DEFAULT_ENCODER), Recipe(), queries, tools, False).parity
    losses = {
        name: [loss.observations, round(loss.ndcg5_reference - loss.ndcg5_exported, 4), round(loss.shown, 4)]
        for name, loss in (("demonstrations", parity.demonstrations), ("tools", parity.tools))
    }
    return {
        "tools": len(tools),
        "queries": len(queries),
        "precision": parity.precision,
        "size_mb": round(parity.size_mb, 1),
        "time_ratio": round(parity.time_ratio, 2),
        "cosine_min": round(parity.cosine_min, 4),
        "observations, loss, shown": losses,
        "seconds": round(time.perf_counter() - started, 1),
    }


if __name__ == "__main__":
    main()
