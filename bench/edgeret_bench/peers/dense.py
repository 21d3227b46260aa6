"""sentence-transformers with scikit-learn's nearest neighbours, on torch or on ONNX Runtime."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeret.types import Tool
from edgeret_bench.peers.base import Peer


class TorchPeer(Peer):
    """Encodes the query with torch and looks up the tools with the smallest cosine distance, all of them compared."""

    name = "sentence-transformers"
    distribution = "sentence-transformers"
    needs_model = True

    def __init__(self, model: Path | None, threads: int) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._neighbours: Any = NearestNeighbors(metric="cosine", algorithm="brute")
        self._model: Any = self._load(str(model), threads)
        self._count = 0

    def _load(self, model: str, threads: int) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        return SentenceTransformer(model, device="cpu")

    def prepare(self, tools: Sequence[Tool], texts: Sequence[str]) -> None:
        """Encodes all texts in one call."""
        self._neighbours.fit(self._encode(list(texts)))
        self._count = len(texts)

    def rank(self, query: str, k: int) -> list[int]:
        """Positions of the nearest tools."""
        vector = self._encode([query])
        found: list[int] = self._neighbours.kneighbors(vector, min(k, self._count), return_distance=False)[0].tolist()
        return found

    def _encode(self, texts: list[str]) -> Any:
        return self._model.encode(texts, normalize_embeddings=True, show_progress_bar=False)


class OnnxPeer(TorchPeer):
    """The same with the library's own ONNX backend, fp32, exported when it is loaded."""

    name = "sentence-transformers-onnx"

    def _load(self, model: str, threads: int) -> Any:
        import onnxruntime
        import optimum.onnxruntime  # noqa: F401  (sentence-transformers would only say so in a long message)
        from sentence_transformers import SentenceTransformer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        with tempfile.TemporaryDirectory() as folder:
            # The cached files are pinned by their hashes; the export goes beside a copy of them.
            copy = Path(shutil.copytree(model, Path(folder) / "model"))
            settings = {"provider": "CPUExecutionProvider", "session_options": options, "export": True}
            return SentenceTransformer(str(copy), device="cpu", backend="onnx", model_kwargs=settings)
