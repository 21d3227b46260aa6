"""Queries in languages: which one each is asked for in, what a change of them writes anew, names that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS
from hostile_server import completion, serving

from edgeret.errors import InputError
from edgeret.planner.answers import Answer, Limits, Shape
from edgeret.planner.chat import Prompt
from edgeret.types import Usage
from edgeret_export.cli import main
from edgeret_export.planner.asking import Asked
from edgeret_export.planner.expand import ByModel, Settings, expand
from edgeret_export.planner.languages import check_languages, language_name
from edgeret_export.sources.expansions import recall


class Model:
    """Says something else each time; `asked` is all that it was told."""

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        self.asked.append(prompt)
        return Answer({"query": f"say {limits.seed}"}, Usage(1, 2, 3, 0, 1.0), None)


def by(model: Model, *languages: str) -> ByModel:
    return ByModel(Asked(model, "scripted"), Settings(5, 0.7, 0, languages))


def test_queries_are_asked_for_in_each_language_in_turn(tmp_path: Path) -> None:
    model = Model()
    expand(TOOLS[:1], by(model, "German", "Chinese"), tmp_path / "e")
    said = [prompt.variable.text.rpartition(". Language: ")[2] for prompt in model.asked]
    assert said == ["German", "Chinese", "German", "Chinese", "German"]
    assert len({prompt.constant for prompt in model.asked}) == 1, "a planner's cache holds one beginning"


def test_without_languages_everything_is_as_it_was(tmp_path: Path) -> None:
    model = Model()
    expand(TOOLS[:1], by(model), tmp_path / "e")
    made_by = recall(tmp_path / "e")[TOOLS[0].name].made_by
    assert made_by == {
        "model": "scripted",
        "prompt": "bb13ec460d4a8160",
        "queries": 5,
        "temperature": 0.7,
        "seed": 0,
    }
    assert "Language" not in str(model.asked) and "reviewed" not in (tmp_path / "e").read_text("utf-8")


def test_other_languages_write_lines_anew(tmp_path: Path) -> None:
    path = tmp_path / "e"
    expand(TOOLS, by(Model()), path)
    assert expand(TOOLS, by(Model(), "German"), path)["kept"] == 0
    assert recall(path)[TOOLS[0].name].made_by["languages"] == ["German"]
    assert expand(TOOLS, by(Model(), "German"), path)["kept"] == len(TOOLS)
    assert expand(TOOLS, by(Model(), "German", "French"), path)["kept"] == 0
    assert expand(TOOLS, by(Model(), "French", "German"), path)["kept"] == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("de", "German"),
        ("DE", "German"),
        ("german", "German"),
        (" zh ", "Chinese"),
        ("yue", "yue"),
        ("Brazilian  Portuguese", "Brazilian Portuguese"),
        ("zh-Hant", "zh-Hant"),
        ("हिन्दी", "हिन्दी"),
        ("x" * 40, "x" * 40),
    ],
)
def test_a_name_and_a_code_are_one_language(text: str, name: str) -> None:
    assert language_name(text) == name


@pytest.mark.parametrize("text", ["", "d", "x" * 41, "de1", "de,fr", "-de", "de\n.", "de: obey", "a--b", "\u0301de"])
def test_what_is_no_language_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match=r"is no language; give its English name or ISO code, 2 to 40 letters"):
        language_name(text)


def test_more_languages_than_queries_and_doubles_are_refused() -> None:
    with pytest.raises(InputError, match='"German" twice'):
        check_languages(["German", "French", "German"], 10)
    with pytest.raises(InputError, match="names 3 languages, and a tool gets 2 queries"):
        check_languages(["German", "French", "Thai"], 2)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--demos", "d", "--language", "de"], "--language is for a model; queries of --demos stay in the language"),
        (["--endpoint", "http://x", "--language", "de", "--language", "German"], 'names "German" twice'),
        (["--endpoint", "http://x", "--language", "d3"], '"d3" is no language'),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], expected: str
) -> None:
    try:
        code = main(["lab", "expand", "--tools", "t", "-o", str(tmp_path / "e"), *more])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    assert expected in (err := capsys.readouterr().err) and err.count("\n") == 1


def test_the_command_asks_a_server_in_the_languages(tmp_path: Path) -> None:
    pytest.importorskip("httpx", reason="the extra 'endpoint' is not installed")
    (tmp_path / "t.jsonl").write_text('{"name": "write_note", "description": "A"}\n', encoding="utf-8")
    command = ["lab", "expand", "--tools", str(tmp_path / "t.jsonl"), "-o", str(tmp_path / "e"), "--queries", "2"]

    def reply(visit: Any) -> None:
        visit.reply(completion(json.dumps({"query": f"note {visit.question['seed']}"})))

    with serving(reply) as at:
        assert main([*command, "--endpoint", at.url, "--model", "m", "--language", "fr", "--language", "Thai"]) == 0
    asked = [visit.question["messages"][-1]["content"] for visit in at.visits]
    assert [text.rpartition(" ")[2] for text in asked] == ["French", "Thai"]
