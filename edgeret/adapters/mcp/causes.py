"""Why a server over HTTP cannot be used, in words of ours that go on a sentence about it and tell what to do. Never in
the server's own: they stand in answers that models read. Knows nothing of connections."""

from __future__ import annotations

import json
import secrets
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
from mcp import MCPError

_OURS = secrets.token_hex(8)
"""Told from what a server says by what it cannot know."""
_FAILED = -32000
_EXPIRED, _OTHER_NAME = 10, (62, 64)
"""Of OpenSSL's reasons not to trust a certificate."""
_STATUS = {
    403: 'refuses access (403); see whether what its "headers" hold may do this',
    404: 'has nothing at that address (404); correct its "url"',
    405: 'takes no requests at that address (405); correct its "url"',
    406: 'takes no requests at that address (406); correct its "url"',
    407: "is behind a proxy that asks for a password (407); put it into HTTPS_PROXY",
    421: "is not known by that name where its host's name leads (421)",
    429: "is asked too often (429); it is tried again later",
}


class WebError(Exception):
    """A server over HTTP that cannot be used."""


class OlderError(WebError):
    """A server that speaks the older transport alone: HTTP with server-sent events."""


def refused(status: int, headers: Mapping[str, str], has_key: bool) -> str:
    """What an answer's status means; `has_key` where an Authorization header was sent."""
    if status == 401:
        if has_key:
            return 'does not take the authorization that its "headers" hold (401); put one there that is valid'
        if "bearer" in headers.get("www-authenticate", "").lower():
            return 'asks for a login (401); run edgeret mcp --login NAME, or put a token into its "headers"'
        return 'asks for authorization (401); put a token into its "headers"'
    if status in _STATUS:
        return _STATUS[status]
    if status >= 500:
        return f"is out of order ({status}); it is tried again later"
    if status >= 400:
        return f"refuses what it is sent ({status})"
    if 300 <= status < 400:
        return f'sends elsewhere ({status}), which is not followed; put the address that it means into its "url"'
    return 'answers with what is no MCP (a page for people?); correct its "url"'


def unreachable(error: BaseException) -> str:
    """What a failure of a connection means; empty where it was none of these."""
    causes = list(_chain(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            if cause.verify_code == _EXPIRED:
                return "has a certificate that has expired"
            if cause.verify_code in _OTHER_NAME:
                return 'has a certificate for another host; correct its "url"'
            return "has a certificate that is not trusted here; name the authority's with --ca FILE or SSL_CERT_FILE"
        if isinstance(cause, ssl.SSLError):
            return "does not speak TLS as it should; is it http:// in place of https://?"
        if type(cause).__name__ == "gaierror":
            return 'cannot be reached: the name of its host is not known; correct its "url"'
        if isinstance(cause, ConnectionRefusedError):
            return "cannot be reached: nothing listens at that address; is it running?"
    for cause in causes:
        if isinstance(cause, httpx2.ConnectTimeout):
            return "cannot be reached: its host does not answer"
        if isinstance(cause, httpx2.ProxyError):
            return "cannot be reached over the proxy that HTTPS_PROXY or HTTP_PROXY names"
        if isinstance(cause, httpx2.ConnectError):
            return "cannot be reached"
        if isinstance(cause, httpx2.TimeoutException):
            return "takes too long to answer"
        if isinstance(cause, httpx2.RemoteProtocolError | httpx2.DecodingError):
            return 'does not speak HTTP as it should; correct its "url"'
        if isinstance(cause, httpx2.TransportError):
            return "broke off the connection"
    return ""


def as_answer(words: str) -> bytes:
    """The body of an answer that says this, as JSON-RPC, to whatever was asked."""
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": as_error(words)}).encode()


def as_error(words: str) -> dict[str, Any]:
    """An error of JSON-RPC that says this."""
    return {"code": _FAILED, "message": words, "data": _OURS}


def said(error: MCPError) -> str:
    """The words of `as_error`, if it is one; nothing where it is a server's own."""
    return error.error.message if error.error.data == _OURS else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [cause for cause in (one.__context__, one.__cause__) if cause is not None]
