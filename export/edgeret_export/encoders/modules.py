"""What follows a sentence encoder's last layer: pooling, projections, normalisation, a cut. Read from its modules.json,
checked against the card, and put into the graph. Knows nothing of ONNX.

A folder without modules.json is a bare transformer, which the card's pooling completes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_export.sources.cards import Card
from edgeret_export.sources.encoder_card import EncoderCard

MODULES, WEIGHTS = "modules.json", "model.safetensors"
KNOWN = ("Transformer", "Pooling", "Dense", "Normalize", "Dropout")
LEGACY = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
ACTIVATIONS = (
    "torch.nn.modules.linear.Identity",
    *(f"torch.nn.modules.activation.{name}" for name in ("Tanh", "ReLU", "GELU", "Sigmoid")),
)
"""What may follow a projection: sentence-transformers calls whatever torch has of the name that stands there, and takes
Tanh, without an error, for every other one."""


@dataclass(frozen=True, slots=True)
class Modules:
    """What a folder says of itself: its pooling, the width of its vectors, whether projections come between, and
    whether it normalises at its end."""

    pooling: str
    dimension: int
    projects: bool
    normalises: bool


def read_modules(folder: Path) -> Modules | None:
    """The modules of the model in `folder`; None without a modules.json. Raises InputError for what no graph of ours
    can have."""
    if not (folder / MODULES).is_file():
        return None
    pooling, dimension = "", 0
    kinds: list[str] = []
    for module in _json(folder / MODULES):
        if not isinstance(module, dict) or not isinstance(module.get("path"), str):
            raise InputError(f"{folder / MODULES}: expected a list of modules, each with a type and a path")
        told = str(module.get("type"))
        kind = told.rpartition(".")[2]
        if not told.startswith("sentence_transformers.") or kind not in KNOWN:
            raise InputError(
                f"{folder / MODULES}: a module {told[:80]!r}, which edgeret cannot export; known: {', '.join(KNOWN)}"
            )
        config = folder / module["path"] / "config.json"
        if kind == "Pooling":
            pooling, dimension = _pooling(_json(config), config)
        if kind == "Dense":
            dimension = _projection(_json(config), config)
        kinds += [kind] if kind != "Dropout" else []
    if kinds[:2] != ["Transformer", "Pooling"] or kinds.count("Transformer") + kinds.count("Pooling") != 2:
        raise InputError(f"{folder / MODULES}: expected a Transformer and a Pooling first, found {', '.join(kinds)}")
    return Modules(pooling, dimension, "Dense" in kinds, kinds[-1] == "Normalize")


def check_modules(card: Card, encoder: EncoderCard, folder: Path) -> None:
    """Raises InputError where the model in `folder` is none that can be exported, or not what its card says."""
    modules = read_modules(folder)
    if modules is None:
        return
    if modules.pooling != encoder.pooling:
        raise InputError(
            f"{card.origin}: pooling is {encoder.pooling}, that of the model is {modules.pooling}; mend it"
        )
    if modules.dimension != encoder.dimension:
        raise InputError(
            f"{card.origin}: dimension is {encoder.dimension}, the model gives {modules.dimension}; mend it"
        )


def load_original(folder: Path, pooling: str, eager: bool = False, centre: Sequence[float] | None = None) -> Any:
    """The SentenceTransformer in `folder`, on the CPU; a bare transformer gets `pooling`. `eager` writes attention out
    in the pattern that `fuse` knows. `centre` (dimension,) is taken off every token's vector; raises InputError where
    that is not what pooling then takes off the text's."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    options = {"attn_implementation": "eager"} if eager else {}
    if (folder / MODULES).is_file():
        whole = SentenceTransformer(str(folder), device="cpu", local_files_only=True, model_kwargs=options)
        return whole if centre is None else _centred(whole, folder, centre)
    transformer: Any = Transformer(str(folder), model_kwargs=options)
    layers = [transformer, Pooling(transformer.get_embedding_dimension(), pooling)]
    whole = SentenceTransformer(modules=layers, device="cpu")
    return whole if centre is None else _centred(whole, folder, centre)


