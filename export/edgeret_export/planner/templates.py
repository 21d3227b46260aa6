"""Which of edgeret's chat formats a model's own chat template is. Knows nothing of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from edgeret.planner.chat import CHAT_FORMATS, ChatFormat, Prompt, render

THOUGHTLESS = {"enable_thinking": False}
"""For chat templates of models that think aloud: they are served without."""


def chat_format(tokenizer: Any, prompts: Sequence[Prompt]) -> ChatFormat | None:
    """The format in which edgeret would serve these prompts just as the tokenizer's chat template writes them; None if
    there is none, or no template."""
    for chat in CHAT_FORMATS:
        if tokenizer.chat_template and all(_served(prompt, chat) in _written(tokenizer, prompt) for prompt in prompts):
            return chat
    return None


def _written(tokenizer: Any, prompt: Prompt) -> tuple[str, ...]:
    """What the template writes, with what opens a prompt and without: of some models that is a turn's beginning."""
    try:
        text = tokenizer.apply_chat_template(prompt.messages, tokenize=False, add_generation_prompt=True, **THOUGHTLESS)
    except (TemplateError, ValueError):
        return ()
    return str(text), str(text).removeprefix(tokenizer.bos_token or "")


def _served(prompt: Prompt, chat: ChatFormat) -> str:
    constant, variable = render(prompt, chat)
    return "".join(piece.text for piece in (*constant, *variable)).removeprefix("<bos>")
