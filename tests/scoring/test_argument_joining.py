"""What joins rules and head: weights that rest on what is known of a call, and the fit of them."""

from __future__ import annotations

import numpy as np
import pytest

from edgeret_export.fitting.argument_pool import Row, fit_pool
from edgeret_export.reference.scoring.argument_joining import (
    ABOUT_OPTIONS,
    ABOUT_SPANS,
    CALL,
    NAMES,
    OPTION,
    SPAN,
    TUNED,
    Joining,
)
from edgeret_export.reference.scoring.argument_shape import POOL

BARE = {**dict.fromkeys(POOL, 0.0), "rules": 0.5, "head": 0.25, "absent optional": -1.0, "no option required": 2.0}


def _about(names: tuple[str, ...], **told: float) -> list[float]:
    return [told.get(name, 0.0) for name in names]


def test_without_more_names_all_calls_have_the_same_weights() -> None:
    joining = Joining(BARE)
    call = _about(CALL, camel=1.0, talk=0.5)
    assert joining.of_spans(_about(ABOUT_SPANS), call) == [0.5, 0.25, 0.0, -1.0, 0.0, 0.0, 0.0]
    assert joining.of_spans(_about(ABOUT_SPANS, required=1.0), call)[3] == 0.0
    assert joining.of_options(_about(ABOUT_OPTIONS, required=1.0), call) == [0.0, 0.0, 2.0]


def test_what_is_known_of_a_call_and_a_parameter_adds_to_a_weight() -> None:
    joining = Joining({**BARE, "head, camel": 0.5, "head, when": -0.25, "options, sure": 2.0})
    weights = joining.of_spans(_about(ABOUT_SPANS, when=1.0), _about(CALL, camel=1.0))
    assert weights[:2] == [0.5, 0.5]
    assert joining.of_options(_about(ABOUT_OPTIONS), _about(CALL, sure=0.5))[0] == 1.0


def test_measures_go_by_rule_where_the_head_was_tuned() -> None:
    about, call = _about(ABOUT_SPANS, unit=1.0), _about(CALL)
    assert Joining({**BARE, "head": 0.9, TUNED: 1.0}).of_spans(about, call)[:2] == [0.8, 0.2]
    assert Joining({**BARE, "head": 0.9, TUNED: 0.0}).of_spans(about, call)[:2] == [0.5, 0.9]


def test_roles_that_do_not_say_so_are_tuned_where_the_head_counts_for_more() -> None:
    assert not Joining(BARE).is_tuned
    assert Joining({**BARE, "head": 0.5}).is_tuned


def test_names_are_those_of_features_and_of_both_together() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert {"rules", "rules, camel", "no option, ruled", *SPAN, *OPTION} <= set(NAMES)
    assert "rules, ruled" not in NAMES and "options, when" not in NAMES


def _rows(count: int) -> list[Row]:
    """Of whose calls in camel case the head knows the value, and of all others the rules do."""
    chance = np.random.default_rng(0)
    rows = []
    for i in range(count):
        camel = float(i % 2)
        right = i % 3 % 2
        by_rules, by_head = np.full(3, -3.0), np.full(3, -3.0)
        by_rules[right if not camel else 1 - right] = -0.1
        by_head[right if camel else 1 - right] = -0.1
        features = np.zeros((3, len(SPAN)))
        features[:, 0], features[:, 1] = by_rules + chance.normal(size=3) * 0.1, by_head
        features[2, SPAN.index("absent")] = 1.0
        context = np.array([1.0, *_about(ABOUT_SPANS), *_about(CALL, camel=camel)])
        rows.append(Row(features, context, np.arange(3) == right))
    return rows


def test_a_fit_tells_styles_apart() -> None:
    joining = Joining(fit_pool(_rows(600)) | {TUNED: 0.0})
    for camel in (0.0, 1.0):
        rules, head, *_ = joining.of_spans(_about(ABOUT_SPANS), _about(CALL, camel=camel))
        assert (head > rules) is bool(camel)


def test_nothing_to_fit_leaves_the_beginning() -> None:
    assert fit_pool([], BARE) == {**BARE}
    begin = {**BARE, "head, camel": 0.5, "absent required": 0.75}
    assert fit_pool([], begin) == pytest.approx(begin)


def test_rows_that_count_for_more_have_their_way() -> None:
    rows = _rows(200)
    camel = [float(row.context[-len(CALL) + CALL.index("camel")]) for row in rows]
    same = [row._replace(context=np.array([1.0, *_about(ABOUT_SPANS), *_about(CALL)])) for row in rows]
    for heavy in (0.0, 1.0):
        pool = fit_pool(same, weights=[20.0 if one == heavy else 1.0 for one in camel])
        assert (pool["head"] > pool["rules"]) is bool(heavy)
