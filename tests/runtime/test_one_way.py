"""One way to a decision: options checked at the door, one walk of the graph, one clock, and nothing to change."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgeret
from edgeret import InputError, Runtime
from edgeret.errors import PlannerError
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Scores
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.history import History
from edgeret.runtime.options import POLICIES
from edgeret.types import Usage
from edgeret_export.reference.runtime import components_of, request_of, runtime_of
from edgeret_export.reference.scoring.calibration import Calibration
from edgeret_export.reference.scoring.graph import Graph

QUERY = "find my file and send a mail"
NAP = 0.03


class Slow:
    """A planner that takes its time and likes the last answer."""

    def score(self, prompt: object, answers: list[str], deadline: float = 0.0) -> Scores:
        time.sleep(NAP)
        likelihood = np.linspace(-9.0, -1.0, len(answers))
        return Scores(likelihood, np.ones(len(answers), np.intp), Usage(1, 1, 1, 1, 1e3 * NAP))


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def asking(runtime: Runtime) -> Runtime:
    """The same with a planner that is asked at every step: all candidates belong to every conformal set."""
    components = components_of(runtime)
    calibration = Calibration(replace(components.calibration.parameters, right_probabilities=(0.0, 0.0, 1.0)))
    planner: Any = LazyPlanner(Slow)  # type: ignore[arg-type]
    reranking = RerankParameters(weight=1.0, ask_below=1.1)
    return runtime_of(replace(components, calibration=calibration, planner=planner, reranking=reranking))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coverage": 7}, "coverage must lie between 0 and 1, found 7"),
        ({"coverage": float("nan")}, "coverage must be a number"),
        ({"masking": "magic"}, 'unknown masking "magic"; choose one of none, hard, soft, demos'),
        ({"masking": None}, "unknown masking None"),
        ({"weighted": "perhaps"}, 'unknown weighted "perhaps"'),
        ({"min_probability": 5}, "min_probability must lie between 0 and 1, found 5"),
        ({"min_probability": "high"}, 'min_probability must be a number, found "high"'),
        ({"k": 0}, "k must be at least 1, found 0"),
        ({"k": [1]}, "k must be a whole number, found list"),
        ({"masking": ["hard"]}, "unknown masking list"),
        ({"k": 1.0}, "k must be a whole number, found 1.0"),
        ({"min_probability": 10**400}, "min_probability must be a number, found int"),
        ({"coverage": 10**5000}, "coverage must be a number, found int"),
        ({"k": True}, "k must be a whole number, found True"),
        ({"k": 2.5}, "k must be a whole number, found 2.5"),
    ],
)
def test_options_are_checked_whatever_the_policy(
    runtime: Runtime, policy: Any, options: Mapping[str, Any], words: str
) -> None:
    task = runtime.task(QUERY)
    with pytest.raises(InputError) as caught:
        task.next(policy=policy, **options)
    assert words in str(caught.value)
    assert "encode" in task.next().timings_ms  # the refusal used nothing up


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda runtime: runtime.task(None), "expected text, found NoneType"),
        (lambda runtime: runtime.task(b"find"), "expected text, found bytes"),
        (lambda runtime: runtime.task(QUERY).call("find_file", "text"), "arguments must be an object, found str"),
        (lambda runtime: runtime.task(QUERY).call("find_file", []), "arguments must be an object, found list"),
        (lambda runtime: runtime.task(QUERY).call(5), "unknown tool of type int"),
        (lambda runtime: runtime.task(QUERY).call(["find_file"]), "unknown tool of type list"),
        (lambda runtime: runtime.task(QUERY).accept(None), "accept takes a decision of task.next(), found NoneType"),
        (
            lambda runtime: runtime.task(QUERY).prompt(candidates=["x"]),
            "candidates must be Candidate(tool, probability)",
        ),
        (lambda _: edgeret.load(123), "a bundle's folder must be a path, found 123"),
        (lambda _: edgeret.load("a\0b"), "a bundle's folder must be a path"),
        (lambda runtime: runtime.task(QUERY).fill(None), "unknown tool of type NoneType"),
        (lambda runtime: runtime.task(QUERY).next(policy=5), "unknown policy 5; choose one of auto, heads, planner"),
        (lambda runtime: runtime.task(QUERY).candidates(-1), "k must be at least 1, found -1"),
        (lambda runtime: runtime.task(QUERY).prompt(coverage=0), "coverage must lie between 0 and 1, found 0"),
        (lambda runtime: runtime.plan(QUERY, max_steps=-3), "max_steps must be at least 1, found -3"),
        (lambda runtime: runtime.plan(QUERY, max_steps="3"), 'max_steps must be a whole number, found "3"'),
        (lambda runtime: runtime.plan(QUERY, decided=5), "decided must be a function, found int"),
        (lambda runtime: runtime.plan(QUERY, arguments="no"), "arguments must be True or False, found str"),
        (lambda runtime: runtime.task(QUERY, tools=[]), "tools is empty; name at least one tool"),
        (lambda runtime: runtime.task(QUERY, tools="find_file"), "tools must be a list of tools' names"),
        (lambda runtime: runtime.task(QUERY, tools=[5]), "tools must be a list of tools' names"),
        (lambda runtime: runtime.task(QUERY, tools=["find_fil"]), 'unknown tool "find_fil" in tools'),
        (lambda runtime: runtime.plan(QUERY, policy="luck"), 'unknown policy "luck"'),
        (lambda runtime: runtime.steps(QUERY, policy="luck"), 'unknown policy "luck"'),
        (lambda runtime: runtime.search(None), "expected text, found NoneType"),
        (lambda runtime: runtime.search(QUERY, 0), "k must be at least 1, found 0"),
        (lambda runtime: runtime.search(QUERY, strategy="magic"), "choose one of auto, hybrid, description, clauses"),
    ],
)
def test_what_is_no_query_call_or_count_is_refused(runtime: Runtime, act: Callable[[Any], object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        act(runtime)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threads": -2}, "threads must be at least 1 and at most 4096, found -2"),
        ({"threads": 1.5}, "threads must be a whole number, found 1.5"),
        ({"providers": 7}, "providers must be names such as 'cpu', found 7"),
        ({"providers": ["cpu", None]}, "providers must be names"),
        ({"threads": 10**5000}, "threads must be at least 1 and at most 4096, found int"),
        ({"provider_options": {1: {}}}, "provider_options must be a mapping"),
        ({"allow_fallback": "no"}, 'allow_fallback must be True or False, found "no"'),
        ({"gpu_layers": 1 << 40}, "gpu_layers must be a whole number"),
        ({"state_folder": "a\0b"}, "state_folder must be a path"),
        ({"provider_options": {"cpu": 3}}, "provider_options must be a mapping"),
        ({"static_tokens": 0}, "static_tokens must be at least 1"),
        ({"gpu_layers": -2}, "gpu_layers must be a whole number from -1"),
        ({"state_folder": 3}, "state_folder must be a path"),
        ({"content_hash": 3}, "content_hash must be hexadecimal digits"),
        ({"index": "best"}, 'unknown index "best"; choose one of auto, exact, hnsw'),
    ],
)
def test_loading_is_refused_before_anything_is_read(options: Mapping[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        edgeret.load("no such folder", **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_graph_is_walked_once_a_decision(runtime: Runtime, monkeypatch: pytest.MonkeyPatch, policy: Any) -> None:
    walks: list[object] = []
    walk = Graph.distribution
    monkeypatch.setattr(Graph, "distribution", lambda self, *a, **k: (walks.append(a), walk(self, *a, **k))[1])
    task = asking(runtime).task("find a file to send")
    assert walks == []
    for number in (1, 2, 3):
        task.next(policy=policy, min_probability=0)
        assert len(walks) == number
        task.call("find_file")


@pytest.mark.parametrize("policy", ["auto", "planner"])
def test_every_moment_of_a_decision_belongs_to_one_stage(runtime: Runtime, policy: Any) -> None:
    asked = asking(runtime)
    started = time.perf_counter()
    decision = asked.task(QUERY).next(policy=policy, min_probability=0)
    passed = (time.perf_counter() - started) * 1e3
    ms = dict(decision.timings_ms)
    assert decision.source == "planner"
    total = ms.pop("total")
    assert total == pytest.approx(sum(ms.values()))
    # Were a nap counted in two stages, they would add up to more than there was.
    assert 1e3 * NAP <= ms["planner"] <= total <= passed


def test_a_decision_carries_a_copy_of_its_times(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    first = task.next()
    kept = dict(first.timings_ms)
    task.accept(first)
    second = task.next()
    assert first.timings_ms == kept
    assert first.timings_ms is not second.timings_ms
    assert "encode" not in second.timings_ms


def test_what_a_runtime_decides_with_cannot_be_changed(runtime: Runtime) -> None:
    before = runtime.task(QUERY).candidates()
    with pytest.raises(TypeError):
        runtime.tools["send_mail"] = runtime.tools["find_file"]  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        runtime.tools["find_file"].name = "other"  # type: ignore[misc]
    runtime.tools["find_file"].parameters["properties"]["evil"] = {}
    assert "evil" not in runtime.tools["find_file"].parameters["properties"]
    for name in ("tools", "components", "manifest", "calibration", "policy"):
        with pytest.raises(AttributeError):
            setattr(runtime, name, None)
    with pytest.raises(FrozenInstanceError):
        components_of(runtime).calibration = None  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        components_of(runtime).index.vectors[0] = 0
    assert runtime.task(QUERY).candidates() == before
    assert {**runtime.tools} == dict(components_of(runtime).tools)


def test_a_query_longer_than_the_encoder_reads_is_read_in_windows(runtime: Runtime) -> None:
    limit = components_of(runtime).encoder.spec.max_tokens
    fitting, longer = " ".join(["mail"] * (limit - 2)), " ".join(["mail"] * (limit - 1))
    assert [request_of(runtime.task(query)).readings for query in (fitting, longer)] == [1, 2]


def test_loading_a_planner_is_the_planners_time_and_a_refusal_leaves_none(runtime: Runtime) -> None:
    def load() -> Any:
        time.sleep(NAP)
        return Slow()

    components = components_of(asking(runtime))
    first = runtime_of(replace(components, planner=LazyPlanner(load))).task(QUERY).next(policy="planner")
    assert 1e3 * NAP <= first.timings_ms["planner"] <= first.timings_ms["total"]

    class Broken:
        def score(self, prompt: object, answers: list[str], deadline: float = 0.0) -> Scores:
            time.sleep(NAP)
            raise PlannerError("broken")

    broken: Any = LazyPlanner(Broken)  # type: ignore[arg-type]
    task = runtime_of(replace(components, planner=broken)).task(QUERY)
    with pytest.raises(PlannerError, match="broken"):
        task.next(policy="planner")
    after = task.next(policy="heads").timings_ms
    assert "planner" not in after
    assert "encode" in after


def test_a_planner_that_cannot_be_loaded_is_told_of_and_leaves_no_trail(runtime: Runtime) -> None:
    def load() -> Any:
        raise PlannerError("the file is gone")

    broken = runtime_of(replace(components_of(asking(runtime)), planner=LazyPlanner(load)))
    broken.warmup()
    depths = set()
    for _ in range(5):
        with pytest.raises(PlannerError, match="the file is gone") as caught:
            broken.task(QUERY).next(policy="planner")
        depths.add(len(caught.traceback))
    assert len(depths) == 1
    assert "the file is gone" in broken.task(QUERY).next().reason


def test_exemplars_that_are_none_leave_the_heads_to_decide(runtime: Runtime) -> None:
    task = runtime_of(replace(components_of(asking(runtime)), exemplars=Exemplars(b"[3]", "b (exemplars)"))).task(QUERY)
    assert "could not be asked: b (exemplars): exemplar 1" in task.next(min_probability=0).reason


def test_what_a_task_hands_out_is_a_copy_or_read_only(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    task.call("find_file", {"name": "x"})
    task.calls[0].arguments["name"] = "y"  # type: ignore[index]
    assert task.calls[0].arguments == {"name": "x"}
    before = task.candidates()
    request_of(task).query_logits[...] = 0
    assert task.candidates() == before
    with pytest.raises(TypeError):
        runtime.manifest.info["calibration"] = {}  # type: ignore[index]
    with pytest.raises(AttributeError):
        components_of(runtime).tools.pop("find_file")  # type: ignore[attr-defined]


def test_equal_candidates_keep_their_order(runtime: Runtime) -> None:
    request = request_of(runtime.task(QUERY))
    equal = np.zeros(len(request.names), np.float32)
    assert [c.tool for c in request.ranked(equal, None)] == list(request.names)
    assert [c.tool for c in request.ranked(equal, 3)] == list(request.names[:3])


def test_a_wish_of_several_is_read_from_the_one_encoding(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    runtime = runtime_of(components_of(runtime))
    encoder = type(components_of(runtime).encoder)
    encode = encoder.encode_query
    monkeypatch.setattr(
        encoder, "encode_query", lambda self, text, watch=None: (read.append(text), encode(self, text, watch))[1]
    )
    task = runtime.task("find my file and then play music")
    assert request_of(task).left_aside(History()) == ("find my file", "play music")
    assert read == ["find my file and then play music"]
