"""OpenTelemetry's spans of generative AI: OTLP as JSON, and spans as SDKs print them.

A span of a model's answer holds the whole conversation before it, so it is a record like a logged request. Spans of
tools say how a call ended, and are the calls where no answer holds any. They come in any order, so a trace is held
until the file ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from edgeret.outcomes import outcome
from edgeret_export.transcripts.conversation import Called, Conversation, Event, Place, Returned, Said
from edgeret_export.transcripts.formats.base import NO, SURE, Format, Notes, as_object, made, word
from edgeret_export.transcripts.formats.otel_messages import messages_of
from edgeret_export.transcripts.formats.otel_spans import Span, has_spans, spans_of
from edgeret_export.transcripts.formats.sessions import OpenSessions, Session
from edgeret_export.transcripts.values import Record, as_list

_TOOL = "gen_ai.tool.name"
_DEFINITIONS = ("gen_ai.tool.definitions", "gen_ai.request.tools", "llm.request.functions")


def fit(record: Record) -> int:
    """Sure where there are spans."""
    return SURE if has_spans(record) else NO


class Traces:
    """Puts the spans of each trace together."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._open: OpenSessions[tuple[Place, Span]] = OpenSessions()

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The traces that ended for this record."""
        for span in spans_of(record):
            for key in _DEFINITIONS:
                self._notes.definitions.add(_definitions(span.attributes.get(key)), place)
            if any(key.startswith(("gen_ai.", "llm.")) for key in span.attributes) or span.events:
                trace, ended = self._open.get(span.trace, place)
                for each in ended:
                    yield from _conversations(each)
                trace.pieces.append((place, span))

    def end(self) -> Iterable[Conversation]:
        """The traces that were still open."""
        for trace in self._open.end():
            yield from _conversations(trace)


def _definitions(value: Any) -> list[Any]:
    found = as_list(value) or []
    return [as_object(entry) or entry for entry in found]


def _conversations(trace: Session[tuple[Place, Span]]) -> Iterator[Conversation]:
    spans = sorted(trace.pieces, key=lambda piece: piece[1].start)
    tools = [span for _, span in spans if word(span.attributes.get(_TOOL))]
    known = {identifier: span for span in tools if (identifier := word(span.attributes.get("gen_ai.tool.call.id")))}
    told = [(place, span, events) for place, span in spans if (events := messages_of(span))]
    if not any(isinstance(event, Called) for _, _, events in told for event in events):
        # No answer holds its calls, so they are those of the tools' spans, behind the first request of the trace.
        first = next(((p, s, e) for p, s, e in told if any(isinstance(event, Said) for event in e)), None)
        if first is not None and tools:
            place, span, events = first
            asked = [event for event in events if isinstance(event, Said)]
            told = [(place, span, [*asked, *_calls(tools), *(e for e in events if not isinstance(e, Said))])]
    for place, span, events in told:
        if any(isinstance(event, Said) for event in events):
            group = word(span.attributes.get("gen_ai.conversation.id")) or trace.name
            yield Conversation(place, _ended(events, known), group)


def _calls(tools: Sequence[Span]) -> Iterator[Event]:
    for number, span in enumerate(tools):
        own = f"span {number}"
        call = made(own, span.attributes[_TOOL], _value(span, "arguments"))
        yield Called((call,))
        yield _result(own, span)


def _ended(events: Sequence[Event], known: dict[str, Span]) -> list[Event]:
    """The events, with what tools' spans know of calls: one that failed, and one whose result came too late to be sent
    to a model."""
    sent = {event.id for event in events if isinstance(event, Returned)}
    whole: list[Event] = []
    for event in events:
        if isinstance(event, Returned) and (span := known.get(event.id)) and span.failed:
            event = Returned(event.id, "failed", event.text)
        whole.append(event)
        if isinstance(event, Called):
            late = [call.id for call in event.calls if call.id in known and call.id not in sent]
            whole += [_result(identifier, known[identifier]) for identifier in late]
    return whole


def _result(identifier: str, span: Span) -> Returned:
    value = _value(span, "result")
    return Returned(
        identifier, outcome(value, True if span.failed else None), value if isinstance(value, str) else None
    )


def _value(span: Span, what: str) -> Any:
    keys = (f"gen_ai.tool.call.{what}", f"gen_ai.tool.{what}", f"tool.{what}")
    return next((span.attributes[key] for key in keys if key in span.attributes), None)


FORMAT = Format("otel", "OpenTelemetry spans", fit, Traces)
