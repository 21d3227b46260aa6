"""Builds our arithmetic in C with the address and undefined-behaviour sanitizers, and runs what uses it hardest.

A command: `sanitize_run.py --help`. First, every set of instructions that this CPU has reads texts in a program without
Python; then the tests of weights, encoders and scoring run in a Python that has the sanitizers in front of everything,
on a copy of the package. Whatever the sanitizers find ends a test. Needs gcc or clang with their libraries; exit code 2
where these are not there, 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from instruction_sets import BESIDES, SETS

from edgeret.host import instruction_set

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "wheels"))

from targets import CORE_LIBRARY, compile_with  # noqa: E402

SANITIZERS = "-fsanitize=address,undefined,float-cast-overflow"
FLAGS = (
    *("-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", SANITIZERS),
    *("-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-pthread"),
)
OPTIONS = {
    # Python keeps what it allocates until it ends, and so do the libraries beside ours; hnswlib frees by `delete` what
    # it had from `malloc`.
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:alloc_dealloc_mismatch=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}
TESTS = (
    *("tests/encoders/test_weights_finite.py", "tests/encoders/test_core_encoder.py"),
    *("tests/encoders/test_shared_texts.py", "tests/encoders/test_encoder_batch.py", "tests/test_native.py"),
    *("tests/runtime/test_request.py", "tests/runtime/test_learning_bounds.py", "tests/runtime/test_hybrid.py"),
)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="gcc", help="gcc or clang (default: %(default)s)")
    parser.add_argument("tests", nargs="*", default=TESTS, help="tests to run instead of those that are run by default")
    options = parser.parse_args()
    libraries = runtime_libraries(options.compiler)
    if libraries is None or instruction_set() not in SETS:
        sys.stderr.write(f"sanitize_run: no {options.compiler} with sanitizers here, or no such CPU\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="edgeret-sanitized-") as folder:
        place = Path(folder)
        return sets_of_this_cpu(options.compiler, place) or in_python(options.compiler, place, libraries, options.tests)


def runtime_libraries(compiler: str) -> str | None:
    """What must be loaded before Python, as LD_PRELOAD takes it; None where it is not there."""
    if shutil.which(compiler) is None or sys.platform != "linux":
        return None
    names = ("libasan.so", "libubsan.so") if "clang" not in compiler else ("libclang_rt.asan-x86_64.so",)
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in names
    ]
    return " ".join(found) if all(Path(file).is_file() for file in found) else None


def sets_of_this_cpu(compiler: str, place: Path) -> int:
    """Runs transformer_sets.c; its exit code."""
    program, own = place / "sets", ROOT / "core" / "src"
    sources = [*(own / f"{name}.c" for name in ("transform", "workers", "cpu"))]
    sources.append(ROOT / "tests" / "encoders" / "transformer_sets.c")
    include = ("-I", str(own))
    static = () if "clang" in compiler else ("-static-libasan",)
    subprocess.run([compiler, *FLAGS, *static, *include, "-o", program, *sources, "-lm"], check=True)
    here = instruction_set()
    more = ("avx_vnni",) if " avx_vnni " in Path("/proc/cpuinfo").read_text() else ()
    names = dict.fromkeys(("generic", here, *BESIDES.get(here, ()), *more))
    numbers = [str(SETS.index(name)) for name in names]
    return subprocess.run([program, *numbers], env={**os.environ, **OPTIONS}, check=False).returncode


def in_python(compiler: str, place: Path, libraries: str, tests: Sequence[str]) -> int:
    """Runs tests on a copy of the package whose library has the sanitizers; their exit code."""
    # Without sources beside it, a library is taken as it is.
    left_out = shutil.ignore_patterns("__pycache__", "*.so", "*.[ch]")
    shutil.copytree(ROOT / "edgeret", place / "edgeret", ignore=left_out)
    slow = replace(CORE_LIBRARY, level=lambda root, stem: ("-O1",))
    compile_with((compiler, *FLAGS), slow, ROOT, place / CORE_LIBRARY.file())
    environment = {
        **os.environ,
        **OPTIONS,
        "LD_PRELOAD": libraries,
        "PYTHONPATH": os.pathsep.join(map(str, (place, ROOT / "export", ROOT / "bench"))),
    }
    found = f"the_library(); assert {str(place)!r} in str(built.CORE)"
    check = f"from edgeret.core import built; from edgeret.core.library import the_library; {found}"
    # In the copy's folder, since Python looks where it is run before anywhere else.
    subprocess.run([sys.executable, "-c", check], env=environment, cwd=place, check=True)
    settings = ("-q", "-x", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT)
    chosen = [ROOT / test for test in tests]
    command = [sys.executable, "-m", "pytest", *settings, "--capture=no", *chosen]
    return subprocess.run(command, env=environment, cwd=place, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
