"""Answers of the gate's own, in the form of OpenAI's errors. Knows nothing of why they are given."""

from __future__ import annotations

import json

from edgeret.adapters.gate.headers import TOLD, Headers

_LONGEST = 200


class RefusedError(Exception):
    """A request that the gate answers itself: `status`, and `message` in its own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def body(refused: RefusedError) -> tuple[Headers, bytes]:
    """Headers and body of the answer."""
    error = {"message": f"edgeret gate: {refused.message}", "type": "edgeret_gate", "code": refused.status}
    content = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (TOLD, as_header(refused.message)),
    ]
    return headers, content


def whole(refused: RefusedError) -> bytes:
    """The answer as it goes over a connection that ends with it."""
    headers, content = body(refused)
    lines = [b"HTTP/1.1 %d Refused" % refused.status, b"connection: close"]
    return b"\r\n".join([*lines, *(name + b": " + value for name, value in headers), b"", content])


def as_header(text: str) -> bytes:
    """Words as a header can hold them."""
    shown = "".join(char if " " <= char <= "~" else "?" for char in " ".join(text.split()))
    return shown[:_LONGEST].encode()
