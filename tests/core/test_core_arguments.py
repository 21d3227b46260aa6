"""The library reads the arguments of a call as Python's form does: the same values, from where and how sure, and the
same questions."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from argument_tools import by_rules

import edgeret
from edgeret import Arguments, Call, InputError, Runtime, Tool
from edgeret_export.reference.arguments.filling import fill

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 27, 22, 15, tzinfo=timezone(timedelta(hours=5, minutes=30)))
HOSTILE = (
    "mail it to rm -rf",
    "not Friday, Saturday at 10",
    "to Ana, no, to Jonas",
    "أرسل بريدا إلى jo@example.com غدا",
    "发邮件给 jo@example.com，明天上午十点",
    "🦊 call the 🐻 at +49 170 1234567 for half an hour",
    "$out_1",
    "İstanbul’s “quoted” and 'single' text; 12,5 % of €1.200,50",
    "remind me to say hi tomorrow at noon " * 40,
    "a" * 5000,
    "see it " * 650,
)
SCHEMAS: Sequence[Mapping[str, Any]] = (
    {"type": "string", "pattern": "^[A-Z]{2}\\d+$"},
    {"type": "string", "pattern": "(a+)+$"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "time"},
    {"type": "string", "format": "duration"},
    {"type": "string", "description": "Day as DD.MM.YYYY."},
    {"type": "string", "description": "Start, such as 2022-05-20 10:00."},
    {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 100, "description": "Share in percent."},
    {"type": "integer", "minimum": 0, "maximum": 10},
    {"type": "integer", "description": "Minutes."},
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 3},
    {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    {"enum": ["light", "dark", 1, 2.5, True, None]},
    {"type": "boolean", "description": "True to notify."},
    {"anyOf": [{"type": "string", "format": "email"}, {"type": "null"}]},
    {"type": ["string", "null"], "minLength": 2, "maxLength": 12},
    {"type": "object"},
    {"unknown": 1},
    {"type": "string", "default": "usual"},
)


def told(found: Arguments) -> tuple[Any, ...]:
    """All that is told, values by what they are as JSON."""
    given = [
        (
            name,
            json.dumps([one.value, *one.alternatives]),
            one.source,
            one.span,
            pytest.approx(one.confidence, abs=1e-5),
        )
        for name, one in found.given.items()
    ]
    return given, dict(found.missing)


def agree(runtime: Runtime, tool: str, query: str, calls: Sequence[Call] = (), now: datetime | None = None) -> None:
    core = runtime.loaded.core
    assert core is not None
    by_rules = fill(runtime.tools[tool], query, calls, runtime.tools, now)
    assert told(core.begin(query, None).arguments(tool, calls, now, True)) == told(by_rules), (tool, query, calls)


@pytest.mark.parametrize("folder", ["farm", "train-bus"])
def test_calls_of_examples_have_the_same_arguments(folder: str) -> None:
    place = ROOT / "examples" / "calls" / folder
    runtime = by_rules(edgeret.read_tools(place / "tools.jsonl"))
    for line in (place / "demonstrations.jsonl").read_text("utf-8").splitlines()[::4]:
        plan, made = json.loads(line), list[Call]()
        for call in plan["calls"]:
            agree(runtime, call["tool"], plan["query"], made, NOW)
            made.append(Call(call["tool"], call.get("arguments", {}), {"id": 7, "name": "Ana"}))


@pytest.mark.parametrize("language", ["de", "fr", "es", "zh"])
def test_other_languages_have_them_too(language: str) -> None:
    place = ROOT / "examples" / "transfer" / "bank"
    runtime = by_rules(edgeret.read_tools(place / "tools.jsonl"))
    for line in (place / f"demonstrations.{language}.jsonl").read_text("utf-8").splitlines()[::6]:
        plan = json.loads(line)
        for call in plan["calls"]:
            agree(runtime, call["tool"], plan["query"], (), NOW.astimezone(UTC).replace(tzinfo=None))


def test_odd_schemas_and_hostile_words_have_them_too() -> None:
    names = ("when", "to", "level", "title", "file_paths", "customerId", "on", "start_time", "Größe", "note")
    tools = [
        Tool(
            f"do_{i}",
            "Does it. Returns the id of the event, and a title.",
            {
                "type": "object",
                "properties": {f"{names[(i + k) % len(names)]}": SCHEMAS[(i + k) % len(SCHEMAS)] for k in range(5)},
                "required": [names[i % len(names)]],
                **({"minProperties": 2} if i % 5 == 0 else {}),
            },
        )
        for i in range(len(SCHEMAS))
    ]
    runtime = by_rules(tools)
    results: Sequence[Any] = (None, "plain", '{"event": {"id": 3}}', [{"to": "a@b.de"}, {"to": "c@d.de"}], 4.0)
    given = {"when": "friday", "to": "$out_1", "level": 2.50}
    for i, query in enumerate(HOSTILE):
        for k, tool in [*enumerate(tools)][i % 3 :: 3]:
            made = [
                Call(tools[(i + j) % len(tools)].name, given, results[(i + k + j) % len(results)]) for j in range(k % 3)
            ]
            agree(runtime, tool.name, query, made, NOW if k % 2 else None)


def test_words_that_lack_a_part_of_what_is_shown_are_not_sure() -> None:
    """ "Berkeley" where all examples are as "Berkeley, CA" is seldom what is meant; where one is not, it may be."""
    query = "What's the weather like in Berkeley?"

    def sure_of(shown: str, words: str = query) -> float:
        place = {"type": "string", "description": f"The city{shown}."}
        tool = Tool("weather", "Tells the weather.", {"type": "object", "properties": {"city": place}})
        runtime = by_rules([tool])
        agree(runtime, "weather", words)
        return runtime.task(words).arguments("weather").given["city"].confidence

    whole = sure_of("")
    assert whole > 0.6
    for shown in (", in the format of 'City, State' or “City, Country”", ", such as 'Paris, FR'"):
        assert sure_of(shown) == 0.6
    for shown in (", such as 'Paris'", ", such as 'Paris, FR' or 'Paris'", ", such as 'a,b'"):
        assert sure_of(shown) > 0.6
    assert sure_of(", such as 'Paris, FR'", 'What\'s the weather like in "Berkeley, CA"?') > 0.6


def test_what_is_given_wrongly_is_refused_in_words() -> None:
    runtime = by_rules([Tool("find_event", "Looks up an event.", {"type": "object", "properties": {}})])
    core = runtime.loaded.core
    assert core is not None
    task = core.begin("look it up", None)
    with pytest.raises(InputError, match="unknown tool"):
        task.arguments("nothing", ())
    with pytest.raises(InputError, match="at most 256"):
        task.arguments("find_event", [Call("find_event", {})] * 257)


def test_weights_of_signs_are_those_that_were_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["make_argument_weights.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "core" / "make_argument_weights.py"), run_name="__main__")
    assert ended.value.code == 0
