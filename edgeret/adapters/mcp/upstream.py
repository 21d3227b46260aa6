"""A server's life: started, greeted, listed, called; and started again, ever later, when it ends. Knows nothing of
other servers and of what its tools are for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from mcp import MCPError
from mcp.client.auth import OAuthFlowError
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from edgeret.adapters.mcp.bounds import MOST_LINE, Allowance, TooMuchError, Voice
from edgeret.adapters.mcp.causes import OlderError, WebError, said, unreachable
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.definitions import MOST_TOOLS, Definition, accepted
from edgeret.adapters.mcp.link import Link, NotSpokenError, linked
from edgeret.adapters.mcp.web import Access
from edgeret.adapters.mcp.wire import opened
from edgeret.quoting import quoted
from edgeret.records import dataclass

SETTLED_S = 60.0
"""A server that lived so long is started again as if for the first time."""
CALM_S, LAST_CALM_S = 0.2, 60.0
"""Between a server's word that its tools changed and asking for them: such words come in swarms. It doubles each time,
and is the first again after a minute without."""
NEW_AT_ONCE, NEW_PER_S = 3.0 * MOST_TOOLS, 20.0
"""Definitions that a server may bring or change. Each is encoded, which takes some milliseconds; with so many a second,
for ever, that is a tenth of a core."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: to start and list tools, for one call, and before the first and the last new start."""

    start_s: float = 30.0
    call_s: float = 300.0
    first_delay_s: float = 1.0
    last_delay_s: float = 60.0


class CallError(Exception):
    """A call that a server did not answer, in words that name the server."""


