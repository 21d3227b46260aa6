"""LiveMCPBench: tasks over the tools of 70 MCP servers.

A task names its tools without their servers. Where several servers have a tool of that name, each counts as right, and
their names say the server.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_list
from edgeret_bench.datasets.schema import object_of

_NUMBERED = re.compile(r"\s*\d+[.)]\s*")
NO_SUCH_TOOL = "mended: a name of a task's tools that no server has was left out"


def read(folder: Path) -> Dataset:
    """`tools/tools.json` and `tasks/tasks.json`. Raises InputError."""
    collector = Collector("livemcpbench")
    by_name = _tools(collector, read_list(folder / "tools/tools.json", "LiveMCPBench's servers"))
    for task in read_list(folder / "tasks/tasks.json", "LiveMCPBench's tasks"):
        with collector.record():
            noted = field(task, dict, "Annotator Metadata")
            names: list[str] = []
            for name in _lines(field(noted, str, "Tools")):
                if name not in by_name:
                    collector.skip(NO_SUCH_TOOL)
                names += by_name.get(name, ())
            if not names:
                raise DirtyError("a task without a tool that a server has")
            steps = _lines(noted.get("Steps"))
            collector.query(field(task, str, "task_id"), field(task, str, "Question"), names, steps)
    return collector.dataset()


def _tools(collector: Collector, servers: Sequence[Any]) -> Mapping[str, Sequence[str]]:
    """Adds all tools; returns their names by the name that a task calls them."""
    found: list[tuple[str, str, Any]] = []
    for server in servers:
        with collector.record():
            for called, listing in field(server, dict, "tools").items():
                for tool in field(listing, list, "tools"):
                    with collector.record():
                        found.append((called, field(tool, str, "name").strip(), tool))
    times = Counter(name for _, name, _ in found)
    by_name: dict[str, list[str]] = {}
    for called, name, tool in found:
        whole = name if times[name] == 1 else f"{called}: {name}"
        collector.tool(whole, str(tool.get("description") or ""), object_of(tool.get("inputSchema")))
        if whole in collector.tools:
            by_name.setdefault(name, []).append(whole)
    return by_name


def _lines(text: Any) -> list[str]:
    """The lines of "1. one\\n2. two" without their numbers."""
    found = (_NUMBERED.sub("", line, count=1).strip() for line in str(text or "").split("\n"))
    return [line for line in found if line]
