"""Which tool a language model's free answer names. Knows no message formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

MOST_CHARS = 20_000
"""Of a longer answer nothing is taken: it says more than one thing."""

_NAMED = re.compile(r'"(?:name|tool|tool_name|function|action|recipient_name)"\s*:\s*"([^"\\]{1,256})"')
_MARKED = re.compile(r"[`'\"“‘«*]+([^`'\"”’»*\n]{1,256})[`'\"”’»*]+|([\w.:/-]{1,256})\s*\(")
_DENIED = re.compile(
    r"\b(?:not|no|never|neither|nor|none|without|avoid|except|unlike|cannot|rather than|instead of|\w+n['’]t)\b",
    re.IGNORECASE,
)
_ARGUMENTS = re.compile(r"\([^()]*\)|\{.*\}", re.DOTALL)
_SENTENCE = re.compile(r"[.!?;]+(?=\s|$)|\n+")
_PARTS = re.compile(r"[^\W_]+", re.UNICODE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def tool_named(answer: str, mask: Sequence[str]) -> str | None:
    """The one tool of `mask` that an answer names, such as "Sure! send_mail", "I'd use `sendMail`." or a fragment of
    JSON; None where it names none, or more than one, or says what not to use. Never guesses.

    What is looked at, until something names a tool: the whole answer; values of "name", "tool" and the like in JSON;
    what is quoted, or called as a function; and at last the words, where a name of one plain word is no name but any
    word. Case, humps and dashes do not matter unless two tools of the mask differ in nothing else.
    """
    if len(answer) > MOST_CHARS:
        return None
    names = _Names(mask)
    if (whole := names.find(answer.strip(" \t\r\n`'\"“”‘’«»*.,:;!?()[]{}<>"))) is not None:
        return whole
    readings = (
        _NAMED.findall(answer),
        [quoted or called for quoted, called in _MARKED.findall(answer)],
    )
    for found in (*(names.among(reading) for reading in readings), names.mentioned(answer)):
        if found:
            return found.pop() if len(found) == 1 and not _denied(answer, names) else None
    return None


class _Names:
    """The names of a mask, and how each may be spelt."""

    def __init__(self, mask: Iterable[str]) -> None:
        self.exact = frozenset(mask)
        spelt: dict[tuple[str, ...], set[str]] = {}
        for name in self.exact:
            spelt.setdefault(_words(name), set()).add(name)
        self._spelt: Mapping[tuple[str, ...], str] = {
            words: next(iter(alike)) for words, alike in spelt.items() if words and len(alike) == 1
        }
        self._longest = max(map(len, self._spelt), default=0)

    def find(self, text: str) -> str | None:
        """The tool that a text is the name of."""
        return text if text in self.exact else self._spelt.get(_words(text))

    def among(self, texts: Iterable[str]) -> set[str]:
        """The tools that some texts are the names of."""
        return {name for text in texts if (name := self.find(text.strip())) is not None}

    def mentioned(self, text: str) -> set[str]:
        """The tools whose names stand in a text, the longest at every place. Names as they are written count; spelt
        otherwise, only those of two words and more."""
        exact = {name for name in self.exact if _distinct(name) and _stands_in(name, text)}
        if exact:
            return {name for name in exact if not any(name != other and name in other for other in exact)}
        words, found, at = _words(text), set(), 0
        while at < len(words):
            length = next((n for n in range(self._longest, 1, -1) if words[at : at + n] in self._spelt), 0)
            if length:
                found.add(self._spelt[words[at : at + length]])
            at += length or 1
        return found


def _words(text: str) -> tuple[str, ...]:
    """`sendMail`, `send-mail` and "Send mail" alike."""
    return tuple(part.casefold() for part in _PARTS.findall(_HUMP.sub(" ", text)))


def _distinct(name: str) -> bool:
    """Whether a name is more than a word that anybody may say."""
    return len(_words(name)) > 1


def _stands_in(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _denied(answer: str, names: _Names) -> bool:
    """Whether a sentence that names a tool says "not"; what arguments say is not about the tool."""
    prose = _ARGUMENTS.sub("", answer)
    sentences = (sentence for sentence in _SENTENCE.split(prose) if _DENIED.search(sentence))
    return any(names.mentioned(s) or names.among(a or b for a, b in _MARKED.findall(s)) for s in sentences)
