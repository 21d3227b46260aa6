"""JSON objects from strangers' bytes, and bytes from ours. Knows nothing of what is in them."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from edgeret import InputError
from edgeret.adapters.serve.kinds import found
from edgeret.quoting import quoted


def read_object(raw: bytes) -> dict[str, Any]:
    """The one object that the bytes are. Raises InputError for anything else: also for NaN and infinities, which JSON
    does not have, and for a name that comes twice, of which another reader could take the other value."""
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8, at byte {error.start}; send JSON in UTF-8") from None
    except RecursionError:
        raise InputError("nested too deeply; send plain values") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}"[:200]) from None
    if not isinstance(value, dict):
        raise InputError(f'expected a JSON object such as {{"query": "…"}}, found {found(value)}')
    return value


def write_object(value: Any) -> bytes:
    """JSON on one line, without its end. Characters beyond ASCII are escaped: halves of surrogate pairs, which no UTF-8
    can say, stand in what strangers wrote."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    known = dict(pairs)
    if len(known) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{quoted(twice)} comes twice; send it once")
    return known


def _no_number(name: str) -> NoReturn:
    raise InputError(f"{name} is no number of JSON's; send null, or leave it out")
