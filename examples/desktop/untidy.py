"""Makes a request careless, as on the keyboard of a phone: small letters, missing marks, slips, short spellings.

What fills a slot stays as it is, since the arguments of the calls are spelt as in the query: only the words outside
composition.py's marks change. Knows nothing of intents, tools and plans.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from composition import MARK
from grammar import load_slots

KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
ENDINGS = ("",) * 18 + ("?", "!", "...", "!!", " plz", " please", " asap", " thx", " now", " quick")
LONG = 8
WORD = re.compile(r"[A-Za-z]{4,}")
GAP = re.compile(r"(?<=[A-Za-z]) (?=[A-Za-z])")
SMALL_WORD = re.compile(r"\b(?:the|a|an|my|me|of|please) ")
SHORT_FORMS = load_slots(Path(__file__).resolve().parent / "phrases" / "short_forms.txt").table
# Whoever has German friends, or a German phone, has such words between the names.
GERMAN = {
    "address": "adresse",
    "and": "und",
    "appointment": "termin",
    "calendar": "kalender",
    "file": "datei",
    "folder": "ordner",
    "for": "für",
    "from": "von",
    "music": "musik",
    "note": "notiz",
    "number": "nummer",
    "please": "bitte",
    "reminder": "erinnerung",
    "street": "straße",
    "today": "heute",
    "with": "mit",
}


def plain(text: str) -> str:
    """The text without marks."""
    return text.replace(MARK, "")


def keys_beside(letter: str) -> str:
    """The keys around a letter's own: left and right, and the two nearest of the row above and of the one below."""
    row = next(number for number, keys in enumerate(KEY_ROWS) if letter in keys)
    place = KEY_ROWS[row].index(letter)
    # Each row begins half a key further right than the one above.
    around = [(row, place - 1), (row, place + 1), (row - 1, place), (row - 1, place + 1)]
    around += [(row + 1, place - 1), (row + 1, place)]
    return "".join(
        KEY_ROWS[near][column] for near, column in around if 0 <= near < 3 and 0 <= column < len(KEY_ROWS[near])
    )


def slip(word: str, rng: random.Random) -> str:
    """One slip behind the first letter: dropped, doubled, swapped, the key beside it, also or instead, or no vowels."""
    place = rng.randrange(1, len(word) - 1)
    head, letter, tail = word[:place], word[place], word[place + 1 :]
    kind = rng.choice(("drop", "drop", "double", "swap", "swap", "beside", "beside", "stray", "vowels"))
    if kind == "drop":
        return head + tail
    if kind == "double":
        return head + letter * 2 + tail
    if kind == "swap":
        return head + tail[0] + letter + tail[1:]
    if kind == "vowels":
        return word[0] + (re.sub(r"[aeiou]", "", word[1:]) or word[1:])
    key = rng.choice(keys_beside(letter.lower()))
    return head + (letter + key if kind == "stray" else key) + tail


def change_some(
    pieces: list[str], pattern: re.Pattern[str], change: Callable[[str], str], count: int, rng: random.Random
) -> list[str]:
    """The pieces with up to so many of the pattern's matches changed."""
    places = [(index, match) for index, piece in enumerate(pieces) for match in pattern.finditer(piece)]
    changed = list(pieces)
    chosen = rng.sample(places, min(count, len(places)))
    # From the last one on, so that the positions of the earlier ones still hold.
    for index, match in sorted(chosen, key=lambda place: (place[0], place[1].start()), reverse=True):
        piece = changed[index]
        changed[index] = piece[: match.start()] + change(match[0]) + piece[match.end() :]
    return changed


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Matches each of the words, whole."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


def mistype(pieces: list[str], slips: int, rng: random.Random) -> list[str]:
    """Misspells up to so many words of the pieces."""
    return change_some(pieces, WORD, lambda word: slip(word, rng), slips, rng)


def shorten(pieces: list[str], slips: int, rng: random.Random) -> list[str]:
    """Spells words as in a text message, a few more than there would be slips."""
    return change_some(pieces, any_of(SHORT_FORMS), lambda word: rng.choice(SHORT_FORMS[word]), slips + 1, rng)


def run_together(pieces: list[str], slips: int, rng: random.Random) -> list[str]:
    """Leaves a space out between two words, never beside a slot's value."""
    return change_some(pieces, GAP, lambda _: "", 1, rng)


def leave_out(pieces: list[str], slips: int, rng: random.Random) -> list[str]:
    """Leaves small words out."""
    return change_some(pieces, SMALL_WORD, lambda _: "", slips, rng)


def mix_german(pieces: list[str], slips: int, rng: random.Random) -> list[str]:
    """Says a word in German."""
    return change_some(pieces, any_of(GERMAN), lambda word: GERMAN[word], 1, rng)


# Where a way has nothing to change in a text, a word is misspelt instead.
WAYS = (mistype,) * 5 + (shorten,) * 4 + (run_together,) * 2 + (leave_out, mix_german)


def untidy(text: str, rng: random.Random, slip_share: float) -> str:
    """The marked text as a hurried person types it, without marks; the share of them also has slips.

    Small letters, missing marks and a word more at the end are for all. A long text gets more slips than a short one.
    """
    pieces = text.split(MARK)
    outside = pieces[::2]
    if rng.random() < 0.75:
        outside = [piece.lower() for piece in outside]
    if rng.random() < 0.5:
        outside = [re.sub(r"[,.:;!?](?= |$)|'", "", piece) for piece in outside]
    is_long = sum(len(piece.split()) for piece in pieces) > LONG
    if rng.random() < slip_share:
        slips = rng.randint(1, 3) if is_long else 1
        changed = rng.choice(WAYS)(outside, slips, rng)
        outside = mistype(outside, slips, rng) if changed == outside else changed
    pieces[::2] = outside
    whole = re.sub(r"\s+", " ", "".join(pieces)).strip()
    ending = rng.choice(ENDINGS)
    return whole if is_long or whole.endswith((".", "?", "!")) else whole + ending
