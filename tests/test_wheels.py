"""Wheels for eight platforms keep their platforms' rules, and rules find what is wrong. One is installed and used."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from fresh_environment import make_environment

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "wheels"))

from rules import problems  # noqa: E402
from targets import (  # noqa: E402
    CORE_LIBRARY,
    TARGETS,
    BuildError,
    chosen,
    compile_for,
    compile_with,
    hash_of_sources,
    here,
    made_of,
)

from edgeret.core import built  # noqa: E402

needs_tools = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("ziglang", "auditwheel", "macholib", "pefile")),
    reason="needs the extra wheels: make wheels installs it",
)


def test_the_package_and_its_build_hash_the_same_sources() -> None:
    core = ROOT / "core"
    assert hash_of_sources(ROOT, CORE_LIBRARY) == built.made_of("", core / "include", core / "src")
    assert ROOT / CORE_LIBRARY.file(built.SUFFIX) == built.CORE


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_what_is_compiled_once_is_known_by_sources_flags_and_compiler(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "core", tmp_path / "core", ignore=shutil.ignore_patterns("build", "*.so"))
    told = made_of(("cc",), CORE_LIBRARY, tmp_path)
    assert told == made_of(("cc",), CORE_LIBRARY, ROOT)
    slower = replace(CORE_LIBRARY, level=lambda root, stem: ("-O0",))
    others = [made_of(("cc", "-m64"), CORE_LIBRARY, ROOT), made_of(("cc",), slower, ROOT)]
    (tmp_path / "core" / "src" / "common.c").write_text("int x;")
    others.append(made_of(("cc",), CORE_LIBRARY, tmp_path))
    assert len({told, *others}) == 4


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_a_core_of_other_sources_is_noticed(tmp_path: Path) -> None:
    found = []
    for told in (hash_of_sources(ROOT, CORE_LIBRARY), "0" * 64, None):
        source, made = tmp_path / "told.c", tmp_path / f"{len(found)}.so"
        source.write_text("int x;" if told is None else f'const char edgeret_sources[] = "{told}";')
        subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
        found.append(built.is_core_of_here(ctypes.CDLL(str(made))))
    assert found == [True, False, False]


def test_an_unknown_platform_is_told_the_known_ones() -> None:
    with pytest.raises(BuildError, match=r"'amiga' is none of manylinux-x86_64, .* or here"):
        chosen("amiga")


def test_a_compiler_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no-such-compiler cannot be run"):
        compile_with(("no-such-compiler",), CORE_LIBRARY, ROOT, tmp_path / "library")


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
    held = CORE_LIBRARY.file(TARGETS[name].suffix).as_posix()
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
        "import sys, edgeret; from edgeret.core import built; from edgeret.host import instruction_set; "
        "assert 'site-packages' in str(built.CORE); here = built.widest_set(); "
        "assert here == instruction_set() or instruction_set() == 'arm64', (here, instruction_set()); "
        "import ctypes; core = ctypes.CDLL(str(built.CORE)); "
        "assert built.is_core_of_here(core) and core.er_version; "
        "print(edgeret.load(sys.argv[1]).task('find my lease').next().reason)"
    )
    command = [str(python), "-c", script, str(tiny_original)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": str(python.parent)}, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_spec("hatchling") is None, reason="needs the extra wheels: make wheels installs it")
def test_the_source_distribution_has_all_that_is_compiled() -> None:
    from hatchling.builders.sdist import SdistBuilder

    held = {file.distribution_path for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    wanted = {
        file.relative_to(ROOT).as_posix() for folder in CORE_LIBRARY.folders for file in (ROOT / folder).glob("*.[ch]")
    }
    assert len(wanted) > 100 and wanted <= held
    assert {"core/build.py", "wheels/targets.py", "hatch_build.py"} <= held


@needs_tools
@pytest.mark.full
def test_bytes_do_not_depend_on_where_the_checkout_is(tmp_path: Path) -> None:
    library = CORE_LIBRARY
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(ROOT / "core", elsewhere / "core", ignore=shutil.ignore_patterns("build"))
    target = TARGETS["macos-arm64"]
    made = [tmp_path / folder / library.file().name for folder in ("one", "other")]  # a signature holds the file's name
    for file, root in zip(made, (ROOT, elsewhere), strict=True):
        file.parent.mkdir()
        compile_for(target, library, root, file)
    assert made[0].read_bytes() == made[1].read_bytes()
