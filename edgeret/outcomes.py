"""Whether a call worked, told from what it gave: one rule for every door. Knows no API, no tools and no models.

Most formats have no field for it, and programs that have one often leave it out, so it is the result's own words. They
are read as agent frameworks, MCP SDKs, shells, HTTP clients and databases write them, at both ends of a text and never
inside: what a call fetched may tell of errors at any length. Every pattern is bounded, so time does not grow with a
text's length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Outcome = Literal["worked", "failed", "unknown"]

MOST_DECODED = 1 << 16
"""Characters of a JSON text that is decoded; of a longer one the beginning is read."""
_END = 600
"""Characters that are read at either end of a text."""
_SHORT = 400
"""Characters of a text that may be all about one failure; a longer one has to begin with it, or end with it."""
_EARLY = 240
"""Characters in which such a text says so."""
_DEPTH = 4
"""Of results in results: a content part that holds JSON that holds an error."""
_ALARMS = (
    "err|fail|exce|not |n't|n’t|no |nnot|nable|nvalid|issing|nknown|unsupp|unrec|unexp|unauth|unproc|navail|"
    "uncaught|denied|forbid|refus|reject|declin|cancel|abort|timed|time-out|time out|timeout|deadline|limit|"
    "quota|wrong|problem|traceback|fatal|panic|fault|killed|exit|return|code|requir|must|econn|enot|enoent|"
    "eacces|eperm|eexist|eisdir|ehost|enet|eai_|enosp|many |http|status|stop|blocked|skip|tried|oops|fehler|"
    "not_|***|-32|hang up|access|core dump|out of|conflict|gone|hata|impossib|division|went|expired|illegal|"
    "insuff|sh:|git:|nicht|trovat|encontrad|intro|fout|fel:|chyba|<|échec|ungültig|verweiger|überschr|accès|"
    "acceso|pudo|acesso|não|bad|stack|fel :|offline|please "
)
_STEMS = tuple(_ALARMS.split("|"))
"""Without any of these a text of Latin letters tells of no failure."""
_EXIT = re.compile(
    r"^[\W_]{0,4}(?:the |your )?(?:last )?(?:command|process|script|program|shell|bash|it|task)?\W{0,2}[\w ]{0,40}?"
    r"(?:(?:exit(?:ed)?|return(?:ed)?)[ _]?(?:with )?(?:an? )?(?:non-?zero )?(?:exit |error )?(?:code|status)|"
    r"exited with)"
    r"\W{0,2}(?:of )?(?<=[ :=>'\"])(-?\d{1,10})\b(?!\.\d)(?! \w)",
    re.IGNORECASE,
)
"""How a shell's program ended, in a line of its own."""
_OTHER_LETTERS = re.compile("[^\x00-\u024f\u2000-\u2bff\ufe0f\U00010000-\U0010ffff]")


def outcome(result: Any, is_error: bool | None = None) -> Outcome:
    """Whether the call that gave this worked. `result` is a text, a list of content parts, or a decoded JSON value;
    `is_error` what the format's own field says, None where there is none.

    A field that says so makes it failed. One that says no is believed unless the text is a failure beyond doubt, since
    some programs always send it. "unknown" is for texts that do not tell, and is to be taken for neither.
    """
    if is_error is True:
        return "failed"
    found = _of_value(result, 0, doubt=is_error is None)
    return "worked" if is_error is False and found == "unknown" else found


def _of_value(value: Any, depth: int, doubt: bool) -> Outcome:
    if isinstance(value, str):
        return _of_text(value, depth, doubt)
    if depth > _DEPTH:
        return "unknown"
    if isinstance(value, Mapping):
        return _of_object(value, depth, doubt)
    if isinstance(value, list | tuple):
        return _of_list(value, depth, doubt)
    return "unknown" if value is False else "worked"


# Texts


