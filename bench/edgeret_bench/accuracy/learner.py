"""The few calls by which a runtime learns on the device, and what of their time is encoding.

All is learned in memory: the bundle, and what was learned beside it before, are neither read for it nor changed.
"""

from __future__ import annotations

from time import perf_counter

from edgeret.runtime import learned
from edgeret.runtime.runtime import Runtime


def fresh(runtime: Runtime, replay: bool = True) -> Runtime:
    """A runtime of the same bundle that has learned nothing yet, and that keeps what it learns in memory alone; with
    `replay` every lesson repeats some earlier ones, as the library does, and without it components learn."""
    if replay:
        return Runtime(runtime.loaded, learned.Learned(runtime.loaded.core))
    from edgeret_export.reference.components import learner_for
    from edgeret_export.reference.learning import Learned
    from edgeret_export.reference.runtime import components_of, runtime_of

    components = components_of(runtime)
    make = learner_for(components)
    return runtime_of(components, Learned(lambda: make().without_replay()))


def encoding_s(runtime: Runtime, query: str) -> float:
    """Seconds that the library takes to encode a query."""
    started = perf_counter()
    runtime.loaded.core.encode(query)
    return perf_counter() - started
