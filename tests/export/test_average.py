"""The mean of adapters: of their products, not of their matrices; and which folders are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from edgeret.errors import InputError
from edgeret_export.cli import main
from edgeret_export.encoders.adapter import ADAPTER, CARD, CONFIG
from edgeret_export.encoders.average import average, cut, scale

LAYERS = {"layer.0.query": (6, 5), "layer.0.output": (4, 7)}
RNG = np.random.default_rng(0)


def adapter(folder: Path, rank: int = 2, share: float = 0.5, base: str = "a") -> Path:
    folder.mkdir()
    arrays = {}
    for name, (outputs, inputs) in LAYERS.items():
        arrays[f"{name}.lora_A.weight"] = RNG.normal(size=(rank, inputs)).astype(np.float16)
        arrays[f"{name}.lora_B.weight"] = RNG.normal(size=(outputs, rank)).astype(np.float16)
    save_file(arrays, folder / ADAPTER)
    (folder / CONFIG).write_text(json.dumps({"r": rank, "lora_alpha": rank * share, "peft_type": "LORA"}))
    (folder / CARD).write_text(
        json.dumps({"base": {"card": base, "sha256": base}, "sets": {}, "recipe": {"rank": rank}})
    )
    return folder


def changes(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    arrays, config = load_file(folder / ADAPTER), json.loads((folder / CONFIG).read_text())
    return {
        name: scale(config)
        * (arrays[f"{name}.lora_B.weight"].astype(float) @ arrays[f"{name}.lora_A.weight"].astype(float))
        for name in LAYERS
    }


def test_the_mean_is_that_of_the_changes(tmp_path: Path) -> None:
    given = [adapter(tmp_path / "one"), adapter(tmp_path / "two", rank=1, share=1.0), adapter(tmp_path / "three")]
    made = average(given, tmp_path / "mean", rank=5)
    found = changes(tmp_path / "mean")
    for name in LAYERS:
        expected = np.mean([changes(folder)[name] for folder in given], axis=0)
        np.testing.assert_allclose(found[name], expected, atol=0.01)
    assert [each["recipe"]["rank"] for each in made["averaged"]] == [2, 1, 2]
    assert json.loads((tmp_path / "mean" / CARD).read_text())["adapter"] == made["adapter"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mean", "one", "three", "two"]


def test_a_lower_rank_keeps_what_is_largest() -> None:
    change = np.diag([3.0, 2.0, 1.0])
    up, down = cut(change, 2)
    assert (up.shape, down.shape) == ((3, 2), (2, 3))
    np.testing.assert_allclose(up @ down, np.diag([3.0, 2.0, 0.0]), atol=1e-6)


def test_a_rank_above_a_layers_own_gives_zeros() -> None:
    change = RNG.normal(size=(3, 4))
    up, down = cut(change, 6)
    assert (up.shape, down.shape) == ((3, 6), (6, 4))
    np.testing.assert_allclose(up @ down, change, atol=1e-5)


def test_what_has_no_mean_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, foreign = adapter(tmp_path / "one"), adapter(tmp_path / "two"), adapter(tmp_path / "foreign", base="b")
    empty = tmp_path / "empty"
    empty.mkdir()
    for folders, rank, told in (
        ([one], 5, "give two or more"),
        ([one, two], 0, "--rank: expected at least 1"),
        ([one, foreign], 5, "foreign: an adapter of another encoder than"),
        ([one, empty], 5, "empty: no adapter of LoRA matrices"),
    ):
        with pytest.raises(InputError, match=told):
            average(folders, tmp_path / "mean", rank)
    with pytest.raises(InputError, match="is there already"):
        average([one, two], one)
    with pytest.raises(InputError, match="cannot be written"):
        average([one, two], tmp_path / "nowhere" / "mean")
    (two / ADAPTER).write_bytes(b"nothing")
    assert main(["lab", "average", str(one), str(two), "-o", str(tmp_path / "mean")]) == 2
    assert "two: no adapter of LoRA matrices" in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()


def test_adapters_of_other_layers_are_refused(tmp_path: Path) -> None:
    one, two = adapter(tmp_path / "one"), adapter(tmp_path / "two")
    arrays = load_file(two / ADAPTER)
    save_file({name: value for name, value in arrays.items() if "query" in name}, two / ADAPTER)
    with pytest.raises(InputError, match="two: tunes other layers"):
        average([one, two], tmp_path / "mean")


def test_the_command_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, mean = adapter(tmp_path / "one"), adapter(tmp_path / "two"), tmp_path / "mean"
    assert main(["lab", "average", str(one), str(two), "-o", str(mean), "--rank", "3"]) == 0
    assert f"--adapter {mean}" in capsys.readouterr().out
    assert load_file(mean / ADAPTER)["layer.0.query.lora_A.weight"].shape == (3, 5)
