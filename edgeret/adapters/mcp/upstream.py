"""A server's life: started, greeted, listed, called; and started again, ever later, when it ends. Knows nothing of
other servers and of what its tools are for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.definitions import Definition, accepted
from edgeret.adapters.mcp.link import Link, NotSpokenError, linked
from edgeret.adapters.mcp.wire import TooMuchError, opened
from edgeret.records import dataclass

SETTLED_S = 60.0
"""A server that lived so long is started again as if for the first time."""
CALM_S = 0.2
"""Between a server's word that its tools changed and asking for them: such words come in swarms."""


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

    def __init__(self, server: Server, patience: Patience, changed: Callable[[Upstream], None], say: Say) -> None:
        """Not started. `changed` is told whenever `tools` became others."""
        self.server = server
        self.tools: Mapping[str, Definition] = {}
        self.tried = anyio.Event()
        """Set when it is known for the first time what it has, or that it has nothing now."""
        self.problem = "is still starting"
        """Why it is not there, in words that go on a sentence about it."""
        self.failed = False
        """Whether its last life is over, and why it ended stands in `problem`."""
        self._patience, self._changed, self._say = patience, changed, say
        self._link: Link | None = None

    async def run(self) -> None:
        """Keeps the server running until this is cancelled."""
        delay, told = self._patience.first_delay_s, ""
        while True:
            began = anyio.current_time()
            try:
                self.problem = await self._lived()
            except* Exception as errors:
                self.problem = _reason(errors, self._patience, self.server)
            self._link, self.failed = None, True
            self._take({})
            if anyio.current_time() - began > SETTLED_S:
                delay = self._patience.first_delay_s
            if self.problem != told:  # not again and again, where it never starts
                self._say(f"server {self.server.name} {self.problem}; started again in {delay:g} s")
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
            return await link.call(params, self._patience.call_s, progress)
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT and "timed out" in error.message:
                raise CallError(
                    f"server {self.server.name} did not answer within {self._patience.call_s:g} s"
                ) from None
            if error.code == CONNECTION_CLOSED:
                raise CallError(f"server {self.server.name} ended in the middle of the call") from None
            raise

    async def _lived(self) -> str:
        """One life, from start to end; how it ended."""
        async with opened(self.server, self._say) as streams, linked(streams) as link:
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
        while True:
            await link.changed.wait()
            await anyio.sleep(CALM_S)
            link.changed = anyio.Event()
            with anyio.fail_after(self._patience.start_s):
                await self._list(link)

    async def _list(self, link: Link) -> None:
        takes = self.server.takes
        listed = [tool for tool in await link.tools() if not isinstance(tool, dict) or takes(tool.get("name"))]
        self._take(accepted(self.server.name, self.server.prefix, listed, self._say))

    def _take(self, tools: Mapping[str, Definition]) -> None:
        different = not self.tried.is_set() or dict(tools) != dict(self.tools)
        self.tools = tools
        self.tried.set()
        if different:
            self._changed(self)


def _reason(errors: BaseExceptionGroup[Exception], patience: Patience, server: Server) -> str:
    """What went wrong, of all that broke when it did."""
    found: list[BaseException] = [errors]
    leaves: list[BaseException] = []
    while found:
        error = found.pop()
        if isinstance(error, BaseExceptionGroup):
            found += error.exceptions
        else:
            leaves.append(error)
    for error in leaves:
        if isinstance(error, TooMuchError | NotSpokenError):
            return str(error)
    error = leaves[0]
    if isinstance(error, TimeoutError):
        return f"did not start and list its tools within {patience.start_s:g} s"
    if isinstance(error, MCPError):
        return (
            "ended before it had listed its tools" if error.code == CONNECTION_CLOSED else f"answered: {error.message}"
        )
    if isinstance(error, OSError):
        return f"cannot be reached ({error.strerror or error})" if server.url else server.not_started(error)
    return f"cannot be used ({type(error).__name__}: {error})"
