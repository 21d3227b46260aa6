"""The server behind the gate: asked in the bytes that the client chose, over connections that remember nothing. Knows
nothing of tools."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Iterator
from types import TracebackType

import httpx

from edgeret import InputError
from edgeret.adapters.web.headers import Headers
from edgeret.adapters.web.refusals import RefusedError

CONNECT_S = 10.0
KEPT_S = 2.0
"""That a connection is kept idle: less than servers do (uvicorn 5 s), or one that is just being closed would be used,
and its request lost."""
MOST_LINES = 1000
"""Of an answer's header."""
Content = bytes | AsyncIterator[bytes] | None


def trusted(ca: str | None) -> ssl.SSLContext:
    """Whose certificates are believed: those of SSL_CERT_FILE or SSL_CERT_DIR, else certifi's; and those of the file
    `ca`. Raises InputError for files that hold none."""
    try:
        context = httpx.create_ssl_context(trust_env=True)
    except (OSError, ssl.SSLError):
        raise InputError("SSL_CERT_FILE or SSL_CERT_DIR names no certificates that can be read (PEM)") from None
    if ca is not None:
        try:
            context.load_verify_locations(cafile=ca)
        except (OSError, ssl.SSLError):
            raise InputError(f"--ca {ca}: no file of certificates (PEM) that can be read") from None
    return context


class Upstream:
    """`url` is its scheme and authority alone: paths stay as they are asked for. It keeps no cookies, follows no
    redirect, and uses no proxy or password of the environment."""

    def __init__(self, url: str, silence_s: float, kept: int, trust: ssl.SSLContext) -> None:
        """`silence_s` bounds how long it may say nothing, `kept` how many idle connections there may be."""
        self.url, self._silence_s, self._trust = url, silence_s, trust
        self._idle = httpx.Limits(max_connections=None, max_keepalive_connections=kept, keepalive_expiry=KEPT_S)
        self._timeout = httpx.Timeout(silence_s, connect=CONNECT_S, pool=None).as_dict()

    async def __aenter__(self) -> None:
        # The transport alone: a client would read cookies out of every answer, for as long as its headers squared.
        self._transport = httpx.AsyncHTTPTransport(verify=self._trust, trust_env=False, limits=self._idle)
        await self._transport.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def ask(self, method: str, target: bytes, headers: Headers, content: Content) -> httpx.Response:
        """Its answer, whose body is still to come. Raises RefusedError where there is none, and what `content`
        raises."""
        try:
            async with asyncio.timeout(None) as answering:
                # The target is said in so many bytes: made into a URL, a path would lose its dots and doubled slashes.
                request = httpx.Request(
                    method,
                    self.url,
                    headers=headers,
                    content=self._watched(content, answering),
                    extensions={"target": target, "timeout": self._timeout},
                )
                response = await self._transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._unreachable(error) from None
        except (httpx.TimeoutException, TimeoutError):
            raise RefusedError(504, f"the upstream said nothing for {self._silence_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise RefusedError(502, "the upstream broke off, or speaks no HTTP") from None
        if not 200 <= response.status_code <= 599 or len(response.headers.raw) > MOST_LINES:
            await response.aclose()
            raise RefusedError(502, "the upstream's answer has a status or a header that no client could use")
        return response

    def _watched(self, content: Content, answering: asyncio.Timeout) -> Content:
        """The same; when all of it is sent, the upstream's time to answer begins. What it says before its answer, such
        as 102, does not count."""
        loop = asyncio.get_running_loop()
        if not isinstance(content, AsyncIterator):
            answering.reschedule(loop.time() + CONNECT_S + self._silence_s)
            return content

        async def parts() -> AsyncIterator[bytes]:
            async for part in content:
                yield part
            answering.reschedule(loop.time() + self._silence_s)

        return parts()

    def _unreachable(self, error: Exception) -> RefusedError:
        for cause in _causes(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                return RefusedError(
                    502,
                    f"the certificate of the upstream {self.url} is not trusted: {cause.verify_message}; name the file "
                    "of its authority with --ca or SSL_CERT_FILE",
                )
            if isinstance(cause, ssl.SSLError):
                return RefusedError(502, f"the upstream {self.url} does not speak TLS as it should; is it http://?")
            if isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE):
                return RefusedError(503, "too many files are open here; try again in a moment")
        return RefusedError(502, f"the upstream {self.url} cannot be reached; is it running?")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
