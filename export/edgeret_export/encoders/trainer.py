"""sentence-transformers' trainer as tuning needs it: our batches, small checkpoints that can be gone on from, a curve.

Imports torch. Knows nothing of tools and sets: it gets texts, and a function that says what a model is worth.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.util import cos_sim
from transformers import AutoConfig, PrinterCallback, TrainerCallback, set_seed
from transformers.utils import logging as told_by_transformers

from edgeret.terminal.progress import track
from edgeret_export.checkpoints import last_checkpoint, spread
from edgeret_export.encoders.level import LevelLoss
from edgeret_export.sources.encoder_card import EncoderCard

MAX_TOKENS, SCALE, WARM_UP, SCHEDULE = 96, 20.0, 0.1, "cosine"
LOGGED, EVALUATED = 40, 8
"""Points of the curve, and those of them at which the model is saved and measured."""
STATE, LINE = "trained.safetensors", "line.safetensors"
"""Files of a checkpoint: what is trained of the model, and of the second loss."""
LINEAR = ("query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense")
BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


@dataclass(frozen=True, slots=True)
class Course:
    """One training: texts (anchor, positive, negative) by position, the batches in their order, and the settings."""

    texts: Sequence[tuple[str, str, str]]
    batches: Sequence[Sequence[int]]
    learning_rate: float
    seed: int
    work: Path
    """Where checkpoints lie."""
    level: float = 0.0
    """The weight of the second loss (`level`)."""
    needed: Sequence[frozenset[str]] = ()
    """By position what an anchor's request needs; for the second loss."""
    centre: NDArray[Any] | None = None
    """What that takes off unit vectors, float32 (dimension,)."""

    @property
    def marks(self) -> frozenset[int]:
        """The steps after which the model is saved and measured; the last one is among them."""
        return spread(len(self.batches), EVALUATED)


class TorchVectors:
    """A SentenceTransformer as `pairs.Vectors`."""

    def __init__(self, model: SentenceTransformer, encoder: EncoderCard) -> None:
        self._model, self._encoder = model, encoder

    def queries(self, texts: Sequence[str]) -> NDArray[Any]:
        """Unit vectors, float32 (texts, dimension)."""
        return self._encode([self._encoder.query_prefix + text for text in texts])

    def tools(self, texts: Sequence[str]) -> NDArray[Any]:
        """Unit vectors, float32 (texts, dimension)."""
        return self._encode([self._encoder.tool_prefix + text for text in texts])

    def _encode(self, texts: list[str]) -> NDArray[Any]:
        before, self._model.max_seq_length = self._model.max_seq_length, self._encoder.max_tokens
        try:
            with torch.inference_mode():
                found = self._model.encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
            return np.asarray(found, np.float32)
        finally:
            self._model.max_seq_length = before


def load_base(folder: Path) -> SentenceTransformer:
    """The model to tune, without dropout: its masks cost four times the rest of the computation on a CPU."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the files are here
    config: Any = AutoConfig.from_pretrained(str(folder), local_files_only=True)
    still = {key: 0.0 for key, value in vars(config).items() if "drop" in key and isinstance(value, float)}
    before = told_by_transformers.get_verbosity()
    told_by_transformers.set_verbosity(logging.ERROR)  # a pooler that nobody needs is missing
    try:
        model: SentenceTransformer = SentenceTransformer(
            str(folder), device="cpu", local_files_only=True, config_kwargs=still
        )
    finally:
        told_by_transformers.set_verbosity(before)
    model.max_seq_length = MAX_TOKENS
    return model


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and what of it is trained: all weights, or LoRA matrices that peft has put into it (then with peft's
    settings as JSON-ready data)."""

    model: SentenceTransformer
    inner: Any
    config: Mapping[str, Any] | None = None

    def state(self) -> dict[str, torch.Tensor]:
        """What is trained, by name: LoRA matrices under peft's names, or all weights."""
        state = self.inner.state_dict() if self.config is None else get_peft_model_state_dict(self.inner)
        return {name: value.detach().clone().contiguous() for name, value in state.items()}

    def load(self, file: Path) -> None:
        """Puts back what `state` gave."""
        if self.config is None:
            self.inner.load_state_dict(load_file(file))
        else:
            set_peft_model_state_dict(self.inner, load_file(file))


def all_weights(model: SentenceTransformer) -> Trained:
    """The model with all weights to be trained."""
    return Trained(model, model[0].auto_model)


def with_lora(model: SentenceTransformer, rank: int, seed: int, base: str) -> Trained:
    """The model with LoRA matrices on its linear layers, and all else frozen. Raises ValueError for a model whose
    layers have other names."""
    set_seed(seed)
    config: Any = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=list(LINEAR), task_type="FEATURE_EXTRACTION"
    )
    # It changes the model in place; the model itself runs on.
    inner: Any = model[0].auto_model
    inner = get_peft_model(inner, config)
    told = {**config.to_dict(), "base_model_name_or_path": base, "inference_mode": True}
    # Sets have no order of their own, and the same tuning gives the same file.
    return Trained(model, inner, {k: sorted(value) if isinstance(value, set) else value for k, value in told.items()})


