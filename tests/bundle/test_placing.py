"""Bundles take their place whole, or not at all, and nothing that is not ours is ever deleted."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgpack
import pytest
from patience import PATIENCE_S
from swap_run import kill_writers, swap_under_readers

from edgeret.bundle import placing
from edgeret.bundle.folder import set_aside
from edgeret.bundle.layout import FORMAT_VERSION, wrap
from edgeret.bundle.reader import read_manifest, verify_bundle
from edgeret.errors import BundleError, InputError
from edgeret_export.writer import writing


def write(target: Path, content: bytes = b"x", overwrite: bool = False) -> None:
    """A bundle of one file."""
    with writing(target, overwrite) as writer:
        writer.add("a", "graph", content, "MIT", "here")
        writer.finish({})


def beside(target: Path) -> list[str]:
    """What else lies in the target's folder."""
    return sorted(path.name for path in target.parent.iterdir() if path != target)


@pytest.fixture(params=["exchange", "aside"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A system that exchanges folders in one call, and one that cannot."""
    if request.param == "aside":
        monkeypatch.setattr(placing, "renamed", lambda *_: False)
    return str(request.param)


def test_what_appears_at_the_target_meanwhile_is_kept(tmp_path: Path, system: str) -> None:
    target = tmp_path / "b"
    with pytest.raises(InputError, match="exists already and is no bundle"), writing(target) as writer:
        writer.finish({})
        target.mkdir()
        (target / "diary").write_text("mine")
    assert (target / "diary").read_text() == "mine"
    assert beside(target) == []


def test_of_four_parallel_writers_one_succeeds_and_the_others_say_so(tmp_path: Path, system: str) -> None:
    target = tmp_path / "b"

    def attempt(number: int) -> int | None:
        try:
            write(target, bytes([number]))
        except InputError as error:
            assert "exists already" in str(error)
            return None
        return number

    with ThreadPoolExecutor(4) as pool:
        winners = [number for number in pool.map(attempt, range(4)) if number is not None]
    assert len(winners) == 1
    assert (target / "a").read_bytes() == bytes(winners)
    assert beside(target) == []


def test_forced_writers_in_parallel_leave_one_whole_bundle(tmp_path: Path, system: str) -> None:
    target = tmp_path / "b"
    write(target)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: write(target, bytes([number]) * 100, True), range(12)))
    verify_bundle(target)
    assert beside(target) == []


def test_a_folder_that_only_looks_like_a_bundle_is_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "photos"
    target.mkdir()
    (target / "manifest").write_text("of our ship")
    with pytest.raises(InputError, match="photos: exists already and is no bundle that this edgeret reads"):
        write(target, overwrite=True)
    assert (target / "manifest").read_text() == "of our ship"


def test_a_bundle_of_an_older_format_can_be_replaced_and_one_of_a_newer_cannot(tmp_path: Path) -> None:
    target = tmp_path / "b"
    write(target)
    body = msgpack.unpackb((target / "manifest").read_bytes())[3]
    for version, refused in ((FORMAT_VERSION + 1, True), (FORMAT_VERSION - 1, False)):
        (target / "manifest").write_bytes(wrap(version, body))
        if refused:
            with pytest.raises(InputError, match="no bundle that this edgeret reads"):
                write(target, b"new", overwrite=True)
        else:
            write(target, b"new", overwrite=True)
    assert (target / "a").read_bytes() == b"new"


def test_a_bundle_with_other_peoples_files_in_it_is_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "b"
    write(target)
    (target / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds more than the bundle: 'thesis\.tex'; move that elsewhere"):
        write(target, b"new", overwrite=True)
    assert (target / "thesis.tex").read_text() == "mine"
    assert (target / "a").read_bytes() == b"x"


def test_a_bundle_whose_files_are_damaged_can_be_replaced(tmp_path: Path, system: str) -> None:
    target = tmp_path / "b"
    write(target)
    (target / "a").write_bytes(b"y")
    write(target, b"new", overwrite=True)
    assert (target / "a").read_bytes() == b"new"
    assert beside(target) == []


def test_a_link_stays_a_link_and_the_folder_behind_it_is_replaced(tmp_path: Path, system: str) -> None:
    versions = tmp_path / "versions"
    versions.mkdir()
    write(versions / "one")
    link = tmp_path / "current"
    link.symlink_to("versions/one")
    write(link, b"new", overwrite=True)
    assert link.is_symlink()
    assert (versions / "one" / "a").read_bytes() == b"new"
    assert beside(link) == ["versions"] and beside(versions / "one") == []


def test_a_folder_reached_through_a_link_is_written_into(tmp_path: Path, system: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    for content in (b"one", b"two"):
        write(tmp_path / "linked" / "b", content, overwrite=True)
        assert (tmp_path / "real" / "b" / "a").read_bytes() == content
    assert beside(tmp_path / "real" / "b") == []


def test_what_a_stranger_puts_there_at_the_last_moment_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    target, swap = tmp_path / "b", placing.swap
    write(target)

    def late(folder: Path, place: Path) -> None:
        if (place / "a").is_file():
            shutil.rmtree(place)
            place.mkdir()
            (place / "diary").write_text("mine")
        swap(folder, place)

    monkeypatch.setattr(placing, "swap", late)
    with pytest.raises(InputError, match="exists already and is no bundle"):
        write(target, b"new", overwrite=True)
    assert (target / "diary").read_text() == "mine"
    assert beside(target) == []


def test_folders_on_the_way_are_made_and_go_again_where_nothing_was_written(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "c")
    assert verify_bundle(tmp_path / "a" / "b" / "c")
    (tmp_path / "d").mkdir()
    with pytest.raises(InputError, match="nothing was finished"), writing(tmp_path / "d" / "e" / "f" / "g"):
        pass
    assert list((tmp_path / "d").iterdir()) == []
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "file" / "b")


def test_leftovers_of_dead_writers_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    dead, stranger = tmp_path / ".b.abcdefgh.partial", tmp_path / ".b.abcdefgi.partial"
    dead.mkdir()
    (dead / "encoder.onnx").write_bytes(b"half")
    (stranger / "photos").mkdir(parents=True)
    with writing(tmp_path / "b") as living:
        living.add("a", "graph", b"x", "MIT", "here")
        with pytest.raises(InputError, match="nothing was finished"), writing(tmp_path / "b"):
            assert living.folder.is_dir()
        living.finish({})
    assert sorted(path.name for path in tmp_path.iterdir()) == [stranger.name, "b"]


def test_a_writer_that_died_between_its_two_renames_is_made_up_for(tmp_path: Path) -> None:
    target = tmp_path / "b"
    write(target)
    target.rename(set_aside(target))
    assert read_manifest(target).files[0].role == "graph"  # readers find it where it waits
    with pytest.raises(InputError, match="exists already; give --force"):
        write(target, b"new")
    write(target, b"new", overwrite=True)
    assert (target / "a").read_bytes() == b"new"
    assert beside(target) == []


def test_a_file_in_the_targets_place_is_kept(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    with pytest.raises(InputError, match="exists already and is no bundle"):
        write(tmp_path / "b", overwrite=True)
    assert (tmp_path / "b").read_text() == "mine"


def test_a_failing_exchange_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bool:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(placing, "renamed", refuse)
    with pytest.raises(InputError, match=r"cannot be written \(Permission denied\); nothing was left behind"):
        write(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_readers_never_miss_a_bundle_that_is_being_replaced(tmp_path: Path) -> None:
    found = swap_under_readers(tmp_path, swaps=60, loads=1500)
    assert found["failures"] == []
    assert found["loads"] >= 1500


def test_writers_killed_at_any_call_leave_a_whole_bundle_and_nothing_beside_it(tmp_path: Path) -> None:
    assert kill_writers(tmp_path, 12) == {"killed": 12, "lost": 0, "left_over": []}


BUILDING = """
import sys, time
from edgeret_export.writer import writing
from edgeret.terminal.console import Parser, add_command, run

def build(arguments):
    with writing(sys.argv[2]) as writer:
        writer.add("a", "graph", b"x", "MIT", "here")
        print("begun", flush=True)
        time.sleep(600)

parser = Parser()
add_command(parser.add_subparsers(), "build", "Builds.", build, str).add_argument("target")
sys.exit(run(parser))
"""


def test_a_command_that_is_told_to_end_cleans_up(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUILDING, "build", str(tmp_path / "b")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        assert beside(tmp_path / "b") != []
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_bundle_is_read_to_its_end_by_who_has_it_open(tmp_path: Path) -> None:
    from edgeret.bundle.reader import open_bundle

    target = tmp_path / "b"
    with writing(target) as writer:
        writer.add("m", "planner", b"model", "MIT", "here")
        writer.finish({})
    large = open_bundle(target).large_file("planner")
    shutil.rmtree(target)
    with large.private_copy() as copy:
        assert copy.read_bytes() == b"model"


@pytest.mark.parametrize("change", ["shorter", "longer", "other"])
def test_a_large_file_changed_after_it_was_verified_is_refused(tmp_path: Path, change: str) -> None:
    from edgeret.bundle.reader import open_bundle

    with writing(tmp_path / "b") as writer:
        writer.add("m", "planner", b"model", "MIT", "here")
        writer.finish({})
    large = open_bundle(tmp_path / "b").large_file("planner")
    with (tmp_path / "b" / "m").open("r+b") as stream:
        if change == "shorter":
            os.ftruncate(stream.fileno(), 3)
        else:
            stream.write(b"moped" if change == "other" else b"nodel, longer")
    with pytest.raises(BundleError, match="m: changed since the bundle was loaded"), large.private_copy():
        pass
