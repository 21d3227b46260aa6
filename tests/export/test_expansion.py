"""Vectors made better by queries: filters and blends worked out by hand, laws that hold for any, whole builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import atan2, cos, degrees, radians, sin, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLE, TOOLS, WORDS, build_tiny, encode_tiny, make_demonstrations, tiny_exported
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import edgeret
from edgeret.types import Tool
from edgeret_export.cli import main
from edgeret_export.encoders import expansion as expanding
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.expansion import Queries, best_choice, blend, depth, expand_vectors, found_again, means
from edgeret_export.planner.expand import ByDemonstrations, Settings, expand
from edgeret_export.recipe import Recipe
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.runtime import components_of
from edgeret_export.sources.expansions import Expansion, Line, read_expansion

RECIPE = Recipe(precision="fp32")
TEXTS = [tool.description for tool in TOOLS]


def at(*angles: float) -> NDArray[np.float32]:
    """Unit vectors in a plane."""
    return np.array([(cos(radians(d)), sin(radians(d))) for d in angles], np.float32)


def queries(vectors: NDArray[np.float32], *owner: int) -> Queries:
    texts = tuple(map(str, range(len(owner))))
    return Queries(texts, np.array(owner, np.intp), np.zeros(len(owner), np.bool_), vectors)


def lines(queries: Sequence[Sequence[str]], made_by: Mapping[str, Any] | None = None) -> list[Line]:
    return [Line(tool.name, made_by or {}, "", tuple(each)) for tool, each in zip(TOOLS, queries, strict=True)]


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return start(tiny_exported())


def test_a_query_counts_if_it_finds_its_own_tool_among_the_first() -> None:
    plain, asked = at(0, 40, 90), queries(at(10, 10, 10, 65), 0, 1, 2, 2)
    assert found_again(plain, asked, 1).tolist() == [True, False, False, True]  # 65 is as far from 40 as from 90
    assert found_again(plain, asked, 2).tolist() == [True, True, False, True]


def test_a_query_like_an_earlier_one_of_its_tool_goes_unless_that_went_itself() -> None:
    # 15 degrees are a cosine of 0.966, 20 are 0.940.
    asked = queries(at(0, 15, 30, 30, 50), 0, 0, 0, 1, 1)
    assert expanding.near_duplicates(asked).tolist() == [False, True, False, False, False]


def test_a_tenth_of_the_tools_is_looked_at_within_bounds() -> None:
    assert [depth(n) for n in (1, 6, 30, 50, 100, 199, 10_000)] == [3, 3, 3, 5, 10, 10, 10]


def test_a_blend_lies_between_the_text_and_the_mean_of_its_copies() -> None:
    plain = at(0, 90, 45)
    mean, has_mean = means(3, np.array([0, 0, 2], np.intp), at(30, 60, 45))
    np.testing.assert_allclose(mean[[0, 2]], at(45, 45), atol=1e-6)
    assert has_mean.tolist() == [True, False, True]
    np.testing.assert_allclose(blend(plain, mean, has_mean, 0.5), at(22.5, 90, 45), atol=1e-6)
    np.testing.assert_allclose(blend(plain, mean, has_mean, 1.0), at(45, 90, 45), atol=1e-6)
    # A quarter of the way from the point (1, 0) to (0.7071, 0.7071), seen from the middle: 10.799 degrees.
    quarter = degrees(atan2(0.25 * sqrt(0.5), 0.75 + 0.25 * sqrt(0.5)))
    np.testing.assert_allclose(blend(plain, mean, has_mean, 0.25)[0], at(quarter)[0], atol=1e-6)


def test_a_round_trip_searches_with_the_other_half() -> None:
    # Tool 0 stands at 0 degrees, tool 1 at 60; all of tool 0's queries, and the copies that they make, at 40.
    kept = queries(at(40, 40), 0, 0)
    gains = expanding.round_trip(at(0, 60), kept, at(40, 40), seed=0)
    second = 1 / np.log2(3)
    # Halfway it stands at 20 degrees, as far from the query as tool 1; a tie keeps the tools' order.
    assert [row.tolist() for row in gains.values()] == [[second], [second], [1.0], [1.0], [1.0]]


def test_a_tools_only_query_cannot_find_itself() -> None:
    gains = expanding.round_trip(at(0, 60), queries(at(40), 0), at(40), seed=0)
    assert {float(row[0]) for row in gains.values()} == {1 / np.log2(3)}


def test_a_weight_is_taken_when_it_is_shown_to_help() -> None:
    plain, better = np.full(20, 0.6), np.where(np.arange(20) % 2, 0.9, 0.7)
    assert best_choice({"a": {0.0: plain, 0.25: better, 0.5: better, 1.0: plain - 0.1}}) == ("a", 0.25)
    assert best_choice({"a": {0.0: plain, 0.5: better}, "b": {0.0: plain, 0.5: better + 0.1}}) == ("b", 0.5)
    assert best_choice({"a": {0.0: plain, 0.5: better}, "b": {0.0: plain, 0.25: better}}) == ("a", 0.5)
    assert best_choice({"a": {0.0: plain, 0.5: plain - 0.1}, "b": {0.0: plain}}) == ("a", 0.0)
    assert best_choice({"a": {0.0: plain[:2]}, "b": {0.0: plain[:2], 0.5: better[:2]}}) == ("a", 0.0)  # may be chance
    assert best_choice({"a": {0.0: plain[:0], 0.5: plain[:0]}}) == ("a", 0.0)


def test_what_people_said_is_no_noise(encoder: OnnxEncoder) -> None:
    asked = lines([[], [], [], ["find a file", "send a mail", "call a phone"], [], []])
    by_model = expand_vectors(plain := encoder.encode_tools(TEXTS), TEXTS, asked, encoder, 0).report
    said = [replace(line, made_by={"demonstrations": "0"}) for line in asked]
    by_people = expand_vectors(plain, TEXTS, said, encoder, 0).report
    assert by_model["not_found_again"] > 0
    assert (by_people["not_found_again"], by_people["kept"]) == (0, 3)


sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
written = st.lists(st.lists(sentences, max_size=5), min_size=len(TOOLS), max_size=len(TOOLS))


@given(written, st.randoms(use_true_random=False), st.integers(0, 9))
def test_vectors_have_length_one_and_do_not_depend_on_the_order_of_queries(
    encoder: OnnxEncoder, lists: list[list[str]], shuffler: object, seed: int
) -> None:
    plain = encoder.encode_tools(TEXTS)
    found = expand_vectors(plain, TEXTS, lines(lists), encoder, seed)
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-5)
    shuffled = [shuffler.sample(each, len(each)) for each in lists]  # type: ignore[attr-defined]
    again = expand_vectors(plain, TEXTS, lines(shuffled), encoder, seed)
    assert again.vectors.tobytes() == found.vectors.tobytes() and again.report == found.report
    report = found.report
    assert report["queries"] == report["not_found_again"] + report["near_duplicates"] + report["kept"]
    if not report["weight"]:
        assert found.vectors.tobytes() == plain.tobytes()


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 360)), max_size=12), st.sampled_from(expanding.WEIGHTS))
def test_a_blend_has_length_one_and_leaves_tools_without_queries_alone(
    rows: Sequence[tuple[int, float]], weight: float
) -> None:
    plain = at(*range(0, 180, 30))
    mean, has_mean = means(6, np.array([owner for owner, _ in rows], np.intp), at(*(d for _, d in rows)).reshape(-1, 2))
    found = blend(plain, mean, has_mean, weight)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert found[~has_mean].tobytes() == plain[~has_mean].tobytes()
    if not weight:
        assert found.tobytes() == plain.tobytes()


def many() -> tuple[list[Tool], Expansion]:
    """Tools of two words each, and queries that say both and another."""
    tools = [Tool(f"tool_{a}_{b}", f"{a} {b}") for a, b in zip(WORDS[:12], WORDS[12:24], strict=True)]
    said = {tool.name: tuple(f"{tool.description} {word}" for word in WORDS[24:]) for tool in tools}
    return tools, Expansion({name: Line(name, {}, "", queries) for name, queries in said.items()}, "ab" * 32)


@pytest.mark.parametrize("form", ["text+query", "query"])
def test_a_bundles_index_holds_the_blended_vectors_and_nothing_else_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    tools, expansion = many()
    # Whether random word vectors gain by it is chance; that is not what is asked here.
    monkeypatch.setattr(expanding, "best_choice", lambda gains: (form, 0.5))
    plain = encode_tiny(RECIPE, (), tools)
    made = encode_tiny(RECIPE, (), tools, expansion=expansion)
    assert made.report["expansion"]["weight"] == 0.5 and made.report["expansion"]["sha256"] == "ab" * 32
    assert not np.allclose(plain.tool_vectors, made.tool_vectors)
    np.testing.assert_allclose(np.linalg.norm(made.tool_vectors, axis=1), 1, atol=1e-5)
    folders = [
        build_tiny(tmp_path / name, tools=tools, demonstrations=(), expansion=given)
        for name, given in (("plain", None), ("a", expansion), ("b", expansion))
    ]
    files = [{file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders]
    assert files[1] == files[2]
    changed = {name for name in files[0] if files[0][name] != files[1][name]}
    assert "index.msgpack" in changed and changed <= {"index.msgpack", "manifest"}
    runtime = edgeret.load(folders[1], threads=1)
    assert components_of(runtime).index.vectors.tobytes() == made.tool_vectors.tobytes()
    assert runtime.manifest.info["report"]["expansion"]["kept"] > 0
    other = replace(expansion, sha256="cd" * 32)
    again = build_tiny(tmp_path / "c", tools=tools, demonstrations=(), expansion=other)
    assert (again / "manifest").read_bytes() != files[1]["manifest"]


def test_an_expansion_from_demonstrations_goes_into_a_bundle(tmp_path: Path) -> None:
    shown = make_demonstrations()
    expand(TOOLS, ByDemonstrations(shown[::2], Settings()), tmp_path / "e.jsonl")
    expansion = read_expansion(tmp_path / "e.jsonl", TOOLS)
    runtime = edgeret.load(build_tiny(tmp_path / "b", demonstrations=shown[1::2], expansion=expansion), threads=1)
    told = runtime.manifest.info["report"]["expansion"]
    assert told["sha256"] == expansion.sha256
    assert told["queries"] == sum(len(line.queries) for line in expansion.lines.values()) > 0
    assert list(told["round_trip_ndcg5"]) == ["text+query", "query"]
    assert all(list(found) == ["0", "0.25", "0.5", "0.75", "1"] for found in told["round_trip_ndcg5"].values())
    assert runtime.task("write a note").next().tool == "write_note"


@pytest.mark.full
@pytest.mark.real
def test_a_build_tells_what_an_expansion_did_and_warns_of_what_it_learns_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = (EXAMPLE / "demonstrations.jsonl").read_text("utf-8").splitlines(keepends=True)
    for name, part in (("a", plans[:90]), ("b", plans[60:150])):
        (tmp_path / name).write_text("".join(part), "utf-8")
    common, file = ["--tools", str(EXAMPLE / "tools.jsonl")], str(tmp_path / "e.jsonl")
    assert main(["lab", "expand", *common, "--demos", str(tmp_path / "a"), "-o", file]) == 0
    written = capsys.readouterr().out
    build = ["build", *common, "--demos", str(tmp_path / "b"), "--expansion", file, "-o", str(tmp_path / "bundle")]
    assert main(build) == 0
    out, err = capsys.readouterr()
    queries = int(written.split(": ")[1].split()[0])
    assert f"expansion   {queries} of {queries} queries kept, for" in out
    assert "of its queries are demonstrations of this build" in err
