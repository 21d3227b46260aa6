"""Nothing that we load talks to anybody or leaves files behind, seen from the kernel and not from Python."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from edgeret.telemetry import VARIABLES

NO_SOCKETS = """
import ctypes, platform, struct
number = {"x86_64": 41, "aarch64": 198}[platform.machine()]  # socket
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *rule) for rule in rules))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
"""
"""Kills the process, as SIGSYS, at its first call of socket(), by any thread (seccomp: number, then kill or allow)."""
DECIDE = """
import sys, time
import edgeret
decision = edgeret.load(sys.argv[1]).task("write a note").next()
assert decision.tool == "write_note", decision
time.sleep(float(sys.argv[2]))
"""
WITHOUT_US = """
import sys, time
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1] + "/encoder.onnx")
time.sleep(float(sys.argv[2]))
"""
WAIT = 30.0
"""Seconds to watch; ONNX Runtime 1.31 opens its first connection after ten."""

seccomp = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"),
    reason="watching system calls needs Linux on x86-64 or arm64",
)


def start(home: Path, code: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    """A fresh process with a home of its own, which may not open a socket."""
    for name in ("home", "temporary", "here"):
        (home / name).mkdir(parents=True)
    keep = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "LANG") if key in os.environ}
    own = {"HOME": str(home / "home"), "TMPDIR": str(home / "temporary"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", NO_SOCKETS + code, *map(str, arguments)],
        env={**keep, **own, **environment},
        cwd=home / "here",
        stderr=subprocess.PIPE,
        text=True,
    )


def files(folder: Path) -> list[str]:
    """All files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.full
@seccomp
def test_a_fresh_process_opens_no_socket_and_writes_no_file_for_half_a_minute(
    tiny_original: Path, tmp_path: Path
) -> None:
    ours = start(tmp_path / "ours", DECIDE, tiny_original, WAIT)
    others = start(tmp_path / "others", WITHOUT_US, tiny_original, WAIT)
    _, message = ours.communicate()
    others.communicate()
    assert ours.returncode == 0, message
    assert files(tmp_path / "ours") == []
    # The same watch over ONNX Runtime alone shows that it sees something.
    if others.returncode == 0 and not files(tmp_path / "others"):
        pytest.skip("this ONNX Runtime sends nothing by itself, so there is nothing to see")
    assert others.returncode == -signal.SIGSYS or files(tmp_path / "others")


@pytest.mark.parametrize("package", ["edgeret", "edgeret_export", "edgeret_bench"])
def test_every_package_forbids_telemetry_when_it_is_imported(package: str) -> None:
    code = f"import {package}, os; print(*(os.environ[name] for name in {VARIABLES}))"
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1"]


@pytest.mark.parametrize(("setting", "late"), [("0", True), ("1", False)])
def test_doctor_says_when_onnx_runtime_was_imported_first(tiny: Path, setting: str, late: bool) -> None:
    code = "import onnxruntime, json, sys, edgeret\nfrom edgeret.cli.commands import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", str(tiny)],
        env={**os.environ, **dict.fromkeys(VARIABLES, setting)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("FAILS  no telemetry: ONNX Runtime was imported before edgeret" in done.stdout) == late, done.stdout
    assert done.returncode == int(late)
