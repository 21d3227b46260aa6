"""One JSON object a line in, one a line out, for whoever starts this as a child. Knows nothing of HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from edgeret import EdgeretError, InputError
from edgeret.adapters.serve.kinds import MisfitError, checked
from edgeret.adapters.serve.objects import read_object, write_object
from edgeret.adapters.serve.service import Service
from edgeret.adapters.serve.table import CHANGE, DECIDE, HEALTH, LEARN, PLAN, SEARCH, TOOLS
from edgeret.quoting import few, quoted, suggestion

MOST_BYTES = 1 << 20
"""Of a line."""
ACTIONS = {action.do: action for action in (DECIDE, SEARCH, PLAN, LEARN, TOOLS, HEALTH)}
_MARK = b"\xef\xbb\xbf"


def answer_lines(service: Service, lines: BinaryIO, out: BinaryIO) -> Mapping[str, int]:
    """Answers line after line until there are no more, and gives how many were answered and refused. Raises
    BrokenPipeError where nobody reads."""
    counts = Counter({"answered": 0, "refused": 0})
    for number, line in enumerate(_lines(lines)):
        told = b"" if line is None else (line.removeprefix(_MARK) if number == 0 else line).strip()
        if line is not None and not told:
            continue
        answer = _refusal(None, _TOO_LONG) if line is None else _answer(service, told)
        counts["refused" if "error" in answer else "answered"] += 1
        out.write(write_object(answer) + b"\n")
        out.flush()
    return counts


_TOO_LONG = InputError(f"a line of more than {MOST_BYTES >> 20} MB; send less at once")


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines; None for one that is too long, of which no more is kept than that."""
    while line := file.readline(MOST_BYTES + 1):
        if len(line) <= MOST_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(MOST_BYTES)
        yield None


def _answer(service: Service, line: bytes) -> dict[str, Any]:
    name: Any = None
    try:
        asked = read_object(line)
        name = asked.pop("id", None)
        if isinstance(name, (dict, list)):
            name = None
            raise MisfitError("id", "expected text or a number")
        does = _action(asked.pop("do", None))
        if does == "tools" and asked:
            return _with_id(name, service.do("change", checked(asked, CHANGE.takes)))
        return _with_id(name, service.do(does, checked(asked, ACTIONS[does].takes)))
    except EdgeretError as error:
        return _refusal(name, error)
    except Exception as error:  # one bad line must not end the child
        return _refusal(name, EdgeretError(f"an error of its own, {type(error).__name__}"))


def _action(given: Any) -> str:
    if isinstance(given, str) and given in ACTIONS:
        return given
    names = ", ".join(ACTIONS)
    if given is None:
        raise MisfitError("do", f"is missing; it is one of {names}")
    hint = suggestion(given, ACTIONS) if isinstance(given, str) else ""
    shown = quoted(given) if isinstance(given, str) else few([type(given).__name__])
    raise MisfitError("do", f"expected one of {names}, found {shown}{hint}")


def _with_id(name: Any, told: dict[str, Any]) -> dict[str, Any]:
    return told if name is None else {"id": name, **told}


def _refusal(name: Any, error: EdgeretError) -> dict[str, Any]:
    told: dict[str, Any] = {"message": str(error), "type": "edgeret_pipe", "kind": type(error).__name__}
    if isinstance(error, MisfitError):
        told["path"] = error.path
    return {"id": name, "error": told}
