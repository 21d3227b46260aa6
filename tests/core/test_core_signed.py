"""er_load with `trust`: the same files convince or are refused as in Python, and nothing is parsed before."""

from __future__ import annotations

import ctypes as c
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest
from binding import Core, CoreError, Failure, LoadOptions, Text
from forge import wrap
from signers import MANY, SIGNED, Signer, at, changes

from edgeret.bundle.reader import open_bundle, read_manifest
from edgeret.bundle.signature import pack_signatures, signatures_path, time_text
from edgeret.bundle.signature_trust import trust_of
from edgeret.errors import BundleError, EdgeretError

MAKER, SECOND, STRANGER = Signer("maker"), Signer("second"), Signer("stranger")
BAD_INPUT, BAD_BUNDLE, NO_FILE = 1, 2, 3
NOW = at("2026-06-01T00:00:00Z")


@pytest.fixture(scope="module")
def library(core: c.CDLL) -> Core:
    return Core(core)


@pytest.fixture
def signed(tiny: Path) -> Path:
    MAKER.sign(tiny)
    return tiny


def refused(library: Core, folder: Path | str, **options: Any) -> CoreError:
    given = {name: Text.of(value) if isinstance(value, bytes) else value for name, value in options.items()}
    with pytest.raises(CoreError) as caught:
        library.load(folder, **given)
    return caught.value


