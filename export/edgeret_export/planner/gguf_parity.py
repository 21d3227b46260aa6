"""What a quantised planner lost: its perplexity and its masked choices beside those of the model before.

The questions are those of a task: which function comes next, of a handful. Knows nothing of how it was quantised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.chat import Prompt, Turn
from edgeret.planner.model import Planner
from edgeret.planner.prompts import selection_prompt
from edgeret.terminal.progress import track
from edgeret.types import END, Call, Candidate, Tool
from edgeret_export.planner.gguf_limits import QUESTIONS, SHOWN, Limits

PASSAGES, PASSAGE_BYTES = 32, 360
"""Texts whose perplexity is measured, and their length: a planner scores no answer of more than 384 tokens, and of some
vocabularies each is a byte."""
_Z95 = 1.645
_READ_ON = Turn("user", "Write down what people ask an assistant for.")


@dataclass(frozen=True, slots=True)
class Question:
    """A masked prompt, the names on offer, and the one that was demonstrated."""

    prompt: Prompt
    names: tuple[str, ...]
    right: str


@dataclass(frozen=True, slots=True)
class Examination:
    """What both models are asked: questions, and passages that they are to find likely."""

    questions: tuple[Question, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model said: log-likelihoods of the passages in nats (passages,), their tokens (passages,), and the names
    that it chose."""

    log_likelihood: NDArray[np.float64]
    lengths: NDArray[np.intp]
    chosen: tuple[str, ...]

    @property
    def perplexity(self) -> float:
        """Of a token of the passages."""
        return float(np.exp(-self.log_likelihood.sum() / self.lengths.sum()))


def examination(tools: Sequence[Tool], demonstrations: Sequence[Demonstration], seed: int = 0) -> Examination:
    """Questions about the demonstrations, a step of each, and their requests as passages; drawn by the seed. At least 3
    tools and a demonstration are needed. Tools are in no passage: what weighs a model's columns may have read them."""
    rng = np.random.default_rng(seed)
    names = [tool.name for tool in tools]
    questions = []
    for i in rng.permutation(len(demonstrations))[:QUESTIONS]:
        shown = demonstrations[i]
        step = int(rng.integers(len(shown.calls) + 1))
        right = shown.calls[step].tool if step < len(shown.calls) else END
        others = [names[j] for j in rng.permutation(len(names)) if names[j] != right]
        offered = (right, *others[: SHOWN - 2], END) if right != END else (END, *others[: SHOWN - 1])
        mask = [Candidate(name, 1 / len(offered)) for name in offered]
        prompt = selection_prompt(tools, shown.query, [Call(call.tool) for call in shown.calls[:step]], mask)
        questions.append(Question(prompt, offered, right))
    requests = [demonstrations[i].query for i in rng.permutation(len(demonstrations))]
    return Examination(tuple(questions), tuple(_passages(requests)))


def ask(planner: Planner, examined: Examination, what: str) -> Answers:
    """Both parts put to one model. Raises PlannerError where the context is too small, or answers are no numbers."""
    found = [
        planner.score(Prompt((), _READ_ON), [passage])
        for passage in track(examined.passages, f"{what}: passages", len(examined.passages))
    ]
    chosen = []
    for question in track(examined.questions, f"{what}: choices", len(examined.questions)):
        scores = planner.score(question.prompt, question.names)
        chosen.append(question.names[int((scores.log_likelihood / scores.lengths).argmax())])
    likelihood = np.concatenate([scores.log_likelihood for scores in found])
    return Answers(likelihood, np.concatenate([scores.lengths for scores in found]), tuple(chosen))


def compare(examined: Examination, before: Answers, after: Answers, limits: Limits) -> dict[str, Any]:
    """What was lost, as plain data. Bounds are one-sided, of 95 %."""
    from scipy.stats import binomtest

    # Both read the same tokens, so what differs from passage to passage cancels.
    lost = (before.log_likelihood - after.log_likelihood) / before.lengths
    weights = before.lengths / before.lengths.sum()
    mean = float(weights @ lost)
    error = float(np.sqrt((weights**2 * (lost - mean) ** 2).sum()))
    kept = sum(a == b for a, b in zip(before.chosen, after.chosen, strict=True))
    asked = len(examined.questions)
    return {
        "perplexity_before": round(before.perplexity, 3),
        "perplexity": round(after.perplexity, 3),
        "perplexity_ratio": round(float(np.exp(mean)), 4),
        "perplexity_ratio_at_most": round(float(np.exp(mean + _Z95 * error)), 4),
        "tokens": int(before.lengths.sum()),
        "choices": asked,
        "choices_kept": kept,
        "share_kept_at_least": round(float(binomtest(kept, asked, alternative="greater").proportion_ci().low), 4),
        "right_before": _right(examined, before),
        "right": _right(examined, after),
        "allowed_perplexity_ratio": limits.perplexity_ratio,
        "allowed_share_kept": limits.kept,
    }


def problems(measured: dict[str, Any], limits: Limits) -> list[str]:
    """Why the gate stays shut, in words; nothing where it opens."""
    found = []
    if not measured["perplexity_ratio"] <= limits.perplexity_ratio:
        found.append(
            f"perplexity grew to {measured['perplexity_ratio']:.3f} of what it was, at most "
            f"{limits.perplexity_ratio:g} is allowed"
        )
    share = measured["choices_kept"] / measured["choices"]
    if not share >= limits.kept:
        found.append(
            f"{measured['choices_kept']} of {measured['choices']} masked choices stayed ({share:.2f}), at least "
            f"{limits.kept:g} must"
        )
    return found


def _right(examined: Examination, answers: Answers) -> int:
    return sum(q.right == name for q, name in zip(examined.questions, answers.chosen, strict=True))


def _passages(requests: Sequence[str]) -> list[str]:
    """The requests in passages, as many to each as there is room for."""
    passages: list[str] = []
    for request in requests:
        line = request.encode(errors="replace")[:PASSAGE_BYTES].decode(errors="ignore")
        joined = f"{passages[-1]}\n{line}" if passages else line
        if passages and len(joined.encode()) <= PASSAGE_BYTES:
            passages[-1] = joined
        elif len(passages) < PASSAGES:
            passages.append(line)
    return passages
