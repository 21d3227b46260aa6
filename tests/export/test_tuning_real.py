"""Tuning on real weights: a few steps on a few plans of the bank, the adapter that comes out, builds that use it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeret.bundle.reader import open_bundle
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret_export.build import build_bundle
from edgeret_export.checkpoints import last_checkpoint
from edgeret_export.encoders import tune as tuning
from edgeret_export.encoders.adapter import ADAPTER, CARD, load_merged, merged_folder, with_adapter
from edgeret_export.encoders.export import export_encoder
from edgeret_export.encoders.pairs import PairOptions, ToolSet
from edgeret_export.encoders.quality import Examination
from edgeret_export.encoders.tune import Tuning, tune
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, Card, find_card
from edgeret_export.sources.fetch import fetch, sha256_of
from edgeret_export.sources.plans import read_source

pytestmark = [pytest.mark.real, pytest.mark.full]
TRANSFER = Path(__file__).parents[2] / "examples" / "transfer"
OPTIONS = Tuning(rank=4, epochs=2, batch=8, learning_rate=1e-3, pairs=PairOptions(("query",), 0.0))
TEXTS = ["how much is left in my savings", "Stop the card and tell Ana", "x " * 60]


@cache
def few(name: str, plans: int) -> ToolSet:
    """The first plans of a set, with the tools that they call and six others."""
    source = read_source(str(TRANSFER / name))
    demonstrations = [d for d in source.demonstrations if d.calls][:plans]
    called = {call.tool for d in demonstrations for call in d.calls}
    others = [tool for tool in source.tools if tool.name not in called][:6]
    return ToolSet(name, [*(tool for tool in source.tools if tool.name in called), *others], demonstrations)


@pytest.fixture(scope="module")
def card() -> Card:
    return find_card(DEFAULT_ENCODER)


@pytest.fixture(scope="module")
def tuned(card: Card, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder that a short tuning wrote, and its card."""
    folder = tmp_path_factory.mktemp("tuned") / "bank"
    return folder, tune([few("bank", 7)], [few("home", 3)], card, OPTIONS, folder, licences={"bank": "MIT"})


def vectors(model: Any) -> Any:
    return model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)


def test_a_tuning_lowers_the_loss_and_finds_more_and_tells_how(tuned: tuple[Path, dict[str, Any]]) -> None:
    folder, made = tuned
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ("adapter_config.json", ADAPTER, CARD, tuning.PICTURE)
    )
    assert [path.name for path in folder.parent.iterdir()] == ["bank"]  # no checkpoints, nothing half written
    losses = [point["loss"] for point in made["curve"]]
    third = len(losses) // 3
    assert np.mean(losses[-third:]) < np.mean(losses[:third])
    bank = made["figures"]["bank"]
    assert bank["after"]["dense"] > bank["before"]["dense"]
    measured = {point["step"]: point["ndcg5"]["home"] for point in made["curve"] if "ndcg5" in point}
    assert len(measured) == 8
    assert sum(measured[made["step"]].values()) == max(sum(found.values()) for found in measured.values())
    shares = {float(share): found["home"] for share, found in made["shares"].items()}
    assert sum(shares[made["share"]].values()) == max(sum(found.values()) for found in shares.values())
    assert len(shares) == 3 and made["figures"]["home"]["after"] == shares[made["share"]]
    settings = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    assert settings["lora_alpha"] == 2 * settings["r"] * made["share"]
    assert json.loads((folder / CARD).read_text(encoding="utf-8")) == made
    assert made["sets"]["bank"]["licence"] == "MIT"
    assert made["adapter"]["sha256"] == sha256_of(folder / ADAPTER)
    assert "nDCG@5 of the sets left out" in (folder / tuning.PICTURE).read_text(encoding="utf-8")


