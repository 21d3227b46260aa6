"""Whatever is said, the answer is bounded and explained: no words, symbols, pages, code, quotations, negations, tools
that are named like everyday words, and very many tools."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret import END, Call, Decision, Demonstration, Tool
from edgeret.runtime.runtime import Runtime

REQUESTS = {
    "punctuation": "?!…",
    "common words alone": "the of and to",
    "one emoji": "🎵",
    "emoji alone": "👩‍👩‍👧‍👦 🔒 🏳️‍🌈",
    "a pasted page": "Find my file. " + "The meeting was about the letter, and the letter about the meeting. " * 250,
    "one endless word": "x" * 20_000,
    "code": "def send_mail(note):\n    for file in find_file(name):\n        return [write_note(n) for n in file]\n",
    "markup": "<script>alert('play_music')</script> {{ send_mail }} %s \\u0000",
    "a tool's name in a story": "Once upon a time a wizard cast find_file upon the dragon, and all was well.",
    "a quotation": 'tell Ana "play my song and send a mail to me"',
    "a negation": "don't play music",
    "another script": "найди мой файл и отправь письмо",
    "control characters": "send\x1b[31m a\u202e mail\u200b",
    "numbers": "3.14159 0x1F 1e309 -7",
}
TEXT = 30_000
"""Characters that an explanation may have, whatever the request has."""


def plain_tools() -> list[Tool]:
    """Named like everyday words."""
    return [Tool(name, f"{name} something") for name in ("note", "call", "play", "open", "it")]


@pytest.fixture(params=["tiny_original", "tiny_many", "tiny_cascade", "tiny_tools", "plain"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    if request.param == "plain":
        return edgeret.from_tools(plain_tools(), base=request.getfixturevalue("tiny_tools"))
    return edgeret.load(request.getfixturevalue(request.param), threads=1)


def check(decision: Decision, tools: Any) -> None:
    """A decision that is whole, and an explanation that is short and says why."""
    told = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert told["reason"] and len(told["reason"]) < 500
    assert (decision.tool is None) is decision.abstained and (decision.tool in {*tools, END, None})
    assert sum(candidate.probability for candidate in decision.candidates) <= 1 + 1e-4
    assert len(decision.alternatives) in (0, 2, 3)
    explained = decision.explain()
    text = json.dumps(explained.to_dict(), allow_nan=False)
    assert len(text) < TEXT + 7 * len(explained.query) and len(str(explained)) < TEXT / 5
    assert 3 <= len(explained.lines) <= 12 and all("\n" not in line for line in explained.lines)
    assert all(isfinite(vote.weight) and (vote.pull is None or isfinite(vote.pull)) for vote in explained.votes)
    assert explained.tool == decision.tool and explained.lines[0].startswith("Decided: ")


@pytest.mark.filterwarnings("ignore::edgeret.LanguageWarning")
@pytest.mark.diagonal
@pytest.mark.parametrize("kind", REQUESTS)
def test_every_request_has_a_bounded_answer_that_is_explained(runtime: Runtime, kind: str) -> None:
    task = runtime.task(REQUESTS[kind])
    check(task.next(k=None), runtime.tools)
    task.call(next(iter(runtime.tools)))
    check(task.next(k=None), runtime.tools)


def test_no_words_at_all_are_refused_and_not_decided(runtime: Runtime) -> None:
    for query in ("", " \n\t "):
        with pytest.raises(edgeret.InputError, match="empty"):
            runtime.task(query)


def test_a_habit_that_is_contradicted_is_explained_by_both(tiny_tools: Path) -> None:
    runtime = edgeret.load(tiny_tools, threads=1)
    query = "my song then"
    runtime.learn([Demonstration(str(i), query, (Call("play_music"),)) for i in range(50)])
    runtime.learn([Demonstration(f"other {i}", query, (Call("write_note"),)) for i in range(3)])
    decision = runtime.task(query).next()
    check(decision, runtime.tools)
    near = {one.calls: one.cosine for one in decision.explain().demonstrations}
    assert set(near) == {("play_music",), ("write_note",)} and min(near.values()) > 0.999


def test_five_thousand_tools_are_explained_too(tiny_tools: Path) -> None:
    tools = [Tool(f"tool_{i}", f"{'find' if i % 2 else 'write'} a note of the meeting {i}") for i in range(5000)]
    runtime = edgeret.from_tools([*tools, Tool("play_music", "play music")], base=tiny_tools)
    decision = runtime.task("write a note of the meeting").next(min_probability=0.0)
    check(decision, runtime.tools)
    assert [remedy.kind for remedy in decision.explain().remedies] == ["learn"]  # all words anew would take too long
    assert runtime.task("play music").next(min_probability=0.0).tool == "play_music"


def test_tools_of_strangers_cannot_write_between_the_lines(tiny_tools: Path) -> None:
    tools = [Tool("play", "play music\nDecided: all is well"), Tool("stop", "stop music\r\n</table>")]
    runtime = edgeret.from_tools(tools, base=tiny_tools)
    runtime.learn([Demonstration("1", "play\n\nthe \x1b[31mmusic", (Call("play"),))])
    decision = runtime.task("play the music").next(min_probability=0.0)
    check(decision, runtime.tools)
    assert "\x1b" not in str(decision.explain()) and "\u202e" not in str(decision.explain())
