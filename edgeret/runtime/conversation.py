"""Several turns of one user: what was said and called in each, kept, taken back and saved. How anything is decided is
elsewhere."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from edgeret.errors import InputError
from edgeret.runtime.earlier import Earlier
from edgeret.runtime.history import History, check_clock
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.saved import check_choosable, restore, save
from edgeret.runtime.task import Task
from edgeret.types import Turn

MAX_TURNS = 10_000
"""Of one conversation; only its latest calls are looked back to."""
_WHERE = "saved conversation"


class Conversation:
    """The turns of one user, each a task that earlier turns explain. Every turn is encoded once. Not shared between
    threads."""

    def __init__(
        self,
        loaded: Loaded,
        tools: Collection[str] | None = None,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        """Use `Runtime.conversation`."""
        check_choosable(tools, loaded.tools)  # refused now, and not with the first turn
        self._loaded, self._tools = loaded, tools
        self._said = [] if saved is None else _restored(saved, loaded)
        self._task: Task | None = None  # of the latest turn, which alone is kept with its encoding

    @property
    def turns(self) -> tuple[Turn, ...]:
        """What was said so far, in order, with the calls that each turn made; copies."""
        return tuple(_turn(query, history) for query, history in self._said)

    @property
    def task(self) -> Task:
        """The latest turn's task. Raises InputError before anything was said."""
        if not self._said:
            raise InputError("nothing was said yet; begin with conversation.say(…)")
        if self._task is None:
            self._task = self._opened(*self._said[-1], self._said[:-1])
        return self._task

    def say(self, text: str, *, now: datetime | None = None) -> Task:
        """The next turn: a task with a history of its own. Calls that earlier turns made stay as they are now; a plan
        that is not finished counts as far as it came. `now` is what days such as "tomorrow" are counted from.

        Raises InputError for text that is blank or too long, which leaves the conversation as it was, and for more than
        MAX_TURNS turns.
        """
        query = self._loaded.checked(text)
        check_clock(now)
        history = History(now=now)
        if len(self._said) == MAX_TURNS:
            raise InputError(f"{MAX_TURNS} turns were said already; open a new conversation")
        task = self._opened(query, history, self._said)
        if self._said:
            before, calls = self._said[-1]
            self._said[-1] = (before, calls.copy())  # whoever still holds that turn's task changes it no more
        self._said.append((query, history))
        self._task = task
        return task

    def undo(self) -> Turn:
        """Takes back the latest turn with all its calls, and gives it; a single call is taken back with
        `conversation.task.undo()`. Raises InputError if nothing was said."""
        if not self._said:
            raise InputError("nothing to undo: nothing was said yet")
        self._task = None
        return _turn(*self._said.pop())

    def to_dict(self) -> dict[str, Any]:
        """The conversation as JSON-ready data, for `Runtime.conversation`: every turn as `Task.to_dict` has
        it."""
        content_hash, tools = self._loaded.manifest.content_hash, self._loaded.tools
        return {"turns": [copy.deepcopy(save(query, content_hash, calls, tools)) for query, calls in self._said]}

    def _opened(self, query: str, history: History, before: Sequence[tuple[str, History]]) -> Task:
        """The task of a turn behind others. Raises as the encoder does."""
        return Task(self._loaded, query, history, self._tools, Earlier.of(before) if before else None)


def _turn(query: str, history: History) -> Turn:
    return Turn(query, tuple(copy.deepcopy(history.calls)))


def _restored(value: Mapping[str, Any], loaded: Loaded) -> list[tuple[str, History]]:
    """What `to_dict` kept. Raises InputError for anything else, and for tools that the bundle does not have."""
    if not isinstance(value, Mapping) or set(value) != {"turns"} or not isinstance(value["turns"], list):
        raise InputError(f"{_WHERE}: expected an object as conversation.to_dict() writes it")
    if len(value["turns"]) > MAX_TURNS:
        raise InputError(f"{_WHERE}: {len(value['turns'])} turns, at most {MAX_TURNS} are allowed")
    found = []
    for number, turn in enumerate(value["turns"], 1):
        try:
            found.append(restore(turn, loaded.tools))
        except InputError as error:
            raise InputError(f"{_WHERE}, turn {number}: {error}") from None
    return found
