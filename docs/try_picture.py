"""Draws docs/try.svg: a request of the desktop example in `edgeret try`, its plan half made. `make picture` runs it.

python docs/try_picture.py BUNDLE
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import edgeret
from edgeret.adapters.trial.app import TryApp
from edgeret.adapters.trial.session import Session

TARGET = Path(__file__).parent / "try.svg"
QUERY = "Find my lease contract, turn it into a PDF and mail it to Gideon"
SIZE = (100, 24)


async def drawn(bundle: str) -> str:
    """The screen as SVG, after one call was accepted and the next one explained."""
    app = TryApp(Session(edgeret.load(bundle, overlay=False)), Path("tried.jsonl"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*QUERY)
        await explained(app, 0)
        await pilot.press("enter")
        await explained(app, 1)
        await pilot.pause()
        return app.export_screenshot(title="edgeret try")


async def explained(app: TryApp, calls: int) -> None:
    """Waits until so many calls are shown, and why the next one is proposed."""
    while app.calls != calls or not app.explained:
        await asyncio.sleep(0.05)


def small(svg: str) -> str:
    """Without fonts from elsewhere, which a page of ours does not load; the reader's own monospaced one does."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = re.sub(r"terminal-\d+-", "t-", svg)  # a number for each picture, so that a page may hold several
    svg = re.sub(r'="(\d+\.\d)\d+"', r'="\1"', svg)
    svg = svg.replace("&#160;", "\N{NO-BREAK SPACE}").replace("Fira Code", "ui-monospace")
    return re.sub(r"[ \t]+\n", "\n", svg)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/try_picture.py BUNDLE (the desktop example's; make demo builds it)")
    TARGET.write_text(small(asyncio.run(drawn(sys.argv[1]))), encoding="utf-8")
