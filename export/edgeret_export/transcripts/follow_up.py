"""Whether a turn can be understood without the one before it: by rule, in the turn's language.

A rule that errs costs a demonstration; one that lets "and mail it" through teaches a wrong first call.
"""

from __future__ import annotations

from edgeret.inputs.words import words
from edgeret_export.reference.inputs.language import language_of
from edgeret_export.reference.inputs.language_rules import ENGLISH, compiled_once, rules_of

_OWN_WORDS = 3
"""Words that say something before a pronoun, from which on it is taken to mean one of them: "find the report and mail
it", but not "please mail it"."""
_ANSWER_WORDS = 2
"""Fewer words than this behind a question are an answer, even where the assistant had done something before."""


def refers_back(query: str, asked: bool, called: bool) -> bool:
    """Whether a turn needs the former one: it opens as a sequel, points at what it does not name, or answers.

    `asked`: the assistant's last words before it were a question; `called`: the former turn had calls.
    """
    language = language_of(query)
    if compiled_once(language, "sequels", "opens").match(query):
        return True
    if asked and (not called or _said(query, language) < _ANSWER_WORDS):
        return True
    pointer = compiled_once(language, "sequels", "points").search(query)
    return pointer is not None and _said(query[: pointer.start()], language) < _OWN_WORDS


def _said(text: str, language: str) -> int:
    """How many words of a text say something; in other languages than English, how many there are."""
    return len(words(text)) if language == ENGLISH else rules_of(language).count(text)


def is_question(text: str) -> bool:
    """Whether an assistant's words end with a question."""
    return text.rstrip().rstrip("\"'”)*").endswith(("?", "？"))
