"""An overlay's bytes: what is whole is found, what was cut off is left out, and anything else is refused."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.bundle import overlay
from edgeret.bundle.codec import get_array
from edgeret.bundle.overlay import HEADER_BYTES, MAX_RECORD_BYTES, Contents, is_unborn, scan
from edgeret.errors import OverlayError
from edgeret_export.reference.overlay_bytes import pack_batch, pack_header

ENCODER, BUNDLE, SALT = "ab" * 32, "cd" * 32, bytes(range(16))
PLAN = {"id": 7, "query": "find my file", "vector": np.arange(6, dtype=np.float16), "calls": ["find_file"], "at": 1.5}
BATCHES: list[list[tuple[str, dict[str, Any]]]] = [
    [("plan", PLAN)],
    [("tool-removed", {"name": "find_file"}), ("tool-added", {"tool": '{"name": "x"}'})],
    [("forgot", {"id": 7})],
]


def packed(batches: list[list[tuple[str, dict[str, Any]]]], salt: bytes = SALT) -> bytes:
    """A whole file."""
    data = pack_header(ENCODER, BUNDLE, salt)
    contents = Contents(ENCODER, BUNDLE, data[-32:])
    for records in batches:
        batch = pack_batch(records, contents, "t")
        contents.add(batch)
        data += batch.data
    return data


def kinds(data: bytes) -> list[str]:
    """The kinds of the records that a reader finds."""
    return [record.kind for record in scan(data, ENCODER, "t").records]


def sealed(body: bytes, number: int = 0, before: bytes | None = None, length: int | None = None) -> bytes:
    """A batch written by hand behind a fresh header, whatever is in it."""
    before = packed([])[-32:] if before is None else before
    batch = b"\xffrec" + struct.pack("<IQ", len(body) if length is None else length, number) + before + body
    return batch + hashlib.sha256(batch).digest()


DATA = packed(BATCHES)
ENDS = [len(packed(BATCHES[:count])) for count in range(len(BATCHES) + 1)]
KINDS = ["plan", "tool-removed", "tool-added", "forgot"]
WHOLE = [[], ["plan"], KINDS[:3], KINDS]


def test_the_bytes_are_those_of_the_specification() -> None:
    """Written from docs/FORMAT.md, with nothing of edgeret's."""
    header, rest = DATA[:132], DATA[132:]
    assert header[:20] == b"edgeret-overlay\n" + bytes([1, 0, 0, 0])
    assert header[20:100] == SALT + bytes.fromhex(ENCODER + BUNDLE)
    assert header[100:] == hashlib.sha256(header[:100]).digest()
    before, number, found = header[100:], 0, []
    while rest:
        marker, length, first, digest = struct.unpack("<4sIQ32s", rest[:48])
        assert (marker, first, digest) == (b"\xffrec", number, before)
        batch, before, rest = rest[: 48 + length], rest[48 + length : 80 + length], rest[80 + length :]
        assert before == hashlib.sha256(batch).digest()
        records = msgpack.unpackb(batch[48:])["records"]
        number += len(records)
        found += records
    assert [kind for kind, _ in found] == KINDS
    vector = found[0][1]["vector"]
    assert (vector["dtype"], vector["shape"]) == ("<f2", [6])
    assert np.frombuffer(vector["data"], "<f2").tolist() == [0, 1, 2, 3, 4, 5]


def test_golden_bytes_stay_as_they_are() -> None:
    assert hashlib.sha256(DATA).hexdigest() == "101b1aaf605b59fb4f62dd263ffb8f3f100cfabde9a8c056ae86f87d41e2aeca"


@pytest.mark.parametrize("dtype", ["<f4", "<f2", "<i4", "|i1"])
def test_arrays_come_back_as_they_were(dtype: str) -> None:
    array = np.array([[1, 2], [-3, 4]], dtype)
    (record,) = scan(packed([[("state", {"a": array})]]), ENCODER, "t").records
    np.testing.assert_array_equal(get_array(record.value, "a", dtype, (2, 2), "t"), array)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_a_float16_that_is_not_finite_is_refused_when_it_is_read(number: float) -> None:
    (record,) = scan(packed([[("state", {"a": np.array([1, number], np.float16)})]]), ENCODER, "t").records
    with pytest.raises(Exception, match="not finite"):
        get_array(record.value, "a", "<f2", (2,), "t")


