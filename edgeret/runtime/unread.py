"""Whether a request is in a language or a script that an encoder was not trained on. Knows nothing of decisions."""

from __future__ import annotations

from functools import lru_cache

from edgeret.encoders.languages import foreign_script
from edgeret.inputs.language import name_of, surely_not_english
from edgeret.inputs.language_rules import LANGUAGES


def unread(query: str, languages: tuple[str, ...]) -> str | None:
    """What of a query an encoder of these languages was not trained on, in words: its script, or its language where
    nobody could doubt it. None where that is nothing, nobody knows, or nobody says what the encoder was trained on."""
    script = foreign_script(query, languages)
    if script is not None:
        return f"{script.title()} script"
    others = _others(languages)
    found = surely_not_english(query) if others else None
    return f"what looks like {name_of(found)}" if found is not None and found in others else None


@lru_cache(64)
def _others(languages: tuple[str, ...]) -> frozenset[str]:
    """Languages that can be told, and that are none of these."""
    codes = {code.partition("-")[0] for code in languages}
    return frozenset(set(LANGUAGES) - codes) if codes else frozenset()
