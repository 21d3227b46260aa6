"""What was learned, when the disk fills while learning."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import edgeret

FULL_DISK = """
import resource, sys
sys.path.insert(0, sys.argv[2])
import edgeret
from edgeret.bundle.overlay_file import overlay_path
from learned_states import plan, state
runtime = edgeret.load(sys.argv[1], overlay=True, threads=1)
runtime.learn([plan("zip it", "find_file")])
resource.setrlimit(resource.RLIMIT_FSIZE, (overlay_path(sys.argv[1]).stat().st_size + 100,) * 2)
for act in (lambda: runtime.learn([plan("open it", "phone_call")]),
            lambda: runtime.with_tools(remove=["play_music"], keep=True)):
    before = state(runtime)
    try:
        act()
    except edgeret.OverlayError as error:
        print(error)
    assert state(runtime) == before == state(edgeret.load(sys.argv[1], overlay=True, threads=1))
runtime.task("zip it").next()
assert runtime.forget(everything=True) == 1
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX's")
def test_a_full_disk_is_a_clear_error_and_what_was_learned_stays_as_it_was(tiny: Path) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tiny), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("cannot be written (File too large); what was in it is kept; make room") == 2
    assert edgeret.load(tiny, overlay=True, threads=1).learned.count == 0
