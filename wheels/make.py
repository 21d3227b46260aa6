"""Builds all distributions into a folder, edgeret for every platform, and checks each by its rules: `make wheels`.

    python wheels/make.py -o dist [--only manylinux-x86_64,export,…] [--twice] [--needs]

Needs the extra `wheels`; knows nothing of what is compiled (targets.py) nor of the rules (rules.py).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from rules import problems  # what it reads files with is imported when a file is read
from targets import TARGETS, ZIG

ROOT = Path(__file__).parents[1]
NEEDED = ("ziglang", "hatchling", "auditwheel", "macholib", "pefile")
PURE = {"export": ROOT / "export", "bench": ROOT / "bench", "minilm": ROOT / "wheels" / "minilm"}
"""Those without a library, which fit every platform, by what stands behind `edgeret-` in their names."""
BASE = PURE["minilm"] / "base"
LARGEST_MB = {**dict.fromkeys(TARGETS, 8), "minilm": 26}
"""What a device is asked to download, at most."""


def main() -> int:
    """0; 1 where a wheel breaks a rule or is other bytes when built again; 2 where something needed is not there."""
    parser = argparse.ArgumentParser(description="Build all distributions, edgeret for every platform.")
    parser.add_argument("-o", "--output", type=Path, default=Path("dist"), help="where the wheels go")
    known = [*TARGETS, *PURE]
    parser.add_argument("--only", metavar="a,b", help=f"some of {', '.join(known)} (default: all that can be built)")
    parser.add_argument("--twice", action="store_true", help="build each again, from nothing, and compare the bytes")
    parser.add_argument("--needs", action="store_true", help="print what must be installed, and stop")
    options = parser.parse_args()
    if options.needs:
        # Not the extra itself: that would install edgeret, and with it compile its library.
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        print(" ".join(project["optional-dependencies"]["wheels"]))
        return 0
    names = options.only.split(",") if options.only else [*TARGETS, "export", "bench", *(["minilm"] * BASE.is_dir())]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
    if "minilm" in names and not BASE.is_dir():
        print(f"{BASE.relative_to(ROOT)}: not there; run make minilm, which builds it", file=sys.stderr)
        return 2
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        print(f"{', '.join(missing)}: not installed; run make wheels, or pip install '.[wheels]'", file=sys.stderr)
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    failed = [name for name in names if not made(name, options.output, options.twice)]
    print(f"{len(names) - len(failed)} of {len(names)} wheels are in {options.output} and keep their rules")
    return 1 if failed else 0


def made(name: str, to: Path, twice: bool) -> bool:
    """Builds and checks one wheel; prints what it is and what is wrong with it."""
    try:
        wheel = build(name, to)
        found = problems(wheel, TARGETS[name], ROOT) if name in TARGETS else []
        if wheel.stat().st_size > LARGEST_MB.get(name, 1e3) * 1e6:
            found.append(f"larger than {LARGEST_MB[name]} MB")
        if twice and not found:
            with tempfile.TemporaryDirectory(prefix="edgeret-wheel-") as folder:
                caches = {kind: f"{folder}/{kind}" for kind in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
                if build(name, Path(folder), caches).read_bytes() != wheel.read_bytes():
                    found = ["built again, it is other bytes"]
    except subprocess.CalledProcessError as error:
        print(f"{name}: {error.stderr[-1500:]}\n{name}: not built; with {ZIG} it is known to work", file=sys.stderr)
        return False
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    print(f"{wheel.name}  {wheel.stat().st_size / 1e6:.2f} MB  sha256 {digest}", flush=True)
    for problem in found:
        print(f"  {problem}", file=sys.stderr)
    return not found


def build(name: str, to: Path, more: dict[str, str] | None = None) -> Path:
    """One wheel in a folder, in the place of what was built before. Raises CalledProcessError."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch(), **(more or {})}
    if name in TARGETS:
        environment["EDGERET_TARGET"] = name
    called = f"edgeret-*-{TARGETS[name].tag}.whl" if name in TARGETS else f"edgeret_{name}-*.whl"
    for old in to.glob(called):
        old.unlink()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(to.resolve())]
    run(command, environment, PURE.get(name, ROOT))
    return next(to.glob(called))


def epoch() -> str:
    """When what is built was committed, in seconds: the time of all files in a wheel."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return given
    try:
        return run(["git", "log", "-1", "--format=%ct"], dict(os.environ)).strip()
    except (OSError, subprocess.CalledProcessError):
        return "1577836800"  # no checkout: 2020-01-01


def run(command: Sequence[str], environment: dict[str, str], folder: Path = ROOT) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=environment).stdout


if __name__ == "__main__":
    sys.exit(main())
