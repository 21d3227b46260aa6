"""Reads the phrase files and expands their small template language.

An intent file is a list of blocks:

    = name.variant            starts an intent
    > tool {"key": "{slot}"}  a call, with JSON arguments; "$out_1" refers to the intent's first call and "#{slot}"
                              stands for a slot value as an integer
    find [a|the] {slot}       an imperative wording; the composition may put it into a question or a statement
    Where is {slot}?          a wording that ends in . ? or ! is a whole sentence
    ~{slot} please            a wording behind ~ is a terse fragment
    1) ...  2) ...            wordings of the parts of a task, to be joined in order

"[a|b]" chooses one of the parts, "{slot}" takes a value from slots.txt, and "{slot2}" takes another value of the same
slot. Lines that start with # are comments.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHOICE = re.compile(r"\[([^\[\]]*)\]")
SLOT = re.compile(r"\{([a-z]+\d?)\}")


@dataclass(frozen=True)
class Intent:
    """One thing that a user may want: the calls that do it and the ways to say it."""

    name: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    phrases: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]


def expand(template: str, rng: random.Random) -> str:
    """Replaces every choice by one of its parts, from the inside out, and tidies the spaces."""
    while match := CHOICE.search(template):
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    template = re.sub(r"\s+", " ", template).strip()
    return re.sub(r" ([,.?:;!])", r"\1", template)


def read_lines(path: Path) -> list[str]:
    """The lines of a phrase file without comments and blank lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def load_wishes(path: Path) -> list[str]:
    """The templates of a file that holds one wording a line."""
    return read_lines(path)


def load_intents(path: Path) -> list[Intent]:
    """All intents of one phrase file."""
    intents: list[Intent] = []
    blocks: list[list[str]] = []
    for line in read_lines(path):
        if line.startswith("= "):
            blocks.append([])
        blocks[-1].append(line)
    for head, *lines in blocks:
        calls: list[tuple[str, dict[str, Any]]] = []
        phrases: list[str] = []
        parts: dict[int, list[str]] = {}
        for line in lines:
            if line.startswith("> "):
                tool, arguments = line[2:].split(" ", 1)
                calls.append((tool, json.loads(arguments)))
            elif numbered := re.match(r"(\d)\) ", line):
                parts.setdefault(int(numbered[1]), []).append(line[3:])
            else:
                phrases.append(line)
        ordered = tuple(tuple(parts[number]) for number in sorted(parts))
        intents.append(Intent(head[2:], tuple(calls), tuple(phrases), ordered))
    return intents


class Slots:
    """The values that slots may take."""

    def __init__(self, table: dict[str, list[str]]) -> None:
        self.table = table

    def value(self, name: str, rng: random.Random, used: set[str]) -> str:
        """A value for a slot, if possible none of those used in this request already."""
        for _ in range(20):
            text = expand(rng.choice(self.table[name.rstrip("0123456789")]), rng)
            text = SLOT.sub(lambda match: self.value(match[1], rng, set()), text)
            if text not in used:
                break
        used.add(text)
        return text

    def choose(self, intent: Intent, rng: random.Random, used: set[str]) -> dict[str, str]:
        """A value for each slot of an intent's calls, and for those that only its wordings hold, such as an app."""
        arguments = json.dumps([arguments for _, arguments in intent.calls])
        names = dict.fromkeys(SLOT.findall(" ".join((arguments, *intent.phrases))))
        return {name: self.value(name, rng, used) for name in names}


def load_slots(path: Path) -> Slots:
    """The slot table of a file with lines "slot: value | value"."""
    table: dict[str, list[str]] = {}
    for line in read_lines(path):
        name, values = line.split(": ", 1)
        table[name] = [value.strip() for value in re.split(r" \| ", values)]
    return Slots(table)
