"""How a request is put, whatever it is about: people ask an assistant much that no tool answers, and ask it otherwise.
By the rules of its language. Knows nothing of tools."""

from __future__ import annotations

import re

from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.language_rules import ENGLISH, Rules, rules_of

_ENGLISH = rules_of(ENGLISH)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_MOST_READ = 400
"""Characters at the begin of a text whose sentences are looked at; who only asks is brief."""


def asks_question(text: str, rules: Rules | None = None) -> bool:
    """Whether a text begins with a question word; in Chinese, whether it has one."""
    return (rules or rules_in(text)).question.match(text) is not None


def asks_for_knowledge(text: str, rules: Rules | None = None) -> bool:
    """Whether a text asks how, why, what or who something is, anywhere in it."""
    said, rules = text.lower(), rules or rules_in(text)
    # Looked for as letters first, in a tenth of the time: most requests have none of these.
    if rules is _ENGLISH and "wh" not in said and "how" not in said and "explain" not in said:
        return False
    return rules.knowledge.search(said) is not None


def only_asks(text: str, rules: Rules | None = None) -> bool:
    """Whether a text asks to be told something and demands nothing: each of its sentences is a question, and none asks
    somebody to do a thing ("could you open the door?")."""
    rules, text = rules or rules_in(text), text[:_MOST_READ].strip()
    if "?" not in text and "？" not in text and not rules.question.match(text) and not rules.state.match(text):
        return False  # most texts; the rest looks at every sentence
    if rules.demand.search(text) is not None:
        return False
    return all(_is_question(sentence, rules) for sentence in _SENTENCES.split(text) if sentence)


def _is_question(sentence: str, rules: Rules) -> bool:
    if rules.question.match(sentence) or rules.state.match(sentence):
        return True
    if not sentence.rstrip("\"'”»)").endswith(("?", "？")):
        return False
    first = rules.word.search(sentence.lower())
    return first is not None and first[0] not in rules.verbs


def is_bare(text: str, rules: Rules | None = None) -> bool:
    """Whether a text has no number, no quotation and no name: nothing that a tool's parameters could take."""
    rules = rules or rules_in(text)
    if rules.value.search(text) is not None:
        return False
    return (rules is _ENGLISH and text[1:].islower()) or rules.name.search(text) is None
