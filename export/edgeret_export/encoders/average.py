"""The mean of several tunings of one encoder (model soups: Wortsman et al., 2022). What chance gave to each is averaged
away, and what all learnt stays. Knows nothing of how they were tuned."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError, MissingExtraError
from edgeret_export.encoders.adapter import ADAPTER, CARD, CONFIG, EXPECTED
from edgeret_export.sources.fetch import sha256_of

RANK = 23
"""Of the mean; of three adapters of rank 16 it keeps 95 % of the change, in 1.9 MB."""
_DOWN, _UP = ".lora_A.", ".lora_B."

Arrays = Mapping[str, NDArray[Any]]


def average(folders: Sequence[Path], target: Path, rank: int = RANK) -> dict[str, Any]:
    """Writes the mean of LoRA adapters as an adapter of this rank, whole or not at all; returns its card as plain data.

    A product of the means is not the mean of the products: those are added up, and cut to the rank again by singular
    values. Raises InputError for fewer than two folders, for one without LoRA matrices, for adapters of different
    encoders or layers, and for a target that is there.
    """
    if len(folders) < 2:
        raise InputError("one adapter is its own mean; give two or more")
    if rank < 1:
        raise InputError(f"--rank: expected at least 1, found {rank}")
    if target.exists():
        raise InputError(f"{target}: is there already; choose another folder")
    read = [read_adapter(folder) for folder in folders]
    cards = [card for card, _, _ in read]
    for folder, (card, matrices, _) in zip(folders, read, strict=True):
        if card["base"] != cards[0]["base"]:
            raise InputError(f"{folder}: an adapter of another encoder than {folders[0]}")
        if _layers(matrices) != _layers(read[0][1]):
            raise InputError(f"{folder}: tunes other layers than {folders[0]}")
    config = {**read[0][2], "r": rank, "lora_alpha": rank}
    mean: dict[str, NDArray[Any]] = {}
    for down in (name for name in read[0][1] if _DOWN in name):
        up = down.replace(_DOWN, _UP)
        changes = [scale(config) * (found[up] @ found[down]) for _, found, config in read]
        mean[up], mean[down] = cut(np.mean(changes, axis=0), rank)
    made: dict[str, Any] = {
        **{key: cards[0][key] for key in ("base", "from", "sets", "left_out", "versions") if key in cards[0]},
        "averaged": [
            {"sha256": sha256_of(folder / ADAPTER), "recipe": card.get("recipe"), "share": card.get("share")}
            for folder, card in zip(folders, cards, strict=True)
        ],
        "rank": rank,
    }
    _write(target, mean, config, made)
    return made


def scale(config: Mapping[str, Any]) -> float:
    """What peft multiplies an adapter's products with."""
    return float(config["lora_alpha"]) / float(config["r"])


def cut(change: NDArray[Any], rank: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The two matrices, (outputs, rank) and (rank, inputs), whose product is nearest to a change (outputs, inputs)."""
    left, sizes, right = np.linalg.svd(change.astype(np.float64), full_matrices=False)
    roots = np.zeros(rank)
    roots[: len(sizes)] = np.sqrt(sizes[:rank])
    up, down = np.zeros((len(left), rank)), np.zeros((rank, right.shape[1]))
    up[:, : len(sizes)], down[: len(sizes)] = left[:, :rank], right[:rank]
    return (up * roots).astype(np.float32), (down * roots[:, None]).astype(np.float32)


def _layers(matrices: Arrays) -> dict[str, tuple[int, int]]:
    return {
        name: (matrices[name.replace(_DOWN, _UP)].shape[0], matrix.shape[1])
        for name, matrix in matrices.items()
        if _DOWN in name
    }


def read_adapter(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], dict[str, Any]]:
    """An adapter's card, its matrices as float64, and peft's settings. Raises InputError."""
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError:
        raise MissingExtraError("edgeret-export", "averaging adapters") from None
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        matrices = {name: value.astype(np.float64) for name, value in load_file(folder / ADAPTER).items()}
        scale(config), card["base"], _layers(matrices)
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError, SafetensorError) as error:
        raise InputError(f"{folder}: no adapter of LoRA matrices ({error}); {EXPECTED}, without --full") from None
    return card, matrices, config


def _write(target: Path, mean: Arrays, config: Mapping[str, Any], made: dict[str, Any]) -> None:
    from safetensors.numpy import save_file

    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".partial") as temporary:
            folder = Path(temporary) / "adapter"
            folder.mkdir()
            save_file(
                {name: value.astype(np.float16) for name, value in mean.items()}, folder / ADAPTER, {"format": "pt"}
            )
            (folder / CONFIG).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            made["adapter"] = {"file": ADAPTER, "sha256": sha256_of(folder / ADAPTER)}
            (folder / CARD).write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            folder.rename(target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from None