def test_an_interrupted_tuning_is_gone_on_with_and_gives_the_same(
    card: Card, tuned: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, calls = Examination.measure, []

    def interrupted(self: Examination, encoder: Any) -> dict[str, float]:
        calls.append(self.name)
        if len(calls) == 5:  # two before, and the third mark on the way
            raise KeyboardInterrupt
        return measure(self, encoder)

    with monkeypatch.context() as patch:
        patch.setattr(Examination, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tune([few("bank", 7)], [few("home", 3)], card, OPTIONS, tmp_path / "bank")
    with pytest.raises(InputError, match=r"an interrupted tuning lies here; go on with --resume"):
        tune([few("bank", 7)], [few("home", 3)], card, OPTIONS, tmp_path / "bank")
    with pytest.raises(InputError, match=r"the interrupted tuning was one of other sets or options"):
        tune([few("bank", 7)], [few("home", 3)], card, replace(OPTIONS, batch=9), tmp_path / "bank", resume=True)
    calls.clear()
    monkeypatch.setattr(Examination, "measure", lambda self, encoder: calls.append(self.name) or measure(self, encoder))
    made = tune([few("bank", 7)], [few("home", 3)], card, OPTIONS, tmp_path / "bank", resume=True)
    assert len(calls) == 2 + 6 + 3 + 2  # two marks were behind it, and three shares are tried
    expected = tuned[1]
    assert [point["step"] for point in made["curve"]] == [point["step"] for point in expected["curve"]]
    assert made["curve"][-1]["loss"] == pytest.approx(expected["curve"][-1]["loss"], abs=0.05)
    assert made["step"] == expected["step"]
    assert made["figures"]["bank"]["after"] == pytest.approx(expected["figures"]["bank"]["after"], abs=0.01)
    with pytest.raises(InputError, match=r"bank: exists already; remove it, or choose another folder with -o$"):
        tune([few("bank", 7)], [few("home", 3)], card, OPTIONS, tmp_path / "bank")


def test_a_merged_model_gives_the_vectors_of_peft(card: Card, tuned: tuple[Path, dict[str, Any]]) -> None:
    from peft import PeftModel
    from sentence_transformers import SentenceTransformer

    base = fetch(card)
    adapted = with_adapter(card, str(tuned[0]))
    folder = merged_folder(adapted, base, adapted.encoder.adapter)
    assert tuned[1]["adapter"]["sha256"][:32] in folder.name
    plain = SentenceTransformer(str(base), device="cpu")
    before = vectors(plain)
    PeftModel.from_pretrained(plain[0].auto_model, str(tuned[0]))  # puts its layers into the model
    merged = vectors(SentenceTransformer(str(folder), device="cpu"))
    np.testing.assert_allclose(merged, vectors(plain), atol=1e-4)
    assert np.abs(merged - before).max() > 0.01


def test_a_build_uses_the_adapter_and_tells_it(card: Card, tuned: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    adapted = with_adapter(card, str(tuned[0]))
    built = build_bundle(
        few("bank", 7).tools, few("bank", 7).demonstrations, tmp_path / "bundle", adapted, Recipe(precision="fp32")
    )
    manifest = open_bundle(built.path).manifest
    digest = tuned[1]["adapter"]["sha256"]
    assert manifest.info["encoder"]["adapter"] == {"name": "bank", "sha256": digest}
    assert f"tuned with bank (sha256 {digest})" in manifest.file("encoder").source
    assert built.report["parity"]["cosine_min"] > 0.9999
    assert export_encoder(adapted, "fp32").model != export_encoder(card, "fp32").model
    assert with_adapter(adapted, "none") == with_adapter(card, None) == card


def test_an_adapter_that_does_not_belong_is_refused(
    card: Card, tuned: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tuned[0], copy)
    base, adapted = fetch(card), with_adapter(card, str(copy))
    adapter = adapted.encoder.adapter
    with pytest.raises(InputError, match=r"holds no adapter \(neither adapter_model.safetensors nor model.safeten"):
        with_adapter(card, str(tmp_path))
    with pytest.raises(InputError, match=r"expected sha256 0+ \(model card .*\), found [0-9a-f]{64}; "):
        merged_folder(adapted, base, replace(adapter, sha256="0" * 64))
    told = json.loads((copy / CARD).read_text(encoding="utf-8"))
    told["base"] |= {"card": "another", "sha256": "1" * 64}
    (copy / CARD).write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match=r"an adapter of another \(sha256 1+\), expected one of all-minilm-l6-v2"):
        merged_folder(adapted, base, adapter)
    (copy / CARD).unlink()
    with pytest.raises(InputError, match=r"card\.json: does not name the adapter's base model; expected a folder"):
        merged_folder(adapted, base, adapter)
    (copy / "adapter_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"peft cannot put this adapter on the model"):
        load_merged(base, copy)


def test_a_tuning_goes_on_from_an_adapter_with_a_level_and_after_an_interruption(
    card: Card, tuned: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = few("home", 6)
    nothing = [Demonstration(text, text, ()) for text in ("tell me a joke", "who won the cup", "write a poem")]
    more = ToolSet("more", more.tools, [*more.demonstrations, *nothing])
    options = replace(OPTIONS, rank=8, epochs=6, level=0.5)
    begun = tuned[0]
    assert tuning.plan_of(card, [more], [], options, begun) != tuning.plan_of(card, [more], [], options)
    # It imports for five seconds, in every process that collects these tests.
    import torch

    from edgeret_export.encoders import trainer

    place = trainer.kept

    def interrupted(work: Path, step: int) -> Path:
        if step == 4:
            raise KeyboardInterrupt
        return place(work, step)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "kept", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tune([more], [], card, options, tmp_path / "more", begun=begun)
    assert last_checkpoint(tmp_path / ".more.tuning") == tmp_path / ".more.tuning" / "checkpoint-3"
    made = tune([more], [], card, options, tmp_path / "more", resume=True, begun=begun)
    whole = tune([more], [], card, options, tmp_path / "whole", begun=begun)
    assert made["curve"][-1]["loss"] == pytest.approx(whole["curve"][-1]["loss"], abs=0.01)
    # Of rank 4 and 8, of which half counts, 8 keeps nearly all: so it is the sum, and not what was trained alone.
    assert made["kept"] > 0.9 and made["recipe"]["level"] == 0.5
    assert made["from"]["sha256"] == tuned[1]["adapter"]["sha256"] and made["from"]["sets"] == tuned[1]["sets"]
    assert made["sets"]["more"]["pairs"] == len({d.query for d in more.demonstrations})
    base = fetch(card)
    plain, first, second = (
        model[0].auto_model.state_dict()
        for model in (trainer.load_base(base), load_merged(base, begun), load_merged(base, tmp_path / "more"))
    )
    name = "encoder.layer.3.output.dense.weight"
    change, further = first[name] - plain[name], second[name] - plain[name]
    assert torch.cosine_similarity(change.flatten(), further.flatten(), 0) > 0.5


def test_what_cannot_be_gone_on_from_is_refused(card: Card, tuned: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: holds no adapter .*a folder that `edgeret-export lab tune`"):
        tune([few("bank", 7)], [], card, OPTIONS, tmp_path / "out", begun=tmp_path / "nowhere")
    copy = tmp_path / "copy"
    shutil.copytree(tuned[0], copy)
    (copy / ADAPTER).rename(copy / "model.safetensors")
    with pytest.raises(InputError, match=r"--from .*copy: an adapter of all weights.*tuned without --full"):
        tune([few("bank", 7)], [], card, OPTIONS, tmp_path / "out", begun=copy)
    (copy / "model.safetensors").rename(copy / ADAPTER)
    told = json.loads((copy / CARD).read_text(encoding="utf-8"))
    told["base"]["sha256"] = "1" * 64
    (copy / CARD).write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match=r"an adapter of all-minilm-l6-v2 \(sha256 1+\), expected one of"):
        tune([few("bank", 7)], [], card, OPTIONS, tmp_path / "out", begun=copy)
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_all_weights_can_be_tuned_and_built_with(card: Card, tmp_path: Path) -> None:
    short = replace(OPTIONS, rank=None, epochs=0.3)
    made = tune([few("bank", 7)], [], card, short, tmp_path / "full")
    assert made["adapter"]["file"] == "model.safetensors"
    assert made["step"] == made["steps"]
    adapted = with_adapter(card, str(tmp_path / "full"))
    folder = merged_folder(adapted, fetch(card), adapted.encoder.adapter)
    assert sha256_of(folder / "model.safetensors") == made["adapter"]["sha256"]
    shutil.rmtree(folder)  # 90 MB
