"""Tiny random Llama, Qwen and Gemma models from safetensors to a quantised GGUF by llama.cpp's own converter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gguf", reason="the extra 'gguf' is not installed")
pytest.importorskip("llama_cpp", reason="the extra 'planner' is not installed")
pytest.importorskip("sentencepiece", reason="the extra 'gguf' is not installed")

from planner_weights import tiny_weights

from edgeret.planner.chat import Prompt, Turn
from edgeret.planner.model import Planner
from edgeret.planner.spec import PlannerSpec
from edgeret_export.cli import main
from edgeret_export.planner import convert
from edgeret_export.planner.importance import measure
from edgeret_export.sources.cards import read_card
from edgeret_export.sources.converter import converter_folder
from edgeret_export.sources.fetch import sha256_of

pytestmark = pytest.mark.real
ASK = Prompt((Turn("system", "Choose."),), Turn("user", "What next?"))
ANYTHING = ("--max-perplexity", "100", "--min-kept", "0")


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_weights(tmp_path_factory.mktemp("weights") / "tiny-llama", "Llama")


@pytest.fixture(scope="module")
def adapter(llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter of random numbers."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    models: Any = AutoModelForCausalLM
    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    folder = tmp_path_factory.mktemp("adapter") / "taught"
    get_peft_model(models.from_pretrained(llama), config).save_pretrained(folder)
    return folder


def made(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["lab", "planner", "--json", *map(str, arguments)]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def read(file: Path) -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
    """The keys of a GGUF that are texts, and its tensors' shapes."""
    from gguf import GGUFReader

    reader = GGUFReader(file)
    texts = {name: field.contents() for name, field in reader.fields.items() if name.startswith(("general", "adapter"))}
    return texts, {str(tensor.name): tuple(map(int, tensor.shape)) for tensor in reader.tensors}


@pytest.mark.parametrize(
    ("family", "chat", "kind"),
    [
        ("Qwen2", "chatml", "Q4_K_M"),
        ("Qwen3", "qwen3", "Q6_K"),
        ("Gemma", "gemma", "Q8_0"),
        ("Gemma3", "gemma", "IQ4_XS"),
    ],
)
def test_a_family_is_converted_quantised_and_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], family: str, chat: str, kind: str
) -> None:
    weights = tiny_weights(tmp_path / "weights", family)
    target = tmp_path / "Tiny_one.gguf"
    told = (
        "--licence",
        "LicenseRef-toy",
        "--source",
        "a test",
        "--base-model",
        "nothing",
        "--name",
        f"A 😀 \x7f {family}",
    )
    result = made(capsys, weights, "-o", target, "--quantize", kind, "--chat", chat, *told, *ANYTHING)
    assert result["files"] == ["Tiny_one.LICENSE", "Tiny_one.gguf"]
    assert result["measured"]["type"] == kind
    assert result["measured"]["bytes"] < result["measured"]["bytes_before"]
    texts, _ = read(target)
    assert texts["general.name"] == f"A 😀 \x7f {family}"
    assert texts["general.license"] == "LicenseRef-toy"
    assert texts["general.source.url"] == "a test"
    assert texts["general.base_model.0.name"] == "nothing"
    card = read_card(target.with_suffix(".toml"))
    assert card.summary == f"A 😀 \x7f {family}, {kind}"
    assert (card.name, card.licence, card.pinned) == ("tiny_one", "LicenseRef-toy", True)
    assert card.planner is not None
    assert (card.planner.chat, card.planner.context) == (chat, 4096)
    assert card.planner.made_from == "a test, based on nothing"
    assert card.planner.measured == result["measured"]
    planner = Planner(target, PlannerSpec(card.planner.chat, card.planner.context), 1)
    assert np.isfinite(planner.score(ASK, ["a", "b"]).log_likelihood).all()


