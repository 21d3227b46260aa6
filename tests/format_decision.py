"""From what was fused to a decision, of a second reader: whether anything fits, calibration and conformal sets. Written
from section 9 of docs/FORMAT.md alone. Knows nothing of edgeret."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from format_prior import Array, PriorReader


def array(value: dict[str, Any]) -> Array:
    """Section 2.4; a length that does not match the shape is an error of `reshape`."""
    assert value["dtype"] in ("<f4", "<f2", "<i4", "<i8", "|i1")
    return np.frombuffer(value["data"], value["dtype"]).reshape(value["shape"])


class DecisionReader(PriorReader):
    """Section 9, behind fusion. Whoever derives from it sets what stands here first, and fuses."""

    maps: dict[str, Any]
    graph: Any

    @abstractmethod
    def fused(self, history: tuple[str, ...]) -> Array:
        """Section 9, fusion: probabilities of names."""

    def decide(self, history: tuple[str, ...]) -> tuple[Array, Array]:
        """Section 9: fused, and calibrated, probabilities of names."""
        fused = self.fused(history)
        if history:
            return fused, self.calibrated(fused)
        tools = np.delete(fused, self.end)
        nothing = self.nothing(fused[self.end])
        return fused, np.insert((1 - nothing) * self.calibrated(tools / tools.sum()), self.end, nothing)

    def nothing(self, shown: float) -> float:
        """Section 9: that no tool fits, where what was fused gives that so much."""
        known = self.maps["familiarity"]
        means = array(known["means"]) * array(known["scales"]).astype(np.float64)[:, None]
        called = float(array(known["counts"]).sum())
        if self.examples and self.head is None:
            means = np.array([shown.mean(axis=0) for shown in self.examples.values()])
            called = 0.5 * sum(map(len, self.examples.values()))
        strange, fits = 1.0, 0.0
        if len(means):
            tools = max(1 if self.head is not None else 33, len(self.names) - 1)
            strange = 1 / (1 + 2 * (called / tools) ** 2)
            x = np.linalg.norm(self.q - means, axis=1).min() + 0.2 * np.sqrt(max(0, 2 - 2 * self.nearest()))
            fits = np.exp(22 * (1 - x / known["edge"]))
        p = np.exp(self.prior(())[self.end])
        b = np.clip(np.log(p / (1 - p)), -30, 30)
        h = shown if known["no_tool"] else 0.0
        if fits < 4 or h > 0.5:
            fits += strange * np.exp(-b)
        if (0.5 < h <= 0.8 or self.said) and b < np.log(0.1 / 0.9):
            h = p
        odds = 1 / (1 + known["no_tool"] / 250) / max(fits, 1e-30) + h / max(1 - h, 1e-30)
        return float(odds / (1 + odds))

    def nearest(self) -> float:
        """Section 9: the cosine of the nearest demonstration, or of the nearest cluster."""
        if self.head is None:
            return float(max((shown @ self.q).max() for shown in self.examples.values()))
        if "memory" not in self.maps:
            return float((array(self.graph["centroids"]) @ self.q).max())
        vectors, starts = (array(self.maps["memory"][key]).astype(np.float64) for key in ("vectors", "starts"))
        cosines = vectors @ self.q
        near = np.argsort(-cosines, kind="stable")[:64]
        return float(max(cosines[near][(np.diff(starts) > 0)[near]], default=0.4, key=float))

    def calibrated(self, fused: Array) -> Array:
        points = array(self.info["calibration"]["parameters"]["calibration_map"]).astype(np.float64)
        top = int(fused.argmax())
        target = np.interp(fused[top], points[:, 0], points[:, 1])
        rest = np.delete(fused, top)
        runner_up = rest.max() / rest.sum()
        if target < 0.5:
            target = max(target, runner_up / (1 + runner_up) + 1e-6)
        return np.where(np.arange(len(fused)) == top, target, fused * (1 - target) / rest.sum())

    def conformal_set(self, calibrated: Array, coverage: float) -> set[int]:
        """Section 9: which candidates a set of this coverage holds."""
        quantiles = array(self.info["calibration"]["parameters"]["right_probabilities"])
        threshold = quantiles[int((1 - coverage) * (len(quantiles) - 1))]
        return {int(calibrated.argmax()), *np.flatnonzero(calibrated >= threshold).tolist()}
