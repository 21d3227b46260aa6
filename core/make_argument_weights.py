"""Writes src/argument_weights.h: what argument_weights.json, in the reference, has of signs, in thousandths, as
src/suits.c looks it up.

    PYTHONPATH=.:export python core/make_argument_weights.py            writes the file
    PYTHONPATH=.:export python core/make_argument_weights.py --check    fails where the file is another one
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from edgeret_export.reference.arguments.features import CHUNK_KINDS, KINDS

ROOT = Path(__file__).resolve().parent
TARGET = ROOT / "src" / "argument_weights.h"
FITTED = ROOT.parent / "export" / "edgeret_export" / "reference" / "arguments" / "argument_weights.json"
ALL_KINDS = (*KINDS, "nested")
_LEAD_WORDS = (
    "in at to for from with about on of called named by until till into near is as under over : , and that not "
    "since before after between than ^ other"
)
LEADS = _LEAD_WORDS.split(" ")
_TRAITS = "share all token when measure number name told option plain many"
SIGNS = {
    "ARTICLE": "article",
    "SHAPE": "shape of an example",
    "LED": "led",
    "CUED": "cued",
    "TOLD_CUE": "told cue",
    "BEHIND_TOOL": "behind the tool's words",
    "OWN_WITHIN": "own words within",
    "OWN_LAST": "own word at the end",
    "OWN_FIRST": "own word first",
    "OWN_BEHIND": "own word behind",
    "TOLD_BEHIND": "told word behind",
    "NEAR": "near",
    "BEHIND": "behind",
    "BEFORE": "before",
    "HOLDS_TOOL": "holds the tool's words",
    "SAME_NAME": "of the same name",
    "NOT_SAME_NAME": "not of the same name",
    "TAKEN": "taken",
    "SAID": "said",
    "PART_OF_SAID": "part of what was said",
    "ITS_PART": "its part",
    "PART_OF_MOMENT": "part of a moment",
    "PART_OF_TOKEN": "part of a token",
    "PART_OF_MEASURE": "part of a measure",
    "OF_UNIT": "of the unit",
    "BEHIND_SAID": "behind what was said",
    "IN_FRONT": "in front of it",
    "TOOLS_WORDS": "the tool's words",
    "WHEN_WITHIN": "when within",
    "NUMBER_WITHIN": "number within",
    "TOKEN_WITHIN": "token within",
    "NAME_WITHIN": "name within",
    "QUOTATION": "of a quotation",
    "LIKE_VERB": "ends like a verb",
    "BEGINS_ALL": "begins all",
    "BEHIND_VERB": "behind the verb",
    "ENDS_CLAUSE": "ends the clause",
    "ABSENT_REQUIRED": "absent required",
    "ABSENT_OPTIONAL": "absent optional",
    "ABSENT_MANY": "absent many True",
    "ABSENT_ONE": "absent many False",
}


class Weights:
    """What was fitted, and which of it a table has."""

    def __init__(self) -> None:
        fitted = json.loads(FITTED.read_text("utf-8"))
        self.signs: dict[str, float] = fitted["weights"]
        self.confidence: dict[str, float] = fitted["confidence"]
        self.seen: set[str] = set()

    def thousandths(self, name: str) -> int:
        """A sign's weight."""
        self.seen.add(name)
        weight = self.signs.get(name, 0.0)
        if round(weight * 1000) / 1000 != weight:
            raise SystemExit(f"{name}: a weight with more than three digits")
        return round(weight * 1000)

    def row(self, names: Iterable[str]) -> str:
        """The weights of signs as C's initialiser."""
        return "{" + ", ".join(str(self.thousandths(name)) for name in names) + "}"


def table(name: str, size: str, rows: Iterable[str]) -> str:
    """An array of arrays."""
    return "\n".join((f"static const int16_t {name}{size} = {{", *(f"    {row}," for row in rows), "};"))


def made() -> str:
    """The file."""
    weights = Weights()
    kinds = f"[{len(ALL_KINDS)}]"
    parts = [
        "/* Made by core/make_argument_weights.py: weights of signs, in thousandths. */",
        "#ifndef ER_ARGUMENT_WEIGHTS_H\n#define ER_ARGUMENT_WEIGHTS_H\n\n#include <stdint.h>",
        f"enum {{ ER_LEADS = {len(LEADS)}, ER_LEAD_NONE = {len(LEADS) - 2}, ER_LEAD_OTHER = {len(LEADS) - 1} }};",
        f'static const char er_lead_words[] = "{" ".join(LEADS[:-2])}";',
        "enum {\n" + "".join(f"    ER_SIGN_{name},\n" for name in SIGNS) + "    ER_SIGNS\n};",
        f"static const int16_t er_signs[ER_SIGNS] = {weights.row(SIGNS.values())};",
        "/* By kind of parameter and of piece; by kind of piece. */",
        table(
            "er_suits",
            f"{kinds}[{len(CHUNK_KINDS)}]",
            (weights.row(f"{k}|{c}" for c in CHUNK_KINDS) for k in ALL_KINDS),
        ),
        f"static const int16_t er_suits_any[{len(CHUNK_KINDS)}] = {weights.row(f'any|{c}' for c in CHUNK_KINDS)};",
        "/* By kind of parameter and the word in front. */",
        table("er_led", f"{kinds}[ER_LEADS]", (weights.row(f"{k}<{lead}" for lead in LEADS) for k in ALL_KINDS)),
        f"static const int16_t er_led_any[ER_LEADS] = {weights.row(f'any<{lead}' for lead in LEADS)};",
        "/* By kind of parameter: led, said before, a name within; nobody said it, whether or not it is required. */",
        *(
            f"static const int16_t {name}{kinds} = {weights.row(f'{sign} {k}' for k in ALL_KINDS)};"
            for name, sign in (
                *(("er_led_of", "led"), ("er_said_of", "said"), ("er_name_of", "name within")),
                *(("er_absent_of_kind", "absent"), ("er_absent_required", "absent required")),
                ("er_absent_optional", "absent optional"),
            )
        ),
        "/* By length; by clause, and whether anything was said before. */",
        f"static const int16_t er_long[9] = {weights.row(f'long {n}' for n in range(9))};",
        f"static const int16_t er_any_long[9] = {weights.row(f'any {n}' for n in range(9))};",
        table(
            "er_in_clause", "[4][2]", (weights.row(f"clause {n} {begun}" for begun in (False, True)) for n in range(4))
        ),
        "/* How sure words of a request are, in the order of er_traits. */",
        "static const double er_shipped_traits[] = {"
        + ", ".join(repr(weights.confidence.get(name, 0.0)) for name in _TRAITS.split(" "))
        + "};",
        "#endif",
    ]
    if rest := weights.signs.keys() - weights.seen:
        raise SystemExit(f"signs that no table has: {', '.join(sorted(rest))}")
    return "\n".join(parts) + "\n"


def main() -> int:
    """Writes or compares."""
    text = made()
    if "--check" in sys.argv[1:]:
        return 0 if TARGET.read_text("utf-8") == text else 1
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
