"""A store: versions come, are tried, switched to and back; what must not decide never does."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from permuted import permute_heads
from two_versions import two_versions

import edgeret
from edgeret import BundleStore
from edgeret.errors import BundleError, CheckFailedError, InputError
from edgeret.types import Tool

QUERY = "find my file and send a mail"
PATIENCE_S = 120


@pytest.fixture
def store(tmp_path: Path, tiny_original: Path, tiny_many: Path) -> BundleStore:
    """A store with the versions "old" and "new", of which the old one is active."""
    return two_versions(tmp_path / "store", tiny_original, tiny_many)


@pytest.fixture
def bad(tiny: Path) -> Path:
    """A bundle whose heads were exchanged."""
    return permute_heads(tiny)


def names(store: BundleStore) -> list[str]:
    return [version.name for version in store.versions]


def test_a_version_is_a_whole_copy_that_nobody_else_can_change(tmp_path: Path, tiny: Path) -> None:
    store = BundleStore(tmp_path / "store", threads=1)
    version = store.add(tiny)
    assert version.name == version.content_hash[:12]
    assert store.active is None
    copied = tmp_path / "store" / "bundles" / version.content_hash
    assert {f.name: f.read_bytes() for f in copied.iterdir()} == {f.name: f.read_bytes() for f in tiny.iterdir()}
    shutil.rmtree(tiny)
    store.activate(version)
    assert store.runtime.task(QUERY).next().tool == "find_file"


def test_a_switch_changes_what_decides_and_open_tasks_go_on_as_they_were(store: BundleStore) -> None:
    before = store.runtime
    task = before.task(QUERY)
    first = task.next()
    report = store.activate("new")
    assert (report.version.name, report.before and report.before.name) == ("new", "old")
    assert [check["name"] for check in report.checks if check["ok"]] == [
        *("integrity", "golden vectors", "golden decisions", "a decision")
    ]
    assert store.runtime is not before
    assert store.runtime.manifest.content_hash == store.active.content_hash == store.version.content_hash
    task.accept(first)
    same = before.task(QUERY, [first.tool])
    assert task.next().probability == same.next().probability != store.runtime.task(QUERY, [first.tool]).next()


def test_rolling_back_goes_to_the_version_before_and_not_forth_again(store: BundleStore) -> None:
    store.activate("new")
    assert store.rollback("users complained").version.name == "old"
    assert store.events[-1].what == "rolled back"
    assert store.events[-1].reason == "users complained"
    with pytest.raises(InputError, match="no version was active before"):
        store.rollback()
    assert store.version.name == "old"


def test_a_version_that_decides_nonsense_never_decides_for_anybody(store: BundleStore, bad: Path) -> None:
    store.add(bad, "bad")
    before = store.runtime
    with pytest.raises(CheckFailedError, match="bad: refused, it failed 1 of 4 checks: golden decisions"):
        store.activate("bad")
    assert store.runtime is before
    assert store.active.name == "old"
    assert store.events[-1].what == "refused"
    assert "golden decisions" in store.events[-1].reason


def test_the_callers_probe_and_requests_that_must_be_decided_are_asked_first(
    store: BundleStore, tmp_path: Path
) -> None:
    seen = []

    def probe(runtime: edgeret.Runtime) -> None:
        seen.append(runtime)
        raise ValueError("too slow here")

    with pytest.raises(CheckFailedError, match="the caller's probe: ValueError: too slow here"):
        store.activate("new", probe=probe)
    assert seen and seen[0] is not store.runtime
    requests = tmp_path / "must.jsonl"
    lines = [{"query": QUERY, "tool": "find_file"}, {"query": QUERY, "calls": ["find_file"], "tool": "send_mail"}]
    requests.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert store.activate("new", must_decide=requests).checks[-1]["detail"] == "2 of 2 as they must be"
    requests.write_text(f"{json.dumps({'query': 'play my song', 'tool': None})}\n")
    with pytest.raises(CheckFailedError, match='"play my song": expected nothing, found play_music'):
        store.activate("old", must_decide=requests)
    assert store.version.name == "new"


def test_the_stores_own_probe_is_asked_when_another_process_switched(store: BundleStore, tmp_path: Path) -> None:
    def probe(runtime: edgeret.Runtime) -> None:
        if runtime.manifest.content_hash == store.find("new").content_hash:
            raise RuntimeError("not on this device")

    other = BundleStore(store.folder, threads=1, probe=probe)
    before = other.runtime
    assert other.refresh() is None
    store.activate("new")
    with pytest.raises(CheckFailedError, match="not on this device"):
        other.refresh()
    assert other.runtime is before
    assert other.refresh() is None  # told once
    store.activate("old")
    assert other.refresh() is None  # that is what it has


def test_watching_takes_up_what_others_activate(store: BundleStore) -> None:
    heard, came = [], threading.Event()

    def told(what: object) -> None:
        heard.append(what)
        came.set()
        raise ValueError("not interested")

    with BundleStore(store.folder, threads=1) as other:
        assert other.version.name == "old"
        other.watch(0.01, told)
        with pytest.raises(InputError, match="is watched already"):
            other.watch()
        for name in ("new", "old"):
            came.clear()
            store.activate(name)
            assert came.wait(PATIENCE_S)
            assert other.version.name == name
        assert [found.version.name for found in heard] == ["new", "old"]
    assert "not interested" in str(other.trouble)
    assert not [thread for thread in threading.enumerate() if thread.name == "edgeret-store"]


def test_a_start_with_a_damaged_version_goes_back_to_the_last_good_one(store: BundleStore) -> None:
    store.activate("new")
    (store.folder / "bundles" / store.version.content_hash / "head.msgpack").write_bytes(b"")
    fresh = BundleStore(store.folder, threads=1)
    with pytest.warns(RuntimeWarning, match="head.msgpack.*old is active again"):
        assert fresh.runtime.task(QUERY).next().tool == "find_file"
    assert fresh.active.name == fresh.version.name == "old"
    assert "head.msgpack" in str(fresh.trouble)
    assert "head.msgpack" in fresh.events[-1].reason
    with pytest.raises(BundleError, match=r"head\.msgpack"):
        fresh.activate("new")
    restored = fresh.add(shutil.copytree(store.folder / "bundles" / fresh.version.content_hash, store.folder / "copy"))
    assert restored.name == "old"


@pytest.mark.parametrize("file", ["manifest", "head.msgpack"])
def test_what_was_damaged_is_mended_by_adding_it_again(store: BundleStore, tiny_many: Path, file: str) -> None:
    version = store.find("new")
    (store.folder / "bundles" / version.content_hash / file).write_bytes(b"")
    with pytest.raises(BundleError):
        store.activate("new")
    assert store.add(tiny_many) == version
    assert store.activate("new").version == version


def test_removing_deletes_all_but_the_active_version(store: BundleStore) -> None:
    with pytest.raises(InputError, match="old is active"):
        store.remove("old")
    version = store.remove("new")
    assert names(store) == ["old"]
    assert not (store.folder / "bundles" / version.content_hash).exists()
    with pytest.raises(InputError, match='no version is called "new"; there are: old'):
        store.activate("new")


def test_names_and_hashes(store: BundleStore, tiny_original: Path, tiny_many: Path, tmp_path: Path) -> None:
    version = store.find("new")
    assert store.find(version.content_hash) == store.find(version.content_hash[:8]) == store.find(version) == version
    with pytest.raises(InputError, match="another version is called"):
        store.add(tiny_many, "old")
    with pytest.warns(RuntimeWarning, match=r"were here as new; they are called v2\.1\+rc-1 from now on"):
        assert store.add(tiny_many, "v2.1+rc-1").name == "v2.1+rc-1"
    assert store.add(tiny_many).name == "v2.1+rc-1"
    for wrong in ("", "-x", "a/b", "../x", "a b", "x" * 65, "a" * 64, 7):
        with pytest.raises(InputError, match="a version's name has up to 64 letters"):
            store.add(tiny_many, wrong)
    with pytest.raises(BundleError, match="another bundle than the one asked for"):
        store.add(tiny_many, content_hash="0" * 64)
    assert names(store) == ["old", "v2.1+rc-1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"content_hash": "0" * 64}, "give the hash of a new one to add"),
        ({"overlay": "file"}, "overlay must be True or False"),
        ({"probe": 7}, "probe must be a function"),
        ({"profil": "tiny"}, "options are those of edgeret.load"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"must_decide": "nowhere.jsonl"}, "no such file"),
    ],
)
def test_bad_options_are_told_of_before_anything_is_made(options: dict, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        BundleStore(tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


def test_no_version_no_runtime(tmp_path: Path) -> None:
    store = BundleStore(tmp_path / "store")
    with pytest.raises(InputError, match="no version is active"):
        _ = store.runtime
    assert store.refresh() is None
    with pytest.raises(InputError, match="no version was active before"):
        store.rollback()
    with pytest.raises(InputError, match="there are: none yet"):
        store.activate("x")


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"[]", b"\xff\xfe", b'{"format": 1}', b"[" * 100_000),
        b'{"format": 1, "active": "x", "good": [], "versions": [], "events": []}',
        b'{"format": 1, "active": null, "good": [7], "versions": [], "events": []}',
        b'{"format": 1, "active": null, "good": [], "versions": [{"content_hash": "../x", "name": "a"}], "events": []}',
        b'{"format": 1, "active": null, "good": [], "versions": [], "events": [{"at": 0, "what": "x"}]}',
    ],
)
def test_a_damaged_file_is_told_of_and_changes_nothing(store: BundleStore, data: bytes, tiny_many: Path) -> None:
    (store.folder / "store.json").write_bytes(data)
    for attempt in (lambda: store.activate("new"), lambda: BundleStore(store.folder), lambda: store.add(tiny_many)):
        with pytest.raises(BundleError, match=r"store\.json"):
            attempt()
    assert store.runtime.task(QUERY).next().tool == "find_file"
    assert len(list((store.folder / "bundles").iterdir())) == 2


def test_a_newer_store_is_left_alone(store: BundleStore) -> None:
    (store.folder / "store.json").write_bytes(b'{"format": 2}')
    with pytest.raises(BundleError, match="a store of format 2, this edgeret reads 1"):
        store.activate("new")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_and_strange_files_in_its_place_are_refused(store: BundleStore, tmp_path: Path) -> None:
    (store.folder / "store.json").rename(tmp_path / "elsewhere.json")
    (store.folder / "store.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(BundleError, match="symbolic link"):
        BundleStore(store.folder)
    (store.folder / "store.json").unlink()
    os.mkfifo(store.folder / "store.json")
    with pytest.raises(BundleError, match="not a regular file"):
        BundleStore(store.folder)


def test_tools_of_today_go_with_every_version(store: BundleStore) -> None:
    store.with_tools(add=[Tool("song_player", "play my song")], remove=["phone_call"])
    task = store.runtime.task("play my song")
    assert "song_player" in store.runtime.tools
    store.activate("new")
    assert "song_player" in store.runtime.tools and "phone_call" not in store.runtime.tools
    assert task.next().tool in ("song_player", "play_music")
    assert "song_player" not in BundleStore(store.folder, threads=1).runtime.tools  # nobody kept it
    store.with_tools(remove=["write_note"], keep=True)
    other = BundleStore(store.folder, threads=1)
    assert "write_note" not in other.runtime.tools
    store.with_tools(replace=[Tool("send_mail", "send a letter")], keep=True)
    assert other.runtime.tools["send_mail"].description != "send a letter"
    assert other.refresh() is not None
    assert other.runtime.tools["send_mail"].description == "send a letter"
    assert other.refresh() is None
    with pytest.raises(InputError, match="is among the tools already"):
        store.with_tools(add=[Tool("send_mail", "again")], keep=True)


def test_what_a_version_cannot_take_over_is_told(tmp_path: Path, tiny_original: Path, small_tools: Path) -> None:
    store = BundleStore(tmp_path / "store", threads=1)
    store.add(small_tools, "small")
    store.add(tiny_original, "full")
    store.activate("full")
    store.with_tools(replace=[Tool("play_music", "play a song for me")])
    assert store.activate("small").tools_left == (
        "play_music: was replaced, and this version has no such tool; add it if it is still needed",
    )
    store.with_tools(add=[Tool("send_mail", "send it by mail")])
    left = store.activate("full").tools_left
    assert left == ("send_mail: was added, and this version brings its own; that one counts",)
    assert store.runtime.tools["play_music"].description == "play a song for me"


@pytest.fixture(scope="module")
def small_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of two tools alone."""
    from conftest import TOOLS, tiny_bundle

    tools = [tool for tool in TOOLS if tool.name in ("find_file", "write_note")]
    return tiny_bundle(tmp_path_factory.mktemp("small") / "bundle", tools=tools, demonstrations=())
