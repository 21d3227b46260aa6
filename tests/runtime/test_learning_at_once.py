"""Processes and runtimes that learn at once: each waits for the others, and all that was learned is kept."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conftest import WORDS
from learned_states import plan, state, stored
from patience import PATIENCE_S

import edgeret
from edgeret.bundle.overlay_file import Overlay, overlay_path, read_overlay
from edgeret.runtime.components import fingerprint_of

WRITERS, EACH = 8, 3
QUERY = "open my letter and read it"
PLANS = [
    plan(QUERY, "find_file", "write_note"),
    plan("close the book and call me", "phone_call"),
    plan("share my calendar day", "send_mail", "book_meeting"),
    plan("zip it", "find_file"),
    plan("free day of my phone"),
]
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
        assert [writer.wait(PATIENCE_S) for writer in writers] == [0] * WRITERS
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    runtime = edgeret.load(tiny, overlay=True)
    assert sorted(str(query) for query, _ in stored(runtime)) == sorted(query for part in taught for query in part)
    assert len(read_overlay(overlay_path(tiny), fingerprint_of(runtime.manifest))) == WRITERS * EACH


def test_runtimes_that_all_stay_open_learn_in_turn_and_take_up_what_the_others_learned(tiny: Path) -> None:
    writers = [edgeret.load(tiny, overlay=True) for _ in range(3)]
    for number, demonstration in enumerate(PLANS):
        writers[number % 3].learn([demonstration])
    writers[0].forget(query=PLANS[1].query)
    writers[1].learn([plan("once more", "find_file")])
    expected = [query for query, _ in stored(edgeret.load(tiny, overlay=True))]
    assert expected == [*(PLANS[i].query for i in (0, 2, 3, 4)), "once more"]
    assert state(edgeret.load(tiny, overlay=True)) == state(writers[1])


def test_waiting_for_another_writer_keeps_no_decision_waiting(tiny: Path) -> None:
    runtime = edgeret.load(tiny, overlay=True)
    runtime.learn(PLANS[:1])
    holder = Overlay.open(overlay_path(tiny), fingerprint_of(runtime.manifest), runtime.manifest.content_hash)
    with ThreadPoolExecutor(1) as pool:
        learns = pool.submit(runtime.learn, PLANS[1:2])
        runtime.task(QUERY).next()
        assert not learns.done()
        holder.close()
        assert learns.result().stored == 2
