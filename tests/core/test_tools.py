"""Tools that come and go: the core's other model decides as Python's does, whatever came, went or was replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding import Core, CoreError, Model, Task
from python_reader import by_python
from test_decisions import HISTORIES, KINDS, QUERIES, TOOLS, begun, build_kind

import edgeret
from edgeret import Tool
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.shown import examples_at
from edgeret_export.reference.tool_changes import instead

MAIL, NOTE = TOOLS[1], TOOLS[2]
NEW = [
    Tool(
        "share_screen", "share the screen of a meeting", {"properties": {"meeting_id": {}}, "required": ["meeting_id"]}
    ),
    Tool(
        "openCalendar",
        "open the calendar, before book_meeting",
        examples=("what does my week look like", "show me my day"),
    ),
    Tool(
        "delete_file",
        "delete a file for ever",
        {"type": "object", "properties": {"file_id": {}}},
        risk=0.02,
        confirm=True,
    ),
    Tool("umlaut_größe", "mißt die Größe 明天 der Datei"),
]
CROWD = [
    Tool(f"do_{i}_{what}", f"{what} the {i} things") for i in range(50) for what in ("open", "mail", "play", "book")
]


@dataclass(frozen=True)
class Step:
    add: Sequence[Tool] = ()
    remove: Sequence[str] = ()
    replace: Sequence[Tool] = field(default=())


NEAR = 1e-5
"""Within which readers agree of a probability (docs/FORMAT.md, 9); numpy adds in another order on other CPUs."""
GONE = ("find_file", "phone_call", "write_note")
EVERY = [tool.name for tool in TOOLS]
FEWER = [tool for tool in TOOLS if tool.name in GONE]
POST = replace(MAIL, description="play a song by post")
PAPER = replace(NOTE, examples=("write that on paper",))
CAREFUL = replace(TOOLS[6], risk=0.4, confirm=True, parameters={})
CLOSING, SONG = replace(NEW[1], description="close it"), replace(TOOLS[0], description="look for a song")
CHANGES: dict[str, Sequence[Step]] = {
    "nothing": [Step()],
    "come": [Step(add=NEW)],
    "go": [Step(remove=GONE)],
    "all that was shown goes": [Step(add=NEW[:1], remove=EVERY)],
    "replaced": [Step(replace=[POST, PAPER])],
    "all at once": [Step(NEW[1:], ["getPhone", "send_mail"], [CAREFUL])],
    "one after the other": [
        Step(NEW[:2], ["find_file"]),
        Step(NEW[2:], ["share_screen"], [CLOSING]),
        Step([SONG], ["send_mail", "umlaut_größe"]),
        Step(remove=["write_note"]),
    ],
    "a crowd": [Step(add=CROWD)],
    "there and back": [Step(NEW, GONE), Step(FEWER, [tool.name for tool in NEW])],
    "removed and added at once": [Step([NOTE, TOOLS[0]], ["write_note", "find_file"])],
    "there as they are": [Step(add=TOOLS[:3], replace=TOOLS[3:])],
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind(request.param, tmp_path_factory.mktemp("kind") / "bundle")


@pytest.fixture(scope="module")
def library(core: CDLL) -> Core:
    return Core(core)


@pytest.fixture
def both(library: Core, kind: Path) -> Iterator[tuple[edgeret.Runtime, Model]]:
    model = library.load(kind)
    yield by_python(kind), model
    model.close()


def told(tools: Sequence[Tool]) -> list[str]:
    return [json.dumps(tool.to_dict(), ensure_ascii=i % 2 == 0) for i, tool in enumerate(tools)]


def changed(python: edgeret.Runtime, model: Model, step: Step) -> tuple[edgeret.Runtime, Model]:
    """The same change here and there; where the core has no encoder, it is given Python's vectors."""
    after = python.with_tools(add=step.add, remove=step.remove, replace=step.replace)
    vectors = None
    if not model.encodes:
        index = components_of(after).index
        rows = [index.names.index(tool.name) for tool in (*step.add, *step.replace)]
        vectors = index.vectors[rows], examples_at(index, rows)
    return after, model.with_tools(told(step.add), step.remove, told(step.replace), vectors)


def agree(found: Task, wanted: edgeret.Task) -> None:
    ours, theirs = found.next(), wanted.next(k=None)
    chosen = None if theirs.tool == "<end>" else theirs.tool
    assert (ours.tool, ours.abstained, ours.confirm) == (chosen, theirs.abstained, theirs.confirm)
    assert (ours.stage, ours.named) == ({"static": 0, "full": 1}[theirs.stage], "the request names it" in theirs.reason)
    assert ours.probability == pytest.approx(theirs.probability, abs=NEAR)
    listed = dict(found.candidates(1000))
    assert listed == pytest.approx({one.tool: one.probability for one in theirs.candidates}, abs=NEAR)


