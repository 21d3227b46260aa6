"""Links among a bundle's files: those of hub caches and Kubernetes volumes are read, all others are refused at once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import edgeret
from edgeret.bundle.folder import Folder, in_folder
from edgeret.bundle.layout import MANIFEST
from edgeret.bundle.reader import open_bundle, read_manifest, unlisted, verify_bundle
from edgeret.cli.doctor import stray_files
from edgeret.errors import BundleError, InputError
from edgeret_export.writer import writing


def in_hub_cache(bundle: Path, root: Path, below: str = "rev") -> Path:
    """The bundle as the hub's library keeps it; the files by hash, and a folder of links to them."""
    blobs, snapshot = root / "models--a--b" / "blobs", root / "models--a--b" / "snapshots" / below
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(bundle.iterdir())):
        blob = blobs / f"{number:040x}"
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    return snapshot


def in_volume(bundle: Path, root: Path) -> Path:
    """The bundle as Kubernetes mounts it: a hidden folder, a link to that, and links through the link."""
    shutil.copytree(bundle, root / "..2026_01_31")
    (root / "..data").symlink_to("..2026_01_31")
    for file in bundle.iterdir():
        (root / file.name).symlink_to(f"..data/{file.name}")
    return root


def test_a_snapshot_in_the_hubs_cache_loads_and_verifies(tiny: Path, tmp_path: Path) -> None:
    for root, below in (("one", "rev"), ("two", "rev/arm64")):
        snapshot = in_hub_cache(tiny, tmp_path / root, below)
        assert edgeret.load(snapshot).task("write a note").next().tool == "write_note"
        assert stray_files(snapshot, verify_bundle(snapshot))["ok"]
    elsewhere = tmp_path / "latest"
    elsewhere.symlink_to(snapshot)
    verify_bundle(elsewhere)


def test_a_kubernetes_volume_loads_and_verifies(tiny: Path, tmp_path: Path) -> None:
    volume = in_volume(tiny, tmp_path / "volume")
    assert edgeret.load(volume).task("write a note").next().tool == "write_note"
    manifest = verify_bundle(volume)
    assert stray_files(volume, manifest)["ok"]
    (volume / "..more").mkdir()
    assert "not in the manifest: ..more;" in stray_files(volume, manifest)["detail"]


def test_a_volume_exchanged_while_it_is_read_is_read_again(tiny: Path, tmp_path: Path) -> None:
    volume = in_volume(tiny, tmp_path / "volume")
    shutil.copytree(tiny, volume / "..2026_02_01")
    (volume / "..2026_01_31" / "head.msgpack").unlink()
    seen: list[str] = []

    def read(folder: Folder) -> bytes:
        seen.append(str((volume / "..data").readlink()))
        if len(seen) == 1:
            (volume / "..data_tmp").symlink_to("..2026_02_01")
            (volume / "..data_tmp").replace(volume / "..data")
            raise BundleError("missing, as it was when reading began")
        with folder.open_file("head.msgpack", 1 << 20, "") as stream:
            return stream.read()

    assert in_folder(volume, read) == (tiny / "head.msgpack").read_bytes()
    assert seen == ["..2026_01_31", "..2026_02_01"]


def test_linked_files_are_proved_as_all_others(tiny: Path, tmp_path: Path) -> None:
    for folder in (in_hub_cache(tiny, tmp_path / "hub"), in_volume(tiny, tmp_path / "volume")):
        data = bytearray((folder / "head.msgpack").read_bytes())
        data[-1] ^= 1
        (folder / "head.msgpack").write_bytes(data)
        with pytest.raises(BundleError, match=r"head\.msgpack: altered"):
            open_bundle(folder)


