"""What else every reader must make of the bundles of this folder: changed tools, calls' arguments, later turns of a
conversation, what was learned, and what is refused. By the reference, as all of `make.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from forge import Forger, Forgery
from forge_arrays import get, pack

from edgeret import Call, Decision, Demonstration, Runtime, Tool
from edgeret_export.reference.inputs.asking import only_asks
from edgeret_export.reference.inputs.clauses import clause_spans, parts, split_clauses
from edgeret_export.reference.inputs.language import language_of, surely_not_english
from edgeret_export.reference.inputs.values import values_in

NOW = datetime(2026, 11, 27, 22, 15, tzinfo=timezone(timedelta(hours=5, minutes=30)))
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def tool(name: str, description: str, required: str, **properties: Any) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": required.split()})


ADDED = (
    tool(
        "book_table", "Book a table at a restaurant. Returns the id of the booking.", "restaurant day guests",
        restaurant=TEXT, day={**TEXT, "format": "date"}, time={**TEXT, "description": "Time as HH:MM."}, guests=WHOLE,
        seat={"enum": ["inside", "terrace"]}, quiet={"type": "boolean", "description": "True for a quiet place."},
    ),
    tool(
        "mail_booking", "Mail a booking to some people.", "booking_id to",
        booking_id={**TEXT, "description": "as book_table gives it"}, text=TEXT,
        to={"type": "array", "items": {**TEXT, "format": "email"}},
    ),
    tool(
        "set_timer", "Set a timer.", "minutes",
        minutes={**WHOLE, "minimum": 1, "description": "Minutes until it rings."}, label={**TEXT, "default": "timer"},
        volume={"type": "number", "minimum": 0, "maximum": 100},
    ),
)  # fmt: skip
REMOVED = ("send_mail", "getPhone")
CHANGED = ("book a table on the terrace and mail it", "set a timer", "find my file and send a mail", "zebra")
BOOKED = Call("book_table", {"restaurant": "Chez Anna", "guests": 4})
GAVE = Call(BOOKED.tool, BOOKED.arguments, {"booking_id": "B-77"})
MAILED = Call("mail_booking", {"to": ["a@b.de"], "booking_id": "$out_1"})
CALLS: Sequence[tuple[str, str, datetime | None, Sequence[Call]]] = (
    ("book_table", "book a table for 4 at “Chez Anna” tomorrow at 8pm, on the terrace", NOW, ()),
    ("book_table", "book a table for 4 at “Chez Anna” tomorrow at 8pm, on the terrace", None, ()),
    ("book_table", "😀 a quiet table at Luigi's for two or three on 2027-01-05, not inside", NOW, ()),
    ("book_table", "Tisch für vier Personen am nächsten Freitag um 19:30 Uhr im Restaurant Adler", NOW, ()),
    ("book_table", "reserva una mesa para dos en La Boqueria el 5 de enero", NOW, ()),
    ("mail_booking", "book it and mail it to ana@example.com, ben@example.org and c@d.de", None, (BOOKED,)),
    ("mail_booking", "mail it to ana@example.com: see you there", None, (GAVE,)),
    ("mail_booking", "mail it to nobody", None, (BOOKED, MAILED)),
    ("set_timer", "set a timer for half an hour called “eggs”", None, ()),
    ("set_timer", "一个半小时后提醒我", NOW, ()),
    ("set_timer", "mute the timer in 90 seconds", None, ()),
    ("set_timer", "timer", None, ()),
    ("play_music", "play $out_1, file 12-AB-9", None, ()),
    ("phone_call", "call the phone at +49 170 1234567", None, ()),
)  # fmt: skip
"""A tool, a request, the clock, and the calls before."""
TALKS: Sequence[Sequence[tuple[str, Sequence[str]]]] = (
    (("find my file", ("find_file",)), ("and mail it", ("send_mail",)), ("stop", ()), ("to Jonas", ())),
    (("zebra", ()), ("call a phone", ("getPhone", "phone_call")), ("the same for Ben", ())),
    (("find my file", ("their_tool",)), ("again", ("their_tool", "send_mail")), ("book it", ())),
)
LESSONS = (
    ("zebra of mine", ("play_music", "closeNote")), ("find my file", ("find_file",)), ("nothing of this", ()),
    ("zebra of yours", ("play_music",)), ("open the note", ("openNote",)), ("find my FILE", ("get_day",)),
)  # fmt: skip
LEARNED = ("zebra of mine", "find my file", "open the note and play the music", "call the phone in 20 minutes")
Step = Callable[[Decision], dict[str, Any]]


def understood(query: str) -> dict[str, Any]:
    """What its words say by themselves: characters of the clauses, texts of the parts, and values as bits."""
    return {
        "language": language_of(query),
        "sure": surely_not_english(query) is not None,
        "onlyAsks": only_asks(query),
        "values": bits(values_in(query)),
        "clauses": [list(span) for span in clause_spans(query, parts(query).least)],
        "parts": split_clauses(query),
    }


def bits(kinds: Sequence[int]) -> int:
    return sum(1 << kind for kind in kinds)


def changed(runtime: Runtime, step: Step) -> Iterator[dict[str, Any]]:
    for query in CHANGED:
        yield {"query": query, **step(runtime.task(query).next(k=None))}


def arguments(runtime: Runtime) -> Iterator[dict[str, Any]]:
    for name, query, now, calls in CALLS:
        task = runtime.task(query, now=now)
        for call in calls:
            task.call(call.tool, call.arguments, call.result, foreign=True)
        found = task.arguments(name)
        given = [
            [key, one.value, one.source, *(one.span or (0, 0)), one.confidence, list(one.alternatives)]
            for key, one in found.given.items()
        ]
        clock = None if now is None else [now.year, now.month, now.day, now.hour, now.minute, now.second, 330]
        made = [[call.tool, dict(call.arguments), call.result] for call in calls]
        yield {
            "tool": name,
            "query": query,
            "clock": clock,
            "calls": made,
            "given": given,
            "missing": [list(pair) for pair in found.missing.items()],
        }


def turns(runtime: Runtime, step: Step) -> Iterator[dict[str, Any]]:
    for talk in TALKS:
        conversation, earlier = runtime.conversation(), list[list[str]]()
        for query, calls in talk:
            task = conversation.say(query)
            if earlier:
                yield {"query": query, "earlier": list(earlier), **step(task.next(k=None))}
            for name in calls:
                task.call(name, foreign=True)
            earlier.append(list(calls))


def learned(runtime: Runtime, step: Step) -> Iterator[dict[str, Any]]:
    plans = [Demonstration(str(i), query, tuple(map(Call, calls))) for i, (query, calls) in enumerate(LESSONS)]
    for plan in plans:
        runtime.learn([plan])
    for query in LEARNED:
        yield {"query": query, **step(runtime.task(query).next(k=None))}


# ---- What is refused ----


def _array(role: str, *place: str, value: float) -> Callable[[Forgery], None]:
    """Another number in the place of an array's first."""

    def change(forgery: Forgery) -> None:
        held = forgery.map(role)
        for name in place:
            held = held[name]
        numbers = get(held)
        numbers.ravel()[0] = value
        held.update(pack(numbers, held["dtype"]))

    return change


