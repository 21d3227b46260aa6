"""Records out of a transcript's lines: JSON lines, one JSON document, lines of a program's log, rows of a table. Knows
nothing of what a record means."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from edgeret.inputs.jsonl import decode, json_type
from edgeret_export.transcripts.conversation import Place
from edgeret_export.transcripts.files import MAX_BYTES, Lines
from edgeret_export.transcripts.tally import Tally

TABLES = (".csv", ".tsv")
QUERY_COLUMNS = ("query", "request", "utterance", "prompt", "question", "text", "user")
"""Any of them in the first line makes a file without JSON a table."""
MESSAGES = "messages"
_WRAPPERS = ("runs", "conversations", "data", "items", "records", "results", "logs", "rows", "traces", "spans")
_TURNS = ("conversations", "conversation", "dialogue", "dialog", "turns", "trajectory", "chat", "items", "history")
"""Names that others give to a conversation's messages."""
_LISTS = (MESSAGES, *_TURNS, "tools", "functions", "contents", "input", "answers")
"""Columns that hold a list, or the same as JSON text, as tables of data sets do."""
_MARKS = re.compile(rb'\\.|["\[\]{},]', re.S)
_SEPARATORS = ",;\t|"
_MOST_ENCODED = 3
NO_UTF8 = "not UTF-8; convert the file with: iconv -f CP1252 -t UTF-8"


class Row(dict[str, str]):
    """A row of a table by its columns' names, lower case."""


Record = Mapping[str, Any]


def records(path: Path, lines: Lines, tally: Tally, table: bool) -> Iterator[tuple[Place, Record]]:
    """The records of a file, each with its place; a bare list of messages is one record. `table`: it is one, whatever
    it is called. What is none is counted, and the file goes on."""
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        tally.add("file", "empty", path)
        return
    number, head = first
    rest = chain([first], lines)
    if table or _is_table(path, head):
        yield from _rows(path, rest, tally)
        return
    if head.lstrip()[:1] in (b"{", b"[") and (lines.has_long_start or not _is_json(head)):
        held, is_all = _gather(number, head, lines)
        if is_all and _is_json(b"\n".join(line for _, line in held)):
            yield from _unpacked(Place(str(path), 0), decode(b"\n".join(line for _, line in held)), tally)
            return
        if not is_all and head.lstrip().startswith(b"["):
            yield from _entries(path, chain((line for _, line in held), _chunks(lines)), tally)
            return
        rest = chain(held, lines)
    for number, line in rest:
        if line.strip():
            yield from _of_line(Place(str(path), number), line, tally)


def _is_table(path: Path, head: bytes) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:] if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in TABLES:
        return True
    if head.lstrip()[:1] in (b"{", b"["):
        return False
    cells = re.split(rf"[{_SEPARATORS}]", head[:4096].decode("utf-8", "replace").lower())
    return len(cells) > 1 and any(cell.strip(' "') in QUERY_COLUMNS for cell in cells)


def _is_json(line: bytes) -> bool:
    try:
        decode(line)
    except ValueError:
        return False
    return True


def _gather(number: int, head: bytes, lines: Lines) -> tuple[list[tuple[int, bytes]], bool]:
    """The lines up to the first `MAX_BYTES`, and whether they are all there is."""
    held, size = [(number, head)], len(head)
    if lines.has_long_start:
        return held, False
    for each in lines:
        held.append(each)
        size += len(each[1]) + 1
        if size > MAX_BYTES:
            return held, False
    return held, True


def _chunks(lines: Lines) -> Iterator[bytes]:
    while found := lines.read(1 << 16):
        yield found


def _of_line(place: Place, line: bytes, tally: Tally) -> Iterator[tuple[Place, Record]]:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        tally.add("line", NO_UTF8, place)
        return
    try:
        # A log's line has its time and its source before the message, and sometimes something behind it.
        logged = '"jsonrpc"' in text and not text.startswith("{")
        value = json.JSONDecoder().raw_decode(text[text.index("{") :])[0] if logged else decode(text)
    except RecursionError:
        tally.add("line", "nested too deeply", place)
    except ValueError as error:
        tally.add("line", "nested too deeply" if "nested" in str(error) else "not JSON", place)
    else:
        yield from _unpacked(place, value, tally)


def _unpacked(place: Place, value: Any, tally: Tally) -> Iterator[tuple[Place, Record]]:
    """The records of one decoded value: itself, or what a list or an export's outermost object holds. A place without a
    number is a document, whose entries are counted."""
    alone = place if place.number else Place(place.file, 1)
    if isinstance(value, dict):
        value = with_lists(value)
        if any(_are_turns(value.get(key)) for key in _TURNS):
            yield alone, _with_messages(value)
            return
        wrapped = next((value[key] for key in _WRAPPERS if _is_records(value.get(key))), None)
        if wrapped is None or MESSAGES in value:
            yield alone, value
            return
        value = wrapped
    if not isinstance(value, list):
        tally.add("record", f"expected a JSON object, found {json_type(value)}", alone)
    elif value and all(map(_is_message, value)):
        yield alone, {MESSAGES: value}
    else:
        for number, entry in enumerate(value, 1):
            inner = Place(place.file, place.number, number) if place.number else Place(place.file, number)
            if isinstance(entry, list) and entry and all(map(_is_message, entry)):
                yield inner, {MESSAGES: entry}
            elif isinstance(entry, dict):
                yield inner, _with_messages(with_lists(entry))
            else:
                tally.add("record", f"expected a JSON object, found {json_type(entry)}", inner)


