"""What a letter behind an amount of money says: 350k and £3m, as the library reads them and as Python does."""

from __future__ import annotations

import pytest

import edgeret
from edgeret.types import Tool
from edgeret_export.reference.arguments.filling import fill


def _tool(name: str, told: str, asked: str, **schema: str) -> Tool:
    return Tool(name, told, {"type": "object", "properties": {asked: schema}, "required": [asked]})


TOOLS = {
    one.name: one
    for one in (
        _tool("make_offer", "Makes an offer for a house.", "price", type="integer", description="in dollars"),
        _tool("send_money", "Sends money.", "amount", type="number", description="how much"),
        _tool("log_run", "Logs a run.", "km", type="number", description="in kilometres"),
    )
}


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return edgeret.from_tools([*TOOLS.values()])


@pytest.mark.parametrize(
    ("tool", "query", "value"),
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
def test_a_letter_behind_a_number_is_read(runtime: edgeret.Runtime, tool: str, query: str, value: float | None) -> None:
    found = runtime.task(query).arguments(tool).given
    assert found == fill(TOOLS[tool], query, (), TOOLS, None).given
    assert [one.value for one in found.values()] == ([] if value is None else [value])
