"""Tokens and their places, against the tokenizers library: hostile texts, and tokenizers of every kind that a bundle
may hold."""

from __future__ import annotations

import base64
import ctypes
import itertools
import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from charsmaps import charsmap
from hypothesis import given
from hypothesis import strategies as st
from tokenizer_changes import changes

import edgeret
from edgeret.errors import BundleError
from edgeret_export.reference.encoders.checks.tokenizer_file import check
from edgeret_export.reference.encoders.tokenizer import load_tokenizer, takes_spaces, without_spaces

BASE = Path(edgeret.__file__).parent / "base"
Library = Callable[..., ctypes.CDLL]
Read = tuple[list[int], list[list[int]]]
SOURCES = (
    *("utf8", "distinct", "json", "unicode", "vocabulary", "normalise", "charsmap", "split", "wordpiece"),
    *("unigram", "tokenizer", "tokenizer_file", "probe_tokens"),
)
SPOKEN = (
    "the a mute speakers [CLS] [SEP] [MASK] [UNK] send file Anna's 10:30 p.m. don't naïve café ÀÉÎ Straße ﬁnance 東京 "
    "привет مرحبا שלום नमस्ते ไทย 한국어 ##ing unbelievably xyzzyqwv e-mail foo_bar 3.14 ½ x² <new> <X> <x> "
    "## <s> </s> <mask> <unk> <N>"
)
WORDS = SPOKEN.split()
SIGNS = (
    "\0\t\n\r\x0b\x1c\x85\xa0\u200b\u200c\u200d\u2028\u3000\ufeff\ufffdİıßẞſςΣǅﬀﬃ½①㎏\u0301\u0323\u0345\u0334\u0f71\u0f73"
    "\u0344ạ́é中㐀豈𠀀한ᄒ\u1161\u11ab가©\U0001f468\ue000\U0010ffff\u0600\u0903\u094d\u0915\u0924#[](){}<>@!?.,'\"`~^|\\/_-+=$€"
)
ASSIGNED = [c for n in range(0x20000) if unicodedata.category(c := chr(n)) not in ("Cn", "Cs")]
MARKS = [c for c in ASSIGNED if unicodedata.combining(c)]
MADE_OF = [c for c in ASSIGNED if unicodedata.decomposition(c)]


class Refused(Exception):
    """By the core."""


class CoreTokenizer:
    def __init__(self, library: ctypes.CDLL, data: bytes) -> None:
        why, ids = ctypes.create_string_buffer(512), ctypes.c_uint32()
        library.probe_tokenizer.restype = ctypes.c_void_p
        library.probe_tokens.restype = ctypes.c_int64
        self._library = library
        self._at = library.probe_tokenizer(data, ctypes.c_size_t(len(data)), why, ctypes.byref(ids))
        if not self._at:
            raise Refused(why.value.decode())
        self.size = ids.value

    def __call__(self, text: str) -> Read:
        data = text.encode()
        room = 4 * len(data) + 64
        ids, places = np.empty(room, np.uint32), np.empty((room, 2), np.uint32)
        at = (ctypes.c_void_p(ids.ctypes.data), ctypes.c_void_p(places.ctypes.data))
        size = ctypes.c_size_t
        count = self._library.probe_tokens(ctypes.c_void_p(self._at), data, size(len(data)), *at, size(room))
        assert 0 <= count <= room
        return ids[:count].tolist(), places[:count].tolist()

    def frame(self) -> tuple[list[int], list[int]]:
        ends = [(np.zeros(128, np.uint32), ctypes.c_uint32()) for _ in range(2)]
        given = [each for at, n in ends for each in (ctypes.c_void_p(at.ctypes.data), ctypes.byref(n))]
        self._library.probe_frame(ctypes.c_void_p(self._at), *given)
        before, behind = (at[: n.value].tolist() for at, n in ends)
        return before, behind

    def close(self) -> None:
        self._library.probe_tokenizer_free(ctypes.c_void_p(self._at))


def oracle(data: bytes, longest: int = 512) -> Callable[[str], Read]:
    """The library's reading of a text, all windows together."""
    library = load_tokenizer(data, longest, "tokenizer").library
    spaces = takes_spaces(library)

    def read(text: str) -> Read:
        encoded = library.encode(text, add_special_tokens=False)
        windows = (encoded, *encoded.overflowing)
        ids = [i for window in windows for i in window.ids]
        spans = np.array([span for window in windows for span in window.offsets], np.intp).reshape(-1, 2)
        return ids, (without_spaces(spans, text) if spaces else spans).tolist()

    return read


@pytest.fixture(scope="module")
def library(core_library: Library) -> ctypes.CDLL:
    return core_library(*SOURCES)


def texts(count: int, seed: int) -> Iterator[str]:
    """Made of what is read in more than one way."""
    drawn = random.Random(seed)
    for _ in range(count):
        parts = []
        for _ in range(drawn.choice((1, 2, 3, 5, 8, 13, 30))):
            what = drawn.random()
            for share, among in ((0.25, WORDS), (0.45, SIGNS), (0.55, MARKS), (0.65, MADE_OF), (0.75, ASSIGNED)):
                if what < share:
                    parts.append(drawn.choice(among))
                    break
            else:
                plain = chr(drawn.randrange(32, 127))
                parts.append(" " * drawn.choice((1, 1, 2, 3)) if what < 0.9 else plain)
        yield "".join(parts)


