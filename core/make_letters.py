"""What the `tokenizers` library takes each code point for, asked of the library itself; make_tables.py writes it down.

Its parts go by four versions of Unicode (docs/FORMAT.md, section 5), so no table of one version would do.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "core"))
from charsmaps import charsmap

POINTS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
FLAGS = (
    *("SPACE", "CONTROL", "ACCENT", "MARK", "PUNCTUATION", "NUMERIC", "WORD", "CHINESE", "LOWERS"),
    *("CANONICAL", "COMPATIBLE", "CLASSED", "SECOND", "EXTENDS", "PREPENDS", "ENDS", "PICTURE"),
    *("SPACING", "LOOSE", "CONSONANT", "LINKER"),
)
"""As in letters.h."""
HANGUL = range(0xAC00, 0xAC00 + 11172)


def properties() -> dict[str, set[str]]:
    """The code points that have each flag but those of normal forms and clusters."""
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    clean = normalizers.BertNormalizer(**{**off, "clean_text": True}).normalize_str
    chinese = normalizers.BertNormalizer(**{**off, "handle_chinese_chars": True}).normalize_str
    # NFD comes first there: what it takes apart has its answer by its parts.
    accents = normalizers.BertNormalizer(**{**off, "strip_accents": True}).normalize_str
    marks = normalizers.StripAccents().normalize_str
    bert, blank = pre_tokenizers.BertPreTokenizer().pre_tokenize_str, pre_tokenizers.WhitespaceSplit().pre_tokenize_str
    words, digits = pre_tokenizers.Whitespace().pre_tokenize_str, pre_tokenizers.Digits().pre_tokenize_str
    lower = normalizers.Lowercase().normalize_str
    single = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    single.add_tokens([AddedToken("[X]", single_word=True, normalized=False)])
    found: dict[str, set[str]] = {flag: set() for flag in FLAGS}
    for c in POINTS:
        around = f"a{c}b"
        if clean(around) == "ab":
            found["CONTROL"].add(c)
        if chinese(c) != c:
            found["CHINESE"].add(c)
        if accents(around) == "ab":
            found["ACCENT"].add(c)
        if marks(around) == "ab":
            found["MARK"].add(c)
        if len(blank(around)) == 2:
            found["SPACE"].add(c)
        elif len(bert(around)) == 3:
            found["PUNCTUATION"].add(c)
        if len(digits(around)) == 3:
            found["NUMERIC"].add(c)
        pieces = len(words(around))
        if pieces == 1:
            found["WORD"].add(c)
        assert (pieces == 2) == (c in found["SPACE"])
        if lower(c) != c:
            found["LOWERS"].add(c)
        assert (len(single.encode(f"{c}[X]").ids) == 1) == (c in found["WORD"])
    return found


def decompositions() -> tuple[dict[str, str], dict[str, str]]:
    """What NFD and NFKD make of code points that they change; NFKD's only where it is another."""
    nfd, nfkd = normalizers.NFD().normalize_str, normalizers.NFKD().normalize_str
    canonical = {c: d for c in POINTS if ord(c) not in HANGUL and (d := nfd(c)) != c}
    compatible = {c: d for c in POINTS if ord(c) not in HANGUL and (d := nfkd(c)) != canonical.get(c, c)}
    return canonical, compatible


def classes() -> dict[str, int]:
    """Combining classes, where the library orders by them."""
    nfd = normalizers.NFD().normalize_str
    known = {c: unicodedata.combining(c) for c in POINTS if unicodedata.combining(c)}
    # U+0334 has class 1, U+0345 class 240: one of them changes places with any other class. A letter newer than this
    # Python's tables is newer than the library's, too.

    def ordered(c: str, number: int) -> bool:
        goes = number > 1 and nfd(f"a{c}\u0334") == f"a\u0334{c}"
        return goes or (number < 240 and nfd(f"a\u0345{c}") == f"a{c}\u0345") or c in "\u0334\u0345"

    return {c: number for c, number in known.items() if ordered(c, number)}


def compositions(canonical: dict[str, str]) -> dict[tuple[str, str], str]:
    """Pairs that NFC puts together."""
    nfc, nfd = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
    found = {}
    for c in canonical:
        raw = unicodedata.decomposition(c).split()
        if len(raw) == 2 and not raw[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in raw)
            if nfc(first + second) == c and nfd(c) == nfd(first + second):
                found[first, second] = c
    return found


def clusters() -> dict[str, set[str]]:
    """What grapheme clusters go by, as far as clusters of up to five bytes can tell: one of these is replaced as a
    whole by what its beginning becomes, and a longer one code point by code point."""
    found: dict[str, set[str]] = {flag: set() for flag in FLAGS[FLAGS.index("EXTENDS") :]}

    def after(key: str) -> Callable[[str], str]:
        return normalizers.Precompiled(charsmap({key: "!"})).normalize_str

    of_a, of_mark, of_sign, of_ta = after("a"), after("\u0301"), after("\u00a9"), after("\u0924")
    for c in POINTS:
        if of_a("a" + c) == "!":
            found["EXTENDS"].add(c)
            if of_sign(f"\u00a9{c}\u200d\u00a9\u0301")[-1] != "\u0301":
                found["SPACING"].add(c)
            if of_ta(f"\u0915{c}\u0924\u0301")[-1] == "\u0301":
                found["LINKER"].add(c)
            if of_ta(f"\u0915{c}\u094d\u0924\u0301")[-1] != "\u0301":
                found["LOOSE"].add(c)
        elif of_sign(f"\u00a9\u200d{c}") != f"!{c}":
            found["PICTURE"].add(c)
        if of_mark(f"{c}\u0301\u0302")[-1] != "\u0302":
            found["ENDS"].add(c)
        elif of_ta(f"{c}\u094d\u0924\u0301")[-1] == "\u0301":
            found["CONSONANT"].add(c)
    for start in range(1, len(POINTS), 4096):
        block = POINTS[start : start + 4096]
        whole = normalizers.Precompiled(charsmap(dict.fromkeys(block, "!"))).normalize_str
        found["PREPENDS"] |= {c for c in block if whole(c + "a") == "!"}
    return found


def letters() -> tuple[list[int], list[tuple[int, int]]]:
    """The flags of every code point, and those whose lower case is another one than this Python's, with it."""
    flags = properties()
    canonical, compatible = decompositions()
    combining, pairs = classes(), compositions(canonical)
    flags |= clusters()
    flags["CANONICAL"], flags["COMPATIBLE"], flags["CLASSED"] = set(canonical), set(compatible), set(combining)
    # Parts of letters are asked for, never letters that NFD takes apart.
    flags["SECOND"] = {second for _, second in pairs} | {
        chr(c) for c in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))
    }
    found = [0] * 0x110000
    for i, flag in enumerate(FLAGS):
        for c in flags[flag]:
            found[ord(c)] |= 1 << i
    lower = normalizers.Lowercase().normalize_str
    newer = [c for c in sorted(flags["LOWERS"]) if lower(c) != c.lower()]
    assert all(len(lower(c)) == 1 for c in newer) and lower("\u0130") == "i\u0307"
    assert all(d == unicodedata.normalize("NFD", c) for c, d in canonical.items())
    assert all(d == unicodedata.normalize("NFKD", c) for c, d in compatible.items())
    return found, [(ord(c), ord(lower(c))) for c in newer]
