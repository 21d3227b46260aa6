"""BFCL (Berkeley Function Calling Leaderboard) v4. Every entry brings its own functions; here they make one set.

A name that stands for several definitions gets a mark of the definition behind it, `name~1a2b3c`.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import UNREADABLE, Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_lines
from edgeret_bench.datasets.schema import make_object

SINGLE = ("simple_python", "simple_java", "simple_javascript", "multiple", "live_simple", "live_multiple")
PARALLEL = ("parallel", "parallel_multiple", "live_parallel", "live_parallel_multiple")
TURNS = "multi_turn_base"
IRRELEVANT = ("irrelevance", "live_irrelevance")
CLASSES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""In which of the files of functions each class of the entries with several turns is described."""
Names = Mapping[str, str]
"""An entry's own names of functions, to the names in the whole set."""


def read(folder: Path) -> Dataset:
    """Categories whose answers are calls, as demonstrations. Raises InputError."""
    collector = Collector("bfcl")
    entries = {category: _entries(folder, category) for category in (*SINGLE, *PARALLEL, TURNS)}
    classes = {
        name: list(read_lines(folder / f"multi_turn_func_doc/{file}.json", "BFCL's functions"))
        for name, file in CLASSES.items()
    }
    for entry in entries[TURNS]:
        involved = entry.get("involved_classes") or []
        entry["function"] = [function for name in involved for function in classes.get(name, [])]
    whole = [entry for listed in entries.values() for entry in listed]
    names = _pool(collector, whole)
    for category, listed in entries.items():
        file = folder / f"possible_answer/BFCL_v4_{category}.json"
        answers = {
            answer.get("id"): answer for answer in read_lines(file, "BFCL's answers") if isinstance(answer, dict)
        }
        for entry in listed:
            with collector.record():
                identity = field(entry, str, "id")
                truth = field(answers.get(identity), list, "ground_truth")
                known = names[id(entry)]
                if category == TURNS:
                    calls = [_parse(text, known, collector) for turn in truth for text in turn]
                else:
                    calls = [_call(call, known, collector) for call in truth]
                accepted = () if category == TURNS else [_all_of(call) for call in truth]
                links = () if category in PARALLEL else None
                collector.plan(identity, _query(entry), calls, links, accepted=accepted)
    return collector.dataset()


def read_irrelevance(folder: Path) -> Dataset:
    """The categories where none of an entry's own functions fits, as queries without tools. Raises InputError."""
    collector = Collector("bfcl-irrelevance")
    entries = [entry for category in IRRELEVANT for entry in _entries(folder, category)]
    _pool(collector, entries)
    for entry in entries:
        with collector.record():
            collector.query(field(entry, str, "id"), _query(entry), ())
    return collector.dataset()


def _entries(folder: Path, category: str) -> list[dict[str, Any]]:
    file = folder / f"BFCL_v4_{category}.json"
    return [entry for entry in read_lines(file, "BFCL's entries") if isinstance(entry, dict)]


def _functions(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(name, description, parameters) of an entry's functions; what is none is passed over."""
    for function in entry.get("function") or []:
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            given = function.get("parameters")
            given = given if isinstance(given, dict) else {}
            properties, required = given.get("properties"), given.get("required")
            parameters = make_object(
                properties if isinstance(properties, dict) else {}, required if isinstance(required, list) else ()
            )
            yield function["name"], str(function.get("description", "")), parameters


def _pool(collector: Collector, entries: Sequence[Mapping[str, Any]]) -> dict[int, Names]:
    """Adds all functions of the entries; returns each entry's names, by the entry's `id()`."""
    marks: dict[str, set[str]] = {}
    for entry in entries:
        for function in _functions(entry):
            marks.setdefault(function[0], set()).add(_mark(function))
    found: dict[int, Names] = {}
    for entry in entries:
        names: dict[str, str] = {}
        for function in _functions(entry):
            name, description, parameters = function
            names[name] = name if len(marks[name]) == 1 else f"{name}~{_mark(function)}"
            collector.tool(names[name], description, parameters)
        found[id(entry)] = names
    return found


def _mark(function: tuple[str, str, dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(function, sort_keys=True).encode()).hexdigest()[:6]


def _query(entry: Mapping[str, Any]) -> str:
    """The user's words of all turns, a message a line; what system and assistant say is left out."""
    messages = [message for turn in field(entry, list, "question") for message in turn if isinstance(message, dict)]
    return "\n".join(field(m, str, "content").strip() for m in messages if m.get("role") == "user")


def _call(call: Any, names: Names, collector: Collector) -> tuple[str, dict[str, Any]]:
    """One accepted call: of every argument the first accepted value. One that may be left out is left out."""
    if not isinstance(call, dict) or len(call) != 1:
        raise DirtyError(UNREADABLE)
    ((own, accepted),) = call.items()
    if not isinstance(accepted, dict) or not all(isinstance(values, list) for values in accepted.values()):
        raise DirtyError(UNREADABLE)
    name = names.get(own, own)
    required = collector.tools[name].parameters.get("required", ()) if name in collector.tools else ()
    return name, _accepted(accepted, required)


def _all_of(call: Mapping[str, Any]) -> dict[str, list[Any]]:
    """All accepted values of a call's arguments; null where an argument may be left out."""
    ((_, values),) = call.items()
    return {key: [None if one == "" else _plain(one) for one in listed] for key, listed in values.items() if listed}


def _accepted(values: Mapping[str, Any], required: Collection[str] = ()) -> dict[str, Any]:
    """Of every key that is required or may not be left out (an empty text among its values), the first value."""
    return {
        key: _plain(next((value for value in listed if value != ""), ""))
        for key, listed in values.items()
        if listed and (key in required or "" not in listed)
    }


def _plain(value: Any) -> Any:
    """A value in which objects list the accepted values of their keys, as the arguments do."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(item, list) for item in value.values()):
            return _accepted(value)
        return {key: _plain(item) for key, item in value.items()}
    return value


def _parse(text: Any, names: Names, collector: Collector) -> tuple[str, dict[str, Any]]:
    """A call written in Python; arguments without a name take the parameters in turn."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            raise DirtyError(UNREADABLE)
        name = names.get(ast.unparse(call.func), ast.unparse(call.func))
        keys = collector.tools[name].parameters["properties"] if name in collector.tools else {}
        if len(call.args) > len(keys):
            raise DirtyError("more arguments than the tool takes")
        arguments = {key: ast.literal_eval(value) for key, value in zip(keys, call.args, strict=False)}
        return name, arguments | {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError):
        raise DirtyError(UNREADABLE) from None
