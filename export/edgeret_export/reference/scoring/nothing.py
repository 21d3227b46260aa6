"""Whether no tool fits a request: what speaks for it from tools alone, and what each piece of evidence weighs. Knows
nothing of text."""

from __future__ import annotations

from edgeret.records import dataclass

MOST_TOOLS = 1000
"""Beyond so many tools more of them change nothing; the sets that the weights are fitted on have a third of that."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a request is put, whatever it is about: as a `question`, as one whose answer `explains` something, and
    `bare` of names, numbers and quotations."""

    question: bool = False
    explains: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """How a request is put: its `form`, the most of its different words that one tool says anywhere, and all of
    them."""

    form: Form = Form()
    explained: int = 0
    words: int = 0


@dataclass(frozen=True, slots=True)
class NothingWeights:
    """The logit that no tool fits a request: a constant; the best score; the highest cosine of the whole, and of
    windows and clauses, to any tool; the largest share of a name's words that the request has; the logarithm of the
    number of tools, since one of many is near by chance, and since more of what is said to many fits; those of the most
    words that one tool says anywhere (`explained`), and of all the request's `words`; and its `Form`."""

    constant: float
    best: float
    cosine: float
    window: float
    name: float
    tools: float
    explained: float
    words: float
    question: float
    explains: float
    bare: float
