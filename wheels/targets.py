"""How edgeret/kernel/*.c become a library: by this machine's compiler, or for any of eight platforms by zig's.

hatch_build.py reads this; it needs the standard library alone, and knows nothing of wheels but their tags.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KERNEL = Path("edgeret", "kernel")
# Nobody reads errno or floating-point traps; without both, loops over probabilities are vectors.
# Vectors of 64 bytes are passed between inlined functions alone, so no ABI is touched.
FLAGS = (
    *("-O3", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"),
    *("-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"),
)
ZIG = "ziglang==0.17.1"
"""A compiler in a wheel, for every platform (MIT, about 90 MB). Another version writes other bytes, so it is pinned."""
WITHOUT_COMPILER = (
    "Set EDGERET_TARGET=here, and the build fetches one from the package index; or set EDGERET_PURE=1 for a package "
    "without it, which decides more slowly"
)
ADVICE = (
    "Install one (Debian, and slim images: apt-get install gcc libc6-dev; Alpine: apk add gcc musl-dev; macOS: "
    f"xcode-select --install). Or: {WITHOUT_COMPILER}"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A platform that a wheel is for: what zig calls it, what the wheel's tag does, and the library's file."""

    triple: str
    tag: str
    library: str = "_kernel.so"
    flags: tuple[str, ...] = ()


# A library must not hold the path that it was compiled to, as macOS's do without a name of their own.
_NAMED = ("-Wl,-install_name,@rpath/_kernel.so",)
TARGETS = {
    "manylinux-x86_64": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    "manylinux-aarch64": Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    "musllinux-x86_64": Target("x86_64-linux-musl", "musllinux_1_2_x86_64"),
    "musllinux-aarch64": Target("aarch64-linux-musl", "musllinux_1_2_aarch64"),
    "macos-x86_64": Target("x86_64-macos.10.13", "macosx_10_13_x86_64", flags=_NAMED),
    "macos-arm64": Target("aarch64-macos.11.0", "macosx_11_0_arm64", flags=_NAMED),
    "windows-amd64": Target("x86_64-windows-gnu", "win_amd64", "_kernel.dll"),
    "windows-arm64": Target("aarch64-windows-gnu", "win_arm64", "_kernel.dll"),
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


def hash_of_sources(root: Path) -> str:
    """What a library tells of the sources that it was made of, and `edgeret.kernel` compares with a checkout's."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted((root / KERNEL).glob("*.[ch]")))).hexdigest()


def compile_for(target: Target, root: Path, to: Path) -> None:
    """Writes the library of one platform to a file, with zig. Raises BuildError where that fails."""
    # -s: names and lines for debuggers hold paths of the machine that compiled.
    flags = (*FLAGS, *target.flags, "-s")
    compile_with((sys.executable, "-m", "ziglang", "cc", "-target", target.triple), flags, root, to)
    for beside in (to.with_suffix(".pdb"), to.with_suffix(".lib"), to.with_name("kernel.lib")):
        beside.unlink(missing_ok=True)


def compile_with(compiler: Sequence[str], flags: Sequence[str], root: Path, to: Path) -> None:
    """Writes the library to a file; `root` is the checkout. Raises BuildError where there is none, or it fails."""
    made_of = f'-DEDGERET_SOURCES="{hash_of_sources(root)}"'
    # Relative names, so that no bytes depend on where the checkout is.
    sources = [file.relative_to(root).as_posix() for file in sorted((root / KERNEL).glob("*.c"))]
    command = [*compiler, *flags, made_of, "-o", str(to), *sources, "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    except OSError as error:
        raise BuildError(f"{compiler[0]} cannot be run: {error}") from None
    if done.returncode:
        to.unlink(missing_ok=True)
        hint = f"; install it: pip install {ZIG}" if "No module named ziglang" in done.stderr else ""
        raise BuildError(f"compiling failed: {done.stderr[-800:]}{hint}")
