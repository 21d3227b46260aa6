"""Servers log what they decide, if they are told where, and nothing of their own warming up."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import warm
from patience import PATIENCE_S

from edgeret.usage.read import read_log

QUERY = "find my file and send a mail to ana@example.org"


def piped(bundle: Path, *options: str, lines: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    command = warm.python("-m", "edgeret", "pipe", str(bundle), "--no-overlay", *options)
    told = "".join(json.dumps({"do": "decide", "policy": "heads", **line}) + "\n" for line in lines)
    return subprocess.run(command, input=told, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def test_a_session_tells_what_became_of_each_decision(tiny_original: Path, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{"query": QUERY, "session": "a"}, {"session": "a", "calls": ["play_music"]}]
    done = piped(tiny_original, "--log", str(tmp_path / "log"), "--log-words", lines=lines)
    assert done.returncode == 0, done.stderr
    (asked,) = read_log([tmp_path / "log"]).asked
    assert asked.query == "find my file and send a mail to [email]"
    assert [(step.answer, step.called) for step in asked.steps.values()] == [("corrected", "play_music"), (None, None)]


def test_requests_without_a_session_are_one_where_words_are_kept(tiny_original: Path, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{"query": QUERY}, {"query": QUERY, "calls": ["play_music"]}]
    assert piped(tiny_original, "--log", str(tmp_path / "log"), "--log-words", lines=lines).returncode == 0
    assert piped(tiny_original, "--log", str(tmp_path / "bare"), lines=lines).returncode == 0
    assert [len(asked.steps) for asked in read_log([tmp_path / "log"]).asked] == [2]
    bare = read_log([tmp_path / "bare"]).asked
    assert [(len(asked.steps), asked.query) for asked in bare] == [(1, None), (1, None)]


def test_words_without_a_log_are_refused(tiny_original: Path) -> None:
    done = piped(tiny_original, "--log-words", lines=[])
    assert done.returncode == 2
    assert "--log-words goes with --log FOLDER" in done.stderr
