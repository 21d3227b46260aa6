"""A tiny bundle with fewer tokens: what they spell is read as before, and the files belong together."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from table_samples import table_bundle

import edgeret
from edgeret.bundle.reader import verify_bundle
from edgeret.errors import BundleError, InputError
from edgeret_export import cli
from edgeret_export.cut import cut_bundle
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import components_of
from tests.conftest import build_tiny, make_demonstrations, tiny_exported

BASE = table_bundle()
TOLD = "Turn on the lamp beside the bookshelf"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = cut_bundle(BASE, tmp_path_factory.mktemp("cut") / "small", 0, [TOLD])
    assert made.tokens == made.used < made.before == 30_522
    return made.path


def test_it_is_whole_and_says_what_it_is(small: Path) -> None:
    verify_bundle(small)
    runtime, before = edgeret.load(small), edgeret.load(BASE)
    assert runtime.tools.keys() == before.tools.keys()
    vocabulary = json.loads((small / "tokenizer.json").read_text())["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(len(vocabulary)))
    assert sum(f.stat().st_size for f in small.iterdir()) < 0.1 * sum(f.stat().st_size for f in BASE.iterdir())


def test_a_text_whose_tokens_stay_is_read_as_before_to_the_bit(small: Path) -> None:
    after, before = edgeret.load(small), edgeret.load(BASE)
    for text in (TOLD, *(tool.description for tool in before.tools.values())):
        encoders = [components_of(runtime).encoder.encode_query(text) for runtime in (before, after)]
        assert np.array_equal(encoders[0].vector, encoders[1].vector)
        assert np.array_equal(encoders[0].spans, encoders[1].spans)
    assert before.search(TOLD) == after.search(TOLD)


def test_what_is_not_kept_is_spelt_and_still_has_a_vector(small: Path) -> None:
    runtime = edgeret.load(small)
    vocabulary = json.loads((small / "tokenizer.json").read_text())["model"]["vocab"]
    assert "knight" not in vocabulary
    vector = components_of(runtime).encoder.encode_query("knight").vector
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_the_commonest_fill_up_to_what_is_asked_for(tmp_path: Path) -> None:
    made = cut_bundle(BASE, tmp_path / "more", 2_000)
    vocabulary = json.loads((made.path / "tokenizer.json").read_text())["model"]["vocab"]
    assert made.tokens == len(vocabulary) == 2_000
    assert {"the", "and", "##ing", "[CLS]"} <= vocabulary.keys() and "[unused5]" not in vocabulary
    edgeret.load(made.path)


def test_heads_go_along_and_decide_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def word_piece(seed: int, max_tokens: int) -> ExportedEncoder:
        made = tiny_exported(seed, max_tokens)
        value = json.loads(made.tokenizer)
        of = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
        value["model"] = {"type": "WordPiece", **of, "vocab": value["model"]["vocab"]}
        return replace(made, tokenizer=json.dumps(value).encode())

    monkeypatch.setitem(build_tiny.__globals__, "tiny_exported", word_piece)
    whole = build_tiny(tmp_path / "whole", recipe=Recipe(precision="fp32", profile="tiny"))
    asked = [demonstration.query for demonstration in make_demonstrations(2)]
    made = cut_bundle(whole, tmp_path / "small", 0, asked)
    assert 20 < made.tokens < made.before
    after, before = edgeret.load(made.path), edgeret.load(whole)
    for query in asked:
        decisions = [runtime.task(query).next() for runtime in (before, after)]
        assert decisions[0].tool == decisions[1].tool and decisions[0].probability == decisions[1].probability


def test_other_bundles_are_refused(tiny: Path, tiny_table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only a WordPiece vocabulary can be cut, found WordLevel"):
        cut_bundle(tiny_table, tmp_path / "a", 100)
    with pytest.raises(InputError, match="only a table of token vectors can be cut; build one with: --profile tiny"):
        cut_bundle(tiny, tmp_path / "a", 100)
    with pytest.raises(BundleError, match="another bundle than the one asked for"):
        cut_bundle(BASE, tmp_path / "a", 100, content_hash="0" * 64)
    damaged = Path(shutil.copytree(BASE, tmp_path / "damaged"))
    (damaged / "tools.json").write_bytes(b" " * (damaged / "tools.json").stat().st_size)
    with pytest.raises(BundleError, match="altered"):
        cut_bundle(damaged, tmp_path / "a", 100)
    assert not (tmp_path / "a").exists()


def test_the_command_tells_how_many_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = tmp_path / "words.txt"
    words.write_text("xylophone\n")
    made = tmp_path / "small"
    assert (
        cli.main(["lab", "cut", str(BASE), "--demos", str(words), "--tokens", "1500", "-o", str(made), "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["tokens"], told["before"]) == (1_500, 30_522) and told["used"] < 1_000
    assert "xylophone" not in (BASE / "tools.json").read_text()
    assert verify_bundle(made).content_hash == told["content_hash"]
