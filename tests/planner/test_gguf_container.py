"""Files that are no GGUF, or lie about what is in them: counts, lengths, types, offsets."""

from __future__ import annotations

import copy
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gguf_checks import LLAMA, check, forged, refuse
from gguf_forge import ARRAY, STRING, UINT32, Gguf
from hypothesis import given
from hypothesis import strategies as st

from edgeret.errors import PlannerError
from edgeret.planner.checks import gguf_container, gguf_file

HEAD = LLAMA.pack().index(bytes(LLAMA.tensors["token_embd.weight"].data[:64]))


@given(st.integers(0, HEAD - 1))
def test_a_head_that_is_cut_anywhere_is_refused(size: int) -> None:
    refuse(LLAMA.pack()[:size], "cut short|does not begin|no more than fit|tensors end at")


def test_weights_that_are_cut_short_are_refused() -> None:
    data = LLAMA.pack()
    refuse(data[:-1], f"its tensors end at {len(data)}, the file at {len(data) - 1}")
    refuse(data[: len(data) // 2], "its tensors end at")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for file in (tmp_path / "empty", tmp_path / "absent"):
        with pytest.raises(PlannerError, match=r"planner\.gguf: cannot be read \(.+\); build the bundle again"):
            gguf_file.check_file(file, "planner.gguf")


@pytest.mark.parametrize(
    ("place", "form", "value", "message"),
    [
        (0, "4s", b"GGML", "does not begin with GGUF"),
        (4, "I", 1, "expected GGUF version 2 or 3, found 1"),
        (4, "I", 0x03000000, "expected GGUF version 2 or 3"),
        (8, "Q", 1 << 63, "is said to have 9223372036854775808 tensors"),
        (8, "Q", gguf_container.MAX_TENSORS + 1, "tensors, expected 16384 at most"),
        (16, "Q", 1 << 40, "is said to have 1099511627776 keys"),
        (16, "Q", gguf_container.MAX_KEYS + 1, "keys, expected 1024 at most"),
        (24, "Q", 1 << 62, "cut short"),
    ],
)
def test_a_header_that_lies_is_refused(place: int, form: str, value: Any, message: str) -> None:
    data = bytearray(LLAMA.pack())
    struct.pack_into("<" + form, data, place, value)
    refuse(bytes(data), message)


def test_keys_that_llama_would_read_otherwise_are_refused() -> None:
    hidden = Gguf({"llama.block_count\0": (UINT32, 1000), **LLAMA.metadata}, LLAMA.tensors)
    refuse(hidden, r"block_count\\x00' is no name of a key or tensor")
    twice = LLAMA.pack().replace(b"llama.embedding_length", b"tokenizer.ggml.merges\0", 1)
    refuse(twice, "is no name of a key")
    data = LLAMA.pack().replace(b"llama.attention.head_count_kv", b"general.attention.head_counts")
    refuse(
        data.replace(b"llama.rope.freq_base", b"general.architecture", 1), "the key general.architecture comes twice"
    )


def test_arrays_without_end_or_type_are_refused() -> None:
    refuse(forged(general__tags=(ARRAY, (ARRAY, [(STRING, [])]))), "general.tags has the unknown type 9")
    data = forged(general__tags=(ARRAY, (STRING, ["a", "b"]))).pack()
    place = data.index(b"general.tags") + len(b"general.tags")
    for count in (1 << 62, 1 << 33, gguf_container.MAX_ELEMENTS):
        refuse(data[: place + 8] + struct.pack("<Q", count) + data[place + 16 :], f"said to have {count} elements in")
    refuse(data[:place] + struct.pack("<I", 13) + data[place + 4 :], "general.tags has the unknown type 13")
    for element in (12, 13, 1 << 31):
        lie = data[: place + 4] + struct.pack("<I", element) + data[place + 8 :]
        with pytest.raises(PlannerError):
            check(lie)


@pytest.mark.parametrize("alignment", [0, 1, 16, 48, 1 << 31])
def test_an_alignment_that_llama_cannot_map_is_refused(alignment: int) -> None:
    refuse(forged(general__alignment=(UINT32, alignment)), f"as general.alignment, found {alignment}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": ()}, "attn_q.weight has 0 dimensions"),
        ({"shape": (32, 1, 1, 1, 1)}, "attn_q.weight has 5 dimensions"),
        ({"shape": (32, 0)}, r"attn_q.weight has shape \(32, 0\)"),
        ({"shape": (33, 32)}, "expected rows that are a multiple of 32"),
        ({"shape": (1 << 63, 2)}, "attn_q.weight has shape"),
        ({"shape": (1 << 32, 1 << 32)}, "attn_q.weight has shape"),
        ({"kind": 24}, "attn_q.weight has type 24, expected one of"),
        ({"kind": 1 << 31}, "attn_q.weight has type 2147483648"),
        ({"offset": 0}, "attn_q.weight is said to begin at 0, expected"),
        ({"offset": 1 << 40}, "attn_q.weight is said to begin at"),
        ({"offset": 33}, "attn_q.weight is said to begin at 33"),
    ],
)
def test_a_tensor_that_lies_is_refused(change: dict[str, Any], message: str) -> None:
    gguf = copy.deepcopy(LLAMA)
    for field, value in change.items():
        setattr(gguf.tensors["blk.0.attn_q.weight"], field, value)
    refuse(gguf, message)


def test_a_tensor_that_comes_twice_is_refused() -> None:
    refuse(LLAMA.pack().replace(b"blk.1.attn_k.weight", b"blk.0.attn_k.weight"), "attn_k.weight comes twice")


@given(st.lists(st.tuples(st.integers(0, HEAD), st.binary(min_size=1, max_size=9)), min_size=1, max_size=4))
def test_random_bytes_in_the_head_are_refused_or_harmless(patches: list[tuple[int, bytes]]) -> None:
    data = bytearray(LLAMA.pack())
    for place, patch in patches:
        data[place : place + len(patch)] = patch
    try:
        check(bytes(data))
    except PlannerError as error:
        assert "\n" not in str(error)


@given(st.binary(max_size=300))
def test_random_files_are_refused(data: bytes) -> None:
    refuse(data, "does not begin with GGUF|cut short")
    refuse(b"GGUF\3\0\0\0" + data, "cut short|said to have|comes twice|no name|unknown|expected|is missing")


_ENDLESS = """
import resource, struct
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from edgeret.planner.checks import gguf_file
from edgeret.errors import PlannerError
for element, size, count, arrays in ((8, 8, 8 << 20, 1), (8, 8, 1 << 21, 2), (8, 8, 1 << 19, 15), (0, 1, 60 << 20, 1)):
    data = bytearray(b"GGUF" + struct.pack("<IQQ", 3, 0, arrays))
    for i in range(arrays):
        data += struct.pack("<Q4sIIQ", 4, b"k%03d" % i, 9, element, count) + bytes(size * count)
    try:
        gguf_file.check(memoryview(data), "x")
    except PlannerError as error:
        print(error)
"""


def test_a_head_made_to_exhaust_time_or_memory_is_refused_in_seconds() -> None:
    done = subprocess.run([sys.executable, "-c", _ENDLESS], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4), done.stderr
