"""The on-disk format: nothing altered, missing, foreign or newer is ever parsed, and nothing is left half written."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import msgpack
import numpy as np
import pytest
from conftest import tiny_bundle, tiny_exported
from hypothesis import given
from hypothesis import strategies as st
from rewritten import changed, rewrite

import edgeret
from edgeret.bundle import reader
from edgeret.bundle.codec import get_array, pack, unpack
from edgeret.bundle.layout import MANIFEST
from edgeret.bundle.reader import open_bundle, read_manifest, unlisted, verify_bundle
from edgeret.encoders.providers import choose
from edgeret.errors import BundleError, EdgeretError, InputError
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.writer import BundleWriter, writing


def test_golden_manifest_bytes(tmp_path: Path) -> None:
    with writing(tmp_path / "b") as writer:
        writer.add("a.bin", "role", b"abc", "MIT", "here")
        writer.finish({"k": 1})
    body = (
        b"\x82\xa5files\x91\x86\xa4name\xa5a.bin\xa4role\xa4role\xa4size\x03\xa6sha256\xd9\x40"
        + hashlib.sha256(b"abc").hexdigest().encode()
        + b"\xa7licence\xa3MIT\xa6source\xa4here\xa4info\x81\xa1k\x01"
    )
    digest = hashlib.sha256(b"edgeret-bundle/11\n" + body).digest()
    expected = b"\x94\xaeedgeret-bundle\x0b\xc4\x20" + digest + b"\xc4" + bytes([len(body)]) + body
    assert (tmp_path / "b" / MANIFEST).read_bytes() == expected


def test_any_flipped_byte_of_the_manifest_is_refused(tiny: Path) -> None:
    file = tiny / MANIFEST
    good = file.read_bytes()
    for position in range(0, len(good), 3):
        file.write_bytes(good[:position] + bytes([good[position] ^ 0x41]) + good[position + 1 :])
        with pytest.raises(BundleError):
            read_manifest(tiny)


def test_any_value_of_the_first_bytes_is_refused(tiny: Path) -> None:
    file = tiny / MANIFEST
    good = file.read_bytes()
    for position in range(64):
        for value in {good[position] ^ 1 << bit for bit in range(8)} | {
            (good[position] + step) % 256 for step in (1, -1)
        }:
            file.write_bytes(good[:position] + bytes([value]) + good[position + 1 :])
            with pytest.raises(BundleError):
                read_manifest(tiny)


@given(st.data())
def test_any_flipped_byte_of_any_file_is_refused(
    tiny_original: Path, tmp_path_factory: pytest.TempPathFactory, data
) -> None:
    name = data.draw(st.sampled_from(sorted(p.name for p in tiny_original.iterdir())))
    content = bytearray((tiny_original / name).read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("flip") / "bundle"
    shutil.copytree(tiny_original, folder)
    (folder / name).write_bytes(content)
    with pytest.raises(BundleError):
        verify_bundle(folder)
    if not name.startswith(("head-", "planner-")):  # what no decision needs is not read
        with pytest.raises(BundleError):
            edgeret.load(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["encoder.onnx", "head.msgpack", "tools.json", MANIFEST])
def test_missing_and_truncated_files_are_named(tiny: Path, name: str) -> None:
    content = (tiny / name).read_bytes()
    (tiny / name).write_bytes(content[:-1])
    with pytest.raises(BundleError, match=name):
        edgeret.load(tiny)
    (tiny / name).unlink()
    with pytest.raises(BundleError, match=r"missing|not a bundle"):
        edgeret.load(tiny)


def test_altered_file_tells_expected_and_found(tiny: Path) -> None:
    content = bytearray((tiny / "graph.msgpack").read_bytes())
    content[100] ^= 1
    (tiny / "graph.msgpack").write_bytes(content)
    with pytest.raises(BundleError, match=r"graph\.msgpack: altered \(expected sha256 .* found .*edgeret-export build"):
        edgeret.load(tiny)


@pytest.mark.parametrize(
    ("version", "remedy"), [(10, "it was built by an older one: build it again"), (12, "install a newer edgeret")]
)
def test_another_format_is_refused_with_what_to_do(tiny: Path, version: int, remedy: str) -> None:
    body = msgpack.unpackb((tiny / MANIFEST).read_bytes())[3]
    digest = hashlib.sha256(b"edgeret-bundle/%d\n" % version + body).digest()
    (tiny / MANIFEST).write_bytes(msgpack.packb(["edgeret-bundle", version, digest, body]))
    with pytest.raises(BundleError, match=f"format version {version}, this edgeret reads 11; {remedy}$"):
        edgeret.load(tiny)


def test_links_are_refused(tiny: Path, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    (tiny / "head.msgpack").rename(outside)
    (tiny / "head.msgpack").symlink_to(outside)
    with pytest.raises(
        BundleError, match=r"head\.msgpack: cannot be read \(a symbolic link of a kind that is not followed\)"
    ):
        edgeret.load(tiny)


@pytest.mark.parametrize("name", ["../evil", "a/b", ".hidden", "", "manifest", "nul\0", "x" * 101])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BundleError, match="no file name"):
        BundleWriter(tmp_path).add(name, "r", b"", "MIT", "s")


@pytest.mark.parametrize("name", ["index.msgpack", "graph.msgpack", "head.msgpack"])
def test_parts_of_another_encoder_are_refused(tiny: Path, tmp_path: Path, name: str) -> None:
    stranger = tiny_bundle(tmp_path / "stranger", seed=1)
    info = dict(read_manifest(tiny).info)
    rewrite(tiny, {name: (stranger / name).read_bytes()}, info)
    with pytest.raises(BundleError, match="made for another encoder"):
        edgeret.load(tiny)


def test_calibration_of_another_head_is_refused(tiny: Path) -> None:
    head = unpack((tiny / "head.msgpack").read_bytes(), "head")
    head["description_weight"] += 0.5
    rewrite(tiny, {"head.msgpack": msgpack.packb(head)})
    with pytest.raises(BundleError, match="calibrated for another head"):
        edgeret.load(tiny)


def test_strays_are_reported_but_do_not_load(tiny: Path) -> None:
    (tiny / "evil.py").write_text("raise SystemExit")
    edgeret.load(tiny)
    assert unlisted(tiny, read_manifest(tiny)) == ["evil.py"]


def test_existing_target_is_kept_unless_forced(tiny: Path) -> None:
    with pytest.raises(InputError, match="exists already; give --force"), writing(tiny):
        pass
    with writing(tiny, overwrite=True) as writer:
        writer.add("a", "r", b"new", "MIT", "s")
        writer.finish({})
    assert [f.name for f in read_manifest(tiny).files] == ["a"]
    assert sorted(p.name for p in tiny.parent.iterdir()) == ["bundle"]


def test_a_folder_that_is_no_bundle_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(InputError, match="choose another folder"), writing(tmp_path / "photos", overwrite=True):
        pass


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "b") as writer:
        writer.add("a", "r", b"x", "MIT", "s")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


FULL_DISK = """
import resource, signal, sys
from edgeret_export.writer import writing
from edgeret.errors import InputError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    with writing(sys.argv[1] + "/bundle") as writer:
        writer.add("small", "a", b"x" * 10_000, "MIT", "s")
        writer.add("large", "b", b"x" * 100_000, "MIT", "s")
        writer.finish({})
