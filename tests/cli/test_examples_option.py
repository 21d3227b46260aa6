"""`--examples`: what users say for tools of a file, at the command line; and what `search --trace` tells of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from edgeret.cli.commands import main

TOOLS = [
    {"name": "play_music", "description": "Plays music.", "parameters": {}},
    {"name": "fetch", "description": "Reads a page.", "parameters": {"properties": {"url": {"type": "string"}}}},
]


@pytest.fixture
def tools(tmp_path: Path) -> str:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS), encoding="utf-8")
    return str(file)


def shown(tmp_path: Path, *lines: object) -> str:
    file = tmp_path / "examples.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return str(file)


def test_a_trace_tells_values_languages_and_examples(
    capsys: pytest.CaptureFixture[str], tools: str, tmp_path: Path
) -> None:
    examples = shown(tmp_path, {"name": "play_music", "examples": ["put a song on"]})
    asked = ["search", tools, "put a song on and read https://example.org/a", "--examples", examples, "--trace"]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert '"put a song on and read https://example.org/a" is read as English; "put a song on"' in out
    assert "  url: 1 tools take one, by their parameters' names: fetch" in out
    assert re.search(r'  example of play_music: "put a song on", cosine (0\.[89]|1\.0)', out) and err == ""
    assert main([*asked, "--json"]) == 0
    (read,) = json.loads(capsys.readouterr().out)["trace"]["read"]
    assert read["values"] == {"url": {"tools": 1, "first": ["fetch"]}} and read["examples"][0]["shown_by"] == 1
    assert main([*asked[:3], "--json"]) == 0
    assert "trace" not in json.loads(capsys.readouterr().out)


def test_ten_megabytes_for_one_tool_are_cut_and_told(
    capsys: pytest.CaptureFixture[str], tools: str, tmp_path: Path
) -> None:
    many = [f"song number {i} {'x' * 150}" for i in range(60_000)]
    examples = shown(tmp_path, {"name": "play_music", "examples": ["put a song on", *many]})
    assert main(["select", tools, "put a song on", "--examples", examples, "--explain", "--json"]) == 0
    out, err = capsys.readouterr()
    decided = json.loads(out)
    assert decided["tool"] == "play_music" and "1 tools show more than 5 examples" in err
    pulls = {vote["part"]: vote["pull"] for vote in decided["explanation"]["votes"]}
    parts = [pulls[part] for part in ("words", "meaning", "flow", "examples")]
    assert pulls["examples"] > 0 and sum(parts) == pytest.approx(pulls["prior"], abs=1e-3)


def test_what_is_odd_about_examples_is_told(capsys: pytest.CaptureFixture[str], tools: str, tmp_path: Path) -> None:
    said = ["do it", "mach doch bitte ein bisschen Musik für uns an"]
    examples = shown(tmp_path, {"name": "play_music", "examples": said}, {"name": "fetch", "examples": said[:1]})
    assert main(["select", tools, "play music", "--examples", examples]) == 0
    err = capsys.readouterr().err
    assert '"do it" is shown by 2 (play_music, fetch)' in err
    assert "1 tools show examples in what looks like German" in err


def test_a_bundle_keeps_its_own_until_its_tools_are_replaced(
    capsys: pytest.CaptureFixture[str], tools: str, tmp_path: Path, tiny: Path
) -> None:
    examples = shown(tmp_path, {"name": "play_music", "examples": ["put a song on"]})
    assert main(["select", str(tiny), "put a song on", "--examples", examples]) == 2
    assert "edgeret tools add BUNDLE TOOLS --replace --examples" in capsys.readouterr().err
    overlay = ["--overlay", str(tmp_path / "kept.overlay")]
    assert main(["tools", "add", str(tiny), tools, "--replace", "--examples", examples, *overlay]) == 0
    capsys.readouterr()
    assert main(["search", str(tiny), "put a song on", "--trace", *overlay]) == 0
    assert 'example of play_music: "put a song on", cosine 1.00' in capsys.readouterr().out


def test_a_file_that_is_none_says_what_is_expected(
    capsys: pytest.CaptureFixture[str], tools: str, tmp_path: Path
) -> None:
    for lines, says in (
        ([{"name": "fly", "examples": ["up"]}], "has examples of none of the tools"),
        ([], "has examples of none of the tools"),
        ([{"name": "fetch", "examples": "read it"}], '"examples"'),
    ):
        assert main(["search", tools, "read it", "--examples", shown(tmp_path, *lines)]) == 2
        assert says in capsys.readouterr().err
