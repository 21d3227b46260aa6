"""Next-tool methods that look at words and tools alone, and the tables beside them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conftest import TOOLS, make_demonstrations
from hypothesis import given
from hypothesis import strategies as st
from planner_samples import planned

import edgeret
from edgeret.errors import InputError, PlannerError
from edgeret.inputs.demonstrations import Step
from edgeret.planner.chat import Prompt
from edgeret.runtime.runtime import Runtime
from edgeret.types import END, Usage
from edgeret_bench import OTHER_METHODS
from edgeret_bench.accuracy import next_tool
from edgeret_bench.accuracy.bm25 import Bm25
from edgeret_bench.accuracy.next_tool import by_length, reliability
from edgeret_bench.accuracy.scorers import IDEAL_GRAMMAR, Methods, convolve
from edgeret_bench.metrics import rank

QUERY = "find the letter then mail it to me"
FIRST = Step((), frozenset({"find_file"}), "find_file")
LATER = Step(("find_file",), frozenset({"send_mail"}), "send_mail")


class Writer:
    """A planner that describes the tools it wishes for."""

    def __init__(self, text: str, problem: str = "") -> None:
        self.text, self.problem = text, problem
        self.asked: list[tuple[Prompt, str]] = []

    def write(self, prompt: Prompt, gbnf: str) -> tuple[str, bool, Usage]:
        if self.problem:
            raise PlannerError(self.problem)
        self.asked.append((prompt, gbnf))
        return self.text, True, Usage(1, 1, 1, 1, 1.0)


@pytest.fixture
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def with_planner(runtime: Runtime, planner: Writer) -> Runtime:
    return planned(runtime.path, planner)


def ranked(runtime: Runtime, method: str, query: str = QUERY, step: Step = FIRST) -> list[str]:
    """Names by falling score."""
    methods = Methods(runtime, 0)
    task = methods.measured(query, [method])
    scores = methods.get(method)(task, step)
    assert scores.shape == (len(task.names),)
    return [task.names[i] for i in rank(scores)]


def cosines(runtime: Runtime, text: str, vectors: np.ndarray | None = None) -> list[str]:
    """Tools by falling cosine to the text."""
    names = list(runtime.tools)
    vectors = runtime.loaded.vectors_of(names)[0] if vectors is None else vectors
    return [names[i] for i in rank(vectors @ runtime.loaded.core.encode(text))]


@pytest.mark.parametrize("method", ["similarity", "bm25", "tool-graph"])
def test_every_method_ranks_every_candidate_and_end_last(runtime: Runtime, method: str) -> None:
    names = ranked(runtime, method)
    assert sorted(names) == sorted([*(tool.name for tool in TOOLS), END])
    assert names[-1] == END


@pytest.mark.parametrize("method", ["similarity", "bm25", "tool-graph"])
def test_the_history_changes_nothing(runtime: Runtime, method: str) -> None:
    assert ranked(runtime, method, step=FIRST) == ranked(runtime, method, step=LATER)


@pytest.mark.parametrize("query", [QUERY, "call my phone", "music"])
def test_similarity_is_the_runtimes_own_search(runtime: Runtime, query: str) -> None:
    assert ranked(runtime, "similarity", query)[:-1] == [
        hit.tool for hit in runtime.search(query, len(TOOLS), strategy="description")
    ]


def test_bm25_finds_tools_by_their_words_even_without_demonstrations(runtime: Runtime) -> None:
    assert ranked(runtime, "bm25", "please play that music")[0] == "play_music"
    assert ranked(runtime, "bm25", "phone")[0] == "phone_call"
    assert ranked(runtime, "bm25", "xyzzy")[-1] == END


def test_bm25_reads_each_query_once(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = Methods(runtime, 0)
    score = methods.get("bm25")
    task, other = (methods.measured(words, ["bm25"]) for words in ("play music", "phone"))
    asked: list[str] = []
    score(task, FIRST)
    scores = Bm25.scores
    monkeypatch.setattr(Bm25, "scores", lambda self, query: (asked.append(query), scores(self, query))[1])
    first = score(task, LATER)
    assert asked == []
    assert not np.array_equal(score(other, FIRST), first)
    assert asked == ["phone"]
    assert np.array_equal(score(task, FIRST), first)


def test_tool_graph_convolves_with_what_followed_what(runtime: Runtime) -> None:
    names = list(runtime.tools)
    follows = np.zeros((len(names), len(names)), bool)
    for demonstration in make_demonstrations(1):
        called = [call.tool for call in demonstration.calls]
        for a, b in pairwise(called):
            follows[names.index(a), names.index(b)] = True
    assert follows.sum() == 3
    mixed = convolve(runtime.loaded.vectors_of(names)[0], follows)
    for query in (QUERY, "book a meeting", "call my phone"):
        assert ranked(runtime, "tool-graph", query)[:-1] == cosines(runtime, query, mixed)
        methods = Methods(runtime, 0)
        task = methods.measured(query, ["tool-graph"])
        scores = methods.get("tool-graph")(task, FIRST)
        expected = dict(zip(names, (mixed @ runtime.loaded.core.encode(query)).tolist(), strict=True))
        found = dict(zip(task.names, scores.tolist(), strict=True))
        found.pop(END)
        assert found == pytest.approx(expected, abs=1e-6)


def test_convolution_worked_by_hand() -> None:
    vectors = np.eye(2, dtype=np.float32)
    # A + I is [[1, 1], [0, 1]]: row sums 2 and 1, column sums 1 and 2; so row 0 is (1 / √2, 1 / 2), made a unit.
    mixed = convolve(vectors, np.array([[False, True], [False, False]]))
    assert mixed[0] == pytest.approx(np.array([2**-0.5, 0.5]) / 0.75**0.5)
    assert mixed[1] == pytest.approx([0, 1])


@given(st.integers(1, 8), st.integers(0, 10**6))
def test_convolution_gives_unit_vectors_and_none_without_links_changes(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    before = vectors.copy()
    assert convolve(vectors, np.zeros((n, n), bool)) == pytest.approx(vectors, abs=1e-6)
    follows = rng.random((n, n)) < 0.3
    np.fill_diagonal(follows, False)
    mixed = convolve(vectors, follows)
    assert mixed.dtype == np.float32
    assert np.linalg.norm(mixed, axis=1) == pytest.approx(np.ones(n), abs=1e-5)
    assert np.array_equal(vectors, before)
    lonely = ~follows.any(axis=1)
    assert mixed[lonely] == pytest.approx(vectors[lonely], abs=1e-6)


def test_less_is_more_searches_for_what_the_planner_wishes_for(runtime: Runtime) -> None:
    planner = Writer("play music\n\nbook a meeting\n")
    runtime = with_planner(runtime, planner)
    names = ranked(runtime, "less-is-more", "find my file")
    assert set(names[:2]) == {"play_music", "book_meeting"}
    assert names[-1] == END
    (prompt, grammar), *more = planner.asked
    assert more == []
    assert grammar == IDEAL_GRAMMAR
    assert "find my file" in prompt.variable.text
    assert not any(tool.name in turn.text for tool in TOOLS for turn in (*prompt.constant, prompt.variable))


def test_a_tool_counts_by_the_wish_that_it_fits_best(runtime: Runtime) -> None:
    wishes = ["play my song", "write a note of it"]
    runtime = with_planner(runtime, Writer("\n".join(wishes)))
    methods = Methods(runtime, 0)
    task = methods.measured(QUERY, ["less-is-more"])
    scores = methods.get("less-is-more")(task, FIRST)
    vectors = np.stack([runtime.loaded.core.encode(wish) for wish in wishes])
    names = list(runtime.tools)
    for name, vector in zip(names, runtime.loaded.vectors_of(names)[0], strict=True):
        found = scores[task.names.index(name)]
        assert found == pytest.approx(max(vectors @ vector), abs=1e-6)


def test_the_planner_is_asked_once_a_query(runtime: Runtime) -> None:
    planner = Writer("send a mail\n")
    runtime = with_planner(runtime, planner)
    demonstrations = make_demonstrations(1)
    found = next_tool.run(runtime, demonstrations, ["less-is-more", "similarity"])
    assert len(planner.asked) == len(demonstrations)
    assert found["n_steps"] > len(demonstrations)
    assert set(found["samples"]["series"]) == {
        f"{m} {k}" for m in ("less-is-more", "similarity") for k in ("top1", "mrr")
    }


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_without_a_wish_the_query_itself_is_searched_for(runtime: Runtime, text: str) -> None:
    runtime = with_planner(runtime, Writer(text))
    assert ranked(runtime, "less-is-more") == ranked(runtime, "similarity")


def test_less_is_more_without_a_planner_is_refused_before_anything_runs(runtime: Runtime) -> None:
    with pytest.raises(InputError, match="this bundle has no planner"):
        Methods(runtime, 0).get("less-is-more")
    runtime = with_planner(runtime, Writer("", problem="the model is broken"))
    with pytest.raises(PlannerError, match="the model is broken"):
        next_tool.run(runtime, make_demonstrations(1), ["less-is-more"])


def test_all_other_methods_are_reported_side_by_side(runtime: Runtime) -> None:
    runtime = with_planner(runtime, Writer("find a file\n"))
    found = next_tool.run(runtime, make_demonstrations(1), ["fused", *OTHER_METHODS])
    assert list(found["methods"]) == list(found["ms_per_step"]) == ["fused", *OTHER_METHODS]
    assert found["by_plan_length"]["bm25"].keys() == {"0", "1", "2"}
    # None of them knows when to stop: `<end>` comes last, at 7 of the 17 steps.
    assert found["by_plan_length"]["bm25"]["0"]["top1"] == 0
    assert found["samples"]["groups"] == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6]


def rows(top1: Sequence[float]) -> list[dict[str, float]]:
    return [{"top1": value} for value in top1]


def test_top1_by_length_worked_by_hand() -> None:
    found = by_length(rows([1, 0, 1, 1, 0, 0]), [1, 1, 6, 7, 30, 0])
    assert found == {"0": {"n": 1, "top1": 0}, "1": {"n": 2, "top1": 0.5}, "6+": {"n": 3, "top1": pytest.approx(2 / 3)}}
    assert list(found) == ["0", "1", "6+"]
    assert by_length([], []) == {}


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 12)), min_size=1, max_size=60))
def test_lengths_split_the_steps_without_losing_any(steps: list[tuple[float, int]]) -> None:
    found = by_length(rows([right for right, _ in steps]), [length for _, length in steps])
    assert sum(group["n"] for group in found.values()) == len(steps)
    assert sum(group["n"] * group["top1"] for group in found.values()) == pytest.approx(sum(r for r, _ in steps))


def test_reliability_worked_by_hand() -> None:
    confidence = np.array([0.9, 0.1, 0.5, 0.7])
    found = reliability(confidence, np.array([True, False, True, False]))
    assert found == [
        {"n": 1, "confidence": 0.1, "right": 0.0},
        {"n": 1, "confidence": 0.5, "right": 1.0},
        {"n": 1, "confidence": 0.7, "right": 0.0},
        {"n": 1, "confidence": 0.9, "right": 1.0},
    ]


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=99))
def test_reliability_is_ten_even_parts_from_unsure_to_sure(decisions: list[tuple[float, bool]]) -> None:
    confidence, right = np.array([c for c, _ in decisions]), np.array([r for _, r in decisions])
    found = reliability(confidence, right)
    sizes = [point["n"] for point in found]
    assert len(found) == min(10, len(decisions))
    assert sum(sizes) == len(decisions)
    assert max(sizes) - min(sizes) <= 1
    means = [point["confidence"] for point in found]
    assert all(a <= b + 1e-12 for a, b in pairwise(means))
    assert sum(point["n"] * point["right"] for point in found) == pytest.approx(right.sum())
