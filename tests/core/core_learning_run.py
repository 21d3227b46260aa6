"""Learns until it is killed: a byte for being there, and one for each plan that is kept; for test_core_overlay.py."""

from __future__ import annotations

import sys

from binding import Core
from core_learning import Learner


def main() -> None:
    """Library, bundle, overlay, and what to call the plans."""
    library, folder, overlay, called = sys.argv[1:]
    learner, number = Learner(Core(library).load(folder), overlay), 0
    while True:
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()
        learner.learn(f"plan {called} {number}", ["find_file"] * (number % 3))
        if number % 4 == 3:
            learner.forget(id=10**6)
        number += 1


if __name__ == "__main__":
    main()
