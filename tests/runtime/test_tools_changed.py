"""Tools that come and go are changed by the library, and decided as Python decides; what one refuses the other does."""

from __future__ import annotations

import gc
import json
import random
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLE
from python_reader import by_python
from test_request import same

import edgeret
from edgeret import InputError, Runtime, Tool
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.runtime.options import LoadOptions
from edgeret.runtime.tool_checks import check_change, unlike
from edgeret_export.reference.components import load_components
from edgeret_export.reference.loaded import ComponentsLoaded
from edgeret_export.reference.overlay_writer import Overlay
from edgeret_export.reference.runtime import runtime_of
from edgeret_export.reference.tool_changes import instead
from edgeret_export.reference.tool_records import replayed

Change = tuple[list[Tool], list[str], list[Tool]]
LOCK = Tool("lock_door", "lock the front door", examples=("close the house for the night",))
POST = Tool("send_mail", "post a letter", {"type": "object", "properties": {"letter": {"type": "string"}}})
TOOLS = edgeret.read_tools(EXAMPLE / "tools.jsonl")
QUERIES = [one.query for one in read_demonstrations(EXAMPLE / "requests.jsonl", [tool.name for tool in TOOLS])]


def changes(known: Sequence[Tool], held: dict[str, Tool], chance: random.Random) -> Iterator[Change]:
    """Changes one after the other, of tools that are there to such as were there or never were."""
    verbs, things = ("open", "mail", "play", "lock", "count"), ("door", "song", "letters", "Mondayfile", "größe")
    for number in range(10**9):
        remove = chance.sample(sorted(held), chance.randint(0, min(3, len(held) - 1)))
        left = [name for name in sorted(held) if name not in remove]
        words = f"{chance.choice(verbs)} the {chance.choice(things)}"
        fresh = Tool(f"{words.replace(' ', '_')}_{number}", words, {}, (f"please {words}",) if number % 3 else ())
        add = [tool for tool in known if tool.name not in held or tool.name in remove]
        add = [*chance.sample(add, chance.randint(0, min(2, len(add)))), *([fresh] if chance.random() < 0.5 else [])]
        others = [replace(held[name], description=words) for name in chance.sample(left, min(1, len(left)))]
        substitute = others if chance.random() < 0.5 else []
        for name in remove:
            del held[name]
        held.update({tool.name: tool for tool in (*add, *substitute)})
        yield add, remove, substitute


def agree(mine: Runtime, theirs: Runtime, chance: random.Random) -> None:
    assert list(mine.tools) == list(theirs.tools)
    query = chance.choice(QUERIES)
    one, other = mine.task(query), theirs.task(query)
    for _ in range(2):
        for options in ({}, {"policy": "heads", "k": None}):
            same(one.next(**options), other.next(**options))
        name = chance.choice(list(mine.tools))
        one.call(name)
        other.call(name)


@pytest.mark.parametrize(
    ("profile", "count"),
    [
        ("tiny", 25),
        pytest.param("tiny", 300, marks=pytest.mark.full),
        pytest.param("default", 100, marks=pytest.mark.full),
        pytest.param("full", 100, marks=pytest.mark.full),
    ],
)
def test_decisions_behind_random_changes_are_pythons(real: Path, profile: str, count: int) -> None:
    mine, theirs, chance = edgeret.load(real, profile=profile), by_python(real, profile=profile), random.Random(count)
    known = [*mine.tools.values()]
    for _, (add, remove, substitute) in zip(range(count), changes(known, dict(mine.tools), chance), strict=False):
        mine, theirs = (one.with_tools(add=add, remove=remove, replace=substitute) for one in (mine, theirs))
        agree(mine, theirs, random.Random(chance.random()))


def test_what_is_kept_is_there_again_by_the_library_with_the_vectors_that_were_written(
    real: Path, tmp_path: Path
) -> None:
    place = tmp_path / "mine.overlay"
    mine = edgeret.load(real, overlay=place, profile="tiny")
    mine = mine.with_tools(add=[LOCK], remove=["find_note"], keep=True).with_tools(replace=[POST], keep=True)
    mine.close()
    held = ComponentsLoaded(load_components(real, LoadOptions(profile="tiny")))
    fingerprint, content_hash = held.manifest.fingerprint, held.manifest.content_hash
    records = Overlay.open(place, fingerprint, content_hash, read_only=True).records
    again, theirs = edgeret.load(real, overlay=place, profile="tiny"), Runtime(replayed(held, records, "here"))
    for number in range(8):
        agree(again, theirs, random.Random(number))
        agree(mine, theirs, random.Random(number))
    # Whose vectors are others' is found by those: nothing was encoded again.
    forged = [dict(record.value) for record in records]
    forged[0]["vectors"] = -np.asarray(again.loaded.vectors_of(["lock_door"])[0])
    other = tmp_path / "other.overlay"
    with Overlay.open(other, fingerprint, content_hash) as overlay:
        overlay.append([("tools", value) for value in forged])
    found = edgeret.load(real, overlay=other, profile="tiny").loaded
    assert np.array_equal(found.vectors_of(["lock_door"])[0], forged[0]["vectors"])
    assert attrgetter("core")(found) is not None


