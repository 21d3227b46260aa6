"""The service over HTTP: which path does what, which error has which status, and in which thread it is worked out.
Knows nothing of decisions."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from hashlib import sha256
from time import perf_counter
from typing import Any

from edgeret import END, EdgeretError, MissingExtraError, OverlayError, PlannerError, __version__
from edgeret.adapters import metrics
from edgeret.adapters.serve import openapi
from edgeret.adapters.serve.kinds import MisfitError, checked
from edgeret.adapters.serve.objects import read_object, write_object
from edgeret.adapters.serve.service import OffError, Service
from edgeret.adapters.serve.table import ACTIONS, DECIDE, HEALTH, REMOVE, Action
from edgeret.adapters.web.connections import Connections
from edgeret.adapters.web.door import Door, Reply, Scope
from edgeret.adapters.web.headers import Headers, first
from edgeret.adapters.web.incoming import GoneError, Incoming, Share
from edgeret.adapters.web.refusals import RefusedError
from edgeret.adapters.web.visitors import Visitors
from edgeret.quoting import quoted, suggestion

JSON, HTML = b"application/json", b"text/html; charset=utf-8"
_TOOL = "/v1/tools/"
SHORT_BYTES = 8192
"""Longer requests to decide wait behind each other: one of 20,000 characters takes two seconds."""
_STATUS: tuple[tuple[type[EdgeretError], int], ...] = (
    (OffError, 403),
    (OverlayError, 409),
    (PlannerError, 503),
    (MissingExtraError, 501),
)
"""All others are the client's, 400."""
_SAFE: Headers = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class App(Door):
    """Answers requests with what the service says to them."""

    wanted = "a path such as /v1/decide"

    def __init__(self, service: Service, visitors: Visitors, connections: Connections) -> None:
        super().__init__(visitors, connections)
        self._service = service
        self.metrics = metrics.Metrics()
        service.runtime.observe(metrics.Corrections(self.metrics))
        # Decisions have a thread of their own: a plan or new tools take many times as long, and would be waited for.
        self._decides = ThreadPoolExecutor(1, "edgeret-decide")
        self._works = ThreadPoolExecutor(1, "edgeret-work")
        self._pages = {
            "/": (HTML, openapi.page().encode(), [(b"content-security-policy", _policy(openapi.page()))]),
            "/openapi.json": (JSON, json.dumps(openapi.document(), ensure_ascii=False).encode(), []),
        }
        self._actions: dict[str, dict[str, Action]] = {}
        for action in ACTIONS:
            if action is not REMOVE:
                self._actions.setdefault(action.path, {})[action.method] = action

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Ends the threads, and keeps what was learned."""
        yield
        for pool in (self._decides, self._works):
            pool.shutdown(wait=False, cancel_futures=True)

    def admitted(self) -> None:
        """Counted when it is answered."""

    def refused(self, refused: RefusedError) -> None:
        """Counts it."""
        self.metrics.answered("refused", refused.status, None)

    async def serve(self, scope: Scope, headers: Headers, incoming: Incoming, share: Share, reply: Reply) -> None:
        """One request and its answer. Raises RefusedError as long as nothing was sent, and GoneError."""
        began, path, status = perf_counter(), scope["path"], 500
        try:
            kind, content, more = await self._answer_to(scope, headers, incoming, share)
            status = 200
        except RefusedError as refused:
            status = refused.status
            refused.headers += _SAFE
            raise
        except (asyncio.CancelledError, GoneError):
            status = 499
            raise
        finally:
            self.metrics.answered(self._named(path), status, perf_counter() - began)
        await reply.whole(200, kind, content, [*_SAFE, *more])

    def _named(self, path: str) -> str:
        """A path for a label: one of few, or clients could fill the memory with them."""
        if path in self._actions or path in self._pages or path == "/metrics":
            return str(path)
        return REMOVE.path if path.startswith(_TOOL) else "other"

    async def _answer_to(
        self, scope: Scope, headers: Headers, incoming: Incoming, share: Share
    ) -> tuple[bytes, bytes, Headers]:
        """Kind, body and more headers of the answer. Raises RefusedError and GoneError."""
        path, method = scope["path"], scope["method"]
        if path in self._pages or path == "/metrics":
            _check_method(method, ("GET",))
            return self._pages[path] if path in self._pages else (metrics.KIND, self._counted(), [])
        removes = path.startswith(_TOOL) and len(path) > len(_TOOL)
        actions = {"DELETE": REMOVE} if removes else self._actions.get(path)
        if actions is None:
            hint = suggestion(path, [*self._actions, *self._pages, "/metrics"]) or "; GET / tells what there is"
            raise RefusedError(404, f"there is no {quoted(path)}{hint}")
        _check_method(method, actions)
        action = actions["GET" if method == "HEAD" else method]
        if first(headers, b"content-encoding") is not None:
            raise RefusedError(415, "the body is packed; send it as it is, without content-encoding")
        raw, whole = await incoming.begin(share)
        if not whole:
            raise RefusedError(503, "too many large bodies are being read at once; try again in a moment")
        async with self.place(True):
            return JSON, await self._done(action, raw, path[len(_TOOL) :] if removes else None), []

    async def _done(self, action: Action, raw: bytes, name: str | None) -> bytes:
        """The answer of an action as JSON. Raises RefusedError."""
        pool = self._decides if action is DECIDE and len(raw) <= SHORT_BYTES else self._works
        loop = asyncio.get_running_loop()
        try:
            if action is HEALTH:  # at once, whatever the threads are at
                return self._work(action, raw, name)[1]
            told, content, took = await loop.run_in_executor(pool, self._work, action, raw, name)
        except MisfitError as error:
            raise RefusedError(400, str(error), error.path) from None
        except EdgeretError as error:
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
            raise RefusedError(status, str(error)) from None
        if action is DECIDE:
            outcome = "declined" if told["abstained"] else "end" if told["tool"] == END else "call"
            self.metrics.decided(outcome, told["stage"], took, "usage" in told)
        return content

    def _work(self, action: Action, raw: bytes, name: str | None) -> tuple[dict[str, Any], bytes, float]:
        """The same in a thread: bodies are read and answers written there as well, since a large one takes longer than
        a decision. Raises EdgeretError."""
        if name is not None:
            fields: Any = {"remove": [name]}
        elif action.method == "GET":
            fields = {}
        else:
            fields = checked(read_object(raw), action.takes)
        began = perf_counter()
        told = self._service.do(action.do, fields)
        return told, write_object(told), perf_counter() - began

    def _counted(self) -> bytes:
        runtime = self._service.runtime
        gauges = {
            "edgeret_tools": ("Tools that can be chosen.", len(runtime.tools)),
            "edgeret_learned_plans": ("Plans that were learned.", runtime.learned.count),
        }
        return self.metrics.text(__version__, gauges)


def _check_method(method: str, allowed: Any) -> None:
    """Raises RefusedError."""
    known = [*allowed, *(["HEAD"] if "GET" in allowed else [])]
    if method not in known:
        names = ", ".join(known)
        raise RefusedError(405, f"asked with {quoted(method)}; ask with {names}", headers=[(b"allow", names.encode())])


def _policy(page: str) -> bytes:
    """What the page may do: run its own script, ask where it came from, and nothing else."""
    script, style = (page.split(f"<{tag}>")[1].split(f"</{tag}>")[0] for tag in ("script", "style"))
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ).encode()
