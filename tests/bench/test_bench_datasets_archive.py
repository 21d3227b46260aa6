"""Files that are published inside an archive only, and the sources of readers that nobody fetched yet."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from edgeret.errors import InputError
from edgeret_bench.datasets import DATASETS, File, Source, fetch, registry, toolbench

MEMBER = "1.0/data/en-US.jsonl"
CONTENT = b'{"id": "0"}\n'


def packed(place: Path, *names: str) -> str:
    """An archive with those files, and one that leads out of the folder; its address."""
    with tarfile.open(place, "w:gz") as archive:
        for name in ("../../outside", *names):
            member = tarfile.TarInfo(name)
            member.size = len(CONTENT)
            archive.addfile(member, io.BytesIO(CONTENT))
    return place.as_uri()


def register(monkeypatch: pytest.MonkeyPatch, address: str, sha256: str | None) -> None:
    file = File("archive", f"{address}@1.0", MEMBER, "en-US.jsonl", sha256)
    source = Source("packed", "for tests", "queries", "MIT", (file,), toolbench.read)
    monkeypatch.setattr(registry, "DATASETS", {"packed": source})


def test_named_files_come_out_of_an_archive_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = packed(tmp_path / "all.tar.gz", "1.0/LICENSE", MEMBER)
    register(monkeypatch, address, hashlib.sha256(CONTENT).hexdigest())
    target = fetch.fetch_dataset("packed", tmp_path / "kept/packed")
    assert [(file.name, file.read_bytes()) for file in target.iterdir()] == [("en-US.jsonl", CONTENT)]
    assert not list(tmp_path.rglob("outside"))


def test_an_archive_without_the_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, packed(tmp_path / "all.tar.gz", "1.0/LICENSE"), "0" * 64)
    with pytest.raises(InputError, match=r"en-US\.jsonl is not in the archive that archive:file:.*--from FOLDER"):
        fetch.fetch_dataset("packed", tmp_path / "kept/packed")


@pytest.mark.parametrize("content", [b"no archive", b"\x1f\x8b\x08\x00broken"])
def test_a_damaged_archive_is_an_error(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "all.tar.gz").write_bytes(content)
    register(monkeypatch, (tmp_path / "all.tar.gz").as_uri(), "0" * 64)
    with pytest.raises(InputError, match=r"en-US\.jsonl could not be fetched from archive:file:"):
        fetch.fetch_dataset("packed", tmp_path / "kept/packed")


def test_an_archive_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, (tmp_path / "gone.tar.gz").as_uri(), "0" * 64)
    with pytest.raises(InputError, match=r"could not be fetched from archive:.*No such file"):
        fetch.fetch_dataset("packed", tmp_path / "kept/packed")


def test_toolret_whole_names_its_35_tasks_and_three_sets_of_tools() -> None:
    files = DATASETS["toolret-whole"].files
    assert sum(file.name.startswith(("code/", "customized/", "web/")) for file in files) == 3
    assert sum("/queries-" in file.name for file in files) == 35


@pytest.mark.parametrize("language", ["en", "de", "es", "zh-cn"])
def test_home_assistants_files_are_of_one_language(language: str) -> None:
    names = [file.name for file in DATASETS[f"ha-intents-{language}"].files]
    assert names[0] == "intents.yaml"
    assert len(names) > 25
    assert all(name.startswith(f"tests/{language}/") for name in names[1:])
