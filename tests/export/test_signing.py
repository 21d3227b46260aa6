"""keygen and sign, and what `edgeret verify --trust` makes of it; openssl reads keys and signatures, too."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from edgeret.bundle.reader import read_manifest
from edgeret.bundle.signature import parse_signatures, signatures_path
from edgeret.cli.commands import main as runtime_main
from edgeret_export.cli import main

Run = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command of edgeret-export, or with `runtime` of edgeret: its exit code, what it printed and told."""

    def command(*words: object, runtime: bool = False, json_too: bool = True) -> tuple[int, Any, str]:
        argv = [str(word) for word in (*words, *(["--json"] if json_too else []))]
        code = (runtime_main if runtime else main)(argv)
        out, err = capsys.readouterr()
        return code, json.loads(out) if json_too and out else out, err

    return command


@pytest.fixture
def key(tmp_path: Path, run: Run) -> Path:
    path = tmp_path / "release"
    assert run("keygen", "-o", path)[0] == 0
    return path


def test_a_bundle_is_signed_and_verified(run: Run, key: Path, tiny: Path) -> None:
    code, made, _ = run("sign", tiny, "--key", key, "--expires", "2099-12-31")
    assert code == 0
    assert made["signatures"] == str(signatures_path(tiny)) and made["signers"] == 1 and made["left_out"] == 0
    assert made["expires"] == "2099-12-31T23:59:59Z"
    assert made["content_hash"] == read_manifest(tiny).content_hash
    code, told, _ = run("verify", tiny, "--trust", f"{key}.pub", runtime=True)
    assert code == 0 and told["ok"]
    assert told["checks"][0]["name"] == "signature" and made["key_id"] in told["checks"][0]["detail"]
    code, decided, _ = run("select", tiny, "write a note", "--trust", f"{key}.pub", runtime=True)
    assert code == 0 and decided["tool"] == "write_note"


def test_a_failed_check_is_an_answer_and_nothing_else_is_looked_at(run: Run, key: Path, tiny: Path) -> None:
    (tiny / read_manifest(tiny).files[0].name).unlink()
    code, told, _ = run("verify", tiny, "--trust", f"{key}.pub", runtime=True)
    assert code == 1 and [check["name"] for check in told["checks"]] == ["signature"]
    assert "bundle.sig: missing" in told["checks"][0]["detail"]
    code, out, _ = run("verify", tiny, "--trust", f"{key}.pub", runtime=True, json_too=False)
    assert code == 1 and out.startswith("FAILS  signature: ")
    assert run("verify", tiny, "--trust", key, runtime=True)[0] == 2  # the secret key is no public one
    assert run("verify", f"{tiny}-none", "--trust", f"{key}.pub", runtime=True)[0] == 2


