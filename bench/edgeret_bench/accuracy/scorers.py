"""Methods that rank what comes next, by name: edgeret's own parts, and search by words alone.

All share the bundle's encoder and labels. A method that does not look at the history (similarity, bm25, tool-graph,
less-is-more) ranks once for the query and gives the same answer at every step, as it would in use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.reader import open_bundle
from edgeret.cli.drawn import GLOBAL, PADDING, read_drawn
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Step
from edgeret.inputs.tool_text import tool_text
from edgeret.planner.chat import Prompt, Turn
from edgeret.runtime.history import History
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.types import END, Call
from edgeret_bench import FITTED_METHODS, NEXT_TOOL_METHODS, OTHER_METHODS
from edgeret_bench.accuracy.bm25 import Bm25

if TYPE_CHECKING:
    from edgeret_export.reference.components import Components
    from edgeret_export.reference.request import Request
    from edgeret_export.reference.stopwatch import Stopwatch

UNKNOWN = -3
"""A called tool that no demonstration calls."""
IDEAL_TOOLS = Turn(
    "system",
    "You are given a request. Name the functions that an assistant would need to fulfil it, and describe what each of "
    "them does in one short line. Write nothing else.",
)
IDEAL_GRAMMAR = r"root ::= line line? line?" + "\n" + r'line ::= [A-Za-z] [^\n\x00-\x1f]{10,100} "\n"'

BY_REFERENCE = ("dtdr-c", "dtdr-l-factored", "prior")
"""Parts of a decision, which the library does not tell apart: edgeret-export has them, readably."""
FROM_DEMONSTRATIONS = ("dr", "dtdr-c", "dtdr-l-factored", "tool-graph")
"""Methods that a bundle from tools alone does not have."""


class Measured(NamedTuple):
    """A task as the library has it, its query as components read it, None without them, and what is ranked."""

    own: Task
    reading: Request | None
    names: tuple[str, ...]

    @property
    def request(self) -> Request:
        """The query as components read it, for methods of BY_REFERENCE."""
        assert self.reading is not None
        return self.reading

    @property
    def query(self) -> str:
        """The user's words."""
        return self.own.query


Scorer = Callable[[Measured, Step], NDArray[np.floating]]
"""Scores of all candidates (`Request.names`) at one step; higher is better."""


def _fused(task: Measured, step: Step) -> NDArray[np.floating]:
    """What the runtime itself gives, in the order of the other methods."""
    found = dict(zip(task.own.names, task.own.probabilities().tolist(), strict=True))
    return np.array([found[name] for name in task.names])


