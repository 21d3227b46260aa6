"""The library's decisions are explained by the library, as Python explains its own, and remedies do what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import EXAMPLE
from python_reader import by_python

import edgeret
from edgeret import Decision, Explanation
from edgeret.inputs.demonstrations import read_demonstrations

WITHIN = 1e-4


def same(found: Explanation, wanted: Explanation) -> None:
    assert (found.query, found.tool, found.reason, found.words) == (
        wanted.query,
        wanted.tool,
        wanted.reason,
        wanted.words,
    )
    assert found.probabilities == pytest.approx(wanted.probabilities, abs=WITHIN)
    assert [(vote.part, vote.within) for vote in found.votes] == [(vote.part, vote.within) for vote in wanted.votes]
    for vote, other in zip(found.votes, wanted.votes, strict=True):
        assert vote.weight == pytest.approx(other.weight, abs=WITHIN)
        assert vote.pull == (None if other.pull is None else pytest.approx(other.pull, abs=WITHIN))
    assert found.demonstrations == wanted.demonstrations
    assert found.similarity == pytest.approx(wanted.similarity, abs=WITHIN)
    assert found.cluster == pytest.approx(wanted.cluster, abs=WITHIN)
    assert found.floor == (None if wanted.floor is None else pytest.approx(wanted.floor))
    assert [(one.kind, one.tool, one.turns) for one in found.remedies] == [
        (one.kind, one.tool, one.turns) for one in wanted.remedies
    ]
    for one, another in zip(found.remedies, wanted.remedies, strict=True):
        assert one.probability == pytest.approx(another.probability, abs=WITHIN)
    assert len(found.lines) == len(wanted.lines)


@pytest.mark.parametrize("profile", ["tiny", "default"])
def test_the_library_tells_what_python_tells(real: Path, profile: str) -> None:
    both = edgeret.load(real, profile=profile), by_python(real, profile=profile)
    names = list(both[0].tools)
    for place, request in enumerate(read_demonstrations(EXAMPLE / "requests.jsonl", names)[::40]):
        some = [*names[:5], *(call.tool for call in request.calls)] if place % 3 == 2 else None
        tasks = [runtime.task(request.query, tools=some) for runtime in both]
        decisions = [task.next(policy="heads" if place % 2 else "auto") for task in tasks]
        explained(decisions)
        for call in request.calls[:1]:
            for task in tasks:
                task.failed(names[place], "it rained") if some is None else None
                task.call(call.tool)
                task.failed(names[place], "it rained") if some is None else None
            explained([task.next() for task in tasks])


def explained(decisions: Sequence[Decision]) -> None:
    same(*(decision.explain() for decision in decisions))
    rival = decisions[1].candidates[-1].tool
    same(*(decision.explain(rival) for decision in decisions))


def test_a_task_goes_on_and_what_is_told_of_a_step_before_stays(real: Path) -> None:
    task = edgeret.load(real).task("mute the speakers, and then mail the report to Ana")
    decision = task.next()
    before = decision.explain()
    for name in ("set_volume", "get_contact_email"):
        task.call(name)
        task.next()
    task.undo()
    after = decision.explain()
    assert replace(after, remedies=()) == replace(before, remedies=())
    assert [one.probability for one in after.remedies] == [one.probability for one in before.remedies]
    del task
    assert decision.explain() == after


def test_a_later_turn_is_told_beside_those_before(real: Path) -> None:
    conversation = edgeret.load(real).conversation()
    task = conversation.say("find the report")
    task.call("find_file")
    explained = conversation.say("mail it to Ana").next(policy="heads").explain()
    assert {vote.part for vote in explained.votes} >= {"head", "graph", "prior"}
    assert [one.kind for one in explained.remedies] == ["describe"]
