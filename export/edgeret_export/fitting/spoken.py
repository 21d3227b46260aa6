"""In which languages a bundle's users speak, by what was demonstrated; and files of what people say in these. Fits
nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Tool
from edgeret_export.reference.inputs.language import language_of
from edgeret_export.reference.inputs.language_rules import ENGLISH, LANGUAGES

SHARE = 0.1
"""Of the requests, from which on a language counts: where one is spoken, short requests look English all the same."""


def spoken(demonstrations: Sequence[Demonstration], tools: Sequence[Tool]) -> tuple[str, ...]:
    """The languages of what was demonstrated, or else of the tools' descriptions, in the order of LANGUAGES."""
    texts = [shown.query for shown in demonstrations] or [tool.description for tool in tools]
    found = Counter(map(language_of, texts))
    return tuple(code for code in LANGUAGES if found[code] and found[code] >= SHARE * found.total()) or (ENGLISH,)


def read_lines(name: str, languages: Iterable[str] = (ENGLISH,)) -> list[str]:
    """The lines of the files of these languages: of "sayings" that is sayings.txt, or for German sayings.de.txt."""
    found = []
    for code in languages:
        file = f"{name}.txt" if code == ENGLISH else f"{name}.{code}.txt"
        text = files("edgeret_export.fitting").joinpath(file).read_text(encoding="utf-8")
        found += [line for line in text.splitlines() if line]
    return found
