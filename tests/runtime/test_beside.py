"""What Python runs beside the library that decides: encoders that the library does not run, and planners. All comes out
as where Python decides."""

from __future__ import annotations

import itertools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLE
from planner_samples import ALWAYS, QUERY, FakePlanner, planned
from python_reader import by_python

import edgeret
from edgeret import BundleError, Decision, InputError, PlannerError, ProviderError, Runtime
from edgeret.bundle import roles
from edgeret.bundle.reader import read_manifest
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.onnx import OnnxGraphs
from edgeret.encoders.variants import Variant
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.prompts import MASKINGS
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime import beside
from edgeret.runtime.beside import read_by_library
from edgeret.runtime.options import LoadOptions
from edgeret_export.reference.runtime import components_of, runtime_of

WITHIN = 1e-5
OTHERS = ({"providers": ("CPUExecutionProvider",)}, {"static_tokens": 64}, {"index": "exact"})
QUERIES = (QUERY, "play my song", "open calendar day", "write a note and then call a phone", "zebra")


def told(decision: Decision) -> tuple[object, ...]:
    return (
        *(decision.tool, decision.source, decision.abstained, decision.stage, decision.confirm, decision.left_aside),
        *(decision.usage, None if "probability" in decision.reason else decision.reason),
    )


def same(found: Decision, wanted: Decision) -> None:
    assert told(found) == told(wanted)
    assert dict(found.candidates) == pytest.approx(dict(wanted.candidates), abs=WITHIN)
    assert found.timings_ms.keys() >= {"total"} and ("planner" in found.timings_ms) == ("planner" in wanted.timings_ms)


@pytest.mark.diagonal
@pytest.mark.parametrize("profile", ["default", "full"])
@pytest.mark.parametrize("options", OTHERS, ids=lambda options: next(iter(options)))
def test_another_encoder_decides_by_the_library(real: Path, options: dict[str, Any], profile: str) -> None:
    mine, theirs = edgeret.load(real, profile=profile, **options), by_python(real, profile=profile, **options)
    names = list(mine.tools)
    for request in read_demonstrations(EXAMPLE / "requests.jsonl", names)[::9]:
        one, other = mine.task(request.query), theirs.task(request.query)
        same(one.next(k=None), other.next(k=None))
        for call in request.calls:
            for task in (one, other):
                task.failed(names[0], "it rained")
            same(one.next(), other.next())
            for task in (one, other):
                task.call(call.tool)
            same(one.next(policy="heads"), other.next(policy="heads"))
        assert dict(one.candidates()) == pytest.approx(dict(other.candidates()), abs=WITHIN)
        found = dict(zip(one.names, one.probabilities().tolist(), strict=True))
        assert found == pytest.approx(dict(zip(other.names, other.probabilities().tolist(), strict=True)), abs=WITHIN)


def test_texts_longer_than_it_reads_are_cut_alike(real: Path) -> None:
    mine, theirs = (load(real, static_tokens=16, profile="full") for load in (edgeret.load, by_python))
    query = "Find the lease contract, turn it into a PDF, and mail it to Gideon with my best wishes. " * 4
    same(mine.task(query).next(k=None), theirs.task(query).next(k=None))
    one, other = mine.task(query).next().arguments, theirs.task(query).next().arguments
    assert one.keys() == other.keys()
    for name, argument in one.items():  # thousandths, of two that round for themselves
        assert argument.confidence == pytest.approx(other[name].confidence, abs=0.0015)
        assert replace(argument, confidence=other[name].confidence) == other[name]


@pytest.mark.parametrize("wrong", [BundleError("the card fell off the bus"), KeyboardInterrupt(), MemoryError("none")])
def test_what_the_encoder_raises_is_what_deciding_raises(
    real: Path, monkeypatch: pytest.MonkeyPatch, wrong: BaseException
) -> None:
    mine = edgeret.load(real, profile="full", providers="CPUExecutionProvider")
    task = mine.task("mute the speakers")

    def broken(*_: object) -> None:
        raise wrong

    with monkeypatch.context() as patch:
        patch.setattr(OnnxGraphs, "vectors", broken)
        for ask in (lambda: mine.task("mail Ana"), lambda: mine.task("\0 ü" * 50)):
            with pytest.raises(type(wrong)) as error:
                ask()
            assert error.value is wrong
    same(mine.task("mute the speakers").next(), task.next())


