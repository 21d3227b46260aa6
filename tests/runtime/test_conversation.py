"""Conversations: turns that lean on earlier ones, taken back, saved, and what people do that should not break them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, tiny_bundle

import edgeret
from edgeret import END, Call, Conversation, InputError, Runtime, Tool, Turn
from edgeret.encoders.onnx import OnnxGraphs
from edgeret.runtime.earlier import MOST_EARLIER, Earlier
from edgeret.runtime.history import History
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import load_reference, request_of


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def talked(runtime: Runtime) -> Conversation:
    """Two turns with calls, and one without."""
    conversation = runtime.conversation()
    task = conversation.say("find my file")
    task.call("find_file", {"name": "lease"}, "lease.pdf")
    conversation.say("and mail it").call("send_mail")
    conversation.say("stop")
    return conversation


def test_turns_keep_what_was_said_and_called(runtime: Runtime) -> None:
    assert talked(runtime).turns == (
        Turn("find my file", (Call("find_file", {"name": "lease"}, "lease.pdf"),)),
        Turn("and mail it", (Call("send_mail"),)),
        Turn("stop", ()),
    )


def test_a_first_turn_decides_as_a_task_does(runtime: Runtime) -> None:
    said, task = runtime.conversation().say("find my file"), runtime.task("find my file")
    assert said.next().candidates == task.next().candidates


def test_every_turn_is_encoded_once(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    used, texts = OnnxGraphs.run, list[int]()

    def counted(self: OnnxGraphs, batch: list[Any], outputs: list[str]) -> list[Any]:
        texts.extend(map(len, batch))
        return used(self, batch, outputs)

    monkeypatch.setattr(OnnxGraphs, "run", counted)
    conversation = talked(runtime)
    for _ in range(3):
        conversation.task.next()
        conversation.task.candidates()
    assert texts == [5, 5, 3]  # with what the tokenizer puts around them


def test_a_correction_makes_the_last_plan_likelier_and_a_history_of_its_own(runtime: Runtime) -> None:
    conversation = runtime.conversation()
    conversation.say("write a note").call("write_note")
    task = conversation.say("no to me")
    alone = dict(runtime.task("no to me").candidates())
    assert task.calls == ()
    assert dict(task.candidates())["write_note"] > alone["write_note"]


@pytest.mark.parametrize("kind", ["tiny_original", "tiny_many", "tiny_tools", "tiny_cascade", "tiny_table"])
def test_probabilities_of_every_bundle_sum_to_one(kind: str, request: pytest.FixtureRequest) -> None:
    conversation = edgeret.load(request.getfixturevalue(kind), threads=1).conversation()
    conversation.say("find my file").call("find_file")
    task = conversation.say("mail it and play music")
    for tool in ("send_mail", "play_music"):
        found = task.probabilities()
        assert found.min() >= 0
        assert float(found.sum()) == pytest.approx(1, abs=1e-5)
        assert task.next(policy="heads").candidates[0].probability == pytest.approx(float(found.max()))
        task.call(tool)


def test_a_cascade_asks_the_full_encoder_from_the_second_turn_on(tiny_cascade: Path) -> None:
    conversation = edgeret.load(tiny_cascade, threads=1, loss=0.5).conversation()
    assert conversation.say("write a note").next(policy="heads").stage == "static"
    assert conversation.say("and play music").next(policy="heads").stage == "full"


def test_tools_hold_for_all_turns(runtime: Runtime) -> None:
    conversation = runtime.conversation(tools=["find_file", "play_music"])
    conversation.say("find my file").call("find_file")
    task = conversation.say("and send a mail")
    assert {name for name, p in task.candidates() if p > 0} == {"find_file", "play_music", END}
    with pytest.raises(InputError, match="unknown tool"):
        runtime.conversation(tools=["nothing"])


def test_a_failed_tool_is_left_out_of_a_later_turn_too(runtime: Runtime) -> None:
    conversation = talked(runtime)
    task = conversation.say("and play music")
    task.failed("play_music", "no speaker")
    assert "play_music" not in dict(task.candidates())
    assert float(task.probabilities()[task.names.index("play_music")]) == 0


def test_a_turn_that_is_refused_leaves_the_conversation_as_it_was(runtime: Runtime) -> None:
    conversation = talked(runtime)
    before = conversation.to_dict()
    for text in ("", " \n", "word " * 10_000, 3):
        with pytest.raises(InputError):
            conversation.say(text)  # type: ignore[arg-type]
    assert conversation.to_dict() == before


def test_a_long_turn_is_read_to_its_end(runtime: Runtime) -> None:
    conversation = talked(runtime)
    task = conversation.say("mail " * 3_900)
    assert request_of(task).readings > 1
    assert task.next(policy="heads").tool is not None


def test_calls_are_taken_back_between_turns_and_turns_too(runtime: Runtime) -> None:
    conversation = talked(runtime)
    assert conversation.undo() == Turn("stop", ())
    assert conversation.task.undo() == Call("send_mail")
    assert conversation.turns[-1] == Turn("and mail it", ())
    after = conversation.say("and play music").candidates()
    other = runtime.conversation()
    other.say("find my file").call("find_file")
    other.say("and mail it")
    assert other.say("and play music").candidates() == after
    for _ in range(3):
        conversation.undo()
    for refused in (conversation.undo, lambda: conversation.task):
        with pytest.raises(InputError, match="nothing was said"):
            refused()


def test_a_plan_that_is_not_finished_counts_as_far_as_it_came(runtime: Runtime) -> None:
    conversation = runtime.conversation()
    first = conversation.say("find my file and send a mail")
    first.call("find_file")
    second = conversation.say("play music")
    expected = second.candidates()
    first.call("send_mail")
    assert second.candidates() == expected
    assert [call.tool for call in conversation.turns[0].calls] == ["find_file"]


def test_two_hundred_turns_stay_quick_and_right(runtime: Runtime) -> None:
    conversation = runtime.conversation()
    for _ in range(100):
        conversation.say("write a note").call("write_note")
        conversation.say("play my song").call("play_music")
    task = conversation.say("find my file")
    assert np.isfinite(task.probabilities()).all()
    assert len(conversation.turns) == 201
    earlier = Earlier.of([(str(i), History([Call(str(i)), Call("b")])) for i in range(100)])
    assert (len(earlier.calls), earlier.calls[-2].tool, len(earlier.last)) == (MOST_EARLIER, "99", 2)


def test_as_many_calls_as_a_task_takes_still_decide(runtime: Runtime) -> None:
    conversation = talked(runtime)
    task = conversation.say("write a note")
    for _ in range(256):
        task.call("write_note")
    assert float(task.probabilities().sum()) == pytest.approx(1, abs=1e-5)


def test_a_saved_conversation_goes_on_where_it_was(runtime: Runtime) -> None:
    conversation = talked(runtime)
    conversation.undo()
    conversation.task.failed("play_music", "no speaker")
    kept = json.loads(json.dumps(conversation.to_dict()))
    resumed = runtime.conversation(kept)
    assert resumed.to_dict() == kept
    assert resumed.task.candidates() == conversation.task.candidates()
    assert resumed.say("and write a note").candidates() == conversation.say("and write a note").candidates()


@pytest.mark.parametrize(
    ("saved", "told"),
    [
        ([], "expected an object as conversation.to_dict"),
        ({}, "expected an object as conversation.to_dict"),
        ({"turns": [], "more": 1}, "expected an object as conversation.to_dict"),
        ({"turns": [{"query": "x"}]}, 'turn 1: saved task: "content_hash" is missing'),
    ],
)
def test_what_was_not_saved_is_refused(runtime: Runtime, saved: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        runtime.conversation(saved)


def test_tools_alone_and_foreign_calls_decide(tiny_original: Path) -> None:
    tools: Sequence[Tool] = [Tool("find_file", "find a file"), Tool("send_mail", "send a mail")]
    conversation = edgeret.from_tools(tools, base=tiny_original, threads=1).conversation()
    conversation.say("find my file").call("their_tool", foreign=True)
    assert conversation.say("and mail it").next(policy="heads").tool in {"find_file", "send_mail", END}


def test_tools_of_earlier_calls_can_be_called_again_where_a_search_does_not_find_them(tmp_path: Path) -> None:
    pytest.importorskip("hnswlib")
    extra = [Tool(f"play_{i}", f"play music of song {i}") for i in range(300)]
    folder = tiny_bundle(tmp_path / "b", recipe=Recipe(precision="fp32", hnsw_from=10), tools=[*TOOLS, *extra])
    runtime = load_reference(folder, threads=1, index="hnsw")
    names = set(request_of(runtime.task("book a meeting")).names)
    away = next(tool.name for tool in extra if tool.name not in names)
    conversation = runtime.conversation()
    conversation.say("play my song").call(away)
    found = conversation.say("book a meeting").probabilities()
    assert float(found[conversation.task.names.index(away)]) > 0


def test_a_later_turn_is_not_learned_and_says_why(runtime: Runtime) -> None:
    task = talked(runtime).task
    with pytest.raises(InputError, match="leans on earlier ones"):
        task.learn()


def test_a_planner_is_shown_the_words_of_earlier_turns(runtime: Runtime) -> None:
    assert "find my file and mail it stop" in talked(runtime).task.prompt().variable.text


def test_a_fork_of_a_turn_goes_on_alone(runtime: Runtime) -> None:
    task = talked(runtime).task
    other = task.fork()
    other.call("write_note")
    assert task.calls == ()
    assert other.candidates() != task.candidates()
