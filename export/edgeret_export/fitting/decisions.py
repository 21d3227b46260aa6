"""Demonstrations as numbered decisions, the table that graph, head and calibration are fitted on."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import END, Tool
from edgeret_export.recorded.demonstrations import linear_extensions

MAX_ORDERS = 4
"""Orders of a DAG's calls that are learned from; users do not follow the one that was written down."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """One row a decision.

    `labels`: tools that demonstrations call, in the tools' order, then `<end>`. Per row: `plan` (the demonstration's
    number), `histories` (label numbers called so far), `written` (whether the calls stand in the order of the file)
    and `weight` (1 / orders of that plan). `target_*` list the acceptable labels as (row, label, share) with shares
    summing to 1 a row.
    """

    labels: tuple[str, ...]
    plan: NDArray[np.intp]
    histories: tuple[tuple[int, ...], ...]
    written: NDArray[np.bool_]
    weight: NDArray[np.float32]
    target_row: NDArray[np.intp]
    target_label: NDArray[np.intp]
    target_share: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.plan)

    def select(self, rows: NDArray[np.bool_]) -> Decisions:
        """The rows that the mask (rows,) marks."""
        number = np.cumsum(rows) - 1
        kept = rows[self.target_row]
        return Decisions(
            self.labels,
            self.plan[rows],
            tuple(h for h, keep in zip(self.histories, rows.tolist(), strict=True) if keep),
            self.written[rows],
            self.weight[rows],
            number[self.target_row[kept]],
            self.target_label[kept],
            self.target_share[kept],
        )

    def acceptable(self) -> NDArray[np.bool_]:
        """The acceptable labels as a mask (rows, labels)."""
        mask = np.zeros((len(self), len(self.labels)), bool)
        mask[self.target_row, self.target_label] = True
        return mask

    def first(self) -> NDArray[np.bool_]:
        """Which rows decide the first call (rows,)."""
        return np.array([not h for h in self.histories], bool)


def number_decisions(demonstrations: Sequence[Demonstration], tools: Sequence[Tool]) -> Decisions:
    """The decisions of all demonstrations, in file order."""
    called = {call.tool for d in demonstrations for call in d.calls}
    labels = (*(t.name for t in tools if t.name in called), END)
    number = {name: i for i, name in enumerate(labels)}
    plan = array("q")
    histories: list[tuple[int, ...]] = []
    written: list[bool] = []
    weight: list[float] = []
    # Three million rows of tuples would take a gigabyte while they are made.
    rows, target_labels, shares = array("q"), array("q"), array("d")
    for p, demonstration in enumerate(demonstrations):
        orders = list(linear_extensions(demonstration, MAX_ORDERS))
        for o, order in enumerate(orders):
            for step in demonstration.steps(order):
                accepted = sorted(number[name] for name in step.acceptable)
                rows.extend([len(plan)] * len(accepted))
                target_labels.extend(accepted)
                shares.extend([1 / len(accepted)] * len(accepted))
                plan.append(p)
                histories.append(tuple(number[name] for name in step.history))
                written.append(o == 0)
                weight.append(1 / len(orders))
    return Decisions(
        labels,
        np.array(plan, np.intp),
        tuple(histories),
        np.array(written, bool),
        np.array(weight, np.float32),
        np.array(rows, np.intp),
        np.array(target_labels, np.intp),
        np.array(shares, np.float32),
    )