except InputError as error:
    print(error)
"""


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    assert hasattr(resource, "RLIMIT_FSIZE")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "cannot be written (File too large); nothing was left behind. Make room" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_no_space_left_is_one_clear_error(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a tmpfs here")
    try:
        with pytest.raises(InputError, match="No space left on device"), writing(disk / "bundle") as writer:
            writer.add("large", "b", b"x" * 200_000, "MIT", "s")
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@given(st.integers(0, 5).flatmap(lambda n: st.lists(st.floats(-1e6, 1e6, width=32), min_size=n * 3, max_size=n * 3)))
def test_arrays_survive_the_round_trip(values: list[float]) -> None:
    array = np.array(values, np.float32).reshape(-1, 3)
    found = get_array(unpack(pack({"a": array}), "t"), "a", "<f4", (None, 3), "t")
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"dtype": "<f8", "shape": [1], "data": b"\0" * 8}, "must be an array of <f4"),
        ({"dtype": "<f4", "shape": [2], "data": b"\0" * 4}, "must have shape"),
        ({"dtype": "<f4", "shape": [-1], "data": b""}, "must be an array"),
        ({"dtype": "<f4", "shape": [1 << 62, 1 << 62], "data": b""}, "must have shape"),
        ({"dtype": "<f4", "shape": [1], "data": b"\0\0\xc0\x7f"}, "not finite"),
        ([1.0], "must be dict"),
    ],
)
def test_arrays_that_lie_are_refused(value: object, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        get_array({"a": value}, "a", "<f4", (None,), "t")


def test_a_pipe_in_a_files_place_is_refused_at_once(tiny: Path) -> None:
    (tiny / "head.msgpack").unlink()
    os.mkfifo(tiny / "head.msgpack")
    with pytest.raises(BundleError, match=r"head\.msgpack: not a regular file"):
        edgeret.load(tiny)


@pytest.mark.parametrize("location", ["secret.bin", "../secret.bin", "ABSOLUTE"])
def test_weights_outside_the_bundle_are_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    import onnx
    from onnx.external_data_helper import set_external_data

    exported = tiny_exported()
    model = onnx.load_from_string(exported.model)
    weights = next(i for i in model.graph.initializer if i.name == "table")
    (tmp_path / "cwd").mkdir()
    for place in (tmp_path, tmp_path / "cwd"):
        (place / "secret.bin").write_bytes(weights.raw_data)
    set_external_data(weights, location.replace("ABSOLUTE", str(tmp_path / "secret.bin")), 0, len(weights.raw_data))
    weights.ClearField("raw_data")
    monkeypatch.chdir(tmp_path / "cwd")
    with pytest.raises(EdgeretError, match="a tensor holds external data"):
        OnnxEncoder(model.SerializeToString(), exported.tokenizer, exported.spec, choose(("cpu",), False, {}), 1)


def test_an_exchanged_fingerprint_is_refused(tiny: Path) -> None:
    info = dict(read_manifest(tiny).info)
    info["encoder"] = {**info["encoder"], "spec": {**info["encoder"]["spec"], "query_prefix": "query: "}}
    rewrite(tiny, {}, info)
    with pytest.raises(BundleError, match="weights, tokenizer or settings were exchanged"):
        edgeret.load(tiny)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("head.msgpack", {"segment_weights": np.zeros((0, 3), np.float32)}, "has no rows"),
        ("head.msgpack", {"description_weight": float("nan")}, "found nan"),
        ("head.msgpack", {"bias": np.zeros(2, np.float32)}, "another shape"),
        ("graph.msgpack", {"starts": np.zeros(3, np.int32)}, "another shape"),
        ("graph.msgpack", {"labels": ["a"]}, "decide between different tools"),
        ("index.msgpack", {"names": ["find_file"] * 6}, "one of them twice"),
        ("index.msgpack", {"vectors": np.zeros((6, 24), np.float32)}, "not of length 1"),
        ("index.msgpack", {"names": ["a", "b", "c", "d", "e", "a\u200b"]}, "is no tool of the index"),
    ],
)
def test_files_that_contradict_themselves_are_refused(tiny: Path, name: str, values: dict, message: str) -> None:
    changed(tiny, name, **values)
    with pytest.raises(BundleError, match=message):
        edgeret.load(tiny)


@pytest.mark.parametrize("worth", [0, 1 << 40])
def test_files_proved_side_by_side_are_those_proved_one_by_one(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, worth: int
) -> None:
    monkeypatch.setattr(reader, "WORTH_A_THREAD", worth)
    monkeypatch.setattr(reader, "available_cpus", lambda: 2)
    bundle = open_bundle(tiny)
    expected = {entry.name: (tiny / entry.name).read_bytes() for entry in bundle.manifest.files}
    found = {**bundle.contents, **{name: bytes(copy.data) for name, copy in bundle.private.items()}}
    assert found == expected
    for name in expected:
        data = bytearray(expected[name])
        data[-1] ^= 1
        (tiny / name).write_bytes(data)
        with pytest.raises(BundleError, match=rf"{re.escape(name)}: altered"):
            open_bundle(tiny)
        (tiny / name).write_bytes(expected[name])


def test_files_are_proved_where_no_thread_can_be_had(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(reader, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(reader, "available_cpus", lambda: 2)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert open_bundle(tiny).contents
