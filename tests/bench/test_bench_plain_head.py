"""The papers' own heads, fitted for the benchmarks."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import TOOLS, make_demonstrations

from edgeret_bench.accuracy.plain_head import PlainHead, fit_plain, history_text
from edgeret_export.fitting.decisions import number_decisions


def test_plain_head_is_a_softmax_of_one_layer_and_its_text_names_the_history() -> None:
    head = PlainHead(np.array([[1, 0], [0, 1]], np.float32), np.zeros(2, np.float32))
    found = np.exp(head.log_probabilities(np.array([np.log(3), 0], np.float32)))
    np.testing.assert_allclose(found, [0.75, 0.25], rtol=1e-6)
    assert history_text("do it", ("a", "b")) == "do it a b"
    assert history_text("do it", ()) == "do it"


def test_a_plain_head_learns_what_its_vectors_tell_apart_and_repeats_under_a_seed() -> None:
    pytest.importorskip("torch")
    table = number_decisions(make_demonstrations(4), TOOLS)
    vectors = np.eye(len(table), dtype=np.float32)  # a vector of its own for every row: all of it can be learned
    head, again = (fit_plain(table, vectors, 3, epochs=200, decay=1.0) for _ in range(2))
    assert np.array_equal(head.weights, again.weights)
    found = [int(head.log_probabilities(vector).argmax()) for vector in vectors]
    assert table.acceptable()[np.arange(len(table)), found].all()
