"""Languages by their English names, which is what a model is told. Knows nothing of models."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from edgeret.errors import InputError
from edgeret.quoting import quoted

FEWEST_CHARS, MOST_CHARS = 2, 40
_CODES = (
    "af Afrikaans, am Amharic, ar Arabic, as Assamese, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, "
    "bo Tibetan, br Breton, bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, en English, "
    "eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fo Faroese, fr French, fy West Frisian, "
    "ga Irish, gd Scottish Gaelic, gl Galician, gu Gujarati, ha Hausa, he Hebrew, hi Hindi, hr Croatian, "
    "ht Haitian Creole, hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, jv Javanese, "
    "ka Georgian, kk Kazakh, km Khmer, kn Kannada, ko Korean, ku Kurdish, ky Kyrgyz, la Latin, lb Luxembourgish, "
    "lo Lao, lt Lithuanian, lv Latvian, mg Malagasy, mi Maori, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, "
    "ms Malay, mt Maltese, my Burmese, nb Norwegian Bokmål, ne Nepali, nl Dutch, nn Norwegian Nynorsk, no Norwegian, "
    "oc Occitan, om Oromo, or Odia, pa Punjabi, pl Polish, ps Pashto, pt Portuguese, ro Romanian, ru Russian, "
    "sa Sanskrit, sd Sindhi, si Sinhala, sk Slovak, sl Slovenian, so Somali, sq Albanian, sr Serbian, su Sundanese, "
    "sv Swedish, sw Swahili, ta Tamil, te Telugu, tg Tajik, th Thai, tk Turkmen, tl Tagalog, tr Turkish, tt Tatar, "
    "ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, xh Xhosa, yi Yiddish, yo Yoruba, zh Chinese, zu Zulu"
)
_NAMES = {code: name for code, _, name in (entry.partition(" ") for entry in _CODES.split(", "))}
_KNOWN = {**{name.casefold(): name for name in _NAMES.values()}, **_NAMES}
_GAPS = re.compile(r"[ -]")


def language_name(text: str) -> str:
    """The English name of a language that is given by it or by its code of ISO 639-1; any other text of letters, with
    spaces and hyphens between them, as it is. Raises InputError for what is no such text, or not of 2 to 40 letters."""
    name = " ".join(text.split())
    parts = _GAPS.split(name)
    if not (FEWEST_CHARS <= len(name) <= MOST_CHARS and all(map(_is_word, parts))):
        raise InputError(
            f"{quoted(text)} is no language; give its English name or ISO code, {FEWEST_CHARS} to {MOST_CHARS} letters "
            "(German, de)"
        )
    return _KNOWN.get(name.casefold(), name)


def check_languages(names: Sequence[str], queries: int) -> tuple[str, ...]:
    """The names of languages that a tool's `queries` are written in. Raises InputError where one comes twice, and for
    more languages than queries."""
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise InputError(f"--language names {quoted(twice[0])} twice; name each language once")
    if len(names) > queries:
        raise InputError(
            f"--language names {len(names)} languages, and a tool gets {queries} queries; raise --queries or name fewer"
        )
    return tuple(names)


def _is_word(part: str) -> bool:
    """Whether a part is letters alone; marks belong to the letters before them."""
    return part[:1].isalpha() and all(char.isalpha() or unicodedata.category(char)[0] == "M" for char in part)