def test_a_file_cut_at_any_byte_is_read_to_its_last_whole_batch() -> None:
    for size in range(HEADER_BYTES, len(DATA) + 1):
        whole = sum(end <= size for end in ENDS) - 1
        contents = scan(DATA[:size], ENCODER, "t")
        assert [record.kind for record in contents.records] == WHOLE[whole]
        assert contents.size_bytes == ENDS[whole]


def test_a_file_whose_last_batch_is_partly_zeros_is_read_up_to_it() -> None:
    """What a file system leaves that wrote down the file's new length before its bytes."""
    for size in range(ENDS[2], len(DATA)):
        assert kinds(DATA[:size] + bytes(len(DATA) - size)) == WHOLE[2]


def test_a_header_cut_at_any_byte_was_never_in_use() -> None:
    for size in range(HEADER_BYTES):
        assert is_unborn(DATA[:size])
        assert is_unborn(DATA[:size] + bytes(HEADER_BYTES - size))
    assert not is_unborn(DATA[:HEADER_BYTES])
    assert not is_unborn(DATA[: HEADER_BYTES - 1] + b"\0\0")
    assert not is_unborn(b"my diary")


def test_no_flipped_bit_is_ever_believed() -> None:
    for bit in range(len(DATA) * 8):
        data = bytearray(DATA)
        data[bit // 8] ^= 1 << bit % 8
        if bit // 8 >= ENDS[2]:
            assert kinds(bytes(data)) == WHOLE[2]
        else:
            with pytest.raises(OverlayError, match=r"not an edgeret overlay|damaged at byte|header is damaged"):
                scan(bytes(data), ENCODER, "t")


@given(st.integers(0, len(DATA)), st.integers(0, 40), st.binary(max_size=60))
def test_whatever_is_written_over_it_gives_a_beginning_of_it_or_an_error(at: int, over: int, new: bytes) -> None:
    data = DATA[:at] + new + DATA[at + over :]
    try:
        found = kinds(data)
    except OverlayError as error:
        assert "nothing was changed" in str(error)
        return
    assert found in WHOLE


@given(st.binary(max_size=400))
def test_any_bytes_behind_it_are_left_out_or_refused(tail: bytes) -> None:
    try:
        assert scan(DATA + tail, ENCODER, "t").size_bytes == len(DATA)
    except OverlayError as error:
        assert "nothing was changed" in str(error)


@pytest.mark.parametrize("out", [0, 1])
def test_a_batch_cut_out_of_the_middle_is_noticed(out: int) -> None:
    data = DATA[: ENDS[out]] + DATA[ENDS[out + 1] :]
    with pytest.raises(OverlayError, match=rf"byte {ENDS[out]} expected record \d, found \d.*cut out or put in"):
        scan(data, ENCODER, "t")


def test_batches_of_two_files_are_never_mixed() -> None:
    other = packed(BATCHES, salt=bytes(16))
    for count in range(len(BATCHES)):
        with pytest.raises(OverlayError, match="or one of another file: something was cut out or put in; nothing was"):
            scan(DATA[: ENDS[count]] + other[ENDS[count] :], ENCODER, "t")
    with pytest.raises(OverlayError, match="expected record 4, found 3"):
        scan(DATA + DATA[ENDS[2] :], ENCODER, "t")


def test_a_forged_number_is_refused() -> None:
    with pytest.raises(OverlayError, match="byte 132 expected record 0, found 5"):
        scan(packed([]) + sealed(msgpack.packb({"records": []}), number=5), ENCODER, "t")


def test_another_encoders_overlay_is_refused() -> None:
    with pytest.raises(OverlayError, match=r"t: learned with another encoder \(expected fingerprint eeee.*found abab"):
        scan(DATA, "ee" * 32, "t")


def test_a_newer_version_is_refused_and_a_damaged_one_is_not_taken_for_newer() -> None:
    start = DATA[:16] + bytes([3, 0, 0, 0]) + DATA[20:100]
    with pytest.raises(OverlayError, match="expected format version 1, found 3"):
        scan(start + hashlib.sha256(start).digest(), ENCODER, "t")
    with pytest.raises(OverlayError, match="header is damaged"):
        scan(start + DATA[100:], ENCODER, "t")


BODIES = {
    "no map": msgpack.packb([]),
    "no records": msgpack.packb({}),
    "records no list": msgpack.packb({"records": {}}),
    "no pair": msgpack.packb({"records": [["plan"]]}),
    "kind no text": msgpack.packb({"records": [[1, {}]]}),
    "kind with a line end": msgpack.packb({"records": [["plan\n", {}]]}),
    "kind too long": msgpack.packb({"records": [["p" * 65, {}]]}),
    "value no map": msgpack.packb({"records": [["plan", []]]}),
    "a key twice": b"\x81\xa7records\x91\x92\xa4plan\x82\xa1a\x01\xa1a\x02",
    "a key no text": msgpack.packb({"records": [["plan", {1: 2}]]}),
    "too deep": b"\x81\xa7records" + b"\x91" * 3_000 + b"\xc0",
    "more announced than there is": b"\x81\xa7records\xdd\xff\xff\xff\xff",
    "not msgpack": b"\xc1",
    "empty": b"",
    "more behind": msgpack.packb({"records": []}) + b"\xc0",
}


@pytest.mark.parametrize("name", BODIES)
def test_forged_records_with_a_right_digest_are_refused(name: str) -> None:
    with pytest.raises(OverlayError, match=r"t: at byte 132: .*; nothing was changed; bring back a copy"):
        scan(packed([]) + sealed(BODIES[name]), ENCODER, "t")


@pytest.mark.parametrize("length", [0, 1, 5, 1 << 24, (1 << 24) + 1, (1 << 31) - 1, (1 << 32) - 1])
def test_forged_lengths_are_never_followed(length: int) -> None:
    forged = sealed(msgpack.packb({"records": []}), length=length)
    assert scan(packed([]) + forged, ENCODER, "t").size_bytes == HEADER_BYTES
    following = packed(BATCHES)[HEADER_BYTES:]
    with pytest.raises(OverlayError, match="damaged at byte 132, behind 0 good records and before others"):
        scan(packed([]) + forged + following, ENCODER, "t")


def test_maps_made_to_fill_the_memory_are_refused_over_all_batches_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "MAX_CONTAINERS", 1_000)
    batches = [[("a", {"maps": [{}] * 300})]] * 3
    assert len(kinds(packed(batches))) == 3
    with pytest.raises(OverlayError, match=r"t: a record that cannot be kept .more than 1000 maps and arrays"):
        packed([*batches, batches[0]])


