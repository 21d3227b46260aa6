"""The tools that the client is shown, and what becomes of its calls: finds, calls, follows a request, learns. Knows
nothing of sessions and of how servers are kept running."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Literal, Protocol

import anyio
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import INVALID_PARAMS

from edgeret import EdgeretError
from edgeret.adapters.asked import HOW, PROPERTIES, asked
from edgeret.adapters.mcp.answers import failed, text
from edgeret.adapters.mcp.catalogue import Catalogue
from edgeret.adapters.mcp.config import Say
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.mcp.long_results import READ_MORE, LongResults
from edgeret.adapters.mcp.request import Request
from edgeret.adapters.mcp.upstream import CallError
from edgeret.adapters.metrics import Metrics
from edgeret.outcomes import outcome
from edgeret.quoting import quoted, shortened
from edgeret.records import dataclass

Mode = Literal["search", "trim"]
FIND, CALL = "find_tools", "call_tool"
"""Names of the proxy's own tools; a server's tools have two underscores in theirs."""
NOTHING_FITS = "No tool of these servers seems to do that. Say it in other words, or go on without a tool."


class Servers(Protocol):
    """What stands behind the proxy."""

    async def call(
        self, tool: Definition, arguments: Any, meta: Mapping[str, Any], progress: ProgressFnT | None
    ) -> dict[str, Any]:
        """Passes a call on to the server that has the tool. Raises MCPError as the server, and CallError."""

    async def started(self, name: str) -> None:
        """Returns when it is known whether the server that has a tool of that name is there."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Servers that are not there, and why."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the client is shown: the mode, how many tools a search gives (and mode `trim` lists), and the servers."""

    mode: Mode
    k: int
    servers: Sequence[str]

    @property
    def find(self) -> dict[str, Any]:
        """The tool that finds tools."""
        then = f"call them with {CALL}" if self.mode == "search" else "then call them by their names"
        return {
            "name": FIND,
            "description": f"Finds tools of these servers: {', '.join(self.servers)}. Give queries: {HOW}; {then}.",
            "inputSchema": {"type": "object", "properties": PROPERTIES},
            "annotations": {"readOnlyHint": True},
        }

    @property
    def call(self) -> dict[str, Any]:
        """The tool that calls what was found."""
        return {
            "name": CALL,
            "description": f"Calls a tool that {FIND} found, with arguments as its inputSchema says.",
            "inputSchema": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["name"],
            },
        }


class Toolbox:
    """What one client sees of all servers' tools."""

    def __init__(
        self,
        shown: Shown,
        catalogue: Catalogue,
        servers: Servers,
        learns: bool,
        long: LongResults | None,
        tell: Callable[[], Awaitable[None]],
        say: Say,
        metrics: Metrics | None = None,
    ) -> None:
        """`long` cuts long results, `tell` is awaited where the list of tools became another, `metrics` count searches.
        `settled` is to be set when the tools of all servers that start are there."""
        self._metrics = Metrics() if metrics is None else metrics
        self.settled = anyio.Event()
        self._shown, self._catalogue, self._servers, self._learns = shown, catalogue, servers, learns
        self._long, self._tell, self._say = long, tell, say
        self._request = Request()
        self._told: set[str] = set()
        self._done: asyncio.Queue[tuple[str | None, str]] = asyncio.Queue()

    async def listed(self) -> list[Mapping[str, Any]]:
        """The definitions for `tools/list`."""
        more = [] if self._long is None else [self._long.definition]
        if self._shown.mode == "search":
            return [self._shown.find, self._shown.call, *more]
        await self.settled.wait()
        known = self._catalogue.definitions
        return [self._shown.find, *more, *(known[name].shown for name in self._request.shown if name in known)]

    async def changed(self) -> None:
        """The tools that are there became others; the client is told where that changes its list."""
        if self._shown.mode == "trim" and await self._trim():
            await self._tell()

    async def call(
        self, name: str, arguments: dict[str, Any] | None, meta: Mapping[str, Any], progress: ProgressFnT | None
    ) -> dict[str, Any]:
        """The result of a call that the client made, of a tool of the proxy's own or of a server's. Raises MCPError."""
        if name == FIND:
            return await self._find(arguments)
        if name == READ_MORE and self._long is not None:
            return self._long.read(arguments or {})
        if name == CALL and self._shown.mode == "search":
            try:
                name, arguments = called(arguments or {})
            except ValueError as error:
                return failed(str(error))
        if name not in self._catalogue.definitions:
            await self._servers.started(name)
        tool = self._catalogue.definitions.get(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name[:80]}; find tools with {FIND}")
        try:
            result = await self._servers.call(tool, arguments, meta, progress)
        except CallError as error:
            return failed(str(error))
        # SDKs send a false `isError` by themselves, so that one says nothing.
        flag = True if result.get("isError") is True else None
        if outcome(result.get("content") or result.get("structuredContent"), flag) == "worked":
            if self._request.stood_first(tool.exposed) is False:
                self._metrics.corrected()
            self._done.put_nowait((self._request.worked(tool.exposed), tool.exposed))
        return result if self._long is None else self._long.cut(result)

    async def follow(self) -> None:
        """Takes up calls that worked, one after the other; nobody waits for what is made of them."""
        while True:
            query, tool = await self._done.get()
            try:
                await self._worked(query, tool)
            finally:
                self._done.task_done()

    async def followed(self) -> None:
        """Returns when all calls so far were taken up."""
        await self._done.join()

    async def _find(self, given: dict[str, Any] | None) -> dict[str, Any]:
        try:
            texts = asked(given)
            await self.settled.wait()
            began = perf_counter()
            scores, needed = await anyio.to_thread.run_sync(self._found, texts)
        except EdgeretError as error:
            return failed(str(error))
        self._metrics.decided("chosen" if scores else "declined", "search", perf_counter() - began)
        query, *more = texts
        self._request.search(query, list(scores), more)
        await self.changed()
        known = self._catalogue.definitions
        found = [{**known[name].found, "score": round(score, 3)} for name, score in scores.items() if name in known]
        found += [
            {**known[name].found, "score": round(score, 3), "neededFor": taker}
            for name, (score, taker) in needed.items()
            if name in known and taker in known
        ]
        answer: dict[str, Any] = {"tools": found}
        if not found:
            answer["nothingFits"] = NOTHING_FITS
        if absent := self._servers.absent:
            answer["serversNotThereNow"] = dict(absent)
        return {"content": [text(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))]}

    def _found(self, texts: Sequence[str]) -> tuple[dict[str, float], dict[str, tuple[float, str]]]:
        """What a search finds, and what calls of that need first."""
        scores = self._catalogue.find(texts, self._shown.k)
        return scores, self._catalogue.needed(scores, self._shown.k)

    async def _worked(self, query: str | None, tool: str) -> None:
        if self._learns and query is not None:
            try:
                await anyio.to_thread.run_sync(self._catalogue.learn, query, tool)
            except EdgeretError as error:
                if (line := f"not learned: {error}") not in self._told:
                    self._told.add(line)
                    self._say(line)
        await self.changed()

    async def _trim(self) -> bool:
        """Chooses the tools that are listed; whether they are others than before."""
        request, known = self._request, self._catalogue.definitions
        if not request.query:
            return request.show(_some_of_each(known, self._shown.k))
        likely, texts = self._catalogue.likely, (request.query, *request.more)
        return request.show(await anyio.to_thread.run_sync(likely, texts, tuple(request.calls), self._shown.k))


