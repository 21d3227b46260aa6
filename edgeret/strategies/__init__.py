"""Query to a ranking of tools. Knows nothing of tasks and files.

A new strategy is a file beside the others and a line in STRATEGIES.
"""

from __future__ import annotations

from collections.abc import Mapping

from edgeret.strategies.base import Strategy
from edgeret.strategies.clauses import by_clauses
from edgeret.strategies.description import by_description

STRATEGIES: Mapping[str, Strategy] = {"description": by_description, "clauses": by_clauses}
"""Strategies by name, the default first."""
