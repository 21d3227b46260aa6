"""From a request's body to the one that is passed on, and what is said about it. Knows nothing of HTTP but paths."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from time import perf_counter
from typing import Any

from edgeret import EdgeretError, Runtime
from edgeret.adapters import openai
from edgeret.adapters.conversation import Conversation
from edgeret.adapters.gate.body import Body, NoBodyError, read_body
from edgeret.adapters.gate.expected import Expected
from edgeret.adapters.gate.lessons import Lesson, lesson
from edgeret.adapters.metrics import Metrics
from edgeret.adapters.selection import Amount, keep
from edgeret.adapters.tool_sets import Definitions, ToolSets
from edgeret.records import dataclass

MESSAGES = {b"/chat/completions": "messages", b"/responses": "input"}
"""Where a conversation stands, by the end of the path that is asked for."""
WAIT_S = 2.0
"""For a list of tools that was never seen to be read. A longer one is read all the same, for the next request."""
MOST_ENTRIES = 12_000
"""Tools of one request; reading a list of so many takes minutes already."""
LARGE_BYTES = 256 << 10
"""Bodies beyond this are read one at a time: while it is read, one may cost ten times its size."""
WORKERS = 2
"""Threads that read bodies and decide: an encoder has one core anyway."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The body to pass on, what to say of it, and what there may be to learn."""

    body: bytes
    told: str
    lesson: Lesson | None = None


class Trimmer:
    """Never raises but when it is cancelled: what it cannot trim it passes on as it came."""

    def __init__(self, sets: ToolSets, amount: Amount, wait_s: float = WAIT_S, metrics: Metrics | None = None) -> None:
        """`wait_s` bounds how long a request waits for a list of tools that was never seen; `metrics` count what is
        chosen."""
        self._sets, self._amount, self._wait_s = sets, amount, wait_s
        self.metrics = Metrics() if metrics is None else metrics
        self._expected = Expected(self.metrics)
        self._large = asyncio.Semaphore(1)
        self._workers = ThreadPoolExecutor(WORKERS, "edgeret-trim")

    async def trim(self, raw: bytes, messages: str, client: str = "") -> Trimmed:
        """A body whose conversation stands under the key `messages`; `client` stands for who sent it."""
        started, loop = perf_counter(), asyncio.get_running_loop()
        try:
            async with self._large if len(raw) > LARGE_BYTES else nullcontext():
                read = await loop.run_in_executor(self._workers, self._read, raw, messages)
        except NoBodyError as error:
            return Trimmed(raw, f"passed on: {error}")
        except Exception as error:
            return Trimmed(raw, f"passed on: {_reason(error)}")
        body, said, choice, definitions = read
        entries, hiding = len(definitions.names), definitions.clean
        dropped = f"; dropped what {len(hiding)} of them hid" if hiding else ""
        if hiding:
            raw = body.with_tools(range(entries), hiding)
        if isinstance(said, EdgeretError) or said.wanted is None or not definitions.tools:
            lacking = said if isinstance(said, EdgeretError) else "no words of the user"
            return Trimmed(raw, f"kept all {entries}: {lacking if definitions.tools else 'no functions'}{dropped}")
        try:
            making = asyncio.wrap_future(self._sets.prepare(definitions, client))
            making.add_done_callback(lambda made: made.cancelled() or made.exception())  # nobody may be waiting by then
            runtime = await asyncio.wait_for(asyncio.shield(making), self._wait_s)
            kept = await loop.run_in_executor(
                self._workers,
                lambda: self._kept(definitions, runtime, said, choice),
            )
            trimmed = raw if len(kept) == entries else body.with_tools(kept, hiding)
        except TimeoutError:
            return Trimmed(raw, f"kept all {entries}: reading them takes longer than {self._wait_s:g} s{dropped}")
        except Exception as error:
            return Trimmed(raw, f"kept all {entries}: {_reason(error)}{dropped}")
        spent = perf_counter() - started
        self.metrics.decided("all" if len(kept) == entries else "chosen", "selection", spent)
        told = f"kept {len(kept)} of {entries}; {spent * 1e3:.1f} ms{dropped}"
        return Trimmed(trimmed, told, lesson(runtime, said))

    def close(self) -> None:
        """Ends its threads."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _kept(self, definitions: Definitions, runtime: Runtime, said: Conversation, choice: Any) -> list[int]:
        """What is kept; what was called since is compared with what stood first."""
        wanted, calls = str(said.wanted), [call.tool for call in said.calls]
        self._expected.hear(wanted, calls)

        def tell(first: str) -> None:
            self._expected.expect(wanted, calls, first)

        return keep(openai.SHAPE, definitions, runtime, said, choice, self._amount, tell=tell)

    def _read(self, raw: bytes, messages: str) -> tuple[Body, Conversation | EdgeretError, Any, Definitions]:
        body, fields = read_body(raw)
        tools = fields.get("tools")
        if not isinstance(tools, list):
            raise NoBodyError("no tools")
        if len(tools) > MOST_ENTRIES:
            raise NoBodyError(f"{len(tools)} tools, of which at most {MOST_ENTRIES} are read")
        definitions = self._sets.definitions(tools, openai.definition, body.tools_text)
        said: Conversation | EdgeretError
        try:
            said = openai.conversation(fields.get(messages))
        except EdgeretError as error:
            said = error
        return body, said, fields.get("tool_choice"), definitions


def _reason(error: Exception) -> str:
    """What is said of an error: of ours the words, of any other its kind alone, since it may hold what users wrote."""
    return str(error) if isinstance(error, EdgeretError) else type(error).__name__
