"""A store takes deltas: the version that they were made for is there, and what they make is added like any other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from edgeret import BundleStore
from edgeret.bundle.reader import read_manifest
from edgeret.cli.commands import main
from edgeret.errors import BundleError, InputError
from edgeret_export.cli import main as export_main
from edgeret_export.delta import write_delta


@pytest.fixture
def delta(tmp_path: Path, tiny_original: Path, tiny_many: Path) -> Path:
    write_delta(tiny_original, tiny_many, tmp_path / "new.delta")
    return tmp_path / "new.delta"


@pytest.fixture
def store(tmp_path: Path, tiny_original: Path) -> BundleStore:
    made = BundleStore(tmp_path / "store", threads=1)
    made.add(tiny_original, "old")
    made.activate("old")
    return made


def left(store: BundleStore) -> list[str]:
    return sorted(path.name for path in (store.folder / "bundles").iterdir())


def test_a_delta_is_added_as_the_bundle_that_it_makes(
    store: BundleStore, delta: Path, tiny_many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "add", str(store.folder), str(delta), "--name", "new", "--activate", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["content_hash"] == read_manifest(tiny_many).content_hash and told["active"]
    copied = store.folder / "bundles" / told["content_hash"]
    assert {f.name: f.read_bytes() for f in copied.iterdir()} == {f.name: f.read_bytes() for f in tiny_many.iterdir()}
    assert left(store) == sorted(version.content_hash for version in store.versions)
    assert store.refresh() is not None and store.version.name == "new"


def test_a_delta_is_told_of_by_its_own_name(store: BundleStore, delta: Path) -> None:
    store.add(delta, "new")
    with pytest.warns(RuntimeWarning, match="new.delta: these bytes were here as new; they are called newer"):
        store.add(delta, "newer")
    (store.folder / "bundles").rename(store.folder / "elsewhere")
    with pytest.raises(InputError, match=r"store: the bundle cannot be copied there .*; nothing was changed"):
        store.add(delta)


def test_a_delta_that_does_not_fit_changes_nothing(
    store: BundleStore, delta: Path, tiny_many: Path, tmp_path: Path
) -> None:
    before = (store.versions, left(store))
    other = BundleStore(tmp_path / "other", threads=1)
    other.add(tiny_many)
    with pytest.raises(BundleError, match="made for a bundle that this store has not"):
        other.add(delta)
    with pytest.raises(BundleError, match="another bundle than the one asked for"):
        store.add(delta, content_hash="0" * 64)
    data = delta.read_bytes()
    for part in (b"", data[:10], data[: len(data) // 2], data[:-1], data[:-9] + b"?" + data[-8:]):
        delta.write_bytes(part)
        with pytest.raises(BundleError, match=r"new\.delta"):
            store.add(delta)
    delta.write_bytes(data)
    encoder = store.folder / "bundles" / store.versions[0].content_hash / "encoder.onnx"
    encoder.write_bytes(b"damaged")
    with pytest.raises(BundleError, match=r"encoder\.onnx"):
        store.add(delta)
    assert (store.versions, left(store)) == before


def test_with_trust_the_signature_lies_beside_the_delta_and_comes_along(
    store: BundleStore, delta: Path, tiny_original: Path, tiny_many: Path, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    assert export_main(["keygen", "-o", str(key)]) == 0
    old, new = (Path(shutil.copytree(each, tmp_path / str(n))) for n, each in enumerate((tiny_original, tiny_many)))
    for each in (old, new):
        assert export_main(["sign", str(each), "--key", str(key)]) == 0
    trusting = BundleStore(tmp_path / "trusting", threads=1, trust=f"{key}.pub")
    trusting.add(old)
    with pytest.raises(BundleError, match=r"new\.delta\.sig"):
        trusting.add(delta)
    shutil.copy(f"{old}.sig", f"{delta}.sig")
    with pytest.raises(BundleError, match="not signed"):
        trusting.add(delta)
    shutil.copy(f"{new}.sig", f"{delta}.sig")
    assert trusting.activate(trusting.add(delta)).version.content_hash == read_manifest(new).content_hash
