"""Masks to prompt text (the DTDR paper, section 5 and appendix G), for our planner or for anybody's language model.

A prompt is a few turns of a conversation. All but the last are the same for every task and step, so that a model's
cache keeps them; the last begins with the request, which stays for a task, and ends with what changes at every step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from edgeret.types import END, Call, Candidate, Tool

Masking = Literal["none", "hard", "soft", "demos"]
MASKINGS: tuple[Masking, ...] = ("none", "hard", "soft", "demos")
Role = Literal["system", "user", "assistant"]
ChatFormat = Literal["chatml", "qwen3", "gemma", "plain"]
CHAT_FORMATS: tuple[ChatFormat, ...] = ("chatml", "qwen3", "gemma", "plain")

MAX_DEMONSTRATIONS = 5
"""Demonstrations that masking "demos" shows; the paper's number."""
TRUSTED = 0.5
"""Probability of the best candidate from which `weighted="auto"` shows probabilities; below, they mislead a model
more often than not (the paper's appendix F)."""
END_LINE = "nothing is left to do"
_GUIDELINES = (
    "You choose the next function for an assistant. You see a request, the functions on offer, and the calls that were "
    f"made already. Reply with one name from the list, exactly as it is written there, and nothing else. Reply {END} "
    "once the calls made so far do all that was asked."
)
_FILLING = (
    "You fill in the parameters of one function for an assistant. Reply with one JSON object that has every parameter. "
    'Copy values from the words of the request. Write "$out_1" for the result of the first call made so far, "$out_2" '
    "for that of the second, and so on. Write null for a parameter that the request says nothing about."
)


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


@dataclass(frozen=True, slots=True)
class Example:
    """A demonstration that prompts may show: its query and calls."""

    query: str
    calls: tuple[Call, ...]


def selection_prompt(
    tools: Sequence[Tool],
    query: str,
    calls: Sequence[Call],
    candidates: Sequence[Candidate],
    *,
    masking: Masking = "hard",
    weighted: bool = False,
    worked: Sequence[Example] = (),
    demonstrations: Sequence[Example] = (),
) -> Prompt:
    """Asks which function comes next.

    `tools` are all tools in their canonical order, `candidates` the mask: "hard" shows those alone, "soft" shows all
    tools and recommends them, "none" ignores them, and "demos" shows all tools and `demonstrations`. `weighted` adds
    the candidates' probabilities. `worked` are the examples that every prompt carries: the first is shown before its
    last call, a second one when all is done.
    """
    listed = {candidate.tool: candidate.probability for candidate in candidates}
    constant = [Turn("system", _GUIDELINES if masking == "hard" else f"{_GUIDELINES}\n\n{_functions(tools)}")]
    by_name = {tool.name: tool for tool in tools}
    for example, finished in zip(worked, (False, True), strict=False):
        constant += _worked_turns(example, finished, by_name, masking)
    parts = [f"Request: {query}"]
    if masking == "hard":
        # In canonical order and not by probability: the mask's beginning then often stays from step to step.
        masked = [tool for tool in tools if tool.name in listed]
        parts.append(_functions(masked, listed if weighted else {}, end=END in listed))
    elif masking == "soft":
        names = (_weigh(c.tool, c.probability if weighted else None) for c in candidates)
        parts.append("Most likely: " + ", ".join(names))
    elif masking == "demos":
        parts += [f"Solved before: {e.query}\nCalls: {_names(e.calls, finished=True)}" for e in demonstrations]
    parts.append(f"Calls so far: {_names(calls)}")
    return Prompt(tuple(constant), Turn("user", "\n".join(parts)))


def filling_prompt(
    tool: Tool,
    query: str,
    calls: Sequence[Call],
    shown: Sequence[Example] = (),
    refused: Sequence[str] = (),
) -> Prompt:
    """Asks for the arguments of `tool` (the paper's second prompt): its parameters with type, whether they are
    required and what they mean, and the calls so far with the names of their outputs. `shown` are demonstrations that
    call this function, each shown with the right answer; `refused` is an earlier answer, followed by what was wrong.
    """
    described = "\n".join((f"Function: {tool.name}: {tool.description}", *_parameters(tool.parameters)))
    constant = [Turn("system", f"{_FILLING}\n\n{described}")]
    for example in shown:
        place = next(i for i, call in enumerate(example.calls) if call.tool == tool.name)
        constant += [
            Turn("user", _situation(example.query, example.calls[:place])),
            Turn("assistant", _answer(tool, example.calls[place].arguments)),
        ]
    text = _situation(query, calls)
    if refused:
        text += f"\nNot this: {refused[0]}" + "".join(f"\n- {problem}" for problem in refused[1:])
    return Prompt(tuple(constant), Turn("user", text))


def wants_weights(candidates: Sequence[Candidate]) -> bool:
    """What `weighted="auto"` means: whether the calibrated probabilities can be trusted to help."""
    return bool(candidates) and candidates[0].probability >= TRUSTED


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


def _functions(tools: Iterable[Tool], weights: Mapping[str, float] | None = None, end: bool = True) -> str:
    weights = weights or {}
    lines = [f"- {_weigh(tool.name, weights.get(tool.name))}: {tool.description}" for tool in tools]
    if end:
        lines.append(f"- {_weigh(END, weights.get(END))}: {END_LINE}")
    return "\n".join(("Functions:", *lines))


def _weigh(name: str, probability: float | None) -> str:
    return name if probability is None else f"{name} ({probability:.0%})"


def _worked_turns(example: Example, finished: bool, tools: Mapping[str, Tool], masking: Masking) -> list[Turn]:
    """A worked example as a turn of the user and the right answer, which is the plan's last call or its end."""
    done = example.calls if finished else example.calls[:-1]
    parts = [f"Request: {example.query}"]
    if masking == "hard":
        names = dict.fromkeys(call.tool for call in example.calls)
        parts.append(_functions([tool for name, tool in tools.items() if name in names]))
    parts.append(f"Calls so far: {_names(done)}")
    return [Turn("user", "\n".join(parts)), Turn("assistant", END if finished else example.calls[-1].tool)]


def _situation(query: str, calls: Sequence[Call]) -> str:
    done = [f'"$out_{i}" = {call.tool}({_arguments(call.arguments)})' for i, call in enumerate(calls, 1)]
    return f"Request: {query}\nCalls so far: " + ("; ".join(done) or "none")


def _answer(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """A call's arguments in the form that a grammar makes a model write: every parameter, null where it has none."""
    names = tool.parameters.get("properties", {})
    return json.dumps({name: arguments.get(name) for name in names}, ensure_ascii=False, separators=(",", ":"))


def _names(calls: Sequence[Call], finished: bool = False) -> str:
    names = [call.tool for call in calls] + ([END] if finished else [])
    return ", ".join(names) or "none"


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def _parameters(schema: Mapping[str, Any]) -> list[str]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    required = schema.get("required", ())
    lines = []
    for name, value in properties.items():
        spec = value if isinstance(value, Mapping) else {}
        kind = spec.get("type", "value")
        kind = "/".join(map(str, kind)) if isinstance(kind, list) else str(kind)
        if isinstance(spec.get("enum"), list):
            kind = "one of " + ", ".join(json.dumps(choice, ensure_ascii=False) for choice in spec["enum"])
        need = "required" if name in required else "optional"
        lines.append(f"- {name} ({kind}, {need}): {spec.get('description', '')}".rstrip(": "))
    return lines
