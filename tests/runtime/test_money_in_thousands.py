"""What a letter behind an amount of money says: 350k and £3m, as the library reads them and as Python does."""

from __future__ import annotations

import pytest
from argument_tools import by_rules, same_by_both, tool

import edgeret

TOOLS = [
    tool("make_offer", "Makes an offer for a house.", price={"type": "integer", "description": "in dollars"}),
    tool("send_money", "Sends money.", amount={"type": "number", "description": "how much"}),
    tool("log_run", "Logs a run.", km={"type": "number", "description": "in kilometres"}),
]


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules(TOOLS)


@pytest.mark.parametrize(
    ("name", "query", "value"),
    [
        ("make_offer", "offer 350k for 12 Elm Street", 350_000),
        ("make_offer", "offer $350k for the lake house", 350_000),
        ("make_offer", "offer 1.2m for the mill", 1_200_000),
        ("make_offer", "3k euros for the boat", None),
        ("send_money", "send 3K euros to mum", 3000),
        ("send_money", "£3m to ACME", 3_000_000),
        ("send_money", "wire $2.5k to bo", 2500),
        ("log_run", "log a 10k", 10),
    ],
)
def test_a_letter_behind_a_number_is_read(runtime: edgeret.Runtime, name: str, query: str, value: float | None) -> None:
    found = same_by_both(runtime, name, query)
    assert [*found.values()] == ([] if value is None else [value])
