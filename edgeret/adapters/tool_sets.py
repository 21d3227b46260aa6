"""Runtimes for lists of tools that come with each request, kept by content. Knows no message formats and no network."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from edgeret import EdgeretError, InputError, Runtime, Tool, from_tools, load, read_tool, without_hidden
from edgeret.adapters.reading_queue import ReadingQueue
from edgeret.records import dataclass

MOST_LISTS = 64
MOST_TOOLS = 50_000
"""Tools of all lists that are kept, some 2 kB each. A longer list is refused."""
MOST_WAITING = 16
"""Lists that are being made at once; clients that send new ones faster than they can be read wait for nothing."""
SLICE = 32
"""Tools that are read before another list gets its turn: a request waits for them, since an encoder does one thing at a
time."""

Definition = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Definitions:
    """A list of `tools` as it came: the name of every entry, None for one that is no function or cannot be read; and
    the functions, one a name. `key` stands for the content, whatever its order, `size` for its bytes as JSON. `clean`
    are, by their places, the entries in which something hid, without it."""

    names: tuple[str | None, ...]
    tools: tuple[Tool, ...]
    key: bytes
    size: int = 0
    clean: Mapping[int, Any] = field(default_factory=dict)

    @property
    def weight(self) -> int:
        """What keeping it costs, in tools of usual size."""
        return len(self.names) + self.size // 1024


def read_definitions(entries: Sequence[Any], definition: Definition) -> Definitions:
    """Reads them as `edgeret.read_tool` does; `definition` gives what that reads, or None. Never raises for what is in
    them.

    Of entries with one name the first says what the tool does.
    """
    names: list[str | None] = []
    tools: dict[str, Tool] = {}
    for entry in entries:
        tool = _tool(entry, definition)
        names.append(None if tool is None else tool.name)
        if tool is not None:
            tools.setdefault(tool.name, tool)
    content = [[tool.name, tool.description, tool.parameters, tool.examples] for _, tool in sorted(tools.items())]
    text = json.dumps(content, sort_keys=True).encode()
    return Definitions(tuple(names), tuple(tools.values()), digest(text), len(text), _clean(entries))


def _tool(entry: Any, definition: Definition) -> Tool | None:
    try:
        value = definition(entry)
        if value is None:
            return None
        return read_tool(value if isinstance(value, dict) else dict(value))
    except (InputError, RecursionError):
        return None


def _clean(entries: Sequence[Any]) -> dict[int, Any]:
    """The entries in which something hides, without it. What is no JSON is left alone."""
    try:
        whole = list(entries)
        found = without_hidden(whole)
    except (TypeError, ValueError):
        if len(entries) == 1:
            return {}
        return {i: clean[0] for i, entry in enumerate(entries) if (clean := _clean([entry]))}
    if found is whole:
        return {}
    return {i: clean for i, clean in enumerate(found) if _differ(clean, whole[i])}


def _differ(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except RecursionError:
        return True


def digest(content: bytes) -> bytes:
    """What stands for some content: equal contents have equal ones, and others do not."""
    return blake2b(content, digest_size=16).digest()


class ToolSets:
    """Runtimes by the content of their tools. Thread-safe.

    All share what was learned: it is kept by the names of tools, so what one list taught serves every other one that
    has these tools. A new list is made from the most similar one that is there, so only tools that changed are encoded.
    """

    def __init__(
        self,
        base: str | Path | Runtime,
        *,
        overlay: str | Path | None = None,
        lists: int = MOST_LISTS,
        tools: int = MOST_TOOLS,
        **options: Any,
    ) -> None:
        """`base` lends its encoder, and what it learned; a folder is loaded with `overlay`, the file that keeps what is
        learned (None: that lasts as long as this), and other `options` of `edgeret.load`. Raises what that raises."""
        kept = False if overlay is None else overlay
        self._base = base if isinstance(base, Runtime) else load(base, overlay=kept, **options)
        self._most_lists, self._most_tools = lists, tools
        self._made: OrderedDict[bytes, Future[Runtime]] = OrderedDict()
        self._weights: dict[bytes, int] = {}
        self._read: OrderedDict[bytes, Definitions] = OrderedDict()
        self._lock, self._queue = threading.Lock(), ReadingQueue(MOST_WAITING)

    def definitions(self, entries: Sequence[Any], definition: Definition, content: bytes | None = None) -> Definitions:
        """`read_definitions`, remembered by `content`, the list as JSON (None: it is written for that)."""
        try:
            key = digest(json.dumps(entries).encode() if content is None else content)
        except (TypeError, ValueError, RecursionError):  # not JSON: entries that cannot be read, and others
            return read_definitions(entries, definition)
        with self._lock:
            if (known := self._read.get(key)) is not None:
                self._read.move_to_end(key)
                return known
        known = read_definitions(entries, definition)
        with self._lock:
            self._read[key] = known
            while len(self._read) > self._most_lists or _total(self._read) > self._most_tools:
                self._read.popitem(last=False)
        return known

    def runtime(self, definitions: Definitions) -> Runtime:
        """The runtime for these tools, made if it is not there. Raises InputError for no tools, and EdgeretError."""
        return self.prepare(definitions).result()

    def prepare(self, definitions: Definitions, client: str = "") -> Future[Runtime]:
        """The same without waiting: it is made by a thread of its own, in which clients take turns. Raises EdgeretError
        where too much is asked for; all other errors are the future's."""
        if not definitions.tools:
            raise InputError("no function among the tools")
        if len(definitions.tools) > self._most_tools:
            raise InputError(f"{len(definitions.tools)} tools, at most {self._most_tools} are read; split the list")
        with self._lock:
            if (future := self._made.get(definitions.key)) is not None:
                self._made.move_to_end(definitions.key)
                return future
            future = self._made[definitions.key] = Future()
            self._weights[definitions.key] = definitions.weight

        def refuse(error: BaseException) -> None:
            with self._lock:
                if self._made.get(definitions.key) is future:
                    del self._made[definitions.key], self._weights[definitions.key]
            with suppress(InvalidStateError):
                future.set_exception(error)

        try:
            self._queue.add(client, len(definitions.tools), self._make(definitions.tools, future, refuse), refuse)
        except EdgeretError as error:
            refuse(error)
            raise
        return future

    def close(self) -> None:
        """Lets go of the overlay, so that another process may write to it."""
        self._base.close()

    def _make(
        self, tools: Sequence[Tool], future: Future[Runtime], refuse: Callable[[BaseException], None]
    ) -> Iterator[int]:
        """Makes the runtime out of the most similar one that there is, slice by slice; tells what is left."""
        try:
            runtime = self._nearest(tools)
            old: Mapping[str, Tool] = {} if runtime is None else runtime.tools
            new = {tool.name for tool in tools}
            gone, fresh = [name for name in old if name not in new], [t for t in tools if old.get(t.name) != t]
            for at in range(0, max(1, len(fresh)), SLICE):
                part = fresh[at : at + SLICE]
                if runtime is None:
                    runtime = Runtime(from_tools(part, base=self._base).loaded, self._base.learned)
                else:
                    add, replace = [t for t in part if t.name not in old], [t for t in part if t.name in old]
                    runtime = runtime.with_tools(add=add, remove=() if at else gone, replace=replace)
                if at + SLICE < len(fresh):
                    yield len(fresh) - at - SLICE
            assert runtime is not None
            with suppress(InvalidStateError):
                future.set_result(runtime)
            self._bound()
        except Exception as error:
            refuse(error)

    def _nearest(self, tools: Sequence[Tool]) -> Runtime | None:
        with self._lock:
            done = [future.result() for future in self._made.values() if future.done() and future.exception() is None]
        names = [tool.name for tool in tools]
        return max(done, key=lambda runtime: sum(n in runtime.tools for n in names) / len(runtime.tools), default=None)

    def _bound(self) -> None:
        """Lets go of what was not asked for for the longest time."""
        with self._lock:
            ready = [key for key, future in self._made.items() if future.done() and future.exception() is None]
            held = sum(self._weights[key] for key in ready)
            for key in ready[:-1]:
                if len(self._made) <= self._most_lists and held <= self._most_tools:
                    break
                del self._made[key]
                held -= self._weights.pop(key)


def _total(read: OrderedDict[bytes, Definitions]) -> int:
    return sum(definitions.weight for definitions in read.values()) if len(read) > 1 else 0


_shared: OrderedDict[object, ToolSets] = OrderedDict()
_sharing = threading.Lock()
_MOST_BASES = 4


def shared(base: str | Path | Runtime | ToolSets) -> ToolSets:
    """The tool sets over a base, the same ones at every call. Raises what `edgeret.load` raises."""
    if isinstance(base, ToolSets):
        return base
    key: object = base if isinstance(base, Runtime) else str(Path(base).absolute())
    with _sharing:
        if key not in _shared:
            _shared[key] = ToolSets(base)
            while len(_shared) > _MOST_BASES:
                with suppress(KeyError):
                    _shared.popitem(last=False)
        return _shared[key]


def either(base: str | Path | Runtime | ToolSets | None, runtime: Runtime | None) -> ToolSets | None:
    """The tool sets over a base, None where a runtime is given instead. Raises InputError for both and for none, and
    what `edgeret.load` raises."""
    if (base is None) == (runtime is None):
        raise InputError("give base, a bundle whose encoder reads the tools, or runtime, one that was made for them")
    return None if base is None else shared(base)
