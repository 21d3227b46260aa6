"""How much each column of a model's weights counts for our prompts: an importance matrix for quantising. Imports torch.

llama.cpp makes one with a program of its own, which its bindings leave out; what they take is plain numbers. These are
the same ones: the mean square of what comes in at each column, while the model that is not quantised reads texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.terminal.progress import track

MAX_TOKENS = 512
"""Of a text that are read."""


def measure(folder: Path, architecture: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The matrix: a row (columns,) by the name of the tensor in a GGUF, of the model in `folder` as it was laid out for
    the converter. Raises MissingExtraError's cause, ModuleNotFoundError, without torch or gguf."""
    import torch
    from gguf import MODEL_ARCH, get_tensor_name_map
    from transformers import AutoModelForCausalLM, AutoTokenizer

    models: Any = AutoModelForCausalLM
    tokenizers: Any = AutoTokenizer
    model = models.from_pretrained(str(folder), local_files_only=True, use_safetensors=True, dtype="float32").eval()
    tokenizer = tokenizers.from_pretrained(str(folder), local_files_only=True)
    named = get_tensor_name_map(getattr(MODEL_ARCH, architecture.upper()), model.config.num_hidden_layers)
    sums: dict[str, Any] = {}
    seen = 0

    def listen(name: str) -> Any:
        def hook(_: Any, inputs: tuple[Any, ...]) -> None:
            squares = inputs[0].detach().double().square().flatten(0, -2).sum(0)
            sums[name] = sums.get(name, 0) + squares

        return hook

    for name, module in model.named_modules():
        known = named.get_name(name)
        # A head that shares the embedding's numbers is no tensor of its own.
        if isinstance(module, torch.nn.Linear) and known is not None and known != "output":
            module.register_forward_pre_hook(listen(f"{known}.weight"))
    with torch.inference_mode():
        for text in track(texts, "reading prompts", len(texts)):
            tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=MAX_TOKENS)["input_ids"]
            seen += tokens.shape[1]
            model(input_ids=tokens, use_cache=False)
    return {name: (total / max(seen, 1)).float().numpy() for name, total in sums.items()}
