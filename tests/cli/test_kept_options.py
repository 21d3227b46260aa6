"""What is kept, by odd paths and words, and where nothing can be kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import edgeret
from edgeret.cli.commands import main
from edgeret.types import Call

TOOLS = '[{"name": "feed_cat", "description": "Fills the bowl of the cat."}]'
PLAN = edgeret.Demonstration("d", "find my file", (Call("find_file"),))


@pytest.mark.parametrize("option", ["--overlay", "--overlay-key"])
def test_tools_alone_keep_nothing_and_say_so(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(TOOLS, encoding="utf-8")
    for given in (["--tools", str(tools), "feed the cat"], [str(tools), "feed the cat"]):
        assert main(["select", *given, option, str(tmp_path / "kept")]) == 2
        assert f"{option} goes with a bundle" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes on Linux alone")
def test_bundle_and_overlay_may_have_names_that_are_no_text(tiny: Path) -> None:
    odd = tiny.with_name(os.fsdecode(b"b\xff"))
    tiny.rename(odd)
    runtime = edgeret.load(odd, overlay=True)
    runtime.learn([PLAN])
    assert edgeret.load(odd, overlay=True).learned.count == 1


def test_words_that_no_file_holds_are_in_no_plan(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    runtime.learn([PLAN])
    assert runtime.forget("\ud800") == runtime.forget(tool="\ud800") == 0
    assert runtime.learned.count == 1
