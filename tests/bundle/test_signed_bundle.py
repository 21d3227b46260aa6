"""Bundles that are loaded with `trust`: who signed them is asked before anything of them is parsed."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import msgpack
import pytest
from forge import wrap
from signers import MANY, SIGNED, Signer, at, changes

import edgeret
from edgeret.bundle import reader
from edgeret.bundle.reader import open_bundle, read_manifest, verify_bundle
from edgeret.bundle.signature import MAX_SIGNATURES_BYTES, pack_signatures, signatures_path
from edgeret.bundle.signature_trust import trust_of
from edgeret.errors import BundleError, InputError

MAKER, STRANGER = Signer("maker"), Signer("stranger")


@pytest.fixture
def signed(tiny: Path) -> Path:
    MAKER.sign(tiny)
    return tiny


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was parsed behind a digest, by its place."""
    seen: list[str] = []
    real = reader.unpack

    def unpack(data: bytes, where: str) -> dict[str, object]:
        seen.append(where)
        return real(data, where)

    monkeypatch.setattr(reader, "unpack", unpack)
    return seen


def test_a_signed_bundle_decides_as_it_does_without(signed: Path) -> None:
    first = edgeret.load(signed, trust=MAKER.raw).task("write a note").next()
    assert first.tool == edgeret.load(signed).task("write a note").next().tool == "write_note"


def test_an_unsigned_one_is_refused_before_its_manifest_is_parsed(tiny: Path, parsed: list[str]) -> None:
    with pytest.raises(BundleError, match=r"bundle\.sig: missing; .*edgeret-export sign .* --key KEY"):
        edgeret.load(tiny, trust=MAKER.raw)
    STRANGER.sign(tiny)
    with pytest.raises(BundleError, match="is not among the trusted ones"):
        edgeret.load(tiny, trust=[MAKER.raw])
    assert parsed == [str(tiny / "manifest")]  # by Signer.sign
    assert edgeret.load(tiny, trust=[MAKER.raw, STRANGER.public]).tools


def test_no_changed_signature_or_manifest_is_taken_and_none_is_parsed(signed: Path, parsed: list[str]) -> None:
    manifest, signatures = (signed / "manifest").read_bytes(), signatures_path(signed).read_bytes()
    trust, done = trust_of(MAKER.raw), 0
    parsed.clear()
    for what, forged, beside in changes(manifest, signatures):
        (signed / "manifest").write_bytes(forged)
        signatures_path(signed).write_bytes(beside)
        with pytest.raises(BundleError, match=r"\.sig|needs 1 signatures"):
            open_bundle(signed, trust=trust)
        assert parsed == [], what
        done += 1
    assert done == MANY
    (signed / "manifest").write_bytes(manifest)
    signatures_path(signed).write_bytes(signatures)
    assert open_bundle(signed, trust=trust).manifest.files


def test_a_body_that_is_no_map_is_not_looked_at_without_a_signature(signed: Path) -> None:
    (signed / "manifest").write_bytes(wrap(b"\xc1"))
    with pytest.raises(BundleError, match="is over another bundle"):
        edgeret.load(signed, trust=MAKER.raw)
    with pytest.raises(BundleError, match="msgpack"):
        edgeret.load(signed)
    content_hash = msgpack.unpackb((signed / "manifest").read_bytes())[2].hex()
    signatures_path(signed).write_bytes(pack_signatures([MAKER.over(content_hash)]))
    with pytest.raises(BundleError, match="msgpack"):
        edgeret.load(signed, trust=MAKER.raw)


def test_a_signature_of_another_bundle_helps_nobody(signed: Path, tiny_table: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny_table, tmp_path / "other")
    shutil.copy(signatures_path(signed), signatures_path(other))
    with pytest.raises(BundleError, match=r"not signed: its content hash is .*other\.sig is over another bundle"):
        edgeret.load(other, trust=MAKER.raw)
    both = signatures_path(signed).read_bytes() + MAKER.sign(other).read_bytes()
    for folder in (signed, other):  # while one is put in the other's place, one file serves both
        signatures_path(folder).write_bytes(both)
        assert edgeret.load(folder, trust=MAKER.raw).tools


def test_files_are_still_proved_and_a_content_hash_still_counts(signed: Path) -> None:
    with pytest.raises(BundleError, match="another bundle than the one asked for"):
        edgeret.load(signed, trust=MAKER.raw, content_hash="ab" * 32)
    tools = signed / next(file.name for file in read_manifest(signed).files if file.role == "tools")
    tools.write_bytes(tools.read_bytes()[:-1] + b" ")
    for check in (open_bundle, verify_bundle):
        with pytest.raises(BundleError, match="altered"):
            check(signed, trust=MAKER.raw)


def test_the_clock_can_be_given(signed: Path) -> None:
    MAKER.sign(signed, expires=at("2026-01-31T00:00:00Z"))
    with pytest.raises(BundleError, match="get it signed anew"):
        edgeret.load(signed, trust=MAKER.raw)
    assert edgeret.load(signed, trust=replace(trust_of(MAKER.raw), now=SIGNED)).tools
    with pytest.raises(BundleError, match="set the clock"):
        edgeret.load(signed, trust=replace(trust_of(MAKER.raw), now=0))


def test_bad_trust_is_told_before_the_bundle_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no public key"):
        edgeret.load(tmp_path / "nowhere", trust=[])
    big = tmp_path / "big"
    big.touch()
    os.truncate(big, 10_000_000)
    with pytest.raises(InputError, match="1048576 bytes at most"):
        edgeret.load(tmp_path / "nowhere", trust=big)


def test_links_pipes_and_too_much_in_the_place_of_signatures(signed: Path, tmp_path: Path) -> None:
    path, elsewhere = signatures_path(signed), tmp_path / "else" / "where.sig"
    elsewhere.parent.mkdir()
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(BundleError, match=r"\.sig: .*link"):
        open_bundle(signed, trust=MAKER.raw)
    path.unlink()
    shutil.copy(elsewhere, path.with_name("kept.sig"))
    path.symlink_to("kept.sig")  # beside it: as hub caches and volumes keep what they have
    assert open_bundle(signed, trust=MAKER.raw).manifest.files
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BundleError, match="not a regular file"):
        open_bundle(signed, trust=MAKER.raw)
    path.unlink()
    path.mkdir()
    with pytest.raises(BundleError, match="a folder"):
        open_bundle(signed, trust=MAKER.raw)
    path.rmdir()
    path.write_bytes(bytes(MAX_SIGNATURES_BYTES + 1))
    with pytest.raises(BundleError, match="65536 bytes at most"):
        open_bundle(signed, trust=MAKER.raw)


def test_a_bundle_is_signed_under_the_name_that_leads_to_it(signed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(signed)
    assert open_bundle(".", trust=MAKER.raw).manifest.files
    link = signed.with_name("current")
    link.symlink_to(signed.name)
    with pytest.raises(BundleError, match=r"current\.sig: missing"):
        open_bundle(link, trust=MAKER.raw)
    signatures_path(link).symlink_to(signatures_path(signed).name)
    assert open_bundle(link, trust=MAKER.raw).manifest.files


def test_tools_alone_are_decided_over_a_base_that_is_signed(signed: Path) -> None:
    tools = [edgeret.Tool("write_note", "write a note")]
    assert edgeret.from_tools(tools, base=signed, trust=MAKER.raw).tools
    with pytest.raises(BundleError, match="not among the trusted"):
        edgeret.from_tools(tools, base=signed, trust=STRANGER.raw)
