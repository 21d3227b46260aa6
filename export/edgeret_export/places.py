"""Where the stages of a build run: in this process, or on Ray. Knows not what they do, and every place gives the same.

A stage is a function of what all its items share and of one item. Ray gets the same functions, and results come back in
the order of the items, whichever worker was done first.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, TypeVar

from edgeret import __version__
from edgeret.errors import EdgeretError, InputError, MissingExtraError
from edgeret.host import available_cpus, instruction_set
from edgeret.terminal.progress import say

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
REACHED_WITHIN_S = 5.0
LIGHT = 64
"""Light items that go to a worker together."""
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "onnxruntime", "tokenizers")


class Place(Protocol):
    """Runs a stage on every item. `at_once` is how many light items are worth handing over together."""

    at_once: int

    def each(self, stage: Callable[[S, T], R], shared: S, items: Sequence[T], *, light: bool = False) -> Iterator[R]:
        """What the stage makes of each item, in their order; `light` items take milliseconds, others a CPU each."""


class Here:
    """This process: light items side by side on all CPUs, others one after the other, since each needs its memory."""

    at_once = LIGHT
    """What a killed build loses at most."""

    def each(self, stage: Callable[[S, T], R], shared: S, items: Sequence[T], *, light: bool = False) -> Iterator[R]:
        """See `Place`."""
        if not light:
            yield from (stage(shared, item) for item in items)
        elif items:
            with ThreadPoolExecutor(available_cpus()) as pool:
                yield from pool.map(partial(stage, shared), items)


HERE = Here()


class OnRay:
    """The workers of a Ray that is running, by Ray Data. Their machines need this edgeret and the same libraries."""

    at_once = 8192
    """A data set of Ray's takes about a second to begin."""

    def each(self, stage: Callable[[S, T], R], shared: S, items: Sequence[T], *, light: bool = False) -> Iterator[R]:
        """See `Place`. Raises InputError for a worker that would give other numbers, or that failed."""
        import ray
        import ray.data

        if not items:
            return
        blocks = -(-len(items) // LIGHT) if light else len(items)
        task = _Task(stage, ray.put(shared), ray.put(items), likeness())
        numbers = ray.data.range(len(items), override_num_blocks=blocks)
        found = numbers.map_batches(_run, batch_size=None, fn_kwargs={"task": task}, num_cpus=1)
        waiting: dict[int, Any] = {}
        due = 0
        try:
            for row in found.iter_rows():
                waiting[int(row["id"])] = row["found"]
                while due in waiting:
                    yield waiting.pop(due).told()
                    due += 1
        except ray.exceptions.RayError as error:
            raise _failed(_said(str(error))) from None


@contextmanager
def place_of(address: str | None) -> Iterator[Place]:
    """A Ray at an address; for "" the one that RAY_ADDRESS names or that runs here already, or else one of this
    machine's own, which ends with the block; HERE for None. Raises MissingExtraError without Ray, InputError for an
    address where none answers."""
    if address is None:
        yield HERE
        return
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before the import; a cluster's own is its owner's business
    try:
        import ray
        import ray.data
    except ModuleNotFoundError:
        raise MissingExtraError("edgeret-export[ray]", "a build on Ray (--ray)") from None
    begun = not ray.is_initialized()
    if address:
        _reach(address)
    if begun:
        # Ray writes what it has to say, and what workers print, to stdout, which is the result's.
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "include_dashboard": False}
        try:
            ray.init(address=address or None, **quiet)
        except Exception as error:  # of any class, a plain Exception too where a machine is too busy to start it
            raise _unreached(address, error) from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    say(f"Ray: {ray.cluster_resources().get('CPU', 0):.0f} CPUs on {len(ray.nodes())} machines")
    try:
        yield OnRay()
    finally:
        if begun:
            ray.shutdown()


def _reach(address: str) -> None:
    """Raises InputError where nothing listens; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), REACHED_WITHIN_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _unreached(address, error) from None


def _unreached(address: str, error: Exception) -> InputError:
    told = " ".join(str(error).split())[:200]
    where = f"--ray {address}: no Ray answers there" if address else "--ray: no Ray could be started here"
    return InputError(
        f"{where} ({told}); give HOST:PORT of what `ray start --head` began and this machine joined, or build without"
    )


def likeness() -> dict[str, str]:
    """What results depend on beside a stage's inputs: machines where it differs give other numbers."""
    found = {"edgeret": __version__, "CPU": instruction_set()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


@dataclass(frozen=True, slots=True)
class _Task:
    """A stage on its way to workers; `shared` and `items` are Ray's references."""

    stage: Callable[[Any, Any], Any]
    shared: Any
    items: Any
    likeness: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Result:
    """What a stage found, or raised: Ray makes no table of it, and its own errors lose what they began with."""

    value: Any
    error: EdgeretError | None = None

    def told(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


_fetched: dict[str, Any] = {}
"""The latest things that this worker was given: an encoder takes a second to start."""


def _fetch(reference: Any) -> Any:
    import ray

    key = reference.hex()
    if key not in _fetched:
        while len(_fetched) > 1:
            del _fetched[next(iter(_fetched))]
        _fetched[key] = ray.get(reference)
    return _fetched[key]


def _run(batch: Mapping[str, Any], task: _Task) -> dict[str, Any]:
    """On a worker: the stage, for the items of these numbers."""
    import numpy as np

    ours = likeness()
    different = [f"{name} {ours[name]} for {told}" for name, told in task.likeness.items() if ours[name] != told]
    found = np.empty(len(batch["id"]), object)
    for i, number in enumerate(batch["id"].tolist()):
        try:
            if different:
                raise InputError(
                    f"Ray: a worker has {', '.join(different)} and would give other numbers; build on machines alike"
                )
            found[i] = _Result(task.stage(_fetch(task.shared), _fetch(task.items)[number]))
        except EdgeretError as error:
            found[i] = _Result(None, error)
        except Exception as error:
            found[i] = _Result(None, _failed(f"{type(error).__name__}: {error}"))
    return {"id": batch["id"], "found": found}


def _failed(why: str) -> EdgeretError:
    return InputError(
        f"Ray: a worker failed ({' '.join(why.split())[:300]}); its machine needs edgeret-export[ray] "
        f"{__version__}, and memory for its part"
    )


def _said(text: str) -> str:
    """The line of a traceback that says what was wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "Error" in line.split(":")[0]), lines[0] if lines else "no word")
