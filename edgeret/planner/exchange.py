"""One HTTP request with a hard end in time and size. Knows nothing of models and of JSON.

A time limit of httpx holds for a single read, so that a server which sends a byte now and then never meets it, and
none holds for looking up a name. So the request runs in a thread of its own: whoever asks waits until the deadline and
no longer, and then takes the connection away from under that thread, which ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from time import perf_counter
from typing import Any

from edgeret.errors import PlannerError
from edgeret.quoting import shortened
from edgeret.records import dataclass

MAX_BYTES = 1_000_000
"""Bytes of a reply's body that are read."""
_BOTH_WAYS = 2
"""What `shutdown` of a socket takes to end reading and writing (SHUT_RDWR, everywhere)."""


class ServerFault(Exception):
    """What a server did wrong, in words."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply: its status, what its header Retry-After says (or ""), and its body as it was sent."""

    status: int
    retry_after: str
    body: bytes


class Exchange:
    """One request, sent once."""

    def __init__(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, tls: Any) -> None:
        """`tls` is the SSLContext that certificates are verified with."""
        self._method, self._url, self._headers, self._content, self._tls = method, url, headers, content, tls
        self._streams: list[Any] = []
        self._stopped = False
        self._ended = threading.Event()
        self._outcome: Reply | Exception | None = None

    def run(self, deadline: float) -> Reply:
        """The reply, by the `deadline` (of `time.perf_counter`). Raises ServerFault if there is none by then or it is
        none, PlannerError if there is no such server."""
        import httpx

        seconds = deadline - perf_counter()
        if seconds <= 0:
            raise ServerFault("no time was left to ask")
        threading.Thread(target=self._work, args=(seconds,), name="edgeret-endpoint", daemon=True).start()
        try:
            in_time = self._ended.wait(seconds)
        finally:
            self.stop()
        outcome = self._outcome
        if isinstance(outcome, Reply):
            return outcome
        if isinstance(outcome, ServerFault):
            raise outcome
        if not in_time or isinstance(outcome, httpx.TimeoutException):
            raise ServerFault(f"no answer within {seconds:.1f} s")
        if isinstance(outcome, httpx.ConnectError | httpx.InvalidURL):
            raise PlannerError(
                f"{self._url}: cannot be reached ({shortened(str(outcome))}); start the server, or give the URL "
                "that it prints when it starts"
            ) from None
        raise ServerFault(f"the connection broke off ({type(outcome).__name__})" if outcome else "closed meanwhile")

    def stop(self) -> None:
        """Ends the request; whoever waits for it goes on. Does nothing behind its end."""
        self._stopped = True
        self._disconnect()
        self._ended.set()

    def _disconnect(self) -> None:
        for stream in tuple(self._streams):
            with suppress(OSError):  # it is closed already, or became part of a TLS stream
                stream.get_extra_info("socket").shutdown(_BOTH_WAYS)

    def _work(self, seconds: float) -> None:
        outcome: Reply | Exception
        try:
            outcome = self._request(seconds)
        except Exception as error:  # whatever a server's bytes set off in there, it is the server's fault
            outcome = error
        if not self._stopped:  # a body without a length ends where its connection is cut, and looks whole
            self._outcome = outcome
        self._ended.set()

    def _request(self, seconds: float) -> Reply:
        import httpx

        # A connection for every request: one that was kept could not be told to end, and servers close those they like.
        # Redirects are not followed.
        once = httpx.Limits(max_keepalive_connections=0)
        with (
            httpx.Client(verify=self._tls, trust_env=False, timeout=seconds, limits=once) as client,
            client.stream(
                self._method,
                self._url,
                headers=self._headers,
                content=self._content,
                extensions={"trace": self._follow},
            ) as response,
        ):
            body = bytearray()
            for part in response.iter_raw():  # nothing is unpacked: a kilobyte could hold a gigabyte
                body += part
                if len(body) > MAX_BYTES:
                    raise ServerFault(f"an answer of more than {MAX_BYTES // 1_000_000} MB")
            return Reply(response.status_code, response.headers.get("retry-after", ""), bytes(body))

    def _follow(self, event: str, details: Mapping[str, Any]) -> None:
        """Called by httpx at every step: keeps the connection's streams."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._streams.append(details["return_value"])
            if self._stopped:
                self._disconnect()
