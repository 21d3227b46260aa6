"""Writes src/turns_data.h: the weights of section 9.1 of docs/FORMAT.md, from the reference's turns.json.

PYTHONPATH=.:export python core/make_turns.py            writes the file
PYTHONPATH=.:export python core/make_turns.py --check    fails where the file is another one
"""

from __future__ import annotations

import sys
from pathlib import Path

from edgeret_export.reference.scoring.turns import SHAPES, shipped_weights

TARGET = Path(__file__).parent / "src" / "turns_data.h"
HEAD = """/* Made by core/make_turns.py; not to be edited. */

typedef struct {
    double whole[5], last[4], earlier[2], gates[2][9], end[17], nothing;
} turn_weights;

/* Of tools alone, and of bundles with demonstrations. */
static const turn_weights WEIGHTS[2] = {
"""


def listed(numbers: tuple[float, ...] | tuple[tuple[float, ...], ...]) -> str:
    """Numbers in C, all their digits."""
    return "{" + ", ".join(listed(n) if isinstance(n, tuple) else repr(n) for n in numbers) + "}"


def text() -> str:
    """The whole file."""
    found = HEAD
    for demonstrated in (False, True):
        weights = shipped_weights(demonstrated)
        found += "    {\n" + "".join(f"        .{name} = {listed(getattr(weights, name))},\n" for name in SHAPES)
        found += f"        .nothing = {weights.nothing!r},\n    }},\n"
    return found + "};\n"


def main() -> None:
    """Writes the file, or compares it."""
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="utf-8") != text():
            print(f"{TARGET} is not what core/make_turns.py makes; run it")
            raise SystemExit(1)
        return
    TARGET.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
