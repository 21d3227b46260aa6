"""Learns until it is killed: a byte for being there, and one for each plan that is kept; for test_core_overlay.py."""

from __future__ import annotations

import sys

from binding import Core
from core_learning import Learner

WORDS = "mail send note write read find file music play stop song letter open close meeting book call phone".split()  # noqa: SIM905
"""Of the made-up encoder's: to which others are all alike."""


def words(number: int) -> str:
    """A request of two words that no other number below 500 has."""
    first = number % len(WORDS)
    return f"{WORDS[first]} {WORDS[(number // len(WORDS) + first + 1) % len(WORDS)]}"


def main() -> None:
    """Library, bundle and overlay."""
    library, folder, overlay = sys.argv[1:]
    learner, number = Learner(Core(library).load(folder), overlay), 0
    while True:
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()
        learner.learn(words(number), ["find_file"] * (number % 3))
        if number % 4 == 3:
            learner.forget(id=10**6)
        number += 1


if __name__ == "__main__":
    main()
