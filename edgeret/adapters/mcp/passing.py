"""The client as servers see him: what they ask and tell reaches him, in the way that his protocol version has for it.
Knows nothing of tools and of how servers are kept running."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast, get_args

import anyio
from mcp import MCPError
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    METHOD_NOT_FOUND,
    LoggingLevel,
)
from mcp_types.methods import INPUT_REQUIRED_METHODS, is_input_required
from pydantic import BaseModel, ConfigDict, ValidationError

from edgeret.adapters.mcp.calls import CALL, Asked, Calls, InputRequiredError
from edgeret.adapters.mcp.eras import ASKS, modern
from edgeret.adapters.mcp.link import Hello
from edgeret.adapters.mcp.names import BETWEEN

CALM_S = 0.2
"""Between a server's word that a list changed and telling the client: such words come in swarms."""
MOST_ROUNDS = 10
"""Of questions to one request; the SDKs' own clients give up then, too."""
_QUESTION = ("method", "params")
_LEVELS: tuple[str, ...] = get_args(LoggingLevel)
_CHANGED: dict[str, Callable[[], ToolsListChanged | PromptsListChanged | ResourcesListChanged]] = {
    "tools": ToolsListChanged,
    "prompts": PromptsListChanged,
    "resources": ResourcesListChanged,
}


class _Message(BaseModel):
    """A request or notification that is passed on as it came."""

    method: str
    params: dict[str, Any] | None = None


class _Result(BaseModel):
    """A result that is passed on as it came."""

    model_config = ConfigDict(extra="allow")


class Nobody:
    """Where servers are only looked at: a client that can do nothing."""

    async def hello(self) -> Hello:
        """In the way that all servers know."""
        return Hello({}, modern=False)

    async def asked(self, *_: Any) -> dict[str, Any]:
        """Never answers, since nothing was declared."""
        raise MCPError(METHOD_NOT_FOUND, "Method not found")

    async def noticed(self, *_: Any) -> None:
        """Hears nothing."""

    async def greeted(self, server: str) -> None:
        """Has nothing to say."""


class Asking(Protocol):
    """A server, as a request for the client needs it."""

    name: str

    @property
    def modern(self) -> bool:
        """Whether it speaks without a handshake."""

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        progress: ProgressFnT | None = None,
        check: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        """The result of a request. Raises MCPError as the server, and CallError."""

    async def log_from(self, level: str) -> None:
        """Says from which level on the log is wanted."""


