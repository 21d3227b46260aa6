"""Search by the library, as strategies ask for it. Knows nothing of how anything is ranked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.core import search
from edgeret.core.learner import Learner
from edgeret.core.model import Model, Task
from edgeret.strategies.base import SHOWN, Heard
from edgeret.types import Hit


class ToolFinder:
    """A model's tools, searched. Immutable and thread-safe."""

    def __init__(
        self, model: Model, names: Sequence[str], learner: Learner | None = None, task: Task | None = None
    ) -> None:
        """`names` are the tools' by number, `learner` has what was learned. The text of a `task`, which is all that is
        searched for then, is not encoded again."""
        self._model, self._names, self._learner, self._task = model, names, learner, task

    def mixed(self, text: str, k: int, heard: Heard | None = None) -> list[Hit]:
        """As `Finder.mixed`."""

        def tell(words: str, probabilities: NDArray[np.float32], left: int) -> bool:
            assert heard is not None
            first = np.argsort(-probabilities, kind="stable")[:SHOWN].tolist()
            return heard(words, [Hit(self._names[i], float(probabilities[i])) for i in first], left)

        return self._hits(text, k, search.AUTO, None if heard is None else tell)

    def hybrid(self, text: str, k: int) -> list[Hit]:
        """As `Finder.hybrid`."""
        return self._hits(text, k, search.HYBRID)

    def nearest(self, text: str, k: int) -> list[Hit]:
        """As `Finder.nearest`."""
        names, found = self._names, search.search(self._model, text, search.DESCRIPTION, k)
        return [Hit(names[tool], cosine) for tool, _, _, _, _, cosine in found]

    def _hits(self, text: str, k: int, strategy: int, tell: search.Tell | None = None) -> list[Hit]:
        names, found = self._names, search.search(self._model, text, strategy, k, tell, self._learner, self._task)
        return [Hit(names[tool], cosine, share) for tool, _, _, _, share, cosine in found]