def check(python: edgeret.Runtime, model: Model, queries: Sequence[str] = QUERIES) -> None:
    assert model.names == list(components_of(python).index.names)
    gone = [tool.name for tool in TOOLS if tool.name not in model.names]
    for query in queries:
        for history in HISTORIES[::2]:
            task, other = begun(model, python, query)
            with other:
                for name in history:
                    task.call(name, foreign=True)
                    other.call(name)
                agree(other, task)
        for tools in (model.names[:2], model.names[-1:], model.names):
            if tools is model.names and model.stages == 2:
                continue  # Python asks the first stage of all tools, named or not
            task, other = begun(model, python, query, tools)
            with other:
                agree(other, task)
                task.failed(tools[0], "no")
                other.failed(tools[0])
                agree(other, task)
        if model.encodes:
            hits, search = python.search(query, k=1000, strategy="hybrid"), model.search(query, 1000)
            shares = {hit.tool: hit.share for hit in hits}
            assert {name: share for name, *_, share in search} == pytest.approx(shares, abs=NEAR)
            # Tools that differ by a number in their names are as near as digits tell.
            told = [share for share in (shares[name] for name, *_ in search) if share is not None]
            assert all(later <= earlier + NEAR for earlier, later in pairwise(told))
    _, other = begun(model, python, queries[0])
    with other:
        for name in gone:
            with pytest.raises(CoreError, match="unknown tool"):
                other.failed(name)


@pytest.mark.diagonal
@pytest.mark.parametrize("name", CHANGES)
def test_decisions_are_pythons(both: tuple[edgeret.Runtime, Model], name: str) -> None:
    python, model = both
    made = [model]
    for step in CHANGES[name]:
        python, model = changed(python, model, step)
        made.append(model)
    check(python, model, QUERIES[:2] if name == "a crowd" else QUERIES[::5])
    for one in made[1:-1]:
        one.close()
    check(python, model, QUERIES[1:2])
    made[-1].close()


# ---- The contract ----


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind("few, a table", tmp_path_factory.mktemp("few") / "bundle")


