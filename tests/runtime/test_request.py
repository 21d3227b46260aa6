"""What the library decides is what Python decides, told in the same words; and Python is read only where it must be."""

from __future__ import annotations

import copy
import random
import shutil
import threading
from pathlib import Path

import pytest
from conftest import EXAMPLE
from python_reader import by_python

import edgeret
from edgeret import BundleError, Decision, InputError, Runtime, Task
from edgeret.core import library
from edgeret.inputs.conversations import read_conversations
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.runtime.bases import base_path
from edgeret.runtime.options import LoadOptions
from edgeret_export.reference.components import load_components
from edgeret_export.reference.runtime import runtime_of
from edgeret_export.reference.tool_changes import instead

WITHIN = 1e-5


def told(decision: Decision) -> tuple[object, ...]:
    return (
        *(decision.tool, decision.source, decision.abstained, decision.stage, decision.confirm, decision.left_aside),
        None if "probability" in decision.reason else decision.reason,
    )


def same(found: Decision, wanted: Decision) -> None:
    assert told(found) == told(wanted)
    shares = dict(wanted.candidates)
    assert set(dict(found.candidates)) == set(shares)
    for tool, probability in found.candidates:
        assert probability == pytest.approx(shares[tool], abs=WITHIN)


def test_the_library_is_here_and_made_of_these_sources() -> None:
    assert library.LIBRARY is not None, "make it anew: pip install --no-deps --editable ."


@pytest.mark.parametrize("profile", ["tiny", "default", "full"])
def test_the_library_decides_as_python_does_whatever_happens(real: Path, profile: str) -> None:
    mine, theirs = edgeret.load(real, profile=profile), by_python(real, profile=profile)
    chance, names = random.Random(3), list(mine.tools)
    requests = read_demonstrations(EXAMPLE / "requests.jsonl", names)[::6]

    def both(one: Task, other: Task) -> None:
        for options in ({}, {"policy": "heads"}, {"risk": 0.05}, {"min_probability": 0.0}):
            same(one.next(**options), other.next(**options))

    for request in requests:
        some = chance.sample(names, 6)
        pair = mine.task(request.query), theirs.task(request.query)
        same(mine.task(request.query, tools=some).next(k=None), theirs.task(request.query, tools=some).next(k=None))
        both(*pair)
        for call in request.calls:
            for task in pair:
                task.failed(names[0], "it rained")
            both(*pair)
            for task in pair:
                task.failed(names[1], "")
                task.retry(names[0])
                task.undo()
                task.call(call.tool)
            both(*(task.fork() for task in pair))
        resumed = mine.resume(pair[0].to_dict()), theirs.resume(pair[1].to_dict())
        both(*resumed)


def test_plans_with_arguments_and_what_is_sent_need_no_python(real: Path) -> None:
    mine, theirs = edgeret.load(real), by_python(real)
    for request in read_demonstrations(EXAMPLE / "requests.jsonl", list(mine.tools))[::12]:
        plans = [
            [(step.decision.tool, step.call, step.missing) for step in runtime.plan(request.query).steps]
            for runtime in (mine, theirs)
        ]
        assert plans[0] == plans[1]
        one, other = mine.task(request.query).next(), theirs.task(request.query).next()
        assert [a.tool for a in one.alternatives] == [a.tool for a in other.alternatives]
        assert copy.deepcopy(one).to_dict()["tool"] == other.tool


def test_explanations_searches_and_learning_read_python_and_agree(real: Path) -> None:
    mine, theirs = edgeret.load(real), by_python(real)
    words = "mute the speakers and tell Ana"
    one, other = mine.task(words).next(), theirs.task(words).next()
    assert one.explain().lines == other.explain().lines
    assert [hit.tool for hit in mine.search(words, 5)] == [hit.tool for hit in theirs.search(words, 5)]
    running, meanwhile = mine.task(words), theirs.task(words)
    for runtime in (mine, theirs):
        task = runtime.task(words)
        task.call("find_note")
        task.learn()
    same(mine.task(words).next(), theirs.task(words).next())
    same(running.next(), meanwhile.next())  # the small encoder, which learned nothing, is sure of it as before
    mine.forget(everything=True)
    theirs.forget(everything=True)
    same(running.next(), meanwhile.next())


