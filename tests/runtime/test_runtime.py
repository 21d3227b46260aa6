"""Runtime and Task: one encoding a task, tools without demonstrations, abstention, isolation between threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import TOOLS, make_demonstrations, tiny_bundle

import edgeret
from edgeret.encoders.onnx import OnnxGraphs
from edgeret.errors import InputError, ProviderError
from edgeret.runtime.runtime import Runtime
from edgeret.types import END, Tool
from edgeret_export.reference.runtime import components_of, request_of
from edgeret_export.reference.scoring.graph import UNKNOWN


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def test_plans_follow_the_demonstrations(runtime: Runtime) -> None:
    assert runtime.plan("find my file and send a mail").tools == ("find_file", "send_mail")
    assert runtime.plan("write a note").tools == ("write_note",)
    assert runtime.plan("find my file and send a mail").outcome == "complete"


def test_a_task_encodes_once(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, used = [], OnnxGraphs.run
    monkeypatch.setattr(OnnxGraphs, "run", lambda self, *a: (runs.append(1), used(self, *a))[1])
    task = runtime.task("book the meeting then send a mail")
    for _ in range(4):
        decision = task.next()
        if decision.tool in (None, END):
            break
        task.call(decision.tool)
    assert len(task.calls) == 2
    assert len(runs) == 1


def test_the_decision_tells_its_stages(runtime: Runtime) -> None:
    task = runtime.task("write a note")
    first, again = task.next(), task.next()
    assert set(first.timings_ms) == {"tokenize", "encode", "search", "graph", "head", "fuse", "decide", "total"}
    assert set(again.timings_ms) == {"graph", "head", "fuse", "decide", "total"}
    assert first.source == "heads"
    assert first.candidates[0].tool == first.tool == "write_note"
    assert first.probability == first.candidates[0].probability


def test_probabilities_cover_every_tool_once_and_sum_to_one(runtime: Runtime) -> None:
    task = runtime.task("play my song")
    assert sorted(request_of(task).names) == sorted([t.name for t in TOOLS] + [END])
    assert task.probabilities().sum() == pytest.approx(1, abs=1e-5)
    candidates = task.candidates()
    assert [c.probability for c in candidates] == sorted((c.probability for c in candidates), reverse=True)
    assert task.candidates(2) == candidates[:2]


def test_a_tool_without_demonstration_is_found_among_few_by_its_words(runtime: Runtime) -> None:
    assert "phone_call" not in components_of(runtime).head.labels
    decision = runtime.task("call a phone").next()
    assert (decision.tool, decision.source) == ("phone_call", "heads")
    assert decision.reason.endswith("; the request names it")


def test_a_tool_without_demonstration_is_found_among_many_by_its_words(tiny_many: Path) -> None:
    decision = edgeret.load(tiny_many, threads=1).task("call a phone").next()
    assert (decision.tool, decision.source) == ("phone_call", "heads")


def test_what_nothing_fits_is_refused(runtime: Runtime) -> None:
    decision = runtime.task("open calendar day").next()
    assert decision.abstained
    assert decision.tool is None
    assert runtime.plan("open calendar day").outcome == "abstained"
    forced = runtime.task("open calendar day").next(policy="heads")
    assert forced.tool == END


@pytest.mark.parametrize(
    ("by_words", "shown", "doubted"), [(-9.0, 0.7, True), (-9.0, 0.9, False), (9.0, 0.7, False), (-1.0, 0.7, False)]
)
def test_that_nothing_fits_takes_evidence_from_the_tools_too(
    runtime: Runtime, by_words: float, shown: float, doubted: bool
) -> None:
    request = request_of(runtime.task("open calendar day"))
    vars(request)["nothing_by_words"] = by_words
    without = request.nothing(0.0)
    odds = without / (1 - without)
    if not doubted:
        odds += shown / (1 - shown)
    assert request.nothing(shown) == pytest.approx(odds / (1 + odds), abs=1e-3)


def test_a_tool_that_is_said_needs_more_than_demonstrations_against_it(runtime: Runtime) -> None:
    request = request_of(runtime.task("phone call"))
    assert request.named == ("phone_call",)
    assert request.nothing(0.99) < 0.5


def test_the_caller_sets_the_floor(runtime: Runtime) -> None:
    task = runtime.task("write a note")
    assert task.next(min_probability=0.0).tool == "write_note"
    refused = task.next(min_probability=1.0)
    assert refused.abstained
    assert "below 1.000" in refused.reason


def test_plans_are_bounded(runtime: Runtime) -> None:
    plan = runtime.plan("find my file and send a mail", max_steps=1)
    assert (plan.outcome, plan.tools) == ("bound", ("find_file",))


@pytest.mark.parametrize("query", ["", "  ", "x" * 100_000])
def test_queries_out_of_bounds_are_refused(runtime: Runtime, query: str) -> None:
    with pytest.raises(InputError, match=r"empty|100000 characters"):
        runtime.task(query)
    with pytest.raises(InputError, match=r"empty|100000 characters"):
        runtime.search(query)


def test_unknown_tools_and_policies_are_refused(runtime: Runtime) -> None:
    task = runtime.task("write a note")
    with pytest.raises(InputError, match='unknown tool "nobody"'):
        task.call("nobody")
    with pytest.raises(InputError, match="no planner"):
        task.next(policy="planner")
    with pytest.raises(InputError, match="unknown policy"):
        task.next(policy="magic")  # type: ignore[arg-type]


def test_words_never_seen_and_one_letter_still_decide(runtime: Runtime) -> None:
    for query in ("qwertz", "x", "🎉", "a" * 19_999):
        assert runtime.task(query).probabilities().sum() == pytest.approx(1, abs=1e-5)


def test_threads_do_not_disturb_each_other(runtime: Runtime) -> None:
    queries = [d.query for d in make_demonstrations(4)]
    alone = [runtime.plan(q).tools for q in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda q: runtime.plan(q).tools, queries)) == alone


def test_search_finds_by_description(runtime: Runtime) -> None:
    hits = runtime.search("play music", 3)
    assert hits[0].tool == "play_music"
    assert len(hits) == 3
    assert {h.tool for h in runtime.search("play music now and send a mail", 2, strategy="clauses")} == {
        "play_music",
        "send_mail",
    }
    with pytest.raises(InputError, match="at least 1"):
        runtime.search("play", 0)


def test_an_hnsw_index_serves_the_same_decisions(tmp_path: Path, runtime: Runtime) -> None:
    pytest.importorskip("hnswlib")
    from edgeret_export.recipe import Recipe

    extra = [Tool(f"free_{i}", f"share day {i} letter") for i in range(80)]
    folder = tiny_bundle(tmp_path / "b", recipe=Recipe(precision="fp32", hnsw_from=10), tools=[*TOOLS, *extra])
    large = edgeret.load(folder, threads=1, index="hnsw")
    assert components_of(large).index.kind == "hnsw"
    assert large.plan("find my file and send a mail").tools == ("find_file", "send_mail")
    assert large.task("call a phone").next().tool == "phone_call"


def test_static_shapes_give_the_same_vector(tiny_original: Path, runtime: Runtime) -> None:
    static = edgeret.load(tiny_original, threads=1, static_tokens=32)
    query = "find the letter then mail it to me"
    np.testing.assert_allclose(
        components_of(static).encoder.encode(query), components_of(runtime).encoder.encode(query), atol=1e-6
    )
    np.testing.assert_allclose(static.task(query).probabilities(), runtime.task(query).probabilities(), atol=1e-5)


def test_bound_inputs_give_the_same_vector(runtime: Runtime, tiny_original: Path) -> None:
    bound = edgeret.load(tiny_original, threads=1)
    components_of(bound).encoder.graphs.bound = True
    query = "play my song"
    np.testing.assert_allclose(
        components_of(bound).encoder.encode(query), components_of(runtime).encoder.encode(query), atol=1e-6
    )


def test_providers_are_strict(tiny_original: Path) -> None:
    with pytest.raises(ProviderError, match=r"'cuda' .*available: .*cpu.*allow_fallback=True"):
        edgeret.load(tiny_original, providers=["cuda"])
    with pytest.raises(ProviderError, match="unknown execution provider 'gpu'; edgeret knows cpu, cuda"):
        edgeret.load(tiny_original, providers=["gpu"])
    with pytest.raises(ProviderError, match="no execution provider given"):
        edgeret.load(tiny_original, providers=[])
    fallback = edgeret.load(tiny_original, providers=["cuda"], allow_fallback=True)
    assert components_of(fallback).encoder.providers == ("cpu",)


def test_a_call_without_label_is_no_empty_history(runtime: Runtime) -> None:
    position = components_of(runtime).graph.locate(components_of(runtime).encoder.encode("write a note"))
    nothing, unknown = (components_of(runtime).graph.distribution(position, h) for h in ([], [UNKNOWN]))
    assert not np.allclose(nothing, unknown)
    task = runtime.task("call a phone")
    task.call("phone_call")
    again, before = (dict(each.candidates())["phone_call"] for each in (task, runtime.task("call a phone")))
    assert again < before


@pytest.mark.parametrize("crowd", [1, 1000])
def test_the_few_best_are_those_of_the_whole_ranking(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, crowd: int
) -> None:
    monkeypatch.setattr("edgeret.runtime.ranking.CROWD", crowd)
    task = runtime.task("write a note and call a phone")
    whole = task.candidates()
    assert [c.probability for c in whole] == sorted((c.probability for c in whole), reverse=True)
    assert task.candidates(3) == whole[:3]
    with pytest.raises(InputError, match="k must be at least 1"):
        task.next(k=0)


def test_the_loop_of_accepted_decisions_ends_whatever_is_asked(runtime: Runtime) -> None:
    for query in ("find the minutes and mail them", "what is the capital of France", "zzz", "tell me a joke"):
        task, decided = runtime.task(query), []
        while task.accept(decision := task.next()):
            decided.append(decision.tool)
        assert not decision.is_call
        assert [call.tool for call in task.calls] == decided
        assert task.accept(decision) is False


def test_a_task_takes_no_more_calls_than_any_plan_has(runtime: Runtime) -> None:
    task = runtime.task("find the minutes")
    decision = runtime.task("send a mail").next()
    assert decision.is_call
    while task.accept(decision):
        pass
    assert len(task.calls) == 256
    with pytest.raises(InputError, match="open a new task"):
        task.call(str(decision.tool))
