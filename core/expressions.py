"""Compiles expressions as Python's `re` reads them to programs for src/pattern.c. Knows nothing of languages."""

from __future__ import annotations

import re
import re._constants as sre
import re._parser
from collections.abc import Sequence
from typing import Any, NamedTuple

from begins import told_of
from characters import CASED, FOLDED, MANY, Set, key, letter, letter_bytes, set_of, source_of

FIRST_LIST, MOST_LISTS = 0xE000, 16  # private code points stand for lists of words in an expression
OPS = (
    "CHAR TEXT SET ANY LOOP SPLIT LAZY IF_FIRST DISPATCH JUMP EDGE BEGIN END BEHIND NOT_BEHIND LOOK NOT_LOOK LIST "
    "FAIL SAVE ZERO COUNT BACK CALL RETURN MATCH"
)  # which dense.py writes as pattern.c reads them
GROUPS = ("v", "w", "n", "h", "m", "part", "to", "half", "d", "month", "mm", "y")
"""Whose places a match tells, as in pattern.h; groups without a name stand in order."""
COUNTERS = 2 * len(GROUPS)  # registers behind those of groups
LINKS = COUNTERS + 8  # and those where parts that are shared go back to
MOST_UNROLLED = 3
ENDLESS = 0xFFFF  # a repeat's most
OP = {name: number for number, name in enumerate(OPS.split(" "))}
IGNORES_CASE, AT_BEGIN, AT_EDGE, HAS_GROUPS = 1, 2, 4, 8  # flags of a program

NO_WORDS = set_of(r"\W", 0).keys & (1 << 128) - 1


class First(NamedTuple):
    """The keys of characters that a part may begin with, and whether it may be empty."""

    keys: int
    empty: bool


def is_list(point: int) -> bool:
    """Whether a code point stands for a list of words."""
    return FIRST_LIST <= point < FIRST_LIST + MOST_LISTS


def begins_with_letter(items: Sequence[Any]) -> bool:
    """Whether a sequence begins with one letter."""
    return len(items) > 0 and items[0][0] is sre.LITERAL and not is_list(items[0][1])


