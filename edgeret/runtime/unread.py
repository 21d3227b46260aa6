"""Whether a request is in a language or a script that an encoder was not trained on. Knows nothing of decisions."""

from __future__ import annotations

from functools import lru_cache

from edgeret.core.understood import LANGUAGES, language_of
from edgeret.encoders.languages import foreign_script

LOOKED_AT = 400
"""Characters by which the library tells a language."""


def unread(query: str, languages: tuple[str, ...]) -> str | None:
    """What of a query an encoder of these languages was not trained on, in words: its script, or its language where
    nobody could doubt it. None where that is nothing, nobody knows, or nobody says what the encoder was trained on."""
    script = foreign_script(query, languages)
    if script is not None:
        return f"{script.title()} script"
    others = _others(languages)
    language, sure = language_of(query[:LOOKED_AT]) if others else ("", False)
    return f"what looks like {LANGUAGES[language]}" if sure and language in others else None


@lru_cache(64)
def _others(languages: tuple[str, ...]) -> frozenset[str]:
    """Languages that can be told, and that are none of these."""
    codes = {code.partition("-")[0] for code in languages}
    return frozenset(set(LANGUAGES) - codes) if codes else frozenset()