def test_a_tail_of_markers_costs_no_more_than_hashing_it_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = 0
    whole = overlay._whole_batch  # noqa: SLF001

    def counting(data: bytes, offset: int, key: bytes | None) -> bytes:
        nonlocal hashed
        hashed += max(0, overlay._batch_end(data, offset) - offset)  # noqa: SLF001
        return whole(data, offset, key)

    monkeypatch.setattr(overlay, "_whole_batch", counting)
    tail = (b"\xffrec" + struct.pack("<I", 100_000) + bytes(40)) * 10_000
    with pytest.raises(OverlayError, match="damaged at byte"):
        scan(DATA + tail, ENCODER, "t")
    assert hashed < 3 * len(DATA + tail)


def test_a_tail_longer_than_any_batch_is_damage() -> None:
    with pytest.raises(OverlayError, match="damaged at byte"):
        scan(DATA + bytes(MAX_RECORD_BYTES + 1_000), ENCODER, "t")


@pytest.mark.parametrize("kind", ["", "Plan", "plan\n", "-plan", "p" * 65, "ä", 3])
def test_a_kind_is_a_short_plain_word(kind: Any) -> None:
    with pytest.raises(OverlayError, match=r"t: a record that cannot be kept .*1 to 64 characters"):
        packed([[(kind, {})]])


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1 << 64, "\ud800", np.zeros(1, np.float64), np.zeros(1, object), {1: 2}, {"a": {None: 1}}, 1j],
)
def test_what_is_no_plain_data_cannot_be_kept(value: object) -> None:
    with pytest.raises(OverlayError, match=r"t: a record that cannot be kept .*; nothing was changed; give plain data"):
        packed([[("plan", {"value": value})]])


def test_a_value_that_holds_itself_cannot_be_kept() -> None:
    value: dict[str, Any] = {}
    value["again"] = value
    with pytest.raises(OverlayError, match="cannot be kept"):
        packed([[("plan", value)]])


def test_a_record_that_is_too_large_is_refused() -> None:
    with pytest.raises(OverlayError, match="expected at most 16777216 bytes of records at once"):
        packed([[("state", {"data": bytes(MAX_RECORD_BYTES)})]])


@pytest.mark.parametrize("text", ["AB" * 32, "ab", "", "xy" * 32, "ab" * 32 + "\n"])
def test_a_fingerprint_is_64_hex_digits(text: str) -> None:
    with pytest.raises(OverlayError, match="expected a bundle's fingerprint, 64 lower-case hex digits"):
        pack_header(text, BUNDLE, SALT)
