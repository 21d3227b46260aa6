"""Real weights, real ONNX Runtime, end to end: what a user of the example gets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLE

import edgeret
from edgeret.bundle.reader import read_manifest
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.runtime.runtime import Runtime
from edgeret_bench.accuracy import next_tool
from edgeret_export.build import build_bundle
from edgeret_export.encoders.export import export_encoder
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

pytestmark = pytest.mark.real
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def runtime(real: Path) -> Runtime:
    return edgeret.load(real)


def tool_names(bundle: Path) -> set[str]:
    """The names of a bundle's tools."""
    return {tool["name"] for tool in json.loads((bundle / "tools.json").read_text())}


def test_the_parity_gate_measured_a_faithful_encoder(real: Path) -> None:
    parity = read_manifest(real).info["report"]["parity"]
    assert parity["precision"] == "int8"
    assert 100 < parity["demonstrations"]["observations"] < 2500  # not those without tools, and none twice
    assert parity["tools"]["observations"] == len(tool_names(real))
    assert parity["cosine_min"] >= 0.98
    for loss in (parity["demonstrations"], parity["tools"]):
        assert loss["shown"] <= 0.005


def test_fp32_vectors_are_those_of_sentence_transformers(runtime: Runtime) -> None:
    from sentence_transformers import SentenceTransformer

    from edgeret.encoders.providers import choose
    from edgeret_export.reference.encoders.onnx import OnnxEncoder

    exported = export_encoder(find_card(DEFAULT_ENCODER), "fp32")
    encoder = OnnxEncoder(exported.model, exported.tokenizer, exported.spec, choose(("cpu",), False, {}), 2)
    texts = ["Mail the minutes to Ana", "日本語も少し", "x " * 400]
    expected = SentenceTransformer(str(exported.model_folder), device="cpu").encode(texts, normalize_embeddings=True)
    # The last one is cut as torch cuts it; what decides reads it in windows.
    found = np.stack([encoder.embed(encoder.tokenize(text)) for text in texts])
    assert (found * expected).sum(axis=1).min() > 0.9999
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)


def test_requests_in_other_words_are_decided_far_better_than_by_the_static_graph(runtime: Runtime) -> None:
    requests = read_demonstrations(EXAMPLE / "requests.jsonl", runtime.tools)
    found = next_tool.run(runtime, requests, ["dr", "dtdr-c", "dtdr-l-factored", "fused"])["methods"]
    assert found["fused"]["top1"] > found["dr"]["top1"] + 0.15
    assert found["fused"]["mrr"] > 0.7


def test_whole_plans_end_where_demonstrations_do(runtime: Runtime) -> None:
    # Plans that it was shown, since a third of the demonstrations is few; what generalises is tested above, by step.
    demonstrations = [d for d in read_demonstrations(EXAMPLE / "demonstrations.jsonl", runtime.tools)[::3] if d.calls]
    plans = [(d, runtime.plan(d.query, policy="heads")) for d in demonstrations[:60]]
    right = [sorted(plan.tools) == sorted(call.tool for call in d.calls) for d, plan in plans]
    assert sum(right) > 30
    assert sum(plan.outcome == "complete" for _, plan in plans) > 50


def test_doctor_is_content_on_the_build_host(real: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "edgeret", "doctor", str(real), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["ok"]


@pytest.mark.full
def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    tools = read_tools(EXAMPLE / "tools.jsonl")
    demonstrations = read_demonstrations(EXAMPLE / "demonstrations.jsonl", [t.name for t in tools])[::20]
    hashes = [
        build_bundle(
            tools, demonstrations, tmp_path / name, find_card(DEFAULT_ENCODER), Recipe(precision="fp32")
        ).content_hash
        for name in ("a", "b")
    ]
    assert hashes[0] == hashes[1]
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