@pytest.mark.parametrize("snapshots", [True, False])
@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd",
        "/dev/zero",
        "../outside",
        "../../outside",
        "../blobs/" + "0" * 40,
        "../../blobs/" + "0" * 40,
        "../../../blobs/" + "0" * 40,
        "../../blobs/../outside",
        "./tools.json",
        "sub/../tools.json",
        "..data/../../outside",
        "sub/leads-out",
        "sub//tools.json",
        "leads-out",
        "head.msgpack",
        "round",
    ],
)
def test_a_link_that_leads_elsewhere_is_refused(tiny: Path, tmp_path: Path, target: str, snapshots: bool) -> None:
    """`blobs` there is, but the bundle does not lie in a `snapshots` beside it, even if there is one."""
    (tmp_path / "models" / "other").mkdir(parents=True)
    bundle = shutil.move(tiny, tmp_path / "models" / "other" / "bundle")
    content = (bundle / "head.msgpack").read_bytes()
    for place in (tmp_path, tmp_path / "models", tmp_path / "models" / "other"):
        (place / "blobs").mkdir()
        if snapshots:
            (place / "snapshots").mkdir()
        (place / "blobs" / ("0" * 40)).write_bytes(content)
        (place / "outside").write_bytes(content)
    (bundle / "sub").mkdir()
    shutil.copy(bundle / "tools.json", bundle / "sub")
    (bundle / "sub" / "leads-out").symlink_to("../../outside")
    (bundle / "leads-out").symlink_to("sub/leads-out")
    (bundle / "..data").symlink_to("sub")
    (bundle / "round").symlink_to("head.msgpack")
    (bundle / "head.msgpack").unlink()
    (bundle / "head.msgpack").symlink_to(target)
    with pytest.raises(BundleError, match=r"head\.msgpack: cannot be read \(a symbolic link of a kind that"):
        open_bundle(bundle)


@pytest.mark.parametrize("what", ["pipe", "device", "folder", "link", "nothing"])
def test_a_link_to_what_is_no_file_is_refused_without_waiting(tiny: Path, tmp_path: Path, what: str) -> None:
    snapshot = in_hub_cache(tiny, tmp_path / "hub")
    volume = in_volume(tiny, tmp_path / "volume")
    for file in ((snapshot / "head.msgpack").resolve(), volume / "..2026_01_31" / "head.msgpack"):
        file.unlink()
        if what == "pipe":
            os.mkfifo(file)
        elif what == "device":
            try:
                os.mknod(file, 0o600 | 0o020000, os.makedev(1, 5))
            except OSError:
                pytest.skip("no right to make a device here")
        elif what == "folder":
            file.mkdir()
        elif what == "link":
            file.symlink_to("/dev/zero")
    for folder in (snapshot, volume):
        with pytest.raises(BundleError, match=r"head\.msgpack: (not a regular file|a folder|cannot be read|missing)"):
            open_bundle(folder)


def test_a_link_left_hanging_is_a_missing_file(tiny: Path) -> None:
    (tiny / "head.msgpack").unlink()
    (tiny / "head.msgpack").symlink_to("gone")
    with pytest.raises(BundleError, match=r"head\.msgpack: missing"):
        open_bundle(tiny)


def test_no_descriptor_is_left_open_by_links(tiny: Path, tmp_path: Path) -> None:
    snapshot, volume = in_hub_cache(tiny, tmp_path / "hub"), in_volume(tiny, tmp_path / "volume")
    (tiny / "head.msgpack").unlink()
    (tiny / "head.msgpack").symlink_to("../x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        verify_bundle(snapshot)
        verify_bundle(volume)
        with pytest.raises(BundleError):
            verify_bundle(tiny)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_somebody_elses_links_are_never_replaced(tiny: Path, tmp_path: Path) -> None:
    for folder in (in_hub_cache(tiny, tmp_path / "hub"), in_volume(tiny, tmp_path / "volume")):
        with pytest.raises(InputError, match="files are links of somebody else's"), writing(folder, overwrite=True):
            pass
        verify_bundle(folder)


def test_what_is_named_in_a_bundles_place_is_told(tiny: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tiny)
    with pytest.raises(BundleError, match=r"packed\.zip: not a bundle: a zip archive; unpack it first"):
        open_bundle(archive)
    archive = shutil.make_archive(str(tmp_path / "packed"), "gztar", tiny)
    with pytest.raises(BundleError, match=r"packed\.tar\.gz: not a bundle: a gzip archive; unpack it first"):
        open_bundle(archive)
    with pytest.raises(BundleError, match=rf"not a bundle: a file in one; name its folder: {tiny}$"):
        open_bundle(tiny / MANIFEST)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(BundleError, match=r"text: not a bundle: Not a directory; name its folder$"):
        open_bundle(tmp_path / "text")


def test_strays_behind_links_stay_strays_for_writers(tiny: Path, tmp_path: Path) -> None:
    volume = in_volume(tiny, tmp_path / "volume")
    assert unlisted(volume, read_manifest(volume)) == ["..2026_01_31", "..data"]
