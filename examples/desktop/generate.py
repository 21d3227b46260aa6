"""Writes the demonstrations of the desktop assistant from the phrase files, the same bytes for the same seed.

The folder "phrases" holds intents (grammar.py explains the format). A demonstration is one intent, or two to four
independent intents put into one request; composition.py words it, and untidy.py makes part of them careless. This file
picks what is asked, builds the plan with its references and links, and counts the outcome.

Short and untidy requests are of every sort: each tool, plans of several calls, and wishes that no tool serves. So
neither length nor tidiness tells whether a tool fits. People say one thing in many short ways, hence so many terse
demonstrations, spread evenly over the tools and over the wordings of each.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from composition import TerseWording, word_request
from grammar import Intent, Slots, expand, load_intents, load_slots, load_wishes
from untidy import plain, untidy

HERE = Path(__file__).resolve().parent
PHRASES = HERE / "phrases"
PHRASE_FILES = ("mail.txt", "calendar.txt", "people.txt", "notes.txt", "files.txt", "daily.txt")
TERSE_FILES = (
    "terse.txt",
    "terse_mail.txt",
    "terse_calendar.txt",
    "terse_people.txt",
    "terse_notes.txt",
    "terse_files.txt",
    "terse_daily.txt",
    "terse_media.txt",
    "terse_more_mail.txt",
    "terse_more_calendar.txt",
    "terse_more_people.txt",
    "terse_more_notes.txt",
    "terse_more_files.txt",
    "terse_more_daily.txt",
    "terse_more_media.txt",
)
DEFAULT_SEED = 20250
LENGTH_COUNTS = {1: 650, 2: 800, 3: 620, 4: 400, 5: 255, 6: 145}
NO_TOOL_COUNT = 200
# As short requests are, so must long ones be of both sorts; two wishes in one make a long one that no tool serves.
TWO_WISHES_COUNT = 80
TERSE_LENGTH_COUNTS = {1: 3000, 2: 900, 3: 150, 4: 50}
# In the second file every wish holds a word of the tools, so that a word in common is not enough for a tool to fit.
TERSE_NO_TOOL_COUNTS = {"no_tool_terse.txt": 200, "no_tool_terse_words.txt": 160}
# Nearly every terse request is a single wish; a tidy plan is split into several more often, the longest most.
TERSE_SPLIT_CHANCE = 0.2
SPLIT_CHANCE = 0.5
LONG_SPLIT_CHANCE = 0.8
# The share of tidy requests that is typed carelessly nevertheless, and the share of terse ones that has slips.
UNTIDY_SHARE = 0.05
SLIP_SHARE = 1 / 3
SMALL_LETTER_SHARE = 0.5
LEAST_PER_TOOL = 25
REFERENCE = re.compile(r"\$out_(\d+)")

Plan = list[dict[str, Any]]
Values = dict[str, str]
Wording = Callable[[list[Intent], list[Values], random.Random], str]

AREAS = {
    "mail": ("search_mail", "read_mail", "send_mail", "reply_to_mail", "forward_mail", "save_attachment"),
    "calendar": (
        "create_event",
        "find_event",
        "list_events",
        "reschedule_event",
        "cancel_event",
        "invite_attendee",
        "find_free_slot",
    ),
    "contacts": ("get_contact_email", "get_contact_phone", "get_contact_address", "create_contact"),
    "notes": ("create_note", "find_note", "read_note", "append_to_note"),
    "files": (
        "find_file",
        "summarize_document",
        "convert_to_pdf",
        "compress_files",
        "move_file",
        "create_share_link",
    ),
    "reminders": ("create_reminder", "list_reminders", "complete_reminder"),
    "messages": ("send_message", "read_messages"),
    "maps": ("find_place", "get_directions", "get_travel_time"),
    "meetings": ("create_meeting_link", "join_meeting", "get_transcript"),
    "music": ("play_music", "pause_music", "create_playlist"),
    "settings": ("set_volume", "set_do_not_disturb", "set_theme"),
}


def fill(value: Any, slots: dict[str, str], offset: int) -> Any:
    """Puts slot values into an argument and shifts its references by the number of earlier calls."""
    if isinstance(value, dict):
        return {key: fill(item, slots, offset) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, slots, offset) for item in value]
    if not isinstance(value, str):
        return value
    if reference := REFERENCE.fullmatch(value):
        return f"$out_{int(reference[1]) + offset}"
    if value.startswith("#{"):
        return int(slots[value[2:-1]])
    return re.sub(r"\{(\w+)\}", lambda match: slots[match[1]], value)


def references(value: Any) -> set[int]:
    """The 1-based indexes of the calls to which an argument refers."""
    if isinstance(value, dict):
        return set().union(*(references(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(references(item) for item in value))
    if isinstance(value, str) and (reference := REFERENCE.fullmatch(value)):
        return {int(reference[1])}
    return set()


def links_of(calls: list[dict[str, Any]]) -> list[list[int]]:
    """Every pair of calls of which the second one uses what the first one returns."""
    return [[source - 1, j] for j, call in enumerate(calls) for source in sorted(references(call["arguments"]))]


def build_plan(intents: list[Intent], values: list[dict[str, str]]) -> list[dict[str, Any]]:
    """The calls of all intents, one after the other, with slots filled and references renumbered."""
    calls: list[dict[str, Any]] = []
    for intent, slots in zip(intents, values, strict=True):
        offset = len(calls)
        calls += [{"tool": tool, "arguments": fill(arguments, slots, offset)} for tool, arguments in intent.calls]
    return calls


def split_length(length: int, chance: float, rng: random.Random) -> list[int]:
    """Splits a plan length into the lengths of its intents, again and again with the chance."""
    parts = [length]
    while len(parts) < 4 and max(parts) > 1:
        if rng.random() >= (chance if length < 5 or len(parts) > 1 else LONG_SPLIT_CHANCE):
            break
        largest = parts.pop(parts.index(max(parts)))
        cut = rng.randint(1, largest - 1)
        parts += [cut, largest - cut]
    rng.shuffle(parts)
    return parts


class Picker:
    """Picks intents of a wanted length, the ones with rarely used tools first, so that no tool stays rare."""

    def __init__(self, intents: list[Intent], rng: random.Random) -> None:
        self.rng = rng
        self.by_length: dict[int, list[Intent]] = {}
        for intent in intents:
            self.by_length.setdefault(len(intent.calls), []).append(intent)
        self.intent_uses: Counter[str] = Counter()
        self.tool_uses: Counter[str] = Counter()

    def pick(self, length: int, taken: list[Intent]) -> Intent | None:
        """One intent that shares no tool with the intents taken already, or nothing."""
        busy = {intent.name.split(".")[0] for intent in taken} | {intent.calls[-1][0] for intent in taken}
        free = [
            intent
            for intent in self.by_length.get(length, [])
            if intent.name.split(".")[0] not in busy and intent.calls[-1][0] not in busy
        ]
        if not free:
            return None
        some = self.rng.sample(free, min(4, len(free)))
        return min(some, key=self.burden)

    def burden(self, intent: Intent) -> float:
        """How much an intent and its tools were used so far."""
        return self.intent_uses[intent.name] + self.rarity(intent) / 20

    def rarity(self, intent: Intent) -> int:
        """How often the least used tool of an intent was used so far."""
        return min(self.tool_uses[tool] for tool, _ in intent.calls)

    def count(self, intents: list[Intent]) -> None:
        """Takes note of intents that were put into a demonstration."""
        self.intent_uses.update(intent.name for intent in intents)
        self.tool_uses.update(tool for intent in intents for tool, _ in intent.calls)


class EvenPicker(Picker):
    """Picks intents so that each tool is equally often the aim, the last call, and each wording has its turn."""

    def __init__(self, intents: list[Intent], rng: random.Random) -> None:
        super().__init__(intents, rng)
        self.aim_uses: Counter[str] = Counter()

    def burden(self, intent: Intent) -> float:
        """How often the intent's aim was one so far, and how often the intent was used for each of its wordings."""
        return self.aim_uses[intent.calls[-1][0]] + 5 * self.intent_uses[intent.name] / len(intent.phrases)

    def count(self, intents: list[Intent]) -> None:
        """Takes note of intents that were put into a demonstration, and of their aims."""
        super().count(intents)
        self.aim_uses.update(intent.calls[-1][0] for intent in intents)