def test_bert(library: ctypes.CDLL) -> None:
    data = Path(BASE, "tokenizer.json").read_bytes()
    ours, theirs = CoreTokenizer(library, data), oracle(data)
    for text in texts(1500, 1):
        assert ours(text) == theirs(text), ascii(text)
    assert (ours.size, ours.frame()) == (30522, ([101], [102]))
    assert ours("") == ([], [])
    assert ours(long := "word " * 3000) == theirs(long)
    ours.close()


@given(text=st.text(max_size=60))
def test_any_text(library: ctypes.CDLL, text: str) -> None:
    ours, theirs = _base(library)
    assert ours(text) == theirs(text)


@cache
def _base(library: ctypes.CDLL) -> tuple[CoreTokenizer, Callable[[str], Read]]:
    data = Path(BASE, "tokenizer.json").read_bytes()
    return CoreTokenizer(library, data), oracle(data)


# ---- Of every kind ----

PIECES = [
    *(
        "[UNK]",
        "[CLS]",
        "the",
        "mute",
        "file",
        "caf",
        "##e",
        "##é",
        "##s",
        "speaker",
        "un",
        "##believ",
        "##ably",
        "a",
        "##a",
    ),
    *(
        "1",
        "##0",
        ":",
        ".",
        "中",
        "국",
        "##어",
        "<",
        ">",
        "#",
        "x",
        "##x",
        "e",
        "é",
        "e\u0301",
        "!",
        "½",
        "1⁄2",
        "##1",
        "пр",
        "##и",
    ),
]
SCORED = [
    *(
        ("<unk>", 0.0),
        ("<s>", 0.0),
        ("</s>", 0.0),
        ("▁", -3.0),
        ("▁the", -2.5),
        ("▁mute", -4.25),
        ("e", -3.1),
        ("é", -4.0),
    ),
    *(
        ("th", -3.0),
        ("▁a", -2.0),
        ("a", -2.9),
        ("re", -4.1),
        ("1", -3.0),
        ("/2", -5.0),
        ("1⁄2", -6.000000000000001),
        ("  ", -5.0),
    ),
    *(
        ("Ġ", -3.3),
        ("Ġa", -2.2),
        ("\u3000", -5.0),
        ("日本語", -6.5),
        ("▁un", -5.5),
        ("believ", -7.0),
        ("ably", -6.0),
        ("!?", -4.5),
    ),
]
KINDS = ("Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD")
SIMPLE = [
    *({"type": kind} for kind in KINDS),
    *({"type": "Strip", "strip_left": left, "strip_right": not left} for left in (True, False)),
]
BERT = [
    {"type": "BertNormalizer", "clean_text": a, "handle_chinese_chars": b, "strip_accents": c, "lowercase": d}
    for a, b, c, d in itertools.product((True, False), (True, False), (None, True, False), (True, False))
]
BEHAVIOURS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
SPLITTERS = [
    *({"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")),
    *({"type": "Punctuation", "behavior": behaviour} for behaviour in BEHAVIOURS),
    *({"type": "Digits", "individual_digits": each} for each in (True, False)),
]
SIGNED = [
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}
    for scheme in ("always", "first", "never")
    for split in (True, False)
]
CHARSMAP = {
    "type": "Precompiled",
    "precompiled_charsmap": base64.b64encode(
        charsmap(
            {
                **dict.fromkeys("\u200b\u0007\u0301", ""),
                **dict.fromkeys("\t\n\r\u3000\xa0", " "),
                **{
                    "½": "1⁄2",
                    "ﬃ": "ffi",
                    "Ａ": "A",
                    "é": "e",
                    "e\u0301": "é",
                    "①": "1",
                    "\r\n": " ",
                    "中": "中国",
                    "ß": "ss",
                },
                **{"İ": "I", "©": "(c)", "\u0915": "k", "\u0924": "t", "\u1161": "a", "\u0600": "n"},
            }
        )
    ).decode(),
}
REPLACE = [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": content} for content in (" ", "▁")]


def made(
    model: str, normalizers: Sequence[Any], splitters: Sequence[Any], added: Sequence[Any] = (), **ends: Any
) -> bytes:
    """A tokenizer.json."""
    models: Mapping[str, Any] = {
        "WordPiece": {
            **{"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 12},
            "vocab": {piece: i for i, piece in enumerate(PIECES)},
        },
        "WordLevel": {"unk_token": "[UNK]", "vocab": {piece: i for i, piece in enumerate(PIECES)}},
        "Unigram": {"unk_id": 0, "vocab": SCORED},
    }
    value = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added),
        "normalizer": {"type": "Sequence", "normalizers": list(normalizers)},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": list(splitters)},
        "post_processor": ends or None, "decoder": None, "model": {"type": model, **models[model]},
    }  # fmt: skip
    return json.dumps(value, ensure_ascii=bool(normalizers)).encode()


