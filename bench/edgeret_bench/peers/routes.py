"""semantic-router: one route a tool, embedded by its own local encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeret.types import Tool
from edgeret_bench.peers.base import Peer


class RouterPeer(Peer):
    """`IndexedRouter` over a `LocalIndex`; a route's one utterance is the tool's text."""

    name = "semantic-router"
    distribution = "semantic-router"
    needs_model = True

    def __init__(self, model: Path | None, threads: int) -> None:
        import torch
        from semantic_router.encoders import LocalEncoder

        torch.set_num_threads(threads)
        self._encoder: Any = LocalEncoder(name=str(model), device="cpu")
        self._router: Any = None
        self._positions: dict[str, int] = {}

    def prepare(self, tools: Sequence[Tool], texts: Sequence[str]) -> None:
        """Makes the routes; the router embeds them."""
        from semantic_router import IndexedRouter, Route
        from semantic_router.index import LocalIndex

        routes = [Route(name=tool.name, utterances=[text]) for tool, text in zip(tools, texts, strict=True)]
        self._router = IndexedRouter(encoder=self._encoder, routes=routes, index=LocalIndex(), aggregation="max")
        self._positions = {tool.name: i for i, tool in enumerate(tools)}

    def rank(self, query: str, k: int) -> list[int]:
        """Positions of the routes with the highest confidence."""
        self._router.top_k = k  # utterances searched, which are routes here; it has 5 by itself
        choices = self._router(query, limit=k)
        choices = choices if isinstance(choices, list) else [choices]
        return [self._positions[choice.name] for choice in choices if choice.name is not None]
