"""Hybrid search's scores, by hand: what leads in a part of the request, and words."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from edgeret.types import SEGMENTS
from edgeret_export.fitting.prior import BLANK
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.reference.scoring.prior import Evidence, Hits, Overlaps, PriorWeights, SearchWeights, Values
from edgeret_export.reference.scoring.relevance import features, relevance

NAMES = [field.name for field in fields(SearchWeights)]
TOOLS = np.eye(3, dtype=np.float32)


NOTHING = np.zeros((2, 3), np.float32)


def evidence(windows: list[list[float]], clauses: list[list[float]]) -> Evidence:
    none = np.zeros(3, np.float32)
    hits = Hits(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32), none, np.float32(1))
    shared = Overlaps(np.stack((none, none, none, none)), (), lambda: hits)
    rows = np.zeros((1 + SEGMENTS, 3), np.float32)
    return Evidence(Passages.of(rows, np.array(windows, np.float32), np.array(clauses, np.float32)), shared, lambda: 3)


def weighing(**weights: float) -> PriorWeights:
    return replace(BLANK, search=SearchWeights(**{name: weights.get(name, 0.0) for name in NAMES}))


def test_a_tool_leads_where_one_part_is_nearer_to_it_than_to_any_other() -> None:
    # The first clause is all the first tool's; the second is the second tool's, with the third behind it by 0.2.
    seen = evidence([[0.5, 0.5, 0.1], [0.1, 0.2, 0.3]], [[0.9, 0.1, 0.1], [0.0, 0.6, 0.4]])
    found = dict(zip(NAMES, features(seen, NOTHING, TOOLS), strict=True))
    assert found["window"].tolist() == pytest.approx([5, 5, 3])
    assert found["clause_lead"].tolist() == pytest.approx([0, 0, -2])


def test_scores_add_up_what_the_weights_say() -> None:
    seen, similar = evidence([[1, 0, 0]], [[0, 1, 0]]), np.array([[0, 0, 1], [0.5, 0, 0]], np.float32)
    assert relevance(seen, similar, TOOLS, weighing(window=0.5)).tolist() == pytest.approx([5, 0, 0])
    weights = weighing(clause_lead=0.1, name=2, coverage=4)
    assert relevance(seen, similar, TOOLS, weights).tolist() == pytest.approx([1, 0, 1])


def test_values_speak_for_who_takes_them() -> None:
    values = Values((1, 12), np.array([[0, 2, 0], [3, 0, 0]], np.float32))
    seen = replace(evidence([[1, 0, 0]], [[1, 0, 0]]), values=values)
    weights = replace(BLANK, values=replace(BLANK.values, email=0.5, percent=0.1))
    assert relevance(seen, NOTHING, TOOLS, weights).tolist() == pytest.approx([0.3, 1, 0])
    among = seen.among(np.array([1]))
    assert among.values is not None and among.values.takes.tolist() == [[2], [0]]


def test_a_tool_that_does_the_opposite_of_what_is_said_loses_and_its_counterpart_gains() -> None:
    seen = replace(evidence([[1, 0, 0]], [[1, 0, 0]]), opposed=np.array([[1, 0, 0], [0, 2, 0]], np.float32))
    weights = replace(BLANK, tool=replace(BLANK.tool, opposed=-1.5, agrees=0.5))
    assert relevance(seen, NOTHING, TOOLS, weights).tolist() == pytest.approx([-1.5, 1, 0])
    among = seen.among(np.array([1, 2]))
    assert among.opposed is not None and among.opposed.tolist() == [[0, 0], [2, 0]]


def test_a_tool_that_only_a_clause_wants_comes_before_one_that_the_whole_resembles_a_little() -> None:
    seen = evidence([[0.4, 0.4, 0.4]], [[0.8, 0.1, 0.3], [0.1, 0.7, 0.3]])
    order = np.argsort(-relevance(seen, NOTHING, TOOLS, weighing(clause_lead=1)), kind="stable")
    assert order.tolist() == [0, 1, 2]
