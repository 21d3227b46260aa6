"""Makes a request careless: small letters, missing punctuation, slips of the keyboard, a word more at the end.

What fills a slot stays as it is, since the arguments of the calls are spelt as in the query: only the words outside
composition.py's marks change. Knows nothing of intents, tools and plans.
"""

from __future__ import annotations

import random
import re

from composition import MARK

KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
ENDINGS = ("",) * 18 + ("?", "!", "...", "!!", " plz", " please", " asap", " thx", " now", " quick")
SHORT_FORMS = {"please": "plz", "you": "u", "about": "abt", "tomorrow": "tmr", "could": "cud", "with": "w", "for": "4"}
LONG = 8
WORD = re.compile(r"[A-Za-z]{4,}")


def plain(text: str) -> str:
    """The text without marks."""
    return text.replace(MARK, "")


def slip(word: str, rng: random.Random) -> str:
    """One slip behind the first letter: dropped, doubled, swapped, the key beside it, also or instead, or no vowels."""
    place = rng.randrange(1, len(word) - 1)
    head, letter, tail = word[:place], word[place], word[place + 1 :]
    kind = rng.choice(("drop", "double", "swap", "beside", "stray", "vowels"))
    if kind == "drop":
        return head + tail
    if kind == "double":
        return head + letter * 2 + tail
    if kind == "swap":
        return head + tail[0] + letter + tail[1:]
    if kind == "vowels":
        return word[0] + (re.sub(r"[aeiou]", "", word[1:]) or word[1:])
    row = next((row for row in KEY_ROWS if letter in row), letter)
    near = row.find(letter) + rng.choice((-1, 1))
    key = row[min(max(near, 0), len(row) - 1)]
    return head + (letter + key if kind == "stray" else key) + tail


def mistype(pieces: list[str], slips: int, rng: random.Random) -> list[str]:
    """Misspells up to so many words of the pieces."""
    places = [(index, match) for index, piece in enumerate(pieces) for match in WORD.finditer(piece)]
    chosen = rng.sample(places, min(slips, len(places)))
    # From the last one on, so that the positions of the earlier ones still hold.
    for index, match in sorted(chosen, key=lambda place: (place[0], place[1].start()), reverse=True):
        piece = pieces[index]
        pieces[index] = piece[: match.start()] + slip(match[0], rng) + piece[match.end() :]
    return pieces


def untidy(text: str, rng: random.Random) -> str:
    """The marked text as a hurried person types it, without marks. A long text gets more slips than a short one."""
    pieces = text.split(MARK)
    outside = pieces[::2]
    if rng.random() < 0.75:
        outside = [piece.lower() for piece in outside]
    if rng.random() < 0.5:
        outside = [re.sub(r"[,.:;!?'](?= |$)", "", piece) for piece in outside]
    is_long = sum(len(piece.split()) for piece in pieces) > LONG
    if is_long:
        short = re.compile(rf"\b({'|'.join(SHORT_FORMS)})\b")
        outside = [short.sub(lambda match: SHORT_FORMS[match[0]], piece) for piece in outside]
    if is_long or rng.random() < 0.25:
        outside = mistype(outside, rng.randint(1, 3) if is_long else 1, rng)
    pieces[::2] = outside
    whole = re.sub(r"\s+", " ", "".join(pieces)).strip()
    ending = rng.choice(ENDINGS)
    return whole if is_long or whole.endswith((".", "?", "!")) else whole + ending