class Gone:
    """The session of a GPU that was reset. None is here, so the error is ONNX Runtime's word for it."""

    def run(self, *_: object) -> None:
        raise RuntimeError("CUDA failure 700: an illegal memory access was encountered")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_provider_that_is_lost_is_an_error_or_the_cpu_goes_on_and_decisions_say_so(real: Path, allowed: bool) -> None:
    mine = edgeret.load(real, profile="full", providers="CPUExecutionProvider", allow_fallback=allowed)
    task, wanted = mine.task("mute the speakers"), mine.task("mail Ana").next()
    beside = mine.loaded.beside
    assert beside is not None and isinstance(beside.encoder, OnnxGraphs) and not task.next().degraded
    graphs = attrgetter("_graphs")(beside.encoder)
    graphs[:] = [replace(graph, session=Gone(), provider="cuda") for graph in graphs]
    if not allowed:
        with pytest.raises(ProviderError, match=r"cuda was lost while it ran \(CUDA failure 700.*allow_fallback=True"):
            mine.task("mail Ana")
        assert not task.next().degraded
        return
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: mine.task("mail Ana").next(), range(8)))
    for decision in found:
        same(decision, wanted)
        (lost,) = decision.degraded
        assert lost.part == "provider" and "cuda was lost" in lost.problem and "the CPU encodes" in lost.problem
        assert decision.to_dict()["degraded"] == [{"part": "provider", "problem": lost.problem}]
    assert beside.encoder.providers == ("cpu",) and "degraded" not in wanted.to_dict()
    assert mine.with_tools(remove=[next(iter(mine.tools))]).task("mail Ana").next().degraded == found[0].degraded