def test_other_tools_altogether_leave_what_was_demonstrated_behind(real: Path) -> None:
    tools = [LOCK, POST, *(tool for tool in TOOLS[:13] if tool.name != POST.name)]
    for profile in ("tiny", "default"):
        base = edgeret.load(real, profile=profile)
        mine = edgeret.from_tools(tools, base=base)
        theirs = runtime_of(instead(load_components(real, LoadOptions(profile=profile)), tools))
        for number in range(6):
            agree(mine, theirs, random.Random(number))
        changed, wanted = (one.with_tools(remove=["lock_door"], add=TOOLS[-2:]) for one in (mine, theirs))
        agree(changed, wanted, random.Random(1))


def test_generations_of_tools_let_go_of_each_other(real: Path) -> None:
    runtime = edgeret.load(real, profile="tiny")
    alive = []
    for number in range(4):
        runtime = runtime.with_tools(add=[replace(LOCK, name=f"lock_{number}")])
        alive.append(weakref.ref(runtime.loaded.core))
    gc.collect()
    assert [one() is None for one in alive] == [True, True, True, False]


ODD = [
    *'abZ_-. 0|"\\/{}\x00\x1f\x1c\x85\xa0\u200b\u200d\u2028\u3000\ufe0f\xad\ud800\u0600\ue000\ufeffß明\t\n\x7f',
    *("\U0001f3f4", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "👩‍💻", "<end>", "play"),
]
NUMBERS = [0, -0.0, 1.5, 1e300, 5e-324, float("nan"), float("inf"), 10**20, 2**1023, 2**1025, True, None, 1e16]


def odd_tool(chance: random.Random) -> Tool:
    def text(most: int) -> str:
        return "".join(
            chance.choice(ODD[:12] if chance.random() < 0.8 else ODD) for _ in range(chance.randint(0, most))
        )

    def value(depth: int) -> Any:
        kind = chance.randint(0, 9) if depth else 9
        if kind < 2:
            return text(5)
        if kind < 4:
            return chance.choice(NUMBERS)
        if kind < 6:
            return [value(depth + 1) for _ in range(chance.randint(0, 2))]
        return {text(3): value(depth + 1) for _ in range(chance.randint(0, 2))}

    def deep() -> Any:
        found: Any = {}
        for _ in range(chance.choice([30, 31, 32])):
            found = [found] if chance.random() < 0.5 else {"k": found}
        return found

    names = (lambda: text(5), lambda: f"t{text(2)}x", lambda: "n" * chance.choice([256, 257]), lambda: "mute")
    descriptions = (lambda: text(8), lambda: "play a song", lambda: "d" * chance.choice([16384, 16385]))
    parameters = (dict, lambda: value(0), lambda: {"k": deep()}, lambda: {"b": "y" * chance.choice([65528, 65529])})
    sentences = (lambda: text(6), lambda: "write it down", lambda: "e" * chance.choice([200, 201]), lambda: "a  b")
    return Tool(
        chance.choice(names)(),
        chance.choice(descriptions)(),
        chance.choice(parameters)(),
        tuple(chance.choice(sentences)() for _ in range(chance.choice([0, 0, 0, 1, 20, 21]))),
        chance.choice([None, None, None, 0.005, 0.5, 0.51, float("nan")]),
        chance.random() < 0.3,
    )


@pytest.mark.parametrize("count", [1500, pytest.param(40_000, marks=pytest.mark.full)])
def test_odd_tools_are_refused_by_both_or_by_none(real: Path, count: int) -> None:
    runtime, chance = edgeret.load(real, profile="tiny"), random.Random(count)
    core, taken = runtime.loaded.core, 0
    assert core is not None
    for _ in range(count):
        tool = odd_tool(chance)
        raw = json.dumps(tool.to_dict(), ensure_ascii=False)
        if not tool.description.strip():
            continue  # here its name's words stand in
        try:
            added, _ = unlike(runtime.tools, [tool], (), ())
            check_change(runtime.tools, added, (), ())
        except InputError as error:
            wrong = str(error)
        else:
            wrong = ""
        try:
            core.with_tools([raw], (), ())
        except (InputError, UnicodeEncodeError) as error:
            if "without a single token" not in str(error):  # which any encoder says
                assert wrong, (tool, str(error))
        else:
            assert not wrong, (tool, wrong)
            taken += 1
    assert taken > count / 20


def test_what_no_file_could_hold_is_refused_and_what_is_not_described_is_named(real: Path) -> None:
    runtime = edgeret.load(real, profile="tiny")
    for tool, words in (
        (Tool("", "x"), '"name" is empty'),
        (Tool(3, "x"), '"name" must be a string'),  # type: ignore[arg-type]
        (Tool("t", None), '"description" must be a string'),  # type: ignore[arg-type]
        (Tool("t", "x", [1]), '"parameters" must be a JSON Schema object'),  # type: ignore[arg-type]
        (Tool("t", "x", {"a": {1, 2}}), "a set is nothing that JSON can hold"),
        (Tool("t", "x", {"a": float("nan")}), "nan is not a number of JSON"),
        (Tool("t", "x", risk=0.9), '"risk" must lie between'),
        (Tool("t", "x", confirm=1), '"confirm" must be true or false'),  # type: ignore[arg-type]
    ):
        for change in (lambda t: runtime.with_tools(add=[t]), lambda t: edgeret.from_tools([t], base=runtime)):
            with pytest.raises(InputError, match=f"add, item 1: .*{words}"):
                change(tool)
    silent = runtime.with_tools(add=[Tool("lockDoor", " ")])
    assert silent.tools["lockDoor"].description == "lock Door"
    assert silent.with_tools(add=[Tool("lockDoor", " ")]) is silent
