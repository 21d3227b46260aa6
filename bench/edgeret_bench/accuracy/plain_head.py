"""The papers' own heads: one linear layer over one vector. Fitted for the benchmarks alone; no bundle carries one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeret_export.fitting.decisions import Decisions
from edgeret_export.reference.scoring.head import log_softmax


@dataclass(frozen=True, slots=True)
class PlainHead:
    """One linear layer over a vector: the paper's DTDR-L on `E(q + names of h)`, or a static retriever on `E(q)`.

    `weights` (labels, dimension), `bias` (labels,).
    """

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]

    def log_probabilities(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log-softmax of the layer, float32 (labels,)."""
        return log_softmax(self.weights @ vector + self.bias)


def history_text(query: str, history: Sequence[str]) -> str:
    """What the paper's form encodes: the query, then the names of the tools called so far."""
    return " ".join((query, *history))


def fit_plain(
    decisions: Decisions,
    inputs: NDArray[np.float32],
    seed: int,
    *,
    rate: float = 1e-2,
    epochs: int = 30,
    decay: float = 0.9,
    weight_decay: float = 1e-5,
    batch: int = 64,
) -> PlainHead:
    """The paper's linear layer by Adam on cross-entropy (appendix C); `inputs` are vectors a row (rows, dimension).

    The paper's rate of 1e-3 for 10 epochs leaves it far from converged, so the default is a setting that converges.
    Raises ModuleNotFoundError without torch.
    """
    import torch

    # Several threads add floats in another order; one gives the same weights whatever the machine, or the process
    # before, made of them.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    target = torch.zeros(len(decisions), len(decisions.labels))
    target[decisions.target_row, decisions.target_label] = torch.from_numpy(decisions.target_share)
    data, weight = torch.from_numpy(inputs), torch.from_numpy(decisions.weight)
    layer = torch.nn.Linear(inputs.shape[1], len(decisions.labels))
    optimiser = torch.optim.Adam(layer.parameters(), lr=rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, decay)
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(decisions)), batch):
            losses = torch.nn.functional.cross_entropy(layer(data[rows]), target[rows], reduction="none")
            optimiser.zero_grad()
            torch.autograd.backward((losses * weight[rows]).mean())
            optimiser.step()
        schedule.step()
    torch.set_num_threads(threads)
    return PlainHead(layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy())
