"""A table of token vectors that decides where it is sure, and the full encoder where it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from python_reader import by_python

import edgeret
from edgeret import Tool
from edgeret.bundle import roles
from edgeret.bundle.codec import pack, unpack
from edgeret.bundle.reader import open_bundle
from edgeret.errors import BundleError, InputError
from edgeret.runtime.runtime import Runtime
from edgeret_export.reference import cascade
from edgeret_export.reference.components import learner_for
from edgeret_export.reference.learning import Learned
from edgeret_export.reference.request import Request
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.scoring import cascade as scoring
from edgeret_export.reference.scoring.cascade import Thresholds, contradicted
from edgeret_export.reference.stopwatch import Stopwatch

SURE = "find my file and send a mail"


def with_least(runtime: Runtime, least: float) -> Runtime:
    return with_thresholds(runtime, least=least)


def with_thresholds(runtime: Runtime, **thresholds: float) -> Runtime:
    """Its table takes no notice of what may fit nothing, unless it is told to: to the made-up encoder all is alike."""
    stage = components_of(runtime).cascade
    assert stage is not None
    told = {"nothing": 1.0, "declines": Thresholds.NEVER, **thresholds}
    return runtime_of(replace(components_of(runtime), cascade=replace(stage, **told)))


def loaded(folder: Path) -> Runtime:
    return with_thresholds(edgeret.load(folder), least=0.0)


def test_the_table_decides_where_it_is_sure_and_says_so(tiny_cascade: Path) -> None:
    task = loaded(tiny_cascade).task(SURE)
    decision = task.next()
    assert (decision.tool, decision.stage) == ("find_file", "static")
    assert "without the full encoder" in decision.reason
    assert decision.to_dict()["stage"] == "static"


def test_the_full_encoder_decides_all_steps_once_it_was_asked(tiny_cascade: Path) -> None:
    runtime = loaded(tiny_cascade)
    never = with_least(runtime, 1.1).task(SURE)
    first = never.next()
    assert (first.stage, first.tool) == ("full", "find_file")
    assert set(first.timings_ms) >= {"tokenize", "encode", "total"}
    task = runtime.task(SURE)
    assert task.next().stage == "static"
    task.probabilities()
    assert task.next().stage == "full"


def test_behind_a_call_the_table_must_be_surer(tiny_cascade: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = with_least(edgeret.load(tiny_cascade), 0.0)

    def behind_a_call() -> edgeret.Decision:
        task = runtime.task(SURE)
        task.call("find_file")
        return task.next(min_probability=0.0)

    monkeypatch.setattr(cascade, "LATER", 0.0)
    found = behind_a_call()
    assert found.stage == "static"
    for least, stage in ((found.probability - 1e-6, "static"), (found.probability + 1e-6, "full")):
        monkeypatch.setattr(cascade, "LATER", least)
        assert behind_a_call().stage == stage
        assert runtime.task(SURE).next().stage == "static"


def test_where_the_words_speak_for_another_tool_the_head_must_be_sure_by_itself(
    tiny_cascade: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = with_least(edgeret.load(tiny_cascade), 0.0)
    found = runtime.task(SURE).next()
    assert (found.stage, found.tool) == ("static", "find_file")
    second = next(each for each in found.candidates[1:] if each.tool != "<end>")
    labels = components_of(runtime).head.labels  # type: ignore[union-attr]
    words = np.zeros(len(labels) - 1, np.float32)
    monkeypatch.setattr(Request, "reading", property(lambda _: SimpleNamespace(static=np.append(words, 0))))
    logs = np.full(len(labels), -9.0, np.float32)
    monkeypatch.setattr(Request, "head_scores", lambda *_: logs)
    for margin, alone, stage in (
        (scoring.AGAINST + 0.1, scoring.ALONE - 0.01, "full"),
        (scoring.AGAINST + 0.1, scoring.ALONE + 0.01, "static"),
        (scoring.AGAINST - 0.1, scoring.ALONE - 0.01, "static"),
    ):
        words[labels.index(second.tool)], logs[labels.index("find_file")] = margin, np.log(alone)
        assert runtime.task(SURE).next().stage == stage


def test_a_tool_that_was_never_called_may_be_what_the_words_speak_for() -> None:
    words, end = np.zeros(5, np.float32), 3
    assert not contradicted(words, 0, end)
    for other, contradicts in ((1, True), (2, True), (3, False), (4, True)):
        speaking = words.copy()
        speaking[other] = scoring.AGAINST + 0.1
        assert contradicted(speaking, 0, end) is contradicts
        assert not contradicted(speaking, other, end)
        speaking[0] = 0.2
        assert not contradicted(speaking, 0, end)


def test_words_speak_for_the_tool_whose_words_they_are(tiny_cascade: Path) -> None:
    runtime = edgeret.load(tiny_cascade)
    request = Scorer(components_of(runtime), Learned(learner_for(components_of(runtime)))).read(
        "find_file please", Stopwatch()
    )
    assert request.names[request.reading.static.argmax()] == "find_file"


def test_decisions_are_those_of_the_full_encoder_alone(tiny_cascade: Path) -> None:
    never, full = with_least(edgeret.load(tiny_cascade), 1.1), by_python(tiny_cascade, profile="full")
    assert components_of(full).cascade is None
    for query in (SURE, "write a note", "open calendar day", "zip it"):
        one, other = never.task(query).next(), full.task(query).next()
        assert (one.tool, one.probability, one.reason) == (other.tool, other.probability, other.reason)


@pytest.mark.parametrize(
    "asked",
    [
        lambda runtime: runtime.task("open calendar day").next(),
        lambda runtime: runtime.task(SURE, tools=["find_file", "send_mail"]).next(),
        lambda runtime: runtime.task("phone").next(),
    ],
    ids=["nothing fits", "a subset", "a tool that was never called"],
)
def test_what_the_thresholds_were_not_fitted_for_goes_to_the_full_encoder(tiny_cascade: Path, asked: object) -> None:
    assert asked(with_least(edgeret.load(tiny_cascade), 0.0)).stage == "full"  # type: ignore[operator]


def test_that_no_tool_fits_is_the_tables_word_only_where_it_is_sure(tiny_cascade: Path) -> None:
    runtime = edgeret.load(tiny_cascade)
    assert loaded(tiny_cascade).task("open calendar day").next().stage == "full"
    sure = with_thresholds(runtime, declines=0.5)
    decision = sure.task("open calendar day").next()
    assert (decision.stage, decision.tool, decision.abstained) == ("static", None, True)
    assert decision.reason.startswith("no tool fits")
    assert decision.candidates[0].tool == "<end>"
    # "heads" never abstains, so that decision is not the table's to take.
    assert sure.task("open calendar day").next(policy="heads").stage == "full"


def test_where_something_speaks_for_nothing_the_full_encoder_is_asked(tiny_cascade: Path) -> None:
    runtime = edgeret.load(tiny_cascade)
    assert with_thresholds(runtime, least=0.0).task(SURE).next().stage == "static"
    assert with_thresholds(runtime, least=0.0, nothing=0.0).task(SURE).next().stage == "full"


def test_after_a_failure_the_full_encoder_decides(tiny_cascade: Path) -> None:
    task = edgeret.load(tiny_cascade).task(SURE)
    task.failed("find_file", "no such file")
    assert task.next().stage == "full"


def test_what_was_learned_rests_on_the_full_encoder(tiny_cascade: Path) -> None:
    runtime = loaded(tiny_cascade)
    task = runtime.task(SURE)
    task.accept(task.next())
    task.learn()
    assert runtime.task(SURE).next().stage == "full"
    runtime.forget(everything=True)
    assert runtime.task(SURE).next().stage == "static"


def test_both_stages_have_the_tools_that_came_and_went(tiny_cascade: Path) -> None:
    runtime = by_python(tiny_cascade)
    changed = runtime.with_tools(add=[Tool("zip_pack", "zip and pack files")], remove=["find_file"])
    cascade = components_of(changed).cascade
    assert cascade is not None
    assert "zip_pack" in cascade.components.tools
    assert changed.task("zip and pack").next(policy="heads").tool == "zip_pack"
    decision = with_least(changed, 0.0).task(SURE).next(k=None)
    assert "find_file" not in {c.tool for c in decision.candidates if c.probability > 0}


def test_a_fork_and_a_resumed_task_decide_as_the_first(tiny_cascade: Path) -> None:
    runtime = edgeret.load(tiny_cascade)
    task = runtime.task(SURE)
    task.call("find_file")
    expected = task.next()
    assert task.fork().next().tool == expected.tool
    assert runtime.resume(task.to_dict()).next().tool == expected.tool
    assert (expected.tool, expected.stage) == ("send_mail", "static")


def test_a_loss_that_no_threshold_keeps_to_leaves_the_table_out(tiny_cascade: Path) -> None:
    assert Thresholds((0.0, 0.01), (2.0, 0.5)).at(0.005) > 1
    assert Thresholds((0.0, 0.01), (2.0, 0.5)).at(0.01) == 0.5
    assert Thresholds((0.001,), (0.5,)).at(0.0) > 1
    with pytest.raises(InputError, match="loss must"):
        edgeret.load(tiny_cascade, loss=-1)
    with pytest.raises(InputError, match="unknown profile"):
        edgeret.load(tiny_cascade, profile="small")  # type: ignore[arg-type]


def test_profiles_load_what_they_name(tiny_cascade: Path, tiny_table: Path, tiny_many: Path) -> None:
    alone = edgeret.load(tiny_cascade, profile="tiny")
    assert components_of(alone).stage == "static"
    assert alone.task(SURE).next().stage == "static"
    assert edgeret.load(tiny_table).task(SURE).next().tool == "find_file"
    assert components_of(edgeret.load(tiny_table, profile="tiny")).stage == "static"
    with pytest.raises(InputError, match="tiny bundle, which has no full encoder"):
        edgeret.load(tiny_table, profile="full")
    with pytest.raises(InputError, match="no table of token vectors"):
        edgeret.load(tiny_many, profile="tiny")


def test_a_tiny_bundle_learns_and_takes_tools(tiny_table: Path) -> None:
    runtime = edgeret.load(tiny_table).with_tools(add=[Tool("zip_pack", "zip and pack files")])
    assert runtime.task("zip and pack").next(policy="heads").tool == "zip_pack"
    task = runtime.task("share the calendar")
    task.correct("zip_pack")
    assert task.learn().learned == 1


def test_a_part_is_read_as_a_bundle_of_its_own(tiny_cascade: Path) -> None:
    bundle = open_bundle(tiny_cascade)
    part = bundle.part(roles.STATIC)
    assert part is not None
    assert part.fingerprint() != bundle.fingerprint()
    assert part.manifest.file(roles.TABLE) is not None
    assert part.manifest.file(roles.ENCODER) is None
    assert part.manifest.content_hash == bundle.manifest.content_hash
    assert bundle.part("other") is None


@pytest.mark.parametrize(
    "value",
    [
        {"losses": np.array([0.1, 0.0], np.float32), "least": np.array([0.5, 0.4], np.float32)},
        {"losses": np.array([0.0, 0.1], np.float32), "least": np.array([0.4, 0.5], np.float32)},
        {"losses": np.array([0.0], np.float32), "least": np.array([-0.1], np.float32)},
        {"losses": np.array([0.0, 0.1], np.float32), "least": np.array([0.4], np.float32)},
    ],
)
def test_thresholds_that_make_no_sense_are_refused(value: dict[str, np.ndarray]) -> None:
    with pytest.raises(BundleError, match=r"thresholds must rise|least"):
        Thresholds.from_dict(unpack(pack({"nothing": 0.02, "declines": 2.0, **value}), "x"), "x")


@pytest.mark.parametrize("forged", [None, "0.1", True, -0.1, 2.5, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["nothing", "declines"])
def test_forged_bounds_are_refused_by_name(name: str, forged: object) -> None:
    known = Thresholds((0.0, 0.01), (2.0, 0.5), 0.03, 0.9)
    assert Thresholds.from_dict(unpack(pack(known.to_dict()), "x"), "x").nothing == 0.03
    with pytest.raises(BundleError, match=f'"{name}"'):
        Thresholds.from_dict(unpack(pack({**known.to_dict(), name: forged}), "x"), "x")
