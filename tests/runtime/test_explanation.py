"""Why a decision came out as it did: what its parts said then, what would turn it, and what it keeps."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace
from itertools import product
from math import log
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS, tiny_bundle
from python_reader import by_python

import edgeret
from edgeret import END, Call, Decision, Demonstration, InputError, Tool
from edgeret.runtime.recalled import Recalled
from edgeret.runtime.runtime import Runtime
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import components_of, runtime_of

BUNDLES = ("tiny_original", "tiny_many", "tiny_tools", "tiny_cascade")
QUERY = "find my file and send a mail"
SHOWN = [
    Demonstration("1", "phone the meeting", (Call("phone_call"),)),
    Demonstration("2", "find the file then call", (Call("find_file"), Call("phone_call"))),
]


@pytest.fixture(params=product(BUNDLES, (edgeret.load, by_python)), ids=lambda param: f"{param[0]}-{param[1].__name__}")
def runtime(request: pytest.FixtureRequest) -> Runtime:
    name, load = request.param
    loaded: Runtime = load(request.getfixturevalue(name), threads=1)
    return loaded


def against(decision: Decision, one: str, other: str) -> float:
    """What all parts together say of one candidate against another, in nats."""
    moment: Any = decision.why
    then = moment.again() if isinstance(moment, Recalled) else moment
    said = then.explained([one, other], 0.0).votes
    parts = {vote.part for vote in said}
    return sum(vote.pull for vote in said if vote.pull is not None and vote.within not in parts)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("history", [(), ("find_file",)])
def test_the_parts_add_up_to_what_was_decided(runtime: Runtime, history: tuple[str, ...], learned: bool) -> None:
    if learned:
        runtime.learn(SHOWN)
    decision = runtime.task(QUERY, history).next(k=None)
    # The best one's probability was calibrated; the others keep their odds.
    demonstrated = [c for c in decision.candidates[1:] if c.tool not in (END, "phone_call") and c.probability > 1e-6]
    (one, more), (other, less) = demonstrated[:2]
    assert against(decision, one, other) == pytest.approx(log(more / less), abs=2e-2)


def test_every_part_says_what_it_would_choose(runtime: Runtime) -> None:
    decision = runtime.task(QUERY).next()
    explained = decision.explain()
    said = {vote.part: vote for vote in explained.votes}
    assert {"prior", "words", "meaning"} <= set(said)
    assert {"head", "graph"} <= set(said) or components_of(runtime).head is None
    for vote in explained.votes:
        assert list(vote.probabilities) == list(explained.probabilities)
        assert all(share is None or 0 <= share <= 1 for share in vote.probabilities.values())
    best, *others = explained.probabilities
    assert best == decision.candidates[0].tool and END in (best, *others) and len(others) in (1, 2)
    assert explained.probabilities[best] == decision.probability
    assert decision.explain("find_file").words["find_file"] == ("find", "file")
    assert json.loads(json.dumps(explained.to_dict()))["reason"] == decision.reason


def test_it_tells_what_was_decided_then(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    decision = task.next()
    before = decision.explain()
    task.accept(decision)
    task.learn()
    runtime.task("write a note").next()
    after = decision.explain()
    assert replace(after, remedies=(), lines=()) == replace(before, remedies=(), lines=())
    assert decision.explain("send_mail").probabilities.keys() == {decision.tool, "send_mail", END}


def test_what_was_learned_has_a_vote_and_its_words(tiny_tools: Path) -> None:
    runtime = edgeret.load(tiny_tools, threads=1)
    runtime.learn(SHOWN)
    decision = runtime.task("phone my meeting").next()
    explained = decision.explain()
    assert decision.source == "heads" and decision.reason.endswith("and by what was learned here")
    learned = next(vote for vote in explained.votes if vote.part == "learned")
    assert learned.probabilities["phone_call"] > 0.7 and learned.weight > 0
    nearest = explained.demonstrations[0]
    assert (nearest.query, nearest.calls, nearest.learned) == ("phone the meeting", ("phone_call",), True)
    assert any('Near: "phone the meeting", learned here' in line for line in explained.lines)
    runtime.forget(query="phone the meeting")
    assert decision.explain().demonstrations[0].query is None  # what is forgotten is told nowhere


def test_a_bundles_memory_is_told_by_its_calls(tiny_original: Path) -> None:
    explained = edgeret.load(tiny_original, threads=1).task("write a note to me").next().explain()
    assert len(explained.demonstrations) == 3
    assert explained.demonstrations[0].calls == ("write_note",) and not explained.demonstrations[0].learned
    assert explained.demonstrations[0].cosine > 0.7


def test_clusters_stand_in_where_no_demonstration_is_kept(tiny_many: Path) -> None:
    explained = edgeret.load(tiny_many, threads=1).task("write a note to me").next().explain()
    assert explained.demonstrations == () and explained.similarity > 0.5
    assert next(iter(explained.cluster)) == "write_note"


@pytest.mark.parametrize("bundle", BUNDLES)
def test_remedies_do_what_they_say(bundle: str, request: pytest.FixtureRequest) -> None:
    runtime = edgeret.load(request.getfixturevalue(bundle), threads=1)
    query = "send my note to the meeting"
    decision = runtime.task(query).next()
    learn, describe = decision.explain("play_music").remedies
    assert (learn.kind, describe.kind, learn.tool) == ("learn", "describe", "play_music")
    old = runtime.tools["play_music"]
    told = runtime.with_tools(replace=[replace(old, description=f'{old.description} For example: "{query}".')])
    described = told.task(query).next(k=None) if told.loaded.core.stages == 1 else None
    if described is not None:
        assert dict(described.candidates)["play_music"] == pytest.approx(describe.probability, abs=1e-5)
        assert (described.tool == "play_music") is describe.turns
    runtime.learn([Demonstration("x", query, (Call("play_music"),))])
    learned = runtime.task(query).next(k=None)
    assert dict(learned.candidates)["play_music"] == pytest.approx(learn.probability, abs=1e-5)
    assert (learned.tool == "play_music") is learn.turns


def test_only_what_could_be_chosen_is_compared(tiny_original: Path) -> None:
    task = edgeret.load(tiny_original, threads=1).task(QUERY, tools=["find_file", "send_mail"])
    task.failed("send_mail", "no network")
    decision = task.next()
    with pytest.raises(InputError, match=r'"send_mail" could not be chosen then'):
        decision.explain("send_mail")
    with pytest.raises(InputError, match=r'"play_music" could not be chosen then'):
        decision.explain("play_music")
    with pytest.raises(InputError, match=r'unknown tool "send_mial".*did you mean "send_mail"'):
        decision.explain("send_mial")
    assert set(decision.explain().probabilities) == {"find_file", END}


def test_where_every_tool_failed_that_is_explained(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original, threads=1)
    task = runtime.task(QUERY, ["send_mail"])
    for name in runtime.tools:
        task.failed(name, "no network")
    explained = task.next().explain()
    assert list(explained.probabilities) == [END] and "every tool failed" in explained.lines[0]


def test_very_many_tools_that_a_search_narrowed_down_are_explained(tmp_path: Path) -> None:
    pytest.importorskip("hnswlib")
    extra = [Tool(f"zip_{i}", f"zip it {i}") for i in range(60)]
    folder = tiny_bundle(tmp_path / "b", recipe=Recipe(precision="fp32", hnsw_from=10), tools=[*TOOLS, *extra])
    runtime = edgeret.load(folder, threads=1, index="hnsw")
    decision = runtime.task("call a phone").next(min_probability=0.0)
    explained = decision.explain()
    assert explained.remedies and explained.words and {vote.part for vote in explained.votes} >= {"prior", "head"}
    assert json.dumps(explained.to_dict())


def test_decisions_that_are_kept_keep_no_request(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    decision = task.next()
    why: Any = decision.why
    kept = attrgetter("_request")(why) if isinstance(why, Recalled) else weakref.ref(why.request)
    assert kept() is not None
    listed = list(decision.candidates)
    explained = decision.explain()
    del task
    runtime.task("write a note").probabilities()  # by the full encoder, which keeps the latest request alone
    gc.collect()
    assert kept() is None
    assert list(decision.candidates) == listed and decision.explain() == explained


def test_the_floor_is_told(tiny_original: Path) -> None:
    task = edgeret.load(tiny_original, threads=1).task("the a my")
    declined = task.next(min_probability=0.999)
    assert declined.abstained and declined.explain().floor == 0.999
    assert any("declines below 0.999" in line for line in declined.explain().lines)
    assert task.next(policy="heads").explain().floor is None


def test_a_later_turn_is_explained_too(tiny_original: Path) -> None:
    conversation = edgeret.load(tiny_original, threads=1).conversation()
    task = conversation.say("find my file")
    task.accept(task.next())
    decision = conversation.say("send it to me").next(policy="heads")
    assert "beside earlier turns" in decision.reason
    explained = decision.explain()
    assert {vote.part for vote in explained.votes} >= {"head", "graph", "prior"}
    assert [remedy.kind for remedy in explained.remedies] == ["describe"]  # a turn that leans on others teaches nothing


def test_reasons_name_the_parts_that_have_weight_and_no_others(tiny_original: Path, tiny_tools: Path) -> None:
    runtime = edgeret.load(tiny_original, threads=1)
    components = components_of(runtime)
    weights = replace(components.calibration.parameters, graph_weight=0.0, memory_weight=0.0)
    calibration = type(components.calibration)(weights)
    bare = runtime_of(replace(components, calibration=calibration))
    assert bare.task(QUERY).next().reason == "most probable by head and the tools' own words"
    graph = type(components.calibration)(replace(weights, graph_weight=0.3, memory_weight=0.2))
    told = runtime_of(replace(components, calibration=graph)).task(QUERY).next().reason
    assert told == "most probable by head, graph, stored demonstrations and the tools' own words"
    alone = edgeret.load(tiny_tools, threads=1).task(QUERY).next()
    assert alone.source == "prior" and "nothing was demonstrated" in alone.reason


def test_odds_are_told_as_they_are(tiny_tools: Path) -> None:
    explained = edgeret.load(tiny_tools, threads=1).task("phone my meeting").next(min_probability=0.0).explain()
    (best, most), (rival, less), *_ = explained.probabilities.items()
    line = next(line for line in explained.lines if line.startswith("Against it: "))
    assert f"{rival} with {less:.3f}" in line and f"{log(most / less):.1f} nats" in line and best != rival
