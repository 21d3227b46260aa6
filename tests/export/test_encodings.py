"""What a build encoded is read again, whatever happened to the process that wrote it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, make_demonstrations, tiny_exported

import edgeret
from edgeret.errors import BundleError
from edgeret_export.encoders import encodings, shards
from edgeret_export.encoders.encodings import Encodings, remembered, start
from edgeret_export.encoders.shards import KEY_BYTES, Shards
from edgeret_export.places import HERE
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.evidence import evidence, passages
from edgeret_export.reference.lexicon import Lexicon, tool_words
from edgeret_export.sources.fetch import cache_folder


def key(number: int) -> bytes:
    return number.to_bytes(KEY_BYTES, "little")


def filled(folder: Path, numbers: Sequence[int]) -> Path:
    """A folder with one more shard of these records, and the shard."""
    before = set(folder.glob("*"))
    kept = Shards(folder)
    for number in numbers:
        kept.put(key(number), bytes([number]) * (10 + number))
    kept.close()
    (shard,) = set(folder.glob("*")) - before
    return shard


def found(folder: Path, numbers: Sequence[int]) -> list[int]:
    """Which of the records can be read, and are right."""
    kept = Shards(folder)
    read = {number: data for number in numbers if (data := kept.get(key(number))) is not None}
    kept.close()
    assert all(data == bytes([number]) * (10 + number) for number, data in read.items())
    return sorted(read)


def test_a_shard_cut_off_anywhere_keeps_all_records_before(tmp_path: Path) -> None:
    shard = filled(tmp_path / "a", range(4))
    whole = shard.read_bytes()
    ends = list(itertools.accumulate(28 + 10 + number for number in range(4)))
    for length in range(len(whole)):
        shard.write_bytes(whole[:length])
        assert found(tmp_path / "a", range(4)) == [number for number, end in enumerate(ends) if end <= length]


def test_a_record_that_was_changed_is_none(tmp_path: Path) -> None:
    shard = filled(tmp_path / "a", range(4))
    whole = bytearray(shard.read_bytes())
    for place in range(28 + 10, 28 + 10 + 28 + 11):  # those of the second record
        changed = whole.copy()
        changed[place] ^= 128
        shard.write_bytes(changed)
        assert 1 not in found(tmp_path / "a", range(4))
        assert 0 in found(tmp_path / "a", range(4))


def test_what_was_kept_is_there_at_once(tmp_path: Path) -> None:
    kept = Shards(tmp_path / "a")
    for number in range(4):
        kept.put(key(number), bytes([number]) * number)
        assert [kept.get(key(earlier)) for earlier in range(4)] == [
            bytes([earlier]) * earlier if earlier <= number else None for earlier in range(4)
        ]
    kept.close()


def test_several_processes_keep_side_by_side(tmp_path: Path) -> None:
    filled(tmp_path / "a", [0, 1])
    filled(tmp_path / "a", [1, 2])
    filled(tmp_path / "b", [3])
    assert found(tmp_path / "a", range(4)) == [0, 1, 2]


def test_what_was_not_used_for_longest_makes_room(tmp_path: Path) -> None:
    files = [filled(tmp_path / "a", [number]) for number in range(4)]
    for age, file in enumerate(files):
        os.utime(file, (1000 + age, 1000 + age))
    used = Shards(tmp_path / "a")
    assert used.get(key(0)) is not None
    size = sum(file.stat().st_size for file in files)
    Shards(tmp_path / "b", size).close()  # a quarter of the room, and a little, is made free
    assert [file.exists() for file in files] == [True, False, False, True]
    assert used.get(key(1)) is None  # of a build that is still at work
    used.close()


def test_more_than_there_is_room_for_is_not_kept(tmp_path: Path) -> None:
    kept = Shards(tmp_path / "a", 100)
    for number in range(4):
        kept.put(key(number), bytes([number]) * (10 + number))
    kept.close()
    assert found(tmp_path / "a", range(4)) == [0, 1]


def test_a_full_disk_is_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shards.tempfile, "mkstemp", full)
    kept = Shards(tmp_path / "a")
    kept.put(key(0), b"x")
    kept.put(key(1), b"x")
    kept.close()
    assert capsys.readouterr().err.count("could not be kept") == 1


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The queries that were really encoded; what was is kept in a folder of the test's own."""
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path))
    seen: list[str] = []
    real = OnnxEncoder.encode_query

    def encode_query(self: OnnxEncoder, text: str) -> Any:
        seen.append(text)
        return real(self, text)

    monkeypatch.setattr(OnnxEncoder, "encode_query", encode_query)
    return seen


