"""Where an encoder's vectors of requests lie in the mean: made, named by a card, taken off everything."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xlmr_samples import WIDTH, card_of, save_xlmr

from edgeret.errors import InputError
from edgeret_export.cli import main
from edgeret_export.encoders.adapter import with_adapter
from edgeret_export.encoders.centre import make_centre, write_centre
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import export_encoder
from edgeret_export.encoders.pretrained import made_for
from edgeret_export.sources.cards import Card, all_cards, read_card
from edgeret_export.sources.centres import read_centre
from edgeret_export.sources.encoder_card import CentreCard
from edgeret_export.sources.fetch import sha256_of

TEXTS = [f"{verb} {thing} {i}" for verb in ("send", "open", "find", "play") for thing in "abc" for i in range(10)]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Card:
    """An encoder without a centre."""
    return card_of(save_xlmr(tmp_path_factory.mktemp("cards") / "small"))


@pytest.fixture(autouse=True)
def cache(plain: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGERET_CACHE", str(plain.origin.parent / "cache"))


def named(card: Card, file: Path) -> Card:
    """The card with the centre in `file`."""
    assert card.encoder is not None
    return replace(card, encoder=replace(card.encoder, centre=CentreCard(file, sha256_of(file))))


def test_the_mean_is_taken_off_texts_tools_and_tokens_in_every_graph(plain: Card, tmp_path: Path) -> None:
    write_centre(tmp_path / "centre.json", told := make_centre(plain, TEXTS))
    card = named(plain, tmp_path / "centre.json")
    assert read_centre(card) == tuple(told["centre"])
    before, after = start(export_encoder(plain, "fp32")), start(export_encoder(card, "fp32"))
    centre = np.array(told["centre"], np.float32)
    for text in ("send a mail", "öffne die Datei"):
        ids = before.tokenize(f"query: {text}")
        tokens = before.embed_tokens(ids)[1]
        np.testing.assert_allclose(after.embed_tokens(ids)[1], tokens - centre, atol=1e-5)
        moved = tokens.mean(axis=0) - centre
        np.testing.assert_allclose(after.encode(text), moved / np.linalg.norm(moved), atol=1e-5)
    own = start(export_encoder(card, "int8"))
    assert own.encode("send a mail") @ after.encode("send a mail") > 0.9
    mean = np.mean([before.encode(text) for text in TEXTS], axis=0)
    moved_mean = np.mean([after.encode(text) for text in TEXTS], axis=0)
    assert np.linalg.norm(moved_mean) < 0.5 * np.linalg.norm(mean)
    assert made_for(card) != made_for(plain)


def test_a_centre_is_its_encoders_alone(plain: Card, tmp_path: Path) -> None:
    assert plain.encoder is not None
    file = tmp_path / "centre.json"
    write_centre(file, make_centre(plain, TEXTS))
    card = named(plain, file)
    assert card.encoder is not None
    other = replace(card, encoder=replace(card.encoder, query_prefix="ask: "))
    with pytest.raises(
        InputError, match=r"centre\.json: the centre of another encoder than small as it is now; make one"
    ):
        read_centre(other)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"centre\.json: expected sha256 [0-9a-f]{64} \(model card .*small\.toml\), found"
    ):
        read_centre(card)
    tuned = tmp_path / "tuned"
    tuned.mkdir()
    (tuned / "model.safetensors").write_bytes(b"weights")
    assert with_adapter(card, str(tuned)).encoder.centre is None  # type: ignore[union-attr]
    assert with_adapter(card, "none").encoder.centre is not None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("[", "no centre (Expecting value"),
        ("{}", "no centre ('centre')"),
        ('{"centre": ["a"], "made_for": {}}', "no centre (its centre is no list of numbers)"),
        ('{"centre": [1.0], "made_for": {}}', f"expected {WIDTH} finite numbers, found 1"),
        (json.dumps({"centre": [float("nan")] * WIDTH, "made_for": {}}), f"expected {WIDTH} finite numbers"),
        (" " * (2 << 20), "expected at most 1048576 bytes"),
    ],
)
def test_a_file_that_is_none_is_named(plain: Card, tmp_path: Path, told: str, words: str) -> None:
    file = tmp_path / "centre.json"
    file.write_text(told, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(words)) as error:
        read_centre(named(plain, file))
    assert "make one with: edgeret-export lab centre" in str(error.value)


def test_no_centre_for_too_few_texts_or_another_pooling(plain: Card) -> None:
    assert plain.encoder is not None
    with pytest.raises(InputError, match="3 different texts, at least 100 are needed"):
        make_centre(plain, TEXTS[:3])
    first = replace(plain, encoder=replace(plain.encoder, pooling="cls"))
    with pytest.raises(InputError, match="'small' pools by cls; a centre is that of a mean"):
        make_centre(first, TEXTS)


def test_the_command_reads_other_peoples_requests_and_says_what_to_write_in_a_card(
    plain: Card, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools.jsonl").write_text(
        "\n".join(json.dumps({"name": name, "description": name}) for name in "abc") + "\n", encoding="utf-8"
    )
    demonstrations = [{"query": text, "calls": [{"tool": text.split()[1]}]} for text in TEXTS]
    lines = "\n".join(map(json.dumps, demonstrations))
    (tmp_path / "demonstrations.jsonl").write_text(lines + "\n", encoding="utf-8")
    target = tmp_path / "centre.json"
    command = ["lab", "centre", "--encoder", str(plain.origin), "--set", f"mine={tmp_path}", "-o", str(target)]
    assert main([*command, "--most", "40"]) == 0
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    assert f'centre_sha256 = "{digest}"' in capsys.readouterr().out
    told = json.loads(target.read_text())
    assert (told["sets"], told["texts"], len(told["centre"])) == (["mine"], len(TEXTS), WIDTH)
    assert main([*command, "--most", "2"]) == 2
    assert "6 different texts, at least 100 are needed" in capsys.readouterr().err


def test_a_card_names_file_and_hash(plain: Card) -> None:
    told = plain.origin.read_text(encoding="utf-8")
    own = plain.origin.with_name("own.toml")
    own.write_text(told.replace("[files]", 'centre = "a.json"\n[files]'), encoding="utf-8")
    with pytest.raises(InputError, match=r'"encoder\.centre" must be a file.* its sha256 in lower-case hex, found \'a'):
        read_card(own)
    own.write_text(
        told.replace("[files]", f'centre = "a.json"\ncentre_sha256 = "{"0" * 64}"\n[files]'), encoding="utf-8"
    )
    found = read_card(own)
    assert found.encoder is not None
    assert found.encoder.centre == CentreCard(own.parent / "a.json", "0" * 64)
    with pytest.raises(InputError, match=r"a\.json: cannot be read \(No such file or directory\); make one"):
        read_centre(found)


def test_the_centres_that_are_shipped_are_their_encoders() -> None:
    centred = {card.name: read_centre(card) for card in all_cards() if card.encoder is not None and card.encoder.centre}
    assert list(centred) == ["multilingual-e5-small-q4"]
