"""How core/src/*.c becomes the library: by the compiler here, or by zig for eight platforms.

hatch_build.py reads this; it needs the standard library alone, and knows nothing of wheels but their tags.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ZIG = "ziglang==0.17.1"
"""A compiler in a wheel, for every platform (MIT, about 90 MB). Another version writes other bytes, so it is pinned."""
WITHOUT_COMPILER = "Set EDGERET_TARGET=here, and the build fetches one from the package index"
ADVICE = (
    "Install one (Debian, and slim images: apt-get install gcc libc6-dev; Alpine: apk add gcc musl-dev; macOS: "
    f"xcode-select --install). Or: {WITHOUT_COMPILER}"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A platform that a wheel is for: what zig calls it, what the wheel's tag does, and the library's file."""

    triple: str
    tag: str
    suffix: str = ".so"


@dataclass(frozen=True, slots=True)
class Library:
    """A library in edgeret/core: its file's `stem`, how its sources are compiled and at which `level` a source is,
    which `sources` a checkout has, and in which folders lies what its bytes depend on."""

    stem: str
    flags: Callable[[Path], Sequence[str]]
    level: Callable[[Path, str], Sequence[str]]
    sources: Callable[[Path], Sequence[Path]]
    folders: tuple[Path, ...]

    def file(self, suffix: str = ".so") -> Path:
        """Where it lies in the package, and in a checkout."""
        return Path("edgeret", "core", f"{self.stem}{suffix}")


def _core(root: Path) -> Any:
    """core/build.py, which says what the core is made of, for whatever platform."""
    file = root / "core" / "build.py"
    if not file.is_file():
        raise BuildError(f"{file}: not there; build in a checkout, or from a source distribution")
    spec = importlib.util.spec_from_file_location("edgeret_core_build", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _flags_of_core(root: Path) -> Sequence[str]:
    # Vectors of 64 bytes are passed between inlined functions alone, so no ABI is touched.
    return ("-pthread", "-Wno-psabi", *_core(root).FLAGS, "-Icore/include", "-Icore/src")


def _level_of_core(root: Path, stem: str) -> Sequence[str]:
    level: Sequence[str] = _core(root).TARGETS["linux-x86_64"].level(stem)
    return level


def _sources_of_core(root: Path) -> Sequence[Path]:
    build = _core(root)
    return list(build.sources(build.TARGETS["linux-x86_64"]))


CORE_LIBRARY = Library(
    "_core", _flags_of_core, _level_of_core, _sources_of_core, (Path("core/include"), Path("core/src"))
)
"""The whole decision behind core/include/edgeret.h."""
TARGETS = {
    "manylinux-x86_64": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    "manylinux-aarch64": Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    "musllinux-x86_64": Target("x86_64-linux-musl", "musllinux_1_2_x86_64"),
    "musllinux-aarch64": Target("aarch64-linux-musl", "musllinux_1_2_aarch64"),
    "macos-x86_64": Target("x86_64-macos.10.13", "macosx_10_13_x86_64"),
    "macos-arm64": Target("aarch64-macos.11.0", "macosx_11_0_arm64"),
    "windows-amd64": Target("x86_64-windows-gnu", "win_amd64", ".dll"),
    "windows-arm64": Target("aarch64-windows-gnu", "win_arm64", ".dll"),
}


class BuildError(Exception):
    """A library that cannot be made; the message says how to go on."""


def chosen(name: str) -> str:
    """The target of this name; `here` is this machine's. Raises BuildError for one that is not there."""
    found = here() if name == "here" else name
    if found not in TARGETS:
        raise BuildError(f"EDGERET_TARGET: {found!r} is none of {', '.join(TARGETS)}, or here for this machine's")
    return found


def here() -> str:
    """This machine's target, in the words of TARGETS; it need not be one of them."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform == "darwin":
        return f"macos-{machine.replace('aarch64', 'arm64')}"
    if sys.platform == "win32":
        return f"windows-{machine.replace('aarch64', 'arm64').replace('x86_64', 'amd64')}"
    musl = "musl" in (sysconfig.get_config_var("SOABI") or sysconfig.get_config_var("HOST_GNU_TYPE") or "")
    return f"{'musllinux' if musl else 'manylinux'}-{machine}"


def hash_of_sources(root: Path, library: Library = CORE_LIBRARY) -> str:
    """What a library tells of the sources that it was made of, and what loads it compares with a checkout's."""
    files = [file for folder in library.folders for file in sorted((root / folder).glob("*.[ch]"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def compile_for(target: Target, library: Library, root: Path, to: Path) -> None:
    """Writes the library of one platform to a file, with zig. Raises BuildError where that fails."""
    # A library must not hold the path that it was compiled to, as macOS's do without a name of their own.
    named = ("-Wl,-install_name,@rpath/" + library.file().name,) if "macos" in target.triple else ()
    # What nobody calls is left out, where the linker knows how.
    sections = () if "macos" in target.triple else ("-Wl,--gc-sections",)
    # -s: names and lines for debuggers hold paths of the machine that compiled.
    zig = (sys.executable, "-m", "ziglang", "cc", "-target", target.triple)
    compile_with(zig, library, root, to, ("-s", *sections, *named))
    for beside in (to.with_suffix(".pdb"), to.with_suffix(".lib"), to.with_name(f"{library.stem[1:]}.lib")):
        beside.unlink(missing_ok=True)


def compile_with(compiler: Sequence[str], library: Library, root: Path, to: Path, link: Sequence[str] = ()) -> None:
    """Writes the library to a file; `root` is the checkout. Raises BuildError where there is none, or it fails."""
    flags = (*library.flags(root), f'-DEDGERET_SOURCES="{hash_of_sources(root, library)}"')
    with tempfile.TemporaryDirectory(prefix="edgeret-objects-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def compiled(source: Path) -> str:
            made = Path(folder, f"{source.stem}.o")
            # Relative names, so that no bytes depend on where the checkout is.
            level, name = list(library.level(root, source.stem)), source.relative_to(root).as_posix()
            if "-Xclang" in level and "ziglang" not in compiler:
                del level[level.index("-Xclang") :]  # gcc knows no more than -Os
            _run((*compiler, *level, *flags, "-c", name, "-o", str(made)), root)
            return str(made)

        objects = list(pool.map(compiled, library.sources(root)))
        try:
            _run((*compiler, "-O2", "-shared", "-pthread", *link, "-o", str(to), *objects, "-lm"), root)
        except BuildError:
            to.unlink(missing_ok=True)
            raise


def made_of(compiler: Sequence[str], library: Library, root: Path) -> str:
    """All that the bytes of a library depend on, as a hash: the compiler and its version, flags, sources."""
    told = subprocess.run([*compiler, "--version"], capture_output=True, check=False).stdout
    levels = [(source.name, *library.level(root, source.stem)) for source in library.sources(root)]
    words = repr((*compiler, told, *library.flags(root), levels, hash_of_sources(root, library)))
    return hashlib.sha256(words.encode()).hexdigest()


def _run(command: Sequence[str], root: Path) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error}") from None
    if done.returncode:
        hint = f"; install it: pip install {ZIG}" if "No module named ziglang" in done.stderr else ""
        raise BuildError(f"compiling failed: {done.stderr[-800:]}{hint}")