def test_vectors_of_another_shape_are_refused(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = edgeret.load(real, profile="full", providers="CPUExecutionProvider")
    unit = np.eye(1, 7, dtype=np.float32)[0]
    monkeypatch.setattr(OnnxGraphs, "vectors", lambda self, ids: (unit, np.zeros((len(ids), 7), np.float32)))
    with pytest.raises(BundleError, match=r"expected sentence of shape \(384,\), found \(7,\)"):
        mine.task("mail Ana")


def test_a_graph_that_is_asked_for_must_be_there(real: Path) -> None:
    for options in ({"target": "gpu"}, {"target": "npu"}, {"index": "hnsw"}, {"providers": "cuda"}):
        refused = []
        for load in (edgeret.load, by_python):
            with pytest.raises(edgeret.EdgeretError) as error:
                load(real, **options)
            refused.append((type(error.value), str(error.value)))
        assert refused[0] == refused[1]


def by_python_beside(bundle: Path, planner: Any, parameters: RerankParameters = ALWAYS) -> Runtime:
    components = components_of(by_python(bundle))
    return runtime_of(replace(components, planner=LazyPlanner(lambda: planner, "fake"), reranking=parameters))


@pytest.fixture(params=["tiny_original", "tiny_many", "tiny_cascade", "tiny_tools"])
def bundle(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def both(bundle: Path, parameters: RerankParameters = ALWAYS, **fake: Any) -> tuple[Runtime, Runtime, Any, Any]:
    one, other = FakePlanner(**fake), FakePlanner(**fake)
    return planned(bundle, one, parameters), by_python_beside(bundle, other, parameters), one, other


@pytest.mark.diagonal
@pytest.mark.parametrize("favourite", ["write_note", "<end>"])
def test_a_planner_is_asked_the_same_and_weighs_as_much(bundle: Path, favourite: str) -> None:
    mine, theirs, one, other = both(bundle, favourite=favourite)
    asks = (
        *({"policy": "planner", "masking": masking} for masking in MASKINGS),
        *({"risk": 0.05}, {"min_probability": 0.0, "weighted": "yes"}, {"policy": "heads"}, {"k": 2}, {"k": None}),
    )
    for query, options, coverage in itertools.product(QUERIES, asks, (0.05, 0.95, 0.9999)):
        pair = mine.task(query), theirs.task(query)
        for happens in (
            lambda task: None,
            lambda task: task.call("write_note"),
            lambda task: task.failed("find_file", "no"),
        ):
            for task in pair:
                happens(task)
            same(*(task.next(coverage=coverage, **options) for task in pair))
            prompts = [task.prompt(coverage=coverage, masking="demos") for task in pair]
            assert prompts[0].variable.text.split("(")[0] == prompts[1].variable.text.split("(")[0]
    assert len(one.asked) == len(other.asked) > 0
    assert [names for _, names in one.asked] == [names for _, names in other.asked]
    assert [prompt.constant for prompt, _ in one.asked] == [prompt.constant for prompt, _ in other.asked]


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "parameters",
    [RerankParameters(), RerankParameters(weight=1.0, ask_below=0.5), RerankParameters(weight=0.01, ask_below=1.1)],
)
def test_a_planner_that_is_not_needed_is_not_asked(bundle: Path, parameters: RerankParameters) -> None:
    mine, theirs, one, other = both(bundle, parameters)
    for query in QUERIES:
        same(mine.task(query).next(), theirs.task(query).next())
    assert len(one.asked) == len(other.asked)
    assert mine.loaded.asks is (parameters.filling > 0)


def test_a_planner_that_fails_leaves_the_librarys_answer(bundle: Path) -> None:
    mine, theirs, _, _ = both(bundle, problem="the model is broken")
    for query in QUERIES:
        same(mine.task(query).next(coverage=0.9999), theirs.task(query).next(coverage=0.9999))
    for runtime in (mine, theirs):
        with pytest.raises(edgeret.PlannerError, match="the model is broken"):
            runtime.task(QUERY).next(policy="planner", masking="none")


def test_failed_tools_are_not_asked_about_and_nothing_is_left(bundle: Path) -> None:
    mine, theirs, one, other = both(bundle)
    pair = mine.task(QUERY), theirs.task(QUERY)
    for name in mine.tools:
        for task in pair:
            task.failed(name, "")
        for policy in ("planner", "auto"):
            same(*(task.next(policy=policy, coverage=0.9999) for task in pair))
    assert [names for _, names in one.asked] == [names for _, names in other.asked]


def test_arguments_are_filled_and_the_planner_warmed(tiny_original: Path) -> None:
    mine, theirs, _, _ = both(tiny_original, answers=['{"name":"my file"}'])
    mine.warmup()
    found, wanted = mine.task(QUERY).fill("find_file")[0], theirs.task(QUERY).fill("find_file")[0]
    assert found == wanted
    assert [step.decision.tool for step in mine.plan(QUERY).steps]
    with pytest.raises(InputError, match="has no planner"):
        edgeret.load(tiny_original).task(QUERY).next(policy="planner")


def test_a_planner_that_fails_or_is_late_has_a_field_of_its_own(tiny_tools: Path) -> None:
    broken = planned(tiny_tools, FakePlanner(problem="out of memory")).task(QUERY).next(coverage=0.9999)
    assert [(one.part, one.problem) for one in broken.degraded] == [("planner", "out of memory")]
    assert broken.source != "planner" and "could not be asked: out of memory" in broken.reason
    ready, runtime = threading.Event(), planned(tiny_tools, None)
    planner = FakePlanner(favourite="write_note")

    def load() -> Any:
        ready.wait()
        return planner

    held = runtime.loaded
    held.beside = held.beside._replace(planner=LazyPlanner(load, "slow"))
    task = runtime.task(QUERY)
    late = task.next(coverage=0.9999, budget_ms=1)
    assert [one.part for one in late.degraded] == ["planner"] and late.source != "planner"
    assert late.degraded[0].problem == "no answer within 1 ms: it is still being loaded"
    with pytest.raises(PlannerError, match="within 1 ms: it is still being loaded"):
        task.next(policy="planner", masking="none", budget_ms=1)
    ready.set()
    found = task.next(policy="planner", masking="none", budget_ms=1e6)
    assert found.source == "planner" and not found.degraded
    for wrong in (0, -1, "5", True, float("nan")):
        with pytest.raises(InputError, match="budget_ms must be"):
            task.next(budget_ms=wrong)  # type: ignore[arg-type]


def test_another_familys_graph_waits_for_onnx_runtime_unless_the_own_one_serves(
    real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = read_manifest(real)
    told = manifest.info[roles.INFO_ENCODER]["spec"]
    other = Variant("cpu-7bit", "cpu", (("encoder-cpu", 0),), EncoderSpec.from_dict(told, "spec"))
    assert read_by_library(manifest, None, LoadOptions()) and not read_by_library(manifest, other, LoadOptions())
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert read_by_library(manifest, other, LoadOptions())
    for asked in (LoadOptions(target="cpu-7bit"), LoadOptions(static_tokens=16), LoadOptions(providers="cuda")):
        assert not read_by_library(manifest, other, asked)
    monkeypatch.setattr(beside, "choose_variant", lambda *_: other)
    with pytest.warns(RuntimeWarning, match=r"\(cpu-7bit\) runs on ONNX Runtime, which is not installed"):
        assert edgeret.load(real, profile="full").encoder.engine != "onnxruntime"
