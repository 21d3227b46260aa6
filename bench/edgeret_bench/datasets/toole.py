"""ToolE (MetaTool): queries with the one plugin, or the two, that fit. Queries only, as no order is given."""

from __future__ import annotations

from pathlib import Path

from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_list, read_object, read_table


def read(folder: Path) -> Dataset:
    """`all_clean_data.csv`, `multi_tool_query_golden.json` and the two files of descriptions. Raises InputError."""
    collector = Collector("toole")
    for file in ("plugin_des.json", "big_tool_des.json"):
        for name, description in read_object(folder / file, "ToolE's descriptions by name").items():
            if name not in collector.tools:
                collector.tool(name, str(description), {})
    by_lower = {name.lower(): name for name in collector.tools}

    def find(label: str) -> str:
        label = label.strip()
        return label if label in collector.tools else by_lower.get(label.lower(), label)

    for number, row in enumerate(read_table(folder / "all_clean_data.csv", "ToolE's queries with one tool")):
        with collector.record():
            collector.query(f"s{number}", field(row, str, "Query"), [find(field(row, str, "Tool"))])
    golden = read_list(folder / "multi_tool_query_golden.json", "ToolE's queries with two tools")
    for number, entry in enumerate(golden):
        with collector.record():
            labels = field(entry, list, "tool")
            if not labels or not all(isinstance(label, str) for label in labels):
                raise DirtyError('"tool" of a record is no list of names')
            collector.query(f"m{number}", field(entry, str, "query"), [find(label) for label in labels])
    return collector.dataset()
