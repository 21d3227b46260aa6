"""TRL's trainers as teaching needs them: quiet, offline, with checkpoints that can be gone on from, and a curve.

Imports torch. Knows nothing of tools: it gets conversations, and a function that says what an answer is worth.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, disable_progress_bars, enable_progress_bars
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from edgeret.terminal.progress import track
from edgeret_export.checkpoints import last_checkpoint, spread
from edgeret_export.planner.templates import THOUGHTLESS

LOGGED, SAVED = 40, 8
"""Points of the curve, and those of them at which a checkpoint is written."""
TOGETHER = 4
"""Answers that are computed at once; a batch is made of several such."""
Conversation = Mapping[str, list[dict[str, str]]]
Reward = Callable[[int, str, int], Mapping[str, float]]
"""An answer's reward by term: the state's position, the answer's text and its number of tokens."""


@dataclass(frozen=True, slots=True)
class Course:
    """What both ways to teach share: the settings of a training, and where its checkpoints lie."""

    learning_rate: float
    schedule: str
    warm_up: float
    batch: int
    seed: int
    work: Path
    resume: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """A course that was taken: its steps, and points of its curve, each of a `step`."""

    steps: int
    curve: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class Pupil:
    """A language model that is taught."""

    model: Any
    tokenizer: Any
    dtype: torch.dtype
    """Of the weights in its files."""

    @property
    def context(self) -> int:
        """Tokens of a conversation, at most."""
        return int(getattr(self.model.config, "max_position_embeddings", 0) or 1 << 20)

    def tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """The number of tokens of a conversation."""
        return len(self.tokenizer.apply_chat_template(list(messages), return_dict=False, **THOUGHTLESS))

    def save(self, folder: Path) -> None:
        """Writes weights, tokenizer and chat template."""
        self.model.to(self.dtype).save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)


def load(folder: Path) -> Pupil:
    """The model of a folder, in fp32, without reading anything else. Raises OSError or ValueError for a folder that
    holds none."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with _quietly(), _as_value_error():
        tokenizers: Any = AutoTokenizer
        tokenizer = tokenizers.from_pretrained(str(folder), local_files_only=True)
        # Tokenizers of no model in particular offer more, which generation refuses.
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
        model: Any = AutoModelForCausalLM.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, dtype="auto"
        )
    dtype = model.dtype
    return Pupil(model.float(), tokenizer, dtype)


def learn(pupil: Pupil, lessons: Sequence[Conversation], epochs: float, course: Course) -> Taken:
    """SFT: teaches the "completion" of each lesson behind its "prompt"; its curve is of `loss` and `accuracy`."""
    rows = [{**lesson, "chat_template_kwargs": THOUGHTLESS} for lesson in lessons]
    arguments: Any = SFTConfig(
        **_settings(course), num_train_epochs=epochs, weight_decay=0.01, max_length=None, completion_only_loss=True
    )
    names = {"loss": "loss", "mean_token_accuracy": "accuracy"}
    return _train(
        lambda callbacks: _Learning(
            model=pupil.model,
            args=arguments,
            train_dataset=Dataset.from_list(rows),
            processing_class=pupil.tokenizer,
            callbacks=callbacks,
        ),
        names,
        course,
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """The settings of GRPO beside those of a course."""

    steps: int
    group: int
    beta: float
    iterations: int
    weights: Mapping[str, float]
    """Of the reward's terms."""
    most_tokens: int


def try_out(
    pupil: Pupil, prompts: Sequence[list[dict[str, str]]], reward: Reward, trial: Trial, course: Course
) -> Taken:
    """GRPO: draws answers to the prompts and makes the better ones of each group likelier; its curve is of `reward`,
    its terms' means, its `deviation` within a group, and `kl`."""
    # A batch needs as many prompts as it has groups.
    rows = [{"prompt": prompt, "state": i} for i, prompt in enumerate(prompts)]
    rows *= math.ceil(course.batch / trial.group / len(rows))
    arguments: Any = GRPOConfig(
        **_settings(course),
        max_steps=trial.steps,
        num_generations=trial.group,
        max_completion_length=trial.most_tokens,
        beta=trial.beta,
        num_iterations=trial.iterations,
        reward_weights=list(trial.weights.values()),
        loss_type="grpo",
        temperature=1.0,
        chat_template_kwargs=THOUGHTLESS,
    )
    names = {"reward": "reward", "reward_std": "deviation", "kl": "kl"}
    names |= {f"rewards/{name}/mean": name for name in trial.weights}
    return _train(
        lambda callbacks: _TryingOut(
            model=pupil.model,
            reward_funcs=[_term(name, reward) for name in trial.weights],
            args=arguments,
            train_dataset=Dataset.from_list(rows),
            processing_class=pupil.tokenizer,
            callbacks=callbacks,
        ),
        names,
        course,
    )


