"""Wheels of other platforms, run here in emulators: `make wheels-run`.

    python tests/wheels_run.py arm64 DIST BUNDLE [--requests FILE] [--root FOLDER]
    python tests/wheels_run.py windows DIST

The first decides requests by the wheel for ARM64, with a Python of its own, and by this machine's edgeret.
The second loads Windows' library, and compares each of its sets of instructions with the plain one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "wheels")]
from targets import TARGETS  # noqa: E402

PACKAGES = (
    *(
        "python3.11-minimal",
        "libpython3.11-minimal",
        "libpython3.11-stdlib",
        "libc6",
        "zlib1g",
        "libexpat1",
        "libffi8",
        "libgcc-s1",
        "libstdc++6",
    ),
    *("libbz2-1.0", "liblzma5", "libssl3", "libuuid1", "libcrypt1", "libsqlite3-0"),
)
"""What a Python with numpy needs of Debian 12."""
CLOSE = 1e-4
DECIDE = """
import json, platform, sys
import edgeret
runtime = edgeret.load(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as lines:
    found = [runtime.task(json.loads(line)["query"]).next() for line in lines]
print(json.dumps({"machine": platform.machine(), "engine": runtime.encoder.engine,
                  "decisions": [[d.tool, d.probability] for d in found]}))
"""


def main() -> int:
    """0; 1 where something differs; 2 where what is needed is not here."""
    parser = argparse.ArgumentParser(description="Run wheels of other platforms in emulators.")
    commands = parser.add_subparsers(dest="platform", required=True)
    arm64, windows = commands.add_parser("arm64"), commands.add_parser("windows")
    for command in (arm64, windows):
        command.add_argument("dist", type=Path, help="where make wheels put the wheels")
    arm64.add_argument("bundle", type=Path)
    arm64.add_argument("--requests", type=Path, default=ROOT / "examples" / "desktop" / "requests.jsonl")
    arm64.add_argument("--root", type=Path, default=ROOT / "build" / "arm64", help="where an ARM64 Python is put")
    options = parser.parse_args()
    needed = ("qemu-aarch64-static", "apt-get", "dpkg") if options.platform == "arm64" else ("wine",)
    if missing := [name for name in needed if shutil.which(name) is None]:
        print(f"{', '.join(missing)}: not here; on Debian: apt-get install qemu-user-static wine", file=sys.stderr)
        return 2
    name = "manylinux-aarch64" if options.platform == "arm64" else "windows-amd64"
    found = list(options.dist.glob(f"edgeret-*{TARGETS[name].tag}.whl"))
    if len(found) != 1:
        print(
            f"{options.dist}: expected one wheel for {name}, found {len(found)}; make it: make wheels", file=sys.stderr
        )
        return 2
    with tempfile.TemporaryDirectory(prefix="edgeret-run-") as folder:
        with zipfile.ZipFile(found[0]) as archive:
            archive.extractall(folder)
        if options.platform == "windows":
            return windows_sets(Path(folder))
        python = arm64_python(options.root.resolve())
        return same_decisions(Path(folder), python, options.bundle.resolve(), options.requests.resolve())


def arm64_python(root: Path) -> list[str]:
    """The command of an ARM64 Python with edgeret's dependencies beside it; made once, of Debian's and PyPI's."""
    made = root / "made"
    if not made.exists():
        shutil.rmtree(root, ignore_errors=True)
        for folder in ("state/lists/partial", "cache/archives/partial", "debs", "system"):
            (root / folder).mkdir(parents=True)
        (root / "status").touch()
        # Of its own, so that this machine's packages stay of one architecture.
        apt = ["apt-get", "-qq", "-o", "APT::Architecture=arm64", "-o", "APT::Architectures::=arm64"]
        apt += ["-o", f"Dir::State={root}/state", "-o", f"Dir::Cache={root}/cache"]
        apt += ["-o", f"Dir::State::status={root}/status"]
        run([*apt, "update"])
        run([*apt, "download", *PACKAGES], cwd=root / "debs")
        for package in sorted((root / "debs").glob("*.deb")):
            run(["dpkg", "-x", str(package), str(root / "system")])
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--target", str(root / "site")]
        pip += ["--implementation", "cp", "--python-version", "311"]
        for version in ("manylinux_2_28", "manylinux_2_17", "manylinux2014"):
            pip += ["--platform", f"{version}_aarch64"]
        run([*pip, "numpy", "msgpack"])
        made.touch()
    system = root / "system"
    return ["qemu-aarch64-static", "-L", str(system), str(system / "usr" / "bin" / "python3.11")]


def same_decisions(wheel: Path, python: Sequence[str], bundle: Path, requests: Path) -> int:
    """Decides everything twice; the exit code."""
    site = Path(python[2]).parent / "site"
    there = decide(python, os.pathsep.join((str(wheel), str(site))), bundle, requests)
    here = decide([sys.executable], str(ROOT), bundle, requests)
    pairs = list(zip(there["decisions"], here["decisions"], strict=True))
    other = sum(a[0] != b[0] for a, b in pairs)
    most = max(abs(a[1] - b[1]) for a, b in pairs)
    print(
        f"{there['machine']}, {there['engine']}, and {here['machine']}, {here['engine']}: {len(pairs)} requests, "
        f"{other} decided otherwise, probabilities within {most:.1e}"
    )
    return 0 if not other and most < CLOSE else 1


def decide(python: Sequence[str], path: str, bundle: Path, requests: Path) -> dict:
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return json.loads(run([*python, "-c", DECIDE, str(bundle), str(requests)], environment=environment))


def windows_sets(wheel: Path) -> int:
    """Runs transformer_sets.c with the arithmetic of encoders, compiled for Windows; the exit code."""
    own = ROOT / "core" / "src"
    sources = [*(own / f"{name}.c" for name in ("transform", "workers", "cpu"))]
    sources.append(ROOT / "tests" / "encoders" / "transformer_sets.c")
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS["windows-amd64"].triple, "-O2"]
    run([*zig, "-I", str(own), "-o", str(wheel / "sets.exe"), *map(str, sources), "-lm"])
    environment = {**os.environ, "WINEPREFIX": str(wheel / "wine"), "WINEDEBUG": "-all"}
    from instruction_sets import SETS

    from edgeret.host import instruction_set

    of_this_cpu = {"avx512_vnni": (4, 3, 1), "avx512": (3, 1), "avx_vnni": (2, 1), "avx2": (1,)}
    numbers = [str(number) for number in of_this_cpu.get(instruction_set(), ())]
    said = run(["wine", str(wheel / "sets.exe"), *numbers], cwd=wheel, environment=environment)
    print(said)
    chosen = f"this CPU's set is {SETS.index(instruction_set())}"
    if chosen not in said:
        print(f"expected: {chosen}", file=sys.stderr)
    return 0 if chosen in said else 1


def run(command: Sequence[str], cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)
    if done.returncode:
        print(f"{' '.join(command)}\n{done.stdout[-800:]}{done.stderr[-2000:]}", file=sys.stderr)
        sys.exit(1)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