class Passing:
    """One client, who says first what he can do. A `link.Client`."""

    def __init__(self, named: Callable[[str, str], str], greeted: Callable[[str], Any]) -> None:
        """He has not yet spoken. `named` gives the client's form of a server's URI; `greeted` is awaited with the name
        of a server that is there."""
        self.bus = InMemorySubscriptionBus()
        self.calls = Calls()
        self.session: ServerSession | None = None
        """By which he is reached outside of his requests."""
        self.listed: set[str] = set()
        """Lists that he has seen: of others nothing is told."""
        self.level: str | None = None
        """From which level on he wants to read logs, if he said so once for all."""
        self._named, self._greeted = named, greeted
        self._spoke, self._ready, self._told = anyio.Event(), anyio.Event(), anyio.Event()
        self._capabilities: Mapping[str, Any] = {}
        self._modern = False
        self._news: set[str] = set()

    def heard(self, session: ServerSession, method: str, params: Mapping[str, Any], version: str) -> None:
        """Takes notice of any of his requests: the first says what he can do."""
        self.session = session
        if self._spoke.is_set():
            return
        self._modern = modern(version)
        meta = params.get("_meta")
        if self._modern:
            told = meta.get(CLIENT_CAPABILITIES_META_KEY) if isinstance(meta, Mapping) else None
            self._ready.set()
        elif method == "initialize":
            told = params.get("capabilities")
        else:
            return  # out of order; answered with an error
        self._capabilities = told if isinstance(told, Mapping) else {}
        self._spoke.set()

    def ready(self) -> None:
        """He has taken the answer to his greeting, and may be asked from now on."""
        self._ready.set()

    async def hello(self) -> Hello:
        """How he introduced himself, when he has."""
        await self._spoke.wait()
        return Hello(self._capabilities, self._modern)

    async def greeted(self, server: str) -> None:
        """A server is there, for the first time or again."""
        for kind in ("prompts", "resources"):
            self.changed(kind)
        await self._greeted(server)

    async def asked(
        self, server: str, method: str, params: Mapping[str, Any], progress: ProgressFnT | None
    ) -> dict[str, Any]:
        """His answer to what a server asks. Raises MCPError."""
        await self._ready.wait()
        if self._modern:
            asked = Asked(method, params)
            await self.calls.ask(server, asked)
            if asked.answer is None:
                raise MCPError(INVALID_REQUEST, "no request was open in which the client could be asked")
            return asked.answer
        assert self.session is not None, "he is ready"
        message = cast("Any", _Message(method=method, params=dict(params) or None))
        try:
            answer = await self.session.send_request(message, _Result, progress_callback=progress)
        except ValidationError:
            raise MCPError(INTERNAL_ERROR, f"the client's answer to {method} is none of its protocol") from None
        return answer.model_dump()

    async def noticed(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """Takes what a server tells him."""
        if method in ("notifications/prompts/list_changed", "notifications/resources/list_changed"):
            self.changed(method.split("/")[1])
        elif method == "notifications/resources/updated" and isinstance(uri := params.get("uri"), str):
            named = self._named(server, uri)
            await self.bus.publish(ResourceUpdated(named))
            await self._tell(method, {**params, "uri": named})
        elif method == "notifications/message":
            await self._log(server, params)
        elif method == "notifications/elicitation/complete":
            await self._tell(method, params)

    def changed(self, kind: str) -> None:
        """A list became another: he is told, where he knows one."""
        if kind in self.listed and kind not in self._news:
            self._news.add(kind)
            self._told.set()

    async def tell(self) -> None:
        """Tells him what lists changed, until cancelled."""
        while True:
            await self._told.wait()
            self._told = anyio.Event()
            await anyio.sleep(CALM_S)
            news, self._news = self._news, set()
            for kind in sorted(news):
                await self.tell_changed(kind)

    async def tell_changed(self, kind: str) -> None:
        """Tells him at once that a list became another, where he knows one."""
        if kind in self.listed:
            await self.bus.publish(_CHANGED[kind]())
            await self._tell(f"notifications/{kind}/list_changed", {})

    async def through(
        self,
        server: Asking,
        method: str,
        params: Mapping[str, Any],
        check: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        """The result of a request of his that this server is to answer. `check` is called before it is sent. Raises
        MCPError as the server, CallError, and InputRequiredError where he answers questions by repeating it."""
        call = CALL.get()
        progress = None
        if call is not None:
            progress = call.progress if call.wants_progress else None
            if method in INPUT_REQUIRED_METHODS:
                params = {**params, **call.repeated}
            if level := call.log_level:
                if server.modern:
                    params = {**params, "_meta": {**params.get("_meta", {}), LOG_LEVEL_META_KEY: level}}
                else:
                    await server.log_from(level)
        with self.calls.at(server.name):
            result = await server.request(method, params, progress, check)
            if not is_input_required(result):
                return result
            if self._modern:
                raise InputRequiredError(result)
            return await self._answered(server, method, params, result, progress, check)

    async def _answered(
        self,
        server: Asking,
        method: str,
        params: Mapping[str, Any],
        result: dict[str, Any],
        progress: ProgressFnT | None,
        check: Callable[[], None] | None,
    ) -> dict[str, Any]:
        """The result of a request that a server answered with questions, for a client of the time before."""
        for turn in range(MOST_ROUNDS):
            questions = result.get("inputRequests")
            answers: dict[str, Any] = {}
            for key, question in questions.items() if isinstance(questions, Mapping) else ():
                asked, about = (question.get(part) if isinstance(question, Mapping) else None for part in _QUESTION)
                if not isinstance(asked, str) or ASKS.get(asked) not in self._capabilities:
                    raise MCPError(METHOD_NOT_FOUND, f"the client cannot be asked {str(asked)[:80]}")
                answers[key] = await self.asked(server.name, asked, about if isinstance(about, Mapping) else {}, None)
            if not answers:
                await anyio.sleep(min(0.05 * 2**turn, 1))  # it only wants more time
            more = {"inputResponses": answers} if answers else {}
            state = {"requestState": result["requestState"]} if "requestState" in result else {}
            result = await server.request(method, {**params, **more, **state}, progress, check)
            if not is_input_required(result):
                return result
        raise MCPError(INTERNAL_ERROR, f"server {server.name} asked more than {MOST_ROUNDS} times for one request")

    async def _log(self, server: str, params: Mapping[str, Any]) -> None:
        logger = params.get("logger")
        named = {**params, "logger": f"{server}{BETWEEN}{logger}" if isinstance(logger, str) and logger else server}
        if not self._modern:
            await self._tell("notifications/message", named)
            return
        call, level = self.calls.related(server), params.get("level")
        if call is not None and call.log_level in _LEVELS and level in _LEVELS[_LEVELS.index(call.log_level) :]:
            message = cast("Any", _Message(method="notifications/message", params=named))
            await call.ctx.session.send_notification(message, call.ctx.request_id)

    async def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        """To a client of the time before 2026-07-28; others hear of changes by the bus, and of nothing else."""
        if self.session is not None and not self._modern and self._ready.is_set():
            message = cast("Any", _Message(method=method, params=dict(params) or None))
            await self.session.send_notification(message)
