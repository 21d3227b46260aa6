"""Whether a turn can be understood without the one before it. English, by rule, as everything that reads words here.

A rule that errs costs a demonstration; one that lets "and mail it" through teaches a wrong first call.
"""

from __future__ import annotations

import re

from edgeret.inputs.words import words

_OPENS = re.compile(
    r"\W*(?:and|then|also|but|or|so|instead|actually|now|again|yes|yeah|yep|ok|okay|sure|no|nope|right|correct|"
    r"please do|go ahead|do it|same|what about|how about|make (?:it|that|them)|try again|undo|next)\b",
    re.I,
)
_POINTS = re.compile(
    r"\b(?:it|its|them|they|their|those|these|he|him|his|she|her|hers|the same|"
    r"the (?:first|second|third|last|other) one|(?:this|that) one|the former|the latter|the above|"
    r"(?:that|this)(?=\W*$|[,.;!?]| (?:to|in|into|as|for|on|with|from|by|at|and|"
    r"off|up|down|out|back|again|instead|file|mail|email|message|event|note|list)\b))\b",
    re.I,
)
_OWN_WORDS = 3
"""Words that say something before a pronoun, from which on it is taken to mean one of them: "find the report and mail
it", but not "please mail it"."""
_ANSWER_WORDS = 2
"""Fewer words than this behind a question are an answer, even where the assistant had done something before."""


def refers_back(query: str, asked: bool, called: bool) -> bool:
    """Whether a turn needs the former one: it opens as a sequel, points at what it does not name, or answers.

    `asked`: the assistant's last words before it were a question; `called`: the former turn had calls.
    """
    if _OPENS.match(query):
        return True
    if asked and (not called or len(words(query)) < _ANSWER_WORDS):
        return True
    pointer = _POINTS.search(query)
    return pointer is not None and len(words(query[: pointer.start()])) < _OWN_WORDS


def is_question(text: str) -> bool:
    """Whether an assistant's words end with a question."""
    return text.rstrip().rstrip("\"'”)*").endswith("?")