def _some_of_each(known: Mapping[str, Definition], k: int) -> list[str]:
    """`k` tools where nobody said yet what is wanted: the first of every server, then the second ones."""
    rank: dict[str, int] = {}
    place: dict[str, int] = {}
    for name, tool in known.items():
        place[name] = rank[tool.server] = rank.get(tool.server, -1) + 1
    return sorted(known, key=place.__getitem__)[:k]


def called(given: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """The tool that is to be called, and its arguments, which many models write as JSON text. Raises ValueError, in
    words for the model, for what would be called in another way than it was meant."""
    name, arguments = given.get("name"), given.get("arguments")
    if beside := [key for key in given if key not in ("name", "arguments")]:
        raise ValueError(
            f'{CALL} takes "name" and "arguments" alone, found {", ".join(map(quoted, beside[:5]))} beside them; what '
            f'the tool itself takes belongs into "arguments": {_form(name, beside)}'
        )
    for _ in range(2):  # some write the text of a text
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments) if arguments.strip() else None
            except (ValueError, RecursionError):
                raise ValueError(f'"arguments" are a text that is no JSON; {CALL} takes {_form(name, [])}') from None
    if not isinstance(name, str) or not name or not isinstance(arguments, dict | None):
        raise ValueError(f"{CALL} takes {_form(name, [])}")
    return name, arguments


def _form(name: Any, keys: Sequence[str]) -> str:
    """How a call is written."""
    inside = ", ".join(f"{json.dumps(shortened(key))}: …" for key in keys[:5]) or "…"
    return f'{{"name": {json.dumps(shortened(name) if isinstance(name, str) else "NAME")}, "arguments": {{{inside}}}}}'
