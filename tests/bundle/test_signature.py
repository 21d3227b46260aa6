"""Signatures and files of keys: what is read, whom it convinces, and in which words it is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from signers import SIGNED, Signer, at

from edgeret.bundle.signature import Signature, pack_signatures, parse_signatures, parse_time, time_text
from edgeret.bundle.signature_trust import MAX_TRUST_BYTES, Trust, parse_trust, trust_of
from edgeret.errors import BundleError, InputError

HASH, OTHER = "ab" * 32, "cd" * 32
ONE, TWO, STRANGER = Signer("one"), Signer("two"), Signer("stranger")
NOW = at("2026-06-01T00:00:00Z")


def trust(*parts: bytes, now: float | None = NOW) -> Trust:
    return replace(trust_of(list(parts)), now=now)


def test_a_file_of_signatures_comes_back_and_its_lines_are_what_is_signed() -> None:
    both = [ONE.over(HASH), TWO.over(OTHER, expires=at("2027-01-31T23:59:59Z"))]
    data = pack_signatures(both)
    assert parse_signatures(data, "b.sig") == tuple(both)
    assert parse_signatures(b"", "b.sig") == ()
    named = f"edgeret-signature 1\nbundle {OTHER}\nkey {TWO.id}\n"
    statement = f"{named}signed 2026-01-01T00:00:00Z\nexpires 2027-01-31T23:59:59Z\n"
    assert both[1].statement == statement.encode()
    assert statement.encode() in data


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda data: data + b"x",
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"signed 2026-01-01", b"signed 2026-02-30"),
        lambda data: data.replace(b"expires never", b"expires Never"),
        lambda data: data.replace(b"bundle ab", b"bundle AB"),
        lambda data: data.replace(b"signature 1", b"signature 1 "),
        lambda data: data.replace(b"signed ", b"signed\0"),
        lambda data: b"\0" * 100,
        lambda data: b"PK\x03\x04",
    ],
)
def test_anything_else_is_no_file_of_signatures(change: object) -> None:
    with pytest.raises(BundleError, match=r"b\.sig: no file of signatures, or damaged .*get it again"):
        parse_signatures(change(pack_signatures([ONE.over(HASH)])), "b.sig")  # type: ignore[operator]


def test_a_newer_version_and_a_key_twice_are_named() -> None:
    data = pack_signatures([ONE.over(HASH)])
    with pytest.raises(BundleError, match="signatures of version 2, this edgeret reads 1; install a newer"):
        parse_signatures(data.replace(b"signature 1", b"signature 2"), "b.sig")
    with pytest.raises(BundleError, match=f"two signatures by key {ONE.id[:16]}… over one bundle"):
        parse_signatures(data + data, "b.sig")


def test_times_are_those_of_the_calendar() -> None:
    for text in ("1970-01-01T00:00:00Z", "2000-02-29T23:59:59Z", "2026-12-31T12:30:15Z", "9999-12-31T23:59:59Z"):
        assert time_text(at(text)) == text
    for text in ("2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z"):
        assert parse_time(text) is None
    for text in (
        "",
        "2026-01-01",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
        "1969-12-31T23:59:59Z",
        "٢٠٢٦-01-01T00:00:00Z",
    ):
        assert parse_time(text) is None


def test_one_trusted_signer_is_enough_and_the_others_are_told_of() -> None:
    wrong = replace(TWO.over(HASH), value=ONE.over(OTHER).value)
    verdicts = trust(ONE.public, TWO.public).check(HASH, [wrong, ONE.over(HASH), STRANGER.over(HASH)], "b")
    assert [(each.key, each.counts) for each in verdicts] == [(ONE.id, True), (TWO.id, False), (STRANGER.id, False)]
    assert "did not sign this (damaged or forged)" in verdicts[1].told
    assert "not among the trusted ones" in verdicts[2].told


def test_a_threshold_asks_for_several() -> None:
    both = trust(b"threshold 2\n" + ONE.public + TWO.public)
    assert len(both.check(HASH, [ONE.over(HASH), TWO.over(HASH)], "b")) == 2
    with pytest.raises(BundleError, match="needs 2 signatures by keys that you trust, has 1: all others are missing"):
        both.check(HASH, [ONE.over(HASH)], "b")
    with pytest.raises(BundleError, match=r"has 1: key .* did not sign this"):
        both.check(HASH, [ONE.over(HASH), replace(TWO.over(HASH), value=bytes(64))], "b")
    with pytest.raises(InputError, match="asks for 2 signatures and names 1 keys"):
        trust(b"threshold 2\n" + ONE.public)


def test_what_is_signed_by_nobody_here_is_refused_with_the_reason() -> None:
    with pytest.raises(BundleError, match=r"b: not signed: .*b\.sig is empty; .*edgeret-export sign b --key KEY"):
        trust(ONE.public).check(HASH, [], "b")
    with pytest.raises(
        BundleError, match=f"its content hash is {HASH}, and .*is over another bundle, {OTHER}; get both"
    ):
        trust(ONE.public).check(HASH, [ONE.over(OTHER)], "b")
    with pytest.raises(BundleError, match=f"key {STRANGER.id[:16]}… is not among the trusted ones"):
        trust(ONE.public).check(HASH, [STRANGER.over(HASH)], "b")
    borrowed = replace(STRANGER.over(HASH), key=ONE.id)
    with pytest.raises(BundleError, match="did not sign this"):
        trust(ONE.public).check(HASH, [borrowed], "b")
    moved = replace(ONE.over(OTHER), bundle=HASH)
    with pytest.raises(BundleError, match="did not sign this"):
        trust(ONE.public).check(HASH, [moved], "b")


def test_revocations_of_any_file_count_for_all() -> None:
    revoked = f"# leaked\nrevoked-key {ONE.id}\n".encode()
    with pytest.raises(BundleError, match=f"key {ONE.id[:16]}… is revoked"):
        trust(ONE.public, revoked).check(HASH, [ONE.over(HASH)], "b")
    assert trust(ONE.public + TWO.public, revoked).check(HASH, [ONE.over(HASH), TWO.over(HASH)], "b")[0].key == TWO.id
    withdrawn = f"revoked-bundle {HASH}\n".encode()
    with pytest.raises(BundleError, match=f"b: revoked \\(content hash {HASH}\\)"):
        trust(withdrawn, ONE.public).check(HASH, [ONE.over(HASH)], "b")


def test_signatures_and_keys_end_by_the_clock_and_only_those_with_an_end_ask_it() -> None:
    end = at("2026-06-30T23:59:59Z")
    ending, dated = ONE.over(HASH, expires=end), b"not-after 2026-06-30T23:59:59Z\n" + ONE.public
    for keys, signature in ((ONE.public, ending), (dated, ONE.over(HASH))):
        for now in (SIGNED, NOW, end, SIGNED - 86_400):
            assert "expires 2026-06-30T23:59:59Z" in trust(keys, now=now).check(HASH, [signature], "b")[0].told
        with pytest.raises(BundleError, match="until 2026-06-30T23:59:59Z, and it is 2026-07-01T00:00:00Z"):
            trust(keys, now=end + 1).check(HASH, [signature], "b")
        for now in (0, SIGNED - 86_401, -1e12):
            with pytest.raises(BundleError, match="nobody can say whether it expired; set the clock"):
                trust(keys, now=now).check(HASH, [signature], "b")
    for now in (0, NOW, 4e9, 1e300, float("nan")):
        assert trust(ONE.public, now=now).check(HASH, [ONE.over(HASH)], "b")[0].counts
    with pytest.raises(BundleError, match="needs 1 signatures"):
        trust(ONE.public, now=float("nan")).check(HASH, [ending], "b")


def test_a_key_counts_as_long_as_every_file_that_names_it_says() -> None:
    early, late = (f"not-after {year}-01-01T00:00:00Z\n".encode() + ONE.public for year in (2026, 2030))
    for parts in ((early, late), (late, early), (ONE.public, early)):
        assert trust(*parts).keys[ONE.id].not_after == at("2026-01-01T00:00:00Z")


def test_keys_are_given_as_files_content_or_bytes(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_bytes(b"# ours\r\n\r\n" + ONE.public.replace(b"\n", b"\r\n") + TWO.public)
    assert set(trust_of(file).keys) == set(trust_of(str(file)).keys) == {ONE.id, TWO.id}
    assert set(trust_of(ONE.raw).keys) == set(trust_of([ONE.public]).keys) == {ONE.id}
    (tmp_path / "link").symlink_to(file)
    assert set(trust_of([tmp_path / "link", STRANGER.raw]).keys) == {ONE.id, TWO.id, STRANGER.id}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "names no public key"),
        (b"# nothing\n", "names no public key"),
        (f"revoked-key {HASH}\n".encode(), "names no public key"),
        (5, "must be files of public keys, or keys of 32 bytes"),
        ([None], "must be files of public keys"),
        ("a\0b", "must be a path, found"),
        ("", "must be a path"),
        ("/dev/zero", "not a regular file"),
        (".", "not a regular file"),
        ("nowhere.pub", r"nowhere\.pub: cannot be read"),
        (bytes(32), "no point of the curve, or one of small order"),
        (b"revoked_key " + HASH.encode(), 'line 1: not understood, "revoked_key'),
        (b"revoked-key " + HASH.upper().encode(), "line 1: not understood"),
        (b"revoked-key", "line 1: not understood"),
        (b"not-after tomorrow\n", "line 1: not understood"),
        (b"threshold 0\n", "line 1: not understood"),
        (b"not-after 2026-01-01T00:00:00Z\nnot-after 2027-01-01T00:00:00Z\n", "line 2: not understood"),
        (b"not-after 2026-01-01T00:00:00Z\n", "behind `not-after` without one"),
        (ONE.public[:60], "ends within a key"),
        (ONE.public + ONE.public, "a second time"),
        (
            ONE.public.replace(b"MCow", b"MCox"),
            "line 3: not a public key of Ed25519; make one with: edgeret-export keygen",
        ),
        (b"-----BEGIN PRIVATE KEY-----\n", r"a private key; name its \.pub file"),
        (b"\xff\xfe", "no text"),
        (b"#" * (MAX_TRUST_BYTES + 1), "1048576 bytes at most"),
    ],
)
def test_what_is_no_trust_is_bad_input(given: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        trust_of(given)  # type: ignore[arg-type]


def test_a_revocation_within_a_key_is_not_passed_over() -> None:
    begin, *rest = ONE.public.split(b"\n")
    with pytest.raises(InputError, match="not a public key"):
        parse_trust(b"\n".join([begin, f"revoked-key {TWO.id}".encode(), *rest]), "keys")


def test_a_statement_is_bound_to_all_that_it_says() -> None:
    made = ONE.over(HASH, expires=NOW + 10)
    later = replace(made, expires=NOW + 1_000_000)
    for changed in (later, replace(made, expires=None), replace(made, signed=made.signed + 1)):
        assert isinstance(changed, Signature)
        with pytest.raises(BundleError, match="did not sign this"):
            trust(ONE.public).check(HASH, [changed], "b")
