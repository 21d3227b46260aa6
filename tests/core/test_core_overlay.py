"""One overlay, written by the core and by Python in turn: read alike, refused alike; nothing that was kept is lost."""

from __future__ import annotations

import fcntl
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from ctypes import CDLL
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding import Core, CoreError, Model
from core_learning import Learner
from core_learning_run import words
from learned_states import plan, taught
from python_reader import by_python
from test_core_learn import lessons, same
from test_decisions import QUERIES, build_kind

import edgeret
from edgeret import Tool
from edgeret.bundle.overlay import Contents, scan
from edgeret.bundle.overlay_file import read_overlay
from edgeret.errors import OverlayError
from edgeret_export.reference.overlay_bytes import pack_batch, pack_header
from edgeret_export.reference.scoring.learned_state import pack_learner
from edgeret_export.reference.scoring.mixture import Guard

BAD_OVERLAY, NOT_KEPT = 7, 8
STATE = 1e-2  # of an array's largest number, as section 19 allows
WRITER = Path(__file__).with_name("core_learning_run.py")


@pytest.fixture(scope="module")
def library(core: CDLL) -> Core:
    return Core(core)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind("few, a table", tmp_path_factory.mktemp("kind") / "bundle")


@pytest.fixture(scope="module")
def model(library: Core, folder: Path) -> Iterator[Model]:
    made = library.load(folder)
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a b.overlay"


@pytest.fixture(scope="module")
def encoder(folder: Path) -> str:
    return edgeret.load(folder).manifest.fingerprint


def state(runtime: edgeret.Runtime) -> dict[str, Any]:
    return pack_learner(taught(runtime))