class Upstream:
    """One server. `tools` are its tools by the client's names, none while it is not there."""

    def __init__(
        self,
        server: Server,
        patience: Patience,
        changed: Callable[[Upstream], None],
        say: Say,
        access: Access | None = None,
    ) -> None:
        """Not started. `changed` is told whenever `tools` became others."""
        self.server = server
        self.tools: Mapping[str, Definition] = {}
        self.tried = anyio.Event()
        """Set when it is known for the first time what it has, or that it has nothing now."""
        self.problem = "is still starting"
        """Why it is not there, in words that go on a sentence about it. Models read them: none is the server's own."""
        self.failed = False
        """Whether its last life is over, and why it ended stands in `problem`."""
        self._patience, self._changed, self._access = patience, changed, access or Access()
        self._say = Voice(say)
        self._link: Link | None = None
        self._new = Allowance(NEW_PER_S, NEW_AT_ONCE)

    async def run(self) -> None:
        """Keeps the server running until this is cancelled."""
        delay, told = self._patience.first_delay_s, ""
        while True:
            began, own, older = anyio.current_time(), "", False
            try:
                self.problem = await self._lived()
            except* OlderError as errors:
                self.problem, _ = _reason(errors, self._patience)
                self._say(f"server {self.server.name} {self.problem}; that is spoken from now on")
                self.server, older = replace(self.server, transport="sse"), True
            except* Exception as errors:
                self.problem, own = _reason(errors, self._patience)
            if older:
                continue
            self._link, self.failed = None, True
            self._take({})
            if anyio.current_time() - began > SETTLED_S:
                delay, told = self._patience.first_delay_s, ""
                self._say.again()
            if self.problem != told:  # not again and again, where it never starts
                self._say(f"server {self.server.name} {self.problem}{own}; started again in {delay:g} s")
            told = self.problem
            await anyio.sleep(delay)
            delay = min(2 * delay, self._patience.last_delay_s)

    async def call(
        self, tool: str, arguments: Any, meta: Mapping[str, Any], progress: ProgressFnT | None
    ) -> dict[str, Any]:
        """The result of a call, as the server gave it. Raises MCPError as the server said it, and CallError where it
        said nothing."""
        if (link := self._link) is None:
            raise CallError(f"server {self.server.name} is not there now: it {self.problem}")
        params = {
            "name": tool,
            **({} if arguments is None else {"arguments": arguments}),
            **({"_meta": dict(meta)} if meta else {}),
        }
        try:
            # The server's time begins when it took the call; one that takes nothing has no more than twice of it.
            with anyio.fail_after(2 * self._patience.call_s):
                return await link.call(params, self._patience.call_s, progress)
        except MCPError as error:
            raise self._call_error(error) or error from None
        except TimeoutError:
            raise CallError(f"server {self.server.name} did not take the call") from None

    def _call_error(self, error: MCPError) -> CallError | None:
        """What an error of a call says in words of ours, where it is not the server's answer."""
        if words := said(error):
            return CallError(f"server {self.server.name} {words}")
        if error.code == REQUEST_TIMEOUT and "timed out" in error.message:
            return CallError(f"server {self.server.name} did not answer within {self._patience.call_s:g} s")
        if error.code == CONNECTION_CLOSED:
            return CallError(f"server {self.server.name} ended in the middle of the call")
        return None

    async def _lived(self) -> str:
        """One life, from start to end; how it ended."""
        ways = opened(self.server, self._access, self._patience.call_s, self._say)
        async with ways as streams, linked(streams) as link:
            with anyio.fail_after(self._patience.start_s):
                await link.greet()
                await self._list(link)
            self._link, self.failed = link, False
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, link)
                await link.closed.wait()
                tasks.cancel_scope.cancel()
        return "ended"

    async def _follow(self, link: Link) -> None:
        calm, before = CALM_S, anyio.current_time()
        while True:
            await link.changed.wait()
            calm = CALM_S if anyio.current_time() - before > LAST_CALM_S else calm
            await anyio.sleep(calm)
            link.changed = anyio.Event()
            with anyio.fail_after(self._patience.start_s):
                await self._list(link)
            calm, before = min(2 * calm, LAST_CALM_S), anyio.current_time()

    async def _list(self, link: Link) -> None:
        """Takes up the server's tools. Raises TooMuchError where too many became others too soon."""
        found = accepted(self.server.name, self.server.prefix, await link.tools(), self._say)
        if not self._new.spend(sum(self.tools.get(name) != tool for name, tool in found.items())):
            raise TooMuchError("changes its tools over and over")
        self._take(found)

    def _take(self, tools: Mapping[str, Definition]) -> None:
        different = not self.tried.is_set() or dict(tools) != dict(self.tools)
        self.tools = tools
        self.tried.set()
        if different:
            self._changed(self)


def _reason(errors: BaseExceptionGroup[Exception], patience: Patience) -> tuple[str, str]:
    """What went wrong, of all that broke when it did: in words of ours, and what the server itself said, for people."""
    leaves = _leaves(errors)
    for error in leaves:
        if isinstance(error, TooMuchError | NotSpokenError | WebError):
            return str(error), ""
    error = leaves[0]
    if isinstance(error, OAuthFlowError):
        return "did not complete the login; run edgeret mcp --login NAME", f": {quoted(str(error)[:MOST_LINE])}"
    if words := unreachable(errors):
        return words, ""
    if isinstance(error, TimeoutError):
        return f"did not start and list its tools within {patience.start_s:g} s", ""
    if isinstance(error, MCPError):
        if words := said(error):
            return words, ""
        if error.code == CONNECTION_CLOSED:
            return "ended before it had listed its tools", ""
        return (
            "answered with an error when it was asked for its tools",
            f" ({error.code}: {quoted(error.message[:MOST_LINE])})",
        )
    if isinstance(error, OSError) and error.errno is not None:
        named = f": {error.filename}" if error.filename else ""
        return f"cannot be started or reached ({error.strerror}{named})", ""
    return f"cannot be used ({type(error).__name__})", f": {quoted(str(error)[:MOST_LINE])}"


def _leaves(errors: BaseException) -> list[BaseException]:
    if not isinstance(errors, BaseExceptionGroup):
        return [errors]
    return [leaf for error in errors.exceptions for leaf in _leaves(error)]
