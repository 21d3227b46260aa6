"""A shorter encoder is taught by a longer one, and what the command refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_samples import HEADS, MAX_TOKENS, WIDTH, save_bert
from codebook_samples import EPSILON

from edgeret.bundle.codec import pack
from edgeret.core.embedder import Embedder
from edgeret.core.library import the_library
from edgeret.errors import InputError
from edgeret_export.cli import main
from edgeret_export.encoders.coded import encoder_map
from edgeret_export.encoders.distil import Course, distil
from edgeret_export.encoders.trainer import load_base
from edgeret_export.sources.codebook import pack_code_file, read_code_file

ROOT = Path(__file__).parents[2]
COURSE = Course((0, 1), bits=4, pieces=16, steps=120, tokens=512, rate=2e-3)


def _models(folder: Path) -> tuple[Any, Any]:
    save_bert(folder)
    (folder / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}])
    )
    first, second = (load_base(folder)[0] for _ in range(2))
    return first.auto_model, second.auto_model  # type: ignore[union-attr]


def test_what_is_taught_comes_near_and_is_what_the_library_reads(tmp_path: Path) -> None:
    import torch

    random = np.random.default_rng(0)
    texts = [random.integers(4, 22, random.integers(2, 30)).tolist() for _ in range(200)]
    teacher, student = _models(tmp_path / "bert")
    taught = distil(teacher, student, texts, (2, 3), COURSE)
    assert taught.texts_off < 0.05
    places = "embeddings.position_embeddings.weight"
    tensors = {**taught.tensors, places: taught.tensors[places][:MAX_TOKENS]}
    data = pack(encoder_map(tensors, taught.words, COURSE.bits, HEADS, EPSILON))
    embedder, cosines = Embedder(the_library(), b"", data, WIDTH, MAX_TOKENS), []
    for text in texts[:40]:
        ids = np.array([2, *text, 3], np.int64)
        with torch.no_grad():
            wanted = teacher(torch.tensor(ids)[None])[0][0].mean(0).numpy()
        cosines.append(float(embedder.embed(ids)[0] @ wanted / np.linalg.norm(wanted)))
    assert np.mean(cosines) > 0.93


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--layers", "0,6"), "numbers from 0 to 5"),
        (("--layers", "2,1"), "ascending"),
        (("--layers", "x"), "like 0,2,4,5"),
        (("--pieces", "50"), "divides 384"),
        (("--steps", "0"), "from 1 on"),
        (("--encoder", "multilingual-e5-small-q4"), "takes the mean, as it is"),
        (("--bits", "9"), "invalid choice"),
        (("--calls", "1"), "give --set"),
        (("--calls", "-1"), "from 0 to 10"),
        (("--from", "nowhere.msgpack"), "nowhere.msgpack"),
        (("--from", "nowhere.msgpack", "--layers", "0,1"), "leave it out"),
    ],
)
def test_what_cannot_be_taught_is_refused(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts").write_text("\n".join(f"text {i}" for i in range(200)))
    given = ["lab", "distil", "--texts", str(tmp_path / "texts"), "-o", str(tmp_path / "out"), *options]
    try:
        status = main(given)
    except SystemExit as end:
        status = end.code
    assert status and said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_too_few_texts_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts").write_text("one\ntwo")
    assert main(["lab", "distil", "--texts", str(tmp_path / "texts"), "-o", str(tmp_path / "out")])
    assert "2 different texts, at least 100" in capsys.readouterr().err


def test_an_encoder_whose_special_tokens_are_others_is_refused_before_it_teaches() -> None:
    from codebook_samples import coded_bert

    from edgeret_export.sources.codebook import specials_of

    tokenizer = coded_bert().tokenizer
    assert specials_of(tokenizer, "t")["cls_token"] == "[CLS]"
    with pytest.raises(InputError, match=r"no \[CLS\]"):
        specials_of(tokenizer.replace("[CLS]", "<s>"), "t")


def test_a_file_whose_words_are_in_no_codes_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = read_code_file(ROOT / "models" / "encoders" / "all-minilm-l4-tools.msgpack")
    plain = {key: value for key, value in shipped.arrays.items() if key not in ("books", "book_scales")}
    file = tmp_path / "plain"
    file.write_bytes(pack_code_file(shipped._replace(arrays=plain)))
    (tmp_path / "texts").write_text("\n".join(f"text {i}" for i in range(200)))
    given = ["lab", "distil", "--texts", str(tmp_path / "texts"), "-o", str(tmp_path / "out"), "--from", str(file)]
    assert main(given) == 2
    assert f"{file}: its words are in no codes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_ships_goes_on_and_learns_what_requests_call(tmp_path: Path) -> None:
    begun, out = ROOT / "models" / "encoders" / "all-minilm-l4-tools.msgpack", tmp_path / "out"
    podcast = str(ROOT / "examples" / "calls" / "podcast")
    given = ["lab", "distil", "--from", str(begun), "--calls", "1", "--steps", "1", "--set", podcast, "-o", str(out)]
    assert main(given) == 0
    before, after = read_code_file(begun), read_code_file(out)
    assert after.tokenizer == before.tokenizer
    assert after.told["before"] == before.told
    assert after.told["course"]["beside"] == 1.0
    assert np.array_equal(after.arrays["words"], before.arrays["words"])
    assert len(after.arrays["layers"]) == len(before.arrays["layers"])
    assert [*after.arrays] == [*before.arrays]
    first, second = (np.asarray(each.arrays["layers"][0]["wide"]["scales"]) for each in (before, after))
    assert 0 < np.abs(first - second).mean() < 0.1 * first.mean()
