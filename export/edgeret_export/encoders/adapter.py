"""A tuned encoder out of its base and an adapter: checks that they belong together, merges, and keeps what came out.

An adapter is a folder that `edgeret-export lab tune` wrote: LoRA matrices in peft's format, or all weights anew. Knows
nothing of how it was tuned.
"""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeret.errors import InputError, MissingExtraError
from edgeret.terminal.progress import say
from edgeret_export.encoders.changed_folder import changed_folder
from edgeret_export.encoders.onnx_graph import quiet
from edgeret_export.sources.cards import Card
from edgeret_export.sources.encoder_card import AdapterCard
from edgeret_export.sources.fetch import sha256_of

ADAPTER, CONFIG, FULL = "adapter_model.safetensors", "adapter_config.json", "model.safetensors"
CARD = "card.json"
"""What the adapter was made from, by whom, and what it is worth."""
EXPECTED = "expected a folder that `edgeret-export lab tune` wrote"


def with_adapter(card: Card, told: str | None) -> Card:
    """The card with the adapter in the folder `told` in place of its own; `none` takes it away, None leaves it. A
    centre goes with the adapter that it was made for: what was tuned otherwise has its vectors elsewhere.

    Raises InputError for a card of another kind and a folder without an adapter.
    """
    if told is None:
        return card
    if card.encoder is None:
        raise InputError(f"model card '{card.name}' is a {card.kind}, which takes no adapter; leave out --adapter")
    folder = Path(told).absolute()
    adapter = None if told == "none" else AdapterCard(folder, sha256_of(weights_of(folder)))
    centre = card.encoder.centre if adapter == card.encoder.adapter else None
    return replace(card, encoder=replace(card.encoder, adapter=adapter, centre=centre))


def weights_of(folder: Path) -> Path:
    """The file with an adapter's weights. Raises InputError if there is none."""
    for name in (ADAPTER, FULL):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder}: holds no adapter (neither {ADAPTER} nor {FULL}); {EXPECTED}")


def identity(adapter: AdapterCard) -> str:
    """What a merged model is known by: the hash of the adapter's weights, and that of what says how they are used."""
    config = adapter.folder / CONFIG
    return f"{adapter.sha256[:32]}-{sha256_of(config)[:8] if config.is_file() else 'full'}"


def base_weights(card: Card) -> str:
    """The path of the base's weights inside its folder. Raises InputError where they are not one safetensors file."""
    found = [name for name in card.files if name.endswith(".safetensors")]
    if len(found) != 1:
        raise InputError(
            f"model card '{card.name}': an adapter needs a base with one .safetensors file, found {len(found)} among "
            f"its files ({', '.join(card.files)})"
        )
    return found[0]


def check_adapter(card: Card, base: Path, adapter: AdapterCard) -> None:
    """Raises InputError for a missing folder, weights with another hash, and an adapter of another base model."""
    weights = weights_of(adapter.folder)
    found = sha256_of(weights)
    if found != adapter.sha256:
        raise InputError(
            f"{weights}: expected sha256 {adapter.sha256} (model card {card.origin}), found {found}; the adapter is "
            "damaged or another one: tune it again, or mend adapter_sha256"
        )
    try:
        told = json.loads((adapter.folder / CARD).read_text(encoding="utf-8"))["base"]
        name, digest = str(told["card"]), str(told["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{adapter.folder / CARD}: does not name the adapter's base model; {EXPECTED}") from None
    expected = sha256_of(base / base_weights(card))
    if digest != expected:
        raise InputError(
            f"{adapter.folder}: an adapter of {name} (sha256 {digest}), expected one of {card.name} (sha256 "
            f"{expected}); choose its encoder with --encoder, or tune one for this"
        )


def merged_folder(card: Card, base: Path, adapter: AdapterCard) -> Path:
    """A sentence-transformers folder like `base`, with the adapter in its weights; made once, then kept in the cache.

    Raises InputError as `check_adapter` does, and for an adapter that peft cannot read.
    """
    check_adapter(card, base, adapter)
    weights = base_weights(card)

    def merge(made: Path) -> list[str]:
        say(f"merging {adapter.name} into {card.name}")
        (made / weights).unlink()
        if (adapter.folder / ADAPTER).is_file():
            _save(load_merged(base, adapter.folder), made / weights)
        else:
            shutil.copyfile(adapter.folder / FULL, made / weights)
        return [weights]

    return changed_folder(base, f"{base.name}+{identity(adapter)}", merge)


def load_merged(base: Path, adapter: Path) -> Any:
    """The SentenceTransformer in `base` with the LoRA matrices in `adapter` merged in. Raises InputError for an adapter
    that peft cannot read, MissingExtraError without peft."""
    with quiet():
        try:
            from peft import PeftModel
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtraError("edgeret-export", "an encoder with an adapter") from None
        model = SentenceTransformer(str(base), device="cpu", local_files_only=True)
        warnings.filterwarnings("error", message="Found missing adapter keys")
        inner: Any = model[0]
        try:
            # Both change the model in place.
            PeftModel.from_pretrained(inner.auto_model, str(adapter)).merge_and_unload()
        except (ValueError, KeyError, TypeError, RuntimeError, OSError, UserWarning) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise InputError(f"{adapter}: peft cannot put this adapter on the model ({reason}); {EXPECTED}") from None
    return model


def _save(model: Any, file: Path) -> None:
    from safetensors.torch import save_file

    state = {name: value.contiguous() for name, value in model[0].auto_model.state_dict().items()}
    save_file(state, file, metadata={"format": "pt"})
