"""What people say that no tool serves, in the language of what was demonstrated."""

from __future__ import annotations

import pytest

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Call, Tool
from edgeret_export.fitting.declines import sayings
from edgeret_export.fitting.familiarity import read_sayings
from edgeret_export.fitting.spoken import spoken
from edgeret_export.reference.inputs.language import language_of
from edgeret_export.reference.inputs.language_rules import LANGUAGES

TOOLS = [Tool("set_lamp", "Turns a lamp on or off."), Tool("play", "Plays a song.")]
GERMAN, ENGLISH = "mach bitte das Licht in der K\u00fcche an", "turn on the light in the kitchen"


def shown(*queries: str) -> list[Demonstration]:
    return [Demonstration(str(number), query, (Call("play"),)) for number, query in enumerate(queries)]


def test_the_language_is_that_of_demonstrations_or_of_tools() -> None:
    assert spoken((), TOOLS) == spoken(shown(ENGLISH), TOOLS) == ("en",)
    assert spoken(shown(GERMAN), TOOLS) == ("de",)
    assert spoken((), [Tool("licht", "Schaltet das Licht in einem Zimmer ein oder aus.")]) == ("de",)
    assert spoken(shown(GERMAN, ENGLISH), TOOLS) == ("en", "de")
    assert spoken(shown(*[GERMAN] * 19, "Jazz"), TOOLS) == ("de",)  # a request too short to tell
    assert spoken(shown(*[ENGLISH] * 19, GERMAN), TOOLS) == ("en",)


@pytest.mark.parametrize("language", LANGUAGES)
def test_sayings_are_in_their_language_and_none_is_twice(language: str) -> None:
    fitted, judged = read_sayings((language,)), sayings(TOOLS, (language,))
    assert len(fitted) >= 150
    assert len(judged) >= 80
    assert len({*fitted, *judged}) == len(fitted) + len(judged)
    found = [language_of(said) == language for said in (*fitted, *judged)]
    assert sum(found) >= 0.85 * len(found)


def test_sayings_of_two_languages_stand_together() -> None:
    assert read_sayings(("en", "de")) == [*read_sayings(), *read_sayings(("de",))]
    assert len(sayings(TOOLS, ("en", "de"))) == len(sayings(TOOLS)) + len(sayings(TOOLS, ("de",)))


def test_tools_leave_out_what_they_may_serve_by_words_of_either_language() -> None:
    weather = [Tool("wetter", "Sagt, wie das Wetter wird.")]
    assert "schneit es am Wochenende in den Bergen" in sayings(TOOLS, ("de",))
    assert "schneit es am Wochenende in den Bergen" not in sayings(weather, ("de",))
