"""Replies as a tree of their tokens, so that what begins alike is read once. Knows nothing of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.planner.chat import Prompt
from edgeret.planner.llama import Entry, log_probabilities

Reply = tuple[int, ...]


class Tree:
    """The tokens that must be read to know how likely each of some replies is: all but each one's last."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = len(replies)
        self._replies = replies
        members: dict[Reply, list[int]] = {}
        for i, reply in enumerate(replies):
            for depth in range(1, len(reply)):
                members.setdefault(reply[:depth], []).append(i)
        self._members = members
        self._prefixes = sorted(members, key=len)

    def __len__(self) -> int:
        return len(self._prefixes)

    def entries(self, start: int, sequences: Sequence[int]) -> list[Entry]:
        """What to read from position `start` on; each reply has a sequence of its own."""
        return [
            Entry(prefix[-1], start + len(prefix) - 1, tuple(sequences[i] for i in self._members[prefix]), True)
            for prefix in self._prefixes
        ]

    def log_likelihoods(self, logits: Sequence[NDArray[np.float32]]) -> list[float]:
        """How likely each reply is, in nats; `logits` are those behind the prompt, and then each entry's."""
        behind = dict(zip(((), *self._prefixes), logits, strict=True))
        following: dict[Reply, set[int]] = {}
        for reply in self._replies:
            for depth, token in enumerate(reply):
                following.setdefault(reply[:depth], set()).add(token)
        known = {
            (prefix, token): value
            for prefix, tokens in following.items()
            for token, value in zip(tokens, log_probabilities(behind[prefix], tokens).tolist(), strict=True)
        }
        return [sum(known[reply[:d], token] for d, token in enumerate(reply)) for reply in self._replies]


class Part(NamedTuple):
    """Replies to a prompt that are read at once: the tokens of its `own` part, the texts, and their tokens."""

    prompt: Prompt
    own: list[int]
    texts: list[str]
    tree: Tree

    @property
    def size(self) -> int:
        """Tokens to be read."""
        return len(self.own) + len(self.tree)


def together(parts: Sequence[Part], rows: int, tokens: int, sequences: int) -> tuple[list[Part], list[Part]]:
    """The first parts, one at least, for which so many rows of logits, tokens and sequences do; and the others."""
    count = 0
    for part in parts:
        rows -= 1 + len(part.tree)
        tokens -= part.size
        sequences -= len(part.texts)
        if count and min(rows, tokens, sequences) < 0:
            break
        count += 1
    return list(parts[:count]), list(parts[count:])
