"""How a bundle keeps its tools' vectors, and from how many on it keeps a graph of them. Reads nothing."""

from __future__ import annotations

from typing import Literal, get_args

StoredAs = Literal["fp32", "int8"]
STORED_AS: tuple[StoredAs, ...] = get_args(StoredAs)
"""How the file keeps vectors: as they are, or as whole numbers with a scale a row, in a quarter of the bytes."""
CROSSOVER = 4_000
"""Tools from which a build adds an HNSW graph, and a search goes by it; `edgeret-bench latency BUNDLE`
tells both, with `--index exact` and `--index hnsw`."""
