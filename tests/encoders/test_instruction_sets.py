"""Every set of instructions computes what the plain one does: those of this CPU, and those of ARM in an emulator."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from instruction_sets import BESIDES, SETS

from edgeret.host import instruction_set

CORE = Path(__file__).parents[2] / "core" / "src"
SOURCES = [*(CORE / f"{name}.c" for name in ("transform", "workers", "cpu"))]
SOURCES.append(Path(__file__).with_name("transformer_sets.c"))
FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-pthread")


def compiled(compiler: str, to: Path, *more: str) -> Path:
    where = ("-I", str(CORE))
    subprocess.run([compiler, *FLAGS, *more, *where, "-o", str(to), *map(str, SOURCES), "-lm"], check=True)
    return to


def compare(command: list[str], names: tuple[str, ...]) -> None:
    numbers = [str(SETS.index(name)) for name in names]
    done = subprocess.run([*command, *numbers], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_sets_of_this_cpu_agree(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    here = instruction_set()
    if here not in SETS[1:]:
        pytest.skip(f"no arithmetic of our own for {here}")
    compare([str(compiled(compiler, tmp_path / "sets"))], (here, *BESIDES.get(here, ())))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its semaphores are Linux's")
def test_a_worker_that_is_stopped_in_the_middle_is_not_waited_for(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    own = [source for source in SOURCES if source.name != "workers.c"]  # brings threads of its own
    command = ["gcc", *FLAGS, "-O1", "-DSTOPPED", "-I", str(CORE), "-o", str(tmp_path / "stopped")]
    subprocess.run([*command, *map(str, own), "-lm"], check=True)
    compare([str(tmp_path / "stopped")], ("generic",))


def test_those_of_arm_agree_in_an_emulator(tmp_path: Path) -> None:
    tools = ("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
    if platform.machine() == "aarch64" or not all(map(shutil.which, tools)):
        pytest.skip(f"needs {' and '.join(tools)} (Debian: gcc-aarch64-linux-gnu, qemu-user-static)")
    compare([tools[1], str(compiled(tools[0], tmp_path / "sets", "-static"))], ("arm64_dotprod",))
