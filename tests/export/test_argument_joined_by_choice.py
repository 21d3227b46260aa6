"""What joins a tuned head with the rules is taken with styles of calls or without, by rows that are left out."""

from __future__ import annotations

import numpy as np

from edgeret_export.fitting.argument_pool import START, Row, fit_pool, fit_tuned
from edgeret_export.reference.scoring.argument_joining import SPAN, SPAN_CONTEXT

LONG = 1 + SPAN_CONTEXT.index("long")


def rows(by_style: bool) -> list[Row]:
    """The head is right of short requests and the rules of long ones; or the head of all."""
    chance, found = np.random.default_rng(1), []
    for number in range(60):
        features, context = np.zeros((3, len(SPAN))), np.zeros(1 + len(SPAN_CONTEXT))
        features[:, :2] = [*chance.permutation([[-0.2, -2.0], [-2.0, -0.2]]).tolist(), [-4.0, -4.0]]
        context[0], context[LONG] = 1.0, 1.0 if number % 2 else -1.0
        best = int(features[:, 0 if by_style and number % 2 else 1].argmax())
        found.append(Row(features, context, np.arange(3) == best))
    return found


STYLED = {**fit_pool([]), "rules": 1.0, "head": 1.0, "rules, long": 3.0, "head, long": -3.0}


def test_styles_that_help_are_kept() -> None:
    assert fit_tuned(rows(True), STYLED)["rules, long"] > 1.0


def test_styles_that_mislead_are_left() -> None:
    found = fit_tuned(rows(False), STYLED)
    assert not any("," in name for name in found)
    assert found["head"] > found["rules"]
    assert found == fit_pool(rows(False), START, by_style=False)
