"""A runtime that answers objects with objects, those of the command line's `--json`. Knows nothing of HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from edgeret import BundleStore, Call, Decision, Demonstration, InputError, Runtime, Task, Tool, __version__, read_tool
from edgeret.adapters.serve.kinds import MisfitError
from edgeret.adapters.serve.sessions import Sessions
from edgeret.quoting import quoted, suggestion

Fields = Mapping[str, Any]


class OffError(InputError):
    """What was not allowed when this was started."""


@dataclass(slots=True)
class Changes:
    """Tools that are not as the bundle has them: names to "added" or "replaced", and those `removed`."""

    sources: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

    @staticmethod
    def of(changes: Any) -> Changes:
        """Of names that were added, replaced and removed, as an overlay and a store have them."""
        sources = dict.fromkeys(changes.added, "added") | dict.fromkeys(changes.replaced, "replaced")
        return Changes(sources, sorted(changes.removed))


class Service:
    """Thread-safe."""

    def __init__(
        self,
        given: Runtime | BundleStore,
        *,
        learns: bool = False,
        changes: bool = True,
        overlay: Path | None = None,
        changed: Changes | None = None,
    ) -> None:
        """`learns` and `changes` say what may be asked; `overlay` is the file that a runtime was loaded with, and
        `changed` what that holds of tools. With a store its active version decides, and what begins with one version
        ends with it, whatever is switched to meanwhile; `overlay` says where changed tools are kept, None for nowhere.
        """
        self._store = given if isinstance(given, BundleStore) else None
        self._given, self._learns, self._changes, self._overlay = given, learns, changes, overlay
        self._changed = Changes() if changed is None else changed
        self._sessions = Sessions()
        self._changing = threading.Lock()
        self._does: Mapping[str, Callable[[Fields], dict[str, Any]]] = {
            "decide": self.decide,
            "search": self.search,
            "plan": self.plan,
            "learn": self.learn,
            "tools": self.tools,
            "change": self.change,
            "health": self.health,
        }

    @property
    def runtime(self) -> Runtime:
        """With the tools that there are now, of the version that is active now."""
        return self._given.runtime if isinstance(self._given, BundleStore) else self._given

    def do(self, name: str, fields: Fields) -> dict[str, Any]:
        """Does what an action of the table is called, with fields that were checked. Raises EdgeretError."""
        return self._does[name](fields)

    def decide(self, fields: Fields) -> dict[str, Any]:
        """As `select --json`. Raises InputError, PlannerError or MissingExtraError."""
        runtime, query, allowed = self.runtime, fields.get("query"), fields.get("allowed")
        calls = None if "calls" not in fields else _calls(fields["calls"])
        if "session" in fields:
            with self._sessions.task(fields["session"], runtime, query, calls, allowed, _now(fields)) as task:
                return _decided(task, fields)
        if query is None:
            raise MisfitError("query", "is missing; it is the user's words")
        _check_names(runtime, fields)
        return _decided(runtime.task(query, calls or (), tools=allowed, now=_now(fields)), fields)

    def search(self, fields: Fields) -> dict[str, Any]:
        """As `search --json`. Raises InputError."""
        if ("query" in fields) == ("queries" in fields):
            raise MisfitError("query", "give it, or queries, and not both")
        texts = fields.get("queries", [fields.get("query")])
        runtime, strategy = self.runtime, fields.get("strategy", "auto")
        needed = fields.get("needed", False)
        found = runtime.search_with_trace(texts, fields.get("k", 10), strategy=strategy, needed=needed)
        return searched(runtime, list(dict.fromkeys(texts)), strategy, found)

    def plan(self, fields: Fields) -> dict[str, Any]:
        """As `plan --json`. Raises InputError, PlannerError or MissingExtraError."""
        options = {name: fields[name] for name in ("policy", "max_steps", "arguments") if name in fields}
        return self.runtime.plan(fields["query"], now=_now(fields), **options).to_dict()

    def learn(self, fields: Fields) -> dict[str, Any]:
        """As `learn --json`. Raises OffError, InputError and OverlayError."""
        if not self._learns:
            raise OffError("learning is off; start it with --learn")
        _check_names(self.runtime, fields)
        calls = tuple(call if isinstance(call, Call) else Call(call) for call in _calls(fields["calls"]))
        shown = Demonstration("served", fields["query"], calls)
        report = self.runtime.learn([shown], keep_words=fields.get("keep_words", True))
        return {**report.to_dict(), **_kept(self._overlay if self._store is None else self._store.overlay)}

    def tools(self, _: Fields) -> dict[str, Any]:
        """As `tools list --json`. Raises nothing."""
        changed = self._changed if self._store is None else Changes.of(self._store.changes)
        return listed(self.runtime, changed, self._overlay)

    def change(self, fields: Fields) -> dict[str, Any]:
        """As `tools add --json`. Raises OffError, InputError and OverlayError."""
        if not self._changes:
            raise OffError("tools cannot change; start it without --read-only")
        if not fields.get("add") and not fields.get("remove"):
            raise MisfitError("add", "is missing, and so is remove; give one of them")
        tools = [_tool(entry, place) for place, entry in enumerate(fields.get("add", ()))]
        with self._changing:
            return self._change(tools, list(dict.fromkeys(fields.get("remove", ()))), fields.get("replace", False))

    def health(self, _: Fields) -> dict[str, Any]:
        """What there is. Raises nothing."""
        runtime, store = self.runtime, self._store
        told = {
            "ok": True,
            "version": __version__,
            "content_hash": runtime.manifest.content_hash,
            "tools": len(runtime.tools),
            "learned": runtime.learned.count,
            "learning": self._learns,
            "changing": self._changes,
        }
        if store is not None:
            trouble = store.trouble
            told |= {"bundle": store.version.name, "trouble": None if trouble is None else str(trouble)}
        return told

    def warm(self) -> None:
        """Answers once what clients ask most, so that the first of them does not wait for what is loaded late."""
        self.runtime.warmup()
        _decided(self.runtime.task("warm up"), {"policy": "heads", "arguments": True})

    def close(self) -> None:
        """Lets go of the overlay, and of the store."""
        self._given.close()

    def _change(self, tools: Sequence[Tool], gone: list[str], replaces: bool) -> dict[str, Any]:
        runtime = self.runtime
        there = [tool for tool in tools if tool.name not in gone and runtime.tools.get(tool.name, tool) != tool]
        if there and not replaces:
            raise InputError(
                f"{len(there)} of {len(tools)} tools are there already and differ, the first is {there[0].name}; add "
                '"replace": true to replace them'
            )
        fresh = [tool for tool in tools if tool.name in gone or tool.name not in runtime.tools]
        keep = self._overlay is not None
        if isinstance(self._given, BundleStore):
            after = self._given.with_tools(add=fresh, remove=gone, replace=there, keep=keep)
        else:
            self._given = after = runtime.with_tools(add=fresh, remove=gone, replace=there, keep=keep)
            self._changed = _summed(self._changed, fresh, gone, there)
        return altered(after, fresh, gone, there, self._overlay)


def searched(runtime: Runtime, texts: Sequence[str], strategy: str, found: Any) -> dict[str, Any]:
    """What was found for texts, with its trace, as JSON-ready data."""
    return {
        "query": texts[0],
        "queries": list(texts),
        "strategy": strategy,
        "index": runtime.loaded.index_kind,
        "hits": [hit.to_dict() for hit in found.hits],
        "complete": found.trace.complete,
        "problem": found.trace.problem,
    }


def listed(runtime: Runtime, changed: Changes, overlay: Path | None) -> dict[str, Any]:
    """The tools, which of them changed, and where that is kept."""
    told = [
        {"name": tool.name, "description": tool.description, "source": changed.sources.get(tool.name, "bundle")}
        for tool in runtime.tools.values()
    ]
    return {"tools": told, "removed": list(changed.removed), "overlay": None if overlay is None else str(overlay)}


def altered(
    after: Runtime, added: Sequence[Tool], removed: Sequence[str], replaced: Sequence[Tool], overlay: Path | None
) -> dict[str, Any]:
    """What became of the tools, and where that is kept."""
    return {
        "added": [tool.name for tool in added],
        "removed": list(removed),
        "replaced": [tool.name for tool in replaced],
        "tools": len(after.tools),
        **_kept(overlay),
    }


def decided(decision: Decision, arguments: bool, explained: bool, instead: str | None = None) -> dict[str, Any]:
    """A decision, with its call's `arguments` and with why it came out so where that is wanted."""
    told = decision.to_dict()
    if arguments:
        told["arguments"] = {name: one.to_dict() for name, one in decision.arguments.items()}
        told["missing"] = dict(decision.missing)
    if explained:
        told["explanation"] = decision.explain(instead).to_dict()
    return told


