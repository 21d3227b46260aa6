"""Whether a wheel keeps its platform's rules: what its libraries need of the system, since when, and for which CPU.

Linux by auditwheel, macOS by the load commands, Windows by the imports. Reads files alone, so that every platform's are
checked on any. Knows nothing of how a wheel is made.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from targets import CORE_LIBRARY, Library, Target, hash_of_sources

SYSTEM_DLLS = re.compile(r"(kernel32|ntdll|api-ms-win-crt-[a-z]+-l1-1-0)\.dll", re.IGNORECASE)
"""What Windows itself has: the universal C runtime is part of it from 10 on, and comes with Python before."""
PLACES = (b"/tmp/", b"/home/", b"/root/", b"/Users/", b"C:\\Users")
"""What a path of the machine that compiled would begin with."""
_DOTS_X86 = re.compile(rb"\x62[\x00-\xff]{2}[\x40-\x4f]\x50", re.DOTALL)  # vpdpbusd on registers of 64 bytes
_MACHINES = {"x86_64": 0x8664, "amd64": 0x8664, "arm64": 0xAA64}
_CPU_TYPES = {"x86_64": 0x01000007, "arm64": 0x0100000C}


def problems(wheel: Path, target: Target, root: Path) -> list[str]:
    """What is wrong with a wheel, a sentence each; `root` is the checkout that it was made of."""
    with tempfile.TemporaryDirectory(prefix="edgeret-rules-") as folder, zipfile.ZipFile(wheel) as archive:
        wanted = CORE_LIBRARY.file(target.suffix).as_posix()
        libraries = [name for name in archive.namelist() if name.endswith((".so", ".dll", ".dylib", ".pdb", ".lib"))]
        if libraries != [wanted]:
            return [f"expected {wanted} and no other library, found {', '.join(libraries) or 'none'}"]
        found = list(_of_the_tag(archive, target))
        file = Path(archive.extract(wanted, folder))
        of_system = _linux if "linux" in target.tag else _macos if "macos" in target.tag else _windows
        every = (*_of_any(file, CORE_LIBRARY, target, root), *of_system(file, CORE_LIBRARY, target))
        found += [f"{file.name}: {problem}" for problem in every]
        if "linux" in target.tag and not found:  # of a stranger's library it would look for what that needs
            found += _by_auditwheel(wheel, target)
        return found


def _of_the_tag(archive: zipfile.ZipFile, target: Target) -> Iterator[str]:
    told = next(name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
    lines = archive.read(told).decode().splitlines()
    # ctypes loads the library, so that every Python from 3 on may have it.
    for line in ("Root-Is-Purelib: false", *(f"Tag: py3-none-{tag}" for tag in target.tag.split("."))):
        if line not in lines:
            yield f"{told}: expected the line {line!r}"


def _of_any(file: Path, library: Library, target: Target, root: Path) -> Iterator[str]:
    data = file.read_bytes()
    if hash_of_sources(root, library).encode() not in data:
        yield "made of other sources"
    for place in (*PLACES, str(root).encode()):
        if place in data:
            yield f"holds a path of the machine that compiled it: {place.decode()}…"
    x86 = "x86_64" in target.triple
    if not (_DOTS_X86.search(data) if x86 else _has_dots(data)):
        yield f"no {'AVX-512 VNNI' if x86 else 'ARM dot product'} in it: it was compiled without"


def _has_dots(data: bytes) -> bool:
    """Whether some aligned word is ARM's sdot of 16 bytes."""
    words = memoryview(data[: len(data) & ~3]).cast("I")
    return any(word & 0xFFE0FC00 == 0x4E809400 for word in words)


def _linux(file: Path, library: Library, target: Target) -> Iterator[str]:
    from elftools.elf.elffile import ELFFile

    with file.open("rb") as opened:
        tags = ELFFile(opened).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")
        needed = {tag.needed for tag in tags}
    musl, glibc = {"libc.so"}, {"libc.so.6", "libm.so.6", "libpthread.so.0"}
    if strangers := needed - (musl if "musl" in target.triple else glibc):
        yield f"libraries that not every Linux has: {', '.join(sorted(strangers))}"


def _by_auditwheel(wheel: Path, target: Target) -> Iterator[str]:
    from auditwheel.libc import Libc
    from auditwheel.wheel_abi import analyze_wheel_abi

    musl, least = "musl" in target.triple, target.tag.split(".")[0]
    # musl's one library is called libc.so; on Debian auditwheel would read a text of that name that belongs to glibc.
    given, known = (Libc.MUSL, frozenset({"libc.so"})) if musl else (Libc.GLIBC, frozenset[str]())
    said = analyze_wheel_abi(given, None, wheel, known, disable_isa_ext_check=False, allow_graft=False)
    if said.overall_policy.name != least:
        yield f"auditwheel: expected {least}, it says {said.overall_policy.name}"


def _macos(file: Path, library: Library, target: Target) -> Iterator[str]:
    from macholib.mach_o import LC_BUILD_VERSION, LC_CODE_SIGNATURE, LC_ID_DYLIB, LC_LOAD_DYLIB, LC_VERSION_MIN_MACOSX
    from macholib.MachO import MachO

    _, major, minor, machine = target.tag.split("_", 3)
    headers = MachO(str(file)).headers
    if [header.header.cputype & 0xFFFFFFFF for header in headers] != [_CPU_TYPES[machine]]:
        yield f"not for {machine}"
    commands = [(kind.cmd, body, data) for header in headers for kind, body, data in header.commands]
    least = [body.version if kind == LC_VERSION_MIN_MACOSX else body.minos for kind, body, _ in commands
             if kind in (LC_VERSION_MIN_MACOSX, LC_BUILD_VERSION)]  # fmt: skip
    if [int(version) for version in least] != [int(major) << 16 | int(minor) << 8]:
        yield f"expected macOS {major}.{minor} as the least version, found {[hex(int(v)) for v in least]}"
    names = {kind: data.rstrip(b"\0").decode() for kind, _, data in commands if kind == LC_ID_DYLIB}
    needed = [data.rstrip(b"\0").decode() for kind, _, data in commands if kind == LC_LOAD_DYLIB]
    if names != {LC_ID_DYLIB: f"@rpath/{file.name}"} or needed != ["/usr/lib/libSystem.B.dylib"]:
        yield f"expected a library @rpath/{file.name} that needs libSystem alone, found {names} and {needed}"
    if machine == "arm64" and LC_CODE_SIGNATURE not in [kind for kind, _, _ in commands]:
        yield "no code signature, without which macOS on ARM loads nothing"


def _windows(file: Path, library: Library, target: Target) -> Iterator[str]:
    import pefile

    with pefile.PE(str(file)) as read:
        if read.FILE_HEADER.Machine != _MACHINES[target.tag.removeprefix("win_")]:
            yield f"not for {target.tag}"
        needed = [entry.dll.decode() for entry in read.DIRECTORY_ENTRY_IMPORT]
        if strangers := [name for name in needed if not SYSTEM_DLLS.fullmatch(name)]:
            yield f"DLLs that not every Windows has: {', '.join(strangers)}"
        names = {symbol.name for symbol in read.DIRECTORY_ENTRY_EXPORT.symbols}
        if not {b"edgeret_sources", b"er_load", b"er_next"} <= names:
            yield "exports no functions of ours"
