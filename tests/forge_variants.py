"""A family of forgeries of the graphs that stand in for an encoder: the tiny bundle's own graph, moved there or copied,
and something else anywhere in what the manifest tells of it.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

from typing import Any

from forge import Forgery
from forge_fields import PLAIN, Family, at, cell, places, put

TARGETS: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    ("gpu", (("encoder-gpu", 0),)),
    ("npu", (("encoder-npu-16", 16), ("encoder-npu-64", 64))),
    ("cpu", (("encoder-cpu-7bit", 0),)),
    ("npu", (("encoder-npu-512", 512),)),
)
OF_MINE: tuple[tuple[str, Any], ...] = (
    ("no length", 0),
    ("a length of 1", 1),
    ("a length below none", -16),
    ("the length of another role", 128),
    ("a length that asks for a terabyte", 1 << 19),
    ("a role that nobody plays", "encoder-npu-256"),
    ("the encoder's role", "encoder"),
    ("a role of something else", "index"),
    ("the phone's role", "encoder-mobile"),
    ("a target for phones", "mobile"),
    ("a name to print", "\x1b[2J\x1b[31mgpu"),
    ("a family that nobody knows", "z80"),
    ("half precision", "fp16"),
)


def variants(forgery: Forgery, number: int) -> str:
    """The encoder's file as a variant's, alone or beside itself, and one thing changed."""
    which, alone = cell(number, len(TARGETS), 2)
    target, files = TARGETS[which]
    graph, spec = forgery.files["encoder"], dict(forgery.info["encoder"]["spec"])
    if alone:
        forgery.remove("encoder")
        forgery.info["encoder"]["weights"] = ""
    for role, _ in files:
        forgery.add(f"{role}.onnx", role, graph)
    told = [{"role": role, "tokens": tokens} for role, tokens in files]
    tree: Any = [{"name": target, "target": target, "files": told, "spec": spec}]
    changes = (*OF_MINE, *PLAIN)
    spots = list(places(tree))
    place, change = cell(number // 8, len(spots), len(changes))
    what, value = changes[change]
    try:
        at(tree, spots[place])
        forgery.info["variants"] = put(tree, spots[place], value)
    except (KeyError, IndexError, TypeError):
        forgery.info["variants"] = tree
    return f"a graph for {target}{', alone' if alone else ''}: {what} at {'/'.join(map(str, spots[place])) or 'all'}"


VARIANTS: dict[str, Family] = {"variants": variants}
