"""Writes conversations of the desktop assistant from the phrase files, the same bytes for the same seed.

A conversation is a request as in `demonstrations.jsonl`, then turns that lean on it: follow-ups, corrections and
changed minds from "phrases/conversations.txt", which says after which call each fits; and turns that do not lean on it:
new wishes, thanks, and wishes that no tool serves. Some have words around them that want nothing.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from composition import TerseWording, fill, word_request
from generate import PHRASE_FILES, PHRASES, TERSE_FILES, EvenPicker, Picker, compose, wishes_without_tool
from grammar import SLOT, Intent, expand, load_intents, load_slots, load_wishes
from untidy import plain, untidy

HERE = Path(__file__).resolve().parent
SEED = 20264
COUNT = 1500
"""Conversations; the fit of their few weights needs no more."""
TURNS = (2, 3, 3, 4, 4, 5, 6)
LENGTHS = (1, 1, 1, 2, 2, 3, 4)
TERSE_SHARE = 0.6
LEANS, NEW, THANKS = 0.55, 0.32, 0.07
"""Shares of later turns; the rest are wishes that no tool serves."""
JOINTS = ("", "", "", "", "and ", "then ", "also ", "now ", "ok, ", "please ", "great, ", "hm, ", "oh and ")
TWO_SHARE, WORDY_SHARE = 0.2, 0.35
"""Of turns that lean on others: those that want two things; of all turns: those with many words around what counts."""
GO_ON_SHARE = 0.6
"""Of what leans on earlier turns: what goes on with tools that were not called last, where there is any."""
PAIR_JOINTS = (" and ", ", then ", " and then ", ". ", ", and ", "; ")
NEW_JOINTS = ("", "", "", "", "and ", "also ", "something else: ", "ok. ", "next: ", "now ", "by the way, ")
AGAIN = "again"

Turn = dict[str, Any]


class Conversations:
    """Makes conversations, one after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.slots = load_slots(PHRASES / "slots.txt")
        self.picker = Picker([intent for name in PHRASE_FILES for intent in load_intents(PHRASES / name)], rng)
        terse = [intent for name in TERSE_FILES for intent in load_intents(PHRASES / name)]
        self.terse_picker, self.word_tersely = EvenPicker(terse, rng), TerseWording()
        self.wishes = [
            wishes_without_tool(name, 1, wording, self.slots, rng)
            for name, wording in (
                ("no_tool.txt", word_request),
                ("no_tool_terse.txt", self.word_tersely),
                ("no_tool_terse_words.txt", self.word_tersely),
            )
        ]
        self.around = load_wishes(PHRASES / "around.txt")
        self.thanks = load_wishes(PHRASES / "thanks.txt")
        self.after: dict[str, list[Intent]] = {}
        for intent in load_intents(PHRASES / "conversations.txt"):
            for tool in intent.name.split(".")[0].split(","):
                self.after.setdefault(tool, []).append(intent)
        self.uses: Counter[str] = Counter()

    def conversation(self) -> list[Turn]:
        """The turns of one conversation."""
        turns = [self.wish()]
        last = turns[0]["calls"]
        for _ in range(self.rng.choice(TURNS) - 1):
            turns.append(self.next_turn(last))
            last = turns[-1]["calls"] or last
        return turns

    def next_turn(self, last: list[dict[str, Any]]) -> Turn:
        """A turn behind these calls, those of the last turn that made any."""
        dice = self.rng.random()
        if dice < LEANS and last[-1]["tool"] in self.after:
            text, calls = self.leaning(last)
            if self.rng.random() < TWO_SHARE and calls[-1]["tool"] in self.after:
                more, then = self.leaning(calls)
                text, calls = text.rstrip("?!.") + self.rng.choice(PAIR_JOINTS) + more, calls + then
            joint = self.rng.choice(JOINTS)
            text = text if text.startswith(("and ", "also ", "no, ", "plus ", "ok")) else joint + text
            return {"query": self.wordy(self.careless(text)), "calls": calls}
        if dice < LEANS + NEW:
            turn = self.wish()
            return {"query": self.wordy(self.rng.choice(NEW_JOINTS) + turn["query"]), "calls": turn["calls"]}
        if dice < LEANS + NEW + THANKS:
            return {"query": self.wordy(expand(self.rng.choice(self.thanks), self.rng)), "calls": []}
        return {"query": self.wordy(self.careless(next(self.rng.choice(self.wishes))[0])), "calls": []}

    def leaning(self, last: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
        """What may be wanted behind these calls, marked (composition.py), and its calls; what was used least."""
        fitting = self.after[last[-1]["tool"]]
        called = {call["tool"] for call in last}
        going_on = [one for one in fitting if one.calls[-1][0] not in called | {AGAIN}]
        if going_on and self.rng.random() < GO_ON_SHARE:
            fitting = going_on
        intent = min(self.rng.sample(fitting, min(3, len(fitting))), key=lambda one: self.uses[one.name])
        self.uses[intent.name] += 1
        phrase, used = expand(self.rng.choice(intent.phrases), self.rng), set[str]()
        values = {name: self.slots.value(name, self.rng, used) for name in dict.fromkeys(SLOT.findall(phrase))}
        calls = [{"tool": last[-1]["tool"] if tool == AGAIN else tool} for tool, _ in intent.calls]
        return fill(phrase, values), calls

    def wordy(self, text: str) -> str:
        """The text, now and then with words around it that want nothing."""
        if self.rng.random() >= WORDY_SHARE:
            return text
        return expand(self.rng.choice(self.around), self.rng).replace("{turn}", text)

    def wish(self) -> Turn:
        """A request that stands alone."""
        terse = self.rng.random() < TERSE_SHARE
        while True:
            length = self.rng.choice(LENGTHS)
            made = (
                compose(length, self.terse_picker, self.slots, self.word_tersely, self.rng)
                if terse
                else compose(length, self.picker, self.slots, word_request, self.rng)
            )
            if made is not None:
                return {"query": self.careless(made[0]), "calls": [{"tool": call["tool"]} for call in made[1]]}

    def careless(self, text: str) -> str:
        """The text as typed: now and then with a slip, or without capitals."""
        if self.rng.random() < 0.3:
            return untidy(text, self.rng, slip_share=0.3)
        text = plain(text)
        return text if self.rng.random() < 0.5 else text[:1].upper() + text[1:]


def main() -> None:
    """Command line: writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "conversations_train.jsonl")
    options = parser.parse_args()
    made = Conversations(options.seed)
    with options.output.open("w", encoding="utf-8", newline="\n") as file:
        for number in range(1, options.count + 1):
            row = {"id": f"t{number:04d}", "turns": made.conversation()}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
