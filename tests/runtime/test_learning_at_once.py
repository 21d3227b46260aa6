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
from edgeret.bundle.overlay_file import overlay_path, read_overlay
from edgeret_export.reference.overlay_writer import Overlay

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


LISTING = """
import sys, threading
import edgeret
runtime = edgeret.load(sys.argv[1], threads=1)
runtime.learn([edgeret.Demonstration("d", words, (edgeret.Call("find_file"),)) for words in sys.argv[2:]])
count = runtime.learned.count
assert count > 20, count
sys.setswitchinterval(1e-6)  # threads take turns within a listing
def decide():
    task = runtime.task(sys.argv[2])
    task.call("find_file")
    for _ in range(4000):
        task.next()
threads = [threading.Thread(target=decide) for _ in range(2)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    assert len(runtime.learned.learner.plans()) == count
for thread in threads:
    thread.join()
print("done")
"""


def test_plans_are_listed_while_others_decide_by_them(tiny: Path) -> None:
    """Whoever lists them in Python may have to wait for a thread that decides."""
    taught = [f"{one} the {other}" for one in WORDS[:8] for other in WORDS[10:18]]
    command = [sys.executable, "-c", LISTING, str(tiny), *taught]
    assert subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=True).stdout == "done\n"


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
    assert len(read_overlay(overlay_path(tiny), runtime.manifest.fingerprint)) == WRITERS * EACH


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
    holder = Overlay.open(overlay_path(tiny), runtime.manifest.fingerprint, runtime.manifest.content_hash)
    with ThreadPoolExecutor(1) as pool:
        learns = pool.submit(runtime.learn, PLANS[1:2])
        runtime.task(QUERY).next()
        assert not learns.done()
        holder.close()
        assert learns.result().stored == 2