def added(known: Sequence[str], told: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Added tokens with such flags, numbered as the library does."""
    found, size = [], len(known)
    for content, flags in told.items():
        every = {flag: flag in flags for flag in ("special", "single_word", "lstrip", "rstrip", "normalized")}
        found.append({"id": known.index(content) if content in known else size, "content": content, **every})
        size += content not in known
    return found


ADDED = added(
    PIECES,
    {
        **{"[CLS]": ("special",), "the": ("single_word",), "é": ("lstrip",), "<X>": ("normalized", "lstrip", "rstrip")},
        **{"<x>": ("normalized",), "##": ("rstrip",), "中": ("single_word",), "<new>": (), "<ne": ()},
    },
)
ADDED_SCORED = added(
    [piece for piece, _ in SCORED],
    {"<s>": ("special",), "</s>": ("special",), "<mask>": ("special", "lstrip"), "<N>": ("normalized",)},
)


def kinds() -> Iterator[bytes]:
    drawn = random.Random(3)
    for normalizer in (*SIMPLE, *BERT):
        yield made("WordPiece", [normalizer], drawn.sample(SPLITTERS, 1), ADDED if drawn.random() < 0.3 else ())
    for splitter in SPLITTERS:
        yield made("WordLevel", [], [splitter])
    for _ in range(12):
        yield made("WordPiece", drawn.sample([*SIMPLE, *BERT], 3), drawn.sample(SPLITTERS, drawn.randrange(3)), ADDED)
    for i, splitter in enumerate(SIGNED):
        for k, before in enumerate(
            ([CHARSMAP], [CHARSMAP, REPLACE[0]], [SIMPLE[4], REPLACE[1]], [CHARSMAP, *SIMPLE[:2]], [])
        ):
            ends = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
            ends |= {"trim_offsets": k % 2 == 0, "add_prefix_space": i % 2 == 0}
            more = [SPLITTERS[2]] if k == 3 else []
            yield made("Unigram", before, [*more, splitter], ADDED_SCORED if k % 2 else (), **(ends if k < 3 else {}))


@pytest.mark.parametrize("data", [*kinds()])
def test_every_kind(library: ctypes.CDLL, data: bytes) -> None:
    ours, theirs = CoreTokenizer(library, data), oracle(data)
    for text in texts(60, len(data)):
        assert ours(text) == theirs(text), ascii(text)
    ours.close()


@pytest.mark.parametrize("kind", KINDS[2:])
@pytest.mark.parametrize("n", [10, 15, 16, 120])
def test_marks_are_put_in_order(library: ctypes.CDLL, kind: str, n: int) -> None:
    """Those of one class keep theirs, however many there are."""
    vocabulary = [["<unk>", 0.0], *([piece, -1.0] for piece in ("a", "\xe1", "\u0301", "\u0300", "\u0316"))]
    value = {"model": {"type": "Unigram", "unk_id": 0, "vocab": vocabulary}, "version": "1.0", "added_tokens": []}
    value |= dict.fromkeys(("truncation", "padding", "pre_tokenizer", "post_processor", "decoder"))
    data = json.dumps({**value, "normalizer": {"type": "Sequence", "normalizers": [{"type": kind}]}}).encode()
    ours, text = CoreTokenizer(library, data), "a" + "\u0301\u0316\u0300" * n
    assert ours(text) == oracle(data)(text)
    ours.close()


# ---- The file ----


def test_files_that_are_refused(library: ctypes.CDLL) -> None:
    """The same as Python's check refuses."""
    refused = 0
    plain = made(
        "WordPiece", BERT[:1], SPLITTERS[:1], ADDED[:2], type="BertProcessing", sep=["[SEP]", 2], cls=["[CLS]", 1]
    )
    scored = made("Unigram", [CHARSMAP], SIGNED[:1], ADDED_SCORED)
    for data in changes(plain, scored):
        try:
            check(data, 512, "tokenizer")
        except BundleError:
            refused += 1
            with pytest.raises(Refused):
                CoreTokenizer(library, data)
        else:
            CoreTokenizer(library, data).close()
    assert refused > 500


def test_scores_are_read_to_the_last_bit(library: ctypes.CDLL) -> None:
    """Of two ways whose sums are equal but for a last bit, the better one is taken, and of equal ones the first."""
    drawn = random.Random(4)
    for _ in range(200):
        score = -drawn.random() * 10
        a = round(score, drawn.choice((3, 8, 17)))
        for other in (a, np.nextafter(a, 0), np.nextafter(a, -99)):
            scored = [["<unk>", 0.0], ["ab", float(other)], ["a", a], ["b", 0.0]]
            value = {"model": {"type": "Unigram", "unk_id": 0, "vocab": scored}, "version": "1.0"}
            value |= dict.fromkeys(
                ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
            )
            data = json.dumps({**value, "added_tokens": []}).encode()
            ours = CoreTokenizer(library, data)
            assert ours("ab") == oracle(data)("ab"), (a, other)
            ours.close()
