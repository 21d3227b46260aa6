"""Very many tools: the core follows the graph as Python does, and refuses one that leads astray."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from ctypes import CDLL
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from binding import Core, CoreError, Model, Task
from conftest import WORDS, build_tiny, make_demonstrations
from numpy.typing import NDArray
from python_reader import by_python
from rewritten import changed
from test_decisions import check

import edgeret
from edgeret import Tool
from edgeret.bundle.codec import get_array, unpack
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import request_of
from edgeret_export.reference.scoring import hnsw_file, index

COUNT = 4100
SOME = [
    Tool("find_file", "find a file"), Tool("send_mail", "send a mail"), Tool("write_note", "write a note"),
    Tool("play_music", "play music"), Tool("book_meeting", "book a meeting"), Tool("phone_call", "call a phone"),
]  # fmt: skip
TYPES = {"links": "<i4", "starts": "<i4", "levels": "|i1"}
EXAMPLES = ("jot this down", "keep that in my notes")
QUERIES = (
    "find my file and send a mail", "book the meeting then send a mail", "play", "open calendar day", "send_mail",
    "zebra", "open the letter_3 now, then close it; and share the song", "is the note open?", "close letter zip",
)  # fmt: skip
HISTORIES = ((), ("find_file",), ("book_letter_zip",), ("their_tool", "send_mail"))


def tools() -> list[Tool]:
    """Those that are demonstrated, and words in threes."""
    words = [word for word in dict.fromkeys(WORDS) if len(word) > 3]
    named = (f"{a}_{b}_{c}" for b, c, a in product(words, repeat=3) if len({a, b, c}) == 3)
    made = [
        Tool(name, f"{name.split('_')[2]} it", examples=EXAMPLES[: i % 2] if i % 50 < 2 else ())
        for i, name in enumerate(islice(named, COUNT - len(SOME)))
    ]
    return [*SOME, *made]


def linked(vectors: NDArray[np.float32], seed: int, fingerprint: str = "") -> bytes:
    """Some graph, as hnswlib's would be: to the nearest, and to some others so that all can be reached."""
    draw, n = np.random.default_rng(seed), len(vectors)
    levels = np.minimum(draw.geometric(15 / 16, n) - 1, 3)
    lists: list[Sequence[int]] = []
    for level in range(int(levels.max()) + 1):
        here = np.flatnonzero(levels >= level)
        near = np.argsort(-(vectors[here] @ vectors[here].T), axis=1, kind="stable")[:, 1 : 11 - level]
        far = draw.integers(len(here), size=(len(here), 5))
        lists += here[np.concatenate((near, far), axis=1)].tolist()
    starts = np.cumsum([0, *map(len, lists)])
    links = hnsw_file.Links(levels, int(levels.argmax()), starts, np.concatenate(lists))
    return hnsw_file.pack_links(links, fingerprint)


@pytest.fixture(scope="module", params=["alone", pytest.param("few", marks=pytest.mark.full)])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shown = make_demonstrations() if request.param == "few" else ()
    target = tmp_path_factory.mktemp("hnsw") / "bundle"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "hnswlib_available", lambda: True)
        patch.setattr(index, "build_hnsw", linked)
        return build_tiny(target, tools=tools(), demonstrations=shown, recipe=Recipe(precision="fp32", profile="tiny"))


@pytest.fixture(scope="module")
def python(folder: Path) -> edgeret.Runtime:
    return by_python(folder, threads=1)


@pytest.fixture(scope="module")
def model(core: CDLL, folder: Path) -> Model:
    return Core(core).load(folder)


def test_decisions_are_those_among_what_the_graph_finds(model: Model, python: edgeret.Runtime) -> None:
    for query in QUERIES:
        for history in HISTORIES:
            task = python.task(query)
            assert len(request_of(task).names) < 200
            with model.task(query) as other:
                for name in history:
                    task.call(name, foreign=True)
                    other.call(name)
                alike(other, task)


def alike(other: Task, task: edgeret.Task) -> None:
    """The same candidates, however many."""
    found, wanted = other.next(), task.next(k=None)
    assert len(other.candidates(COUNT)) == len(wanted.candidates)
    other.candidates = lambda k: Task.candidates(other, COUNT)  # type: ignore[method-assign]
    check(found, wanted, task, other)


def test_subsets_failures_and_turns(model: Model, python: edgeret.Runtime) -> None:
    names, far = model.names, model.names[-7]
    for query in QUERIES[:5]:
        some = (far, "send_mail", *names[100:120])
        with model.task(query, some) as other:
            alike(other, python.task(query, tools=some))
        task = python.task(query)
        with model.task(query) as other:
            for name in ("send_mail", far):
                task.failed(name, "no")
                other.failed(name)
            alike(other, task)
        conversation = python.conversation()
        conversation.say(query).call(far)
        with model.task("and mail it", earlier=([far], 1)) as other, other.fork() as fork:
            task = conversation.say("and mail it")
            assert far in request_of(task).names
            alike(other, task)
            alike(fork, task)


def test_search_is_pythons(model: Model, python: edgeret.Runtime) -> None:
    for query in QUERIES:
        found, wanted = model.search(query, COUNT), python.search(query, k=COUNT, strategy="hybrid")
        share = {name: share for name, _, share in found}
        assert share == pytest.approx({hit.tool: hit.share for hit in wanted}, abs=2e-6)
        assert len(found) < 1_000 and found[0][2] == pytest.approx(wanted[0].share, abs=2e-6)


def test_what_changed_is_compared_with_all(model: Model) -> None:
    changed = model.with_tools(['{"name": "burn_file", "description": "burn a file"}'])
    with changed.task("burn it") as task:
        task.next()
        assert len(task.candidates(2 * COUNT)) == COUNT + 2
    changed.close()


@pytest.mark.parametrize(
    ("key", "number", "said"),
    [
        ("links", COUNT, "leads to none of its elements"),
        ("links", -1, "leads to none of its elements"),
        ("levels", 16, "levels beyond"),
        ("levels", 15, "no entry point"),
        ("starts", 7, "starts do not go"),
    ],
)
def test_links_that_lead_astray_are_refused(
    core: CDLL, folder: Path, tmp_path: Path, key: str, number: int, said: str
) -> None:
    forged = Path(shutil.copytree(folder, tmp_path / "bundle"))
    array = get_array(unpack((forged / "hnsw.msgpack").read_bytes(), ""), key, TYPES[key], (None,), "").copy()
    array[0] = number
    changed(forged, "hnsw.msgpack", **{key: array})
    with pytest.raises(CoreError, match=said):
        Core(core).load(forged)