def _of_text(text: str, depth: int, doubt: bool) -> Outcome:
    head = text[:_END].lstrip() or text.lstrip()[:_END]
    if not head:
        return "worked"
    if head[0] in "{[" and (found := _of_json(text, head, depth, doubt)):
        return found
    tail = text[-_END:].rstrip() or text.rstrip()[-_END:]
    if code := _exit_code(head) or _exit_code(tail, from_end=True):
        return "failed" if int(code) else "worked"
    whole = len(text) <= _SHORT
    if not _alarming(head) and (whole or not _alarming(tail)):
        return "worked"
    from edgeret import outcome_words as words  # a fifth of a second of patterns, and most texts need none

    bare = words.WRAPPED.sub("", head, count=1)
    if words.SUCCESS.match(bare) or words.ENTRY.match(head):
        return "worked"
    if words.LABELLED.match(bare):
        return "unknown" if words.UNSURE.match(bare) else "worked"
    if words.SURE.match(bare) or words.CAPITALS.match(bare):
        return "failed"
    if (ended := _end_fails(head, tail, whole)) is not None:
        return ended
    if not doubt or not whole or words.NOTHING.match(bare):
        return "worked"
    if words.LIKELY.match(bare) or words.LIKELY_INSIDE.search(bare, 0, _EARLY):
        return "unknown" if words.DONE_TOO.search(bare) else "failed"
    return "unknown" if words.UNSURE.match(bare) else "worked"


def _alarming(end: str) -> bool:
    """Whether it is worth while to look closer, which takes some hundred times as long."""
    low = end.lower()
    return any(stem in low for stem in _STEMS) or (not low.isascii() and _OTHER_LETTERS.search(low) is not None)


def _exit_code(end: str, from_end: bool = False) -> str:
    """The code that a shell's program ended with, if it is told in a line of its own."""
    lines = end.split("\n")
    for line in lines[-2:] if from_end else lines[:8]:
        if len(line) < 200 and (found := _EXIT.match(line)):
            return found[1]
    return ""


def _end_fails(head: str, tail: str, whole: bool) -> Outcome | None:
    """What the first and the last line of a program's output tell, None for nothing."""
    from edgeret import outcome_words as words

    last = tail.rsplit("\n", 1)[-1].strip()
    first = head.split("\n", 1)[0].strip()
    if len(last) <= 300 and (words.SHELL.match(last) or (first != last and words.LAST.match(last))):
        return "failed"
    if words.RAISED.match(last) and words.TRACE.search(tail):
        return "failed" if len(tail) < _END or whole else "unknown"
    return "unknown" if first != last and words.SHELL.match(first) else None


# JSON

_FLAGS = ("isError", "is_error", "iserror", "timed_out", "timedOut", "has_error", "hasError")
_SUCCESS = ("success", "ok", "succeeded", "successful", "isSuccess", "is_success", "Success", "OK")
_ERRORS = (
    *("error", "Error", "ERROR", "exception", "Exception", "traceback", "error_text", "errorText", "errorMessage"),
    *("error_message", "ErrorMessage", "errmsg", "err", "errorCode", "error_code", "error_type", "errorType", "fault"),
    *("tool_error", "toolError", "errorMessages", "error_messages", "error_description", "errcode"),
)
_CODES = (
    "status",
    "statusCode",
    "status_code",
    "httpStatus",
    "http_status",
    "httpStatusCode",
    "code",
    "cod",
    "http_code",
)
_EXITS = ("exit_code", "exitCode", "returncode", "return_code", "returnCode", "exit_status", "exitStatus", "exitcode")
_STATES = ("status", "result", "outcome", "type", "object", "response_type", "state", "kind", "level")
_TEXTS = ("message", "detail", "msg", "reason", "Message", "details")
_PAYLOADS = ("output", "result", "content", "text", "response", "value", "observation", "return", "stdout", "json")
_ENVELOPE = frozenset((
    *_FLAGS, *_SUCCESS, *_ERRORS, *_CODES, *_EXITS, *_STATES, *_TEXTS, "data", "tool", "tool_name", "name", "hint",
    "tool_call_id", "tool_use_id", "call_id", "id", "request_id", "requestId", "timestamp", "time", "path", "instance",
    "documentation_url", "suggestion", "feedback", "errors", "function", "action", "command", "retryable", "help",
    "query", "jsonrpc", "trace_id", "traceId", "loc", "input", "url", "method", "server", "output", "stderr",
))  # fmt: skip
_MEDIA = frozenset((
    *("image", "audio", "video", "file", "document", "resource", "resource_link", "image_url", "input_image"),
    *("input_file", "search_result", "tool_reference", "web_search_result", "media", "blob"),
))  # fmt: skip
"""Parts that a call fetched or made: what is in them tells nothing of the call."""
_FINE = frozenset(("success", "succeeded", "ok", "completed", "complete", "done", "finished"))
_NO = frozenset((
    "", "0", "none", "null", "false", "nil", "n/a", "no error", "no errors", "ok", "success", "[]", "{}",
))  # fmt: skip
_FAILED = frozenset(("error", "failed", "failure", "fail", "errored", "exception", "error-text", "error-json", "err"))
_REFUSED = frozenset((
    *("denied", "rejected", "timeout", "timed_out", "unauthorized", "forbidden", "not_found", "aborted", "cancelled"),
    *("canceled", "execution-denied", "invalid", "unavailable", "blocked", "interrupted", "bad_request"),
))  # fmt: skip
_BAD_CODE = re.compile(r"E[A-Z]{4,15}$|.{0,60}(?:error|invalid|not.?found|denied|fail|unauth|forbidden|timeout|"
r"exceeded|"
                       r"missing|required|refused|unavailable|exception)", re.IGNORECASE)  # fmt: skip
