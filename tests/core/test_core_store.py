"""er_store: Python and the library read and write one store; what must not decide never does; what dies, or finds no
room, leaves a whole one."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from binding import Core, CoreError, Model, Text
from core_store import Store, counting, kill_at_calls, two_bundles
from permuted import permute_heads
from signers import Signer

from edgeret import BundleStore
from edgeret.store.state import locked

BAD_INPUT, BAD_BUNDLE, NO_FILE, NOT_KEPT = 1, 2, 3, 8
QUERY = "find my file"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return two_bundles(tmp_path_factory.mktemp("bundles"))


@pytest.fixture(scope="module")
def library(core: object) -> Core:
    return Core(core)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def counted(request: pytest.FixtureRequest) -> Core:
    """The library, whose calls that change the disk are counted."""
    return counting(Path(request.config.cache.mkdir("core")))


@pytest.fixture
def store(library: Core, tmp_path: Path, bundles: tuple[Path, Path]) -> Store:
    """A store with "old" and "new"; the old one is active."""
    made = Store(library, tmp_path / "store", threads=1)
    for bundle, name in zip(bundles, ("old", "new"), strict=True):
        made.add(bundle, name)
    made.activate("old").close()
    return made


@pytest.fixture
def bad(tmp_path: Path, bundles: tuple[Path, Path]) -> Path:
    """A bundle whose heads were exchanged."""
    return permute_heads(Path(shutil.copytree(bundles[0], tmp_path / "bad")))


def folder_of(tmp_path: Path, bundle: str, store: Store) -> Path:
    return tmp_path / "store" / "bundles" / hashes(store)[bundle]


def hashes(store: Store) -> dict[str, str]:
    return {one.name.decode(): one.content_hash.decode() for one in store.versions()}


def refused(status: int, words: str, store: Store, act: str, *arguments: object) -> None:
    with pytest.raises(CoreError, match=words) as caught:
        getattr(store, act)(*arguments)
    assert caught.value.status == status


def test_python_and_the_library_read_one_store(store: Store, tmp_path: Path, bundles: tuple[Path, Path]) -> None:
    folder = tmp_path / "store"
    theirs = BundleStore(folder, threads=1)
    assert ([one.name for one in theirs.versions], theirs.active and theirs.active.name) == (["old", "new"], "old")
    copied = folder / "bundles" / theirs.versions[0].content_hash
    assert {f.name: f.read_bytes() for f in copied.iterdir()} == {f.name: f.read_bytes() for f in bundles[0].iterdir()}
    before = theirs.runtime.task(QUERY).next().probability
    theirs.activate("new")
    model, trouble = store.load()
    assert (model.content_hash, trouble) == (theirs.versions[1].content_hash, "")
    store.rollback('users said "no" – \x01').close()
    assert theirs.refresh() is not None
    assert [theirs.version.name, theirs.events[-1].what, theirs.events[-1].reason] == [
        *("old", "rolled back", 'users said "no" – \x01')
    ]
    assert theirs.runtime.task(QUERY).next().probability == before
    assert [(one.name, one.active, one.good) for one in store.versions()] == [(b"old", 1, 0), (b"new", 0, 0)]
    theirs.remove("new")
    assert list(hashes(store)) == ["old"]
    theirs.add(bundles[1], "other")
    store.activate(hashes(store)["other"][:8]).close()
    assert [event.what for event in theirs.events] == ["activated", "activated", "rolled back", "activated"]
    assert [(one.name, one.active, one.good) for one in store.versions()] == [(b"old", 0, 1), (b"other", 1, 0)]


def test_a_version_that_decides_nonsense_never_decides(store: Store, tmp_path: Path, bad: Path) -> None:
    store.add(bad, "bad")
    refused(BAD_BUNDLE, "bad: only .* golden decisions as they were built; .*expected", store, "activate", "bad")
    events = BundleStore(tmp_path / "store", threads=1).events
    assert (store.state()[1], events[-1].what, events[-1].version) == ("old", "refused", hashes(store)["bad"])
    assert "golden decisions" in events[-1].reason
    # Another process, which knows nothing of golden decisions, makes it active all the same.
    place = tmp_path / "store" / "store.json"
    told = json.loads(place.read_text())
    place.write_text(json.dumps({**told, "active": hashes(store)["bad"], "good": [hashes(store)["old"]]}))
    model, trouble = store.load()
    assert model.content_hash == hashes(store)["old"]
    assert "golden decisions" in trouble
    assert store.state()[1] == "old"


def test_the_callers_probe_is_asked_before_a_version_decides(
    library: Core, store: Store, tmp_path: Path, bundles: tuple[Path, Path]
) -> None:
    asked: list[str] = []

    def probe(model: Model) -> str | None:
        asked.append(model.content_hash)
        return "not today" if model.content_hash == hashes(store)["new"] else None

    wary = Store(library, tmp_path / "store", probe, threads=1)
    refused(BAD_BUNDLE, "new: refused by the caller's probe: not today", wary, "activate", "new")
    assert (wary.state()[1], asked) == ("old", [hashes(store)["new"]])
    store.activate("new").close()
    model, trouble = wary.load()
    assert (model.content_hash, wary.state()[1]) == (hashes(store)["old"], "old")
    assert trouble == "new: refused by the caller's probe: not today"
    assert BundleStore(tmp_path / "store").events[-1].reason == f"new could not be used: {trouble}"
    refused(BAD_INPUT, "no version was active before this one", wary, "rollback")


@pytest.mark.parametrize("damage", ["altered", "gone"])
def test_an_active_version_that_is_damaged_gives_way_and_is_mended(
    damage: str, store: Store, tmp_path: Path, bundles: tuple[Path, Path]
) -> None:
    store.activate("new").close()
    place = folder_of(tmp_path, "new", store)
    if damage == "gone":
        shutil.rmtree(place)
    else:
        (place / "tools.json").write_bytes(b"[]")
    model, trouble = store.load()
    assert (model.content_hash, store.state()[1]) == (hashes(store)["old"], "old")
    assert "tools.json" in trouble if damage == "altered" else "no such folder" in trouble
    assert store.add(bundles[1]).name == b"new"
    assert store.activate("new").content_hash == hashes(store)["new"]


def test_with_trust_a_version_comes_with_signatures_and_goes_when_they_are_revoked(
    library: Core, tmp_path: Path, bundles: tuple[Path, Path]
) -> None:
    maker = Signer("maker")
    first, second = (Path(shutil.copytree(bundle, tmp_path / bundle.name)) for bundle in bundles)
    trusting = Store(library, tmp_path / "store", threads=1, trust=Text.of(maker.public))
    with pytest.raises(CoreError, match=r"first\.sig: missing"):
        trusting.add(first, "first")
    assert list((tmp_path / "store" / "bundles").iterdir()) == []
    for bundle in (first, second):
        maker.sign(bundle)
        trusting.add(bundle, bundle.name)
        trusting.activate(bundle.name).close()
    revoked = f"revoked-bundle {hashes(trusting)['second']}\n".encode() + maker.public
    later = Store(library, tmp_path / "store", threads=1, trust=Text.of(revoked))
    model, trouble = later.load()
    assert (model.content_hash, "revoked" in trouble) == (hashes(trusting)["first"], True)
    theirs = BundleStore(tmp_path / "store", threads=1, trust=maker.raw)
    assert theirs.runtime.manifest.content_hash == model.content_hash


def test_what_cannot_be_is_refused_and_changes_nothing(
    library: Core, store: Store, tmp_path: Path, bundles: tuple[Path, Path]
) -> None:
    folder = tmp_path / "store"
    before = (folder / "store.json").read_bytes()
    refused(BAD_INPUT, 'no version is called "newer"', store, "activate", "newer")
    refused(BAD_INPUT, "old is active", store, "remove", "old")
    refused(BAD_INPUT, "no version was active before", store, "rollback")
    refused(BAD_INPUT, 'another version is called "old"', store, "add", bundles[1], "old")
    refused(BAD_INPUT, "a version's name has", store, "add", bundles[1], "../old")
    refused(BAD_INPUT, "a version's name has", store, "add", bundles[1], "a" * 65)
    refused(BAD_BUNDLE, "another bundle than the one asked for", store, "add", bundles[1], "", "0" * 64)
    refused(NO_FILE, "no such folder", store, "add", tmp_path / "nowhere")
    with pytest.raises(CoreError, match="leave both out"):
        Store(library, folder, content_hash=Text.of("0" * 64))
    assert (folder / "store.json").read_bytes() == before
    with locked(folder):
        refused(NOT_KEPT, "another one is writing", Store(library, folder, wait_s=0.05), "remove", "new")
    store.remove("new")
    assert {path.name for path in (folder / "bundles").iterdir()} == set(hashes(store).values())
    with pytest.raises(CoreError, match="no version is active"):
        Store(library, tmp_path / "another").load()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("", "damaged"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"format": 2}', "a store of format 2"),
        ('{"format": 1, "active": null, "good": [], "versions": []}', "a list is missing"),
        ('{"format": 1, "active": "OLD", "good": [], "versions": [], "events": []}', "not listed"),
        ('{"format": 1, "active": null, "good": [], "versions": [{"name": "a"}], "events": []}', "without a content"),
        ('{"format": 1, "active": null, "good": [], "versions": [], "events": [{"what": "flew"}]}', "unknown kind"),
    ],
)
def test_a_damaged_file_is_told_of_and_no_bundle_is_swept_away(
    change: str, words: str, store: Store, tmp_path: Path, bundles: tuple[Path, Path]
) -> None:
    (tmp_path / "store" / "store.json").write_text(change)
    refused(BAD_BUNDLE, words, store, "add", bundles[1])
    with pytest.raises(CoreError, match=words):
        Store(store.core, tmp_path / "store")
    assert len([*(tmp_path / "store" / "bundles").iterdir()]) == 2


def test_what_dead_writers_left_is_cleared_away(store: Store, tmp_path: Path, bundles: tuple[Path, Path]) -> None:
    old, new, stranger = folder_of(tmp_path, "old", store), folder_of(tmp_path, "new", store), "ab" * 32
    shutil.copytree(old, old.with_name(f".{old.name}.partial"))
    old.with_name(f".{old.name}.sig.partial").write_bytes(b"half")
    shutil.copytree(old, old.with_name(stranger))
    new.rename(new.with_name(f".{new.name}.replaced"))
    store.add(bundles[0])
    assert {path.name for path in old.parent.iterdir()} == {old.name, new.name}
    store.activate("new").close()


@pytest.mark.skipif(sys.platform == "win32", reason="counts calls of POSIX")
def test_a_full_disk_is_told_of_and_everything_stays_as_it_was(
    counted: Core, tmp_path: Path, bundles: tuple[Path, Path]
) -> None:
    core, store = counted, Store(counted, tmp_path / "store", threads=1)
    for name, bundle in zip(("old", "new"), bundles, strict=True):
        store.add(bundle, name)
        store.activate(name).close()
    before, third = store.state(), Path(shutil.copytree(bundles[0], tmp_path / "third"))
    store.remove("old")
    without, room = store.state(), 0
    while store.state() == without:
        room += 1
        core.library.probe_disk(0, room)
        try:
            store.add(third, "old")
        except CoreError as error:
            assert (error.status, "cannot be written" in error.text, store.state()) == (NOT_KEPT, True, without)
            assert {path.name for path in (tmp_path / "store" / "bundles").iterdir()} == {*hashes(store).values()}
        finally:
            core.library.probe_disk(0, 0)
    assert room > len([*third.iterdir()])  # each file, and what the store says
    assert store.state() == before
    core.library.probe_disk(0, 1)
    refused(NOT_KEPT, r"store\.json", store, "activate", "old")
    core.library.probe_disk(0, 0)
    store.activate("old").close()
    shutil.rmtree(folder_of(tmp_path, "old", store))
    core.library.probe_disk(0, 1)
    model, trouble = store.load()  # which decides, though nobody can say so in the store
    core.library.probe_disk(0, 0)
    assert (model.content_hash, store.state()[1]) == (hashes(store)["new"], "old")
    assert "no such folder" in trouble


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("moments", "stride", "first"),
    [(10, 13, 3), pytest.param(100, 1, 1, marks=pytest.mark.full)],
    ids=["some", "many"],
)
def test_killed_writers_leave_a_whole_store(
    moments: int, stride: int, first: int, counted: Core, tmp_path: Path, bundles: tuple[Path, Path]
) -> None:
    found = kill_at_calls(counted, tmp_path, bundles, moments, stride, first)
    assert (found["killed"], found["lost"]) == (moments, [])