def test_a_bundle_that_is_replaced_is_still_the_one_that_was_loaded(
    real: Path, tiny_original: Path, tmp_path: Path
) -> None:
    place = tmp_path / "bundle"
    shutil.copytree(real, place)
    mine = edgeret.load(place)
    wanted = mine.task("mute the speakers").next()
    place.rename(tmp_path / "aside")
    shutil.copytree(tiny_original, place)
    shutil.rmtree(tmp_path / "aside")
    found = mine.task("mute the speakers").next()
    same(found, wanted)
    assert found.explain().tool == wanted.tool
    assert found.arguments == wanted.arguments


@pytest.mark.parametrize("name", ["exemplars.json", "arguments.msgpack", "head.msgpack", "encoder.onnx", "tools.json"])
def test_every_file_is_proved_at_loading_whoever_reads_it(real: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / "bundle"
    shutil.copytree(real, place)
    data = bytearray((place / name).read_bytes())
    data[len(data) // 2] ^= 1
    (place / name).write_bytes(data)
    with pytest.raises(BundleError, match=f"{name}: altered"):
        edgeret.load(place)


def test_what_does_not_fit_is_refused_in_the_same_words(real: Path) -> None:
    mine, theirs = edgeret.load(real), by_python(real)

    def refused(runtime: Runtime) -> list[str]:
        task, found = runtime.task("mute the speakers"), []
        for ask in (
            lambda: runtime.task(" "),
            lambda: runtime.task("\ud800"),
            lambda: runtime.task("a" * 20_001),
            lambda: runtime.task("hello", tools=[]),
            lambda: runtime.task("hello", tools=["send_mails"]),
            lambda: runtime.task("hello", ["send_mails"]),
            lambda: task.call("send_mails"),
            lambda: task.failed("send_mails", ""),
            task.undo,
            lambda: task.next(risk=0.9),
            lambda: task.next(policy="planner"),
            lambda: task.next().explain("send_mails"),
        ):
            with pytest.raises(InputError) as error:
                ask()
            found.append(str(error.value))
        return found

    assert refused(mine) == refused(theirs)


def test_threads_share_a_runtime(real: Path) -> None:
    mine = edgeret.load(real)
    wanted = mine.task("mute the speakers").next()
    failures: list[BaseException] = []

    def decide() -> None:
        try:
            for _ in range(20):
                task = mine.task("mute the speakers")
                same(task.next(), wanted)
                assert task.next().arguments is not None
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=decide) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_decisions_are_asked_for_arguments_by_other_threads_while_their_task_goes_on(real: Path) -> None:
    mine = edgeret.load(real)
    wanted = by_python(real).task("mute the speakers and write a mail to Ana").next().arguments
    failures: list[BaseException] = []
    for _ in range(10):
        task = mine.task("mute the speakers and write a mail to Ana")
        decision = task.next()

        def ask(asked: Decision = decision) -> None:
            try:
                assert asked.arguments == wanted
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            task.call("find_note")
            task.next()
        for thread in threads:
            thread.join()
    assert not failures


def test_the_small_encoder_alone_is_told_as_itself(real: Path, tiny_table: Path) -> None:
    for folder in (real, tiny_table):
        mine, theirs = edgeret.load(folder, profile="tiny"), by_python(folder, profile="tiny")
        assert mine.manifest.info["encoder"] == theirs.manifest.info["encoder"]
        assert [entry.role for entry in mine.manifest.files] == [entry.role for entry in theirs.manifest.files]
        one, other = mine.task("find a file").next(policy="heads"), theirs.task("find a file").next(policy="heads")
        assert one.arguments == other.arguments


def test_tools_alone_are_decided_by_the_library_as_by_python() -> None:
    tools = edgeret.read_tools(EXAMPLE / "tools.jsonl")
    mine = edgeret.from_tools(tools)
    theirs = runtime_of(instead(load_components(base_path(), LoadOptions()), tools))
    assert list(mine.tools) == list(theirs.tools)
    for request in read_demonstrations(EXAMPLE / "requests.jsonl", [tool.name for tool in tools])[::4]:
        one, other = mine.task(request.query), theirs.task(request.query)
        same(one.next(), other.next())
        for call in request.calls:
            one.call(call.tool)
            other.call(call.tool)
            same(one.next(), other.next())
        found, wanted = one.arguments(tools[0].name), other.arguments(tools[0].name)
        assert {name: value.value for name, value in found.given.items()} == {
            name: value.value for name, value in wanted.given.items()
        }
    assert [hit.tool for hit in mine.search("send a mail", 3)] == [hit.tool for hit in theirs.search("send a mail", 3)]


def test_an_explanation_tells_what_was_known_then_whatever_was_learned_since(real: Path) -> None:
    words = "mute the speakers and tell Ana"
    mine, other = (edgeret.load(real, profile="full") for _ in range(2))
    decision, wanted = mine.task(words).next(), other.task(words).next().explain()
    for _ in range(3):
        task = mine.task(words)
        task.call("find_note")
        task.learn()
    assert any(plan.learned for plan in mine.task(words).next().explain().demonstrations)
    found = decision.explain()
    assert (found.probabilities, found.votes) == (wanted.probabilities, wanted.votes)
    assert found.demonstrations == wanted.demonstrations


def test_conversations_are_decided_as_by_python_whatever_happens(real: Path) -> None:
    mine, theirs = edgeret.load(real), by_python(real)
    names = list(mine.tools)
    some = [*names[::2], "send_mail"]
    for talk in read_conversations(EXAMPLE / "conversations.jsonl", names)[::5]:
        pair = mine.conversation(), theirs.conversation()
        narrow = mine.conversation(tools=some), theirs.conversation(tools=some)
        for number, turn in enumerate(talk.turns):
            tasks = [conversation.say(turn.query) for conversation in pair]
            same(*(conversation.say(turn.query).next() for conversation in narrow))
            for call in (*turn.calls, None):
                same(*(task.next() for task in tasks))
                for task in tasks if call is not None else ():
                    task.failed(names[number], "it rained")
                same(*(task.fork().next(k=None) for task in tasks))
                for task in tasks if call is not None else ():
                    task.call(call.tool, foreign=True)
            if number % 2:
                pair = mine.conversation(pair[0].to_dict()), theirs.conversation(pair[1].to_dict())
                same(*(conversation.task.next() for conversation in pair))
            if number == 2:
                for conversation in pair:
                    conversation.undo()
                same(*(conversation.task.next() for conversation in pair))


def test_a_later_turns_decision_is_told_as_by_python(real: Path) -> None:
    mine, theirs = edgeret.load(real), by_python(real)
    decisions = []
    for runtime in (mine, theirs):
        conversation = runtime.conversation()
        conversation.say("find my lease contract").call("find_file", {"name": "lease contract"})
        decisions.append(conversation.say("and mail it to Jonas").next())
    one, other = decisions
    assert [a.tool for a in one.alternatives] == [a.tool for a in other.alternatives]
    words, others = ({name: (a.value, a.source, a.span) for name, a in each.arguments.items()} for each in decisions)
    assert words == others
    # The head's activations have 256 levels in the library: it is as sure within a hundredth.
    sure = {name: pytest.approx(argument.confidence, abs=0.01) for name, argument in other.arguments.items()}
    assert {name: argument.confidence for name, argument in one.arguments.items()} == sure
    assert one.explain().lines == other.explain().lines
