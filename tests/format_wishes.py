"""Several wishes and opposites of a second reader, written from sections 16.9 and 16.10 of docs/FORMAT.md alone. Its
lists of words are read there. Knows nothing of edgeret."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from format_language import Rules

FORMAT = (Path(__file__).parents[1] / "docs" / "FORMAT.md").read_text(encoding="utf-8")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
ADDS = re.compile(
    r"\b(?:then|also|after\s+that|afterwards?|in\s+addition|additionally|moreover|furthermore|plus|followed\s+by)\b",
    re.IGNORECASE,
)


def listed(name: str) -> set[str]:
    """The words of a paragraph `Name: word word.`"""
    found = re.search(rf"^{name}: (.*?)\.$", FORMAT, re.M | re.S)
    assert found
    return set(found[1].split())


OPENINGS, SUBORDINATE, QUESTIONS, VERBS = (listed(n) for n in ("Openings", "Subordinate", "Questions", "Verbs"))
FILLERS = OPENINGS | listed("Fillers")
PAIRS = [line.strip().split(" | ") for line in FORMAT.split("### 16.10")[1].split("\nA tool **does**")[0].splitlines()
         if line.startswith("    ")]  # fmt: skip
ON, OFF, QUOTED = (
    re.compile(re.sub(r"\n +", "", found), re.I)
    for found in re.findall(r"^    ([\\^].*?)(?=\n\n|\n\()", FORMAT.split("(case is ignored):")[1], re.M | re.S)[:3]
)
_NEGATIONS = "don't dont don’t not never without no doesn't doesn’t isn't can't"
_SPEAKING = "message text sms email mail chat notify announce tell send remind reminder reply"
NEGATIONS, SPEAKING = _NEGATIONS.split(" "), _SPEAKING.split(" ")


def first_word(piece: str, but: set[str]) -> str:
    return next((w.lower() for w in WORD.findall(piece[:64]) if w.lower() not in but), "")


def wishes(query: str, pieces: list[tuple[int, int]]) -> list[int]:
    """Section 16.9: which pieces are wishes; none where the query asks for one thing."""
    if not 2 <= len(pieces) <= 24:
        return []
    behind, asks, added = 0, [], [False]
    for begin, end in pieces:
        piece = query[begin:end]
        free = first_word(piece, OPENINGS) not in SUBORDINATE
        adds = ADDS.search(query, max(behind, begin - 64), begin) is not None
        if adds and asks and not added[-1]:
            asks[-1] = first_word(query[slice(*pieces[len(asks) - 1])], OPENINGS) not in SUBORDINATE
        said = len(piece.split()) > 2 and first_word(piece, OPENINGS)
        polite = said and re.search(r"\b(?:please|pls|plz)\b", piece, re.I)
        verb = first_word(piece, FILLERS) in VERBS or first_word(piece, OPENINGS) in QUESTIONS
        asks.append(free and bool(adds or verb or polite))
        added.append(adds)
        behind = end
    found = [i for i, asked in enumerate(asks) if asked]
    return found if 2 <= len(found) <= 3 else []


class Turned:
    """Section 16.10, for tools in the order of their names."""

    def __init__(
        self, tools: list[dict[str, Any] | None], stem: Callable[[str], str], words: Callable[[str], list[str]]
    ) -> None:
        """`stem` of a word, and `words` of a text, as section 16.1 has them; None for `<end>` and unknown names."""
        self.stem = stem
        self.side = {stem(w): 2 * i + s for i, pair in enumerate(PAIRS) for s in (0, 1) for w in pair[s].split()}
        self.names, does = [], []
        for tool in tools:
            name = "" if tool is None else re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", re.sub(r"[_\-.]", " ", tool["name"]))
            self.names.append(set(words(name)))
            does.append((self.sides(name), frozenset(w for w in words(name) if w not in self.side)))
        self.named = [sides for sides, _ in does]
        self.does = [
            {s for s in sides if any(s ^ 1 in others and beside == also for others, also in does)}
            for sides, beside in does
        ]
        self.takes = [set() if tool is None else self.both(tool) for tool in tools]

    def sides(self, text: str) -> set[int]:
        return {self.side[self.stem(w)] for w in WORD.findall(text.lower()) if self.stem(w) in self.side}

    def both(self, tool: dict[str, Any]) -> set[int]:
        properties = tool["parameters"].get("properties")
        properties = properties.values() if isinstance(properties, dict) else ()
        values = [value.get("enum") for value in properties if isinstance(value, dict)]
        enums = [one for listed in values if isinstance(listed, list) for one in listed if isinstance(one, str)]
        found = self.sides(" ".join([tool["description"], *enums]))
        return {s for s in found if s ^ 1 in found and s // 2 not in (0, 2)}

    def of(self, query: str, rules: Rules | None = None) -> tuple[list[float], list[float]]:
        """o and a of every name, by the rules of a language that is not English."""
        if rules is not None:
            return self.turned(*rules.told(query, self.stem))
        said, quote = [w.lower() for w in WORD.findall(query)], QUOTED.match(query)
        quoted = {self.stem(w.lower()) for w in WORD.findall(query[quote.end() :])} if quote else set()
        sides, negated, reach = set(), set(), 0
        for word in said:
            short = self.stem(word)
            if word in NEGATIONS:
                reach = 2
            elif short in quoted or (word == "on" and not ON.search(query)) or (word == "off" and OFF.search(query)):
                continue
            else:
                on = self.side.get(short)
                if reach:
                    negated.add(short)
                if on is not None:
                    sides.add(on ^ 1 if reach else on)
                reach = 0 if on is not None else max(0, reach - 1)
        return self.turned(sides, negated, quoted)

    def turned(self, sides: set[int], negated: set[str], quoted: set[str]) -> tuple[list[float], list[float]]:
        """The same of sides, and of stems that are negated and quoted."""
        endings = {self.side[self.stem(w)] for w in ("off", "stop", "remove")}
        against, agrees = [0.0] * len(self.names), [0.0] * len(self.names)
        for i, name in enumerate(self.names):
            for s in sides:
                if s ^ 1 not in sides:
                    against[i] += s ^ 1 in self.does[i] and s not in self.does[i]
                    agrees[i] += s in self.does[i] or s in self.takes[i]
            if name & negated:
                against[i], agrees[i] = (
                    (against[i], agrees[i] + 1) if self.named[i] & endings else (against[i] + 1, agrees[i])
                )
            if quoted and name & {self.stem(w) for w in SPEAKING}:
                agrees[i] += 1
            elif quoted and name & quoted:
                against[i] += 1
        return against, agrees
