"""ToolRet: queries of many benchmarks over one large set of tools. A tool is known by its id; names are not unique."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_lines, read_list, read_parquet
from edgeret_bench.datasets.schema import make_object

_ENDINGS = ("json", "jsonl", "parquet")


def read(folder: Path, name: str = "toolret") -> Dataset:
    """All files `…tools….{json,jsonl,parquet}` and `…queries….{…}` below the folder. Raises InputError."""
    collector = Collector(name)
    for record in _records(folder, "tools"):
        with collector.record():
            _tool(collector, field(record, str, "id"), _decode(record.get("documentation")))
    for record in _records(folder, "queries"):
        with collector.record():
            names: list[str] = []
            for label in _decode(field(record, list | str, "labels")):
                name = field(label, str, "id")
                if name not in collector.tools and isinstance(label.get("doc"), dict | str):
                    _tool(collector, name, _decode(label["doc"]))
                if label.get("relevance", 1):
                    names.append(name)
            if not names:
                raise DirtyError("no label in it")
            collector.query(field(record, str, "id"), field(record, str, "query"), names)
    return collector.dataset()


def _tool(collector: Collector, identity: str, doc: Any) -> None:
    """The name is said in the description, since the id says nothing."""
    if not isinstance(doc, dict):
        collector.tool(identity, doc if isinstance(doc, str) else "", {})
        return
    name = _first(doc, "name", "tool_name", "api_name")
    about = _first(doc, "description", "desc", "doc_description", "api_description")
    collector.tool(
        identity, f"{name}: {about}" if name and about else name or about, _parameters(doc.get("parameters"))
    )


def _parameters(found: Any) -> dict[str, Any]:
    """Parameters come as a schema, as an object by name, as a list with names, or as text that is of no use here."""
    if isinstance(found, dict):
        if isinstance(found.get("properties"), dict):
            required = found.get("required")
            return make_object(found["properties"], required if isinstance(required, list) else ())
        return make_object({k: v for k, v in found.items() if isinstance(v, dict | str)})
    if isinstance(found, list):
        named = [p for p in found if isinstance(p, dict) and isinstance(p.get("name"), str)]
        return make_object(
            {p["name"]: {**(p["schema"] if isinstance(p.get("schema"), dict) else {}), **p} for p in named},
            [p["name"] for p in named if p.get("required") is True],
        )
    return {}


def _first(doc: dict[str, Any], *keys: str) -> str:
    return next((doc[k].strip() for k in keys if isinstance(doc.get(k), str) and doc[k].strip()), "")


def _decode(value: Any) -> Any:
    """JSON out of a string, or literals of Python; a string that is neither stays as it is. NaN, which JSON has not and
    ToolRet has, becomes null."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        pass
    if value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(value)
    return value


def _records(folder: Path, what: str) -> Iterator[Any]:
    below = (file for file in sorted(folder.rglob("*")) if file.suffix[1:] in _ENDINGS and file.is_file())
    files = [file for file in below if what in file.relative_to(folder).as_posix().rpartition("/")[2].lower()]
    if not files:
        raise InputError(
            f"{folder}: no file of ToolRet's {what} in it (a name with '{what}', as {', '.join(_ENDINGS)})"
        )
    for file in files:
        if file.suffix == ".parquet":
            yield from read_parquet(file)
        elif file.suffix == ".jsonl":
            yield from read_lines(file, f"ToolRet's {what}")
        else:
            yield from read_list(file, f"ToolRet's {what}")
