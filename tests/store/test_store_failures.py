"""A store when writers die, the disk fills, and versions are swapped again and again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from two_versions import two_versions

from edgeret import BundleStore
from edgeret.errors import InputError

ROOT = Path(__file__).parents[2]
FULL_DISK = """
import resource, sys
import edgeret
store = edgeret.BundleStore(sys.argv[1], threads=1)
store.activate("old")
before = store.runtime
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
acts = [lambda: store.add(sys.argv[2], "third"), lambda: store.activate("new"), lambda: store.remove("new"),
        lambda: store.with_tools(add=[edgeret.Tool("long", "stop the alarm " * 9)], keep=True)]
for most, tried in ((5_000, acts[:1]), (100, acts)):  # no room for a bundle's file, then not for what the store says
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limit[1]))
    for act in tried:
        try:
            act()
        except edgeret.InputError as error:
            print(error)
assert store.runtime is before
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
print([version.name for version in store.versions], store.active.name, store.version.name)
"""


def run(code: str, *arguments: object) -> str:
    """What a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def store(tmp_path: Path, tiny_original: Path, tiny_tools: Path) -> BundleStore:
    """A store with "old" and "new"; the old one is active."""
    return two_versions(tmp_path / "store", tiny_original, tiny_tools)


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX's")
def test_a_full_disk_is_a_clear_error_and_everything_stays_as_it_was(store: BundleStore, tiny_many: Path) -> None:
    *told, last = run(FULL_DISK, store.folder, tiny_many).splitlines()
    assert [line.endswith("Make room, or remove versions with: edgeret store remove") for line in told[:2]] == [
        True
    ] * 2
    for line, file in zip(told[2:], ("store.json", "store.json", "tools.json"), strict=True):
        assert f"{file}: cannot be written (File too large); what was in it is kept; make room" in line
    assert last == "['old', 'new'] old old"
    left = {path.name for path in (store.folder / "bundles").iterdir()}
    assert left == {version.content_hash for version in store.versions}


def test_a_version_that_cannot_be_listed_does_not_stay(store: BundleStore, tiny_many: Path) -> None:
    (store.folder / ".store.json.partial" / "in the way").mkdir(parents=True)
    with pytest.raises(InputError, match=r"store.json: cannot be written"):
        store.add(tiny_many)
    assert {path.name for path in (store.folder / "bundles").iterdir()} == {one.content_hash for one in store.versions}


def test_what_dead_writers_left_of_versions_that_are_listed_goes(store: BundleStore, tiny_original: Path) -> None:
    old, new = (store.folder / "bundles" / version.content_hash for version in store.versions)
    shutil.copytree(old, old.with_name(f".{old.name}.replaced"))
    shutil.copytree(new, new.with_name(f".{new.name}.partial"))
    old.with_name(f".{old.name}.sig.partial").write_bytes(b"half")
    old.with_name(f"{old.name}.sig").write_bytes(b"")
    new.rename(new.with_name(f".{new.name}.replaced"))  # where a writer died between its two renames
    store.add(tiny_original)
    assert {path.name for path in old.parent.iterdir()} == {old.name, f"{old.name}.sig", new.name}
    assert store.activate("new").version.name == "new"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("moments", "stride", "first"),
    [(8, 19, 5), pytest.param(60, 3, 1, marks=pytest.mark.full)],
    ids=["some", "many"],
)
def test_killed_writers_leave_a_whole_store(moments: int, stride: int, first: int, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from conftest import tiny_bundle; import kill_store\n"
        "folder = Path(sys.argv[1])\n"
        "bundles = (tiny_bundle(folder / 'first'), tiny_bundle(folder / 'second', demonstrations=()))\n"
        "found = kill_store.kill_at_calls(folder, bundles, *map(int, sys.argv[2:]))\n"
        "assert not found['lost'], found['lost']\n"
        "print(found['killed'])"
    )
    assert run(code, tmp_path, moments, stride, first).split()[-1] == str(moments)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("moments", "stride", "first"), [(8, 13, 9), pytest.param(60, 2, 1, marks=pytest.mark.full)], ids=["some", "many"]
)
def test_killed_updates_by_a_delta_leave_a_whole_bundle_and_store(
    moments: int, stride: int, first: int, tmp_path: Path
) -> None:
    code = (
        "import sys; from pathlib import Path; from conftest import tiny_bundle; import kill_delta\n"
        "found = kill_delta.kill(Path(sys.argv[1]), *map(int, sys.argv[2:]), build=tiny_bundle)\n"
        "assert not found['lost'], found['lost']\n"
        "print(found['killed'])"
    )
    assert run(code, tmp_path, moments, stride, first).split()[-1] == str(moments)


SWAPS = """
import os, sys
from pathlib import Path
import edgeret
def held():
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return len(os.listdir("/proc/self/fd")), resident
store, swaps = edgeret.BundleStore(sys.argv[1], threads=1), int(sys.argv[2])
for number in range(swaps):
    store.activate(("new", "old")[number % 2])
    assert store.runtime.task("find my file").next(policy="heads").tool == "find_file"
    if number == swaps // 2 + 1:  # the version that is active at the end; bundles have more and fewer files
        before = held()
print(*[now - then for now, then in zip(held(), before)])
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
@pytest.mark.timeout(7200)  # the long one takes a minute of a quiet CPU
@pytest.mark.parametrize("swaps", [20, pytest.param(1000, marks=pytest.mark.full)])
def test_swaps_leave_nothing_behind(swaps: int, store: BundleStore) -> None:
    handles, resident = map(int, run(SWAPS, store.folder, swaps).split())
    assert handles <= 2
    assert resident <= 16 << 20
    assert len(store.events) == min(100, swaps + 1)
    assert (store.folder / "store.json").stat().st_size < 100_000
