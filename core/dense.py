"""Writes programs again in fewer bytes, as src/pattern.c reads them: what two parts end alike with stands there once,
frequent instructions are a byte, and addresses tell how far away a place is. Knows nothing of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from expressions import ENDLESS, OP

OPS = (
    "SET ANY LOOP MANY SOME SPLIT LAZY IF_FIRST DISPATCH JUMP EDGE BEGIN END BEHIND NOT_BEHIND LOOK NOT_LOOK LIST "
    "FAIL SAVE ZERO COUNT BACK CALL RETURN MATCH"
)  # as in pattern.c
NUMBER = {name: number for number, name in enumerate(OPS.split(" "))}
TEXT, LETTER = 32, 128  # and how many letters; and one of ASCII
OPERANDS = {"SET": 1, "LOOP": 4, "BEHIND": 1, "NOT_BEHIND": 1, "LIST": 1, "SAVE": 1, "ZERO": 1, "COUNT": 3, "BACK": 1}
OPERANDS |= {"RETURN": 1, "IF_FIRST": 1, "CALL": 1}
ADDRESSED = {"SPLIT", "LAZY", "IF_FIRST", "JUMP", "LOOK", "NOT_LOOK", "CALL"}
LAST = {"JUMP", "DISPATCH", "FAIL", "RETURN", "MATCH"}  # nothing follows them
NEAR, MIDDLE, FAR = 128, 0x4000, 0x8000
JUMP_BYTES = 3


class To(NamedTuple):
    """Where an address leads: the place of an instruction as it was, later its number."""

    place: int


Parts = tuple[int | To, ...]


def _letter(code: Sequence[int], at: int) -> int:
    """How many bytes a letter has, as characters.letter_bytes writes it."""
    return 1 if code[at] < LETTER else 3 if code[at] == 255 else 2


def _read(code: Sequence[int]) -> dict[int, tuple[str, Parts]]:
    """The instructions by their places."""
    names = {number: name for name, number in OP.items()}
    found, at = {}, 0

    def address() -> To:
        return To(code[at] | code[at + 1] << 8)

    while at < len(code):
        start, name = at, names[code[at]]
        parts: list[int | To] = []
        at += 1
        if name in ("CHAR", "TEXT"):
            count = 1
            if name == "TEXT":
                count, at = code[at], at + 1
            begin = at
            for _ in range(count):
                at += _letter(code, at)
            letters = code[begin:at]
            if count >= LETTER - TEXT:
                raise SystemExit("a text has too many letters")
            parts = [LETTER | letters[0]] if count == len(letters) == 1 else [TEXT + count, *letters]
        elif name == "DISPATCH":
            count, at = code[at], at + 1
            parts = [NUMBER[name], count]
            for _ in range(count):
                length = _letter(code, at)
                parts += code[at : at + length]
                at += length
                parts.append(address())
                at += 2
        elif name == "LOOP" and code[at + 1] < 2 and code[at + 2] | code[at + 3] << 8 == ENDLESS:
            parts = [NUMBER[("MANY", "SOME")[code[at + 1]]], code[at]]
            at += 4
        else:
            count = OPERANDS.get(name, 0)
            parts = [NUMBER[name], *code[at : at + count]]
            at += count
            if name in ADDRESSED:
                parts.append(address())
                at += 2
        found[start] = name, tuple(parts)
    return found


def _bytes(parts: Parts) -> int:
    return sum(1 if isinstance(part, int) else 2 for part in parts)


def _same(read: dict[int, tuple[str, Parts]]) -> dict[int, int]:
    """Of each place the last one from which on all is done alike. A way back leads to itself alone."""
    kinds: dict[tuple[object, ...], int] = {}
    of: dict[int, int] = {}
    behind = None
    for place in sorted(read, reverse=True):
        name, parts = read[place]
        told = (To(of[part.place]) if isinstance(part, To) and part.place > place else part for part in parts)
        of[place] = kinds.setdefault((*told, None if name in LAST else behind), place)
        behind = of[place]
    return of


def dense(code: Sequence[int], starts: Iterable[int]) -> tuple[list[int], dict[int, int]]:
    """The programs that begin at `starts` in fewer bytes, and where each begins now."""
    read = _read(code)
    same, places = _same(read), sorted(read)
    following = dict(pairwise(places))
    told: dict[int, Parts] = {}

    def left(place: int) -> int:
        """Bytes up to where nothing follows."""
        count = 0
        while count <= JUMP_BYTES:
            name, parts = read[place]
            count += _bytes(parts)
            if name in LAST:
                break
            place = following[place]
        return count

    open_ = [same[start] for start in starts]
    while open_:
        place = open_.pop()
        if place in told:
            continue
        name, parts = read[place]
        if same[place] != place and left(place) > JUMP_BYTES:
            name, parts = "JUMP", (NUMBER["JUMP"], To(place))
        elif name == "JUMP" and isinstance(parts[1], To) and read[parts[1].place][0] in ("MATCH", "RETURN"):
            name, parts = read[parts[1].place]
        told[place] = parts = tuple(To(same[part.place]) if isinstance(part, To) else part for part in parts)
        open_ += [part.place for part in parts if isinstance(part, To)]
        if name not in LAST:
            open_.append(following[place])
    return _written(told, {start: same[start] for start in starts})


def _written(told: dict[int, Parts], starts: dict[int, int]) -> tuple[list[int], dict[int, int]]:
    """With addresses of a byte where the place is near and further on, of two elsewhere."""
    wide: set[tuple[int, int]] = set()
    while True:
        at, where = 0, {}
        for place in sorted(told):
            where[place] = at
            at += sum(2 if (place, number) in wide else 1 for number in range(len(told[place])))
        code: list[int] = []
        before = len(wide)
        for place in sorted(told):
            for number, part in enumerate(told[place]):
                if isinstance(part, int):
                    code.append(part)
                    continue
                far = where[part.place] - len(code)
                if (place, number) in wide:
                    code += [NEAR | far + MIDDLE >> 8, far + MIDDLE & 255]
                    if not 0 <= far + MIDDLE < FAR:
                        raise SystemExit("a place is too far away")
                elif 0 <= far < NEAR:
                    code.append(far)
                else:
                    wide.add((place, number))
                    code.append(0)
        if len(wide) == before:
            return code, {start: where[place] for start, place in starts.items()}
