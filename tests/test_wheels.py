"""Wheels for eight platforms keep their platforms' rules, and rules find what is wrong. One is installed and used."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from fresh_environment import make_environment

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "wheels"))

from rules import problems  # noqa: E402
from targets import TARGETS, BuildError, chosen, compile_for, compile_with, hash_of_sources, here  # noqa: E402

from edgeret import kernel  # noqa: E402

needs_tools = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("ziglang", "auditwheel", "macholib", "pefile")),
    reason="needs the extra wheels: make wheels installs it",
)


def test_the_package_and_its_build_hash_the_same_sources() -> None:
    assert hash_of_sources(ROOT) == kernel._made_of("")  # noqa: SLF001


def test_an_unknown_platform_is_told_the_known_ones() -> None:
    with pytest.raises(BuildError, match=r"'amiga' is none of manylinux-x86_64, .* or here"):
        chosen("amiga")


def test_a_compiler_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no-such-compiler cannot be run"):
        compile_with(("no-such-compiler",), (), ROOT, tmp_path / "library")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All eight: of EDGERET_WHEELS, a folder, or built now, which takes minutes."""
    if given := os.environ.get("EDGERET_WHEELS"):
        return Path(given)
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, str(ROOT / "wheels" / "make.py"), "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def of(wheels: Path, name: str) -> Path:
    return next(wheels.glob(f"edgeret-*{TARGETS[name].tag}.whl"))


@needs_tools
@pytest.mark.install
@pytest.mark.parametrize("name", TARGETS)
def test_a_wheel_keeps_its_platforms_rules(wheels: Path, name: str) -> None:
    assert problems(of(wheels, name), TARGETS[name], ROOT) == []


@needs_tools
@pytest.mark.install
@pytest.mark.parametrize(
    ("name", "other", "told"),
    [
        ("manylinux-x86_64", "musllinux-x86_64", "libraries that not every Linux has"),
        ("macos-x86_64", "macos-arm64", "least version"),
        ("windows-amd64", "windows-arm64", "not for win_amd64"),
    ],
)
def test_another_platforms_library_is_found_out(wheels: Path, tmp_path: Path, name: str, other: str, told: str) -> None:
    held = f"edgeret/kernel/{TARGETS[name].library}"
    forged = tmp_path / of(wheels, name).name
    with (
        zipfile.ZipFile(of(wheels, name)) as right,
        zipfile.ZipFile(of(wheels, other)) as wrong,
        zipfile.ZipFile(forged, "w") as made,
    ):
        for item in right.namelist():
            made.writestr(item, (wrong if item == held else right).read(item))
    assert any(told in problem for problem in problems(forged, TARGETS[name], ROOT))


@needs_tools
@pytest.mark.install
@pytest.mark.skipif(here() not in TARGETS, reason="no wheel is made for this machine")
def test_the_one_for_this_machine_decides_where_there_is_no_compiler(
    wheels: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, tiny_original: Path
) -> None:
    python = make_environment(tmp_path_factory, "edgeret[cpu]", wheel=of(wheels, here())) / "python"
    script = (
        "import sys, edgeret; from edgeret import kernel; from edgeret.host import instruction_set; "
        "assert kernel.LIBRARY is not None and 'site-packages' in str(kernel.FILE); "
        "here = kernel.INSTRUCTION_SETS[kernel.LIBRARY.edgeret_instruction_set()]; "
        "assert here == instruction_set() or instruction_set() == 'arm64', (here, instruction_set()); "
        "print(edgeret.load(sys.argv[1]).task('find my lease').next().reason)"
    )
    command = [str(python), "-c", script, str(tiny_original)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": str(python.parent)}, check=False
    )
    assert done.returncode == 0, done.stderr


@needs_tools
def test_bytes_do_not_depend_on_where_the_checkout_is(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "edgeret" / "kernel"
    elsewhere.mkdir(parents=True)
    for file in (ROOT / "edgeret" / "kernel").glob("*.[ch]"):
        (elsewhere / file.name).write_bytes(file.read_bytes())
    target = TARGETS["macos-arm64"]
    made = [tmp_path / folder / target.library for folder in ("one", "other")]  # a signature holds the file's name
    for library, root in zip(made, (ROOT, tmp_path / "elsewhere"), strict=True):
        library.parent.mkdir()
        compile_for(target, root, library)
    assert made[0].read_bytes() == made[1].read_bytes()
