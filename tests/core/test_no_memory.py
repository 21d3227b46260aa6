"""Without memory there is a status, and nothing else: whichever allocation fails."""

from __future__ import annotations

import ctypes as c
import math
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from binding import AUTO, DESCRIPTION, HYBRID, Core, CoreError, Encoder, Run
from conftest import tiny_bundle
from core_learning import explained

from edgeret import Call
from edgeret_export.recipe import Recipe

NO_MEMORY = 4
PARAMETERS = '{"properties": {"file_name": {"enum": ["a", "b"]}}}'
ADDED = [
    '{"name": "lock_door", "description": "l\\u00f6cks the door of the house", "examples": ["is it so", "lock up"]}',
    f'{{"name": "find_file", "description": "find", "parameters": {PARAMETERS}}}',
]
REPLACED = ['{"name": "write_note", "description": "write a note of the door", "confirm": true}']


@pytest.fixture(scope="module")
def core(failing_core: c.CDLL) -> Core:
    return Core(failing_core)


@Run
def encode(_: object, place: Any, failure: Any) -> int:
    """An encoder of the caller's: a direction for each id."""
    window, rows = place.contents, []
    for i in window.ids[: window.count]:
        rows.append([math.sin(i * (k + 1)) for k in range(window.dimension)])
    mean = [sum(column) for column in zip(*rows, strict=True)]
    length = math.hypot(*mean)
    for to, values in (
        (window.vector, [value / length for value in mean]),
        (window.tokens, [one for row in rows for one in row]),
    ):
        c.memmove(to, (c.c_float * len(values))(*values), 4 * len(values))
    return 0


@pytest.mark.parametrize("profile", ["tiny", "default", "full"])
def test_every_allocation_may_fail(core: Core, tmp_path: Path, profile: str) -> None:
    folder = tiny_bundle(
        tmp_path / "bundle", recipe=Recipe(precision="fp32", profile=profile), few=0 if profile == "default" else 1500
    )
    probe_fail, encoder = core.library.probe_fail, Encoder(c.sizeof(Encoder), encode, None, 8)
    given = {"encoder": c.addressof(encoder)} if profile == "full" else {}

    def everything() -> tuple[object, ...]:
        model = core.load(folder, first_stage_alone=int(profile == "default"), **given)
        try:
            hits = [model.search("find a file", strategy=strategy) for strategy in (AUTO, HYBRID, DESCRIPTION)]
            with model.task("find my file, then send a mail and write a note of it") as task:
                vectors = [part.tolist() for part in task.encoding()] if model.encodes else []
                task.next()
                read = task.arguments("find_file", [Call("write_note", {"text": "$out_1"}, {"file_name": "a"})])
                task.call("find_file")
                with (
                    task.fork() as fork,
                    model.task("and play music", earlier=(["find_file"], 1)) as turn,
                    turn.fork() as other,
                ):
                    decided = fork.next(), turn.next(), other.next()
                decided_last = task.next()
                explained(task)
                found = hits, vectors, read, decided, decided_last, task.left_aside()
            with (
                closing(model.with_tools(ADDED, ["send_mail", "find_file"], REPLACED)) as other,
                other.task("lock the door, then write a note of it") as task,
            ):
                return *found, task.next()
        finally:
            model.close()

    probe_fail(-1)
    everything()
    count = probe_fail(-1)
    assert count > 5
    wanted = everything()
    for after in range(count):
        probe_fail(after)
        try:
            found = everything()
        except CoreError as error:
            assert error.status == NO_MEMORY, after
            continue
        # A word that search has no memory to look up is like no other; all else is missed.
        assert found[1:] == wanted[1:], f"allocation {after} of {count} is not missed"
    probe_fail(-1)
    everything()
    assert probe_fail(-1) == count
