"""What is refused of a language model's file before llama.cpp sees it, and that what is not refused does no harm."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf_forge
import numpy as np
import pytest
from gguf_checks import LLAMA, check, forged, refuse, with_tensor
from gguf_forge import ARCHITECTURES, ARRAY, BOOL, FLOAT32, INT32, STRING, UINT16, UINT32, UINT64, tiny


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_of_every_family_gets_through_and_is_decoded(architecture: str, tmp_path: Path) -> None:
    data = tiny(architecture).pack()
    check(data)
    pytest.importorskip("llama_cpp", reason="the extra 'planner' is not installed")
    from edgeret.planner.llama import Engine, Entry

    (tmp_path / "planner.gguf").write_bytes(data)
    engine = Engine(str(tmp_path / "planner.gguf"), 1)
    engine.reserve(64)
    tokens = engine.tokenize("find the thing", first=True)
    (logits,) = engine.decode([Entry(t, i, (0,), i == len(tokens) - 1) for i, t in enumerate(tokens)])
    assert np.isfinite(logits).all()
    assert engine.text(tokens).endswith("find the thing")


def test_what_other_writers_add_gets_through() -> None:
    """Names, templates, sampling advice, importance matrices: read by nobody, or known to be harmless."""
    check(
        forged(
            general__name=(STRING, "Tiny"),
            general__alignment=(UINT32, 32),
            general__sampling__top_k=(INT32, 40),
            quantize__imatrix__file=(STRING, "a.dat"),
            tokenizer__chat_template=(STRING, "{% for m in messages %}{{ m }}{% endfor %}"),
            tokenizer__ggml__unknown_token_id=(UINT32, 0),
            a__rope__scaling__type=(STRING, "linear"),
            a__rope__scaling__factor=(FLOAT32, 8.0),
            split__count=(UINT16, 0),
        ).pack()
    )
    check(with_tensor("output.weight", LLAMA.tensors["token_embd.weight"].shape).pack())
    check(with_tensor("blk.1.attn_k.bias", (gguf_forge.KEY_HEADS * gguf_forge.HEAD,)).pack())


@pytest.mark.parametrize("architecture", ["", "mamba", "qwen3moe", "llama4", "llama\0", "bert"])
def test_an_architecture_of_no_family_is_refused(architecture: str) -> None:
    refuse(
        forged(general__architecture=(STRING, architecture)), "expected one of llama, qwen2, .* as general.architect"
    )
    refuse(forged(general__architecture=(ARRAY, (STRING, ["llama"]))), "found an array")


@pytest.mark.parametrize(
    ("key", "kind", "value"),
    [
        ("context_length", UINT32, 0),
        ("embedding_length", UINT32, 0),
        ("embedding_length", UINT32, (1 << 32) - 1),
        ("block_count", UINT32, 0),
        ("block_count", UINT32, 513),
        ("block_count", UINT64, 2),
        ("feed_forward_length", UINT32, 0),
        ("feed_forward_length", ARRAY, (UINT32, [256, 0])),
        ("attention.head_count", UINT32, 0),
        ("attention.head_count_kv", UINT32, 0),
        ("attention.head_count_kv", ARRAY, (UINT32, [2, 0])),
        ("attention.key_length", UINT32, 0),
        ("attention.layer_norm_rms_epsilon", FLOAT32, -1.0),
        ("attention.layer_norm_rms_epsilon", FLOAT32, float("nan")),
        ("attention.sliding_window", UINT32, 0),
        ("attention.sliding_window_pattern", UINT32, 1),
        ("rope.freq_base", FLOAT32, 0.0),
        ("rope.freq_base", FLOAT32, float("inf")),
        ("rope.scaling.factor", FLOAT32, float("nan")),
        ("rope.scaling.attn_factor", FLOAT32, 1e30),
        ("final_logit_softcapping", FLOAT32, 0.0),
    ],
)
def test_a_number_out_of_range_is_refused(key: str, kind: int, value: Any) -> None:
    gguf = copy.deepcopy(LLAMA)
    gguf.metadata[f"llama.{key}"] = (kind, value)
    refuse(gguf, rf"llama\.{key} must lie between .+ and .+, found")


@pytest.mark.parametrize(
    "key",
    [
        "context_length",
        "embedding_length",
        "block_count",
        "feed_forward_length",
        "attention.head_count",
        "attention.layer_norm_rms_epsilon",
    ],
)
def test_a_number_that_is_missing_is_refused(key: str) -> None:
    gguf = copy.deepcopy(LLAMA)
    del gguf.metadata[f"llama.{key}"]
    refuse(gguf, f"the key llama.{key} is missing")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"attention.head_count_kv": 3}, r"4 heads \(3 of keys\)"),
        ({"attention.head_count": 3, "attention.head_count_kv": 3}, r"3 heads \(3 of keys\) of \(10, 10, 8\) numbers"),
        ({"attention.key_length": 16}, r"of \(16, 16, 8\) numbers do not go together"),
        ({"attention.value_length": 4}, r"of \(8, 4, 8\) numbers do not go together"),
        ({"rope.dimension_count": 4}, r"of \(8, 8, 4\) numbers do not go together"),
        ({"embedding_length": 64, "attention.head_count": 8}, r"token_embd.weight has shape \(32, 263\), expected"),
    ],
)
def test_numbers_that_do_not_go_together_are_refused(keys: dict[str, int], message: str) -> None:
    gguf = copy.deepcopy(LLAMA)
    gguf.metadata |= {f"llama.{key}": (UINT32, value) for key, value in keys.items()}
    refuse(gguf, message)


def test_heads_that_are_wider_than_qwen2_can_take_are_refused() -> None:
    refuse(forged("qwen2", a__attention__key_length=(UINT32, 16)), r"of \(16, 16\)|qwen2 needs heads as wide")
    both = {"a__attention__key_length": (UINT32, 16), "a__attention__value_length": (UINT32, 16)}
    refuse(forged("qwen2", **both), "qwen2 needs heads as wide as its embedding of 32")


def test_a_cache_out_of_proportion_is_refused() -> None:
    wide = dict.fromkeys(("a__attention__key_length", "a__attention__value_length"), (UINT32, 1024))
    numbers = {"a__block_count": (UINT32, 256), "a__attention__head_count_kv": (UINT32, 4)}
    refuse(forged("qwen3", **wide, **numbers), r"a cache of 4294967296 bytes for 1,024 tokens")


@pytest.mark.parametrize(
    ("key", "kind", "value"),
    [
        ("llama.expert_count", UINT32, 8),
        ("llama.expert_used_count", UINT32, 1),
        ("llama.nextn_predict_layers", UINT32, 3),
        ("llama.attention.causal", BOOL, False),
        ("llama.pooling_type", UINT32, 4),
        ("llama.attention.key_length_swa", UINT32, 3),
        ("general.tensor_extra.name", ARRAY, (STRING, ["output.weight"])),
        ("split.count", UINT16, 2),
        ("split.count", ARRAY, (UINT16, [2])),
        ("tokenizer.ggml.precompiled_charsmap", ARRAY, (UINT32, [1])),
        ("tokenizer.ggml.add_bos_token", UINT32, 1),
        ("tokenizer.ggml.bos_token_id", INT32, -1),
    ],
)
def test_a_key_that_llama_would_act_on_is_refused(key: str, kind: int, value: Any) -> None:
    gguf = copy.deepcopy(LLAMA)
    gguf.metadata[key] = (kind, value)
    refuse(gguf, rf"the key {key}.* is not known to be harmless")


@pytest.mark.parametrize("scaling", ["", "longrope", "absurd"])
def test_a_rotation_that_llama_asserts_against_is_refused(scaling: str) -> None:
    refuse(forged(a__rope__scaling__type=(STRING, scaling)), "expected one of none, linear, yarn as llama.rope.scaling")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_tensor_is_needed_with_its_shape_and_vectors_in_full(architecture: str) -> None:
    original = tiny(architecture)
    for name, tensor in original.tensors.items():
        gguf = copy.deepcopy(original)
        del gguf.tensors[name]
        bias = name.endswith("bias")
        check(gguf.pack()) if bias else refuse(gguf, rf"the tensor {name} of shape .+ is missing")
        refuse(with_tensor(name, (*tensor.shape[:-1], 64 + tensor.shape[-1]), 0, architecture), f"{name} has shape")
        if len(tensor.shape) == 1:
            refuse(with_tensor(name, tensor.shape, 1, architecture), f"{name} has type 1, expected F32")
    for name in ("blk.2.attn_q.weight", "blk.0.attn_q.scale", "blk.0.ffn_gate_inp.weight", "x"):
        refuse(with_tensor(name, (32, 32), 0, architecture), f"the tensor {name} belongs to no model of its family")


def test_rows_that_are_no_tokens_are_refused() -> None:
    refuse(with_tensor("token_embd.weight", (32, 262)), r"has shape \(32, 262\), expected \(32, 263\)")


_FUZZ = """
import os, random, resource, sys
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
report = os.fdopen(os.dup(1), "w")  # llama.cpp writes to standard output too
os.dup2(2, 1)
from gguf_forge import ARCHITECTURES
from gguf_forgeries import forgeries
from edgeret.errors import PlannerError
from edgeret.planner.model import Planner
from edgeret.planner.spec import PlannerSpec
from edgeret.planner.chat import Prompt, Turn
prompt = Prompt((Turn("system", "x"),), Turn("user", "find — 12,345 你好 \\U0001f600 !!!! \\x04\\x00 <|im_end|>\\n\\n"))
chance = random.Random(int(sys.argv[3]))
for architecture in ARCHITECTURES:
    for what, data in forgeries(architecture, int(sys.argv[3])):
        if chance.random() > float(sys.argv[4]):
            continue
        print(what, file=report, flush=True)
        open(sys.argv[2], "wb").write(data())
        try:
            spec = PlannerSpec("gemma" if architecture.startswith("gemma") else "chatml", 512)
            planner = Planner(sys.argv[2], spec, 1)
            planner.score(prompt, ["one", "two", "", "\\x04"])
            planner.write(prompt, 'root ::= "yes" | "no" | [a-z]+ "."', 4)
            planner.restore(prompt, planner.save(prompt))
            print("asked", file=report, flush=True)
        except PlannerError:
            print("refused", file=report, flush=True)
"""


def test_no_forged_model_ends_the_process(tmp_path: Path) -> None:
    """Every forty-fifth of some 35,000 forgeries; all of them pass, of the engine without the check 1 in 20 died."""
    pytest.importorskip("llama_cpp", reason="the extra 'planner' is not installed")
    folder = str(Path(__file__).parents[1])
    arguments = [sys.executable, "-c", _FUZZ, folder, str(tmp_path / "planner.gguf"), "0", "0.022"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1]}: {done.stderr[-2000:]}"
    assert len(lines) > 1200
    assert lines.count("asked") > 20
    assert lines.count("asked") + lines.count("refused") == len(lines) // 2