def _kept(path: Path | None) -> dict[str, Any]:
    size = path.stat().st_size if path is not None and path.exists() else 0
    return {"overlay": None if path is None else str(path), "overlay_bytes": size}


def _now(fields: Fields) -> datetime:
    return datetime.fromisoformat(fields["now"]) if "now" in fields else datetime.now().astimezone()


def _decided(task: Task, fields: Fields) -> dict[str, Any]:
    for failure in fields.get("failed", ()):
        tool, reason = (failure, "") if isinstance(failure, str) else (failure["tool"], failure.get("reason", ""))
        known = ((one.tool, one.after) for one in task.failures)
        if (tool, len(task.calls)) not in known:  # a session's turn may be asked twice
            task.failed(tool, reason)
    options = {name: fields[name] for name in ("policy", "risk", "k") if name in fields}
    return decided(task.next(**options), fields.get("arguments", False), fields.get("explain", False))


def _check_names(runtime: Runtime, fields: Fields) -> None:
    """Raises MisfitError for a tool that there is not: where the client named it, and how a client finds others. A
    session's turn may name tools that it began with, so its task checks them."""
    for name in ("calls", "allowed", "failed"):
        for place, given in enumerate(fields.get(name, ())):
            tool, within = (given, "") if isinstance(given, str) else (given["tool"], ".tool")
            if tool not in runtime.tools:
                near = suggestion(tool, runtime.tools)
                raise MisfitError(
                    f"{name}[{place}]{within}", f"unknown tool {quoted(tool)}; ask for tools to see all{near}"
                )


def _calls(given: Sequence[Any]) -> list[str | Call]:
    return [
        call if isinstance(call, str) else Call(call["tool"], call.get("arguments", {}), call.get("result"))
        for call in given
    ]


def _tool(entry: Any, place: int) -> Tool:
    path = f"add[{place}]"
    try:
        return read_tool(entry, path)
    except InputError as error:
        raise MisfitError(path, str(error).removeprefix(f"{path}: ")) from None


def _summed(before: Changes, added: Sequence[Tool], gone: Sequence[str], replaced: Sequence[Tool]) -> Changes:
    """What is not as the bundle has it, after another change."""
    sources, removed = dict(before.sources), list(before.removed)
    for name in gone:
        if sources.pop(name, "bundle") != "added":
            removed.append(name)
    for tool in added:
        sources[tool.name] = "replaced" if tool.name in removed else "added"
    for tool in replaced:
        sources[tool.name] = "added" if sources.get(tool.name) == "added" else "replaced"
    return Changes(sources, [name for name in removed if name not in sources])
