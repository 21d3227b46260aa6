"""Writes the demonstrations of the desktop assistant from the phrase files, the same bytes for the same seed.

The folder "phrases" holds intents (grammar.py explains the format). A demonstration is one intent, or two to four
independent intents put into one request; composition.py words it. This file picks what is asked, builds the plan with
its references and links, and counts the outcome.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from composition import word_request
from grammar import Intent, Slots, expand, load_intents, load_slots, load_wishes

HERE = Path(__file__).resolve().parent
PHRASE_FILES = ("mail.txt", "calendar.txt", "people.txt", "notes.txt", "files.txt", "daily.txt")
DEFAULT_SEED = 20250
LENGTH_COUNTS = {1: 440, 2: 560, 3: 440, 4: 280, 5: 180, 6: 100}
NO_TOOL_COUNT = 160
LEAST_PER_TOOL = 25
REFERENCE = re.compile(r"\$out_(\d+)")

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


def split_length(length: int, rng: random.Random) -> list[int]:
    """Splits a plan length into the lengths of its intents; a shorter list is likelier."""
    parts = [length]
    while len(parts) < 4 and max(parts) > 1 and rng.random() < (0.5 if length < 5 or len(parts) > 1 else 0.8):
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
        return min(some, key=lambda intent: self.intent_uses[intent.name] + self.rarity(intent) / 20)

    def rarity(self, intent: Intent) -> int:
        """How often the least used tool of an intent was used so far."""
        return min(self.tool_uses[tool] for tool, _ in intent.calls)

    def count(self, intents: list[Intent]) -> None:
        """Takes note of intents that were put into a demonstration."""
        self.intent_uses.update(intent.name for intent in intents)
        self.tool_uses.update(tool for intent in intents for tool, _ in intent.calls)


def compose(length: int, picker: Picker, slots: Slots, rng: random.Random) -> tuple[str, list[dict[str, Any]]] | None:
    """One request with its plan, or nothing if no set of intents has that length."""
    intents: list[Intent] = []
    for part in split_length(length, rng):
        intent = picker.pick(part, intents)
        if intent is None:
            return None
        intents.append(intent)
    used: set[str] = set()
    values = [slots.choose(intent, rng, used) for intent in intents]
    query = word_request(intents, values, rng)
    picker.count(intents)
    return query, build_plan(intents, values)


def wishes_without_tool(slots: Slots, rng: random.Random) -> Iterator[str]:
    """Requests that no tool serves, round after round through all lines of the file."""
    lines = load_wishes(HERE / "phrases" / "no_tool.txt")
    while True:
        rng.shuffle(lines)
        for line in lines:
            line = expand(line, rng)
            names = re.findall(r"\{(\w+)\}", line)
            values = {name: slots.value(name, rng, set()) for name in names}
            intent = Intent("no_tool", (), (line,), ())
            yield word_request([intent], [values], rng)


def generate(seed: int) -> list[dict[str, Any]]:
    """All demonstrations of one seed."""
    rng = random.Random(seed)
    slots = load_slots(HERE / "phrases" / "slots.txt")
    intents = [intent for name in PHRASE_FILES for intent in load_intents(HERE / "phrases" / name)]
    picker = Picker(intents, rng)
    seen: set[str] = set()
    rows: list[tuple[str, list[dict[str, Any]]]] = []
    for length, wanted in LENGTH_COUNTS.items():
        made = 0
        while made < wanted:
            row = compose(length, picker, slots, rng)
            if row is None or row[0].casefold() in seen:
                continue
            seen.add(row[0].casefold())
            rows.append(row)
            made += 1
    wishes = wishes_without_tool(slots, rng)
    made = 0
    while made < NO_TOOL_COUNT:
        query = next(wishes)
        if query.casefold() not in seen:
            seen.add(query.casefold())
            rows.append((query, []))
            made += 1
    rng.shuffle(rows)
    return [
        {"id": f"d{number:04d}", "query": query, "calls": calls, "links": links_of(calls)}
        for number, (query, calls) in enumerate(rows, 1)
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
