"""What tools show by example and which values they take, of a second reader: sections 6, 16.5 and 16.12 of
docs/FORMAT.md. Knows nothing of edgeret."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from format_asking import changes, only_asks
from format_language import rules_in
from format_values import held, taken
from format_words import in_words, stem
from numpy.typing import NDArray

Array = NDArray[Any]


def unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def first_nearest(cosines: Array) -> int:
    """16.6: the first that is as large as any."""
    return int((cosines >= cosines.max() - np.float32(1e-5)).argmax())


def examples_of(index: dict[str, Any], array: Callable[[Any], Array]) -> dict[str, Array]:
    """Section 6: the vectors of what tools show by example, by the tools' names; those without any are left out."""
    if "examples" not in index:
        return {}
    shown = unit(array(index["examples"]).astype(float) * array(index["example_scales"])[:, None])
    parts = np.split(shown, np.cumsum(array(index["example_counts"]))[:-1])
    return {name: part for name, part in zip(index["names"], parts, strict=True) if len(part)}


class ShownReader(ABC):
    """Whoever derives from it sets what stands here first."""

    info: dict[str, Any]
    tools: dict[str, dict[str, Any]]
    names: list[str]
    place: Array
    examples: dict[str, Array]
    asked: Array

    def gained(self) -> Array:
        """Section 16.5: what tools' examples add."""
        near = list((self.asked @ self.place.T).max(axis=0))
        sizes = np.abs(self.asked).max(axis=1, keepdims=True)
        steps = np.maximum(sizes, 1e-12) / min(32767, (2**31 - 1) // (128 * self.asked.shape[1]))
        asked = np.rint(self.asked / steps) * steps
        same = Counter(row.tobytes() for name in self.names for row in self.examples.get(name, ()))
        for i, name in enumerate(self.names):
            for row in self.examples.get(name, ()):
                near[i] = max(near[i], (asked @ row).max() - np.log(same[row.tobytes()]) / 10)
        return np.array(10 * (np.array(near) - max(near)))

    def set_back(self, query: str) -> Array:
        """Section 16.13: h of every name."""
        asks = only_asks(query, rules_in(query, stem))
        tools = [self.tools.get(name) for name in self.names]
        return np.array([float(asks and tool is not None and changes(tool)) for tool in tools])

    def valued(self, query: str) -> Array:
        """Section 16.12: v of every name."""
        takes = [taken(self.tools[name], in_words) if name in self.tools else set() for name in self.names]
        found, n = np.zeros(len(self.names)), len(self.names)
        for kind in held(query):
            has = np.array([kind in some for some in takes])
            found += self.info["prior"]["values"][kind] * has * np.log((n + 1) / (has.sum() + 1))
        return found
