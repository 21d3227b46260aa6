"""Builds of little: no demonstrations, one, two; one tool, twins, names alone; and what few leave to the prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import TOOLS, build_tiny, encode_tiny, make_demonstrations

import edgeret
from edgeret import END, Tool
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.saved import begin
from edgeret.types import Call
from edgeret_export.fitting.folds import predict_head, recall
from edgeret_export.fitting.head import fit_factored, others, popularity, seen_labels
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import components_of, request_of

RECIPE = Recipe(precision="fp32")
PLAN = Demonstration("1", "find my file and send a mail", (Call("find_file"), Call("send_mail")))
IDLE = Demonstration("2", "open calendar day", ())
SETS = {
    "one tool": [Tool("send_mail", "send a mail")],
    "twins": [Tool("mail_a", "send a mail"), Tool("mail_b", "send a mail")],
    "names alone": [Tool(name, name) for name in ("find_file", "send_mail", "write_note")],
    "all": list(TOOLS),
}


def sound(folder: Path, tools: list[Tool]) -> None:
    """Every probability in its place, before and after any call."""
    runtime = edgeret.load(folder, threads=1)
    for query in ("send a mail", "find my file and send a mail", "zebra"):
        for history in ([], [tools[0].name], [tools[0].name, tools[-1].name, tools[0].name]):
            task = runtime.task(query, history)
            chances = task.probabilities()
            assert sorted(task.names) == sorted([END, *(tool.name for tool in tools)])
            assert chances.sum() == pytest.approx(1, abs=1e-5)
            assert chances.min() >= 0
            task.next()


def test_one_demonstration_does_not_take_what_is_unlike_it(tmp_path: Path) -> None:
    head = components_of(edgeret.load(build_tiny(tmp_path / "one", demonstrations=[PLAN]), threads=1)).head
    assert head is not None
    # Half a nat is what one call is worth to a tool; free biases were nine times that.
    assert np.abs(head.arrays.bias).max() < 0.5


@pytest.mark.parametrize("tools", SETS.values(), ids=SETS)
def test_tools_alone_make_a_bundle(tmp_path: Path, tools: list[Tool]) -> None:
    sound(build_tiny(tmp_path / "b", tools=tools, demonstrations=()), tools)
    found = {entry.role for entry in edgeret.load(tmp_path / "b").manifest.files}
    assert not found & {"graph", "head", "memory"}


@pytest.mark.parametrize("shown", [[PLAN], [IDLE], [PLAN, IDLE], [PLAN, PLAN]], ids=["one", "idle", "two", "twice"])
def test_one_or_two_demonstrations_make_a_bundle(tmp_path: Path, shown: list[Demonstration]) -> None:
    folder = build_tiny(tmp_path / "b", demonstrations=shown)
    sound(folder, list(TOOLS))
    runtime = edgeret.load(folder, threads=1)
    assert components_of(runtime).memory is not None
    if PLAN in shown:
        assert runtime.task(PLAN.query, ["find_file"]).candidates(1)[0].tool == "send_mail"


def test_one_tool_and_one_demonstration_make_a_bundle(tmp_path: Path) -> None:
    shown = [Demonstration("1", "send a mail", (Call("send_mail"),))]
    sound(build_tiny(tmp_path / "b", tools=SETS["one tool"], demonstrations=shown), SETS["one tool"])


def test_of_two_tools_with_one_description_the_demonstrated_one_is_taken(tmp_path: Path) -> None:
    shown = [
        Demonstration(str(i), f"send a mail {word}", (Call("mail_b"),)) for i, word in enumerate(("a", "now", "me"))
    ]
    runtime = edgeret.load(build_tiny(tmp_path / "b", tools=SETS["twins"], demonstrations=shown), threads=1)
    assert runtime.task("send a mail to me").candidates(1)[0].tool == "mail_b"


def test_the_build_predicts_what_the_runtime_will(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original, threads=1)
    training = encode_tiny(RECIPE, make_demonstrations()).training
    assert training is not None
    held = training.select(training.decisions.plan < 7)
    head = predict_head(components_of(runtime).head, training, held)
    memory = recall(training, held)
    assert memory is not None
    for row, plan in enumerate(held.decisions.plan.tolist()):
        calls = [held.decisions.labels[number] for number in held.decisions.histories[row]]
        task = runtime.task(training.demonstrations[plan].query, calls)
        history = begin(calls, components_of(runtime).tools)
        assert request_of(task).names == held.prior.names
        np.testing.assert_allclose(request_of(task).prior_scores(history.calls), held.prior.steps[row], atol=1e-4)
        np.testing.assert_allclose(np.exp(head[row]), np.exp(request_of(task).head_scores(history)), atol=1e-5)


def test_a_label_that_is_never_seen_keeps_what_the_prior_gives() -> None:
    training = encode_tiny(RECIPE, make_demonstrations()).training
    assert training is not None
    unseen = training.decisions.labels.index("play_music")
    with_it = np.array([any(c.tool == "play_music" for c in d.calls) for d in training.demonstrations])
    train, held = (training.select(mask[training.decisions.plan]) for mask in (~with_it, with_it))
    seen, popular = seen_labels(train), popularity(train)
    assert not seen[unseen]
    head = fit_factored(train, RECIPE.head_options)
    found, steps = predict_head(head, train, held), held.prior.steps
    assert np.exp(found).sum(axis=1) == pytest.approx(np.ones(len(found)), abs=1e-5)
    other = training.prior.names.index("phone_call")
    kept = (steps + popular)[:, unseen] - (steps + popular)[:, other]
    np.testing.assert_allclose(found[:, unseen] - found[:, other], kept, atol=1e-3)
    assert others(steps, popular, seen).shape == (len(found),)