_OPENS_BADLY = re.compile(
    r"[\[(]?\s*\{[^{}\[\]]{0,400}?['\"](?:"
    r"(?:is_?error|timed_?out)['\"]\s*:\s*true|(?:success|ok)['\"]\s*:\s*false|"
    r"status['\"]\s*:\s*['\"](?:error|failed|failure|fail)['\"]|(?:exit_?code|return_?code)['\"]\s*:\s*-?[1-9]|"
    r"(?:error|exception|error_?message|errors)['\"]\s*:\s*"
    r"(?!\s|none|null|false|0\b|''|\"\"|\[\]|\{\}|['\"](?:none|null|false|0)['\"])[\w'\"{\[-])",
    re.IGNORECASE,
)


def _of_json(text: str, head: str, depth: int, doubt: bool) -> Outcome | None:
    """What a text says that looks like JSON; None where it is something else."""
    if len(text) <= MOST_DECODED and depth <= _DEPTH:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict | list):
            return _of_value(value, depth + 1, doubt)
    if head[0] == "[" and re.match(r"\[\s*[A-Za-z]", head):
        return None
    # Python's own form of a dict, and JSON that is cut or too long.
    return "failed" if _OPENS_BADLY.match(head) else "worked" if head[1:].lstrip()[:1] in "\"'{[0123456789]}" else None


def _of_list(values: Any, depth: int, doubt: bool) -> Outcome:
    """What the texts of content parts say together, or the entries of an array: failed where all are, unknown where
    some are."""
    if all(isinstance(value, str) for value in values):
        return _of_text("\n".join(values[:8]), depth, doubt) if len(values) == 1 else "worked"
    parts = [part for value in values if (part := _part(value)) is not None]
    if len(parts) < len(values):
        return "worked"
    if parts and all(_is_part(part) for part in parts[:8]):
        texts = [part["text"] for part in parts[:8] if part.get("type") not in _MEDIA]
        return _of_text(texts[0] if len(texts) == 1 else "\n".join(texts), depth + 1, doubt)
    found = {_of_value(part, depth + 1, doubt) for part in parts[:64]}
    if found == {"failed"}:
        # Records that tell of errors have more in them than an error.
        told = len(parts) == 1 or all(_is_envelope(part) for part in parts[:64])
        return "failed" if told else "unknown"
    return "worked" if found <= {"worked"} else "unknown"


def _part(value: Any) -> Mapping[str, Any] | None:
    """An entry as an object, also where it is an SDK's own; None for what is neither."""
    if isinstance(value, Mapping):
        return value
    kind = getattr(value, "type", None)
    return {"type": kind, "text": getattr(value, "text", None)} if isinstance(kind, str) else None


