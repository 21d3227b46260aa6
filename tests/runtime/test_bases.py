"""Tools without a bundle: the base that comes with edgeret, and one that a distribution offers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import edgeret
from edgeret.cli.commands import main
from edgeret.errors import BundleError
from edgeret.runtime import bases

TOOLS = [
    edgeret.Tool("set_alarm", "Sets an alarm clock.", {"properties": {"time": {"type": "string"}}}),
    edgeret.Tool("send_mail", "Sends an e-mail.", {"properties": {"to": {"type": "string"}}}),
    edgeret.Tool("get_weather", "The weather forecast of a place."),
]
SAID = {"wake me up at seven": "set_alarm", "write Ana an email": "send_mail", "will it rain tomorrow": "get_weather"}


def offer(folder: Path, name: str, path: Path) -> None:
    """Installs a distribution in a folder that offers a base."""
    (folder / f"offers_{name}.py").write_text(f"PATH = {str(path)!r}\n")
    told = folder / f"offers_{name}-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: offers_{name}\nVersion: 1\n")
    (told / "entry_points.txt").write_text(f"[{bases.GROUP}]\n{name} = offers_{name}:PATH\n")


@pytest.mark.parametrize(("query", "tool"), SAID.items())
def test_three_lines_decide_about_own_tools(query: str, tool: str) -> None:
    assert edgeret.from_tools(TOOLS).search(query, 1)[0].tool == tool


def test_it_is_whole_and_small() -> None:
    path = edgeret.base_path()
    assert sum(file.stat().st_size for file in path.iterdir()) < 8e6
    assert main(["verify", str(path)]) == 0


def test_neither_onnx_runtime_nor_a_build_is_needed(tmp_path: Path) -> None:
    program = (
        "import sys, edgeret\n"
        "tools = edgeret.read_tools(sys.argv[1])\n"
        "print(edgeret.from_tools(tools).search('wake me up at seven', 1)[0].tool)\n"
        "print(sorted({'onnxruntime', 'torch'} & set(sys.modules)))\n"
    )
    file = tmp_path / "tools.jsonl"
    file.write_text("".join(json.dumps(tool.to_dict()) + "\n" for tool in TOOLS))
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["set_alarm", "[]"]


def test_the_command_line_takes_a_file_of_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text("".join(json.dumps(tool.to_dict()) + "\n" for tool in TOOLS))
    for words in (["select", str(file)], ["select", "--tools", str(file)], ["search", str(file)], ["plan", str(file)]):
        assert main([*words, "write Ana an email", "--json"]) == 0
        assert "send_mail" in capsys.readouterr().out
    assert main(["select", "--tools", str(tmp_path / "none.jsonl"), "write Ana an email"]) == 2
    assert "none.jsonl: no such file; give a bundle's folder, or a file of tools" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--tools", "send_mail,set_alarm"], ["--history", "set_alarm"], ["-k", "2"]])
def test_options_may_stand_between_the_bundle_and_the_words(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text("".join(json.dumps(tool.to_dict()) + "\n" for tool in TOOLS))
    assert main(["select", str(file), *words, "write Ana an email", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tool"] == "send_mail"


def test_what_a_distribution_offers_goes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    base = tmp_path / "base"
    shutil.copytree(bases.PACKAGED, base)
    offer(tmp_path, "minilm", base)
    assert edgeret.base_path() == base and edgeret.from_tools(TOOLS).path == base
    offer(tmp_path, "gone", tmp_path / "gone")
    with pytest.raises(BundleError, match="the base that 'gone' offers is not there; install it again"):
        edgeret.base_path()
