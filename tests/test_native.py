"""Native code in a shared process: idle threads sleep, and what loading freed goes back to the system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgeret import native

VARIABLE = "OPENBLAS_THREAD_TIMEOUT"


def fresh(code: str, **environment: str) -> list[str]:
    """What a new process prints, with nothing said about OpenBLAS but what is in `environment`."""
    others = {key: value for key, value in os.environ.items() if key != VARIABLE}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**others, **environment}, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("package", ["edgeret", "edgeret.host", "edgeret_export", "edgeret_bench"])
def test_openblas_is_told_before_numpy_is_loaded(package: str) -> None:
    code = (
        "import os, sys\n"
        "class Watch:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == 'numpy': print(os.environ.get('{VARIABLE}'))\n"
        "sys.meta_path.insert(0, Watch())\n"
        f"import {package}\n"
    )
    assert fresh(code) == ["20"]


def test_what_the_user_says_to_openblas_stays() -> None:
    assert fresh(f"import edgeret, os; print(os.environ['{VARIABLE}'])", **{VARIABLE: "26"}) == ["26"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_memory_that_loading_freed_is_given_back(tiny_original: Path) -> None:
    code = (
        "import sys, edgeret\n"
        "from edgeret.host import resident_mb\n"
        "from edgeret.native import give_back\n"
        "runtime = edgeret.load(sys.argv[1])\n"
        "before = resident_mb()\n"
        "give_back()\n"
        "print(before - resident_mb())\n"
    )
    command = [sys.executable, "-c", code, str(tiny_original)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 2


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_without_glibc_nothing_is_given_back_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(*_: object) -> None:
        raise error("no such call")

    monkeypatch.setattr("ctypes.CDLL", refuse)
    native.give_back()
