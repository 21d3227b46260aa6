"""Processes and threads around a runtime: what each start method gives, and what is told where a runtime cannot be."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import edgeret

QUERY = "find my file and send a mail"
PATIENCE_S = 120


def decided(bundle: str) -> tuple[str | None, float]:
    """What a process decides that loads for itself."""
    decision = edgeret.load(bundle, threads=1).task(QUERY).next()
    return decision.tool, decision.probability


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_that_load_for_themselves_decide_alike(tiny_original: Path, method: str) -> None:
    here = decided(str(tiny_original))
    if method == "fork":  # after threads of ours ran, as a server would
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(decided, [str(tiny_original)] * 2))
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        found = list(pool.map(decided, [str(tiny_original)] * 3, timeout=PATIENCE_S))
    assert found == [here] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_runtime_of_before_a_fork_is_refused_behind_it_and_goes_on_where_it_was(tiny_original: Path) -> None:
    code = f"""
import os, sys, threading, edgeret
runtime = edgeret.load({str(tiny_original)!r}, threads=2)
over = threading.Event()
def decide():
    while not over.is_set():
        runtime.task({QUERY!r}).next()
threads = [threading.Thread(target=decide) for _ in range(4)]
[thread.start() for thread in threads]
for _ in range(5):
    child = os.fork()
    if not child:
        try:
            runtime.task({QUERY!r})
        except edgeret.InputError as error:
            os._exit(0 if "before this process was forked" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
over.set()
[thread.join() for thread in threads]
print(runtime.task({QUERY!r}).next().tool)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (0, "find_file\n"), done.stderr


def test_a_runtime_is_let_go_of_in_whatever_thread_drops_it(tiny_original: Path) -> None:
    held = [edgeret.load(tiny_original, threads=1)]
    tasks = [held[0].task(QUERY) for _ in range(8)]
    dropping = [threading.Thread(target=tasks.pop) for _ in range(8)]
    dropping.append(threading.Thread(target=held.pop))
    for thread in dropping:
        thread.start()
    for thread in dropping:
        thread.join(PATIENCE_S)
    assert not tasks and not held
    assert decided(str(tiny_original))[0] == "find_file"