def _entry(change: Callable[[dict[str, Any]], object]) -> Callable[[Forgery], None]:
    return lambda forgery: forgery.last.append(lambda body: change(body["files"][0]))


REFUSED: dict[str, Callable[[Forgery], None]] = {
    "a vector that is no number": _array("index", "vectors", value=float("nan")),
    "a call that there is no label of": _array("memory", "calls", value=9999),
    "rows that begin before the first": _array("head", "starts", value=-1),
    "a weight beyond all": _array("graph", "counts", value=float("inf")),
    "a count below nothing": _array("familiarity", "counts", value=-1),
    "an escape from the folder": _entry(lambda entry: entry.update(name="../" + entry["name"][3:])),
    "another hash": _entry(lambda entry: entry.update(sha256="0" * 64)),
}
"""Names say what is wrong. Sizes and hashes are right but where they are what is wrong."""


def refused(folder: Path, scratch: Path) -> Iterator[dict[str, Any]]:
    """Of each forgery the bytes that are others than the bundle's: file, offset, and bytes as hex digits."""
    forger = Forger(folder)
    for number, (why, change) in enumerate(REFUSED.items()):
        forgery, place = forger.forgery(), scratch / str(number) / "bundle"
        place.mkdir(parents=True)
        try:
            change(forgery)
        except (KeyError, IndexError):
            continue  # a bundle without this, or with nothing in it
        forgery.write(place)
        edits = []
        for path in sorted(folder.iterdir()):
            made = place / path.name
            edits += [[path.name, *run] for run in _runs(path.read_bytes(), made.read_bytes())] if made.exists() else []
        assert edits, why
        yield {"why": why, "edits": edits}


def _runs(before: bytes, after: bytes) -> Iterator[tuple[int, str]]:
    assert len(before) == len(after), "a forgery of another size"
    differ = np.flatnonzero(np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8))
    for run in np.split(differ, np.flatnonzero(np.diff(differ) > 8) + 1):
        if run.size:
            yield int(run[0]), after[run[0] : run[-1] + 1].hex()
