"""A bundle's tools: the file that lists them, written and read. Knows nothing of vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import unpack_json
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError, InputError
from edgeret.fields import get_strings
from edgeret.inputs.hygiene import check_names
from edgeret.inputs.tools import MAX_TOOLS, check_tools, stored_tool
from edgeret.quoting import quoted
from edgeret.types import Tool

_BEGIN, _BETWEEN, _END = b"[\n", b",\n", b"\n]\n"
_LINE_FEEDS = 2
"""Of a file, beside those of its lines."""
_REBUILD = "build the bundle again"


def pack_tools(tools: Sequence[Tool]) -> bytes:
    """The file with the role `tools`, in the order given: a JSON array with a line for every tool, so that one can be
    read without the others."""
    lines = (json.dumps(tool.to_dict(), ensure_ascii=False, separators=(",", ":")).encode() for tool in tools)
    return _BEGIN + _BETWEEN.join(lines) + _END


def load_tools(bundle: Bundle, names: Sequence[str] | None = None) -> StoredTools:
    """The bundle's tools by name, in the order of `names`, the index's (None: read them there). Raises BundleError for
    names that no tool may have, and for another number of lines; what a line says is looked at with its first use."""
    where = f"{bundle.path} ({roles.TOOLS})"
    if names is None:
        names = get_strings(bundle.map(roles.INDEX), "names", f"{bundle.path} ({roles.INDEX})")
    data = bundle.read(roles.TOOLS)
    if not (data.startswith(_BEGIN) and data.endswith(_END)):
        raise BundleError(f"{where}: expected an array with a line for every tool; {_REBUILD}")
    # Counted before places are kept: those of millions of empty lines would fill the memory.
    ends = np.frombuffer(data, np.uint8) == ord("\n")
    if (count := int(np.count_nonzero(ends)) - _LINE_FEEDS) != len(names) or count > MAX_TOOLS:
        raise BundleError(
            f"{where}: {count} lines for the {len(names)} tools of the index, at most {MAX_TOOLS}; {_REBUILD}"
        )
    try:
        check_names(names, where)
    except InputError as error:
        raise BundleError(f"{error}; {_REBUILD}") from None
    # Nothing is cut out yet: the lines of 44,000 tools would be a second copy of 20 MB.
    begins = np.flatnonzero(ends)[: len(names) + 1] + 1
    begins[-1] += len(_BETWEEN) - 1  # no comma stands behind the last one
    return StoredTools(names, data, begins, where)


class StoredTools(Mapping[str, Tool]):
    """Tools by name, each read with its first use: of 44,000, a task looks at a few. Safe to use from several threads.

    Looking one up raises BundleError if its line is no tool, or another one."""

    def __init__(self, names: Sequence[str], data: bytes, begins: NDArray[np.intp], where: str) -> None:
        """`data` holds the tools as JSON, each from one of `begins` (names + 1,) up to the comma and the line feed
        before the next; `where` begins the messages."""
        self._data, self._begins, self._where = data, begins, where
        self._row = {name: row for row, name in enumerate(names)}
        self._read: dict[str, Tool] = {}

    def __getitem__(self, name: str) -> Tool:
        found = self._read.get(name)
        if found is None:
            # Two threads may both read it; they get the same.
            begin, following = self._begins[self._row[name] :][:2].tolist()
            found = self._read[name] = self._parsed(name, self._data[begin : following - len(_BETWEEN)])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, name: object) -> bool:
        return name in self._row

    def _parsed(self, name: str, line: bytes) -> Tool:
        entry = unpack_json(line, self._where)
        try:
            tool = stored_tool(entry, self._where)
            check_tools([(self._where, tool)], self._where)
        except InputError as error:
            raise BundleError(f"{error}; {_REBUILD}") from None
        if tool.name != name:
            raise BundleError(
                f"{self._where}: {quoted(tool.name)} stands where the index has {quoted(name)}; {_REBUILD}"
            )
        return tool
