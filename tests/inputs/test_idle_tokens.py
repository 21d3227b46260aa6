"""Tokens that do not matter are known again, however often and beside whatever they are said."""

from __future__ import annotations

from edgeret_export.reference.inputs.idle_tokens import IdleTokens


class Asked:
    def __init__(self) -> None:
        self.tokens: list[str] = []

    def __call__(self, token: str) -> bool:
        self.tokens.append(token)
        return token == "and"


def test_each_token_is_looked_at_once() -> None:
    asked = Asked()
    idle = IdleTokens(asked)
    assert idle(["open", "it"])
    assert idle(["it", "open"])
    assert idle([])
    assert not idle(["open", "and", "close"])
    assert not idle(["and"])
    assert sorted(asked.tokens) == ["and", "close", "it", "open"]


def test_a_long_token_is_not_kept() -> None:
    asked = Asked()
    idle, long = IdleTokens(asked), "x" * 1000
    assert idle([long])
    assert idle([long])
    assert asked.tokens == [long, long]
