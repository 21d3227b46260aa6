"""Languages of a second reader, written from section 16.11 of docs/FORMAT.md and the lists that it names. Knows nothing
of edgeret."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILES = Path(__file__).parents[1] / "export" / "edgeret_export" / "reference" / "inputs" / "languages"
TOLD = {code: json.loads((FILES / f"{code}.json").read_text("utf-8")) for code in ("en", "de", "fr", "es", "zh")}
FIRSTS = [one.split()[0] for one, _ in TOLD["en"]["opposites"]["pairs"]]
Stem = Callable[[str], str]


def listed(texts: list[str]) -> list[str]:
    return " ".join(texts).split()


def pairs_of(code: str) -> dict[str, list[str]]:
    told = TOLD[code]["opposites"]["pairs"]
    return told if isinstance(told, dict) else dict(zip(FIRSTS, told, strict=True))


def known_to(code: str) -> set[str]:
    told = TOLD[code]
    texts = [
        *told["known"],
        *told["opposites"]["negations"],
        *(side for pair in pairs_of(code).values() for side in pair),
    ]
    texts += [
        text for key, value in told["wishes"].items() if key not in ("polite", "halves", "stating") for text in value
    ]
    runs = re.findall(r"[^\W\d_]+", " ".join(texts))
    return {run for run in runs if len(run) > 1 or run == "y"}


KNOWN = {code: known_to(code) for code in TOLD}


def language(query: str) -> str:
    """Which language."""
    low = query[:400].lower()
    words, latin = sorted(set(re.findall(r"[^\W\d_]+", low))), re.findall("[a-z]+", low)
    others = set().union(*(KNOWN[code] for code in ("de", "fr", "es")))
    if all(word.isascii() and (word in KNOWN["en"] or word not in others) for word in words):
        return "en"
    han = len(re.findall("[\u3400-\u4dbf\u4e00-\u9fff]", low))
    kana = re.search("[\u3040-\u30ff\u1100-\u11ff\uac00-\ud7af]", low)
    if han > len(latin) and han >= 2 * sum(word in KNOWN["en"] for word in latin) and not kana:
        return "zh"
    found = [(0, "en")]
    for code in ("de", "fr", "es"):
        ends = tuple(listed(TOLD[code]["endings"]))
        own = [w for w in words if w in KNOWN[code] or (len(w) >= 6 and w not in KNOWN["en"] and w.endswith(ends))]
        against = sum(w in KNOWN["en"] and w not in own for w in words)
        more = any(set(w) & set(TOLD[code]["letters"]) for w in words if w not in own)
        more += code == "es" and bool(set(low) & set("¿¡"))
        alone = not against and len(words) > 1 and any(len(w) >= 5 for w in own)
        only = sum(w not in KNOWN["en"] for w in own) + more
        if only > 2 * against and (len(own) + more >= 2 or alone):
            found.append((len(own) + more, code))
    return max(found, key=lambda one: one[0])[1]


class Rules:
    """A language's rules, with stems as section 16.1 has them."""

    def __init__(self, code: str, stem: Stem) -> None:
        told = TOLD[code]
        self.code, self.spaces, self.wishes, self.opposites = code, told["spaces"], told["wishes"], told["opposites"]
        self.cut, self.adds = (self.expression(told["clauses"][key]) for key in ("cut", "adds"))
        self.polite, self.quoted = self.expression(told["wishes"]["polite"]), self.expression(self.opposites["quoted"])
        self.question = self.expression(told["asking"]["question"])
        self.knowledge, self.value, self.name = (
            re.compile("".join(told["asking"][k])) for k in ("knowledge", "value", "name")
        )
        self.lists = {key: set(listed(texts)) for key, texts in told["wishes"].items() if key != "polite"}
        self.negations, self.telling = (set(listed(self.opposites[key])) for key in ("negations", "telling"))
        self.side = {}
        for first, pair in pairs_of(code).items():
            for side, word in ((i, word) for i in (0, 1) for word in pair[i].split()):
                self.side[stem(word) if code == "en" else word] = 2 * FIRSTS.index(first) + side
        self.lists["fillers"] |= self.lists["openings"]
        pattern = r"[^\W_]+" if told.get("word") == "letters" else r"[^\W_]+(?:['’][^\W_]+)?"
        if not self.spaces:
            longest = sorted(self.negations.union(self.side, *self.lists.values()), key=lambda w: (-len(w), w))
            pattern = "|".join([*map(re.escape, longest), "[0-9a-z]+", r"[^\W_]"])
        self.word = re.compile(pattern)

    @staticmethod
    def expression(texts: list[str]) -> re.Pattern[str]:
        return re.compile("".join(texts), re.IGNORECASE)

    def count(self, text: str) -> int:
        return len(text.split()) if self.spaces else math.ceil(len(re.findall(r"[0-9A-Za-z]+|[^\W_]", text)) * 2 / 3)

    def pieces(self, query: str) -> list[tuple[int, int]]:
        spans, begin = [], 0
        for match in self.cut.finditer(query):
            spans.append((begin, match.start()))
            begin = match.end()
        return [*spans, (begin, len(query))]

    def form(self, query: str) -> dict[str, bool]:
        return {
            "question": bool(self.question.match(query)),
            "explains": bool(self.knowledge.search(query.lower())),
            "bare": not self.value.search(query) and not self.name.search(query),
        }

    def first_word(self, piece: str, but: str) -> str:
        return next((w for w in self.word.findall(piece[:64].lower()) if w not in self.lists[but]), "")

    def asking(self, query: str, pieces: list[tuple[int, int]]) -> list[int]:
        """Which pieces are wishes; none where the query asks for one thing."""
        if not 2 <= len(pieces) <= 24:
            return []
        lists, behind, asks, added, half = self.lists, 0, [], [False], False
        for begin, end in pieces:
            piece = query[begin:end]
            opening, first = self.first_word(piece, "openings"), self.first_word(piece, "fillers")
            adds = self.adds.search(query, max(behind, begin - 64), begin) is not None
            if adds and asks and not added[-1]:
                asks[-1] = self.first_word(query[slice(*pieces[len(asks) - 1])], "openings") not in lists["subordinate"]
            words, said = self.word.findall(piece[:64].lower()), self.word.findall(piece[-64:].lower())
            last = next((w for w in said[::-1] if w not in lists["openings"]), "")
            ends = last in lists["final"] and not lists["stating"] & set(said)
            questions = opening in lists["questions"] if self.spaces else bool(lists["questions"] & set(words))
            polite = self.count(piece) > 2 and opening and self.polite.search(piece)
            found = adds or first in lists["verbs"] or questions or polite or (ends and not half)
            asks.append(bool(found) and opening not in lists["subordinate"])
            half = (half or first in lists["halves"]) and not ends
            added.append(adds)
            behind = end
        found = [i for i, asked in enumerate(asks) if asked]
        return found if 2 <= len(found) <= 3 else []

    def told(self, query: str, stem: Stem) -> tuple[set[int], set[str], set[str]]:
        """Sides, and the stems of negated and quoted words."""
        pieces = [
            self.word.findall(query[i:j].lower())
            for i, j in (self.pieces(query) if self.code != "en" else [(0, len(query))])
        ]
        said = {word for piece in pieces for word in piece}
        quote = self.quoted.match(query) if said & self.telling else None
        quoted = {stem(word) for word in self.word.findall(query[quote.end() :].lower())} if quote else set()
        off = {w for w, texts in self.opposites["only_with"].items() if not self.expression(texts).search(query)}
        off |= {w for w, texts in self.opposites["only_without"].items() if self.expression(texts).search(query)}
        sides: set[int] = set()
        negated: set[str] = set()
        for piece in pieces:
            here: list[int] = []
            reach, front = 0, None
            for word in piece:
                short = stem(word)
                if word in off:
                    continue
                if word in self.negations:
                    reach, front = self.opposites["reach"], len(here) - 1
                elif short not in quoted:
                    on = self.side.get(short if self.code == "en" else word)
                    if reach:
                        negated.add(short)
                        front = front if on is None else None
                    if on is not None:
                        here.append(on ^ 1 if reach else on)
                    reach = 0 if on is not None else max(0, reach - 1)
            if self.opposites["behind"] and front is not None and front >= 0:
                here[front] ^= 1
            sides |= set(here)
        return sides, negated, quoted


_RULES: dict[str, Any] = {}


def rules_in(query: str, stem: Stem) -> Rules:
    code = language(query)
    if code not in _RULES:
        _RULES[code] = Rules(code, stem)
    found: Rules = _RULES[code]
    return found
