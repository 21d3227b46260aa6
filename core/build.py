"""Builds the library for other platforms, by the one compiler of the package index (`pip install ziglang`).

    python core/build.py                   all of them, under build/core
    python core/build.py linux-arm64 wasm  these

Each gets a folder with edgeret.h, the static library and the shared one; `wasm` gets edgeret.wasm, for bindings/js, and
edgeret-decide.wasm, which decides alone. Binaryen's wasm-opt makes both smaller by 7 to 8 %, where it is installed.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CORE = Path(__file__).resolve().parent
ROOT = CORE.parent
# Nothing is thrown through the library, and nobody asks for errno or traps: tables of both are bytes for nothing.
FLAGS = (
    *("-std=c11", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-DER_BUILD"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-fomit-frame-pointer"),
    *("-ffunction-sections", "-fdata-sections"),  # what nobody calls is left out
    "-Werror=implicit-function-declaration",  # gcc 12 would link a library that cannot be loaded
    "-Werror=overflow",  # a table's number that its type cannot hold
)
# What clang unrolls beyond vectors was larger by an eighth, and no faster.
FAST, SMALL = ("-O3", "-fno-unroll-loops"), ("-Os",)
LEAST = ("-Os", "-Xclang", "-Oz")  # zig takes -Oz for -Os
LOOPS = {
    *("encode", "graph", "transform", "languages", "learn_mix", "learn_teach"),
    *("ed25519_numbers", "hnsw_walk", "pattern", "sha256", "vectors"),
}
"""Sources with loops over numbers or letters that take much of a decision."""

USED = {
    *("alike", "argument_head", "charsmap", "clauses", "common", "distinct", "evidence", "habits"),
    *("cpu", "workers", "language", "learn_memory", "learn_recall", "lexicon", "matches"),
    *("msgpack", "piece_words", "pieces", "ranking", "regex"),
    *("schema", "search", "sha256_native", "split", "stems", "suits", "tokenizer", "transformer", "unicode"),
    *("unigram", "utf8", "values", "vocabulary", "word_lists", "wordpiece", "words"),
}
"""Sources in which loading, a decision, a search or a call's arguments spend a thousandth of their instructions or more
(valgrind --tool=callgrind). All others are as small as can be, and so are nine of those that are hardly slower then
(docs/decisions/2026-11-29-a-program-that-decides-has-350-kb.md)."""


NEED_FOLDERS = {
    *("folder", "folder_windows", "disk", "disk_windows", "disk_none"),
    *("store", "store_bundles", "store_proof", "store_state"),
}
"""Sources that are of no use without a file system."""


@dataclass(frozen=True, slots=True)
class Target:
    """A platform: what zig calls it, what its shared library is called, and what else it wants."""

    triple: str
    shared: str = "libedgeret.so"
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ("-lm",)
    without: tuple[tuple[str, frozenset[str]], ...] = ()  # other libraries of it, and the sources that each leaves out

    def level(self, source: str) -> tuple[str, ...]:
        """How a source is made. The transformer has its sums unrolled by hand where it has most sets of instructions,
        and is half as large when the rest of it is made small, as fast as before. A page waits for its bytes longer
        than for a decision: only products of vectors are made fast for it."""
        if self.triple.startswith("wasm"):
            return FAST if source == "vectors" else SMALL if source in LOOPS else LEAST
        by_hand = source == "transform" and self.triple.startswith("x86_64")
        return FAST if source in LOOPS and not by_hand else SMALL if by_hand or source in USED else LEAST


# What every browser has had since 2023.
_PAGE = (
    *("-flto", "-msimd128", "-mbulk-memory", "-mnontrapping-fptoint", "-msign-ext"),
    *("-DER_STATIC", "-DER_NO_SIGNATURES"),
)
STRIPPED = ("--strip-debug", "--strip-producers", "--strip-target-features")
# Who only decides calls none of these, and the linker leaves out what only they call.
_ASKED_FOR = frozenset({"shim_more", "arguments_api", "part_arguments"})
TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.17"),
    "linux-arm64": Target("aarch64-linux-gnu.2.17"),
    "linux-arm32": Target("arm-linux-gnueabihf.2.17"),
    "linux-riscv64": Target("riscv64-linux-gnu.2.27"),
    "linux-musl-x86_64": Target("x86_64-linux-musl"),
    "macos-arm64": Target(
        "aarch64-macos.11.0", "libedgeret.dylib", link=("-Wl,-install_name,@rpath/libedgeret.dylib",)
    ),
    "macos-x86_64": Target(
        "x86_64-macos.10.13", "libedgeret.dylib", link=("-Wl,-install_name,@rpath/libedgeret.dylib",)
    ),
    "windows-x86_64": Target("x86_64-windows-gnu", "edgeret.dll"),
    "wasm": Target("wasm32-wasi", "edgeret.wasm", _PAGE, without=(("edgeret-decide.wasm", _ASKED_FOR),)),
}


def compiler() -> list[str]:
    """zig's C compiler."""
    return [sys.executable, "-m", "ziglang"]


