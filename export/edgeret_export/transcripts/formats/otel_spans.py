"""Spans out of OTLP's JSON and out of what SDKs print, with plain attributes. Knows nothing of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgeret_export.transcripts.formats.base import as_object, objects, word
from edgeret_export.transcripts.values import Record

_MOST_DEPTH = 16
_SPAN_KEYS = (("traceId", "spanId"), ("trace_id", "span_id"))
_BAD = frozenset(("ERROR", "STATUS_CODE_ERROR", "error", "2"))


@dataclass(frozen=True, slots=True)
class Span:
    """`events` are (name, attributes); `start` is what spans of a trace are sorted by."""

    trace: str
    start: tuple[int, str]
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...]
    failed: bool


def has_spans(record: Record) -> bool:
    """Whether a record holds spans, or is one."""
    if any(isinstance(record.get(key), list) for key in ("resourceSpans", "resource_spans", "scopeSpans")):
        return True
    return _is_span(record)


def _is_span(value: Mapping[str, Any]) -> bool:
    context = as_object(value.get("context") or value.get("spanContext"))
    ids = any(all(word(holder.get(key)) for key in keys) for holder in (value, context) for keys in _SPAN_KEYS)
    return ids and isinstance(value.get("attributes"), list | dict)


def spans_of(record: Record) -> Iterator[Span]:
    """The spans of a record, in its order."""
    if _is_span(record):
        yield _span(record)
        return
    for resource in objects(record.get("resourceSpans") or record.get("resource_spans")) or [dict(record)]:
        for scope in objects(resource.get("scopeSpans") or resource.get("scope_spans")):
            yield from (_span(span) for span in objects(scope.get("spans")))


def _span(span: Mapping[str, Any]) -> Span:
    context = as_object(span.get("context") or span.get("spanContext"))
    trace = next((name for h in (span, context) for key in ("traceId", "trace_id") if (name := word(h.get(key)))), "")
    start = next(
        (span[key] for key in ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime") if key in span),
        "",
    )
    status = as_object(span.get("status"))
    code = status.get("code", status.get("status_code", span.get("status")))
    attributes = plain(span.get("attributes"))
    events = tuple((word(e.get("name")), plain(e.get("attributes"))) for e in objects(span.get("events")))
    failed = str(code) in _BAD or bool(attributes.get("error.type")) or any(n == "exception" for n, _ in events)
    return Span(trace, _order(start), attributes, events, failed)


def _order(start: Any) -> tuple[int, str]:
    text = str(start)[:40]
    return (int(text), "") if text.isascii() and text.isdigit() else (0, text)


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes by their keys, from an object or from OTLP's list of keys and values."""
    if isinstance(attributes, dict):
        return attributes
    return {word(entry.get("key")): _value(entry.get("value")) for entry in objects(attributes)}


def _value(value: Any, depth: int = 0) -> Any:
    """A value of OTLP, which is an object that says of which kind it is."""
    if not isinstance(value, dict) or len(value) != 1 or depth == _MOST_DEPTH:
        return value
    kind, inner = next(iter(value.items()))
    if kind in ("arrayValue", "array_value"):
        return [_value(entry, depth + 1) for entry in objects(as_object(inner).get("values"))]
    if kind in ("kvlistValue", "kvlist_value"):
        pairs = objects(as_object(inner).get("values"))
        return {word(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
    return inner if kind.endswith(("Value", "_value")) else value
