"""Memory that is not there: one error in one line, and a process that goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import edgeret
from edgeret.cli import commands
from edgeret.runtime import loading

PATIENCE_S = 120


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit that is kept")
def test_a_process_that_may_have_no_more_is_told_so_and_goes_on_with_less(tiny_original: Path) -> None:
    code = f"""
import resource, edgeret
runtime = edgeret.load({str(tiny_original)!r}, threads=1)
runtime.task("find my file").next()
held = []
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20),) * 2)
try:
    while True:
        held.append(bytes(1 << 14))
except MemoryError:
    pass
told = ""
try:
    held.append(edgeret.load({str(tiny_original)!r}, threads=1))
except edgeret.EdgeretError as error:
    told = str(error)
held.clear()
print(told)
print(runtime.task("find my file").next().tool)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert "memory" in said[0] and said[1] == "find_file"


def test_whoever_catches_memory_errors_or_ours_catches_it_and_commands_say_it_in_a_line(
    tiny_original: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(loading, "load_bundle", full)
    for kind in (edgeret.EdgeretError, MemoryError):
        with pytest.raises(kind, match="no memory to load it"):
            edgeret.load(tiny_original)
    assert commands.main(["select", str(tiny_original), "find my file"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
