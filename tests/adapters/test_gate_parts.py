"""Parts of the gate: bodies that are written again, headers that are passed on, ends of answers."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.adapters.gate.body import NoBodyError, read_body
from edgeret.adapters.gate.ending import MOST_BYTES, Ending
from edgeret.adapters.gate.headers import forwarded, returned

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(), VALUES, max_size=4), st.lists(VALUES, max_size=6), st.data(), st.sampled_from([None, 1])
)
def test_a_body_loses_tools_and_nothing_else(
    fields: dict[str, Any], tools: list[Any], data: st.DataObject, indent: int | None
) -> None:
    given = {**fields, "tools": tools, "last": 1.50}
    raw = json.dumps(given, indent=indent, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    try:
        body, fields = read_body(raw)
    except NoBodyError as error:
        assert "UTF-8" in str(error)
        return
    assert fields == given
    kept = data.draw(st.sets(st.integers(0, len(tools) - 1))) if tools else set()
    assert json.loads(body.with_tools(kept)) == {**given, "tools": [tools[i] for i in sorted(kept)]}


def test_every_byte_beside_the_tools_stays() -> None:
    raw = b' {"a":1.50 , "x":"\\u00e9\xc3\xa9", "tools" : [ {"n" :1e3}, 2 ,\n[3] ] ,"b":10000000000000000000001} \n'
    expected = b' {"a":1.50 , "x":"\\u00e9\xc3\xa9", "tools" : [{"n" :1e3},[3]] ,"b":10000000000000000000001} \n'
    body, _ = read_body(raw)
    assert body.with_tools([2, 0]) == expected
    assert body.tools_text == b'[ {"n" :1e3}, 2 ,\n[3] ]'


@pytest.mark.parametrize(
    ("raw", "says"),
    [(b"", "not JSON"), (b"{", "not JSON"), (b"[]", "no.* object"), (b'{"a":1}x', "not JSON"), (b'{"a" 1}', "not JSON"),
     (b'{"a":1 "b":2}', "not JSON"), (b"{a:1}", "not JSON"), (b'{"a":1,}', "not JSON"), (b'{"tools":[1', "not JSON"),
     (b'{"tools":[1 2]}', "not JSON"), (b'{"tools":[1],"tools":[2]}', "twice"), (b"\xff{}", "UTF-8"),
     (b'{"a":' + b"9" * 9000 + b"}", "not JSON"), (b'{"a":' + b"[" * 100_000, "deep"), (b"[" * 100_000, "object"),
     (b'{"tools":' + b'[{"a":' * 100_000, "deep")],
)  # fmt: skip
def test_what_is_no_body_is_said(raw: bytes, says: str) -> None:
    with pytest.raises(NoBodyError, match=says):
        read_body(raw)


def test_headers_of_one_connection_and_of_the_gate_go_no_further() -> None:
    given = [
        (b"Host", b"gate"), (b"Connection", b"close, X-Own"), (b"x-own", b"1"), (b"Keep-Alive", b"5"), (b"TE", b"gzip"),
        (b"Transfer-Encoding", b"chunked"), (b"Upgrade", b"h2c"), (b"Proxy-Authorization", b"x"), (b"Trailer", b"x"),
        (b"Content-Length", b"7"), (b"Expect", b"100-continue"), (b"X-Edgeret-Token", b"secret"),
        (b"Authorization", b"Bearer k"), (b"X-Two", b"1"), (b"X-Two", b"2"),
    ]  # fmt: skip
    assert forwarded(given) == [(b"authorization", b"Bearer k"), (b"x-two", b"1"), (b"x-two", b"2")]
    reply = [
        (b"Content-Length", b"7"),
        (b"Content-Encoding", b"gzip"),
        (b"X-Edgeret", b"lies"),
        (b"Connection", b"close"),
    ]
    assert returned(reply) == [(b"content-length", b"7"), (b"content-encoding", b"gzip")]


def chat(finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}]}


def stream(*values: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values) + b"data: [DONE]\n\n"


def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
    return {"choices": [{"delta": said, "finish_reason": finish}]}


DONE = {"id": "r", "status": "completed", "output": [{"type": "message"}]}
CALLS = {"id": "r", "status": "completed", "output": [{"type": "function_call", "name": "x"}]}


@pytest.mark.parametrize(
    ("answer", "final"),
    [(json.dumps(chat(content="fine")).encode(), True), (json.dumps(chat("length")).encode(), False),
     (json.dumps(chat(tool_calls=[{"id": "1"}])).encode(), False), (stream(delta(content="a"), delta("stop")), True),
     (stream(delta(tool_calls=[{"index": 0}]), delta("stop")), False), (stream(delta(content="a")), False),
     (json.dumps(DONE).encode(), True), (json.dumps(CALLS).encode(), False),
     (stream({"type": "response.completed", "response": DONE}), True),
     (stream({"type": "response.completed", "response": CALLS}), False),
     (b"", False), (b"garbage", False), (b"data: {\n\n", False), (b"[1]", False), (b'{"a":' * 50_000, False),
     (b'{"choices": 7}', False), (b'{"choices": [7, {"message": 7, "finish_reason": []}]}', False)],
)  # fmt: skip
def test_an_answer_ends_a_request_or_not(answer: bytes, final: bool) -> None:
    for encoding, packed in ((None, answer), (b"identity", answer), (b"gzip", gzip.compress(answer))):
        ending = Ending(encoding)
        for i in range(0, len(packed), 7000):
            ending.feed(packed[i : i + 7000])
        assert ending.is_final() is final, encoding


@pytest.mark.parametrize(
    ("encoding", "answer"),
    [
        (b"br", b"x"),
        (b"gzip", b"no gzip"),
        (b"gzip", gzip.compress(b" " * 2 * MOST_BYTES)),
        (None, b" " * (MOST_BYTES + 1)),
    ],
)
def test_an_answer_that_cannot_be_read_ends_nothing(encoding: bytes | None, answer: bytes) -> None:
    ending = Ending(encoding)
    ending.feed(answer)
    assert ending.is_final() is False
