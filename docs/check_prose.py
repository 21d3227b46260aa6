"""Looks at the prose of README and pages: sentences of at most 25 words, one spelling. Part of `make check`.

    python docs/check_prose.py [FILE …]

Tables, code and links' addresses are no prose. Dated decisions and what commands write are left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 25
UNREAD = {"docs/cli.md", "docs/measured.md"}
ONE_SPELLING = {"tokenis": "tokeniz", "behavior": "behaviour", "color(?!-)": "colour"}
"""British spelling, but "tokenize", after the file and the library."""
LONG_STILL: Mapping[str, int] = {
    "docs/DATASETS.md": 3,
    "docs/FORMAT.md": 115,
    "docs/RESULTS.md": 13,
    "docs/SECURITY.md": 18,
    "docs/architecture.md": 11,
    "docs/howto/adapters.md": 2,
    "docs/howto/conversations.md": 1,
    "docs/howto/devices.md": 2,
    "docs/howto/encoders.md": 4,
    "docs/howto/expand.md": 2,
    "docs/howto/gate.md": 6,
    "docs/howto/mcp.md": 6,
    "docs/howto/own-llm.md": 2,
    "docs/howto/planner.md": 2,
    "docs/howto/scale.md": 2,
    "docs/howto/search.md": 5,
    "docs/howto/targets.md": 4,
    "docs/howto/teach.md": 3,
    "docs/howto/thresholds.md": 1,
    "docs/howto/transcripts.md": 3,
    "docs/howto/trust.md": 2,
    "docs/howto/tune.md": 1,
    "docs/howto/update.md": 1,
    "docs/howto/why.md": 2,
    "docs/inputs.md": 5,
    "docs/recipe.md": 4,
    "docs/tutorial.md": 1,
}
"""Pages with sentences that are longer, and how many at most. It may only fall."""
CODE = re.compile(r"^ *```.*?^ *```|(?<=\n\n)(?: {4}[^\n]*\n)+", re.M | re.S)
"""Between fences, or set in by four spaces behind an empty line: formulas."""
SPAN = re.compile(r"``.+?``|`[^`]*`")


def main() -> int:
    """0; 1 where there is something to mend, a line for each."""
    given = [Path(name).resolve() for name in sys.argv[1:]]
    pages = given or [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found: list[str] = []
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        if name not in UNREAD and not name.startswith("docs/decisions/"):
            long, spelt = wrong(page)
            most = LONG_STILL.get(name, 0)
            found += spelt + (long if len(long) > most else [])
            if len(long) < most:
                found.append(f"{name}: {len(long)} long sentences are left of {most}: lower its number in LONG_STILL")
    if not given:
        there = {page.relative_to(ROOT).as_posix() for page in pages}
        found += [f"{name} is gone: take it out of LONG_STILL" for name in LONG_STILL.keys() - there]
    for line in found:
        print(line)
    if found:
        print(f"{len(found)} to mend, or some of them: cut long sentences in two; put names into code marks")
    return int(bool(found))


def wrong(page: Path) -> tuple[list[str], list[str]]:
    """A page's long sentences, and words spelt otherwise: file, line and which."""
    name = page.relative_to(ROOT).as_posix()
    long, spelt = [], []
    for line, text in paragraphs(page.read_text(encoding="utf-8")):
        for sentence in re.split(r"(?<=[.!?:;])[)*\"_]*\s+(?=[\[*\"(`A-Z0-9…])", text):
            words = re.findall(r"\w[\w'’.,/%-]*", sentence)
            if len(words) > LONGEST:
                long.append(f"{name}:{line}: {len(words)} words: {sentence[:90]}")
        for theirs, ours in ONE_SPELLING.items():
            for match in re.finditer(rf"\b\w*{theirs}\w*", text, re.I):
                spelt.append(f"{name}:{line}: {match[0]}: write …{ours}…")
    return long, spelt


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph and item of a list as one line without code, with the line that it begins in."""
    text = CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    text = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    held: list[str] = []
    begun = 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        starts = re.match(r"\s*([-*]|\d+\.)\s|#|\||>|!!!", line)
        if held and (not line.strip() or starts):
            yield begun, SPAN.sub("`code`", " ".join(held))
            held = []
        if line.strip() and not re.match(r"\s*[|]", line):
            begun = begun if held else number
            cleaned = re.sub(r"^\s*([-*]|\d+\.)\s+|^#+\s|^\s*>\s?", "", line)
            held.append(re.sub(r"\]\([^)]*\)", "]", cleaned.strip()))


if __name__ == "__main__":
    sys.exit(main())
