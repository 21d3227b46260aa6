"""What was learned, over a store's versions: what goes on, what is learned again, what is not, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgeret
from edgeret import BundleStore
from edgeret.bundle.signature import signatures_path
from edgeret.errors import BundleError, InputError
from edgeret.types import Call, Decision, Tool
from edgeret.usage.observer import Observer
from edgeret_export.signing import make_key, sign_bundle

MANUAL = ("zip it please", "phone_call")
MANUAL_PLAN = ("zip it please", ("phone_call",))


def plan(query: str, *names: str) -> edgeret.Demonstration:
    return edgeret.Demonstration("d", query, tuple(map(Call, names)))


def told(store: BundleStore) -> list[tuple[str | None, tuple[str, ...]]]:
    return [(each.query, each.calls) for each in store.runtime.learned.plans]


def share(runtime: edgeret.Runtime, query: str, tool: str) -> float:
    """How probable a tool is as the first call."""
    candidates = runtime.task(query).candidates()
    return next(each.probability for each in candidates if each.tool == tool)


@pytest.fixture(params=[True, False], ids=["kept", "in memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, tiny_original: Path, tiny_many: Path) -> BundleStore:
    """A store of two versions with one encoder, "old" and "new"; the old one is active."""
    store = BundleStore(tmp_path / "store", overlay=request.param, threads=1)
    store.add(tiny_original, "old")
    store.add(tiny_many, "new")
    store.activate("old")
    return store


def test_the_next_version_with_this_encoder_goes_on(store: BundleStore, tiny_many: Path) -> None:
    task = store.runtime.task("ring mother")
    store.runtime.learn([plan(*MANUAL)])
    report = store.activate("new")
    assert report.learned.to_dict() == {"kept": 1, "learned_again": 0, "left": {}}
    assert share(store.runtime, *MANUAL) > 2 * share(edgeret.load(tiny_many, threads=1), *MANUAL)
    task.call(MANUAL[1])
    task.learn()  # a task of the version before learns for the one that decides now
    store.runtime.learn([plan("book it", "book_meeting")])
    assert told(store) == [MANUAL_PLAN, ("ring mother", ("phone_call",)), ("book it", ("book_meeting",))]
    store.runtime.forget("book it")
    store.rollback()
    assert told(store) == [MANUAL_PLAN, ("ring mother", ("phone_call",))]


def test_to_another_encoder_words_are_learned_again_and_it_is_said_what_is_not(
    store: BundleStore, tiny_table: Path
) -> None:
    store.add(tiny_table, "table")
    store.runtime.learn([plan(*MANUAL), plan("book it", "book_meeting")])
    store.runtime.learn([plan("a secret", "write_note")], keep_words=False)
    report = store.activate("table")
    assert report.learned.to_dict() == {
        "kept": 0,
        "learned_again": 2,
        "left": {"have no words, and another encoder made their vectors": 1},
    }
    assert share(store.runtime, *MANUAL) > 2 * share(edgeret.load(tiny_table, threads=1), *MANUAL)
    store.runtime.forget("book it")
    store.runtime.learn([plan("open my day", "book_meeting")])
    back = store.rollback()
    found = {query for query, _ in told(store)}
    assert "book it" not in found, "what was forgotten came back"
    assert {MANUAL[0], "open my day"} <= found
    assert back.learned.again >= 1


def test_plans_of_tools_that_a_version_has_not_wait_for_them(
    tmp_path: Path, tiny_original: Path, tiny_table: Path
) -> None:
    store = BundleStore(tmp_path / "store", overlay=True, threads=1)
    store.add(tiny_original, "old")
    store.add(tiny_table, "table")
    store.activate("old")
    song = Tool("song_player", "play my song")
    store.with_tools(add=[song])
    store.runtime.learn([plan("sing the song", "song_player")])
    elsewhere = BundleStore(store.folder, overlay=True, threads=1)  # where nobody added the tool
    assert elsewhere.activate("old").learned.left == (("wait for tools that this version has not", 1),)
    elsewhere.with_tools(add=[song])
    assert elsewhere.runtime.task("sing the song").next().tool == "song_player"
    fresh = BundleStore(store.folder, overlay=True, threads=1)
    assert fresh.activate("table").learned.left == (("call tools that this version has not", 1),)
    fresh.activate("old")  # a plan that waits is not one that was forgotten
    assert told(fresh) == [("sing the song", ("song_player",))]


def test_whoever_watches_goes_on_watching(store: BundleStore, tiny_table: Path) -> None:
    seen: list[str] = []

    class Watcher(Observer):
        def decided(self, *given: object) -> None:
            seen.extend(str(each.tool) for each in given if isinstance(each, Decision))

    store.runtime.observe(Watcher())
    store.add(tiny_table, "table")
    for name in ("new", "table", "old"):
        store.activate(name)
        store.runtime.task("play my song").next()
    assert len(seen) == 3


def test_the_store_alone_keeps_tools(tmp_path: Path, tiny_original: Path) -> None:
    store = BundleStore(tmp_path / "store", overlay=True, threads=1)
    store.activate(store.add(tiny_original))
    with pytest.raises(InputError, match="kept"):
        store.runtime.with_tools(remove=["play_music"], keep=True)


def test_a_signed_version_comes_with_its_signatures_and_needs_them(tmp_path: Path, tiny: Path) -> None:
    key = tmp_path / "key"
    make_key(key)
    public = tmp_path / "key.pub"
    store = BundleStore(tmp_path / "store", trust=[public], threads=1)
    with pytest.raises(BundleError, match="edgeret-export sign"):
        store.add(tiny)
    assert not list((store.folder / "bundles").iterdir())
    sign_bundle(tiny, key)
    version = store.add(tiny, "signed")
    store.activate(version)
    assert signatures_path(store.folder / "bundles" / version.content_hash).is_file()
    signatures_path(store.folder / "bundles" / version.content_hash).unlink()
    with pytest.raises(BundleError, match="sig"):
        BundleStore(store.folder, trust=[public], threads=1).activate("signed")
    assert BundleStore(store.folder, threads=1).activate("signed").version == version