def _with_messages(record: dict[str, Any]) -> dict[str, Any]:
    """The record with its turns as messages; turns that are called by `from` are a format of their own."""
    turns = next((record[key] for key in _TURNS if _are_turns(record.get(key))), None)
    return record if turns is None or MESSAGES in record or "from" in turns[0] else {**record, MESSAGES: turns}


def with_lists(record: dict[str, Any]) -> dict[str, Any]:
    """The record with lists in the place of JSON text, however often that was encoded."""
    texts = {key: record[key] for key in _LISTS if isinstance(record.get(key), str)}
    found = {key: value for key, text in texts.items() if (value := as_list(text)) is not None}
    return {**record, **found} if found else record


def as_list(value: Any) -> list[Any] | None:
    """A list, or one that was written as JSON text, perhaps twice; None if it is none."""
    for _ in range(_MOST_ENCODED):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("[", '"'):
            break
        try:
            value = decode(value)
        except ValueError:
            return None
    return value if isinstance(value, list) else None


def _are_turns(value: Any) -> bool:
    """Whether these are the turns of a conversation."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(turn, dict) and ("role" in turn or ("from" in turn and "value" in turn)) for turn in value)


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _is_message(value: Any) -> bool:
    """Whether this is a piece of a conversation and not one by itself."""
    if not isinstance(value, dict) or MESSAGES in value or "jsonrpc" in value:
        return False
    return (
        "role" in value or "lc" in value or ("type" in value and not {"run_type", "output", "choices"} & value.keys())
    )


def _entries(path: Path, chunks: Iterable[bytes], tally: Tally) -> Iterator[tuple[Place, Record]]:
    """The entries of one array that is too large to be held."""
    for number, entry in enumerate(split_array(chunks), 1):
        place = Place(str(path), number)
        if entry is None:
            tally.add("record", f"longer than {MAX_BYTES >> 20} MB; leave files and images out of the log", place)
        else:
            yield from _of_line(place, entry, tally)


def split_array(chunks: Iterable[bytes]) -> Iterator[bytes | None]:
    """The texts of an array's entries; None for one of more than `MAX_BYTES`. Whether they are JSON is not asked."""
    depth, in_string, size = 0, False, 0
    entry: list[bytes] = []
    carried = b""
    for piece in chunks:
        chunk = carried + piece
        # An escape that the chunk's end cuts in two.
        carried = b"\\" if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2 else b""
        chunk = chunk[: len(chunk) - len(carried)]
        begin = 0
        for match in _MARKS.finditer(chunk):
            mark = match[0]
            if mark == b'"':
                in_string = not in_string
            elif in_string or mark.startswith(b"\\"):
                continue
            elif mark in b"[{":
                depth += 1
                begin = match.end() if depth == 1 else begin
            elif mark in b"]}" or depth == 1:
                depth -= mark in b"]}"
                if depth == 0 or (depth == 1 and mark == b","):
                    entry.append(chunk[begin : match.start()])
                    if (text := b"".join(entry)).strip():
                        yield None if size + len(entry[-1]) > MAX_BYTES else text
                    entry, size, begin = [], 0, match.end()
        size += len(chunk) - begin
        if depth and size <= MAX_BYTES:
            entry.append(chunk[begin:])


def _rows(path: Path, lines: Iterable[tuple[int, bytes]], tally: Tally) -> Iterator[tuple[Place, Record]]:
    """The rows of a table; the first line names its columns."""
    numbers: list[int] = []

    def texts() -> Iterator[str]:
        for number, line in lines:
            try:
                text = line.decode() + "\n"
            except UnicodeDecodeError:
                tally.add("line", NO_UTF8, Place(str(path), number))
            else:
                numbers.append(number)
                yield text

    decoded = texts()
    head = next(decoded, "")
    separator = max(_SEPARATORS, key=head.count)
    columns = [name.strip().lower() for name in next(csv.reader([head], delimiter=separator), [])]
    rows = csv.reader(decoded, delimiter=separator)
    while True:
        numbers.clear()
        try:
            cells = next(rows, None)
        except csv.Error:
            reason = "no row of a table: a quote that is never closed, or a cell of over 131,072 characters"
            tally.add("line", reason, Place(str(path), numbers[0]))
            continue
        if cells is None:
            return
        place = Place(str(path), numbers[0])
        if len(cells) > len(columns):
            tally.add("line", "more cells than the first line has columns", place)
        elif any(map(str.strip, cells)):
            yield place, Row({**dict.fromkeys(columns, ""), **dict(zip(columns, cells, strict=False))})
