"""SmolLM2 from safetensors to a bundle that asks it: converted, quantised, past the gate, built in, asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("gguf", reason="the extra 'gguf' is not installed")
pytest.importorskip("llama_cpp", reason="the extra 'planner' is not installed")

from conftest import EXAMPLE
from planner_weights import smollm2_weights

import edgeret
from edgeret.bundle.reader import verify_bundle
from edgeret_export.cli import main

pytestmark = pytest.mark.real
QUERY = "Find the budget file and mail it to Ana"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smollm2_weights(tmp_path_factory.mktemp("weights") / "SmolLM2-135M-Instruct")


def test_weights_become_a_planner_that_a_bundle_asks(
    weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "smollm2.gguf"
    assert main(["lab", "planner", str(weights), "-o", str(target), "--licence", "Apache-2.0", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert measured["type"] == "Q8_0"
    assert measured["bytes"] < 0.55 * measured["bytes_before"]
    assert measured["perplexity_ratio"] < 1.02
    assert measured["choices_kept"] >= 36
    tools, demonstrations = EXAMPLE / "tools.jsonl", tmp_path / "few.jsonl"
    lines = (EXAMPLE / "demonstrations.jsonl").read_text(encoding="utf-8").splitlines()
    demonstrations.write_text("\n".join(lines[::40]) + "\n", encoding="utf-8")
    (tmp_path / "recipe.toml").write_text("planner_questions = 4\n", encoding="utf-8")
    arguments = ["--tools", tools, "--demos", demonstrations, "--recipe", tmp_path / "recipe.toml"]
    arguments += ["--profile", "full", "--planner", target.with_suffix(".toml"), "-o", tmp_path / "bundle"]
    assert main(["build", *map(str, arguments)]) == 0
    assert "quantised   Q8_0, " in capsys.readouterr().out
    manifest = verify_bundle(tmp_path / "bundle")
    assert manifest.info["report"]["planner"]["quantised"] == measured
    (model,) = (file for file in manifest.files if file.role == "planner")
    assert (model.licence, model.size) == ("Apache-2.0", measured["bytes"])
    assert model.source.startswith("smollm2: SmolLM2-135M-Instruct (sha256 of its weights' hashes: ")
    runtime = edgeret.load(tmp_path / "bundle")
    decision = runtime.task(QUERY).next(policy="planner", masking="hard")
    assert decision.source == "planner"
    assert decision.usage is not None
    plan = runtime.plan("Mail Ana that the meeting is at five")
    assert plan.steps
