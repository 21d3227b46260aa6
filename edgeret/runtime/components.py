"""A bundle's parts, loaded and proved to belong together; tasks decide with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import unpack_json
from edgeret.bundle.layout import Manifest, check_owner
from edgeret.bundle.reader import Bundle
from edgeret.encoders.onnx import Encoder
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.host import forks
from edgeret.inputs.tools import check_tools, parse_tool
from edgeret.planner.reranker import Advisor
from edgeret.scoring.calibration import Policy, PolicyParameters
from edgeret.scoring.graph import Graph, load_graph
from edgeret.scoring.head import FactoredHead, load_head
from edgeret.scoring.index import Index, IndexKind, load_index
from edgeret.types import END, Tool

NOVEL_HITS = 64
"""Tools without demonstrations that a query competes with, when an HNSW graph finds them."""


class Parts:
    """Encoder, index, graph, head, policy and planner of one bundle. Immutable and thread-safe."""

    def __init__(self, bundle: Bundle, encoder: Encoder, advisor: Advisor, index: IndexKind = "auto") -> None:
        """Puts the parts of a verified bundle together; `index` says how tools are searched. Raises BundleError if
        they do not belong together."""
        self._forks = forks()
        self.path: Path = bundle.path
        self.manifest: Manifest = bundle.manifest
        self.encoder = encoder
        self.advisor = advisor
        self.index: Index = load_index(bundle, index)
        self.graph: Graph = load_graph(bundle)
        self.head: FactoredHead = load_head(bundle)
        self.tools: Mapping[str, Tool] = load_tools(bundle)
        self.policy = Policy(load_policy(bundle))
        self.labels = self.head.labels
        self._check()
        self.label_number: Mapping[str, int] = {name: i for i, name in enumerate(self.labels[:-1])}
        position = {name: i for i, name in enumerate(self.index.names)}
        label_positions = np.array([position[name] for name in self.labels[:-1]], np.intp)
        self._novel_positions = np.array([i for n, i in position.items() if n not in self.label_number], np.intp)
        self.label_pieces = self.head.pieces(self.index.vectors[label_positions])
        self._novel_vectors = self.index.vectors[self._novel_positions] if self.index.kind == "exact" else None
        self._candidate_names = (*self.labels, *(self.index.names[i] for i in self._novel_positions.tolist()))

    def check_process(self) -> None:
        """Raises InputError in a process that was forked off after loading; there a call could wait for ever."""
        if forks() != self._forks:
            raise InputError(
                f"{self.path}: loaded before this process was forked; load it again in here, with edgeret.load, or "
                'start processes by "spawn"'
            )

    def novel_similarities(self, vector: NDArray[np.float32]) -> tuple[tuple[str, ...], NDArray[np.float32]]:
        """What a query decides between: the labels and, behind them, tools without demonstrations, all of them or
        the nearest ones where an HNSW graph searches; and the cosines of the latter to the query's vector.
        """
        if self._novel_vectors is not None:
            return self._candidate_names, self._novel_vectors @ vector
        positions, cosines = self.index.search(vector, NOVEL_HITS)
        keep = np.isin(positions, self._novel_positions)
        return (*self.labels, *(self.index.names[i] for i in positions[keep].tolist())), cosines[keep]

    def _check(self) -> None:
        dimension = self.encoder.spec.dimension
        if self.graph.labels != self.labels or self.labels[-1:] != (END,):
            raise BundleError(f"{self.path}: graph and head decide between different tools; build the bundle again")
        if not set(self.labels[:-1]) <= set(self.index.names) or set(self.index.names) != set(self.tools):
            raise BundleError(f"{self.path}: index, heads and tools name different tools; build the bundle again")
        found = {self.index.vectors.shape[1], self.graph.centroids.shape[1], self.head.weights.shape[1]}
        if found != {dimension}:
            raise BundleError(f"{self.path}: vectors of {sorted(found)} numbers, the encoder gives {dimension}")


def load_tools(bundle: Bundle) -> dict[str, Tool]:
    """The bundle's tools by name, in index order. Raises BundleError."""
    where = f"{bundle.path} (tools)"
    entries = unpack_json(bundle.read("tools"), where)
    if not isinstance(entries, list):
        raise BundleError(f"{where}: expected an array, found {type(entries).__name__}; build the bundle again")
    try:
        tools = check_tools([(where, parse_tool(entry, where)) for entry in entries], where)
    except InputError as error:
        raise BundleError(f"{error}; build the bundle again") from None
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
