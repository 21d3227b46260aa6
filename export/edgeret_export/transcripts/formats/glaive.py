"""Glaive's function calling: a conversation as one text, `USER:` and `ASSISTANT:` before each turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from edgeret_export.transcripts.conversation import Event, Place, Said
from edgeret_export.transcripts.formats import written
from edgeret_export.transcripts.formats.base import NO, SURE, EachAlone, Format, Notes, returned, word
from edgeret_export.transcripts.values import Record

_TEXTS = ("chat", "conversation", "text", "sample", "dialogue")
_SPEAKER = re.compile(r"^[ \t]*(SYSTEM|USER|HUMAN|ASSISTANT|FUNCTION RESPONSE|FUNCTION_RESPONSE|TOOL):[ \t]*", re.M)


def fit(record: Record) -> int:
    """Sure where a text has a user's and an assistant's turn."""
    text = _text(record)
    speakers = {match[1] for match in _SPEAKER.finditer(text[:100_000])} if text else set()
    return SURE if "ASSISTANT" in speakers and speakers & {"USER", "HUMAN"} else NO


def _text(record: Record) -> str:
    return next((text for key in _TEXTS if (text := word(record.get(key)))), "")


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events."""
    notes.definitions.add(record.get("tools") or record.get("functions"), place)
    written.tools(word(record.get("system")), place, notes)
    events: list[Event] = []
    for speaker, text in _turns(_text(record)):
        if speaker == "SYSTEM":
            written.tools(text, place, notes)
        elif speaker in ("USER", "HUMAN"):
            events.append(Said(text))
        elif speaker == "ASSISTANT":
            events += written.assistant(text)
        else:
            events.append(returned("", text, None))
    return events, ""


def _turns(text: str) -> Iterator[tuple[str, str]]:
    marks = list(_SPEAKER.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        yield (
            mark[1],
            text[mark.end() : following.start() if following else len(text)].replace("<|endoftext|>", "").strip(),
        )


FORMAT = Format("glaive", "glaive", fit, partial(EachAlone, read))
