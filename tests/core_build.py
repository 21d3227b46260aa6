"""The core, compiled once a content by the system's C compiler."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

CORE = Path(__file__).parents[1] / "core"
FLAGS = ("-std=c11", "-O2", "-g", "-fPIC", "-fvisibility=default", "-Wall", "-Wextra", "-Wno-unused-parameter")
Library = Callable[..., ctypes.CDLL]


@pytest.fixture(scope="session")
def core_library(request: pytest.FixtureRequest) -> Library:
    """Gives a library of the named sources, `core_library("json", "probe_json")`; common.c and utf8.c are in all."""
    kept = Path(request.config.cache.mkdir("core"))

    def library(*names: str) -> ctypes.CDLL:
        sources = [_source(name) for name in dict.fromkeys(("common", "utf8", *names))]
        return ctypes.CDLL(str(compiled(sources, kept)))

    return library


@pytest.fixture(scope="session")
def core(core_library: Library) -> ctypes.CDLL:
    """All of it, as it ships."""
    return core_library(*(path.stem for path in sorted((CORE / "src").glob("*.c"))))


def _source(name: str) -> Path:
    path = CORE / "src" / f"{name}.c"
    return path if path.exists() else CORE / "test" / f"{name}.c"


def compiled(sources: list[Path], kept: Path) -> Path:
    """The shared object of these sources."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    flags = (*FLAGS, *os.environ.get("CORE_CFLAGS", "").split())
    headers = sorted((CORE / "src").glob("*.h")) + sorted((CORE / "include").glob("*.h"))
    told = hashlib.sha256(repr((compiler, flags)).encode())
    for path in (*sources, *headers):
        told.update(path.name.encode() + b"\0" + path.read_bytes())
    target = kept / f"{told.hexdigest()[:24]}.so"
    with FileLock(f"{target}.lock"):
        if not target.exists():
            made = target.with_suffix(f".{os.getpid()}")
            include = (f"-I{CORE / 'include'}", f"-I{CORE / 'src'}")
            command = [compiler, *flags, *include, "-shared", "-o", str(made), *map(str, sources), "-lm", "-lpthread"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise AssertionError(f"{' '.join(command)}\n{done.stderr}")
            made.replace(target)
    return target
