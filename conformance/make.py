"""Writes the bundles of this folder and what every reader must make of them, by the reference: `python make.py`. With
`--check` it says whether the reference makes that of the bundles that are here. It does not build them anew: another
family of CPUs adds numbers in another order, so that fitted weights end in other digits."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

import more  # noqa: E402
from conftest import build_tiny, make_demonstrations  # noqa: E402

from edgeret import END, Decision, Runtime, Tool  # noqa: E402
from edgeret_export.recipe import Recipe  # noqa: E402
from edgeret_export.reference.inputs.values import values_taken  # noqa: E402
from edgeret_export.reference.runtime import components_of, load_reference  # noqa: E402
from edgeret_export.reference.why import Remembered  # noqa: E402

TOOLS = [
    Tool("find_file", "find a file", {"type": "object", "properties": {"name": {"description": "of the file"}}}),
    Tool("send_mail", "send a mail, with what find_file found", {"properties": {"mailAddress": {}, "text": {}}}),
    Tool("write_note", "write a note", examples=("jot this down", "keep that in my notes")),
    Tool("play_music", "play music", {"properties": {"file_id": {}}, "required": ["file_id"]}),
    Tool("book_meeting", "book a meeting", {"properties": {"day": {"description": "as Get_Day gives it"}}}),
    Tool("phone_call", "call a phone", {"properties": {"address": {}}, "required": ["address", "phone_number"]}),
    Tool("get_day", "find free days of the calendar", risk=0.05),
    Tool("getPhone", "look a phone up"),
    Tool("openNote", "open a note"),
    Tool("closeNote", "close a note", confirm=True),
]
QUERIES = (
    "find my file and send a mail", "book the meeting then send a mail", "play", "open calendar day", "closeNote",
    "zebra", "any mail from a phone?", "mail my file to a@b.org on Tuesday", "is the note open?",
    "Anruf um 9 Uhr: 0123 456 789", "明天 9点", "call the phone in 20 minutes, 15% off or 30 euros",
    "don't open the note, close it", "write a note, and also play the music; then find me free days",
    "öffne die note nicht, dann spiel music", "n'ouvre pas la note puis appelle le phone",
    "no cierres la note y luego pon la music, por favor", "不要打开 note，然后播放 music，再给我打电话",
    "İSTANBUL ẞ ﬁ notes", "a\u0301 note\u200b of mine", "mail " * 60 + "and then send it, or share it",
)  # fmt: skip
EXPLAINED = QUERIES[:2] + QUERIES[7:8] + QUERIES[13:14]
"""Of these, each part's word is told, too."""
HISTORIES: Sequence[Sequence[str]] = ((), ("find_file",), ("phone_call", "write_note"), ("their_tool", "send_mail"))
KINDS = {"alone": ((), 1500), "few": (make_demonstrations(4), 1500), "many": (make_demonstrations(4), 0)}
DIGITS = 7


def rounded(value: float) -> float:
    """As many digits as float32 holds."""
    return float(f"{value:.{DIGITS}g}")


def steps(runtime: Runtime, query: str) -> Iterator[dict[str, Any]]:
    """Decisions after each history, from nowhere."""
    for history in HISTORIES:
        task = runtime.task(query)
        for name in history:
            task.call(name, foreign=True)
        decision = task.next(k=None)
        told = {"votes": list(votes(decision))} if query in EXPLAINED else {}
        yield {"history": list(history), **step(decision), **told}


def step(decision: Decision) -> dict[str, Any]:
    """A decision, of all candidates."""
    return {
        "tool": None if decision.tool == END else decision.tool,
        "abstained": decision.abstained,
        "confirm": decision.confirm,
        "probability": rounded(decision.probability),
        "candidates": [[one.tool, rounded(one.probability)] for one in decision.candidates],
    }


def votes(decision: Decision) -> Iterator[list[Any]]:
    """What each part says of the three best candidates: its name, its weight, and its shares."""
    compared = [one.tool for one in decision.candidates[:3]]
    why = cast(Remembered, decision.why)
    for vote in why.explained(compared, dict(decision.candidates).get(END, 0.0)).votes:
        shares = [None if share is None else rounded(share) for share in vote.probabilities.values()]
        yield [vote.part, rounded(vote.weight), shares]


def expected(folder: Path) -> dict[str, Any]:
    """Every number that a reader of this bundle must give."""
    runtime = load_reference(folder)
    encoder = components_of(runtime).encoder
    found = []
    for query in QUERIES:
        encoded = encoder.encode_query(query)
        found.append(
            {
                "query": query,
                "understood": more.understood(query),
                "spans": encoded.spans.tolist(),
                "vector": [rounded(value) for value in encoded.vector.tolist()],
                "search": [
                    [hit.tool, rounded(hit.share or 0.0)]
                    for hit in runtime.search(query, k=len(TOOLS), strategy="hybrid")
                ],
                "steps": list(steps(runtime, query)),
            }
        )
    changed = runtime.with_tools(add=more.ADDED, remove=more.REMOVED)
    with tempfile.TemporaryDirectory() as scratch:
        return {
            "contentHash": runtime.manifest.content_hash,
            "tools": list(runtime.tools),
            "takes": [more.bits(values_taken(tool)) for tool in runtime.tools.values()],
            "requests": found,
            "turns": list(more.turns(runtime, step)),
            "added": [tool.to_dict() for tool in more.ADDED],
            "removed": list(more.REMOVED),
            "changed": list(more.changed(changed, step)),
            "arguments": list(more.arguments(changed)),
            "lessons": more.LESSONS,
            "learned": list(more.learned(load_reference(folder), step)),
            "refused": list(more.refused(folder, Path(scratch))),
        }


def write() -> None:
    """All bundles, each beside what is expected of it."""
    for kind, (demonstrations, few) in KINDS.items():
        shutil.rmtree(HERE / kind, ignore_errors=True)
        recipe = Recipe(precision="fp32", profile="tiny")
        build_tiny(HERE / kind, tools=TOOLS, demonstrations=demonstrations, few=few, recipe=recipe)
        text = json.dumps(expected(HERE / kind), ensure_ascii=False, separators=(",", ":"))
        (HERE / f"{kind}.json").write_text(text.replace('{"query"', '\n{"query"') + "\n", encoding="utf-8")


def main() -> int:
    """0 if all is as it should be."""
    if "--check" not in sys.argv:
        write()
        return 0
    made = {kind: json.loads(json.dumps(expected(HERE / kind))) for kind in KINDS}
    stale = [kind for kind in KINDS if not alike(json.loads((HERE / f"{kind}.json").read_bytes()), made[kind])]
    print("\n".join(f"{kind}.json: another one would be written" for kind in stale), file=sys.stderr)
    return bool(stale)


def alike(a: Any, b: Any) -> bool:
    """Equal, but for 2e-6 in numbers."""
    if isinstance(a, float) and isinstance(b, float | int):
        return abs(a - b) <= 2e-6
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


if __name__ == "__main__":
    sys.exit(main())
