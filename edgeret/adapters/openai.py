"""Chat completions and Responses, as OpenAI and everybody who is compatible with it write them, and OpenAI's
tool search with edgeret as the search. Calls no model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import InputError, Runtime
from edgeret.adapters.asked import usable
from edgeret.adapters.choosing import chosen
from edgeret.adapters.conversation import Conversation, Reader, objects
from edgeret.adapters.plain import field, name_in, record, records, texts, tool
from edgeret.adapters.searching import DEFAULT_K, DESCRIPTION, PARAMETERS, Search
from edgeret.adapters.selection import Amount, Shape
from edgeret.adapters.tool_sets import ToolSets
from edgeret.outcomes import outcome

_TEXTS = ("text", "input_text")


def select_tools(
    messages: str | Sequence[Any],
    tools: Sequence[Any],
    *,
    base: str | Path | Runtime | ToolSets | None = None,
    runtime: Runtime | None = None,
    k: int | None = None,
    coverage: float | None = None,
    tool_choice: Any = None,
    queries: str | Sequence[str] | None = None,
) -> list[Any]:
    """Those of `tools` that a model needs to be shown, the same objects in the same order.

    `messages` are those of a chat completion, or the `input` of a response. `base` is a bundle whose encoder reads the
    tools as they come (they are remembered by content), `runtime` one that was made for them already. `k` bounds how
    many are kept (default: 16); with `coverage` it is the most probable ones until their probabilities add up to that.
    `queries`, one to four texts, say what needed tools should do ("look up the delays of a train"), if somebody knows:
    what they find and what the messages find is taken in turns.
    What was called before in the conversation, what `tool_choice` forces, and entries that are no functions are kept
    besides; and all, where nobody said anything. Messages and tools may be the SDK's own objects. Raises InputError for
    options out of range, and for messages and words that cannot be read; and what `edgeret.load` raises.
    """
    return list(chosen(SHAPE, messages, tools, tool_choice, base, runtime, Amount(k, coverage), queries).values())


def definition(entry: Any) -> Mapping[str, Any] | None:
    """A function as `edgeret.read_tool` reads it; None for built-in and custom tools."""
    if not isinstance(entry, Mapping) or entry.get("type") != "function":
        return None
    function = entry.get("function", entry)
    return function if isinstance(function, Mapping) else None


def conversation(messages: Any) -> Conversation:
    """What messages or items say: dicts, and the SDK's own objects. Raises InputError for what cannot be read."""
    reader = Reader()
    if isinstance(messages, str):
        reader.said([messages])
        return reader.read()
    for i, item in enumerate(records(messages, "messages")):
        role, kind, where = item.get("role"), item.get("type"), f"messages[{i}]"
        if role == "user":
            reader.said(texts(item.get("content"), _TEXTS, f"{where}.content"))
        elif role == "assistant":
            for call in records(item.get("tool_calls"), f"{where}.tool_calls"):
                reader.call(call.get("id"), name_in(call, "function", "name") or name_in(call, "custom", "name"))
            if name := name_in(item, "function_call", "name"):  # before tools there were functions, one at a time
                reader.call(f"function {name}", name)
        elif role == "tool":
            reader.result(item.get("tool_call_id"), outcome(item.get("content")))
        elif role == "function":
            reader.result(f"function {item.get('name')}", outcome(item.get("content")))
        elif kind in ("function_call", "custom_tool_call"):
            reader.call(item.get("call_id"), item.get("name"))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            reader.result(item.get("call_id"), outcome(item.get("output")))
    return reader.read()


def forced(tool_choice: Any) -> frozenset[str]:
    """The functions that a choice names: one that must be called, or those that are allowed."""
    if not isinstance(tool_choice, Mapping):
        return frozenset()
    allowed = tool_choice.get("allowed_tools")
    listed = (
        tool_choice.get("tools") if allowed is None else allowed.get("tools") if isinstance(allowed, Mapping) else []
    )
    entries = [tool_choice, *objects(listed)]
    names = (name_in(entry, "function", "name") or name_in(entry, "name") for entry in entries)
    return frozenset(name for name in names if name is not None)


SHAPE = Shape(definition, conversation, forced)


class ToolSearch:
    """A `tool_search` that the client executes, for `tools=` of `responses.create`. Thread-safe; one serves all
    conversations."""

    def __init__(
        self,
        tools: Sequence[Any],
        *,
        base: str | Path | Runtime | ToolSets | None = None,
        runtime: Runtime | None = None,
        k: int = DEFAULT_K,
        always: Collection[str] = (),
    ) -> None:
        """`tools` are those of the Responses API, namespaces among them; functions of chat completions are written as
        these. `base` is a bundle whose encoder reads them, `runtime` one that was made for them. A search gives `k`
        tools. Those `always` loaded, those with `defer_loading` false, and OpenAI's own are not searched for. Raises
        InputError for options that do not fit, and what `edgeret.load` raises."""
        flat = [each for entry in tools for each in _functions(tool(entry))]
        self._namespaces = [namespace for _, namespace in flat]
        self._search = Search([entry for entry, _ in flat], definition, base, runtime, k, always)
        loaded = [i for i in range(len(flat)) if i not in self._search.deferred]
        own = {"type": "tool_search", "execution": "client", "description": DESCRIPTION, "parameters": PARAMETERS}
        self.tools: list[Any] = [own, *self._written(loaded, {})]
        """What is given as `tools` with every request, always the same, so that it is cached."""

    def asks(self, item: Any) -> bool:
        """Whether an item of a response's output asks this search; the model may have asked OpenAI's own."""
        return record(item, "item").get("type") == "tool_search_call" and field(item, "execution") != "server"

    def answer(self, item: Any) -> dict[str, Any]:
        """The `tool_search_output` for such an item: the tools that fit best, none for a call without words. It has no
        place to say what could not be read, so what can be is searched for. Raises InputError for an item that is none.
        """
        if not self.asks(item):
            raise InputError("item is no tool_search_call for the client; ask asks(item) first")
        texts = usable(field(item, "arguments"))
        found = self._search.find(texts) if texts else []
        return {
            "type": "tool_search_output",
            "call_id": field(item, "call_id"),
            "execution": "client",
            "status": "completed",
            "tools": self._written(found, {"defer_loading": True}),
        }

    def _written(self, places: Sequence[int], more: Mapping[str, Any]) -> list[Any]:
        """These entries, each namespace once with those of its functions that are among them."""
        written: list[Any] = []
        spaces: dict[str, list[Any]] = {}
        for i in places:
            entry, namespace = self._search.entries[i], self._namespaces[i]
            function = {**entry, **more} if isinstance(entry, Mapping) else entry
            if namespace is None:
                written.append(function)
                continue
            name = str(namespace.get("name"))
            if name not in spaces:
                spaces[name] = []
                written.append({**namespace, "tools": spaces[name]})
            spaces[name].append(function)
        return written


def _functions(entry: Any) -> list[tuple[Any, Mapping[str, Any] | None]]:
    """An entry as the Responses API has it, or those of a namespace, each with that."""
    if not isinstance(entry, Mapping):
        return [(entry, None)]
    inner = entry.get("tools")
    if entry.get("type") == "namespace" and isinstance(inner, list | tuple):
        return [(tool(each), entry) for each in inner]
    function = entry.get("function")
    if entry.get("type") != "function" or not isinstance(function, Mapping):
        return [(entry, None)]
    kept = {key: value for key, value in entry.items() if key != "function"}
    return [({"parameters": None, "strict": False, **kept, **function}, None)]
