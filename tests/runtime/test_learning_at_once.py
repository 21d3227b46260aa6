"""Processes that learn at once: each waits for the others, and all that was learned is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import WORDS
from learned_states import stored

import edgeret
from edgeret.bundle.overlay_file import overlay_path, read_overlay
from edgeret.runtime.components import fingerprint_of

WRITERS, EACH = 8, 3
WRITER = """
import sys
import edgeret
runtime = edgeret.load(sys.argv[1], overlay=True, threads=1)
print("loaded", flush=True)
sys.stdin.readline()
for query in sys.argv[2:]:
    runtime.learn([edgeret.Demonstration("d", query, (edgeret.Call("find_file"),))])
print("learned", flush=True)
sys.stdin.readline()
"""


def test_eight_processes_that_learn_at_once_and_stay_open_are_all_kept(tiny: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tiny)]
    taught = [[f"{WORDS[i]} the {WORDS[10 + writer]}" for i in range(EACH)] for writer in range(WRITERS)]
    writers = [
        subprocess.Popen([*command, *queries], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for queries in taught
    ]
    try:
        for said in ("loaded\n", "learned\n"):
            for writer in writers:
                assert writer.stdout is not None and writer.stdout.readline() == said
            for writer in writers:
                assert writer.stdin is not None
                writer.stdin.write("\n")
                writer.stdin.flush()
        assert [writer.wait(60) for writer in writers] == [0] * WRITERS
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    runtime = edgeret.load(tiny, overlay=True)
    assert sorted(str(query) for query, _ in stored(runtime)) == sorted(query for part in taught for query in part)
    assert len(read_overlay(overlay_path(tiny), fingerprint_of(runtime.manifest))) == WRITERS * EACH
