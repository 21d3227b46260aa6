"""A folder of Hugging Face weights, looked at before anything is converted, and laid out for a converter. Imports torch
only to merge an adapter."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.planner.chat import CHAT_FORMATS, ChatFormat, Prompt, Turn

ARCHITECTURES: Mapping[str, str] = {
    "LlamaForCausalLM": "llama",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3",
}
"""What a config calls a model, and what a GGUF calls it: those that a runtime lets llama.cpp load."""
_TOKENIZERS = ("tokenizer.json", "tokenizer.model")
_READ = (
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "chat_template.jinja",
    "*.safetensors", "model.safetensors.index.json",
)  # fmt: skip
"""What a converter is shown of a folder; no code."""
_ADAPTER = "adapter_model.safetensors"
_SAMPLES = (
    Prompt((Turn("system", "Choose."),), Turn("user", "What next?")),
    Prompt((Turn("system", "Choose."), Turn("user", "One?"), Turn("assistant", "two")), Turn("user", "What next?")),
)


@dataclass(frozen=True, slots=True)
class Weights:
    """A model in safetensors: its folder, its architecture in a GGUF's words, its largest context in tokens."""

    folder: Path
    architecture: str
    context: int


@dataclass(frozen=True, slots=True)
class About:
    """What a GGUF says of where it comes from."""

    name: str
    licence: str
    source: str
    base_model: str | None = None


def read_weights(folder: Path) -> Weights:
    """Looks at the folder. Raises InputError where something is missing, or for an architecture that no runtime has."""
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder; give one with a language model's weights in safetensors, or a card"
        )
    config = _json(folder / "config.json", "a language model's folder has one")
    named = config.get("architectures")
    known = [name for name in (named if isinstance(named, list) else []) if name in ARCHITECTURES]
    if not known:
        found = ", ".join(map(str, named)) if isinstance(named, list) and named else "none"
        raise InputError(
            f"{folder}: the architecture {found} cannot be a planner; expected one of {', '.join(ARCHITECTURES)} "
            "(the Llama, Qwen and Gemma families)"
        )
    if not any(folder.glob("*.safetensors")):
        raise InputError(f"{folder}: no *.safetensors in it; save the model anew with safe_serialization=True")
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        raise InputError(f"{folder}: no {' or '.join(_TOKENIZERS)} in it; put the model's tokenizer beside its weights")
    context = config.get("max_position_embeddings")
    if type(context) is not int or context < 1:
        raise InputError(f"{folder}/config.json: max_position_embeddings must be a number of tokens, found {context!r}")
    return Weights(folder, ARCHITECTURES[known[0]], context)


def lay_out(weights: Weights, adapter: Path | None, target: Path, about: About) -> None:
    """Fills the new folder `target` with what a converter reads, an adapter merged, and with what the GGUF is to say of
    itself. Raises InputError for an adapter that does not fit."""
    target.mkdir()
    for pattern in _READ:
        for file in weights.folder.glob(pattern):
            if adapter is None or file.suffix != ".safetensors":
                _link(file.resolve(), target / file.name)
    if adapter is not None:
        (target / "model.safetensors.index.json").unlink(missing_ok=True)
        _merge(weights.folder, check_adapter(adapter), target)
    # Of a licence the converter knows from the front matter of a README alone.
    (target / "README.md").write_text(f"---\nlicense: {json.dumps(about.licence)}\n---\n", encoding="utf-8")


def metadata(about: About) -> dict[str, Any]:
    """What the converter is told to write, but for the licence."""
    told: dict[str, Any] = {"general.name": about.name, "general.source.url": about.source}
    return told | ({} if about.base_model is None else {"general.base_models": [{"name": about.base_model}]})


def check_adapter(folder: Path) -> Path:
    """The folder of a LoRA adapter. Raises InputError for any other."""
    kind = _json(folder / "adapter_config.json", "an adapter's folder has one").get("peft_type")
    if kind != "LORA":
        raise InputError(f"{folder}: an adapter of the kind {kind!r}, expected LORA")
    if not (folder / _ADAPTER).is_file():
        raise InputError(f"{folder}: no {_ADAPTER} in it; save the adapter anew with safe_serialization=True")
    return folder


def chat_of(weights: Weights, chosen: str | None) -> ChatFormat:
    """The chat format that was chosen, or the one that the model's own template writes. Raises InputError."""
    known = next((chat for chat in CHAT_FORMATS if chat == chosen), None)
    if chosen is not None:
        if known is None:
            raise InputError(f"the chat format must be one of {', '.join(CHAT_FORMATS)}, found {chosen!r}")
        return known
    from transformers import AutoTokenizer

    from edgeret_export.planner.templates import chat_format

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    tokenizers: Any = AutoTokenizer
    try:
        found = chat_format(tokenizers.from_pretrained(str(weights.folder), local_files_only=True), _SAMPLES)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InputError(f"{weights.folder}: its tokenizer cannot be read ({_line(error)})") from None
    if found is None:
        raise InputError(
            f"{weights.folder}: its tokenizer has no chat template, or one that edgeret does not write; say which "
            f"format it was trained on with --chat: {', '.join(CHAT_FORMATS)}"
        )
    return found


def _merge(base: Path, adapter: Path, target: Path) -> None:
    from peft import PeftModel
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    models: Any = AutoModelForCausalLM
    try:
        model = models.from_pretrained(str(base), local_files_only=True, use_safetensors=True, dtype="auto")
        merged = PeftModel.from_pretrained(model, str(adapter), local_files_only=True).merge_and_unload(safe_merge=True)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{adapter}: an adapter that does not fit {base} ({_line(error)})") from None
    config = (target / "config.json").resolve().read_bytes()
    (target / "config.json").unlink()
    (target / "generation_config.json").unlink(missing_ok=True)
    merged.save_pretrained(str(target), safe_serialization=True)
    (target / "config.json").write_bytes(config)  # the one that was looked at


def _link(file: Path, target: Path) -> None:
    """Without a copy where the system allows it."""
    try:
        target.symlink_to(file)
    except OSError:
        shutil.copyfile(file, target)


def _json(file: Path, why: str) -> Mapping[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"{file}: cannot be read; {why}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON ({_line(error)})") from None
    if not isinstance(value, dict):
        raise InputError(f"{file}: not a JSON object")
    return value


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