def test_a_signed_bundle_is_loaded(library: Core, signed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert library.load(signed, trust=Text.of(MAKER.public)).handle
    assert library.load(f"{signed}//", trust=Text.of(b"# ours\r\n" + STRANGER.public + MAKER.public)).handle
    monkeypatch.chdir(signed.parent)
    assert library.load(signed.name, trust=Text.of(MAKER.public)).handle
    beside = signatures_path(signed).read_bytes()
    signatures_path(signed).unlink()
    assert library.load(signed, trust=Text.of(MAKER.public), signatures=Text.of(beside)).handle
    assert refused(library, signed, trust=MAKER.public).status == NO_FILE
    assert "by name" in refused(library, f"{signed}/.", trust=MAKER.public).text


def test_no_changed_signature_or_manifest_is_taken_by_either(library: Core, signed: Path) -> None:
    manifest, signatures = (signed / "manifest").read_bytes(), signatures_path(signed).read_bytes()
    trust, done = trust_of(MAKER.raw), 0
    for what, forged, beside in changes(manifest, signatures):
        (signed / "manifest").write_bytes(forged)
        signatures_path(signed).write_bytes(beside)
        error = refused(library, signed, trust=MAKER.public)
        assert error.status == BAD_BUNDLE and (".sig" in error.text or "needs 1 signatures" in error.text), what
        with pytest.raises(EdgeretError):
            open_bundle(signed, trust=trust)
        done += 1
    assert done == MANY


def test_a_body_that_is_no_map_is_looked_at_only_behind_a_signature(library: Core, signed: Path) -> None:
    forged = wrap(b"\xc1")
    (signed / "manifest").write_bytes(forged)
    assert "over another bundle" in refused(library, signed, trust=MAKER.public).text
    signatures_path(signed).write_bytes(pack_signatures([MAKER.over(msgpack.unpackb(forged)[2].hex())]))
    error = refused(library, signed, trust=MAKER.public)
    assert error.status == BAD_BUNDLE and "sig" not in error.text


ENDING = at("2026-06-30T23:59:59Z")
DATED = b"not-after 2026-06-30T23:59:59Z\n" + MAKER.public


@pytest.mark.parametrize(
    ("trust", "signers", "now"),
    [
        (MAKER.public, [(MAKER, None)], NOW),
        (MAKER.public, [(MAKER, None)], 1),
        (MAKER.public, [(MAKER, None), (STRANGER, None)], NOW),
        (MAKER.public, [(STRANGER, None)], NOW),
        (MAKER.public, [], NOW),
        (MAKER.public, [(MAKER, ENDING)], ENDING),
        (MAKER.public, [(MAKER, ENDING)], ENDING + 1),
        (MAKER.public, [(MAKER, ENDING)], SIGNED - 86_400),
        (MAKER.public, [(MAKER, ENDING)], SIGNED - 86_401),
        (MAKER.public, [(MAKER, ENDING)], 1),
        (DATED, [(MAKER, None)], ENDING),
        (DATED, [(MAKER, None)], ENDING + 1),
        (DATED, [(MAKER, None)], 1),
        (b"threshold 2\n" + MAKER.public + SECOND.public, [(MAKER, None), (SECOND, None)], NOW),
        (b"threshold 2\n" + MAKER.public + SECOND.public, [(MAKER, None)], NOW),
        (b"threshold 2\n" + MAKER.public + SECOND.public, [(MAKER, None), (SECOND, SIGNED + 1)], NOW),
        (b"threshold 2\n" + MAKER.public, [(MAKER, None)], NOW),
        (b"threshold 02\n" + MAKER.public, [(MAKER, None)], NOW),
        (f"revoked-key {MAKER.id}\n".encode() + MAKER.public, [(MAKER, None)], NOW),
        (MAKER.public + SECOND.public + f"revoked-key {MAKER.id}".encode(), [(MAKER, None), (SECOND, None)], NOW),
        (MAKER.public + b"revoked-bundle HASH", [(MAKER, None)], NOW),
        (MAKER.public + b" revoked-bundle HASH \r\n# end", [(MAKER, None)], NOW),
        (MAKER.public + b"revoked-bundle  HASH", [(MAKER, None)], NOW),
        (MAKER.public + b"revoked-bundle " + b"ab" * 32, [(MAKER, None)], NOW),
        (MAKER.public + b"revoked-bundles " + b"ab" * 32, [(MAKER, None)], NOW),
        (MAKER.public.replace(b"\n", b"\r\n\t "), [(MAKER, None)], NOW),
        (MAKER.public + MAKER.public, [(MAKER, None)], NOW),
        (MAKER.public[:-20], [(MAKER, None)], NOW),
        (MAKER.public.replace(b"MCow", b"MCox"), [(MAKER, None)], NOW),
        (MAKER.public.replace(b"=\n", b"\n"), [(MAKER, None)], NOW),
        (MAKER.public.replace(b"=\n", b"==\n"), [(MAKER, None)], NOW),
        (MAKER.public.replace(b"=\n", b"=\nAAAA\n"), [(MAKER, None)], NOW),
        (b"-----BEGIN PRIVATE KEY-----\n" + MAKER.public, [(MAKER, None)], NOW),
        (b"\xff" + MAKER.public, [(MAKER, None)], NOW),
        ("# ключ ".encode() + b"\n" + MAKER.public, [(MAKER, None)], NOW),
        (b"not-after 2026-06-30T23:59:59Z\n", [(MAKER, None)], NOW),
        (MAKER.public + b"not-after 2026-06-30T23:59:59Z\n", [(MAKER, None)], NOW),
        (b"not-after 2026-02-29T23:59:59Z\n" + MAKER.public, [(MAKER, None)], NOW),
        (b"not-after 2028-02-29T23:59:59Z\n" + MAKER.public, [(MAKER, None)], NOW),
    ],
)
def test_both_readers_agree_on_whom_to_trust(
    library: Core, tiny: Path, trust: bytes, signers: list[tuple[Signer, int | None]], now: int
) -> None:
    content_hash = read_manifest(tiny).content_hash
    trust = trust.replace(b"HASH", content_hash.encode())
    made = [signer.over(content_hash, expires=end) for signer, end in signers]
    signatures_path(tiny).write_bytes(pack_signatures(made))
    expected = 0
    try:
        open_bundle(tiny, trust=replace(trust_of(trust), now=now))
    except EdgeretError as error:
        expected = BAD_BUNDLE if isinstance(error, BundleError) else BAD_INPUT
    if not expected:
        assert library.load(tiny, trust=Text.of(trust), now=now).handle
    else:
        assert refused(library, tiny, trust=trust, now=now).status == expected


def test_times_are_read_as_in_python(library: Core, tiny: Path) -> None:
    content_hash = read_manifest(tiny).content_hash
    for end in (
        at("2026-03-01T00:00:00Z"),
        at("2027-12-31T23:59:59Z"),
        at("2028-02-29T12:00:00Z"),
        at("2400-03-01T00:00:00Z"),
    ):
        beside = pack_signatures([MAKER.over(content_hash, expires=end)])
        assert library.load(tiny, trust=Text.of(MAKER.public), signatures=Text.of(beside), now=end).handle
        assert "over" in refused(library, tiny, trust=MAKER.public, signatures=beside, now=end + 1).text, time_text(end)


def test_what_is_no_trust_is_bad_input(library: Core, signed: Path) -> None:
    for trust in (b"", b"# nobody\n", b"revoked_key " + b"ab" * 32 + MAKER.public, b"#" * (1 << 20) + b"#"):
        assert refused(library, signed, trust=trust).status == BAD_INPUT


def test_files_in_memory_bring_their_signatures(library: Core, signed: Path) -> None:
    class File(c.Structure):
        _fields_ = (("name", Text), ("bytes", c.c_void_p), ("length", c.c_size_t))

    paths = [path for path in sorted(signed.iterdir()) if path.is_file()]
    held = [path.read_bytes() for path in paths]
    files = (File * len(paths))(
        *(File(Text.of(p.name), c.cast(c.c_char_p(d), c.c_void_p), len(d)) for p, d in zip(paths, held, strict=True))
    )
    model, failure = c.c_void_p(), Failure()
    beside = signatures_path(signed).read_bytes()
    for signatures, expected in ((beside, 0), (b"", BAD_INPUT), (beside[:-5], BAD_BUNDLE)):
        options = LoadOptions(
            c.sizeof(LoadOptions), trust=Text.of(MAKER.public), signatures=Text.of(signatures), now=NOW
        )
        status = library.library.er_load_files(files, len(paths), c.byref(options), c.byref(model), c.byref(failure))
        assert status == expected, failure.text
        library.library.er_free(model)


def test_an_older_callers_options_trust_everybody(library: Core, tiny: Path) -> None:
    options = LoadOptions(LoadOptions.trust.offset, trust=Text.of(b"?"))
    model = c.c_void_p()
    library("er_load", str(tiny).encode(), c.byref(options), c.byref(model))
    library.library.er_free(model)


def test_links_and_pipes_in_the_place_of_signatures(library: Core, signed: Path, tmp_path: Path) -> None:
    path, elsewhere = signatures_path(signed), tmp_path / "else" / "where.sig"
    elsewhere.parent.mkdir()
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)
    assert "link" in refused(library, signed, trust=MAKER.public).text
    path.unlink()
    os.mkfifo(path)
    assert "not a regular file" in refused(library, signed, trust=MAKER.public).text
    path.unlink()
    path.write_bytes(bytes((1 << 16) + 1))
    assert "65536 bytes at most" in refused(library, signed, trust=MAKER.public).text
