"""Methods that rank what comes next, by name: edgeret's own parts, and search by words alone.

All share the bundle's encoder and labels. A method that does not look at the history (similarity, bm25, tool-graph,
less-is-more) ranks once for the query and gives the same answer at every step, as it would in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Step
from edgeret.inputs.tool_text import tool_text
from edgeret.planner.chat import Prompt, Turn
from edgeret.runtime.history import History
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.scoring.graph import GLOBAL, PADDING, UNKNOWN, Graph
from edgeret.types import Call
from edgeret_bench import FITTED_METHODS, NEXT_TOOL_METHODS, OTHER_METHODS
from edgeret_bench.accuracy.retrieval import Bm25

IDEAL_TOOLS = Turn(
    "system",
    "You are given a request. Name the functions that an assistant would need to fulfil it, and describe what each of "
    "them does in one short line. Write nothing else.",
)
IDEAL_GRAMMAR = r"root ::= line line? line?" + "\n" + r'line ::= [A-Za-z] [^\n\x00-\x1f]{10,100} "\n"'

FROM_DEMONSTRATIONS = ("dr", "dtdr-c", "dtdr-l-factored", "tool-graph")
"""Methods that a bundle from tools alone does not have."""
Scorer = Callable[[Task, Step], NDArray[np.floating]]
"""Scores of all candidates (`Task.candidate_names`) at one step; higher is better."""


def _fused(task: Task, step: Step) -> NDArray[np.floating]:
    """What the runtime itself gives, in the order of the other methods."""
    found = dict(zip(task.names, task.probabilities().tolist(), strict=True))
    return np.array([found[name] for name in task.request.names])


class Methods:
    """The scorers of a bundle, by name."""

    def __init__(self, runtime: Runtime, seed: int) -> None:
        self._runtime = runtime
        self._rng = np.random.default_rng(seed)
        graph = runtime.components.graph
        self._after = None if graph is None else followers(graph)
        self._number = {name: i for i, name in enumerate(() if graph is None else graph.labels[:-1])}
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
        self._position = {name: i for i, name in enumerate(runtime.components.index.names)}
        self._places: tuple[tuple[str, ...], NDArray[np.intp]] = (), np.empty(0, np.intp)
        self._once: dict[str, tuple[Task, NDArray[np.floating]]] = {}
        self._bm25: Bm25 | None = None
        self._convolved: NDArray[np.float32] | None = None

    def usual(self) -> list[str]:
        """Those of NEXT_TOOL_METHODS that this bundle has."""
        return [name for name in NEXT_TOOL_METHODS if self._after is not None or name not in FROM_DEMONSTRATIONS]

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
        if name == "less-is-more":
            _ = self._runtime.components.planner.get()
        return self._by_name[name]

    def _random(self, task: Task, step: Step) -> NDArray[np.floating]:
        return self._rng.random(len(task.request.names))

    def _static_graph(self, task: Task, step: Step) -> NDArray[np.floating]:
        assert self._after is not None
        last = self._number.get(step.history[-1], UNKNOWN) if step.history else PADDING
        if last == UNKNOWN:
            return self._all(task, np.full(self._after.shape[1], 1 / self._after.shape[1]))
        return self._all(task, self._after[last])

    def _graph(self, task: Task, step: Step) -> NDArray[np.floating]:
        graph = self._runtime.components.graph
        assert graph is not None
        return self._all(task, graph.distribution(graph.locate(task.request.vector), self._numbers(step)))

    def _factored_head(self, task: Task, step: Step) -> NDArray[np.floating]:
        calls = [Call(name) for name in step.history]
        return self._all(task, np.exp(task.request.head_scores(History(calls, self._numbers(step)))))

    def _numbers(self, step: Step) -> list[int]:
        return [self._number.get(name, UNKNOWN) for name in step.history]

    def _all(self, task: Task, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Scores of the labels, padded with zeros for tools that no demonstration calls."""
        return np.concatenate((scores, np.zeros(len(task.request.names) - len(scores))))

    def _similarity(self, task: Task, step: Step) -> NDArray[np.floating]:
        """Cosine of query and tool text, Dense retrieval; `<end>` has no text and comes last."""
        return self._by_tool(task, self._runtime.components.index.vectors @ task.request.vector)

    def _words(self, task: Task, step: Step) -> NDArray[np.floating]:
        if self._bm25 is None:
            form = str(self._runtime.manifest.info[roles.INFO_RECIPE]["tool_text"])
            self._bm25 = Bm25([tool_text(tool, form) for tool in self._runtime.tools.values()])
        bm25 = self._bm25
        return self._by_tool(task, self._once_a_task("bm25", task, lambda: bm25.scores(task.query)))

    def _tool_graph(self, task: Task, step: Step) -> NDArray[np.floating]:
        """Tool Graph Retriever: tool vectors convolved once with the static graph of what follows what."""
        if self._convolved is None:
            self._convolved = convolve(self._runtime.components.index.vectors, self._followers())
        return self._by_tool(task, self._convolved @ task.request.vector)

    def _less_is_more(self, task: Task, step: Step) -> NDArray[np.floating]:
        """Less-is-More, level 1: the planner describes the tools it would wish for, and they are searched for."""

        def ask() -> NDArray[np.floating]:
            prompt = Prompt((IDEAL_TOOLS,), Turn("user", f"Request: {task.query}"))
            text, _, _ = self._runtime.components.planner.get().write(prompt, IDEAL_GRAMMAR)
            wished = [line for line in text.splitlines() if line.strip()] or [task.query]
            vectors = np.stack([self._runtime.components.encoder.encode(line) for line in wished])
            best: NDArray[np.floating] = (self._runtime.components.index.vectors @ vectors.T).max(axis=1)
            return best

        return self._by_tool(task, self._once_a_task("less-is-more", task, ask))

    def _once_a_task(self, name: str, task: Task, compute: Callable[[], NDArray[np.floating]]) -> NDArray[np.floating]:
        """What depends on the query alone, computed at a task's first step."""
        known = self._once.get(name)
        if known is None or known[0] is not task:
            known = self._once[name] = task, compute()
        return known[1]

    def _followers(self) -> NDArray[np.bool_]:
        """What ever followed what in the demonstrations, over tools in index order (tools, tools)."""
        number, names = self._number, self._runtime.components.index.names
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

    def _by_tool(self, task: Task, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Scores of the tools in index order as scores of the task's candidates; `<end>` gets the lowest."""
        names = task.request.names
        if self._places[0] is not names:  # the same for every task, unless an HNSW graph finds other unseen tools
            self._places = names, np.array([self._position.get(name, len(scores)) for name in names], np.intp)
        return np.append(scores, scores.min(initial=0) - 1)[self._places[1]]


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


def followers(graph: Graph) -> NDArray[np.float32]:
    """The static dependency retriever (ToolNet): what followed each label anywhere, float32 (labels + 1, labels), rows
    that sum to 1. The last row, which PADDING finds, is of the first call; what nothing followed says nothing."""
    n = len(graph.labels)
    counts = np.zeros((n + 1, n), np.float32)
    moves = graph.transitions()
    everywhere = moves[moves[:, 0] == GLOBAL]
    np.add.at(counts, (everywhere[:, 1].astype(np.intp), everywhere[:, 2].astype(np.intp)), everywhere[:, 3])
    totals = counts.sum(axis=1, keepdims=True)
    shares: NDArray[np.float32] = np.where(totals > 0, counts / np.maximum(totals, 1e-30), 1 / n).astype(np.float32)
    return shares
