"""The core for tests: the library that Python loads, and parts of it with probes, compiled once a content by the
system's C compiler."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from filelock import FileLock

from edgeret.core import built

CORE = Path(__file__).parents[1] / "core"
FLAGS = ("-std=c11", "-O1", "-fPIC", "-fvisibility=default", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-psabi")
Library = Callable[..., ctypes.CDLL]


@pytest.fixture(scope="session")
def core_library(request: pytest.FixtureRequest) -> Library:
    """Gives a library of the named sources, `core_library("json", "probe_json")`; common.c, format.c and utf8.c are in
    all."""
    kept = Path(request.config.cache.mkdir("core"))

    def library(*names: str) -> ctypes.CDLL:
        sources = [_source(name) for name in dict.fromkeys(("common", "format", "utf8", *names))]
        return ctypes.CDLL(str(compiled(sources, kept)))

    return library


@pytest.fixture(scope="session")
def core() -> ctypes.CDLL:
    """All of it, as it ships: what was compiled when edgeret was installed here."""
    return ctypes.CDLL(str(built.CORE))


@pytest.fixture(scope="session")
def failing_core(request: pytest.FixtureRequest) -> ctypes.CDLL:
    """All of it, with an allocator that fails when `probe_fail` tells it to."""
    sources = [*sorted((CORE / "src").glob("*.c")), CORE / "test" / "probe_allocate.c"]
    flags = ("-DER_ALLOCATE=probe_allocate", "-include", str(CORE / "test" / "probe_allocate.h"))
    # Most sources know nothing of it, and are compiled for other tests as well.
    allocating = {source for source in sources if "ER_ALLOCATE" in source.read_text(encoding="utf-8")}
    kept = Path(request.config.cache.mkdir("core"))
    library = ctypes.CDLL(str(compiled(sources, kept, dict.fromkeys(allocating, flags))))
    library.probe_fail.restype, library.probe_fail.argtypes = ctypes.c_longlong, (ctypes.c_longlong,)
    return library


def _source(name: str) -> Path:
    path = CORE / "src" / f"{name}.c"
    return path if path.exists() else CORE / "test" / f"{name}.c"


def compiled(sources: list[Path], kept: Path, more: Mapping[Path, tuple[str, ...]] | None = None) -> Path:
    """The shared object of these sources; each of them is compiled once, whatever libraries it is in. `more` flags
    are a source's own."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    command = (compiler, *FLAGS, *os.environ.get("CORE_CFLAGS", "").split())
    told = hashlib.sha256()
    for path in (header for folder in ("src", "include", "test") for header in sorted((CORE / folder).glob("*.h"))):
        told.update(path.name.encode() + b"\0" + path.read_bytes())
    # Two processes that want the same begin at either end.
    order = sources if os.getpid() % 2 else sources[::-1]
    own = more or {}
    objects = {source: _object(source, (*command, *own.get(source, ())), told.digest(), kept) for source in order}
    made_of = [str(objects[source]) for source in sources]
    target = kept / f"{hashlib.sha256(repr(made_of).encode()).hexdigest()[:24]}.so"
    _once(target, [*command, "-shared"], [*made_of, "-lm", "-lpthread"])
    return target


def _object(source: Path, command: tuple[str, ...], told: bytes, kept: Path) -> Path:
    """The source, compiled."""
    content = hashlib.sha256(told + repr((command, source.name)).encode() + b"\0" + source.read_bytes())
    target = kept / f"{source.stem}-{content.hexdigest()[:24]}.o"
    include = (f"-I{CORE / 'include'}", f"-I{CORE / 'src'}")
    _once(target, [*command, *include], ["-c", str(source)])
    return target


def _once(target: Path, command: list[str], rest: list[str]) -> None:
    """Runs a command that makes a file, in whichever process is first."""
    with FileLock(f"{target}.lock"):
        if not target.exists():
            made = target.with_suffix(f".{os.getpid()}")
            whole = [*command, "-o", str(made), *rest]
            done = subprocess.run(whole, capture_output=True, text=True)
            if done.returncode:
                raise AssertionError(f"{' '.join(whole)}\n{done.stderr}")
            made.replace(target)
