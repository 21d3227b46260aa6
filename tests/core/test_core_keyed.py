"""What the core learned is bound to a device as Python binds it: both read it with the key, and neither without."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from contextlib import closing
from ctypes import CDLL
from pathlib import Path

import pytest
from binding import Core, CoreError, Model, Text
from core_learning import Learner, OpenOptions
from learned_states import plan
from test_decisions import build_kind

import edgeret
from edgeret.errors import OverlayError

BAD_INPUT, BAD_OVERLAY = 1, 7
KEY, OTHER = b"this device alone", bytes(range(200))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind("few, a table", tmp_path_factory.mktemp("kind") / "bundle")


@pytest.fixture(scope="module")
def model(core: CDLL, folder: Path) -> Iterator[Model]:
    made = Core(core).load(folder)
    yield made
    made.close()


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_both_add_to_one_file_and_write_it_anew(model: Model, folder: Path, tmp_path: Path, key: bytes) -> None:
    path, tool = tmp_path / "a.overlay", next(iter(edgeret.load(folder).tools))
    learner = Learner(model, path, key=key)
    learner.learn("one of the library's", [tool])
    with closing(edgeret.load(folder, overlay=path, overlay_key=key)) as python:
        python.learn([plan("one of Python's", tool)])
        assert python.learned.count == 2
    learner.learn("another one of the library's", [tool])
    assert learner.forget(query="one of the library's") == 1
    assert {stored.query for stored in learner.plans} == {"one of Python's", "another one of the library's"}
    learner.close()
    with closing(edgeret.load(folder, overlay=path, overlay_key=key)) as python:
        assert python.learned.count == 2


@pytest.mark.parametrize(
    ("written", "read", "told"),
    [
        (OTHER, KEY, "of another device, or altered"),
        (None, KEY, "not bound to this device's key"),
        (KEY, None, "bound to a device by a key"),
    ],
)
def test_another_devices_file_is_refused_by_both_in_the_same_words(
    model: Model, folder: Path, tmp_path: Path, written: bytes | None, read: bytes | None, told: str
) -> None:
    path, tool = tmp_path / "a.overlay", next(iter(edgeret.load(folder).tools))
    learner = Learner(model, path, key=written)
    learner.learn("a word", [tool])
    learner.close()
    before = path.read_bytes()
    with pytest.raises(OverlayError, match=told) as python:
        edgeret.load(folder, overlay=path, overlay_key=read)
    with pytest.raises(CoreError, match=told) as core:
        Learner(model, path, key=read)
    assert core.value.status == BAD_OVERLAY
    assert str(core.value).endswith(str(python.value))
    assert path.read_bytes() == before


def test_an_altered_batch_is_refused_in_the_middle_and_left_out_at_the_end(
    model: Model, folder: Path, tmp_path: Path
) -> None:
    path, tool = tmp_path / "a.overlay", next(iter(edgeret.load(folder).tools))
    ends = []
    learner = Learner(model, path, key=KEY)
    for words in ("first", "second"):
        learner.learn(words, [tool])
        ends.append(path.stat().st_size)
    learner.close()
    data = path.read_bytes()
    path.write_bytes(data[: ends[0] - 40] + b"?" + data[ends[0] - 39 :])
    with pytest.raises(CoreError, match="damaged at byte"):
        Learner(model, path, key=KEY)
    path.write_bytes(data[: ends[1] - 40] + b"?" + data[ends[1] - 39 :])
    learner = Learner(model, path, key=KEY)
    assert [stored.query for stored in learner.plans] == ["first"]
    learner.close()


@pytest.mark.parametrize("length", [1, 15, 1025])
def test_a_key_too_short_or_too_long_is_refused(model: Model, folder: Path, tmp_path: Path, length: int) -> None:
    with pytest.raises(CoreError, match="give 16 to 1024") as refused:
        Learner(model, tmp_path / "a.overlay", key=bytes(length))
    assert refused.value.status == BAD_INPUT
    with pytest.raises(edgeret.InputError, match="16 to 1024 bytes"):
        edgeret.load(folder, overlay=tmp_path / "a.overlay", overlay_key=bytes(length))


def test_a_caller_of_an_older_header_has_no_key(model: Model, tmp_path: Path) -> None:
    handle = c.c_void_p()
    options = OpenOptions(OpenOptions.key.offset, 5.0, Text.of(b"short"))  # refused, should anybody read it
    path = str(tmp_path / "a.overlay").encode()
    model.core("er_learner_open", model.handle, path, c.byref(options), c.byref(handle))
    model.core.library.er_learner_close(handle)
