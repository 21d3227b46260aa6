"""How much a newer bundle may lose before a release is stopped: reads and checks the file that says so."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path

from edgeret.errors import InputError
from edgeret.quoting import quoted, suggestion

UNSURE = ("pass", "fail")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be lost of each. Shares are of steps or requests, 0.01 being one in a hundred; `latency` and
    `size` are how many times the older bundle's; `must` is how many listed requests may be decided otherwise. `unsure`
    says what becomes of a loss that the requests are too few to rule out."""

    next_function: float = 0.01
    first_function: float = 0.02
    own_words: float = 0.02
    declined: float = 0.02
    wrong: float = 0.01
    foreign: float = 0.02
    latency: float = 1.25
    size: float = 1.1
    must: int = 0
    unsure: str = "pass"


SHARES = ("next_function", "first_function", "own_words", "declined", "wrong", "foreign")


def read_budget(path: str | Path | None) -> Budget:
    """The defaults, overridden by a TOML file (if any). Raises InputError for one that cannot be read, for unknown keys
    and for values out of range."""
    budget = Budget()
    if path is None:
        return budget
    try:
        value = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected a budget in TOML") from None
    except ValueError as error:
        raise InputError(f"{path}: not TOML ({error})") from None
    known = [f.name for f in fields(Budget)]
    for key, found in value.items():
        if key not in known:
            hint = suggestion(key, known)
            raise InputError(f"{path}: unknown key {quoted(key)}; known: {', '.join(known)}{hint}")
        fine, allowed = _allowed(key, found)
        if not fine:
            raise InputError(f'{path}: "{key}" must be {allowed}, found {found!r}')
    return replace(budget, **value)


def _allowed(key: str, found: object) -> tuple[bool, str]:
    if key == "unsure":
        return found in UNSURE, " or ".join(f'"{word}"' for word in UNSURE)
    if key == "must":
        return type(found) is int and found >= 0, "a whole number, at least 0"
    number = type(found) in (int, float) and isfinite(found)  # type: ignore[arg-type]
    if key in SHARES:
        return number and 0 <= found <= 1, "a share from 0 to 1"  # type: ignore[operator]
    return number and found > 0, "a number above 0: how many times the older bundle's"  # type: ignore[operator]
