"""What tools show by example: found by it, counted as weak demonstrations, kept in bundles, overlays and tool sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import TOOLS, make_demonstrations, tiny_bundle
from python_reader import by_python

import edgeret
from edgeret.runtime.runtime import Runtime
from edgeret.types import END, SEGMENTS, Tool
from edgeret_export.fitting.shown import undemonstrated
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import components_of, request_of
from edgeret_export.reference.scoring.examples import COUNT, Examples
from edgeret_export.reference.scoring.passages import Passages

SAID = "please tidy my desk before lunch"
SHOWN = [replace(TOOLS[0], examples=(SAID, "is it wet outside")), *TOOLS[1:]]


def share(runtime: Runtime, tool: str, query: str = SAID) -> float:
    return {c.tool: c.probability for c in runtime.task(query).candidates()}[tool]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    return by_python(tiny_bundle(tmp_path_factory.mktemp("base") / "b", demonstrations=()), threads=1)


def test_a_tool_is_found_by_its_example(base: Runtime) -> None:
    plain, shown = (edgeret.from_tools(tools, base=base) for tools in (TOOLS, SHOWN))
    assert share(shown, TOOLS[0].name) > share(plain, TOOLS[0].name) + 0.2
    assert share(shown, END) < share(plain, END)
    assert shown.task(SAID).next().tool == TOOLS[0].name


def test_without_examples_nothing_is_another(base: Runtime) -> None:
    runtime = edgeret.from_tools(TOOLS, base=base)
    assert components_of(runtime).index.examples is None
    assert request_of(runtime.task(SAID)).reading.nearest_example is None


def test_examples_are_weak_demonstrations(base: Runtime) -> None:
    request = request_of(edgeret.from_tools(SHOWN, base=base).task(SAID))
    means = request.familiarity.means
    assert means.counts.tolist() == [2 * COUNT]
    assert request.names[means.tools[0]] == TOOLS[0].name
    assert request.reading.nearest_example == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("profile", ["full", "tiny"])
def test_a_bundle_of_tools_alone_keeps_them_with_their_vectors(tmp_path: Path, profile: str) -> None:
    recipe = Recipe(precision="fp32", profile=profile)
    runtime = edgeret.load(tiny_bundle(tmp_path / "b", tools=SHOWN, demonstrations=(), recipe=recipe), threads=1)
    assert runtime.tools[TOOLS[0].name].examples == SHOWN[0].examples
    examples = components_of(runtime).index.examples
    assert examples is not None and examples.owners.tolist() == [0, 0]
    wanted = components_of(runtime).encoder.encode_query(SAID).vector
    assert examples.vectors[0] @ wanted == pytest.approx(1, abs=1e-3)


def test_where_something_is_demonstrated_examples_are_evidence_and_no_plans(tmp_path: Path) -> None:
    given = make_demonstrations(2)
    known = [*given, replace(given[0], query="IS it wet  outside")]
    assert undemonstrated(SHOWN, known)[0].examples == (SAID,)
    shown, plain = (
        edgeret.load(tiny_bundle(tmp_path / name, tools=tools, demonstrations=given), threads=1)
        for name, tools in (("shown", SHOWN), ("plain", TOOLS))
    )
    examples = components_of(shown).index.examples
    assert examples is not None and examples.owners.tolist() == [0, 0]
    assert share(shown, TOOLS[0].name) > share(plain, TOOLS[0].name)
    assert components_of(shown).familiarity.means.counts.sum() == components_of(plain).familiarity.means.counts.sum()


def test_tools_come_with_theirs_and_go_with_them(base: Runtime) -> None:
    runtime = edgeret.from_tools(TOOLS, base=base).with_tools(replace=[SHOWN[0]])
    new = Tool("tidy", "Tidies up.", {}, ("clean the room", "sweep the floor"))
    both = runtime.with_tools(add=[new])
    without = runtime.with_tools(add=[replace(new, examples=())])
    assert share(both, "tidy", "sweep the floor") > share(without, "tidy", "sweep the floor")
    examples = components_of(both).index.examples
    assert examples is not None
    assert [components_of(both).index.names[i] for i in examples.owners] == [TOOLS[0].name] * 2 + ["tidy"] * 2
    gone = components_of(both.with_tools(remove=[TOOLS[0].name])).index
    assert gone.examples is not None
    assert [gone.names[i] for i in gone.examples.owners] == ["tidy"] * 2
    assert components_of(both.with_tools(remove=[TOOLS[0].name, "tidy"])).index.examples is None


def test_an_overlay_keeps_them(tmp_path: Path) -> None:
    bundle = tiny_bundle(tmp_path / "b")
    new = Tool("tidy", "Tidies up.", {}, ("clean the room",))
    edgeret.load(bundle, threads=1, overlay=True).with_tools(add=[new], replace=[SHOWN[0]], keep=True).close()
    found = edgeret.load(bundle, threads=1, overlay=True)
    assert found.tools["tidy"].examples == new.examples
    examples = components_of(by_python(bundle, overlay=True)).index.examples
    assert examples is not None and len(examples.owners) == 3
    changed = edgeret.load(bundle, threads=1).with_tools(add=[new], replace=[SHOWN[0]])
    told = [share(runtime, "tidy", "clean the room") for runtime in (found, changed)]
    assert told[0] == pytest.approx(told[1], rel=1e-4)


def test_a_few_words_of_everybody_s_do_bounded_harm(base: Runtime) -> None:
    """Whoever lists all names as its examples is no nearer to a request than what does what is asked."""
    stuffed = " ".join(tool.name.replace("_", " ") for tool in TOOLS)
    loud = edgeret.from_tools([replace(TOOLS[0], examples=(stuffed,)), *TOOLS[1:]], base=base)
    for tool in TOOLS[1:]:
        words = tool.name.replace("_", " ")
        assert share(loud, tool.name, f"{words} now please") > share(loud, TOOLS[0].name, f"{words} now please")


def of(vectors: Sequence[Sequence[float]], owners: Sequence[int]) -> Examples:
    found = Examples.of(np.array(vectors, np.float32), np.array(owners, np.intp))
    assert found is not None
    return found


def asked(*rows: Sequence[float]) -> Passages:
    """A request whose first row is the whole, and the others its clauses."""
    whole, nothing = np.array(rows[:1], np.float32), np.zeros((SEGMENTS + 1, 2), np.float32)
    return Passages(np.concatenate((whole, nothing, np.array(rows[1:], np.float32))), 1)


def test_the_nearest_example_of_each_tool_counts() -> None:
    examples = of([[1, 0], [0, 1], [0.6, 0.8]], [2, 0, 2])
    assert examples.owners.tolist() == [0, 2, 2]
    assert examples.nearest(np.array([0.6, 0.8], np.float32)) == pytest.approx(1, abs=1e-4)
    own = np.array([0.6, 0.08, 0.0], np.float32)
    assert examples.gained(asked([0.6, 0.8], [0.6, 0.8]), own).tolist() == pytest.approx([-2, -9.2, 0], abs=1e-4)
    # A clause may be all about a tool that the whole is far from.
    own = np.array([0.6, 0.1, 0.0], np.float32)
    assert examples.gained(asked([0.6, 0.8], [0.0, 1.0]), own).tolist() == pytest.approx([0, -9, 0], abs=1e-4)
    moved = examples.at(np.array([-1, -1, 0], np.intp))
    assert moved is not None and moved.owners.tolist() == [0, 0]
    assert examples.at(np.array([-1, -1, -1], np.intp)) is None
    assert Examples.of(np.empty((0, 2), np.float32), np.empty(0, np.intp)) is None


def test_a_sentence_that_many_tools_show_is_shared_among_them() -> None:
    examples, own = of([[1, 0]] * 4 + [[0.8, 0.6]], [0, 1, 2, 3, 4]), np.zeros(5, np.float32)
    gained = examples.gained(asked([1, 0], [1, 0]), own)
    assert (gained[4] - gained[0]).item() == pytest.approx(np.log(4) - 2, abs=1e-4)
