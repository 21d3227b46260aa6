"""Writes arrays as C. Knows nothing of what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def array(kind: str, name: str, values: Iterable[int], shared: bool = False) -> str:
    """One array in C, of one file or shared by all."""
    lines, line = [], ""
    for value in values:
        word = f"{value},"
        if len(line) + len(word) > 118:
            lines.append(line)
            line = ""
        line += word
    lines.append(line)
    return f"{'' if shared else 'static '}const {kind} {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def structs(kind: str, name: str, told: Iterable[Sequence[object]]) -> str:
    """One array of structs."""
    lines = (f"{{{','.join(map(str, one))}}}," for one in told)
    return f"static const {kind} {name}[] = {{\n" + "\n".join(lines) + "\n};\n"
