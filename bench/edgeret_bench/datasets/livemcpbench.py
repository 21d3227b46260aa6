"""LiveMCPBench: tasks over the tools of 70 MCP servers. A task names its tools without their servers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_list
from edgeret_bench.datasets.schema import object_of

_NUMBERED = re.compile(r"\s*\d+[.)]\s*")


def read(folder: Path) -> Dataset:
    """`tools/tools.json` and `tasks/tasks.json`. Of tools of one name on several servers the first stays. Raises
    InputError."""
    collector = Collector("livemcpbench")
    for server in read_list(folder / "tools/tools.json", "LiveMCPBench's servers"):
        with collector.record():
            for listing in field(server, dict, "tools").values():
                for tool in field(listing, list, "tools"):
                    with collector.record():
                        _tool(collector, tool)
    for task in read_list(folder / "tasks/tasks.json", "LiveMCPBench's tasks"):
        with collector.record():
            noted = field(task, dict, "Annotator Metadata")
            names = _lines(field(noted, str, "Tools"))
            if not names:
                raise DirtyError("a task without tools")
            steps = _lines(noted.get("Steps"))
            collector.query(field(task, str, "task_id"), field(task, str, "Question"), names, steps)
    return collector.dataset()


def _tool(collector: Collector, tool: Any) -> None:
    name, about = field(tool, str, "name"), str(tool.get("description") or "")
    collector.tool(name, about, object_of(tool.get("inputSchema")))


def _lines(text: Any) -> list[str]:
    """The lines of "1. one\\n2. two" without their numbers."""
    found = (_NUMBERED.sub("", line, count=1).strip() for line in str(text or "").split("\n"))
    return [line for line in found if line]