def test_a_card_of_weights_brings_what_the_command_needs(
    llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = "\n".join(f'"{file.name}" = "{sha256_of(file)}"' for file in sorted(llama.iterdir()))
    (tmp_path / "own.toml").write_text(
        f'name = "own"\nkind = "weights"\nsummary = "x"\nlicence = "MIT"\nsources = ["path:{llama}"]\n'
        f'[weights]\nchat = "chatml"\nlicence_files = ["LICENSE"]\n[files]\n{files}\n',
        encoding="utf-8",
    )
    scripts = converter_folder()
    monkeypatch.setattr(convert, "converter_folder", lambda offline: scripts)
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    result = made(capsys, tmp_path / "own.toml", "-o", tmp_path / "x.gguf", *ANYTHING, "--offline")
    assert result["files"] == ["x.LICENSE", "x.gguf"]
    card = read_card(tmp_path / "x.toml")
    assert (card.licence, card.summary) == ("MIT", "own, Q8_0")
    assert card.planner is not None
    assert card.planner.made_from == f"own: path:{llama}"


def test_a_gate_that_stays_shut_leaves_nothing_behind(
    llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = ("--licence", "MIT", "--chat", "chatml", "--quantize", "Q2_K")
    assert main(["lab", "planner", str(llama), "-o", str(tmp_path / "x.gguf"), *about, "--min-kept", "0.9"]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "Q2_K of tiny-llama: " in error
    assert "of 40 masked choices stayed" in error
    assert "Nothing was written. Take a type with more bits by --quantize" in error
    assert not list(tmp_path.iterdir())


def test_an_adapter_is_merged_or_lies_beside(
    llama: Path, adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = ("--licence", "MIT", "--chat", "chatml", "--quantize", "F16", *ANYTHING)
    made(capsys, llama, "-o", tmp_path / "plain.gguf", *about)
    merged = made(capsys, llama, "-o", tmp_path / "merged.gguf", *about, "--adapter", adapter)
    beside = made(capsys, llama, "-o", tmp_path / "beside.gguf", *about, "--adapter", adapter, "--adapter-beside")
    assert merged["files"] == ["merged.LICENSE", "merged.gguf"]
    assert beside["files"] == ["beside.LICENSE", "beside.adapter.gguf", "beside.gguf"]

    def likely(name: str) -> list[float]:
        found = Planner(tmp_path / name, PlannerSpec("chatml", 4096), 1).score(ASK, ["a", "bc"])
        return [round(float(each), 3) for each in found.log_likelihood]

    assert likely("plain.gguf") == likely("beside.gguf") != likely("merged.gguf")
    texts, tensors = read(tmp_path / "beside.adapter.gguf")
    assert texts["general.type"] == "adapter"
    assert texts["adapter.type"] == "lora"
    assert tensors["blk.0.attn_q.weight.lora_a"] == (256, 4)
    assert texts["general.architecture"] == "llama"
    card = read_card(tmp_path / "merged.toml")
    assert card.planner is not None
    assert "with the adapter taught (sha256 of its weights' hashes: " in card.planner.made_from
    assert card.planner.made_from.endswith("based on tiny-llama")


def test_an_adapter_of_another_model_is_refused(
    adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow = tiny_weights(tmp_path / "narrow", "Llama", hidden_size=128)
    about = ("--licence", "MIT", "--chat", "chatml", "--adapter", str(adapter))
    assert main(["lab", "planner", str(narrow), "-o", str(tmp_path / "x.gguf"), *about]) == 2
    assert f"{adapter}: an adapter that does not fit {narrow} (" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["narrow"]


@pytest.mark.parametrize("family", ["Qwen3", "Gemma3"])
def test_an_importance_matrix_knows_the_tensors_of_a_family(tmp_path: Path, family: str) -> None:
    weights = tiny_weights(tmp_path / "weights", family)
    parts = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    found = measure(weights, family.lower(), ["write a note"])
    assert set(found) == {f"blk.{layer}.{part}.weight" for layer in (0, 1) for part in parts}


def test_an_importance_matrix_names_tensors_and_weighs_their_columns(
    llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = measure(llama, "llama", ["write a note", "find my file and send it to Ana"])
    about = ("--licence", "MIT", "--chat", "chatml", "--quantize", "Q2_K", *ANYTHING)
    made(capsys, llama, "-o", tmp_path / "plain.gguf", *about)
    weighed = made(capsys, llama, "-o", tmp_path / "weighed.gguf", *about, "--importance")
    assert weighed["measured"]["importance_matrix"] is True
    _, tensors = read(tmp_path / "plain.gguf")
    assert set(rows) == {name for name in tensors if name.startswith("blk.") and "norm" not in name}
    assert all(row.shape == (tensors[name][0],) and (row >= 0).all() for name, row in rows.items())
    assert np.array_equal(rows["blk.0.attn_q.weight"], rows["blk.0.attn_k.weight"])
    assert (tmp_path / "plain.gguf").read_bytes() != (tmp_path / "weighed.gguf").read_bytes()


def test_a_model_without_a_chat_template_asks_for_the_format(
    llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "planner", str(llama), "-o", str(tmp_path / "x.gguf"), "--licence", "MIT"]) == 2
    assert "has no chat template, or one that edgeret does not write; say which" in capsys.readouterr().err


def test_what_the_converter_refuses_is_one_line(
    llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Path(shutil.copytree(llama, tmp_path / "broken"))
    (broken / "tokenizer.model").write_bytes(b"no vocabulary")
    arguments = ("lab", "planner", str(broken), "-o", str(tmp_path / "x.gguf"), "--licence", "MIT", "--chat", "chatml")
    assert main(arguments) == 2
    assert "broken: llama.cpp's converter refuses this model (" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]