def _is_part(part: Mapping[str, Any]) -> bool:
    kind = part.get("type", "text")
    if not isinstance(kind, str) or kind in _MEDIA:
        return isinstance(kind, str)
    return kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str)


def _is_envelope(value: Mapping[str, Any]) -> bool:
    return len(value) <= 12 and _ENVELOPE.issuperset(value)


def _of_object(value: Mapping[str, Any], depth: int, doubt: bool) -> Outcome:
    if any(value.get(key) in (True, "true", "True") for key in _FLAGS):
        return "failed"
    if exits := [code for key in _EXITS if (code := _whole(value.get(key))) is not None]:
        return "failed" if any(exits) else "worked"
    succeeded = next((value[key] for key in _SUCCESS if isinstance(value.get(key), bool | str)), None)
    if succeeded is False or (isinstance(succeeded, str) and succeeded.lower() == "false"):
        return "failed"
    if any(_tells(value.get(key)) for key in _ERRORS):
        return "unknown" if succeeded is True else "failed"
    if (listed := _listed_errors(value)) is not None:
        return listed
    if (stated := _stated(value, succeeded)) is not None:
        return stated
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping) and depth < _DEPTH and (code := _whole(metadata.get("exit_code"))) is not None:
        return "failed" if code else "worked"
    fine = any(
        isinstance(said := value.get(key), str) and said.strip().lower() in _FINE for key in ("status", "result")
    )
    if succeeded is True or fine or len(value) > 4:
        return "worked"
    if _is_envelope(value):
        said = next((value[key] for key in _TEXTS if isinstance(value.get(key), str)), "")
        if said and _of_text(said, depth + 1, doubt) == "failed":
            return "failed"
        detail = value.get("detail")
        if isinstance(detail, list) and detail and isinstance(detail[0], Mapping) and "loc" in detail[0]:
            return "failed"
    payloads = [value[key] for key in _PAYLOADS if key in value]
    return _of_value(payloads[0], depth + 1, doubt) if len(payloads) == 1 else "worked"


def _listed_errors(value: Mapping[str, Any]) -> Outcome | None:
    """What `errors` says: of a request, or as a count or a list that was asked for."""
    errors = value.get("errors")
    if not _tells(errors):
        return None
    if not isinstance(errors, list | dict) or _whole(errors) is not None:
        return "unknown"
    given = value.get("data", value.get("result"))
    return "failed" if given in (None, {}, []) and "valid" not in value else "unknown"


def _stated(value: Mapping[str, Any], succeeded: Any) -> Outcome | None:
    """What states and codes say. A record with a state of its own, such as an order or a build, was found."""
    for key in _STATES:
        said = value.get(key)
        said = said.strip().lower() if isinstance(said, str) and len(said) < 40 else ""
        if said in _FAILED and key not in ("state", "kind", "level"):
            return "failed" if said == "error" or said.startswith("error-") or _is_envelope(value) else "unknown"
        if said in _FAILED | _REFUSED and _is_envelope(value) and succeeded is not True:
            return "failed" if key != "state" or said in _FAILED else "unknown"
    for key in _CODES:
        code = value.get(key)
        number = _whole(code)
        if number is not None and (400 <= number < 600 or (number < 0 and _is_envelope(value))):
            return "failed" if _is_envelope(value) or key != "code" else "unknown"
        if key == "code" and isinstance(code, str) and "message" in value and number is None and _BAD_CODE.match(code):
            return "failed" if _is_envelope(value) else "unknown"
    return None


def _whole(value: Any) -> int | None:
    """A whole number, or one that was written as text."""
    if isinstance(value, str) and len(value) < 12 and value.strip().lstrip("-").isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tells(value: Any) -> bool:
    """Whether an error's field holds an error. A fraction is a measurement's."""
    if isinstance(value, str):
        return value.strip().lower() not in _NO
    if isinstance(value, Iterable):
        return bool(value)
    return value is True or (isinstance(value, int) and value != 0)
