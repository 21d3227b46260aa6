"""The loss that makes cosines of different requests compare, by hand; and the sum of two changes as one adapter."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from edgeret_export.encoders.average import scale
from edgeret_export.encoders.centre import Centred
from edgeret_export.encoders.continued import Begun
from edgeret_export.encoders.level import LevelLoss

TEXTS = [("one", "a", "b"), ("two", "c", "a"), ("none", "b", "d")]
NEEDED = [frozenset("a"), frozenset("ca"), frozenset()]


def softplus(value: float) -> float:
    return math.log1p(math.exp(value))


class Table(torch.nn.Module):
    """Stands for an encoder: a vector for each text."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        found = torch.randn((len(texts), 6), generator=torch.Generator().manual_seed(0))
        self.rows = torch.nn.Parameter(found)
        self.position = {text: i for i, text in enumerate(texts)}

    def forward(self, texts: list[str]) -> dict[str, torch.Tensor]:
        return {"sentence_embedding": self.rows[[self.position[text] for text in texts]]}


def loss_of(weight: float, centre: np.ndarray[Any, Any] | None = None) -> LevelLoss:
    table = Table(sorted({text for each in TEXTS for text in each}))
    return LevelLoss(table, TEXTS, NEEDED, 20.0, weight, centre)


def asked(loss: LevelLoss) -> torch.Tensor:
    value: torch.Tensor = loss([list(column) for column in zip(*TEXTS, strict=True)], torch.arange(3))
    return value


def test_the_loss_is_that_of_the_formula_and_a_tool_of_two_anchors_is_one_column() -> None:
    loss = loss_of(0.3)
    with torch.no_grad():
        unit = {
            text: torch.nn.functional.normalize(loss.model.rows[i], dim=0) for text, i in loss.model.position.items()
        }
        ranked, worst, right = [], [], []
        for (anchor, first, _), needed in zip(TEXTS, NEEDED, strict=True):
            cosine = {tool: float(unit[anchor] @ unit[tool]) for tool in "abcd"}
            z = {tool: 20 * value - 10 for tool, value in cosine.items()}
            wrong = sorted((z[tool] for tool in "abcd" if tool not in needed), reverse=True)
            # Where fewer than four are wrong, what is needed counts nothing.
            worst.append(sum(softplus(value) for value in wrong) / 4)
            if first in needed:
                right.append(softplus(-z[first]))
                others = [tool for tool in "abcd" if tool == first or tool not in needed]
                ranked.append(math.log(sum(math.exp(20 * (cosine[t] - cosine[first])) for t in others)))
        expected = np.mean(ranked) + 0.3 * (np.mean(worst) + np.mean(right))
    assert math.isclose(float(asked(loss).detach()), expected, rel_tol=1e-4)


def test_a_batch_without_a_right_tool_has_a_finite_loss_that_pushes_the_best_down() -> None:
    loss = loss_of(1.0)
    cosines = torch.tensor([[0.9, 0.1]], requires_grad=True)
    value = loss.of_cosines(cosines, torch.zeros((1, 2), dtype=torch.bool), torch.tensor([0]))
    value.backward()
    assert cosines.grad is not None and torch.isfinite(value)
    assert cosines.grad[0, 0] > cosines.grad[0, 1] > 0


def test_scale_and_bias_learn_and_right_tools_come_to_lie_above_wrong_ones_of_others() -> None:
    loss = loss_of(1.0)
    optimiser = torch.optim.AdamW(loss.parameters(), lr=0.004, weight_decay=0.0)
    before = loss.line.detach().clone()
    for _ in range(400):
        optimiser.zero_grad()
        asked(loss).backward()
        optimiser.step()
    assert (loss.line.detach() != before).all()
    vectors = torch.nn.functional.normalize(loss.model.rows.detach(), dim=1)
    cosine = lambda one, other: float(vectors[loss.model.position[one]] @ vectors[loss.model.position[other]])  # noqa: E731
    best_of_none = max(cosine("none", tool) for tool in "abcd")
    assert min(cosine("one", "a"), cosine("two", "c")) > best_of_none


def test_a_centre_is_taken_off_unit_vectors() -> None:
    centre = np.float32([0.3, 0, 0, 0.1, 0, 0])
    loss = loss_of(0.3, centre)
    given = torch.tensor([[2.0, 0, 0, 0, 0, 0], [0, 0, 3, 4, 0, 0]])

    class Plain:
        def queries(self, texts: Any) -> np.ndarray[Any, Any]:
            return np.float32([[1, 0, 0, 0, 0, 0], [0, 0, 0.6, 0.8, 0, 0]])

        tools = queries

    np.testing.assert_allclose(loss.unit(given), Centred(Plain(), centre).tools(["", ""]), atol=1e-6)
    np.testing.assert_allclose(torch.linalg.norm(loss.unit(given), dim=1), 1, atol=1e-6)


def test_both_changes_are_added_and_cut_to_the_rank_and_what_that_keeps_is_told() -> None:
    rng = np.random.default_rng(0)

    def matrices(rank: int, *layers: str) -> dict[str, np.ndarray[Any, Any]]:
        return {
            f"{layer}.lora_{kind}.weight": rng.normal(size=shape)
            for layer in layers
            for kind, shape in (("A", (rank, 5)), ("B", (6, rank)))
        }

    def change(found: dict[str, np.ndarray[Any, Any]], layer: str) -> np.ndarray[Any, Any]:
        return np.asarray(found[f"{layer}.lora_B.weight"] @ found[f"{layer}.lora_A.weight"])

    old, new = matrices(2, "both", "old"), matrices(1, "both", "new")
    begun = Begun(Path(), {"sets": {"x": {}}, "versions": {}}, old, {"r": 2, "lora_alpha": 2.0}, "ab")
    summed, config, kept = begun.add(new, {"r": 3, "lora_alpha": 1.5, "peft_type": "LORA"})
    assert begun.told == {"sha256": "ab", "sets": {"x": {}}}
    assert scale(config) == 1.0 and config["peft_type"] == "LORA" and math.isclose(kept, 1.0, abs_tol=1e-5)
    expected = {"both": change(old, "both") + 0.5 * change(new, "both"), "old": change(old, "old")}
    expected["new"] = 0.5 * change(new, "new")
    for layer, value in expected.items():
        np.testing.assert_allclose(change(summed, layer), value, atol=1e-5)
    _, _, less = begun.add(new, {"r": 1, "lora_alpha": 0.5})
    assert 0.3 < less < 0.99