def test_what_is_kept_is_what_was_computed_to_the_last_bit(counted: list[str]) -> None:
    exported, lexicon = tiny_exported(), Lexicon([tool_words(tool) for tool in TOOLS])
    queries = [*(d.query for d in make_demonstrations()[: HERE.at_once]), "mail", "send it then, and play music; stop"]
    encoder = start(exported)
    for _ in range(2):
        with remembered(exported, encoder) as again:
            read = list(again.passages(queries))
    different = set(queries)
    assert sorted(counted) == sorted(different)
    for query, kept in zip(queries, read, strict=True):
        plain = encoder.encode_query(query)
        made, direct = evidence(query, kept, lexicon), evidence(query, plain, lexicon)
        for name in ("rows", "windows", "clauses"):
            np.testing.assert_array_equal(getattr(kept, name), getattr(passages(query, plain), name))
            np.testing.assert_array_equal(getattr(made.passages, name), getattr(direct.passages, name))


def test_vectors_alone_are_those_of_the_encoder(counted: list[str]) -> None:
    exported, texts = tiny_exported(), ["send a mail", "play music", "send a mail"]
    encoder = start(exported)
    for _ in range(2):
        with remembered(exported, encoder) as again:
            np.testing.assert_array_equal(again.queries(texts), np.stack([encoder.encode(text) for text in texts]))
            np.testing.assert_array_equal(again.tools(texts), encoder.encode_tools(texts))
            assert again.tools([]).shape == (0, exported.spec.dimension)


def test_what_was_encoded_before_an_interruption_is_not_encoded_again(counted: list[str]) -> None:
    exported = tiny_exported()
    queries = [f"note {number}" for number in range(3 * HERE.at_once)]

    def interrupted() -> Any:
        yield from queries[: 2 * HERE.at_once + 5]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), remembered(exported, start(exported)) as first:
        list(first.passages(interrupted()))
    counted.clear()
    with remembered(exported, start(exported)) as second:
        list(second.passages(queries))
    assert sorted(counted) == sorted(queries[2 * HERE.at_once :])


@pytest.mark.parametrize("change", ["another model", "other code", "another library", "another engine"])
def test_what_another_encoder_made_is_not_taken(
    counted: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str
) -> None:
    def encode(seed: int = 0) -> None:
        exported = tiny_exported(seed)
        with remembered(exported, start(exported)) as kept:
            list(kept.passages(["send a mail"]))

    encode()
    changes: dict[str, Callable[[], Any]] = {
        "another model": lambda: encode(1),
        "other code": lambda: monkeypatch.setattr(encodings, "_SOURCES", ("types.py",)),
        "another library": lambda: monkeypatch.setattr(encodings, "version", lambda name: "0"),
        "another engine": lambda: monkeypatch.setattr(OnnxEncoder, "engine", "edgeret (avx512_vnni)"),
    }
    changes[change]()
    if change != "another model":
        encode()
    assert len(counted) == 2
    assert len(list((tmp_path / "vectors").iterdir())) == 2


def test_an_error_of_the_encoder_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise BundleError("broken")

    monkeypatch.setattr(OnnxEncoder, "encode_query", broken)
    with pytest.raises(BundleError, match="broken"):
        list(Encodings(start(tiny_exported())).passages(["send a mail"]))


def test_what_python_compiled_beside_the_sources_is_none_of_them() -> None:
    """Most users have such folders; CI does not."""
    exported = tiny_exported()
    names = [remembered_under(exported)]
    (Path(edgeret.__file__).parent / "core" / "__pycache__").mkdir(exist_ok=True)
    assert [remembered_under(exported)] == names


def remembered_under(exported: Any) -> list[str]:
    """The folders of kept vectors, once an encoder's were asked for."""
    with remembered(exported, start(exported)) as kept:
        kept.queries(["find my file"])
    return sorted(folder.name for folder in (cache_folder() / "vectors").iterdir())
