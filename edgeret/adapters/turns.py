"""Which of a user's turns say what is wanted: the last one alone, or those before it too. Knows no message formats.

"Sounds good to me, go ahead" and "el segundo, por favor" are like no tool, but no list of words tells them from a
request in every language. So nothing is decided: turns that may say something are ranked, each gets its part of what is
shown, and how much a turn is like any tool says which gets more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from edgeret import Runtime
from edgeret.adapters.conversation import Conversation, bounded
from edgeret.records import dataclass

SHORT = 12
"""Words. All of 306 turns without content in 15 languages have fewer, and so have three quarters of all follow-ups."""
UNLIKE = 0.15
"""The share of the best tool, below which a turn is like none. Of the turns without content 85 to 90% lie below it, of
short requests 11%, with 44 tools as with 199."""
LIKE = 0.4
"""Above it a turn is taken for a request of its own: 2% of the turns without content, and half of short requests."""
MOST_FORMER = 3
"""Former turns that are ranked."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_CHARS_A_WORD = 2


@dataclass(frozen=True, slots=True)
class Weighed:
    """Texts to rank: `first` get three quarters of the places, and `second` one; all of them where that is empty."""

    first: tuple[str, ...]
    second: tuple[str, ...] = ()


def weigh(runtime: Runtime, said: Conversation) -> Weighed:
    """What is to be ranked for a conversation in which something is wanted. Encodes a short turn once more, and former
    ones where they are needed. Raises InputError for words that cannot be read."""
    last = said.wanted or ""
    if not said.before:
        return Weighed((last,))
    share, short = likeness(runtime, last), is_short(last)
    if not short and share >= UNLIKE:
        return Weighed((last,))
    former = _former(runtime, said.before)
    joined = bounded("\n".join((*said.before[: said.before.index(former[-1]) + 1][::-1], last)))
    if short and share < UNLIKE:
        return Weighed(former, (last, joined))
    return Weighed((last,), (*former, joined))


def wish(runtime: Runtime, said: Conversation) -> str:
    """What the user wants, in one text: the last turn, behind the former one where it may be about that. Raises
    InputError for words that cannot be read."""
    last = said.wanted or ""
    if not said.before or not is_short(last) or likeness(runtime, last) >= LIKE:
        return last
    former = _former(runtime, said.before)[0]
    return bounded(f"{former}\n{last}")


def likeness(runtime: Runtime, text: str) -> float:
    """How much a text is like one tool more than like all others: the best one's share, 0 to 1."""
    hits = runtime.search(text, 1, strategy="hybrid")  # one scale, whether there are demonstrations or not
    return hits[0].share or 0.0 if hits else 0.0


def is_short(text: str) -> bool:
    """Whether a turn has too few words to be sure that it says itself what it is about. In scripts that put no spaces,
    two characters count as a word."""
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return len(spaced.split()) + unspaced / _CHARS_A_WORD <= SHORT


def _former(runtime: Runtime, before: Sequence[str]) -> tuple[str, ...]:
    """Former turns that may say what is wanted, the latest first, up to one that surely says something itself; the most
    telling one where none does."""
    found: list[str] = []
    shares: dict[str, float] = {}
    for turn in before:
        share = shares[turn] = likeness(runtime, turn)
        if not is_short(turn) or share >= UNLIKE:
            found.append(turn)
        if len(found) == MOST_FORMER or not is_short(turn) or share >= LIKE:
            break
    return tuple(found) or (max(shares, key=lambda turn: shares[turn]),)


def in_turns(rankings: Iterable[Iterable[str]]) -> Iterator[str]:
    """The names of several rankings, one of each after the other, every name once."""
    waiting = [iter(ranking) for ranking in rankings]
    seen: set[str] = set()
    while waiting:
        for ranking in list(waiting):
            name = next((name for name in ranking if name not in seen), None)
            if name is None:
                waiting.remove(ranking)
            else:
                seen.add(name)
                yield name


def three_to_one(first: Iterable[str], second: Iterable[str]) -> Iterator[str]:
    """The names of two rankings, the third of every four from the second one, every name once."""
    one, other = iter(first), iter(second)
    seen: set[str] = set()
    place = 0
    while True:
        place += 1
        for ranking in (other, one) if place % 4 == 3 else (one, other):
            name = next((name for name in ranking if name not in seen), None)
            if name is not None:
                seen.add(name)
                yield name
                break
        else:
            return
