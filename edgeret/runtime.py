"""The facade: load a bundle, open a task, get decisions.

`Runtime` is immutable and shared by threads; everything that changes lives in a `Task`, one per request of a user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import Bundle, Manifest, check_owner, open_bundle
from edgeret.clauses import split_clauses
from edgeret.codec import get
from edgeret.demonstrations import check_query
from edgeret.device import available_cpus
from edgeret.encoder import Encoder, load_encoder
from edgeret.errors import BundleError, InputError
from edgeret.graph import UNKNOWN, Graph, load_graph
from edgeret.head import FactoredHead, load_head
from edgeret.index import Index, load_index
from edgeret.policy import POLICIES, Policy, PolicyName, PolicyParameters
from edgeret.providers import choose
from edgeret.tools import check_tools, parse_tool
from edgeret.types import END, Call, Candidate, Decision, Hit, Plan, Source, Tool

CROWD = 32
"""Candidates for each one listed from which on selecting those listed is faster than sorting all."""
NOVEL_HITS = 64
"""Tools without demonstrations that a query competes with, when an HNSW graph finds them."""


def load(
    path: str | Path,
    *,
    providers: Sequence[str] = ("cpu",),
    allow_fallback: bool = False,
    provider_options: Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
    static_tokens: int | None = None,
) -> Runtime:
    """Loads a bundle; every file is verified before anything parses it.

    `providers` are execution providers by name ("cpu", "cuda", "qnn", …), the first of which must really run unless
    `allow_fallback`. `threads` is the CPU budget (default: what affinity and cgroup allow). `static_tokens` fixes the
    input's length for compilers that want it. Raises BundleError, ProviderError or MissingExtraError.
    """
    bundle = open_bundle(path)
    choice = choose(providers, allow_fallback, provider_options or {})
    encoder = load_encoder(bundle, choice, threads or available_cpus(), static_tokens)
    return Runtime(bundle, encoder)


class Runtime:
    """A loaded bundle. Thread-safe; hands out tasks."""

    def __init__(self, bundle: Bundle, encoder: Encoder) -> None:
        """Puts the parts of a verified bundle together. Raises BundleError if they do not belong together."""
        self.path = bundle.path
        self.manifest: Manifest = bundle.manifest
        self.encoder = encoder
        self.index: Index = load_index(bundle)
        self.graph: Graph = load_graph(bundle)
        self.head: FactoredHead = load_head(bundle)
        self.tools: Mapping[str, Tool] = load_tools(bundle)
        self.policy = Policy(load_policy(bundle))
        self.labels = self.head.labels
        self._check_parts()
        self.label_number: Mapping[str, int] = {name: i for i, name in enumerate(self.labels[:-1])}
        position = {name: i for i, name in enumerate(self.index.names)}
        self._label_positions = np.array([position[name] for name in self.labels[:-1]], np.intp)
        self._novel_positions = np.array([i for n, i in position.items() if n not in self.label_number], np.intp)
        self.label_vectors = self.index.vectors[self._label_positions]
        self._novel_vectors = self.index.vectors[self._novel_positions] if self.index.kind == "exact" else None
        self._candidate_names = (*self.labels, *(self.index.names[i] for i in self._novel_positions.tolist()))

    def task(self, query: str) -> Task:
        """Opens a task: encodes the query, once. Raises InputError for a query that is blank or too long."""
        return Task(self, check_query(query))

    def search(self, text: str, k: int = 10, *, clauses: bool = False) -> list[Hit]:
        """The `k` tools whose descriptions are nearest to `text`, best first.

        With `clauses` each clause of the text is searched too and a tool counts by its best rank, which finds more
        for requests that want several things. Raises InputError.
        """
        if k < 1:
            raise InputError(f"k must be at least 1, found {k}")
        check_query(text)
        best: dict[int, tuple[int, float]] = {}
        for part in (text, *(split_clauses(text) if clauses else ())):
            positions, similarities = self.index.search(self.encoder.encode(part), k)
            for rank, (position, cosine) in enumerate(zip(positions.tolist(), similarities.tolist(), strict=True)):
                old_rank, old_cosine = best.get(position, (rank, cosine))
                best[position] = (min(rank, old_rank), max(cosine, old_cosine))
        ordered = sorted(best.items(), key=lambda item: (item[1][0], -item[1][1]))[:k]
        return [Hit(self.index.names[position], cosine) for position, (_, cosine) in ordered]

    def plan(self, query: str, *, policy: PolicyName = "auto", max_steps: int = 16) -> Plan:
        """Decides again and again until `<end>`, an abstention or `max_steps` calls. Raises InputError."""
        task = self.task(query)
        steps: list[Decision] = []
        for _ in range(max_steps):
            decision = task.next(policy=policy)
            steps.append(decision)
            if decision.tool is None:
                return Plan(query, tuple(steps), "abstained")
            if decision.tool == END:
                return Plan(query, tuple(steps), "complete")
            task.call(decision.tool)
        return Plan(query, tuple(steps), "bound")

    def warmup(self) -> None:
        """Runs one decision, so that the first user does not pay for page faults and lazy allocations."""
        self.task("warm up").next()

    def novel_similarities(self, vector: NDArray[np.float32]) -> tuple[tuple[str, ...], NDArray[np.float32]]:
        """What a query decides between: the labels and, behind them, tools without demonstrations, all of them or
        the nearest ones where an HNSW graph searches; and the cosines of the latter to the query's vector.
        """
        if self._novel_vectors is not None:
            return self._candidate_names, self._novel_vectors @ vector
        positions, cosines = self.index.search(vector, NOVEL_HITS)
        keep = np.isin(positions, self._novel_positions)
        return (*self.labels, *(self.index.names[i] for i in positions[keep].tolist())), cosines[keep]

    def _check_parts(self) -> None:
        dimension = self.encoder.spec.dimension
        if self.graph.labels != self.labels or self.labels[-1:] != (END,):
            raise BundleError(f"{self.path}: graph and head decide between different tools; build the bundle again")
        if not set(self.labels[:-1]) <= set(self.index.names) or set(self.index.names) != set(self.tools):
            raise BundleError(f"{self.path}: index, heads and tools name different tools; build the bundle again")
        found = {self.index.vectors.shape[1], self.graph.centroids.shape[1], self.head.weights.shape[1]}
        if found != {dimension}:
            raise BundleError(f"{self.path}: vectors of {sorted(found)} numbers, the encoder gives {dimension}")


class Task:
    """One request of a user: its query, encoded once, and the calls so far. Not shared between threads."""

    def __init__(self, runtime: Runtime, query: str) -> None:
        """Use `Runtime.task`.

        `candidate_names` are the names that `probabilities` speaks of: labels (tools, then `<end>`), then tools
        without demonstrations.
        """
        self._runtime = runtime
        self.query = query
        self._calls: list[Call] = []
        self._numbers: list[int] = []
        started = perf_counter()
        ids = runtime.encoder.tokenize(runtime.encoder.spec.query_prefix + query)
        tokenized = perf_counter()
        vectors = runtime.encoder.embed_segments(ids)
        self.vector = vectors[0]
        encoded = perf_counter()
        # One pass over the tools' vectors serves the query itself and the head's mixtures of it and its parts.
        described = runtime.head.directions(vectors) @ runtime.label_vectors.T
        self._similarities = described[0]
        self.candidate_names, self._novel = runtime.novel_similarities(self.vector)
        self._novel_weights = runtime.policy.novel_weights(self._novel) if len(self._novel) else self._novel
        searched = perf_counter()
        self._position = runtime.graph.locate(self.vector)
        located = perf_counter()
        self.query_logits = runtime.head.query_logits(self.vector, described[1:])
        self._pending = {
            "tokenize": (tokenized - started) * 1e3,
            "encode": (encoded - tokenized) * 1e3,
            "search": (searched - encoded) * 1e3,
            "graph": (located - searched) * 1e3,
            "head": (perf_counter() - located) * 1e3,
        }

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, in order, with their arguments."""
        return tuple(self._calls)

    @property
    def familiar(self) -> bool:
        """Whether the query resembles the demonstrations."""
        return self._runtime.policy.familiar(self._position.similarity)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Adds a call to the history; nothing is encoded again. Raises InputError for an unknown tool."""
        if tool not in self._runtime.tools:
            raise InputError(f'unknown tool "{tool}" in the history; list the bundle\'s tools with: edgeret inspect')
        self._calls.append(Call(tool, arguments or {}))
        self._numbers.append(self._runtime.label_number.get(tool, UNKNOWN))

    def probabilities(self) -> NDArray[np.float32]:
        """Calibrated probabilities of `candidate_names`, float32, summing to 1."""
        return self._distribution({})

    def candidates(self, k: int | None = None) -> list[Candidate]:
        """The `k` most probable candidates (None: all), most probable first."""
        return list(self._ranked(self.probabilities(), k))

    def next(
        self, *, policy: PolicyName = "auto", k: int | None = 10, min_probability: float | None = None
    ) -> Decision:
        """Decides what comes next.

        Policy "heads" always takes the heads' best candidate. "auto" abstains where nothing fits, and lets
        description search decide a query that is unlike the demonstrations. `k` bounds the candidates listed,
        `min_probability` overrides the bundle's floor. Raises InputError for "planner" if the bundle has none.
        """
        if policy not in POLICIES:
            raise InputError(f"unknown policy '{policy}'; choose one of {', '.join(POLICIES)}")
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, found {k}")
        if policy == "planner":
            raise InputError("this bundle has no planner; choose policy 'auto' or 'heads'")
        started = perf_counter()
        timings, self._pending = self._pending, {}
        first = not self._calls
        if policy == "auto" and first and not self.familiar:
            return self._decide_by_search(k, min_probability, timings, started)
        probabilities = self._distribution(timings)
        fused = perf_counter()
        candidates = self._ranked(probabilities, k)
        best = candidates[0]
        reason = None
        if policy == "auto":
            reason = self._runtime.policy.refusal(best.tool, best.probability, first, min_probability)
        return self._decision("heads", best, candidates, reason, timings, started, fused)

    def _distribution(self, timings: dict[str, float]) -> NDArray[np.float32]:
        runtime = self._runtime
        started = perf_counter()
        graph = runtime.graph.distribution(self._position, self._numbers, normalise=False)
        walked = perf_counter()
        head = runtime.head.logits(self.query_logits, self._numbers)
        timings["graph"] = timings.get("graph", 0.0) + (walked - started) * 1e3
        timings["head"] = timings.get("head", 0.0) + (perf_counter() - walked) * 1e3
        if not len(self._novel):
            return runtime.policy.fuse(head, graph)
        called = None
        if UNKNOWN in self._numbers:
            history = {call.tool for call in self._calls}
            called = np.array([name in history for name in self.candidate_names[len(runtime.labels) :]])
        return runtime.policy.fuse(head, graph, self._novel_weights, called)

    def _ranked(self, probabilities: NDArray[np.float32], k: int | None) -> tuple[Candidate, ...]:
        n = len(probabilities)
        if k is not None and k * CROWD < n:
            listed = probabilities.argpartition(n - k)[n - k :]
            order = listed[probabilities[listed].argsort()[::-1]]
        else:
            order = probabilities.argsort()[::-1][:k]
        names = map(self.candidate_names.__getitem__, order.tolist())
        return tuple(map(Candidate._make, zip(names, probabilities[order].tolist(), strict=True)))

    def _decide_by_search(
        self, k: int | None, min_probability: float | None, timings: dict[str, float], started: float
    ) -> Decision:
        policy = self._runtime.policy
        similarities = np.concatenate((self._similarities, self._novel))
        names = [name for name in self.candidate_names if name != END]
        order = np.lexsort((np.arange(len(names)), -similarities))[: k or len(names)].tolist()
        # Each candidate's own chance of being right: they are judged one by one, so they need not sum to 1.
        candidates = tuple(Candidate(names[i], policy.search_confidence(float(similarities[i]))) for i in order)
        found = perf_counter()
        floor = policy.parameters.min_probability if min_probability is None else min_probability
        reason = (
            f"unlike the demonstrations (cosine {self._position.similarity:.2f}, "
            f"familiar from {policy.parameters.familiar_cosine:.2f}) and "
        )
        best = candidates[0]
        # Without demonstrations to lean on, a tool must be more likely right than wrong.
        if best.probability < max(floor, 0.5):
            reason += f"no description fits: {best.tool} has probability {best.probability:.3f}"
            return self._decision("search", best, candidates, reason, timings, started, found)
        decision_reason = reason + f"found by description: {best.tool}"
        return self._decision("search", best, candidates, None, timings, started, found, decision_reason)

    def _decision(
        self,
        source: Source,
        best: Candidate,
        candidates: tuple[Candidate, ...],
        refusal: str | None,
        timings: dict[str, float],
        started: float,
        fused: float,
        reason: str = "most probable candidate of graph, head and description similarity",
    ) -> Decision:
        now = perf_counter()
        timings["decide"] = (now - fused) * 1e3
        timings["total"] = sum(timings.get(s, 0.0) for s in ("tokenize", "encode", "search")) + (now - started) * 1e3
        return Decision(
            tool=None if refusal else best.tool,
            probability=best.probability,
            source=source,
            abstained=refusal is not None,
            reason=refusal or reason,
            candidates=candidates,
            timings_ms=timings,
        )


def load_tools(bundle: Bundle) -> dict[str, Tool]:
    """The bundle's tools by name, in index order. Raises BundleError."""
    where = f"{bundle.path} (tools)"
    try:
        entries = json.loads(bundle.read("tools"))
        tools = check_tools([(where, parse_tool(entry, where)) for entry in entries], where)
    except (ValueError, TypeError, InputError, RecursionError) as error:
        raise BundleError(f"{where}: {error}; build the bundle again") from None
    return {tool.name: tool for tool in tools}


def load_policy(bundle: Bundle) -> PolicyParameters:
    """The fitted policy, refused if it was fitted on other heads than the bundle's. Raises BundleError."""
    where = f"{bundle.path} (policy)"
    value = get(bundle.manifest.info, "policy", dict, where)
    check_owner(value, bundle.fingerprint(), where)
    for role in ("graph", "head"):
        entry = bundle.manifest.file(role)
        if entry is None or value.get(role) != entry.sha256:
            raise BundleError(f"{where}: calibrated for another {role}; build the bundle again")
    return PolicyParameters.from_dict(get(value, "parameters", dict, where), where)