def _term(name: str, reward: Reward) -> Callable[..., list[float]]:
    """One term of the reward, as TRL asks for it and calls it in its log."""

    def term(
        completions: Sequence[Sequence[Mapping[str, str]]],
        completion_ids: Sequence[Sequence[int]],
        state: Sequence[int],
        **_: Any,
    ) -> list[float]:
        answers = zip(state, completions, completion_ids, strict=True)
        return [reward(where, said[0]["content"], len(ids))[name] for where, said, ids in answers]

    term.__name__ = name
    return term


def _settings(course: Course) -> dict[str, Any]:
    """What both trainers are told. The whole batch is one step, however many answers are computed at once."""
    together, gpu = math.gcd(course.batch, TOGETHER), torch.cuda.is_available()
    return {
        "output_dir": str(course.work),
        "per_device_train_batch_size": together,
        "gradient_accumulation_steps": course.batch // together,
        "learning_rate": course.learning_rate,
        "lr_scheduler_type": course.schedule,
        "warmup_ratio": course.warm_up,
        "seed": course.seed,
        "data_seed": course.seed,
        "use_cpu": not gpu,
        "bf16": gpu and torch.cuda.is_bf16_supported(),
        "gradient_checkpointing": gpu,
        "dataloader_pin_memory": gpu,
        "logging_strategy": "no",
        "save_strategy": "no",  # `_Curve` says when
        "save_total_limit": 1,
        "report_to": "none",
        "disable_tqdm": True,
    }


def _train(make: Callable[[list[TrainerCallback]], Any], names: Mapping[str, str], course: Course) -> Taken:
    """Trains, from the last checkpoint if the course is to be gone on with; the curve is by our names."""
    curve = _Curve()
    with _quietly():
        try:
            trainer = make([curve])
            trainer.remove_callback(PrinterCallback)  # it prints to stdout, which belongs to results
            last = last_checkpoint(course.work) if course.resume else None
            trainer.train(resume_from_checkpoint=None if last is None else str(last))
        finally:
            curve.close()
    points = [
        {"step": point["step"], **{ours: round(point[name], 6) for name, ours in names.items() if name in point}}
        for point in trainer.state.log_history
        if next(iter(names)) in point
    ]
    return Taken(trainer.state.global_step, points)


@contextlib.contextmanager
def _as_value_error() -> Iterator[None]:
    """Weights that cannot be read are a value like others."""
    try:
        yield
    except SafetensorError as error:
        raise ValueError(str(error)) from None


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without what libraries say of themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        disable_progress_bars()
        try:
            yield
        finally:
            enable_progress_bars()
            logging.disable(logging.NOTSET)


class _Silent:
    """A trainer that tells its makers nothing, and writes no page about itself."""

    def _send_telemetry(self) -> None:
        """Nothing is sent, whatever the environment says."""

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None: the folder gets a card of ours."""


class _Learning(_Silent, SFTTrainer):  # type: ignore[misc] # TRL is untyped
    pass


class _TryingOut(_Silent, GRPOTrainer):  # type: ignore[misc] # TRL is untyped
    pass


class _Curve(TrainerCallback):
    """Says when to log and when to save, and moves the bar. The points travel in the trainer's own log, so that a
    checkpoint has those up to it."""

    def __init__(self) -> None:
        self._logged: frozenset[int] = frozenset()
        self._saved: frozenset[int] = frozenset()
        self._bar: Iterator[int] = iter(())

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Spreads the points, and moves the bar to where the training stands."""
        total = state.max_steps
        self._saved = spread(total, SAVED)
        self._logged = spread(total, LOGGED) | self._saved
        self._bar = track(range(total + 1), "teaching", total + 1)
        for _step in range(state.global_step + 1):
            next(self._bar)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Asks for a point of the curve, and for a checkpoint."""
        next(self._bar, None)
        control.should_log = state.global_step in self._logged
        control.should_save = state.global_step in self._saved
        return control

    def close(self) -> None:
        """Takes the bar away."""
        close = getattr(self._bar, "close", None)
        if close is not None:
            close()
