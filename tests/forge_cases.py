"""All families of forgeries, the good bundles that they forge, and the cases of a run. Knows nothing of processes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from forge import Forger, Forgery
from forge_arrays import ARRAYS, pack
from forge_bytes import BYTES
from forge_consistent import CONSISTENT
from forge_engines import CODES, CONTEXT, HNSW, PLANNER, language_model
from forge_exercise import Finding, exercise
from forge_fields import FIELDS, Family, cell
from forge_manifest import MANIFEST
from forge_onnx import ENCODER
from forge_schemas import ASKING
from forge_tokenizer import TOKENIZER
from forge_variants import VARIANTS

PLAIN: dict[str, Family] = {**FIELDS, **ARRAYS, **CONSISTENT, **MANIFEST, **BYTES, **TOKENIZER, **ENCODER, **VARIANTS}
ASKED: dict[str, Family] = {**PLANNER, **ASKING}
RARE = {"many": 12, "sizes": 4, "wrappings": 3, "tokenizer-texts": 4, "body": 2} | dict.fromkeys(ASKED, 3)
"""Families whose cases are heavy or few: they have their turn once in so many rounds."""
BASES = ("tiny", "hnsw", "codes", "planner")
"""The good bundles: a tiny one, one with an HNSW graph, one with an encoder in codes, one with a language model."""
Case = tuple[str, int]


def two(forgery: Forgery, number: int) -> str:
    """Two forgeries of different families at once."""
    names = [name for name in PLAIN if name not in RARE]
    first, second = cell(number, len(names), len(names))
    what = PLAIN[names[first]](forgery, number)
    try:
        return f"{what}; {PLAIN[names[second]](forgery, number)}"
    except Exception:  # of whatever library the family uses
        return f"{what}; and nothing more, for the other needs what is spoilt"


FAMILIES: dict[str, tuple[str, Family]] = {
    **{name: ("tiny", family) for name, family in {**PLAIN, "two": two}.items()},
    **{name: ("hnsw", family) for name, family in HNSW.items()},
    **{name: ("codes", family) for name, family in CODES.items()},
    **{name: ("planner", family) for name, family in ASKED.items()},
}
"""All families by name, each with the bundle that it forges."""


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A folder for as long as the context lasts, in memory where that can be had: thousands of bundles are written."""
    shared = Path("/dev/shm")
    place = shared if shared.is_dir() and os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as folder:
        yield Path(folder)


def make_bases(folder: Path) -> None:
    """Writes the good bundles."""
    from codebook_samples import save_card  # with the build host's libraries, which no worker needs
    from conftest import TOOLS, tiny_bundle

    from edgeret.types import Tool
    from edgeret_export.build import build_bundle
    from edgeret_export.recipe import Recipe

    words = [f"{verb} the {thing}" for verb in ("read", "write", "open", "close") for thing in ("mail", "note", "file")]
    more = [Tool(f"tool_{i}", f"{words[i % len(words)]} {i}") for i in range(74)]
    tiny_bundle(folder / "tiny")
    tiny_bundle(folder / "hnsw", recipe=Recipe(precision="fp32", hnsw_from=2), tools=[*TOOLS, *more])
    (folder / "card").mkdir()
    build_bundle(TOOLS, [], folder / "codes", save_card(folder / "card"), Recipe(profile="full"))
    forgery = Forger(folder / "tiny").forgery()
    forgery.add("planner.gguf", "planner", language_model().pack())
    parameters = {"weight": 1.0, "scale": 1.0, "ask_below": 1.0}
    spec = {"chat": "chatml", "context": CONTEXT}
    # Every candidate is in the conformal set, so that there is always something to ask.
    forgery.info["calibration"]["parameters"]["right_probabilities"] = pack([0, 0, 1], "<f4")
    forgery.info["planner"] = {"card": "tiny", "spec": spec, "parameters": parameters}
    for tool in forgery.json("tools"):
        tool["parameters"] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    (folder / "planner").mkdir()
    forgery.write(folder / "planner")


def plan(families: Sequence[str], count: int, seed: int) -> Iterator[Case]:
    """Cases over the families in turn; the seed is where their numbers begin."""
    done, turn = 0, 0
    while done < count:
        for name in families:
            every = RARE.get(name, 1) if len(families) > 1 else 1
            if turn % every == 0 and done < count:
                yield name, seed + turn // every
                done += 1
        turn += 1


@dataclass
class Result:
    """What became of a case: whether it was refused, the errors that were raised on purpose, what went wrong, and the
    processor time in seconds, of the longest step and of all."""

    what: str
    refused: bool
    errors: list[str]
    findings: list[Finding]
    traces: list[str]
    longest: float
    cpu: float

    @staticmethod
    def from_dict(value: dict[str, object]) -> Result:
        """From what `asdict` gives."""
        result = Result(**value)  # type: ignore[arg-type]
        result.findings = [Finding(**finding) for finding in result.findings]  # type: ignore[arg-type]
        return result


class Forge:
    """Forges and tries one case after the other in this process."""

    def __init__(self, bases: Path, seconds: float | None = None) -> None:
        """`bases` is the folder of the good bundles; forged ones lie beside them. A step may take so many seconds of
        processor time."""
        self._bases, self._forgers = bases, {name: Forger(bases / name) for name in BASES}
        self._seconds = seconds

    def forge(self, case: Case, folder: Path) -> str:
        """Writes a case's bundle into a folder that is not there yet; says what was forged."""
        name, number = case
        base, family = FAMILIES[name]
        forgery = self._forgers[base].forgery()
        what = family(forgery, number)[:300]
        folder.mkdir()
        forgery.write(folder)
        return what

    def attempt(self, case: Case, folder: Path) -> Result:
        """Forges a case into a new folder and tries it. What was forged is said on standard error first, should the
        process die of it."""
        what = self.forge(case, folder)
        sys.stderr.write(ascii(what)[1:-1] + "\n")
        sys.stderr.flush()
        started = time.process_time()
        outcome = exercise(folder, FAMILIES[case[0]][0], case[1], self._seconds)
        return Result(what, **asdict(outcome), cpu=time.process_time() - started)

    def run(self, case: Case) -> Result:
        """Forges and tries a case, and leaves nothing."""
        place = Path(tempfile.mkdtemp(dir=self._bases))
        try:
            return self.attempt(case, place / "bundle")
        finally:
            shutil.rmtree(place, ignore_errors=True)
