"""Which languages an encoder was trained on, and whether a text is written in a script that none of them has. Knows
nothing of words: German and English have one script, and are not told apart here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from edgeret.errors import BundleError
from edgeret.fields import short

MAX_LANGUAGES = 300
CODE = re.compile(r"[a-z]{2,3}(-[a-zA-Z0-9]{2,8})?")
"""A language as BCP 47 writes it, with its region or script at most: de, pt-BR, zh-Hant."""
LOOKED_AT = 400
"""Characters of a text that are looked at."""
LATIN = "LATIN"
_CODES: Mapping[str, str] = {
    "ARABIC": "ar fa ku ps sd ug ur",
    "ARMENIAN": "hy",
    "BENGALI": "as bn",
    "CJK": "ja ko zh",
    "CYRILLIC": "be bg kk ky mk mn ru sr tg tt uk uz",
    "DEVANAGARI": "hi mr ne sa",
    "ETHIOPIC": "am ti",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he yi",
    "HIRAGANA": "ja",
    "KANNADA": "kn",
    "KATAKANA": "ja",
    "KHMER": "km",
    "LAO": "lo",
    LATIN: "af az bs br ca cs cy da de en eo es et eu fi fr fy ga gd gl ha hr hu id is it jv ku la lt lv mg ms nb nl "
    "nn no om pl pt ro sk sl so sq sr su sv sw tl tr uz vi xh yo zu",
    "MALAYALAM": "ml",
    "MYANMAR": "my",
    "ORIYA": "or",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
    "TIBETAN": "bo",
}
"""Scripts by the first word of their letters' names in Unicode, each with its languages."""


def read_languages(encoder: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The languages that `info.encoder` tells of, as codes; none where it tells of none. Raises BundleError."""
    found = encoder.get("languages", [])
    if not isinstance(found, list) or len(found) > MAX_LANGUAGES:
        raise BundleError(
            f'{where}: "languages" must be a list of at most {MAX_LANGUAGES} codes; build the bundle again'
        )
    for code in found:
        if not isinstance(code, str) or not CODE.fullmatch(code):
            raise BundleError(
                f'{where}: "languages" holds {short(code)}, expected codes like en; build the bundle again'
            )
    return tuple(found)


@lru_cache(64)
def scripts_of(languages: tuple[str, ...]) -> frozenset[str] | None:
    """The scripts of these languages; None where they are not known, or one of them is not."""
    scripts: set[str] = set()
    for code in {code.partition("-")[0] for code in languages}:
        own = {script for script, codes in _CODES.items() if code in codes.split()}
        if not own:
            return None
        scripts |= own
    return frozenset(scripts) if scripts else None


def foreign_script(text: str, languages: tuple[str, ...]) -> str | None:
    """The script that most letters of `text` have, if none of the `languages` is written in it; else None."""
    scripts = scripts_of(languages)
    if scripts is None or (text.isascii() and LATIN in scripts):
        return None
    letters = [char for char in text[:LOOKED_AT] if char.isalpha()]
    counts = Counter(script for char in letters if (script := script_of(char)) is not None)
    if not counts or sum(count for script, count in counts.items() if script not in scripts) * 2 <= len(letters):
        return None
    return max((script for script in counts if script not in scripts), key=lambda script: counts[script])


@lru_cache(4096)
def script_of(char: str) -> str | None:
    """A letter's script, as above; None for letters of no script that is known here, or of all."""
    name = unicodedata.name(unicodedata.normalize("NFKC", char)[:1], "").partition(" ")[0]
    return name if name in _CODES else None
