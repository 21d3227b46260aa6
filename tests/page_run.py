"""Runs what a page tells its readers to run, in the current folder: `python tests/page_run.py docs/tutorial.md`.

A page's blocks of `python` share one namespace, its blocks of `sh` one folder, and they run in the page's order. A
block that cannot run here stands behind `<!-- not run: reason -->`. Imports little: each page has its own process.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?```(?P<language>python|sh)\n(?P<text>.*?)^```$", re.M | re.S
)


class Block(NamedTuple):
    """A block of a page: `line` is its first line in the file, `reason` why it is not run (empty: it is)."""

    line: int
    language: str
    text: str
    reason: str


def read_blocks(page: Path) -> list[Block]:
    """The blocks of `python` and `sh` of a page, in order."""
    source = page.read_text(encoding="utf-8")
    return [
        Block(source.count("\n", 0, m.start("text")) + 1, m["language"], m["text"], m["reason"] or "")
        for m in FENCE.finditer(source)
    ]


def run_page(page: Path) -> None:
    """Runs the page's blocks in the current folder; the first that fails ends it with a traceback or its exit code."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in read_blocks(page):
        if block.reason:
            continue
        if block.language == "python":
            # Moved to its own line, so that a traceback names the line of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
        elif code := subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], check=False).returncode:
            sys.exit(f"{page}:{block.line}: exit code {code}")


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
