"""What a query says and what tools do, in the core as in Python."""

from __future__ import annotations

import ctypes
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from core_sayings import MOST_CLAUSES, CoreHabits, PythonHabits, expected, library_of, mixture, said, vocabulary
from hypothesis import given
from hypothesis import strategies as st

from edgeret.core.understood import KINDS, words_of
from edgeret.core.understood import LANGUAGES as KNOWN
from edgeret.errors import InputError
from edgeret.inputs.tools import read_tools
from edgeret.types import Tool
from edgeret_export.reference.inputs import asking, clauses, language, values
from edgeret_export.reference.inputs.language_rules import LANGUAGES

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TELLING = [
    "turn the lights off and then play some jazz", "don't mute the speakers, unlock the door", "stop and start it",
    "tell bob to open the door tomorrow", "email ann@example.com at 5pm", "send 20 dollars to the savings account",
    "mach das Licht nicht aus", "Öffne das Fenster nicht, sondern schließ es", "n'allume pas la lampe, ferme la porte",
    "no apagues la luz pero sube el volumen", "不要关灯，然后告诉妈妈打开门", "is the door locked? show less", "louder",
    "never send a message to mom, remind me instead", "please ask her to delete the note", "", " ", "?", "。", "'", "a",
]  # fmt: skip
HOSTILE = [
    Tool("lock_unlock", "Locks or unlocks.", {}),
    Tool(
        "Lock-Door",
        "on off up down",
        {"properties": {"mode": {"enum": ["lock", "unlock", 5, None, "louder", "quieter"]}}},
    ),
    Tool("unlockDoor", "", {"properties": {"url2": {"format": "date-time"}, "sendTo": {"format": 5}, "x": 3}}),
    Tool("on", "Deletes, always!", {"properties": ["url"]}),
    Tool("off", "ΑΣ (Turns) it", {"properties": {f"amount{i}": {} for i in range(60)} | {"phone": {}}}),
    Tool("sendSMS", "tells", {"properties": {"": {}, "e-mail_address9": {}, "ＵＲＬ": {"format": "uri"}}}),
    Tool("___", ":;.", {"properties": None}),
    Tool("door", "x " * 90 + "delete", {}),
]


@pytest.fixture(scope="module")
def core(core_library: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    return library_of(core_library)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def requests() -> list[str]:
    """Some of all texts of the examples, in every language, short ones and long ones."""
    found: dict[str, None] = {}
    for path in sorted(EXAMPLES.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            found |= dict.fromkeys(text for text in texts(json.loads(line)) if len(text) < 3000)
    return random.Random(60).sample([*found], 1200)


def test_examples_say_what_they_say_in_python(core: ctypes.CDLL) -> None:
    spoken = set()
    for text in (*requests(), *TELLING):
        told = said(core, text)
        assert told == expected(text), text
        spoken.add(told["language"])
    assert spoken == set(LANGUAGES)


def test_what_python_calls_gives_the_same() -> None:
    """By the header's function and its binding, of requests, and of what nobody asks."""
    assert values.KINDS == KINDS and tuple(KNOWN) == LANGUAGES
    for text in (*requests(), *TELLING, "x" * 20_000):
        read, rules = words_of(text), language.rules_in(text)
        sure = language.surely_not_english(text)
        assert (read.language, read.sure) == (rules.language, sure is not None), text
        assert read.only_asks == asking.only_asks(text), text
        assert read.values == tuple(KINDS[kind] for kind in values.values_in(text)), text
        spans = clauses.clause_spans(text, clauses.parts(text, rules).least, rules)
        assert read.clauses == [tuple(span) for span in spans[:MOST_CLAUSES]], text
        assert list(read.parts)[:16] == clauses.split_clauses(text)[:16], text
    with pytest.raises(InputError, match="20000 characters"):
        words_of("x" * 80_001)


def test_mixtures_say_what_they_say_in_python(core: ctypes.CDLL) -> None:
    pick, spoken = random.Random(16), vocabulary()
    asked = []
    for _ in range(1200):
        text = mixture(pick, spoken)
        told = said(core, text)
        assert told == expected(text), text
        asked.append(len(told["wishes"]))
    assert sum(count > 1 for count in asked) > 50


@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" .,?!'andİΣςſK不开关灯，。\n")), max_size=60))
def test_any_text_says_what_it_says_in_python(core: ctypes.CDLL, text: str) -> None:
    assert said(core, text) == expected(text)


@pytest.mark.parametrize(
    "unit", ["turn on ", "tell bob to ", "nicht an, ", "然后打开", "is it? ", "5 ", "a.b/c ", "'a ", "Σ İ "]
)
def test_long_texts_say_what_they_say_in_python(core: ctypes.CDLL, unit: str) -> None:
    text = (unit * 20_000)[:20_000]
    assert said(core, text) == expected(text)


def test_a_language_is_told_without_memory(core: ctypes.CDLL) -> None:
    pick, spoken = random.Random(11), vocabulary()
    for text in ("", "İ" * 500, *(mixture(pick, spoken) for _ in range(200))):
        raw = text.encode()
        assert LANGUAGES[core.probe_language(raw, ctypes.c_size_t(len(raw)))] == language.language_of(text)


@pytest.mark.parametrize("path", ["desktop/tools.jsonl", "requests/mcp-servers/tools.jsonl", None])
def test_tools_do_what_they_do_in_python(core: ctypes.CDLL, path: str | None) -> None:
    tools = tools_of(path)
    one, other = CoreHabits(core, tools), PythonHabits(tools)
    assert one.read() == other.read()
    for query in TELLING:
        for found, wanted in zip(one.say(query), other.say(query), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=query)


def tools_of(path: str | None) -> list[Tool]:
    if path is None:
        return HOSTILE
    return [*read_tools(EXAMPLES / path)]


@pytest.mark.full
def test_the_file_is_made_of_the_languages() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "core" / "make_languages.py", "--check"],
        capture_output=True, text=True, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'export'}", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    if done.returncode == 2:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