def bf16_here() -> bool:
    """Whether this CPU calculates in bf16 itself: then training takes half the time, else several times as long."""
    try:
        return not BF16_FLAGS.isdisjoint(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        return False


def train(trained: Trained, course: Course, measure: Callable[[], Any], resume: bool) -> list[dict[str, Any]]:
    """Trains the model; returns the curve: `step`, `loss` since the point before, and at `marks`, where what was
    trained is kept under `kept`, what `measure` said as `ndcg5`. With `resume` it goes on from the last checkpoint."""
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(course.work),
        num_train_epochs=1,  # the batches are those of all epochs
        learning_rate=course.learning_rate,
        lr_scheduler_type=SCHEDULE,
        warmup_ratio=WARM_UP,
        bf16=bf16_here(),
        use_cpu=True,
        logging_strategy="no",
        save_strategy="no",  # `_Curve` says when
        save_total_limit=1,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        seed=course.seed,
    )
    columns = zip(*course.texts, strict=True)
    told = dict(zip(("anchor", "positive", "negative"), map(list, columns), strict=True))
    data = Dataset.from_dict({**told, "label": list(range(len(course.texts)))} if course.level else told)
    curve = _Curve(course, measure, trained)
    loss = _loss(trained, course)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            trainer = _Trainer(model=trained.model, args=arguments, train_dataset=data, loss=loss, callbacks=[curve])
            trainer.batches, trainer.trained = course.batches, trained
            trainer.remove_callback(PrinterCallback)  # it prints to stdout, which belongs to results
            last = last_checkpoint(course.work) if resume else None
            trainer.train(resume_from_checkpoint=None if last is None else str(last))
        finally:
            logging.disable(logging.NOTSET)
            curve.close()
    return curve_of(trainer.state.log_history)


def _loss(trained: Trained, course: Course) -> Any:
    if not course.level:
        return MultipleNegativesRankingLoss(trained.model, scale=SCALE, similarity_fct=_cosines)
    return LevelLoss(trained.model, course.texts, course.needed, SCALE, course.level, course.centre)


def curve_of(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points of the curve out of a trainer's log."""
    keys = ("step", "loss", "ndcg5")
    return [{key: point[key] for key in keys if key in point} for point in history if "loss" in point]


def kept(work: Path, step: int) -> Path:
    """Where what was trained lies after that step, one of `Course.marks`."""
    return work / f"step-{step}.safetensors"


def _cosines(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Cosines (first, second) in fp32: times SCALE, bf16 would tell apart steps of 0.06 and more."""
    with torch.autocast("cpu", enabled=False):
        return cos_sim(first.float(), second.float())


class _Trainer(SentenceTransformerTrainer):
    """With our batches, checkpoints of what is trained alone, and no model card."""

    batches: Sequence[Sequence[int]]
    trained: Trained

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """None: it would count tokens of texts that nobody reads about."""

    def get_batch_sampler(self, *_: Any, **__: Any) -> Any:
        """Our batches, in their order."""
        return self.batches

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(str(output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.trained.state(), folder / STATE)
        if isinstance(self.loss, LevelLoss):
            save_file({"line": self.loss.line.detach()}, folder / LINE)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        self.trained.load(Path(resume_from_checkpoint) / STATE)
        if isinstance(self.loss, LevelLoss):
            with torch.no_grad():
                self.loss.line.copy_(load_file(Path(resume_from_checkpoint) / LINE)["line"])


class _Curve(TrainerCallback):
    """Says when to log and when to save, measures, and moves the bar. The points travel in the trainer's own log, so
    that a checkpoint has those up to it."""

    def __init__(self, course: Course, measure: Callable[[], Any], trained: Trained) -> None:
        total = len(course.batches)
        self._work, self._measure, self._trained = course.work, measure, trained
        self._marks = course.marks
        self._logged = spread(total, LOGGED) | self._marks
        self._bar: Iterator[int] = track(range(total + 1), "tuning", total + 1)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Moves the bar to where the training stands."""
        for _step in range(state.global_step + 1):
            next(self._bar)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Asks for a point of the curve, and for a checkpoint."""
        next(self._bar, None)
        control.should_log = state.global_step in self._logged
        control.should_save = state.global_step in self._marks
        return control

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Measures and keeps the model, before the trainer writes its checkpoint."""
        point = state.log_history[-1]
        if "loss" in point and state.global_step in self._marks:
            save_file(self._trained.state(), kept(self._work, state.global_step))
            point["ndcg5"] = self._measure()

    def close(self) -> None:
        """Takes the bar away."""
        self._bar.close()  # type: ignore[attr-defined] # a generator's
