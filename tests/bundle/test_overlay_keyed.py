"""An overlay that is bound to a device: read with its key alone, and never believed where somebody changed it."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from edgeret.bundle.overlay import Contents, is_unborn, scan
from edgeret.bundle.overlay_file import read_overlay
from edgeret.errors import OverlayError
from edgeret_export.reference.overlay_bytes import pack_batch, pack_header
from edgeret_export.reference.overlay_writer import Overlay

ENCODER, BUNDLE = "ab" * 32, "cd" * 32
KEY, OTHER = b"this device alone", b"another device, another key" * 3
HEADER, DIGEST = 164, 32


def packed(key: bytes | None, count: int = 3) -> bytes:
    """A whole file of so many batches."""
    data = pack_header(ENCODER, BUNDLE, bytes(16), key)
    contents = Contents(ENCODER, BUNDLE, data[-DIGEST:], len(data), key=key)
    for number in range(count):
        batch = pack_batch([("note", {"number": number})], contents, "t")
        contents.add(batch)
        data += batch.data
    return data


def test_the_bytes_are_those_of_the_specification() -> None:
    data = packed(KEY, 1)
    assert data[16] == 2
    assert data[100:132] == hashlib.sha256(data[:100]).digest()
    assert data[132:HEADER] == hmac.digest(KEY, data[:132], "sha256")
    assert data[HEADER + 16 : HEADER + 48] == data[132:HEADER]
    assert data[-DIGEST:] == hmac.digest(KEY, data[HEADER:-DIGEST], "sha256")


@pytest.mark.parametrize("key", [KEY, OTHER, b"k" * 64, b"k" * 65])
def test_with_its_key_it_reads_as_any(key: bytes) -> None:
    contents = scan(packed(key), ENCODER, "t", key)
    assert [record.value["number"] for record in contents.records] == [0, 1, 2]


@pytest.mark.parametrize(
    ("written", "read", "told"),
    [
        (OTHER, KEY, "of another device, or altered"),
        (None, KEY, "not bound to this device's key"),
        (KEY, None, "bound to a device by a key"),
    ],
)
def test_any_other_is_refused_by_name(written: bytes | None, read: bytes | None, told: str) -> None:
    with pytest.raises(OverlayError, match=f"^t: {told}.*nothing was changed"):
        scan(packed(written), ENCODER, "t", read)


def test_no_changed_byte_is_believed_even_with_digests_made_again() -> None:
    """The last batch cannot be told from an append that was cut off; what it held is left out all the same."""
    data = packed(KEY)
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1
        if at < 100:
            changed[100:132] = hashlib.sha256(changed[:100]).digest()
        try:
            found = scan(bytes(changed), ENCODER, "t", KEY)
        except OverlayError:
            continue
        assert len(found.records) < 3


def test_a_batch_sealed_without_the_key_is_left_out_and_another_files_is_refused() -> None:
    data, other = packed(KEY), packed(OTHER)
    forged = data[: len(packed(KEY, 2))] + other[len(packed(OTHER, 2)) :]
    assert len(scan(forged, ENCODER, "t", KEY).records) == 2
    middle = (
        data[: len(packed(KEY, 1))] + other[len(packed(OTHER, 1)) : len(packed(OTHER, 2))] + data[len(packed(KEY, 2)) :]
    )
    with pytest.raises(OverlayError, match="damaged at byte"):
        scan(middle, ENCODER, "t", KEY)


def test_a_header_cut_at_any_byte_was_never_in_use() -> None:
    header = packed(KEY, 0)
    assert all(is_unborn(header[:size]) for size in range(HEADER))
    assert is_unborn(header[:132] + bytes(32))
    assert not is_unborn(header)
    assert not is_unborn(header[:132] + b"x" * 32)


def test_a_file_is_made_added_to_and_written_anew_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "b.overlay"
    with Overlay.open(path, ENCODER, BUNDLE, key=KEY) as overlay:
        overlay.append([("note", {"number": 1})])
        overlay.compact([("note", {"number": 2})])
        overlay.append([("note", {"number": 3})])
    assert [record.value["number"] for record in read_overlay(path, ENCODER, KEY)] == [2, 3]
    before = path.read_bytes()
    for key in (None, OTHER):
        with pytest.raises(OverlayError, match="nothing was changed"):
            Overlay.open(path, ENCODER, BUNDLE, key=key)
    assert path.read_bytes() == before
    path.write_bytes(before[:140])
    with Overlay.open(path, ENCODER, BUNDLE, key=KEY) as overlay:
        assert not overlay.records
