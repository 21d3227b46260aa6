"""Pins of the originals: their form, what has them, and that nothing else than the pinned bytes is taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgeret.errors import InputError
from edgeret_bench.datasets import DATASETS, File, Source, fetch, registry, toolbench
from edgeret_bench.datasets.pins import find_pin, read_pins

ORIGINALS = Path(__file__).parents[1] / "data" / "originals"
READ = ("toole", "ultratool", "toolbench", "toolret", "api-bank", "seal-tools")
"""Datasets whose originals were read whole at the pinned revisions, besides BFCL."""
RECORDED = ("clinc150", "banking77")
"""Datasets whose hashes several public records agree on, and which nobody fetched here yet."""


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the place where repositories publish their files."""
    monkeypatch.setattr(fetch, "_GITHUB", (tmp_path / "upstream").as_uri())
    return tmp_path / "upstream"


def publish(upstream: Path, file: File, data: bytes) -> None:
    place = upstream / file.place.replace("@", "/") / file.path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def test_every_pin_is_a_sha256_of_a_file_that_some_dataset_lists() -> None:
    listed = {(f"{file.kind}:{file.place}", file.path) for source in DATASETS.values() for file in source.files}
    pins = {(place, path): digest for place, paths in read_pins().items() for path, digest in paths.items()}
    assert pins.keys() <= listed
    assert [pin for pin in pins.items() if not re.fullmatch("[0-9a-f]{64}", pin[1])] == []
    assert len(set(pins.values())) == len(pins)


def test_what_was_read_or_recorded_is_fully_pinned_and_nothing_else_is() -> None:
    pinned = {name for name, source in DATASETS.items() if source.pinned}
    assert pinned == {*READ, *RECORDED, "bfcl", "bfcl-irrelevance", "droidcall", "mobile-actions"}
    unpinned = {file.name for file in DATASETS["toolret-whole"].files if file.sha256 is None}
    assert unpinned == {f"{task}/queries-00000-of-00001.parquet" for task in ("apibank", "apigen")}
    tools = [file for file in DATASETS["tinyagent"].files if file.kind == "github"]
    assert [file.sha256 is not None for file in tools] == [True]


def test_a_place_of_another_revision_has_no_pins() -> None:
    place = "HowieHwong/MetaTool@e1029bcfdb1039aff6ce24b548920d8bc25b1c3d"
    assert find_pin("github", place, "dataset/plugin_des.json") is not None
    assert find_pin("github", place[:-1] + "e", "dataset/plugin_des.json") is None
    assert find_pin("github", place, "dataset/other.json") is None


@pytest.mark.parametrize("name", [*READ, *RECORDED])
def test_pinned_datasets_need_no_permission_and_take_no_other_bytes(name: str, upstream: Path, tmp_path: Path) -> None:
    files = DATASETS[name].files
    for file in files:
        publish(upstream, file, b"[]")
    refused = rf"dataset {name}: {re.escape(files[0].name)}: expected sha256 {files[0].sha256}, found 4f53cda18c2baa0c"
    with pytest.raises(InputError, match=refused):
        fetch.fetch_dataset(name, tmp_path / "kept" / name)
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize("changed", ["plugin_des.json", "big_tool_des.json"])
def test_one_changed_byte_is_refused_by_name(
    changed: str, upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the files of ToolE that are whole in the excerpt, so that the pins are those of the real files."""
    whole = tuple(file for file in DATASETS["toole"].files if file.name in ("plugin_des.json", "big_tool_des.json"))
    monkeypatch.setattr(registry, "DATASETS", {"whole": Source("whole", "", "", "MIT", whole, toolbench.read)})
    for file in whole:
        publish(upstream, file, (ORIGINALS / "toole" / file.name).read_bytes())
    assert len(list(fetch.fetch_dataset("whole", tmp_path / "right").iterdir())) == 2
    file = next(file for file in whole if file.name == changed)
    data = bytearray((ORIGINALS / "toole" / changed).read_bytes())
    data[len(data) // 2] ^= 1
    publish(upstream, file, bytes(data))
    with pytest.raises(InputError, match=rf"dataset whole: {changed}: expected sha256 {file.sha256}, found "):
        fetch.fetch_dataset("whole", tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()