def test_keys_are_for_their_owner_and_never_replaced(run: Run, key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    code, _, told = run("keygen", "-o", key)
    assert code == 2 and "is there already, and a key is never replaced" in told
    key.rename(key.with_name("moved"))
    assert run("keygen", "-o", key)[0] == 2  # its public half is there
    assert key.with_name("moved").read_bytes() == before and not key.exists()


def test_places_where_no_key_can_be(run: Run, tiny: Path, tmp_path: Path) -> None:
    for place in (".", "/", "", "a\0b", tmp_path, tiny / "key", "/dev/null/key"):
        code, _, told = run("keygen", "-o", place)
        assert code == 2 and told.count("\n") == 1, place


def test_several_sign_and_what_is_over_other_bundles_goes(
    run: Run, key: Path, tiny: Path, tiny_table: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    run("keygen", "-o", second)
    run("sign", tiny, "--key", key)
    assert run("sign", tiny, "--key", second)[1]["signers"] == 2
    assert run("sign", tiny, "--key", key)[1]["signers"] == 2  # signed anew
    both = tmp_path / "trust"
    both.write_text(f"threshold 2\n{Path(f'{key}.pub').read_text()}{Path(f'{second}.pub').read_text()}")
    assert run("verify", tiny, "--trust", both, runtime=True)[0] == 0
    other = shutil.copytree(tiny_table, tmp_path / "other")
    shutil.copy(signatures_path(tiny), signatures_path(other))
    made = run("sign", other, "--key", key)[1]
    assert made["signers"] == 1 and made["left_out"] == 2
    code, told, _ = run("verify", other, "--trust", both, runtime=True)
    assert code == 1 and "needs 2 signatures by keys that you trust, has 1" in told["checks"][0]["detail"]


def test_a_damaged_bundle_is_not_signed(run: Run, key: Path, tiny: Path) -> None:
    file = tiny / read_manifest(tiny).files[0].name
    file.write_bytes(file.read_bytes()[:-1])
    code, _, told = run("sign", tiny, "--key", key)
    assert code == 2 and "expected" in told and not signatures_path(tiny).exists()
    signatures_path(tiny).write_bytes(b"?")
    code, _, told = run("sign", tiny, "--key", key)
    assert code == 2 and "no file of signatures" in told and signatures_path(tiny).read_bytes() == b"?"


def test_an_encrypted_key_needs_its_passphrase(run: Run, tiny: Path, tmp_path: Path) -> None:
    secret, wrong, key = tmp_path / "passphrase", tmp_path / "wrong", tmp_path / "locked"
    secret.write_text("correct horse\nsecond line\n")
    wrong.write_text("battery\n")
    assert run("keygen", "-o", key, "--passphrase", secret)[0] == 0
    assert b"ENCRYPTED PRIVATE KEY" in key.read_bytes()
    assert "is encrypted; name its passphrase's file with --passphrase" in run("sign", tiny, "--key", key)[2]
    assert "another passphrase" in run("sign", tiny, "--key", key, "--passphrase", wrong)[2]
    assert run("sign", tiny, "--key", key, "--passphrase", secret)[0] == 0
    assert run("verify", tiny, "--trust", f"{key}.pub", runtime=True)[0] == 0


@pytest.mark.parametrize("days", ["yesterday", "2020-01-01", "2027-02-30", "2027-01-31T12:00", "", "9"])
def test_ends_that_are_none(run: Run, key: Path, tiny: Path, days: str) -> None:
    code, _, told = run("sign", tiny, "--key", key, "--expires", days)
    assert code == 2 and "--expires must" in told


def test_files_that_are_no_secret_keys(run: Run, key: Path, tiny: Path, tmp_path: Path) -> None:
    other = generate_private_key(SECP256R1())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "curve").write_bytes(other.private_bytes(*form))
    (tmp_path / "empty").touch()
    os.truncate(key.with_name("empty"), 10_000_000)
    os.mkfifo(tmp_path / "pipe")
    for file, words in (
        ("curve", "a key of another kind than Ed25519"),
        ("empty", "16384 bytes at most"),
        ("pipe", "not a regular file"),
        ("nowhere", "cannot be read"),
        (".", "not a regular file"),
        ("release.pub", "a public key; sign with the secret one"),
        ("a\0b", "is no path"),
    ):
        code, _, told = run("sign", tiny, "--key", tmp_path / file)
        assert code == 2 and words in told, file
    key.chmod(0o644)
    code, _, told = run("sign", tiny, "--key", key)
    assert code == 0 and "others may read this secret key; chmod 600" in told


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")
def test_openssl_reads_keys_and_signatures(run: Run, key: Path, tiny: Path, tmp_path: Path) -> None:
    def openssl(*words: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["openssl", *map(str, words)], capture_output=True, check=False)

    public = openssl("pkey", "-in", key, "-pubout").stdout
    assert public == Path(f"{key}.pub").read_bytes()
    run("sign", tiny, "--key", key)
    [made] = parse_signatures(signatures_path(tiny).read_bytes(), "")
    statement, value = tmp_path / "statement", tmp_path / "value"
    statement.write_bytes(made.statement)
    value.write_bytes(made.value)
    check = ("pkeyutl", "-verify", "-pubin", "-inkey", f"{key}.pub", "-rawin", "-in", statement, "-sigfile", value)
    assert openssl(*check).returncode == 0
    theirs = tmp_path / "theirs"
    assert openssl("genpkey", "-algorithm", "ed25519", "-out", theirs).returncode == 0
    Path(f"{theirs}.pub").write_bytes(openssl("pkey", "-in", theirs, "-pubout").stdout)
    assert run("sign", tiny, "--key", theirs)[0] == 0
    assert run("verify", tiny, "--trust", f"{theirs}.pub", runtime=True)[0] == 0


def test_without_the_library_signing_names_the_extra(tiny: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from edgeret_export.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    for words in (("keygen", "-o", tmp_path / "k"), ("sign", tiny, "--key", tmp_path / "k")):
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and "pip install 'edgeret-export[sign]'" in done.stderr
