"""A server's life: started, greeted, listed, asked; and started again, ever later, when it ends, or at once where it
only forgot the session. Knows nothing of other servers and of what its tools are for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from mcp import MCPError
from mcp.client.auth import OAuthFlowError
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT

from edgeret.adapters.mcp.bounds import MOST_LINE, Allowance, TooMuchError, Voice
from edgeret.adapters.mcp.causes import OlderError, WebError, said, unreachable
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.definitions import MOST_TOOLS, Definition, accepted
from edgeret.adapters.mcp.eras import modern
from edgeret.adapters.mcp.link import PROBE_S, Client, DeafError, Link, NotSpokenError, linked
from edgeret.adapters.mcp.sessions import Session, SessionLostError
from edgeret.adapters.mcp.web import Access
from edgeret.adapters.mcp.wire import opened
from edgeret.quoting import quoted
from edgeret.records import dataclass

SETTLED_S = 60.0
"""A server that lived so long is started again as if for the first time."""
LOST = "does not know its session any more"
RENEW_S = 1.0
"""A new session that lived shorter is not begun anew at once again: such a server keeps none."""
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
        client: Client,
        access: Access | None = None,
    ) -> None:
        """Not started. `changed` is told whenever `tools` became others; `client` is asked what the server asks."""
        self.server, self.name = server, server.name
        self.tools: Mapping[str, Definition] = {}
        self.tried = anyio.Event()
        """Set when it is known for the first time what it has, or that it has nothing now."""
        self.problem = "is still starting"
        """Why it is not there, in words that go on a sentence about it. Models read them: none is the server's own."""
        self.detail = ""
        """What goes on behind `problem`, for people: the command that was tried, or a server's own words in quotes."""
        self.failed = False
        """Whether its last life is over, and why it ended stands in `problem`."""
        self._patience, self._changed, self._access = patience, changed, access or Access()
        self._say, self._client = Voice(say), client
        self._link: Link | None = None
        self._new = Allowance(NEW_PER_S, NEW_AT_ONCE)
        self._renewing = False
        self._came = anyio.Event()
        """Set when a link is there, or will not be; the next time it is another event."""
        self._wanted = anyio.Event()
        """Set when somebody cannot wait until it is tried again."""
        self._modern_first: bool | None = None
        """Whether it is first tried without a handshake; None is as its client introduced himself."""

    async def run(self) -> None:
        """Keeps the server running until this is cancelled."""
        delay, told = self._patience.first_delay_s, ""
        while True:
            began, older, order, renewed = anyio.current_time(), False, self._modern_first, self._renewing
            try:
                self.problem, self.detail = await self._lived(), ""
            except* OlderError as errors:
                self.problem, _ = _reason(errors, self._patience, self.server)
                self._say(f"server {self.server.name} {self.problem}; that is spoken from now on")
                self.server, older = replace(self.server, transport="sse"), True
            except* Exception as errors:
                self.problem, self.detail = _reason(errors, self._patience, self.server)
            self._link = None
            if older or (order is None and self._modern_first is not None):
                continue  # it would not be greeted so, and is greeted the other way from now on
            lasted = not renewed or anyio.current_time() - began > RENEW_S
            self._renewing = self.problem == LOST and lasted
            self._tell_waiting()
            if self._renewing:
                self._say(f"server {self.server.name} {LOST}; a new one is begun")
                continue
            self.failed = True
            self._take({})
            if anyio.current_time() - began > SETTLED_S:
                delay, told = self._patience.first_delay_s, ""
                self._say.again()
            if self.problem != told:  # not again and again, where it never starts
                self._say(f"server {self.server.name} {self.problem}{self.detail}; started again in {delay:g} s")
            told = self.problem
            self._wanted = anyio.Event()
            with anyio.move_on_after(delay):
                await self._wanted.wait()
            delay = min(2 * delay, self._patience.last_delay_s)

    @property
    def capabilities(self) -> Mapping[str, Any] | None:
        """What it has, or None while that is not known."""
        return None if self._link is None else self._link.capabilities

    @property
    def modern(self) -> bool:
        """Whether it speaks without a handshake."""
        return self._link is not None and modern(self._link.envelope.version)

    def has(self, capability: str) -> bool:
        """Whether it is there and has this."""
        return isinstance((self.capabilities or {}).get(capability), dict)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        progress: ProgressFnT | None = None,
        check: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        """The result of a request, as the server gave it. Where its session was lost, so that nothing was done, it is
        sent once more in a new one; `check` is called before each time. Raises MCPError as the server said it, and
        CallError where it said nothing."""
        for _ in range(2):
            link = await self._there()
            if check is not None:
                check()
            try:
                return await link.request(method, params, self._patience.call_s, progress)
            except SessionLostError:
                continue
            except MCPError as error:
                raise self._call_error(error) or error from None
        raise CallError(f"server {self.server.name} {LOST}, again after a new one was begun")

    def _call_error(self, error: MCPError) -> CallError | None:
        """What an error of a call says in words of ours, where it is not the server's answer."""
        if words := said(error):
            return CallError(f"server {self.server.name} {words}")
        if error.code == REQUEST_TIMEOUT and "timed out" in error.message:
            return CallError(f"server {self.server.name} did not answer within {self._patience.call_s:g} s")
        if error.code == CONNECTION_CLOSED:
            return CallError(f"server {self.server.name} ended in the middle of the call")
        return None

    async def listed(self, method: str, key: str) -> list[Any]:
        """One of its lists, all pages. Raises MCPError, NotSpokenError, and CallError."""
        for _ in range(2):
            link = await self._there()
            try:
                with anyio.fail_after(self._patience.start_s):
                    return await link.listed(method, key)
            except SessionLostError:
                continue
            except TimeoutError:
                raise CallError(
                    f"server {self.server.name} did not list them in {self._patience.start_s:g} s"
                ) from None
        raise CallError(f"server {self.server.name} {LOST}")

    async def subscribe(self, uri: str, wanted: bool) -> dict[str, Any]:
        """Says whether changes of a resource are to be told. Raises MCPError and CallError."""
        if self.modern:
            return (await self._there()).subscribe(uri, wanted)
        return await self.request(f"resources/{'' if wanted else 'un'}subscribe", {"uri": uri})

    async def log_from(self, level: str) -> None:
        """Says from which level on its log is wanted; that it does not take it is no matter."""
        if not self.has("logging") or (link := self._link) is None or link.envelope.log_level == level:
            return
        link.envelope.log_level = level
        if not self.modern:
            with contextlib.suppress(MCPError, CallError):
                await self.request("logging/setLevel", {"level": level})

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Tells it something, if it is there."""
        if self._link is not None:
            await self._link.notify(method, params)

    async def again(self) -> None:
        """Where it could not be reached, it is tried at once; returns when that has come out. A program is not started
        sooner than its turn comes."""
        if self.failed and self.server.url:
            came = self._came
            self._wanted.set()
            with anyio.move_on_after(self._patience.start_s):
                await came.wait()

    async def _there(self) -> Link:
        """The link to it, after a new session was begun where that is under way. Raises CallError."""
        with anyio.move_on_after(self._patience.start_s):
            while self._renewing or (self._link is not None and self._link.session.lost.is_set()):
                await self._came.wait()
        if (link := self._link) is None or link.session.lost.is_set():
            raise CallError(f"server {self.server.name} is not there now: it {self.problem}")
        return link

    def _tell_waiting(self) -> None:
        self._came.set()
        self._came = anyio.Event()

    async def _lived(self) -> str:
        """One life, from start to end; how it ended."""
        session = Session()
        ways = opened(self.server, self._access, self._patience.call_s, self._say, session.heard)
        async with ways as streams, linked(self.name, streams, session, self._client, self._say) as link:
            hello = await self._client.hello()
            with anyio.fail_after(self._patience.start_s):
                modern_first = hello.modern if self._modern_first is None else self._modern_first
                try:
                    await link.greet(hello, modern_first, min(PROBE_S, self._patience.start_s / 3))
                    self._link = link
                    await self._list(link)
                except (DeafError, MCPError) as error:
                    refused = isinstance(error, MCPError) and error.code != CONNECTION_CLOSED
                    if isinstance(error, DeafError) or (refused and self.modern == modern_first):
                        self._modern_first = not modern_first
                    raise
            self.failed = self._renewing = False
            self._tell_waiting()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, link)
                tasks.start_soon(link.listen)
                tasks.start_soon(self._client.greeted, self.server.name)
                await link.closed.wait()
                tasks.cancel_scope.cancel()
        return LOST if session.lost.is_set() else "ended"

    async def _follow(self, link: Link) -> None:
        calm, before = CALM_S, anyio.current_time()
        while True:
            await link.changed.wait()
            calm = CALM_S if anyio.current_time() - before > LAST_CALM_S else calm
            await anyio.sleep(calm)
            link.changed = anyio.Event()
            with anyio.fail_after(self._patience.start_s):
                try:
                    await self._list(link)
                except SessionLostError:
                    return
            calm, before = min(2 * calm, LAST_CALM_S), anyio.current_time()

    async def _list(self, link: Link) -> None:
        """Takes up the server's tools. Raises TooMuchError where too many became others too soon."""
        listed: list[Any] = []
        try:
            listed = await link.listed("tools/list", "tools")
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND or "tools" in link.capabilities:
                raise  # others have prompts or resources alone
        takes = self.server.takes
        listed = [tool for tool in listed if not isinstance(tool, dict) or takes(tool.get("name"))]
        tools = accepted(self.server.name, self.server.prefix, listed, self._say, self.tools)
        if not self._new.spend(sum(self.tools.get(name) != tool for name, tool in tools.items())):
            raise TooMuchError("changes its tools over and over")
        link.envelope.knows([tool.raw for tool in tools.values()])
        self._take(tools)

    def _take(self, tools: Mapping[str, Definition]) -> None:
        different = not self.tried.is_set() or dict(tools) != dict(self.tools)
        self.tools = tools
        self.tried.set()
        if different:
            self._changed(self)


def _reason(errors: BaseExceptionGroup[Exception], patience: Patience, server: Server) -> tuple[str, str]:
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
        if server.url:
            return f"cannot be reached ({error.strerror})", ""
        return "cannot be started", server.not_started(error).removeprefix("cannot be started")
    return f"cannot be used ({type(error).__name__})", f": {quoted(str(error)[:MOST_LINE])}"


def _leaves(errors: BaseException) -> list[BaseException]:
    if not isinstance(errors, BaseExceptionGroup):
        return [errors]
    return [leaf for error in errors.exceptions for leaf in _leaves(error)]
