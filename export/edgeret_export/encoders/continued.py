"""A tuning that goes on from an adapter: the encoder that it begins with, and the sum of both changes as one adapter.

Knows nothing of how either was tuned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret_export.encoders.adapter import ADAPTER, merged_folder, weights_of, with_adapter
from edgeret_export.encoders.average import cut, read_adapter, scale
from edgeret_export.sources.cards import Card
from edgeret_export.sources.fetch import sha256_of

_DOWN, _UP = ".lora_A.", ".lora_B."
TOLD = ("sets", "left_out", "recipe", "share", "rank", "averaged", "from")
"""Of the adapter's card: what the encoder has seen before."""

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Begun:
    """An adapter that is gone on from: the folder of the encoder with it merged in, its card, its matrices as float64
    with peft's settings, and the hash of their file."""

    merged: Path
    card: Mapping[str, Any]
    matrices: Arrays
    config: Mapping[str, Any]
    sha256: str

    @property
    def told(self) -> dict[str, Any]:
        """What the new adapter's card says of it."""
        return {"sha256": self.sha256, **{key: self.card[key] for key in TOLD if key in self.card}}

    def add(self, trained: Arrays, config: Mapping[str, Any]) -> tuple[dict[str, NDArray[Any]], dict[str, Any], float]:
        """The matrices, float32, and settings of the adapter whose change is that of this one and of what was trained
        on top of it, and what their rank keeps of it: of the squares of the change, the mean over layers."""
        rank = int(config["r"])
        # peft keeps both under the same names; one of other layers has some that the other lacks.
        names = {name: None for name in (*trained, *self.matrices) if _DOWN in name}
        summed: dict[str, NDArray[Any]] = {}
        kept = []
        for down in names:
            up = down.replace(_DOWN, _UP)
            parts = ((self.matrices, self.config), (trained, config))
            change = sum(
                scale(told) * (found[up].astype(np.float64) @ found[down]) for found, told in parts if down in found
            )
            assert isinstance(change, np.ndarray)
            summed[up], summed[down] = cut(change, rank)
            whole = float(np.square(change).sum())
            kept.append(1.0 if whole == 0 else float(np.square(summed[up] @ summed[down]).sum()) / whole)
        return summed, {**config, "lora_alpha": rank}, float(np.mean(kept))


def begin_from(folder: Path, card: Card, base: Path) -> Begun:
    """The adapter in a folder, merged into the base. Raises InputError for a folder without LoRA matrices, and for an
    adapter of another base."""
    if weights_of(folder).name != ADAPTER:
        raise InputError(
            f"--from {folder}: an adapter of all weights, to which no matrices can be added; give one that was tuned "
            "without --full"
        )
    told, matrices, config = read_adapter(folder)
    adapted = with_adapter(card, str(folder.absolute()))
    assert adapted.encoder is not None and adapted.encoder.adapter is not None
    merged = merged_folder(adapted, base, adapted.encoder.adapter)
    return Begun(merged, told, matrices, config, sha256_of(folder / ADAPTER))
