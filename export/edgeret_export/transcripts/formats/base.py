"""What a format is, and the pieces that several of them are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from edgeret.inputs.demonstrations import MAX_ARGUMENTS_BYTES
from edgeret.inputs.jsonl import decode
from edgeret.outcomes import outcome
from edgeret_export.transcripts.conversation import Conversation, Event, MadeCall, Place, Returned, Said
from edgeret_export.transcripts.definitions import Definitions
from edgeret_export.transcripts.tally import Tally
from edgeret_export.transcripts.values import Record, as_list, with_lists

NO, MAYBE, SURE = 0, 1, 2
"""How well a record fits a format."""
_MOST_ENCODED = 3
_LONGEST_KEPT = MAX_ARGUMENTS_BYTES
_REQUESTS, _REPLIES = ("request", "body", "kwargs", "input"), ("response", "output", "completion", "result", "message")
_BODIES = ("body", "inputBodyJson", "outputBodyJson")
_TEXTS = frozenset(("text", "input_text", "output_text"))
_OURS = frozenset(("thinking", "redacted_thinking", "reasoning", "refusal", "tool_use", "tool_result"))
"""Parts that are no text and are no loss: a model's thoughts, and what is read from elsewhere."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Where a format tells what it skipped and which tools were offered."""

    tally: Tally
    definitions: Definitions


class Reader(Protocol):
    """Reads the records of one file, in order; may hold some back until what belongs to them has come."""

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The conversations that are known after this record. The same one may come again, with more in it."""

    def end(self) -> Iterable[Conversation]:
        """What was held back."""


@dataclass(frozen=True, slots=True)
class Format:
    """`name` is what `--from` says, `label` what reports say; `fit` how well a record fits; `reader` begins a file."""

    name: str
    label: str
    fit: Callable[[Record], int]
    reader: Callable[[Notes], Reader]


class EachAlone:
    """A reader of records that are conversations by themselves. `read` gives a record's events and its group."""

    def __init__(self, read: Callable[[Record, Place, Notes], tuple[Sequence[Event], str]], notes: Notes) -> None:
        self._read, self._notes = read, notes

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The conversation, if the record holds one."""
        events, group = self._read(record, place, self._notes)
        if any(isinstance(event, Said) for event in events):
            yield Conversation(place, events, group)
        elif events:
            self._notes.tally.add("record", "nothing in it was said by a user", place)

    def end(self) -> Iterable[Conversation]:
        """Nothing is held back."""
        return ()


def exchange(record: Record, keys: Sequence[str]) -> tuple[Record, Record]:
    """The request and the reply of a log's record, each empty if absent. A request has one of `keys`. Fine-tuning data
    are requests by themselves, batches have both one level deeper."""
    request = record if any(key in record for key in keys) else {}
    for name in _REQUESTS:
        if not request and (inner := _body(record.get(name))) and any(key in inner for key in keys):
            request = inner
    replies = (_body(record.get(name)) for name in _REPLIES)
    return request, next((reply for reply in replies if reply), {})


def _body(value: Any) -> Record:
    """An object, one written as JSON text, or the `body` of either."""
    value = as_object(value)
    inner = next((value[key] for key in _BODIES if key in value), value)
    return with_lists(dict(as_object(inner)))


def as_object(value: Any) -> Record:
    """An object, or one that was written as JSON text; empty if it is none."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = decode(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none if it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def listed(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, or of one that was written as JSON text."""
    return objects(as_list(value))


def word(value: Any) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def said(content: Any) -> Said:
    """A user's message: text, or a list of parts."""
    return Said(text_of(content), tuple(without_text(content)))


def text_of(content: Any) -> str:
    """The text of a message's content: text, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else word(part.get("text")) for part in parts if _is_text(part))
    return "\n".join(text for text in texts if text)


def _is_text(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type", "text") in _TEXTS)


def without_text(content: Any) -> list[str]:
    """What the parts are that hold no text: images, sounds, files."""
    return [
        word(part.get("type")) or "unknown" for part in objects(content) if not _is_text(part) and not _is_ours(part)
    ]


def _is_ours(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (kind in _OURS or kind.endswith(("tool_use", "tool_result")))


def made(identifier: Any, tool: Any, arguments: Any) -> MadeCall:
    """A call; its arguments as an object, as JSON text, or absent."""
    if arguments is None or arguments == "":
        read: Mapping[str, Any] | None = {}
    elif isinstance(arguments, dict):
        read = arguments
    else:
        read = _decoded(arguments)
    return MadeCall(word(identifier), word(tool), read)


def _decoded(text: Any) -> Mapping[str, Any] | None:
    """An object that was written as JSON text, perhaps twice; None if it is none."""
    for _ in range(_MOST_ENCODED):
        if not isinstance(text, str):
            break
        try:
            text = decode(text)
        except ValueError:
            return None
    return text if isinstance(text, dict) else None


def returned(identifier: Any, content: Any, is_error: bool | None) -> Returned:
    """A result; `is_error` is what the format's own field says, None where there is none."""
    text = text_of(content) if isinstance(content, str | list) else None
    # A longer text is no argument of a later call.
    return Returned(word(identifier), outcome(content, is_error), text if len(text or "") <= _LONGEST_KEPT else None)
