"""Transcripts to demonstrations: the order of the work. Knows no format by name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import MAX_ARGUMENTS_BYTES
from edgeret.inputs.query import MAX_QUERY_CHARS
from edgeret.terminal.console import write_whole
from edgeret_export.transcripts.conversation import Conversation
from edgeret_export.transcripts.definitions import Definitions
from edgeret_export.transcripts.files import opened
from edgeret_export.transcripts.formats.base import NO, Format, Notes, Reader
from edgeret_export.transcripts.redact import Redactor
from edgeret_export.transcripts.registry import AUTO, FORMATS, formats_of
from edgeret_export.transcripts.requests import Request, Turns, requests_of
from edgeret_export.transcripts.split import Split
from edgeret_export.transcripts.spool import Entry, Spool, room_for
from edgeret_export.transcripts.tally import Tally
from edgeret_export.transcripts.values import records
from edgeret_export.transcripts.whole_file import writing

_TABLE = "csv"


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where things are written; `test` takes `test_share` of the demonstrations, drawn by `seed`."""

    demonstrations: Path
    test: Path | None = None
    test_share: float = 0.1
    seed: int = 0
    tools: Path | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """What is read and kept. `known`: the names of tools that may be called; None: any."""

    source: str = AUTO
    turns: Turns = "each"
    keep_no_tool: bool = False
    redactor: Redactor = field(default_factory=Redactor)
    known: Collection[str] | None = None


def convert(files: Sequence[Path], outputs: Outputs, choices: Choices) -> dict[str, Any]:
    """Reads the files, writes the outputs, returns a JSON-ready report. Raises InputError, and writes nothing, if a
    file cannot be opened or nothing in all of them is a demonstration."""
    tally = Tally()
    definitions = Definitions(tally)
    told: list[dict[str, Any]] = []
    with room_for(outputs.demonstrations) as room:
        spool = Spool(room)
        labels = _labels(files, choices.redactor)
        for file, label in zip(files, labels, strict=True):
            told.append(_read(file, label, spool, Notes(tally, definitions), choices))
        known = choices.known
        if outputs.tools is not None:
            if not definitions.tools:
                raise InputError(
                    "no tools are defined in these files; leave out --tools-out, and give yours with --tools"
                )
            known = {*(known or ()), *(tool.name for tool in definitions.tools)}
        counts, written = _write(spool, outputs, known, tally)
        if outputs.tools is not None:
            _write_tools(definitions, outputs.tools, choices.redactor)
        again = spool.again
    by_file = Counter(counts["files"])
    return {
        "output": str(outputs.demonstrations),
        "demonstrations": written["train"],
        "test": None
        if outputs.test is None
        else {"output": str(outputs.test), "demonstrations": written["test"], "share": _share(written)},
        "files": [{**each, "demonstrations": by_file[each["file"]]} for each in told],
        "called": len(counts["tools"]),
        "repeated": again,
        "skipped": tally.rows(),
        "redacted": choices.redactor.counts,
        "tools": None
        if outputs.tools is None
        else {"output": str(outputs.tools), "tools": len(definitions.tools), "changed": definitions.changed},
    }


def _share(written: Mapping[str, int]) -> float:
    return round(written["test"] / max(1, written["test"] + written["train"]), 4)


def _labels(files: Sequence[Path], redactor: Redactor) -> list[str]:
    """A short name for each file, for the ids of its demonstrations."""
    taken: Counter[str] = Counter()
    labels = []
    for file in files:
        named = (file.name.split(".")[0] or file.name).encode("utf-8", "replace").decode()
        label = redactor.text(named)
        taken[label] += 1
        labels.append(label if taken[label] == 1 else f"{label}~{taken[label]}")
    return labels


def _read(file: Path, label: str, spool: Spool, notes: Notes, choices: Choices) -> dict[str, Any]:
    """Reads one file into the spool; what it was, and how much of it could be read."""
    guess = _Guess(formats_of(choices.source), notes)
    count = 0
    with opened(file, notes.tally) as lines:
        if lines is not None:
            for place, record in records(file, lines, notes.tally, table=choices.source == _TABLE):
                count += 1
                try:
                    reader = guess.reader(record)
                    if reader is None:
                        notes.tally.add("record", guess.unknown(record), place)
                        continue
                    _keep(reader.read(record, place), label, spool, choices)
                except RecursionError:
                    notes.tally.add("record", "nested too deeply", place)
        _keep(guess.ends(), label, spool, choices)
    return {"file": str(file), "formats": guess.found, "records": count}