def sources(target: Target) -> Iterator[Path]:
    """What is compiled; a page has no folders to read."""
    left_out = NEED_FOLDERS if target.shared.endswith(".wasm") else set()
    for path in sorted((CORE / "src").glob("*.c")):
        if path.stem not in left_out:
            yield path
    if target.shared.endswith(".wasm"):
        yield from (ROOT / "bindings" / "js" / name for name in ("shim.c", "shim_more.c"))


def run(command: Sequence[str | Path]) -> None:
    """Runs a compiler; its words are an error's."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "\ninstall the compiler: pip install ziglang==0.17.1" if "No module named ziglang" in done.stderr else ""
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}{hint}")


def build(name: str, to: Path, target: Target | None = None) -> Path:
    """Builds one platform's libraries; the shared one. Another `target` than the platform's own is for tests."""
    target, folder = target or TARGETS[name], to / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "objects").mkdir(parents=True)
    flags = (*FLAGS, *target.flags, f"-I{CORE / 'include'}", f"-I{CORE / 'src'}", "-target", target.triple)

    def compiled(path: Path) -> Path:
        made = folder / "objects" / f"{path.stem}.o"
        run([*compiler(), "cc", *target.level(path.stem), *flags, "-c", path, "-o", made])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources(target)))
    shared = folder / target.shared
    page = target.shared.endswith(".wasm")
    smaller = shutil.which("wasm-opt") if page else None
    # Without a level for optimising, the compiler's own library would be linked as it is debugged. And -s takes the
    # list of features away by which wasm-opt knows what it may read.
    linker = [*compiler(), "cc", "-target", target.triple, "-g" if smaller else "-s", *SMALL]
    if page:
        linker += ["-flto", "-mexec-model=reactor", "-Wl,--gc-sections"]
    else:
        run([*compiler(), "ar", "rcs", folder / "libedgeret.a", *objects])
        linker += ["-shared", *target.link, *(() if "macos" in target.triple else ("-Wl,--gc-sections",))]
    for library, left_out in ((target.shared, frozenset[str]()), *target.without):
        run([*linker, *(one for one in objects if one.stem not in left_out), "-o", folder / library])
        if smaller:
            run([smaller, folder / library, "-Oz", *STRIPPED, "-o", folder / library])
    shutil.copy(CORE / "include" / "edgeret.h", folder)
    shutil.rmtree(folder / "objects")
    return shared


def main() -> int:
    """0 if all could be built."""
    names = sys.argv[1:] or list(TARGETS)
    for name in names:
        if name not in TARGETS:
            print(f"{name}: none of {', '.join(TARGETS)}", file=sys.stderr)
            return 2
        shared = build(name, ROOT / "build" / "core")
        for made in (shared, *(shared.with_name(other) for other, _ in TARGETS[name].without)):
            size, packed = (len(part) / 1000 for part in (made.read_bytes(), gzip.compress(made.read_bytes(), 9)))
            print(f"{name:18} {size:7.0f} kB, by gzip {packed:.0f} kB  {made.relative_to(ROOT)}")
            if name == "wasm":
                shutil.copy(made, ROOT / "bindings" / "js" / made.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