def alike(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    assert list(found) == list(wanted)
    for key, value in wanted.items():
        if isinstance(value, np.ndarray):
            most = max(1.0, float(np.abs(value).max(initial=0)))
            assert found[key].shape == value.shape, key
            assert np.abs(found[key].astype(float) - value).max(initial=0) < STATE * most, key
        elif key == "guard":
            assert found[key] == pytest.approx(value, abs=STATE)
        else:
            assert found[key] == value, key


def agree(learner: Learner, python: edgeret.Runtime) -> None:
    for query in QUERIES[:8]:
        theirs = python.task(query)
        with learner.task(query) as ours:
            same(theirs, ours)
            theirs.call("send_mail")
            ours.call("send_mail")
            same(theirs, ours)


def test_what_python_wrote_the_core_reads_and_the_other_way_round(model: Model, folder: Path, path: Path) -> None:
    python = by_python(folder, path)
    for query, calls in lessons(24):
        python.learn([plan(query, *calls)], keep_words=len(query) % 2 == 0)
    learner = Learner(model, path)
    agree(learner, python)
    assert [(told.id, told.query or None, told.calls) for told in learner.plans] == [
        (told.id, told.query, told.calls) for told in python.learned.plans
    ]
    assert learner.forget(id=10**6) == 0  # which writes all anew
    again = by_python(folder, path)
    alike(state(again), state(python))
    agree(learner, again)
    assert again.learned.plans == python.learned.plans
    for query, calls in lessons(8, 11):
        learner.learn(query, calls)
    agree(learner, by_python(folder, path))
    learner.close()


def test_both_write_to_one_file_in_turn(model: Model, folder: Path, path: Path) -> None:
    python, learners = by_python(folder, path), [Learner(model, path) for _ in range(2)]
    for number, (query, calls) in enumerate(lessons(18, 4)):
        writer = number % 3
        report = learners[writer - 1].learn(query, calls) if writer else python.learn([plan(query, *calls)])
        assert report.stored <= number + 1
        if number % 7 == 5:
            learners[0].forget(id=learners[0].plans[0].id)
    python.forget(id=10**6)
    learners[0].forget(id=10**6)
    agree(learners[0], python)
    for learner in learners:
        learner.close()


def test_the_bytes_are_pythons(model: Model, encoder: str, path: Path) -> None:
    learner = Learner(model, path)
    for query, calls in lessons(6, 2):
        learner.learn(query, calls)
    appended = path.read_bytes()
    learner.forget(id=0)
    for data in (appended, path.read_bytes()):
        records = scan(data, encoder, "here").records
        again = pack_header(encoder, model.content_hash, data[20:36])
        contents = Contents(encoder, model.content_hash, again[-32:])
        for record in records:
            # An array as it is read would keep its padding; packed anew it has the one that belongs there.
            value = {key: _array(inner) for key, inner in record.value.items()}
            batch = pack_batch([(record.kind, value)], contents, "here")
            contents.add(batch)
            again += batch.data
        assert again == data
    learner.close()


def _array(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return np.frombuffer(value["data"], value["dtype"]).reshape(value["shape"])


def test_tools_that_an_overlay_keeps(model: Model, folder: Path, path: Path) -> None:
    python = by_python(folder, path)
    screen = Tool(
        "share_screen", 'share the "screen"', {"properties": {"id": {}}}, examples=("show me \u00e4ll", "this one")
    )
    python = python.with_tools(
        add=[screen], remove=["play_music"], replace=[replace(python.tools["send_mail"], risk=0.1)], keep=True
    )
    python.learn([plan("show me the screen", "share_screen"), plan("find my file", "find_file", "send_mail")])
    learner = Learner(model, path)
    assert learner.model.names == list(python.tools)
    agree(learner, python)
    learner.learn("share the screen", ["share_screen"])
    learner.forget(id=0)
    again = by_python(folder, path)
    assert list(again.tools.values()) == list(python.tools.values())
    agree(learner, again)
    learner.close()


def test_what_is_muted_decides_nothing_until_it_gains(model: Model, folder: Path, path: Path) -> None:
    python = by_python(folder, path)
    for query, calls in lessons(9, 6):
        python.learn([plan(query, *calls)])
    python.learned._learner.guard = Guard(6.0, -3.0, 2.0, True)
    python.forget(id=10**6)
    learner, heard = Learner(model, path), []
    agree(learner, python)
    for query, calls in lessons(9, 7):
        python.learn([plan(query, *calls)])
        learner.forget(id=10**6)  # which takes it up
        heard.append(bool(learner.report.used))
        agree(learner, python)
    assert heard[0] is False and heard[-1] is True
    learner.close()


# ---- What strangers write ----


def _said(model: Model, path: Path) -> str | None:
    try:
        learner = Learner(model, path)
    except CoreError as error:
        assert error.status == BAD_OVERLAY and error.text.isprintable()
        return error.text
    learner.close()
    return None


def test_forged_records_are_refused_by_both(model: Model, folder: Path, encoder: str, path: Path) -> None:
    python = by_python(folder, path)
    for query, calls in lessons(7, 12):
        python.learn([plan(query, *calls)])
    python.forget(id=0)
    python.learn([plan("zebra", "get_day", "find_file")])
    records = [(record.kind, {k: _array(v) for k, v in record.value.items()}) for record in read_overlay(path, encoder)]
    dice, refused, fine = random.Random(5), 0, 0
    for turn in range(220):
        kind, value = records[turn % len(records)]
        key = dice.choice(list(value))
        forged = {**value, key: _forged(value[key], dice)}
        if turn % 11 == 0:
            del forged[key]
        data = pack_header(encoder, "00" * 32, bytes(16))
        contents = Contents(encoder, "00" * 32, data[-32:])
        for other in records:
            batch = pack_batch([(kind, forged) if other[1] is value else other], contents, "here")
            contents.add(batch)
            data += batch.data
        path.write_bytes(data)
        try:
            by_python(folder, path)
            wanted = None
        except OverlayError as error:
            wanted = str(error)
        found = _said(model, path)
        assert (found is None) == (wanted is None), f"{turn} {kind} {key}: Python {wanted!r}, the core {found!r}"
        refused, fine = refused + (found is not None), fine + (found is None)
    assert refused > 60 and fine > 20


def _forged(value: Any, dice: random.Random) -> Any:
    """Another value of the same type, mostly."""
    if isinstance(value, np.ndarray):
        other = value.copy()
        if other.size and dice.random() < 0.8:
            number = dice.choice([np.nan, np.inf, -1, 0, 1, 2, 1e9, -200, 7, 3e9])
            with np.errstate(all="ignore"):
                safe = number if value.dtype.kind == "f" else int(np.nan_to_num(number, posinf=9, nan=-5)) % 2**31
                other.flat[dice.randrange(other.size)] = safe
            return other
        return dice.choice([other[:-1], np.concatenate((other, other[:1])), other.astype(np.float32), other.ravel()])
    if isinstance(value, str):
        return dice.choice(["", " \n", "a\u202eb", "x" * 300, "accepted", "x" * 20_001])
    if isinstance(value, list | tuple):
        items = list(value)
        return dice.choice(
            [
                items[:-1],
                [*items, *items[-1:]],
                [*items, "<end>"],
                [*items, " x"],
                [*items, 5],
                [0.0] * 4,
                ["new", "new"],
            ]
        )
    return dice.choice([-1, 0, 2**60, -(2**62), 1e13, "5", None, True, 12.5])


def test_damage_is_refused_and_a_torn_tail_left_out(model: Model, folder: Path, path: Path) -> None:
    learner = Learner(model, path)
    for query, calls in lessons(3, 1):
        learner.learn(query, calls)
    learner.close()
    data, dice = path.read_bytes(), random.Random(2)
    cases = [bytes(n) for n in (0, 1, 40, 132)] + [data[:n] for n in (10, 131, 132, 200, len(data) // 2, len(data) - 1)]
    for _ in range(60):
        at = dice.randrange(len(data))
        cases.append(data[:at] + bytes((data[at] ^ 1 << dice.randrange(8),)) + data[at + 1 :])
    cases += [
        data[:132] + data[132:] * 2,
        data + b"\xffrec",
        data + bytes(50),
        b"edgeret-overlay\n" * 20,
        data[:132] + data[400:],
    ]
    for number, case in enumerate(cases):
        path.write_bytes(case)
        try:
            wanted = by_python(folder, path).learned.count
        except OverlayError:
            wanted = None
        if wanted is None:
            assert _said(model, path) is not None, number
            assert path.read_bytes() == case
            continue
        learner = Learner(model, path)
        assert learner.report.stored == wanted, number
        learner.learn("zebra", ["get_day"])
        learner.close()
        assert by_python(folder, path).learned.count == wanted + 1, number


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "no folder", "other encoder"])
def test_what_is_no_overlay_is_refused(library: Core, model: Model, folder: Path, path: Path, what: str) -> None:
    if what == "link":
        path.with_name("x").touch()
        path.symlink_to("x")
    elif what == "pipe":
        subprocess.run(["mkfifo", str(path)], check=True)
    elif what == "folder":
        path.mkdir()
    elif what == "no folder":
        learner = Learner(model, path / "x" / "y")  # nothing is read there
        with pytest.raises(CoreError, match="no such folder"):
            learner.learn("zebra", [])
        assert learner.report.stored == 0
        learner.close()
        return
    else:
        other = library.load(build_kind("few", path.parent / "other"))
        pytest.importorskip("onnx")
        Learner(other, path).close()
        path.write_bytes(pack_header("ab" * 32, "cd" * 32, bytes(16)))
        other.close()
    with pytest.raises(CoreError) as told:
        Learner(model, path)
    assert told.value.status in (3, BAD_OVERLAY)


# ---- What happens to files ----


def test_it_is_written_anew_after_many_plans(model: Model, folder: Path, path: Path, encoder: str) -> None:
    learner = Learner(model, path)
    for number in range(258):
        learner.learn(QUERIES[number % 20], ["find_file"] * (number % 5), words=number % 2 == 0)
    kinds = [record.kind for record in read_overlay(path, encoder)]
    assert kinds.count("learned-state") == 1 and kinds[-1] == "plan" and kinds.count("plan") == 1
    agree(learner, by_python(folder, path))
    learner.close()


def test_another_writer_is_waited_for(model: Model, path: Path) -> None:
    learner = Learner(model, path, wait_s=0.05)
    learner.learn("zebra", [])
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CoreError, match="another one is writing") as told:
            learner.learn("zebra", ["find_file"])
        assert told.value.status == NOT_KEPT and learner.report.stored == 1
    assert learner.learn("zebra", ["find_file"]).stored == 2
    path.unlink()
    assert learner.learn("zebra", ["find_file"]).stored == 1  # of what is there now
    learner.close()


def test_a_full_disk_loses_nothing(model: Model, folder: Path, path: Path) -> None:
    learner = Learner(model, path)
    for query, calls in lessons(4, 1):
        learner.learn(query, calls)
    before, stored = path.read_bytes(), learner.report.stored
    limits, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    changes = (lambda: learner.learn("zebra", ["get_day"]), lambda: learner.forget(id=learner.plans[-1].id))
    for change, room in zip(changes, (len(before) + 100, 300), strict=True):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            change()
            status = 0
        except CoreError as error:
            status = error.status
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert status == NOT_KEPT
        assert path.read_bytes() == before and learner.report.stored == stored
    signal.signal(signal.SIGXFSZ, ignored)
    learner.learn("zebra", ["get_day"])
    agree(learner, by_python(folder, path))
    learner.close()


@pytest.mark.full
def test_a_kill_loses_nothing_that_was_acknowledged(core: CDLL, folder: Path, path: Path) -> None:
    dice = random.Random(4)
    for moment in range(12):
        command = [sys.executable, str(WRITER), core._name, str(folder), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            told = child.stdout.read(1 + dice.randrange(40))
            child.kill()
            told += child.stdout.read()
        learner = Learner(Core(core).load(folder), path)
        kept = [stored.query for stored in learner.plans]
        assert told, moment
        for number in range(len(told) - 1):  # the first byte says that it is there
            assert words(number) in kept, (moment, number)
        assert by_python(folder, path).learned.count == len(kept)
        assert len(list(path.parent.glob(".*.partial"))) <= 1
        learner.forget(everything=1)
        assert not list(path.parent.glob(".*.partial"))
        learner.close()
    shutil.rmtree(path.parent, ignore_errors=True)
