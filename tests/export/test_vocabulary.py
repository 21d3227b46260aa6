"""A vocabulary cut to a few languages' scripts: the same vectors for what is left, and no way to cut what cannot be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from bert_samples import save_bert
from xlmr_samples import card_of, save_xlmr

from edgeret.cli import commands as cli
from edgeret.encoders.languages import script_of
from edgeret.errors import InputError
from edgeret_export.cli import main
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import export_encoder
from edgeret_export.encoders.vocabulary import cut_folder, cut_tokenizer, with_languages
from edgeret_export.sources.cards import Card, find_card
from edgeret_export.sources.fetch import fetch


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Card:
    """An encoder of several languages."""
    folder = tmp_path_factory.mktemp("cards")
    return card_of(save_xlmr(folder / "small"), languages='["de", "en", "fr", "zh"]')


@pytest.fixture(autouse=True)
def cache(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGERET_CACHE", str(card.origin.parent / "cache"))


def test_texts_in_the_scripts_that_are_kept_have_the_same_vectors(card: Card) -> None:
    german = with_languages(card, "de, en")
    assert german.encoder is not None
    assert (german.encoder.languages, german.encoder.scripts) == (("de", "en"), ("LATIN",))
    whole, cut = (start(export_encoder(each, "fp32")) for each in (card, german))
    assert cut.vocabulary < whole.vocabulary
    for text in ("öffne die Datei", "send a mail, please: 7!"):
        np.testing.assert_allclose(cut.encode(text), whole.encode(text), atol=1e-6)
        assert len(cut.tokenize(text)) == len(whole.tokenize(text))
    assert cut.encode("打开文件") @ whole.encode("打开文件") < 0.999


def test_latin_letters_stay_whatever_people_speak(card: Card) -> None:
    folder = cut_folder(card, fetch(card), with_languages(card, "zh").encoder.scripts)  # type: ignore[union-attr]
    pieces = [text for text, _ in json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]]
    assert {"CJK", "LATIN"} == {script for piece in pieces for char in piece if (script := script_of(char))}


def test_what_was_cut_is_kept_and_made_anew_if_it_was_changed(card: Card) -> None:
    base = fetch(card)
    folder = cut_folder(card, base, ["LATIN"])
    before = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").write_bytes(b"{}")
    assert cut_folder(card, base, ["LATIN"]) == folder
    assert (folder / "tokenizer.json").read_bytes() == before
    assert json.loads((folder / "config.json").read_text())["pad_token_id"] == 1


def test_every_id_that_a_tokenizer_names_moves_along() -> None:
    vocab = [["<s>", 0.0], ["文", -1.0], ["</s>", 0.0], ["a", -1.0], ["件", -2.0], ["<unk>", 0.0], ["7", -3.0]]
    value = {
        "model": {"type": "Unigram", "unk_id": 5, "vocab": vocab},
        "added_tokens": [{"id": 0}, {"id": 2}],
        "post_processor": {
            "special_tokens": {"<s>": {"ids": [0]}, "</s>": {"ids": [2]}},
            "cls": ["<s>", 0],
            "sep": ["", 2],
        },
    }
    assert cut_tokenizer(value, ["LATIN"], "here") == [0, 2, 3, 5, 6]
    assert value["model"]["vocab"] == [vocab[i] for i in (0, 2, 3, 5, 6)]
    assert (value["model"]["unk_id"], value["added_tokens"][1]["id"]) == (3, 1)
    ends = value["post_processor"]
    assert (ends["special_tokens"]["</s>"]["ids"], ends["cls"][1], ends["sep"][1]) == ([1], 0, 1)
    value["added_tokens"].append({"id": 99})
    with pytest.raises(InputError, match="here: its tokenizer has tokens beyond its pieces; leave out --languages"):
        cut_tokenizer(value, ["LATIN"], "here")


@pytest.mark.parametrize("told", ["ru", "de,xx", "", "de-AT"])
def test_a_language_that_the_encoder_was_not_trained_on_is_named(card: Card, told: str) -> None:
    with pytest.raises(InputError, match=re.escape("'small' was not trained on ") + ".*choose some of de, en, fr, zh"):
        with_languages(card, told)


def test_no_languages_leave_a_card_and_a_planner_has_none(card: Card) -> None:
    assert with_languages(card, None) is card
    with pytest.raises(InputError, match="is a planner, which speaks no languages; leave out --languages"):
        with_languages(find_card("smollm2-135m-instruct"), "en")


def test_only_unigram_vocabularies_can_be_cut(tmp_path: Path) -> None:
    more = {"query_prefix": '""', "tool_prefix": '""', "max_tokens": 40, "languages": '["en"]'}
    card = card_of(save_bert(tmp_path / "bert"), dimension=64, **more)
    with pytest.raises(
        InputError, match="bert: only a Unigram tokenizer's vocabulary can be cut; leave out --languages"
    ):
        export_encoder(with_languages(card, "en"), "fp32")


def test_a_folder_whose_weights_are_not_the_tokenizers_is_refused(card: Card, tmp_path: Path) -> None:
    import shutil

    base = tmp_path / "base"
    shutil.copytree(fetch(card), base)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "vocab_size": 7}))
    with pytest.raises(InputError, match=r"small: no single embedding of its pieces \(word_embeddings\.weight\)"):
        cut_folder(card, base, ["LATIN"])


def test_a_build_tells_the_languages_that_are_left(
    card: Card, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = tmp_path / "tools.jsonl"
    lines = [json.dumps({"name": name, "description": f"Can {name} a file"}) for name in ("send", "open", "find")]
    tools.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["build", "--tools", str(tools), "--encoder", str(card.origin), "-o", str(tmp_path / "bundle")]
    assert main([*command, "--languages", "fr", "--precision", "fp32", "--profile", "full"]) == 0
    capsys.readouterr()
    assert cli.main(["inspect", str(tmp_path / "bundle")]) == 0
    assert "speaks   fr\n" in capsys.readouterr().out
