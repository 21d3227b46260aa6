"""TaskBench, three domains, in the form of its repository and of its hub release (where the lists are strings).

Nodes are written in any order; the links and the references `<node-j>` (j counts nodes as written) give the real one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_json, read_lines
from edgeret_bench.datasets.plans import order_calls, refer
from edgeret_bench.datasets.schema import make_object

_NODE = re.compile(r"<node-(\d+)>")
_ALIAS = re.compile(r"<output_of_(.+)>")
Specs = Mapping[str, Mapping[str, Any]]


def read(folder: Path, name: str = "taskbench") -> Dataset:
    """`data.json` and `tool_desc.json` of one domain. Raises InputError."""
    collector = Collector(name)
    specs: dict[str, Mapping[str, Any]] = {}
    listed = read_json(folder / "tool_desc.json", "TaskBench's tools")
    for node in listed.get("nodes", []) if isinstance(listed, dict) else []:
        with collector.record():
            tool = field(node, str, "id")
            specs[tool] = node
            properties, required = _parameters(node)
            collector.tool(tool, field(node, str, "desc"), make_object(properties, required))
    for record in read_lines(folder / "data.json", "TaskBench's samples"):
        with collector.record():
            _plan(collector, record, specs)
    return collector.dataset()


def _plan(collector: Collector, record: Any, specs: Specs) -> None:
    nodes = _decode(field(record, list | str, "tool_nodes", "task_nodes"))
    names = [_known(field(node, str, "task"), specs) for node in nodes]
    edges = _named_links(names, _decode(field(record, list | str, "tool_links", "task_links")), specs)
    arguments: list[tuple[Any, ...]] = []
    for j, node in enumerate(nodes):
        sources: set[int] = set()
        values = []
        for value in _decode(node.get("arguments") or []):
            value = _alias(value, names, j, specs)
            _, found = refer(value, _NODE, lambda k: _position(k, len(nodes)))
            sources |= found
            values.append(value)
        edges |= {(i, j) for i in sources}
        arguments.append(tuple(values))
    order = order_calls(len(nodes), edges)
    place = {old: new for new, old in enumerate(order)}
    calls = [(names[old], _arguments(collector, names, old, arguments[old], specs, place)) for old in order]
    links = [(place[i], place[j]) for i, j in edges]
    collector.plan(str(record.get("id", "")), field(record, str, "instruction", "user_request"), calls, links)


def _arguments(
    collector: Collector, names: Sequence[str], node: int, values: Sequence[Any], specs: Specs, place: Mapping[int, int]
) -> dict[str, Any]:
    """Arguments by name. Where the original has positions only, an output goes where its type fits, the rest in turn.

    A value is given under the first parameter that is left; one more than there are parameters is left out, counted.
    """
    properties = _parameters(specs[names[node]])[0]
    found: dict[str, Any] = {}
    later: list[str] = []
    for value in values:
        if isinstance(value, dict):
            found[str(value.get("name"))] = refer(value.get("value"), _NODE, lambda k: place[int(k)])[0]
            continue
        renamed = refer(str(value), _NODE, lambda k: place[int(k)])[0]
        whole = _NODE.fullmatch(str(value).strip())
        made = _kinds(specs[names[int(whole[1])]], "output-type") if whole else []
        fitting = next((key for key, p in properties.items() if key not in found and p["description"] in made), None)
        if fitting is None:
            later.append(renamed)
        else:
            found[fitting] = renamed
    free = [key for key in properties if key not in found]
    for key, value in zip(free, later, strict=False):
        found[key] = value
    for _ in later[len(free) :]:
        collector.skip("mended: an argument more than the tool takes was left out")
    return found


def _parameters(spec: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Parameters and the required ones. Tools of models have no names for them: the type of the input is the name."""
    if "input-type" in spec:
        kinds = _kinds(spec, "input-type")
        several = {kind for kind in kinds if kinds.count(kind) > 1}
        keys = [f"{k}_{kinds[: i + 1].count(k)}" if k in several else k for i, k in enumerate(kinds)]
        return {key: {"type": "string", "description": kind} for key, kind in zip(keys, kinds, strict=True)}, keys
    listed = [p for p in spec.get("parameters") or [] if isinstance(p, dict) and isinstance(p.get("name"), str)]
    properties = {p["name"]: {"type": p.get("type"), "description": p.get("desc", "")} for p in listed}
    return properties, list(properties)


def _named_links(names: Sequence[str], links: Sequence[Any], specs: Specs) -> set[tuple[int, int]]:
    """The links as pairs of nodes. A name that stands for two nodes is understood only in a chain as written."""
    pairs = [(_known(field(k, str, "source"), specs), _known(field(k, str, "target"), specs)) for k in links]
    if pairs == list(pairwise(names)):
        return {(i, i + 1) for i in range(len(pairs))}
    if any(end not in names for pair in pairs for end in pair):
        raise DirtyError("a link to a tool that the plan does not call")
    if any(names.count(end) > 1 for pair in pairs for end in pair):
        if all("input-type" in specs[name] for name in names):
            return set()  # these domains repeat in the links what the references say
        raise DirtyError("a link by the name of a tool that is called twice")
    return {(names.index(source), names.index(target)) for source, target in pairs}


def _alias(value: Any, names: Sequence[str], node: int, specs: Specs) -> Any:
    """The reference that a value means which is nothing but another called tool's name."""
    if isinstance(value, dict):
        return {**value, "value": _alias(value.get("value"), names, node, specs)}
    if isinstance(value, str):
        match = _ALIAS.fullmatch(value.strip())
        name = _spaced(match[1] if match else value.strip(), specs)
        if names.count(name) == 1 and names.index(name) != node:
            return f"<node-{names.index(name)}>"
    return value


def _known(name: str, specs: Specs) -> str:
    found = _spaced(name, specs)
    if found not in specs:
        raise DirtyError("calls a tool that the dataset does not define")
    return found


def _spaced(name: str, specs: Specs) -> str:
    return name if name in specs else name.replace("_", " ")


def _position(digits: str, count: int) -> int:
    if int(digits) >= count:
        raise DirtyError("refers to a node that is not there")
    return int(digits)


def _kinds(spec: Mapping[str, Any], key: str) -> list[str]:
    return [kind for kind in spec.get(key) or [] if isinstance(kind, str)]


def _decode(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise DirtyError("a list that is no JSON") from None
    if not isinstance(value, list):
        raise DirtyError("a field that is no list")
    return value