class _Guess:
    """Which format each record of a file is of: the one that it fits best, among equals the one before."""

    def __init__(self, formats: Sequence[Format], notes: Notes) -> None:
        self._formats, self._notes = formats, notes
        self._readers: dict[str, Reader] = {}
        self._last: Format | None = None

    def reader(self, record: Mapping[str, Any]) -> Reader | None:
        """The reader for a record, or None if no format fits."""
        best, level = None, NO
        for each in self._formats:
            fits = each.fit(record)
            if fits > level or (fits == level > NO and each is self._last):
                best, level = each, fits
        if best is None:
            return None
        self._last = best
        if best.label not in self._readers:
            self._readers[best.label] = best.reader(self._notes)
        return self._readers[best.label]

    def unknown(self, record: Mapping[str, Any]) -> str:
        """Why no format fits."""
        other = next((each for each in FORMATS if each not in self._formats and each.fit(record)), None)
        if other is not None:
            return f"looks like {other.label}; read its file with --from {other.name}"
        return "no shape that is known; see docs/howto/transcripts.md"

    def ends(self) -> Iterator[Conversation]:
        """What the readers held back."""
        for reader in self._readers.values():
            yield from reader.end()

    @property
    def found(self) -> list[str]:
        """The formats, in the order in which they came."""
        return list(self._readers)


def _keep(conversations: Any, label: str, spool: Spool, choices: Choices) -> None:
    for conversation in conversations:
        for request in requests_of(conversation, choices.turns, choices.keep_no_tool):
            demonstration = _demonstration(request, label, choices.redactor)
            if demonstration is not None and (reason := _outgrown(demonstration)):
                demonstration, request = None, replace(request, reason=reason)
            spool.add(request, label, demonstration)


def _demonstration(request: Request, label: str, redactor: Redactor) -> dict[str, Any] | None:
    """The demonstration as it is written; what is redacted never reaches a disk."""
    if request.calls is None:
        return None
    turn = f"-{request.turn + 1}" if request.turn else ""
    calls = [
        {"tool": call.tool, **({"arguments": redactor.value(call.arguments)} if call.arguments else {})}
        for call in request.calls
    ]
    links = {} if request.links is None else {"links": [list(pair) for pair in request.links]}
    identifier = f"{label}:{request.place.position}{turn}"
    return {"id": identifier, "query": redactor.text(request.query), "calls": calls, **links}


def _outgrown(demonstration: dict[str, Any]) -> str:
    """Why a demonstration cannot be read back: what is put into the place of what was redacted may be longer."""
    if len(demonstration["query"]) > MAX_QUERY_CHARS:
        return f"a query of more than {MAX_QUERY_CHARS} characters when redacted"
    for call in demonstration["calls"]:
        if len(json.dumps(call, ensure_ascii=False).encode()) > MAX_ARGUMENTS_BYTES:
            return "arguments too large when redacted"
    return ""


def _write(
    spool: Spool, outputs: Outputs, known: Collection[str] | None, tally: Tally
) -> tuple[dict[str, Counter[str]], dict[str, int]]:
    """Writes both parts; counts of demonstrations by file and by tool, and by part."""
    tested: set[int] = set()
    if outputs.test is not None:
        split = Split()
        for entry in spool:
            if _why_not(entry, known) == "" and entry.demonstration is not None:
                split.add(entry.demonstration["query"], entry.group)
        tested = split.choose(outputs.test_share, outputs.seed)
    counts: dict[str, Counter[str]] = {"files": Counter(), "tools": Counter()}
    written = {"train": 0, "test": 0}
    second = nullcontext(None) if outputs.test is None else writing(outputs.test, "--test")
    with writing(outputs.demonstrations, "-o") as train, second as test:
        for entry in spool:
            for what, why in entry.left_out:
                tally.add(what, why, entry.place)
            if reason := _why_not(entry, known):
                tally.add("request", reason, entry.place)
            elif entry.demonstration is not None:
                part = "test" if sum(written.values()) in tested else "train"
                written[part] += 1
                _put(test if test is not None and part == "test" else train, entry.demonstration)
                counts["files"][entry.place.file] += 1
                counts["tools"].update({call["tool"] for call in entry.demonstration["calls"]})
        if not written["train"]:
            raise InputError(_nothing(tally, sum(written.values())))
    return counts, written


def _put(stream: TextIO, demonstration: Mapping[str, Any]) -> None:
    stream.write(json.dumps(demonstration, ensure_ascii=False) + "\n")


def _why_not(entry: Entry, known: Collection[str] | None) -> str:
    if entry.reason or entry.demonstration is None:
        return entry.reason
    if known is not None and any(call["tool"] not in known for call in entry.demonstration["calls"]):
        return "calls a tool that is neither defined in the transcripts nor in --tools"
    return ""


def _nothing(tally: Tally, tested: int) -> str:
    if tested:
        return "all demonstrations would be in the test part; give a smaller --test-share"
    rows = [f"{row['count']} {row['what']}(s): {row['reason']}, first {row['first']}" for row in tally.rows()[:3]]
    return f"no demonstrations in these files ({'; '.join(rows) or 'nothing in them is a conversation'})"


def _write_tools(definitions: Definitions, target: Path, redactor: Redactor) -> None:
    lines = [
        json.dumps(
            {
                "name": tool.name,
                "description": redactor.text(tool.description),
                "parameters": redactor.value(tool.parameters),
            },
            ensure_ascii=False,
        )
        for tool in definitions.tools
    ]
    write_whole(target, "\n".join([*lines, ""]), "--tools-out")