class Methods:
    """The scorers of a bundle, by name."""

    def __init__(self, runtime: Runtime, seed: int) -> None:
        self._runtime, self._rng = runtime, np.random.default_rng(seed)
        loaded = runtime.loaded
        drawn = read_drawn(open_bundle(loaded.path, content_hash=loaded.bundle_hash))
        self._vectors = loaded.vectors_of(list(runtime.tools))[0]
        self._after = followers(drawn.labels, drawn.transitions) if drawn.labels else None
        self._number = {name: i for i, name in enumerate(drawn.labels[:-1])}
        self._by_name: Mapping[str, Scorer] = {
            "random": self._random,
            "dr": self._static_graph,
            "dtdr-c": self._graph,
            "dtdr-l-factored": self._factored_head,
            "prior": lambda task, step: np.exp(task.request.prior_scores([Call(name) for name in step.history])),
            "fused": _fused,
            "similarity": self._similarity,
            "bm25": self._words,
            "tool-graph": self._tool_graph,
            "less-is-more": self._less_is_more,
        }
        self._position = {name: i for i, name in enumerate(runtime.tools)}
        self._places: tuple[tuple[str, ...], NDArray[np.intp]] = (), np.empty(0, np.intp)
        self._once: dict[str, tuple[Measured, NDArray[np.floating]]] = {}
        self._bm25: Bm25 | None = None
        self._convolved: NDArray[np.float32] | None = None

    @cached_property
    def _components(self) -> Components:
        from edgeret_export.reference.runtime import components_of

        return replace(components_of(self._runtime), cascade=None)

    @cached_property
    def _read(self) -> Callable[[str, Stopwatch], Request]:
        from edgeret_export.reference.loaded import ComponentsLoaded

        return ComponentsLoaded(self._components).scorer.read

    def measured(self, query: str, methods: Collection[str]) -> Measured:
        """What these methods look at: a task of its own, since the full encoder's having read it would end a
        cascade."""
        own = self._runtime.task(query)
        if not set(BY_REFERENCE) & set(methods):
            return Measured(own, None, own.names)
        from edgeret_export.reference.stopwatch import Stopwatch

        read = self._read(query, Stopwatch())
        return Measured(own, read, read.names)

    def usual(self) -> list[str]:
        """Those of NEXT_TOOL_METHODS that this bundle has."""
        found = [name for name in NEXT_TOOL_METHODS if self._after is not None or name not in FROM_DEMONSTRATIONS]
        return found if has_reference() else [name for name in found if name not in BY_REFERENCE]

    def get(self, name: str) -> Scorer:
        """The scorer. Raises InputError for a name that is unknown or that no bundle carries, and what
        `LazyPlanner.get` raises if the method needs a planner and there is none."""
        if name in FITTED_METHODS:
            raise InputError(
                f"no bundle carries method '{name}'; this fits it anew, beside the others: "
                "edgeret-bench methods BUNDLE --train D --demos D2"
            )
        if name not in self._by_name:
            known = ", ".join((*NEXT_TOOL_METHODS, *OTHER_METHODS))
            raise InputError(f"unknown method '{name}'; choose among: {known}")
        if name in FROM_DEMONSTRATIONS and self._after is None:
            raise InputError(f"method '{name}' needs demonstrations, and this bundle was built from tools alone")
        if name in BY_REFERENCE and not has_reference():
            raise InputError(f"method '{name}' is a part of a decision, which edgeret-export tells apart; install that")
        if name == "less-is-more":
            _ = self._runtime.loaded.planner.get()
        return self._by_name[name]

    def _random(self, task: Measured, step: Step) -> NDArray[np.floating]:
        return self._rng.random(len(task.names))

    def _static_graph(self, task: Measured, step: Step) -> NDArray[np.floating]:
        assert self._after is not None
        last = self._number.get(step.history[-1], UNKNOWN) if step.history else PADDING
        if last == UNKNOWN:
            return self._all(task, np.full(self._after.shape[1], 1 / self._after.shape[1]))
        return self._all(task, self._after[last])

    def _graph(self, task: Measured, step: Step) -> NDArray[np.floating]:
        graph = self._components.graph
        assert graph is not None
        return self._all(task, graph.distribution(graph.locate(task.request.vector), self._numbers(step)))

    def _factored_head(self, task: Measured, step: Step) -> NDArray[np.floating]:
        calls = [Call(name) for name in step.history]
        return self._all(task, np.exp(task.request.head_scores(History(calls))))

    def _numbers(self, step: Step) -> list[int]:
        return [self._number.get(name, UNKNOWN) for name in step.history]

    def _all(self, task: Measured, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Scores of the labels as scores of the task's candidates, 0 for tools that no demonstration calls."""
        if task.reading is not None:  # whose labels stand in front
            return np.concatenate((scores, np.zeros(len(task.names) - len(scores))))
        known = dict(zip((*self._number, END), scores.tolist(), strict=True))
        return np.array([known.get(name, 0.0) for name in task.names])

    def _similarity(self, task: Measured, step: Step) -> NDArray[np.floating]:
        """Cosine of query and tool text, Dense retrieval; `<end>` has no text and comes last."""
        return self._by_tool(task, self._vectors @ self._encoded(task))

    def _words(self, task: Measured, step: Step) -> NDArray[np.floating]:
        if self._bm25 is None:
            form = str(self._runtime.manifest.info[roles.INFO_RECIPE]["tool_text"])
            self._bm25 = Bm25([tool_text(tool, form) for tool in self._runtime.tools.values()])
        bm25 = self._bm25
        return self._by_tool(task, self._once_a_task("bm25", task, lambda: bm25.scores(task.query)))

    def _tool_graph(self, task: Measured, step: Step) -> NDArray[np.floating]:
        """Tool Graph Retriever: tool vectors convolved once with the static graph of what follows what."""
        if self._convolved is None:
            self._convolved = convolve(self._vectors, self._followers())
        return self._by_tool(task, self._convolved @ self._encoded(task))

    def _less_is_more(self, task: Measured, step: Step) -> NDArray[np.floating]:
        """Less-is-More, level 1: the planner describes the tools it would wish for, and they are searched for."""

        def ask() -> NDArray[np.floating]:
            prompt = Prompt((IDEAL_TOOLS,), Turn("user", f"Request: {task.query}"))
            text, _, _ = self._runtime.loaded.planner.get().write(prompt, IDEAL_GRAMMAR)
            wished = [line for line in text.splitlines() if line.strip()] or [task.query]
            vectors = np.stack([self._runtime.loaded.core.encode(line) for line in wished])
            best: NDArray[np.floating] = (self._vectors @ vectors.T).max(axis=1)
            return best

        return self._by_tool(task, self._once_a_task("less-is-more", task, ask))

    def _encoded(self, task: Measured) -> NDArray[np.floating]:
        return self._once_a_task("query", task, lambda: self._runtime.loaded.core.encode(task.query))

    def _once_a_task(
        self, name: str, task: Measured, compute: Callable[[], NDArray[np.floating]]
    ) -> NDArray[np.floating]:
        """What depends on the query alone, computed at a task's first step."""
        known = self._once.get(name)
        if known is None or known[0] is not task:
            known = self._once[name] = task, compute()
        return known[1]

    def _followers(self) -> NDArray[np.bool_]:
        """What ever followed what in the demonstrations, over tools in index order (tools, tools)."""
        number, names = self._number, list(self._runtime.tools)
        follows = np.zeros((len(names), len(names)), bool)
        position = self._position
        order = [position[name] for name in self._number]
        assert self._after is not None
        for name, label in number.items():
            row = self._after[label][:-1]
            if row.size and row.max() > row.min():  # a tool that nothing follows has a flat row
                follows[position[name], order] = row > 0
        np.fill_diagonal(follows, False)
        return follows

    def _by_tool(self, task: Measured, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Scores of the tools in index order as scores of the task's candidates; `<end>` gets the lowest."""
        names = task.names
        if self._places[0] is not names:  # the same for every task, unless an HNSW graph finds other unseen tools
            self._places = names, np.array([self._position.get(name, len(scores)) for name in names], np.intp)
        return np.append(scores, scores.min(initial=0) - 1)[self._places[1]]


def has_reference() -> bool:
    """Whether the readable numbers are installed."""
    try:
        import edgeret_export  # noqa: F401
    except ImportError:
        return False
    return True


def convolve(vectors: NDArray[np.float32], follows: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Unit tool vectors (tools, dimension) mixed with those of their followers: D^-1/2 (A + I) D^-1/2 X, one step.

    Row and column sums of A + I stand for D, since A (tools, tools) need not be symmetric and a tool may have no
    neighbour.
    """
    mixed = follows.astype(np.float32) + np.eye(len(follows), dtype=np.float32)
    mixed /= np.sqrt(mixed.sum(axis=1, keepdims=True)) * np.sqrt(mixed.sum(axis=0, keepdims=True))
    result = mixed @ vectors
    result /= np.maximum(np.linalg.norm(result, axis=1, keepdims=True), 1e-12)
    return result


def followers(labels: Sequence[str], moves: NDArray[np.float64]) -> NDArray[np.float32]:
    """The static dependency retriever (ToolNet): what followed each label anywhere, float32 (labels + 1, labels), rows
    that sum to 1. The last row, which PADDING finds, is of the first call; what nothing followed says nothing."""
    n = len(labels)
    counts = np.zeros((n + 1, n), np.float32)
    everywhere = moves[moves[:, 0] == GLOBAL]
    np.add.at(counts, (everywhere[:, 1].astype(np.intp), everywhere[:, 2].astype(np.intp)), everywhere[:, 3])
    totals = counts.sum(axis=1, keepdims=True)
    shares: NDArray[np.float32] = np.where(totals > 0, counts / np.maximum(totals, 1e-30), 1 / n).astype(np.float32)
    return shares
