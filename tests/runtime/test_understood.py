"""What search reads in a text, and what is odd about examples: with the base that comes with edgeret, on odd words in
many languages, on tools that promise what they do not take, and on examples that strangers wrote."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgeret
from edgeret import InputError, Runtime, Tool
from edgeret.core.understood import LANGUAGES, language_of, words_of
from edgeret.inputs.tool_examples import MAX_EXAMPLE_CHARS, MOST_EXAMPLES
from edgeret.runtime.understood import MOST_CLAUSES, MOST_NAMED, MOST_NEAR
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.index import pack_index

EXAMPLES = Path(__file__).parents[2] / "examples"
URL = {"type": "object", "properties": {"url": {"type": "string"}}}
TOOLS = [
    Tool("fetch", "Reads a web page.", URL),
    Tool("clear_cache", "Empties the cache; `url` is not looked at.", {**URL, "required": []}),
    Tool("play_music", "Plays music.", {}, ("put a song on",)),
    Tool("create_reminder", "Reminds of something.", {"properties": {"time": {"type": "string"}}}),
]
REQUESTS = {
    "two languages": "öffne bitte die Datei and then play some music for me",
    "Arabic in Latin letters": "shaghel el musiqa min fadlak 3ala el saa3a 7",
    "Chinese without spaces": "明天早上七点提醒我给妈妈打电话然后放点音乐",
    "a dotless i": "IŞIĞI AÇ ve müziği kıs, İstanbul'da hava nasıl",
    "German compounds": "Donaudampfschifffahrtsgesellschaftskapitänsmützenreinigungsanleitung abspielen",
    "Hindi in Latin letters": "mujhe kal subah saat baje yaad dilana ki mummy ko phone karna hai",
    "a page of it": "play music, then read example.org, and remind me at 7pm. " * 300,
}


@pytest.fixture(scope="module")
def base() -> Runtime:
    return edgeret.load(edgeret.base_path(), threads=1)


@pytest.fixture(scope="module")
def runtime(base: Runtime) -> Runtime:
    return edgeret.from_tools(TOOLS, base=base)


@pytest.mark.filterwarnings("ignore::edgeret.LanguageWarning")
@pytest.mark.parametrize("kind", REQUESTS)
def test_odd_words_are_searched_for_within_bounds_and_told(runtime: Runtime, kind: str) -> None:
    text = REQUESTS[kind]
    hits = runtime.search(text, 4, needed=True)
    assert {hit.tool for hit in hits} == {tool.name for tool in TOOLS}
    shares = [hit.share or 0.0 for hit in hits if hit.needed_for is None]
    assert all(map(isfinite, shares)) and sum(shares) <= 1 + 1e-5
    told = runtime.understood(text)
    assert told.text == text and len(told.clauses) <= MOST_CLAUSES and len(told.examples) == 1
    assert all(len(names) <= MOST_NAMED for _, names in told.values.values())
    assert len(json.dumps(told.to_dict(), allow_nan=False, ensure_ascii=False)) < 4_000 + 3 * len(text)


def test_the_language_alone_is_that_of_the_whole() -> None:
    texts = [*REQUESTS.values(), "", "İ" * 500]
    for folder in (EXAMPLES / "transfer").iterdir():
        for file in folder.glob("demonstrations*.jsonl"):
            texts += [json.loads(line)["query"] for line in file.read_text(encoding="utf-8").splitlines()]
    told = [language_of(text) for text in texts]
    assert told == [(found.language, found.sure) for found in map(words_of, texts)]
    assert {language for language, sure in told if sure} == set(LANGUAGES) - {"en"}
    with pytest.raises(InputError, match="at most 20000"):
        language_of("x" * 80_001)


def test_it_tells_language_parts_and_values(runtime: Runtime) -> None:
    told = runtime.understood("read https://example.org/a, and put a song on at 7pm")
    assert (told.language, told.only_asks) == ("en", False) and "put a song on at 7pm" in told.clauses
    assert told.values["url"] == (2, ("fetch", "clear_cache")) and told.values["time"] == (1, ("create_reminder",))
    near = told.examples[0]
    assert (near.tool, near.text, near.shown_by) == ("play_music", "put a song on", 1) and near.cosine > 0.5
    assert runtime.understood("is the music on?").only_asks
    with pytest.warns(edgeret.LanguageWarning, match="German"):
        assert runtime.understood("mach bitte die Musik aus und das Licht an").language == "de"
    with pytest.raises(InputError, match="empty"):
        runtime.understood(" ")


def test_a_tool_that_has_the_parameter_and_does_something_else_is_not_first(runtime: Runtime) -> None:
    hits = {hit.tool: hit.share or 0.0 for hit in runtime.search("read https://example.org/a", 4)}
    assert next(iter(hits)) == "fetch" and hits["fetch"] > 2 * hits["clear_cache"]


def test_one_sentence_of_five_hundred_tools_leaves_the_right_one_first(base: Runtime) -> None:
    many = [Tool(f"tool_{i}", f"Does thing {i}.", {}, ("put a song on", "next")) for i in range(500)]
    runtime = edgeret.from_tools([*many, *TOOLS], base=base)
    assert runtime.search("put a song on", 1)[0].tool == "play_music"
    told = runtime.understood("put a song on").examples
    assert len(told) == MOST_NEAR and {near.shown_by for near in told} == {501}
    (line,) = runtime.odd_examples()
    assert line.startswith("501 tools show examples") and '"put a song on" is shown by 501' in line


def test_examples_in_a_language_that_nobody_reads_are_told_and_harm_nothing(base: Runtime) -> None:
    german = replace(TOOLS[2], examples=("mach doch bitte ein bisschen Musik für uns an", "spiel ein Lied ab"))
    runtime = edgeret.from_tools([*TOOLS[:2], german, TOOLS[3]], base=base)
    (line,) = runtime.odd_examples()
    assert "German" in line and "play_music" in line and "multilingual encoder" in line
    assert runtime.search("play music", 1)[0].tool == "play_music"
    assert edgeret.from_tools(TOOLS, base=base).odd_examples() == []
    assert base.odd_examples([german]) == [line]


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (tuple(f"sentence {i} {'x' * 150}" for i in range(60_000)), "at most 5 texts, found 60000"),
        ("put a song on", "at most 5 texts, found str"),
        (None, "at most 5 texts, found NoneType"),
        ((3,), "no sentence on one line"),
        (("x" * 201,), "at most 200 characters"),
        (("a\nb",), "no sentence on one line"),
        (("a\u200bb",), "invisible character U\\+200B"),
    ],
    ids=["ten megabytes", "text", "none", "a number", "too long", "two lines", "hidden"],
)
def test_what_shows_no_few_sentences_is_refused_before_anything_is_read(base: Runtime, shown: Any, says: str) -> None:
    odd = replace(TOOLS[0], examples=shown)
    for change in ({"add": [replace(odd, name="other")]}, {"replace": [odd]}):
        with pytest.raises(InputError, match=says):
            edgeret.from_tools(TOOLS, base=base).with_tools(**change)
    with pytest.raises(InputError, match=says):
        edgeret.from_tools([odd], base=base)


def test_an_empty_list_is_none(base: Runtime) -> None:
    runtime = edgeret.from_tools([replace(TOOLS[2], examples=[]), *TOOLS[:2]], base=base)
    assert runtime.understood("put a song on").examples == () and runtime.odd_examples() == []


def test_tools_that_are_stuffed_with_what_everybody_says_are_seldom_first(base: Runtime) -> None:
    folders = [EXAMPLES / "desktop", *sorted((EXAMPLES / "transfer").iterdir())]
    tools = {tool.name: tool for folder in folders for tool in edgeret.read_tools(folder / "tools.jsonl")}
    lines = (EXAMPLES / "desktop" / "requests.jsonl").read_text("utf-8").splitlines()
    requests = [str(json.loads(line)["query"]) for line in lines]
    counts = Counter(word for request in requests for word in request.lower().split() if len(word) > 2)
    words = [word for word, _ in counts.most_common(200)]
    keys = ("url", "email", "path", "date", "time", "amount", "message", "number")
    shown = ("please do this for me", "can you send it to me", "show me the list", "turn it on", "find it for me")
    loud = [
        Tool(f"helper_{i}", " ".join(words[i::5]), {"properties": {key: {"type": "string"} for key in keys}}, shown)
        for i in range(5)
    ]
    runtime = edgeret.from_tools([*tools.values(), *loud], base=base)
    first = [runtime.search(request, 1)[0].tool for request in requests]
    assert sum(tool.startswith("helper_") for tool in first) <= 0.05 * len(first)


def test_five_examples_take_less_than_eight_kilobytes_a_tool() -> None:
    """In the indexes of an encoder of 384 numbers and of its table, and their words."""
    n, shown = 100, MOST_EXAMPLES
    rows = np.random.default_rng(0).normal(size=(n * shown, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    examples = Examples.of(rows, np.repeat(np.arange(n), shown))
    names = [f"tool_{i}" for i in range(n)]
    without, with_them = (len(pack_index(names, rows[:n], "", "fp32", given)) for given in (None, examples))
    assert 2 * (with_them - without) / n + shown * MAX_EXAMPLE_CHARS <= 8_000
