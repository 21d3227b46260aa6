"""Kills processes that learn and change tools, and says what was lost. A command: `kill_learning.py --help`.

A child lets one runtime after another learn, forget and keep changes of tools, and acknowledges each operation on a
pipe. After it was killed at a random moment, a runtime that is loaded anew must have the tools and the knowledge that
one that was never killed has after the last acknowledged operation, or after the one behind it.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from conftest import WORDS, build_tiny
from learned_states import plan, state

import edgeret
from edgeret.bundle.overlay_file import overlay_path
from edgeret.runtime import learned as learned_module
from edgeret.runtime.options import Profile
from edgeret.types import Tool
from edgeret_export.recipe import Recipe
from edgeret_export.reference import learning

UNFOLDED = 5
"""Plans after which the overlay is written anew: so few that a kill often falls into it."""
LONGEST_S = 0.5
"""After which a child is killed, at most; it makes some hundred operations."""


def main() -> None:
    """Kills children and prints one JSON object; exits 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=30, help="children to kill")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_at_random(Path(folder), arguments.moments, arguments.seed)
    sys.stdout.write(f"{json.dumps(found, indent=1)}\n")
    sys.exit(bool(found["lost"]))


def operate(runtime: edgeret.Runtime, number: int) -> edgeret.Runtime:
    """The operation of this number: the same for the same number and state. Gives the runtime to go on with."""
    extra = [name for name in runtime.tools if name.startswith("extra_")]
    match number % 7:
        case 2:
            return runtime.with_tools(add=[Tool(f"extra_{number}", _words(number, 3))], keep=True)
        case 4 if len(extra) > 3:
            return runtime.with_tools(remove=extra[:1], replace=[Tool(extra[1], _words(number, 4))], keep=True)
        case 6:
            runtime.forget(id=runtime.learned.plans[number % runtime.learned.count].id)
        case _:
            names = [*runtime.tools]
            calls = [names[(number + i) % len(names)] for i in range(number % 3)]
            runtime.learn([plan(_words(number, 3), *calls)], keep_words=number % 2 == 0)
    return runtime


def _words(number: int, count: int) -> str:
    dice = random.Random(number)
    return " ".join(dice.choice(WORDS) for _ in range(count))


def write(bundle: Path) -> None:
    """Goes on until it is killed; a byte to stdout acknowledges an operation, and one that the bundle is loaded."""
    learned_module.UNFOLDED = learning.UNFOLDED = UNFOLDED
    runtime, number = edgeret.load(bundle, overlay=True, threads=1), 0
    while True:
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()
        runtime, number = operate(runtime, number), number + 1


def seen(runtime: edgeret.Runtime) -> Any:
    """All that must survive, but for the time of day."""
    learned = state(runtime)
    plans = [(told.id, told.query, told.calls, told.origin) for told in learned.pop("plans")]
    return learned, plans, dict(runtime.tools)


def kill_at_random(folder: Path, kills: int, seed: int, profile: Profile = "full") -> dict[str, Any]:
    """Kills that many children a random time after they began, and compares with a runtime that goes the same way."""
    dice, lost, operations = random.Random(seed), [], []
    recipe = Recipe(precision="fp32", profile=profile)
    bundle, witness = (build_tiny(folder / name, recipe=recipe) for name in ("bundle", "witness"))
    for _ in range(kills):
        overlay_path(bundle).unlink(missing_ok=True)
        command = [sys.executable, __file__, "--write", str(bundle)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            begun = child.stdout.read(1)
            time.sleep(dice.uniform(0.0, LONGEST_S))
            child.kill()
            acknowledged = len(begun + child.stdout.read()) - 1
        operations.append(acknowledged)
        if wrong := judge(bundle, witness, acknowledged):
            lost.append(wrong)
    return {"killed": kills, "operations": operations, "lost": lost}


def judge(bundle: Path, witness: Path, acknowledged: int) -> str | None:
    """What is wrong after so many acknowledged operations, or None."""
    before = learned_module.UNFOLDED
    learned_module.UNFOLDED = learning.UNFOLDED = UNFOLDED
    overlay_path(witness).unlink(missing_ok=True)
    right = edgeret.load(witness, overlay=True, threads=1)
    try:
        for number in range(acknowledged):
            right = operate(right, number)
        allowed = [seen(right)]
        allowed.append(seen(operate(right, acknowledged)))
        after = edgeret.load(bundle, overlay=True, threads=1)
        if seen(after) not in allowed:
            return f"after {acknowledged} operations: another state than before or after the next one"
        after.learn([plan("write a note", "write_note")])  # and it can be written to again
        after.close()
    except edgeret.EdgeretError as error:
        return f"after {acknowledged} operations: {type(error).__name__}: {error}"
    finally:
        right.close()
        learned_module.UNFOLDED = learning.UNFOLDED = before
    left = [file.name for file in bundle.parent.iterdir() if "partial" in file.name]
    return f"after {acknowledged} operations: left behind {left}" if left else None


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]))
    else:
        main()
