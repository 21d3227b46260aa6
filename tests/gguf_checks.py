"""Forged models on one line, and what a refusal must look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gguf_forge import ARRAY, STRING, Gguf, Tensor, tiny

from edgeret.errors import PlannerError
from edgeret.planner.checks import gguf_file

LLAMA = tiny("llama")
TOKENS = LLAMA.metadata["tokenizer.ggml.tokens"][1][1]


def check(data: bytes) -> None:
    gguf_file.check(memoryview(data), "planner.gguf")


def forged(architecture: str = "llama", **keys: tuple[int, Any]) -> Gguf:
    """A tiny model with other keys; `__` stands for a dot, and `a` for the architecture."""
    gguf = tiny(architecture)
    for name, value in zip((key.replace("__", ".") for key in keys), keys.values(), strict=True):
        gguf.metadata[name.replace("a.", f"{architecture}.", 1) if name.startswith("a.") else name] = value
    return gguf


def with_tensor(name: str, shape: tuple[int, ...], kind: int = 0, architecture: str = "llama") -> Gguf:
    """A tiny model with one tensor more, or another one."""
    gguf = tiny(architecture)
    elements, size = {0: (1, 4), 1: (1, 2), 8: (32, 34), 24: (1, 1), 9: (32, 36)}[kind]
    gguf.tensors[name] = Tensor(shape, kind, bytes(int(np.prod(shape)) // elements * size))
    return gguf


def with_tokens(**changes: Any) -> Gguf:
    """A tiny model in which the tokens t0, t1 … are others."""
    return forged(tokenizer__ggml__tokens=(ARRAY, (STRING, [changes.get(f"t{i}", t) for i, t in enumerate(TOKENS)])))


def refuse(gguf: Gguf | bytes, message: str) -> None:
    with pytest.raises(PlannerError, match=message) as caught:
        check(gguf if isinstance(gguf, bytes) else gguf.pack())
    assert str(caught.value).startswith("planner.gguf: not a planner that llama.cpp can be given (")
    assert str(caught.value).endswith("); build the bundle with another one")
    assert "\n" not in str(caught.value)
