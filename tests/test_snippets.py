"""Runs what README.md and the pages of docs/ tell their readers to run, page by page. Knows nothing of what it does.

The README and the tutorial come first: what they leave in the folder, the other pages find there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import page_run
import pytest
from page_run import read_blocks

import edgeret

ROOT = Path(__file__).resolve().parents[1]
GENERATED = "docs/cli.md"
FIRST = ("README.md", "docs/tutorial.md")
LONGEST_S = 900
BUILDS = """import shutil, sys
from pathlib import Path
words = sys.argv[1:]
if "build" in words and "edgeret-example/demonstrations.jsonl" in words:
    shutil.copytree({real!r}, words[words.index("-o") + 1])
    sys.exit()
if "build" in words:
    from edgeret_export.fitting import argument_fit
    argument_fit.LEAST_PLANS = 100_000
from edgeret_export.cli import main
code = main()
if words[:1] == ["example"]:
    shown = Path("edgeret-example/demonstrations.jsonl")
    shown.write_text("".join(shown.read_text().splitlines(True)[::8]))
sys.exit(code)
"""
"""What builds as readers do, but for the example and the head for arguments. The example's bundle is the one that tests
share, and its thousands of demonstrations become hundreds, since they take minutes; `make demo` reads all. The head
for arguments is not tuned, which takes minutes too, and no page shows what that is worth."""
MEASURES = """import sys
from edgeret_bench.cli import main
if sys.argv[1:2] == ["latency"]:
    sys.argv += ["--min-queries", "64"]
sys.exit(main())
"""
"""What measures as readers do, but with fewer queries a latency: a thousand take twenty seconds, three times."""
SAID: Mapping[str, tuple[str, ...]] = {
    "README.md": ("find_file (", "convert_to_pdf (", "get_contact_email (", "send_mail ("),
    "docs/tutorial.md": ("calling thermostat-set\ndone", "no tool fits", "2  notify_phone", "1  thermostat-set"),
    "docs/howto/calls.md": (
        "{'to': ['what get_contact_email returned'], 'attachments': ['what convert_to_pdf returned']}",
    ),
    "docs/howto/thresholds.md": (
        "because no tool fits",
        "None True unsure: the best candidate",
        "a person is asked about cancel_event",
    ),
    "docs/howto/undemonstrated.md": ("without demonstration: 1", "lock_door ['lock_door", "1  lock_door"),
    "docs/howto/trust.md": ("another bundle than the one asked for",),
}
"""What a page says that its reader will see."""


DEAR = {
    f"docs/{page}.md"
    for page in (
        "for/firmware",
        "howto/arguments",
        "howto/expand",
        "howto/measure",
        "howto/planner",
        "howto/release",
        "howto/store",
        "howto/targets",
        "howto/tools",
        "howto/undemonstrated",
        "howto/update",
    )
}
"""Pages that build or measure once more, ten seconds each, what commands' own tests build and measure too: for
`make test-full`, and for who changes one."""


def run_apart(name: str, folder: Path, commands: Path) -> str:
    """What a page prints when it is run in `folder`, in a process of its own that finds this environment's commands,
    those of the folder `commands` first."""
    path = os.pathsep.join((str(commands), str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    done = subprocess.run(
        [sys.executable, "-u", page_run.__file__, str(ROOT / name)],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def pages() -> list[str]:
    """The pages with blocks to run, relative to the checkout."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [name for page in found if (name := page.relative_to(ROOT).as_posix()) != GENERATED and read_blocks(page)]


def runs(name: str) -> bool:
    """Whether some block of the page runs here."""
    return not all(block.reason for block in read_blocks(ROOT / name))


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory, real: Path) -> Path:
    """A folder with the commands that build and measure."""
    folder = tmp_path_factory.mktemp("commands")
    for name, told in (("edgeret-export", BUILDS.format(real=str(real))), ("edgeret-bench", MEASURES)):
        (folder / name).write_text(f"#!{sys.executable}\n{told}", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory, commands: Path) -> tuple[Path, dict[str, str]]:
    """The folder in which a reader followed the README and the tutorial, and what they printed."""
    folder = tmp_path_factory.mktemp("reader")
    return folder, {name: run_apart(name, folder, commands) for name in FIRST}


RUN = [name for name in pages() if runs(name)]


@pytest.mark.real
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.full] if name in DEAR else []) for name in RUN])
def test_every_snippet_of_the_page_runs(
    name: str, first: tuple[Path, dict[str, str]], commands: Path, tmp_path: Path
) -> None:
    folder, printed = first
    if name not in FIRST:
        printed = {name: run_apart(name, Path(shutil.copytree(folder, tmp_path / "reader")), commands)}
    for words in SAID.get(name, ()):
        assert words in printed[name]


@pytest.mark.parametrize("name", pages())
def test_no_snippet_is_passed_over_by_its_form_or_without_a_reason(name: str) -> None:
    source = (ROOT / name).read_text(encoding="utf-8")
    assert len(re.findall(r"^\s*(?:```|~~~)\s*(?:python|py|sh|bash|shell|console)\b", source, re.M)) == len(
        read_blocks(ROOT / name)
    )
    assert source.count("<!-- not run") == sum(bool(block.reason) for block in read_blocks(ROOT / name))


def test_the_reference_has_every_public_name() -> None:
    described = re.findall(r"^::: edgeret\.(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    assert sorted(described) == sorted(set(edgeret.__all__) - {"__version__"})