def compose(length: int, picker: Picker, slots: Slots, word: Wording, rng: random.Random) -> tuple[str, Plan] | None:
    """One request, marked (composition.py), with its plan, or nothing if no set of intents has that length."""
    intents: list[Intent] = []
    terse = isinstance(word, TerseWording)
    for part in split_length(length, TERSE_SPLIT_CHANCE if terse else SPLIT_CHANCE, rng):
        intent = picker.pick(part, intents)
        if intent is None:
            return None
        intents.append(intent)
    used: set[str] = set()
    values = [slots.choose(intent, rng, used) for intent in intents]
    if terse and rng.random() < SMALL_LETTER_SHARE:
        values = [{name: value.lower() for name, value in chosen.items()} for chosen in values]
    query = word(intents, values, rng)
    picker.count(intents)
    return query, build_plan(intents, values)


def wishes_without_tool(
    file: str, together: int, word: Wording, slots: Slots, rng: random.Random
) -> Iterator[tuple[str, Plan]]:
    """Requests that no tool serves, so many wishes in each, round after round through all lines of the file."""
    lines = load_wishes(PHRASES / file)
    while True:
        rng.shuffle(lines)
        for start in range(0, len(lines) - together + 1, together):
            intents: list[Intent] = []
            values: list[Values] = []
            for line in lines[start : start + together]:
                line = expand(line, rng)
                intents.append(Intent("no_tool", (), (line,), ()))
                names = re.findall(r"\{(\w+)\}", line)
                values.append({name: slots.value(name, rng, set()) for name in names})
            yield word(intents, values, rng), []