class Programs:
    """All programs, with the classes and first characters that they share."""

    def __init__(self, lists: Sequence[Sequence[str]]) -> None:
        """`lists` of words are what the code points from FIRST_LIST on stand for, each with the end of a word."""
        self.lists = lists
        self.code: list[int] = []  # bytes
        self.choices: set[int] = set()  # addresses in the code that are no jump's
        self.addresses: list[int] = []  # where in the code one of two bytes stands, of the program that is being added
        self.sets: list[Set] = []
        self.firsts: list[int] = []
        self.flags = 0
        self.groups: dict[int, int] = {}  # of the expression that is being added: a group's place among GROUPS
        self.counters = 0  # of repeats that are open
        self.shared: dict[tuple[str, int], tuple[int, int]] = {}  # parts, each with where it begins and its depth
        self.needed = 0  # keys of characters, one of which every match of the last one has
        self.begins: list[tuple[int, ...]] = []  # of matches, as `begins.told_of` has them

    def share(self, expression: str, flags: int, depth: int) -> None:
        """Compiles a part once for all that have it from now on. One of a depth may have others of the next depth."""
        self.flags, self.counters = flags & re.IGNORECASE, 4 * depth + 2
        tree = list(re._parser.parse(expression, flags))
        if tree[0][0] is not sre.BRANCH:
            return
        start = len(self.code)
        self.sequence(tree)
        self.emit("RETURN", LINKS + depth)
        self.settle()
        self.counters = 0
        self.shared[repr(tree), self.flags] = start, depth

    def settle(self) -> None:
        """No jump goes to another jump."""
        for at in self.addresses:
            while self.code[self.address(at)] == OP["JUMP"]:
                self.point(at, self.address(self.address(at) + 1))
        self.addresses = []

    def add(self, expression: str, flags: int, looked: bool = False) -> tuple[int, ...]:
        """Compiles one more: where it begins, the number of its first characters, its flags; and with `looked`, where
        it ignores case, the number of the threes of characters that it begins with, from 1 on."""
        self.flags = flags & re.IGNORECASE
        parsed = re._parser.parse(expression, flags)
        named = {number: GROUPS.index(name) for name, number in parsed.state.groupdict.items()}
        self.groups = named or {number: number - 1 for number in range(1, parsed.state.groups)}
        tree = list(parsed)
        start = len(self.code)
        first = self.first(tree)
        told = IGNORES_CASE if self.flags else 0
        if tree and tree[0] == (sre.AT, sre.AT_BEGINNING):
            told |= AT_BEGIN
        if tree and tree[0] == (sre.AT, sre.AT_BOUNDARY) and not first.empty and not first.keys & NO_WORDS:
            told |= AT_EDGE
        told |= HAS_GROUPS if self.groups else 0
        self.sequence(tree)
        self.emit("MATCH")
        self.needed = self.needed_by(tree)
        self.settle()
        begins = self.begins_number(tree) if looked and self.flags else ()
        return start, MANY if first.empty else self.first_number(first.keys), told, *begins

    def begins_number(self, tree: Sequence[Any]) -> Sequence[int]:
        found = told_of(tree, self.keys_of, self.words_of)
        if found is None:
            return ()
        if found not in self.begins:
            self.begins.append(found)
        return (self.begins.index(found) + 1,)

    def keys_of(self, op: Any, told: Any) -> int:
        """The keys of an item of one character, 0 of any other."""
        if op is sre.LITERAL:
            return 1 << key(self.folded(told))
        if op is sre.ANY:
            return (1 << 256) - 1
        one = self.one((op, told))
        return 0 if one is None else one.keys

    def words_of(self, point: int) -> Sequence[str]:
        """The words that a code point stands for, as texts are looked at."""
        listed = self.lists[point - FIRST_LIST] if is_list(point) else ()
        return ["".join(chr(FOLDED[ord(letter)]) for letter in word) for word in listed]

    def emit(self, name: str, *told: int) -> None:
        """Writes an instruction and bytes that belong to it."""
        if max(told, default=0) > 255:
            raise SystemExit(f"{name} takes bytes, found {told}")
        self.code += [OP[name], *told]

    def emit_address(self) -> int:
        """Leaves room for an address that is known later, and says where."""
        self.code += [0, 0]
        self.addresses.append(len(self.code) - 2)
        return len(self.code) - 2

    def address(self, at: int) -> int:
        return self.code[at] | self.code[at + 1] << 8

    def point(self, at: int, to: int) -> None:
        self.code[at : at + 2] = [to & 255, to >> 8]

    def jump(self) -> int:
        self.emit("JUMP")
        return self.emit_address()

    def set_number(self, found: Set) -> int:
        if found not in self.sets:
            self.sets.append(found)
        return self.sets.index(found)

    def first_number(self, keys: int) -> int:
        if keys not in self.firsts:
            self.firsts.append(keys)
        return self.firsts.index(keys)

    def here(self, at: int) -> None:
        self.point(at, len(self.code))

    def one(self, node: tuple[Any, Any]) -> Set | None:
        """The class of an item of one character."""
        if node[0] is sre.LITERAL and is_list(node[1]):
            return None
        source = source_of(node)
        return None if source is None else set_of(source, self.flags)

    def folded(self, point: int) -> int:
        """A letter as the text is looked at."""
        return letter(point, self.flags)

    def first(self, items: Sequence[Any]) -> First:
        """What a sequence may begin with; what has no width is looked past."""
        keys = 0
        for op, told in items:
            found = self.first_of(op, told)
            keys |= found.keys
            if not found.empty:
                return First(keys, False)
        return First(keys, True)

    def needed_by(self, items: Sequence[Any]) -> int:
        """The fewest keys of characters, one of which a text has wherever a sequence matches; of ASCII first of all,
        since few texts have others."""
        found = [(1 << 256) - 1]
        for op, told in items:
            if op is sre.BRANCH:
                keys = 0
                for branch in told[1]:
                    keys |= self.needed_by(branch)
                found.append(keys)
            elif op is sre.SUBPATTERN:
                found.append(self.needed_by(told[3]))
            elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT) and told[0]:
                found.append(self.needed_by(told[2]))
            elif op is sre.ASSERT:
                found.append(self.needed_by(told[1]))
            elif op is sre.LITERAL or self.one((op, told)) is not None:
                found.append(self.first_of(op, told).keys)
        return min(found, key=lambda keys: ((keys & (1 << 128) - 1).bit_count(), keys.bit_count()))

    def first_of(self, op: Any, told: Any) -> First:
        if op is sre.LITERAL and is_list(told):
            return First(self.first_of_list(told - FIRST_LIST), False)
        if op is sre.LITERAL:
            return First(1 << key(self.folded(told)), False)
        one = self.one((op, told))
        if one is not None:
            return First(one.keys, False)
        if op is sre.BRANCH:
            found = [self.first(branch) for branch in told[1]]
            keys = 0
            for each in found:
                keys |= each.keys
            return First(keys, any(each.empty for each in found))
        if op is sre.SUBPATTERN:
            return self.first(told[3])
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            found = self.first(told[2])
            return First(found.keys, found.empty or not told[0])
        return First(0, True)

    def first_of_list(self, number: int) -> int:
        """The keys of letters that a list's words begin with, in whatever case the text is looked at."""
        folded = {FOLDED[ord(word[0])] for word in self.lists[number]}
        if self.flags:
            return sum({1 << key(point) for point in folded})
        return sum({1 << key(point) for point in (*map(ord, CASED), *folded) if FOLDED[point] in folded})

    def sequence(self, items: Sequence[Any]) -> None:
        letters: list[int] = []
        for op, told in [*items, (None, None)]:
            if op is sre.LITERAL and not is_list(told):
                letters.append(self.folded(told))
                continue
            if len(letters) == 1:
                self.emit("CHAR", *letter_bytes(letters[0]))
            elif letters:
                self.emit("TEXT", len(letters), *(byte for letter in letters for byte in letter_bytes(letter)))
            letters = []
            if op is not None:
                self.item(op, told)

    def item(self, op: Any, told: Any) -> None:
        if (shared := self.shared.get((repr([(op, told)]), self.flags))) is not None:
            self.emit("CALL", LINKS + shared[1])
            self.point(self.emit_address(), shared[0])
        elif op is sre.LITERAL:
            self.emit("LIST", told - FIRST_LIST)
        elif op is sre.ANY:
            self.emit("ANY")
        elif (one := self.one((op, told))) is not None:
            self.emit("SET", self.set_number(one))
        elif op is sre.BRANCH:
            self.branch(told[1])
        elif op is sre.SUBPATTERN:
            group, more, less, items = told
            if more or less:
                raise SystemExit("a part with other flags is not needed so far")
            if group is not None:
                self.emit("SAVE", 2 * self.groups[group])
            self.sequence(items)
            if group is not None:
                self.emit("SAVE", 2 * self.groups[group] + 1)
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            self.repeat(op is sre.MIN_REPEAT, *told)
        elif op is sre.AT:
            self.emit({sre.AT_BEGINNING: "BEGIN", sre.AT_END: "END", sre.AT_BOUNDARY: "EDGE"}[told])
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            self.look(op is sre.ASSERT_NOT, *told)
        elif op is sre.FAILURE:
            self.emit("FAIL")
        else:
            raise SystemExit(f"{op} is not needed so far")

    def branch(self, branches: Sequence[Any]) -> None:
        """Alternatives, the first that fits first. Of those that begin with letters and stand side by side one look at
        the text tells which ones can fit; letters that they share are read once."""
        parts: list[list[Any]] = []
        for branch in branches:
            if parts and begins_with_letter(branch) and begins_with_letter(parts[-1][0]):
                parts[-1].append(branch)
            else:
                parts.append([branch])
        ends = []
        for number, part in enumerate(parts, 1):
            other = self.emit_choice(part) if number < len(parts) else None
            if len(part) > 1:
                ends += self.by_letter(part)
            else:
                self.sequence(part[0])
            if other is not None:
                ends.append(self.jump())
                self.here(other)
        while ends and ends[-1] + 2 == len(self.code) and ends[-1] not in self.choices:  # what it jumps to comes next
            self.addresses.remove(ends.pop())
            for at in self.addresses:
                if self.address(at) == len(self.code):
                    self.point(at, len(self.code) - 3)
            del self.code[-3:]
        for end in ends:
            self.here(end)

    def emit_choice(self, part: Sequence[Any]) -> int:
        """Another alternative may follow what comes here: where its place is to be written."""
        keys = 0
        for branch in part:
            first = self.first(branch)
            if first.empty:
                self.emit("SPLIT")
                return self.emit_address()
            keys |= first.keys
        self.emit("IF_FIRST", self.first_number(keys))
        return self.emit_address()

    def by_letter(self, branches: Sequence[Any]) -> list[int]:
        """Alternatives that all begin with letters: jumps to what stands behind them."""
        groups: dict[int, list[Any]] = {}
        for branch in branches:
            groups.setdefault(self.folded(branch[0][1]), []).append(branch[1:])
        ends, places = [], {}
        if len(groups) == 1:
            self.emit("CHAR", *letter_bytes(*groups))
        else:
            self.emit("DISPATCH", len(groups))
            for letter in groups:
                self.code += letter_bytes(letter)
                places[letter] = self.emit_address()
        self.choices |= {*places.values()}
        for letter, rest in groups.items():
            if places and not any(rest):
                ends.append(places[letter])
                continue
            if places:
                self.here(places[letter])
            self.branch(rest)
            ends.append(self.jump())
        return ends

    def repeat(self, lazy: bool, least: int, most: int, items: Sequence[Any]) -> None:
        endless = most is sre.MAXREPEAT
        one = self.one(items[0]) if len(items) == 1 else None
        if one is not None and not lazy:
            limit = ENDLESS if endless else int(most)
            self.emit("LOOP", self.set_number(one), least, limit & 255, limit >> 8)
            return
        if self.first(items).empty:
            raise SystemExit("what may be empty is not repeated so far")
        for _ in range(least):
            self.sequence(items)
        more = 1 if endless else int(most) - least
        counter = COUNTERS + self.counters if more > MOST_UNROLLED else None
        if counter is not None:
            self.emit("ZERO", counter)
            self.counters += 1
        again, ends = len(self.code), []
        for _ in range(1 if counter is not None else more):
            if lazy:
                self.emit("LAZY")
            else:
                self.emit("IF_FIRST", self.first_number(self.first(items).keys))
            ends.append(self.emit_address())
            if counter is not None:
                self.emit("COUNT", counter, more & 255, more >> 8)
            self.sequence(items)
        if counter is not None:
            self.counters -= 1
        if endless or counter is not None:
            self.point(self.jump(), again)
        for end in ends:
            self.here(end)

    def look(self, negative: bool, direction: int, items: Sequence[Any]) -> None:
        if direction < 0:
            one = self.one(items[0]) if len(items) == 1 else None
            if one is not None:
                self.emit("NOT_BEHIND" if negative else "BEHIND", self.set_number(one))
                return
            # As many characters back, what is looked for ends here.
            self.emit("NOT_LOOK" if negative else "LOOK")
            end = self.emit_address()
            self.emit("BACK", items.getwidth()[0])
            self.sequence(items)
            self.emit("MATCH")
            self.here(end)
            return
        self.emit("NOT_LOOK" if negative else "LOOK")
        end = self.emit_address()
        self.sequence(items)
        self.emit("MATCH")
        self.here(end)
