"""Tests on several processes: what one file leaves for the next, and that nothing that goes wrong is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import together_run
from together_run import ordered

SHARED = """
import os, pytest

@pytest.fixture(scope="module")
def of_the_file():
    yield
    open("{log}", "a").write("gone ")

def test_one(of_the_file): pass
def test_two(of_the_file, tiny_tools):
    open("{log}", "a").write(f"two:{{os.getpid()}}:{{tiny_tools}} ")
"""


def together(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, together_run.__file__, "--files", str(folder), "--rootdir", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_fails_and_who_dies_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "test_large.py").write_text("import os\ndef test_dies(): os.abort()\n" + "#" * 999)
    (tmp_path / "test_fails.py").write_text("def test_wrong(): assert 1 == 2, 'as it must'\n")
    (tmp_path / "test_broken.py").write_text("import no_such_module\n")
    (tmp_path / "test_good.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_good(n): pass\n"
        "@pytest.mark.full\ndef test_long(): pass\ndef test_not_here(): pytest.skip('no')\n"
        "@pytest.mark.diagonal\n@pytest.mark.parametrize('a', range(2))\n@pytest.mark.parametrize('b', range(4))\n"
        "def test_each_once(a, b): assert a == b % 2\n"
    )
    done = together(tmp_path, "--processes", "1", "-p", "no:cacheprovider")
    assert done.returncode == 1
    for told in ("died by SIGABRT in", "test_large.py::test_dies; the rest of", "as it must", "no_such_module"):
        assert told in done.stdout
    counts = done.stdout.splitlines()[-1].split(", ")
    assert sorted(counts) == ["1 died", "1 error", "1 failed", "1 skipped", "7 passed"]


def test_what_a_file_made_is_gone_before_the_next_one_and_what_the_session_made_stays(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text(SHARED.format(log=log))
    done = together(tmp_path, "--processes", "2", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "12 passed"
    told = log.read_text().split()
    assert len(told) == 12 and told.count("gone") == 6
    seen = {one for one in told if one != "gone"}
    assert len(seen) == len({one.split(":")[1] for one in seen}) <= 2


def test_what_takes_long_begins_first(tmp_path: Path) -> None:
    texts = {
        "small": "",
        "large": "#" * 100,
        "real": "@pytest.mark.real",
        "installs": "@pytest.mark.install",
        "shares": "def test_it(real: Path): pass",
        "shares_too": "def test_it(real: Path): pass  # larger",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = [path.name for path in ordered([tmp_path / name for name in texts])]
    assert found == ["shares_too", "installs", "real", "shares", "large", "small"]
