"""Query to a ranking of tools. Knows nothing of tasks and files.

A new strategy is a file beside the others and a line in STRATEGIES.
"""

from __future__ import annotations

from collections.abc import Mapping

from edgeret.strategies.auto import AUTO
from edgeret.strategies.base import Strategy
from edgeret.strategies.clauses import CLAUSES
from edgeret.strategies.description import DESCRIPTION
from edgeret.strategies.hybrid import HYBRID
from edgeret.strategies.less_is_more import LESS_IS_MORE
from edgeret.strategies.re_invoke import RE_INVOKE
from edgeret.strategies.rerank import RERANK
from edgeret.strategies.tooldreamer import TOOLDREAMER
from edgeret.strategies.toolqp import TOOLQP
from edgeret.strategies.toolreagt import TOOLREAGT

STRATEGIES: Mapping[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        AUTO,
        HYBRID,
        DESCRIPTION,
        CLAUSES,
        RERANK,
        RE_INVOKE,
        TOOLDREAMER,
        TOOLQP,
        TOOLREAGT,
        LESS_IS_MORE,
    )
}
"""Strategies by name, the default first."""
