"""The parity gate: an exported encoder must give the vectors of its torch original, and find the same tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import MIN_COSINE
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.errors import CheckFailedError
from edgeret_export.encoders.onnx_graph import quiet

MAX_NDCG_LOSS = 0.005
MAX_QUERIES = 4096


@dataclass(frozen=True, slots=True)
class Parity:
    """What the gate measured: cosines of ONNX to torch over the queries, and nDCG@5 of both on their tools."""

    queries: int
    cosine_mean: float
    cosine_min: float
    ndcg5_reference: float
    ndcg5_exported: float

    def to_dict(self) -> dict[str, Any]:
        """The figures, rounded, for manifest and report."""
        return {k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(self).items()}


def sample(count: int, limit: int = MAX_QUERIES) -> NDArray[np.intp]:
    """Positions of at most `limit` of `count` items, evenly spaced, so that no part of a sorted file is left out."""
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(np.intp))


def measure(
    model_folder: Path,
    encoder: OnnxEncoder,
    queries: Sequence[str],
    relevant: Sequence[frozenset[int]],
    tool_texts: Sequence[str],
    query_vectors: NDArray[np.float32],
    tool_vectors: NDArray[np.float32],
) -> Parity:
    """Compares with sentence-transformers on torch.

    `query_vectors` (queries, dimension) and `tool_vectors` (tools, dimension) are the exported encoder's;
    `relevant[i]` are positions in `tool_texts` that query i needs (empty sets take part in the cosines only).
    """
    with quiet():
        from sentence_transformers import SentenceTransformer

        reference = SentenceTransformer(str(model_folder), device="cpu")
        reference.max_seq_length = encoder.spec.max_tokens
        torch_queries, torch_tools = (
            reference.encode([prefix + t for t in texts], normalize_embeddings=True, show_progress_bar=False)
            for prefix, texts in ((encoder.spec.query_prefix, queries), (encoder.spec.tool_prefix, tool_texts))
        )
    cosines = np.sum(np.float64(torch_queries) * query_vectors, axis=1)
    return Parity(
        queries=len(queries),
        cosine_mean=float(cosines.mean()),
        cosine_min=float(cosines.min()),
        ndcg5_reference=ndcg5(torch_queries @ torch_tools.T, relevant),
        ndcg5_exported=ndcg5(query_vectors @ tool_vectors.T, relevant),
    )


def ndcg5(scores: NDArray[np.float32], relevant: Sequence[frozenset[int]]) -> float:
    """Mean nDCG@5 of score rows (queries, tools) over the queries that need a tool; 1 if none does."""
    from sklearn.metrics import ndcg_score

    rows = [i for i, tools in enumerate(relevant) if tools]
    if not rows or scores.shape[1] < 2:
        return 1.0
    truth = np.zeros((len(rows), scores.shape[1]), np.float32)
    for row, i in enumerate(rows):
        truth[row, list(relevant[i])] = 1
    return float(ndcg_score(truth, scores[rows], k=5))


def check(parity: Parity, precision: str) -> None:
    """Raises CheckFailedError with the figures when the export lost more than it may."""
    problems = []
    if parity.cosine_min < MIN_COSINE[precision]:
        problems.append(
            f"cosine to the torch reference is {parity.cosine_min:.5f}, at least {MIN_COSINE[precision]} needed"
        )
    loss = parity.ndcg5_reference - parity.ndcg5_exported
    if loss > MAX_NDCG_LOSS:
        problems.append(
            f"nDCG@5 on the demonstrations' tools fell from {parity.ndcg5_reference:.4f} "
            f"to {parity.ndcg5_exported:.4f}, at most {MAX_NDCG_LOSS} allowed"
        )
    if problems:
        raise CheckFailedError(
            f"parity gate ({precision}, {parity.queries} queries): {'; '.join(problems)}. Nothing was written. "
            + ("Build with --precision fp32, or on a CPU with VNNI" if precision == "int8" else "Check the model card")
        )