class Rows:
    """The demonstrations so far, no request twice."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Plan]] = []
        self.seen: set[str] = set()

    def add(self, count: int, make: Callable[[], tuple[str, Plan] | None], finish: Callable[[str], str]) -> None:
        """Adds so many new ones of what `make` gives, their marked text finished."""
        wanted = len(self.rows) + count
        while len(self.rows) < wanted:
            row = make()
            if row is None:
                continue
            query = finish(row[0])
            texts = {query.casefold(), plain(row[0]).casefold()}
            if not texts & self.seen:
                self.seen |= texts
                self.rows.append((query, row[1]))


def generate(seed: int) -> list[dict[str, Any]]:
    """All demonstrations of one seed. Tidy and hurried ones have their own dice: a change of one leaves the other."""
    # The dice of seed + 1 throw a request for testing, word for word; these throw none.
    rng, hurried = random.Random(seed), random.Random(seed + 2)
    slots = load_slots(PHRASES / "slots.txt")
    picker = Picker([intent for name in PHRASE_FILES for intent in load_intents(PHRASES / name)], rng)
    terse_picker = EvenPicker([intent for name in TERSE_FILES for intent in load_intents(PHRASES / name)], hurried)
    word_tersely = TerseWording()
    careless = partial(untidy, rng=hurried, slip_share=SLIP_SHARE)

    def mostly_tidy(text: str) -> str:
        return untidy(text, hurried, slip_share=1) if hurried.random() < UNTIDY_SHARE else plain(text)

    rows = Rows()
    for length, count in LENGTH_COUNTS.items():
        rows.add(count, partial(compose, length, picker, slots, word_request, rng), mostly_tidy)
    for together, count in ((1, NO_TOOL_COUNT), (2, TWO_WISHES_COUNT)):
        wishes = wishes_without_tool("no_tool.txt", together, word_request, slots, rng)
        rows.add(count, partial(next, wishes), mostly_tidy)
    for length, count in TERSE_LENGTH_COUNTS.items():
        rows.add(count, partial(compose, length, terse_picker, slots, word_tersely, hurried), careless)
    for file, count in TERSE_NO_TOOL_COUNTS.items():
        wishes = wishes_without_tool(file, 1, word_tersely, slots, hurried)
        rows.add(count, partial(next, wishes), careless)
    rng.shuffle(rows.rows)
    return [
        {"id": f"d{number:04d}", "query": query, "calls": calls, "links": links_of(calls)}
        for number, (query, calls) in enumerate(rows.rows, 1)
    ]


def report(rows: list[dict[str, Any]]) -> str:
    """The counts by plan length, area and tool, as text."""
    lengths = Counter(len(row["calls"]) for row in rows)
    tools = Counter(call["tool"] for row in rows for call in row["calls"])
    lines = [f"{len(rows)} demonstrations, {len(AREAS)} areas, {sum(map(len, AREAS.values()))} tools"]
    lines.append("by number of calls: " + ", ".join(f"{length}: {lengths[length]}" for length in sorted(lengths)))
    lines += [
        f"{area}: {len(names)} tools, {sum(tools[name] for name in names)} calls" for area, names in AREAS.items()
    ]
    rarest = min(tools, key=lambda tool: tools[tool])
    lines.append(f"rarest tool: {rarest}, {tools[rarest]} calls")
    return "\n".join(lines)


def main() -> None:
    """Command line: writes the file, or prints its counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "demonstrations.jsonl")
    parser.add_argument("--stats", action="store_true", help="print the counts and write nothing")
    options = parser.parse_args()
    rows = generate(options.seed)
    if options.stats:
        print(report(rows))
        return
    uses = Counter(tool for row in rows for tool in {call["tool"] for call in row["calls"]})
    if rare := [tool for names in AREAS.values() for tool in names if uses[tool] < LEAST_PER_TOOL]:
        raise SystemExit(f"used in too few demonstrations: {', '.join(rare)}")
    with options.output.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
