"""A later turn's probabilities, of another reader: written from section 9.1 of docs/FORMAT.md alone. Knows nothing of
edgeret but where its weights lie."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WEIGHTS = json.loads(
    (Path(__file__).parents[2] / "export" / "edgeret_export" / "reference" / "scoring" / "turns.json").read_text(
        encoding="utf-8"
    )
)


def logs(p: Array, end: int) -> tuple[Array, float]:
    """a and α."""
    v = float(np.clip(p[end], 1e-7, 1 - 1e-7))
    return np.maximum(-12, np.log(np.maximum(p, 1e-12)) - np.log(1 - v)), float(np.clip(np.log(v / (1 - v)), -10, 10))


def shares(scores: Array) -> Array:
    """The softmax."""
    found: Array = np.exp(scores - scores.max())
    return found / found.sum()


def probabilities(
    p: Array, onward: Array, s: set[int], end: int, w: int, f_: Sequence[int], e: Sequence[int], m: Sequence[int],
    head: bool,
) -> Array:  # fmt: skip
    """Of all names: after this turn's calls and those of all turns, of the tools that may be chosen, of so many words.
    F, E and M are places, −1 for a tool that is no name."""
    weights = WEIGHTS["demonstrated" if head else "tools"]
    (a, alpha), (b, beta), omega = logs(p, end), logs(onward, end), np.log(w + 1) - 2
    rest = list(f_) if not m else list(f_[f_.index(m[-1]) + 1 :]) if m[-1] in f_ else []
    first = rest[0] if m and rest else None
    last = f_[-1] if f_ and not m else None
    tools = {"whole": sorted(s), "last": sorted(s & set(rest)), "earlier": sorted(s & set(e))}
    lam = {k: max(-12.0, float(np.log(np.exp(a[t]).sum()))) if (t := tools[k]) else -12.0 for k in tools}
    c = max([-6.0, *a[tools["whole"]]])

    def score(expert: str, i: int) -> float:
        told = {
            "whole": (a[i], b[i], i in m, omega * a[i], omega * b[i]),
            "last": (a[i], b[i], i == first, i == last),
            "earlier": (a[i], b[i]),
        }[expert]
        return float(np.dot(weights[expert], np.array(told, float)))

    def gate(row: int, expert: str) -> float:
        told = np.repeat((1.0, omega, lam[expert], c), 2) * np.tile((not m, bool(m)), 4)
        return float(np.dot(weights["gates"][row][:8], told))

    logits = {
        "whole": 0.0, "earlier": gate(1, "earlier"),
        "last": gate(0, "last") + weights["gates"][0][8] * (first is not None),
    }  # fmt: skip
    there = [expert for expert in tools if tools[expert]]
    g = np.zeros(len(p))
    for expert, count in zip(there, shares(np.array([logits[x] for x in there])) if there else (), strict=True):
        g[tools[expert]] += count * shares(np.array([score(expert, i) for i in tools[expert]]))
    said = np.array((1, alpha, beta, omega, c, alpha * omega, 0.3 * lam["last"]))
    ends = (len(m) == 1, bool(m and f_ and m[-1] == f_[-1]), first is not None)
    told = np.concatenate((said * (not m), said * bool(m), ends))
    o = 1 / (1 + np.exp(-np.dot(weights["end"], told))) if s else 1.0
    g *= 1 - o
    if not m and g.max() < o < weights["nothing"]:
        o = 0.99 * g.max()
    g[end] = o
    found: Array = g / g.sum()
    return found