def _centred(model: Any, folder: Path, centre: Sequence[float]) -> Any:
    """The model with the centre taken off the last normalisation's bias, in place: nothing is added to the graph, so
    what reads graphs meets the one that it knows."""
    import torch

    modules = read_modules(folder)
    try:
        last = model[0].auto_model.encoder.layer[-1].output.LayerNorm
    except (AttributeError, IndexError):
        raise InputError(
            f"{folder}: no BERT whose last layer ends with a normalisation; leave out the centre"
        ) from None
    if (modules is not None and modules.projects) or model[1].pooling_mode != "mean":
        raise InputError(f"{folder}: a centre is that of a mean of tokens without projections; leave out the centre")
    with torch.no_grad():
        last.bias -= torch.tensor(centre, dtype=last.bias.dtype)
    return model


def complete(model: Any, folder: Path, cut: int | None) -> Any:
    """The model with what its vectors still lack, in place: tokens in the projections' space too, a `cut` to the first
    so many numbers, length 1. As it was, where it lacks nothing."""
    import torch

    modules = read_modules(folder)
    if modules is not None and modules.normalises and not modules.projects and cut is None:
        return model
    projections = [module for module in model if type(module).__name__ == "Dense"]

    class Rest(torch.nn.Module):
        """Takes the place of a last module."""

        def forward(self, features: dict[str, Any]) -> dict[str, Any]:
            tokens, whole = features["token_embeddings"], features["sentence_embedding"]
            for dense in projections:
                tokens = dense.activation_function(dense.linear(tokens))
            if cut is not None:
                tokens, whole = tokens[..., :cut], whole[..., :cut]
            features["token_embeddings"] = tokens
            features["sentence_embedding"] = torch.nn.functional.normalize(whole, p=2.0, dim=1)
            return features

    model.append(Rest())
    return model


def _pooling(config: Any, file: Path) -> tuple[str, int]:
    told = config.get("pooling_mode", [mode for key, mode in LEGACY.items() if config.get(key)])
    modes = [told] if isinstance(told, str) else told
    if not isinstance(modes, list) or len(modes) != 1 or modes[0] not in LEGACY.values():
        raise InputError(f"{file}: pools in several ways at once ({modes}), expected one of mean, cls, max, lasttoken")
    if config.get("include_prompt", True) is not True:
        raise InputError(
            f"{file}: leaves a prefix out when it pools, which edgeret cannot; expected include_prompt true"
        )
    # They differ by the vector's length alone, which the graph makes 1.
    pooling = "mean" if modes[0] == "mean_sqrt_len_tokens" else str(modes[0])
    return pooling, _width(config, ("embedding_dimension", "word_embedding_dimension"), file)


def _projection(config: Any, file: Path) -> int:
    activation = config.get("activation_function")
    if activation not in ACTIVATIONS:
        raise InputError(f"{file}: activation {str(activation)[:80]!r}, expected one of {', '.join(ACTIVATIONS)}")
    for key in ("module_input_name", "module_output_name"):
        if config.get(key) not in (None, "sentence_embedding"):
            raise InputError(f"{file}: {key} is {str(config[key])[:80]!r}, expected sentence_embedding")
    if not (file.parent / WEIGHTS).is_file():
        raise InputError(f"{file.parent}: no {WEIGHTS}; other weights are pickles, which can run code")
    return _width(config, ("out_features",), file)


def _width(config: Any, keys: tuple[str, ...], file: Path) -> int:
    width = next((config[key] for key in keys if key in config), None)
    if type(width) is not int or width < 1:
        raise InputError(f"{file}: {keys[-1]} must be a whole number above 0, found {width!r}")
    return width


def _json(file: Path) -> Any:
    """What a JSON file holds: an object, or for modules.json a list."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read ({error}); expected JSON") from None
    if not isinstance(value, list if file.name == MODULES else Mapping):
        raise InputError(f"{file}: expected {'a list' if file.name == MODULES else 'an object'}")
    return value
