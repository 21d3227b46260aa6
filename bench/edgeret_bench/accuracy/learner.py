"""The few calls by which a runtime learns on the device, and a clock for its encoder.

All is learned in memory: the bundle, and what was learned beside it before, are neither read for it nor changed.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, cast

from edgeret.encoders.base import Encoder
from edgeret.runtime.components import learner_for
from edgeret.runtime.learning import Learned
from edgeret.runtime.runtime import Runtime


class TimedEncoder:
    """An encoder that adds up the `seconds` spent in it."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._encoder, name)
        if not callable(found):
            return found

        def timed(*arguments: Any, **options: Any) -> Any:
            started = perf_counter()
            try:
                return found(*arguments, **options)
            finally:
                self.seconds += perf_counter() - started

        return timed


def fresh(runtime: Runtime, encoder: TimedEncoder, replay: bool) -> Runtime:
    """A runtime of the same bundle that has learned nothing yet, and that keeps what it learns in memory alone; with
    `replay` every lesson repeats some earlier ones."""
    components = replace(runtime.components, encoder=cast(Encoder, encoder))
    make = learner_for(components)
    return Runtime(components, Learned(make if replay else lambda: make().without_replay()))
