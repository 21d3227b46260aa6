"""Answers of a server's own, in the form of OpenAI's errors. Knows nothing of why they are given."""

from __future__ import annotations

import json

from edgeret.adapters.web.headers import TOLD, Headers

_LONGEST = 200


class RefusedError(Exception):
    """A request that is not taken: `status`, and `message` in our own words; `path` names the field that is wrong, and
    `headers` are more of the answer's."""

    def __init__(self, status: int, message: str, path: str | None = None, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.path = status, message, path
        self.headers = headers or []


def body(refused: RefusedError, who: str) -> tuple[Headers, bytes]:
    """Headers and body of the answer of `who`, "gate" or "serve"."""
    error = {"message": f"edgeret {who}: {refused.message}", "type": f"edgeret_{who}", "code": refused.status}
    if refused.path is not None:
        error["path"] = refused.path
    content = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (TOLD, as_header(refused.message)),
        *refused.headers,
    ]
    return headers, content


def whole(refused: RefusedError, who: str) -> bytes:
    """The answer as it goes over a connection that ends with it."""
    headers, content = body(refused, who)
    lines = [b"HTTP/1.1 %d Refused" % refused.status, b"connection: close"]
    return b"\r\n".join([*lines, *(name + b": " + value for name, value in headers), b"", content])


def as_header(text: str) -> bytes:
    """Words as a header can hold them."""
    shown = "".join(char if " " <= char <= "~" else "?" for char in " ".join(text.split()))
    return shown[:_LONGEST].encode()
