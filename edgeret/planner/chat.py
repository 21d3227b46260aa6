"""Conversations in a model's own markup. Knows nothing of what is said in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from edgeret.records import dataclass

Role = Literal["system", "user", "assistant"]

ChatFormat = Literal["chatml", "qwen3", "gemma", "plain"]

CHAT_FORMATS: tuple[ChatFormat, ...] = ("chatml", "qwen3", "gemma", "plain")


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said in a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in turns: `constant` ones, the same for all tasks, then the `variable` one that asks."""

    constant: tuple[Turn, ...]
    variable: Turn

    @property
    def messages(self) -> list[dict[str, str]]:
        """The turns as the `messages` that chat interfaces take."""
        return [{"role": turn.role, "content": turn.text} for turn in (*self.constant, self.variable)]


class Piece(NamedTuple):
    """Part of a rendered prompt. Only `markup` may be read as a model's control tokens: a request or a description
    that holds such a token's text stays text."""

    text: str
    markup: bool


def render(prompt: Prompt, chat: ChatFormat) -> tuple[list[Piece], list[Piece]]:
    """The constant and the variable part in a model's own markup, up to where it answers.

    The markup is written here; no template out of a model's file is ever run.
    """
    constant = [piece for turn in prompt.constant for piece in _said(turn, chat)]
    variable = _said(prompt.variable, chat)
    if chat == "gemma" and prompt.constant and prompt.constant[0].role == "system":
        # This family has no system turn: the guidelines open the first turn of the user.
        constant[2] = Piece("\n\n", True)
        if len(prompt.constant) > 1:
            del constant[3]
        else:
            del variable[0]
    return constant, [*variable, Piece(_CUES[chat], True)]


_CUES: Mapping[ChatFormat, str] = {
    "chatml": "<|im_start|>assistant\n",
    # This family thinks aloud unless its answer begins with an empty thought.
    "qwen3": "<|im_start|>assistant\n<think>\n\n</think>\n\n",
    "gemma": "<start_of_turn>model\n",
    "plain": "Answer: ",
}

STOPS: Mapping[ChatFormat, str] = {
    "chatml": "<|im_end|>",
    "qwen3": "<|im_end|>",
    "gemma": "<end_of_turn>",
    "plain": "\n",
}
"""What a model of this format writes when its answer is complete."""


def _said(turn: Turn, chat: ChatFormat) -> list[Piece]:
    """A turn's opening, text and close."""
    if chat in ("chatml", "qwen3"):
        return [Piece(f"<|im_start|>{turn.role}\n", True), Piece(turn.text, False), Piece("<|im_end|>\n", True)]
    if chat == "gemma":
        speaker = "model" if turn.role == "assistant" else "user"
        start, end = f"<start_of_turn>{speaker}\n", "<end_of_turn>\n"
        return [Piece(start, True), Piece(turn.text, False), Piece(end, True)]
    opening = _CUES[chat] if turn.role == "assistant" else ""
    return [
        Piece(opening, True),
        Piece(turn.text, False),
        Piece("\n\n" if opening or turn.role == "system" else "\n", True),
    ]
