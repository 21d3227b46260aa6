"""Files of example requests for tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeret import InputError, Tool
from edgeret.inputs.examples_file import with_examples_of
from edgeret.inputs.tool_examples import MOST_EXAMPLES

TOOLS = [Tool("lock", "Locks.", {}, ("shut it tight",)), Tool("boil", "Boils water.")]


def file_of(tmp_path: Path, *lines: object) -> Path:
    file = tmp_path / "examples.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return file


def test_examples_stand_behind_the_tool_s_own(tmp_path: Path) -> None:
    file = file_of(
        tmp_path,
        {"name": "lock", "examples": ["Shut it  TIGHT", "nobody shall come in"]},
        {"tool": "boil", "sha256": "", "made_by": {}, "queries": ["tea please"]},
    )
    lock, boil = with_examples_of(TOOLS, file, pytest.fail)
    assert lock.examples == ("shut it tight", "nobody shall come in")
    assert boil.examples == ("tea please",)


def test_what_is_too_much_or_unknown_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    many = [f"tea number {i}" for i in range(40)]
    file = file_of(tmp_path, {"name": "boil", "examples": [*many, "x" * 999]}, {"name": "fly", "examples": ["up"]})
    tools = with_examples_of(TOOLS, file, told.append)
    assert [len(tool.examples) for tool in tools] == [1, MOST_EXAMPLES]
    assert [line.partition(": ")[2] for line in told] == [
        f"1 tools show more than {MOST_EXAMPLES} examples, or some that are no sentence of at most 200 characters, "
        "which are left out: boil",
        "1 tools are not among these, and count for nothing: fly",
    ]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "has examples of none of the tools"),
        ([{"name": "fly", "examples": ["up"]}], "has examples of none of the tools"),
        ([{"examples": ["up"]}], "expected examples as JSONL"),
        ([{"name": "boil"}], '"examples"'),
        ([{"name": "boil", "examples": "tea"}], '"examples"'),
        ([{"name": "boil", "examples": []}, {"name": "boil", "examples": ["tea"]}], "stands there twice"),
        (["tea"], "expected a JSON object, found text"),
    ],
)
def test_a_file_that_is_none_is_told(tmp_path: Path, lines: list[object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        with_examples_of(TOOLS, file_of(tmp_path, *lines))
    assert words in str(caught.value)


def test_an_empty_list_shows_nothing(tmp_path: Path) -> None:
    file = file_of(tmp_path, {"name": "boil", "examples": []})
    assert with_examples_of(TOOLS, file, pytest.fail) == TOOLS
