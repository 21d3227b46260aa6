"""The arithmetic of the head for arguments: docs/FORMAT.md's golden numbers, and the network that is fitted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeret_export.reference.scoring.argument_head import ArgumentHead, LogShares
from edgeret_export.reference.scoring.argument_shape import (
    OPTION_FEATURES,
    PARAMETER_FEATURES,
    RELATIONS,
    UNIT_FEATURES,
    shapes,
)


def numbers(count: int, start: int) -> NDArray[np.float32]:
    """As docs/FORMAT.md, section 8.4, makes them."""
    steps = (np.arange(start, start + count, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(2**32)
    found: NDArray[np.float32] = (steps.astype(np.float64) / 2**31 - 1).astype(np.float32)
    return found


def golden_arrays() -> dict[str, NDArray[np.float32]]:
    arrays, at = {}, 1
    for name, sizes in shapes(8).items():
        count = int(np.prod(sizes))
        told = numbers(count, at).reshape(sizes)
        at += count
        if len(sizes) == 2:
            arrays[name] = told / np.float32(sizes[-1] ** 0.5)
        else:
            arrays[name] = told * np.float32(0.1) + np.float32("norm" in name and name.endswith("weight"))
    return arrays


def golden(head: ArgumentHead, options: int) -> LogShares:
    texts, vectors = numbers(32, 1).reshape(4, 8), numbers(24, 101).reshape(3, 8)
    features = np.zeros((1, PARAMETER_FEATURES), np.float32)
    features[0, 23] = 1
    units = np.zeros((3, UNIT_FEATURES), np.float32)
    units[1, 0] = 1
    relations = np.zeros((1, 3, RELATIONS), np.float32)
    relations[0, 0, 2] = 1
    told = np.zeros((options, OPTION_FEATURES), np.float32)
    told[1:, 0] = 1
    asked = head.asked(texts[: 2 + options], features, [options], np.array([options > 0]))
    return head.log_shares(vectors, units, relations, np.array([(12, 1, 0)]), asked, told)


def test_golden_numbers_of_the_format() -> None:
    head = ArgumentHead(golden_arrays())
    found = golden(head, 0)
    spans = [found.spans[0, first, long] for first, long in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0))]
    assert spans == pytest.approx([-2.5777, -2.5309, -2.2317, -1.4694, -2.0912, -1.3705], abs=2e-4)
    assert found.absent[0] == pytest.approx(-2.0438, abs=2e-4)
    found = golden(head, 2)
    assert found.options[0].tolist() == pytest.approx([-2.9803, -3.0612], abs=2e-4)
    assert found.absent[0] == pytest.approx(-0.1027, abs=2e-4)
    assert (found.spans < -1000).all()


def test_the_fitted_network_computes_the_same() -> None:
    torch = pytest.importorskip("torch")
    from edgeret_export.fitting.argument_cases import Case
    from edgeret_export.fitting.argument_network import Network, batch

    torch.manual_seed(0)
    network = Network(8).eval()
    with torch.no_grad():
        for weights in network.parameters():
            weights.add_(torch.randn_like(weights) * 0.1)
    chance = np.random.default_rng(0)
    texts = {f"t{i}": chance.normal(size=8).astype(np.float32) for i in range(6)}
    counts = [0, 3]
    case = Case(
        chance.normal(size=(30, 8)).astype(np.float16),
        chance.normal(size=(30, UNIT_FEATURES)).astype(np.float32),
        chance.random((2, 30, RELATIONS)).round().astype(np.float32),
        np.array([(12, 4, 2), (3, 29, 0), (12, 4, 2)]),
        list(texts),
        chance.normal(size=(2, PARAMETER_FEATURES)).astype(np.float32),
        counts,
        chance.normal(size=(3, OPTION_FEATURES)).astype(np.float32),
        *([(0, 4, 2)], [(1, 2)], [False, False], [False, False], "tool"),
    )
    case.parameters[:, 11] = 0
    given = batch([case], texts)
    with torch.no_grad():
        wanted = network(given).numpy()[0]
    head = ArgumentHead({name: one.detach().numpy() for name, one in network.state_dict().items()})
    rows = np.array([texts[text] for text in case.texts])
    asked = head.asked(rows, case.parameters, counts, np.zeros(2, bool))
    found = head.log_shares(
        case.vectors.astype(np.float32), case.units, case.relations, case.chunks, asked, case.options
    )
    spans = wanted[0, : 30 * 24].reshape(30, 24)
    assert np.maximum(found.spans[0], -50) == pytest.approx(np.maximum(spans, -50), abs=1e-3)
    assert found.options[1] == pytest.approx(wanted[1, 30 * 24 : 30 * 24 + 3], abs=1e-3)
    assert found.absent == pytest.approx(wanted[:, -1], abs=1e-3)
