"""What `trust` adds to loading, in one run: pairs of loads with and without, in turns, by the process's own CPU time.

    python tests/trust_run.py BUNDLE [--core build/core/libedgeret.so] [--pairs 25]

The bundle is signed in a copy. A ratio is that of medians, and beside it that of minima.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time

sys.path.insert(0, str(Path(__file__).parent / "core"))

from binding import Core, Text
from signers import Signer

import edgeret

MAKER = Signer("maker")


def in_python(bundle: Path) -> Iterator[tuple[str, Callable[[bool], object]]]:
    """A profile, and what loads it with trust or without."""
    for profile in ("tiny", "default", "full"):

        def load(trusted: bool, profile: str = profile) -> object:
            return edgeret.load(bundle, profile=profile, trust=MAKER.public if trusted else None)  # type: ignore[arg-type]

        yield profile, load


def in_core(bundle: Path, library: Path) -> Iterator[tuple[str, Callable[[bool], object]]]:
    """The same by the C library."""
    core, trust = Core(library), Text.of(MAKER.public)
    for alone, profile in ((1, "tiny"), (0, "default")):

        def load(trusted: bool, alone: int = alone) -> object:
            core.load(bundle, first_stage_alone=alone, **({"trust": trust} if trusted else {})).close()
            return None

        yield f"core, {profile}", load


def main() -> int:
    """0; prints a line for each profile."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--core", type=Path)
    parser.add_argument("--pairs", type=int, default=25)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bundle = shutil.copytree(given.bundle, Path(folder) / "bundle")
        MAKER.sign(bundle)
        for name, load in (*in_python(bundle), *(() if given.core is None else in_core(bundle, given.core))):
            times: dict[bool, list[float]] = {False: [], True: []}
            load(True)
            for pair in range(given.pairs):
                for trusted in (pair % 2 == 0, pair % 2 == 1):
                    started = process_time()
                    load(trusted)
                    times[trusted].append(process_time() - started)
            before, behind = median(times[False]), median(times[True])
            print(
                f"{name:14} {before * 1e3:.1f} ms without, {behind * 1e3:.1f} with: {behind / before:.3f}, "
                f"of minima {min(times[True]) / min(times[False]):.3f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