DEFINITION = '{"name": "n", "description": "d"%s}'


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"add": told([replace(MAIL, description="else")])}, '"send_mail" is among the tools already; replace it'),
        ({"add": [*told(NEW[:1]) * 2]}, '"share_screen" is taken by two of these'),
        (
            {"replace": [*told([replace(MAIL, description="a")]), *told([replace(MAIL, description="b")])]},
            '"send_mail" is taken',
        ),
        ({"replace": told(NEW[:1])}, 'replace: unknown tool "share_screen"'),
        ({"remove": ["nobody\x1b"]}, r'remove: unknown tool "nobody\\x1b"'),
        (
            {"remove": ["find_file"], "replace": told([replace(TOOLS[0], risk=0.1)])},
            '"find_file" is to be removed and replaced',
        ),
        ({"remove": [tool.name for tool in TOOLS]}, "no tool would be left"),
        ({"add": "{"}, "add, item 1: not JSON"),
        ({"add": b'{"name": "\xff"}'}, "add, item 1: not JSON"),
        ({"add": "[]"}, "add, item 1: .* stands where a JSON object must"),
        ({"add": '{"name": " n", "description": "d"}'}, "no space at its ends"),
        ({"add": '{"name": "<end>", "description": "d"}'}, "reserved"),
        ({"add": '{"name": "a\\u202eb", "description": "d"}'}, "a name with an invisible character"),
        ({"add": '{"name": "n", "description": " "}'}, '"description" must be a text that is not empty'),
        ({"add": '{"name": "n", "description": "\\u200b"}'}, "a description with an invisible character"),
        ({"add": DEFINITION % ', "parameters": []'}, "no JSON Schema object"),
        ({"add": DEFINITION % (', "parameters": ' + '{"a": ' * 40 + "1" + "}" * 40)}, "nested too deep"),
        ({"add": DEFINITION % ', "risk": 0.9'}, "risk"),
        ({"add": DEFINITION % ', "confirm": 1'}, "confirm"),
        ({"add": DEFINITION % ', "examples": ["a  b"]'}, "an example that is no sentence"),
        ({"add": DEFINITION % (', "examples": [' + ", ".join(['"a"'] * 21) + "]")}, "at most 20 examples"),
        ({"add": '{"name": "%s", "description": "d"}' % ("n" * 257)}, "at most 256 characters"),
        ({"add": '{"name": "n", "description": "%s"}' % ("d" * 16385)}, "more than 16384 characters"),
        ({"add": "{" + " " * (5 << 20) + "}"}, "at most 4194304 are allowed"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_by_name(
    library: Core, few: Path, change: dict[str, Any], said: str
) -> None:
    model = library.load(few)
    lists: dict[str, Any] = {
        kind: [given] if isinstance(given, str | bytes) else given for kind, given in change.items()
    }
    with pytest.raises(CoreError, match=said) as told_so:
        model.with_tools(**lists)
    assert told_so.value.status == 1
    assert "build the bundle" not in told_so.value.text
    model.close()


def test_vectors_of_an_own_encoder_are_checked(library: Core, few: Path) -> None:
    model = library.load(few)
    row, shown = np.zeros((1, model.dimension), np.float32), np.zeros((2, model.dimension), np.float32)
    with pytest.raises(CoreError, match='"openCalendar" are not of length 1'):
        model.with_tools(told(NEW[1:2]), vectors=(row, shown))
    row[:, 0] = 1
    with pytest.raises(CoreError, match="none of the examples"):
        model.with_tools(told(NEW[1:2]), vectors=(row,))  # type: ignore[arg-type]
    shown[:, 0] = 1
    model.with_tools(told(NEW[1:2]), vectors=(row, shown)).close()
    model.close()


def test_vectors_are_told_and_taken_again_without_encoding(library: Core, few: Path) -> None:
    first = library.load(few)
    second = first.with_tools(told(NEW[:3]), ["find_file"], told([PAPER]))
    fresh = [second.names.index(tool.name) for tool in (*NEW[:3], PAPER)]
    rows = [second.vectors(tool, second.vectors(tool, 0)[1])[0] for tool in fresh]
    assert [len(each) for each in rows] == [1, 3, 1, 2]
    assert np.allclose(rows[1][1], first.encode(NEW[1].examples[0]), atol=1e-6)
    fewer, count = second.vectors(fresh[1], 2)
    assert count == 3
    assert np.array_equal(fewer, rows[1][:2])
    vectors = np.concatenate([each[:1] for each in rows]), np.concatenate([each[1:] for each in rows])
    third = first.with_tools(told(NEW[:3]), ["find_file"], told([PAPER]), vectors)
    for query in QUERIES:
        with second.task(query) as one, third.task(query) as other:
            assert one.next() == other.next()
            assert one.candidates(99) == other.candidates(99)
    with pytest.raises(CoreError, match=f"no tool has the number {second.tools}"):
        second.vectors(second.tools, 1)
    for model in (first, second, third):
        model.close()


def test_tools_alone_leave_demonstrations_and_the_first_stage_behind(
    both: tuple[edgeret.Runtime, Model],
) -> None:
    python, model = both
    if not model.encodes:
        return
    other = model.with_tools(told([*NEW, TOOLS[0]]), model.names, alone=True)
    same = model.with_tools(alone=True)
    assert (other.labels, other.stages, same.labels) == (0, 1, 0)
    check(runtime_of(instead(components_of(python), [*NEW, TOOLS[0]])), other)
    whole = model.with_tools(told(TOOLS), model.names, alone=True)
    check(runtime_of(instead(components_of(python), TOOLS)), whole)
    again = other.with_tools(alone=True)
    assert again.handle.value == other.handle.value
    for each in (again, same, whole, other):
        each.close()


def test_an_encoder_that_does_not_run_here_is_told(library: Core, tmp_path: Path) -> None:
    model = library.load(build_kind("alone", tmp_path / "bundle"))
    with pytest.raises(CoreError, match="encoder does not run here") as told_so:
        model.with_tools(told(NEW[:1]))
    assert told_so.value.status == 5
    model.with_tools(remove=["send_mail"]).close()
    model.close()


def test_models_are_freed_in_any_order(library: Core, few: Path) -> None:
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2), (2, 3, 0, 1)):
        first = library.load(few)
        second = first.with_tools(told(NEW), GONE)
        models = [first, second, second.with_tools(told(TOOLS[:1]), [NEW[0].name]), second.with_tools()]
        assert models[3].handle.value == second.handle.value
        for place in order:
            with models[place].task("open my calendar, please") as task:
                assert task.next().best in (*models[place].names, "<end>")
            said = [library.library.er_tool_definition(models[place].handle, i) for i in range(models[place].tools)]
            assert [json.loads(str(text))["name"] for text in said] == models[place].names
            models[place].close()


def test_running_tasks_keep_their_tools(library: Core, few: Path) -> None:
    first = library.load(few)
    task = first.task("open the calendar")
    second = first.with_tools(told(NEW), ["get_day"])
    second.close()
    assert "openCalendar" not in dict(task.candidates(99) if task.next() else ())
    task.end()
    first.close()


def test_threads_may_change_one_model_at_once(library: Core, few: Path) -> None:
    first = library.load(few)

    def change(i: int) -> list[tuple[str, float]]:
        made = first.with_tools(told(NEW[i % 3 : i % 3 + 1]), GONE[: i % 3])
        again = made.with_tools(told(NEW[3:]))
        made.close()
        with again.task(QUERIES[0]) as task:
            task.next()
            found = task.candidates(99)
        again.close()
        return found

    alone = [change(i) for i in range(3)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(change, range(60))) == [alone[i % 3] for i in range(60)]
    first.close()
