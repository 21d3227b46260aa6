"""Teaches a language model to search for tools, from trajectories: the order of the work, and the folder of the result.
How it trains is `courses`, what on `lessons`, and what an answer is worth `judge`."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import edgeret
from edgeret.errors import InputError, MissingExtraError
from edgeret.strategies.toolqp import PLAN_TOKENS, planning, searching
from edgeret.terminal.progress import say
from edgeret_export.checkpoints import begin, workplace
from edgeret_export.curves import draw_curves
from edgeret_export.planner.judge import Judge
from edgeret_export.planner.lessons import State, conversation, states
from edgeret_export.planner.rewards import WEIGHTS
from edgeret_export.planner.templates import chat_format
from edgeret_export.planner.trajectories import Trajectory
from edgeret_export.planner.trajectory_file import read_trajectories
from edgeret_export.sources.fetch import sha256_of

CARD, PICTURE = "card.json", "curve.html"
LIBRARIES = ("torch", "transformers", "trl", "accelerate", "datasets")
BETA, ITERATIONS = 0.02, 2
"""GRPO's weight of the distance to the model before, and updates by the same answers (paper 000, appendix D.4)."""
SFT_WARM_UP, GRPO_WARM_UP = 0.15, 0.286
"""Shares of the steps: the paper's 150 of some 1,000, and 143 of 500."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked for: the folder of the model to teach, the file of trajectories, the folder to write, and whether
    an interrupted teaching is gone on with."""

    model: Path
    trajectories: Path
    target: Path
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Sft:
    """How to teach by heart: the paper's settings (appendix D.3)."""

    epochs: float = 3.0
    batch: int = 32
    learning_rate: float = 2e-5
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises InputError for numbers that make no training."""
        _check_positive(("--epochs", self.epochs), ("--batch", self.batch), ("--learning-rate", self.learning_rate))


@dataclass(frozen=True, slots=True)
class Grpo:
    """How to teach by trying out: the paper's settings (appendix D.4), `group` answers to a state and `batch` to a
    step."""

    steps: int = 500
    batch: int = 256
    group: int = 4
    learning_rate: float = 1e-6
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises InputError for numbers that make no training."""
        _check_positive(("--steps", self.steps), ("--learning-rate", self.learning_rate))
        if self.group < 2 or self.batch < self.group or self.batch % self.group:
            raise InputError(
                f"--batch {self.batch} --group {self.group}: expected groups of at least 2, and a batch that is whole "
                "groups"
            )


@dataclass(frozen=True, slots=True)
class Library:
    """What GRPO searches: the tools' names, the judge of what is found, and what it is made of, JSON-ready."""

    tools: Collection[str]
    judge: Judge
    told: Mapping[str, Any]


def teach_sft(task: Task, method: Sft) -> dict[str, Any]:
    """Teaches a model to say what the trajectories say, and writes `task.target`, whole or not at all; returns its card
    as plain data.

    Raises InputError for a model, trajectories or a target that do not fit, and where an interrupted teaching was
    another one; MissingExtraError without the train extra.
    """

    def train(courses: Any, pupil: Any, chosen: Sequence[State], work: Path) -> Any:
        course = courses.Course(
            method.learning_rate, "cosine", SFT_WARM_UP, method.batch, method.seed, work, task.resume
        )
        return courses.learn(pupil, [conversation(state) for state in chosen], method.epochs, course)

    return _teach(task, "sft", asdict(method), train)


def teach_grpo(task: Task, method: Grpo, library: Library) -> dict[str, Any]:
    """Teaches a model by the reward of its own answers in the states of the trajectories; else as `teach_sft`."""
    recipe = {**asdict(method), "weights": dict(WEIGHTS), "beta": BETA, "iterations": ITERATIONS}

    def train(courses: Any, pupil: Any, chosen: Sequence[State], work: Path) -> Any:
        @lru_cache(maxsize=10_000)  # each term of the reward is asked for by itself
        def reward(where: int, text: str, tokens: int) -> Mapping[str, float]:
            return asdict(library.judge.terms(chosen[where], text, tokens))

        course = courses.Course(
            method.learning_rate, "constant_with_warmup", GRPO_WARM_UP, method.batch, method.seed, work, task.resume
        )
        trial = courses.Trial(method.steps, method.group, BETA, ITERATIONS, WEIGHTS, PLAN_TOKENS)
        return courses.try_out(pupil, [state.prompt.messages for state in chosen], reward, trial, course)

    return _teach(task, "grpo", recipe, train, library)


def _teach(
    task: Task,
    method: str,
    recipe: Mapping[str, Any],
    train: Callable[[Any, Any, Sequence[State], Path], Any],
    library: Library | None = None,
) -> dict[str, Any]:
    """The order of the work, whichever the method."""
    trajectories = _usable(task.trajectories, library)
    base = _base(task.model)
    made: dict[str, Any] = {
        "method": method,
        "base": {"folder": task.model.resolve().name, "files": base},
        "trajectories": {"file": task.trajectories.name, "sha256": sha256_of(task.trajectories)},
        "search": None if library is None else dict(library.told),
        "recipe": dict(recipe),
    }
    plan = _hash(made)
    work = workplace(task.target, "teaching", "models, trajectories or options", task.resume, plan)
    courses, versions = _courses()
    pupil, chat = _pupil(task.model, courses)
    chosen = _fitting([state for each in trajectories for state in states(each)], pupil, task.trajectories)
    say(f"teaching {made['base']['folder']} on {len(chosen)} states of {len(trajectories)} trajectories")
    begin(work, plan)
    taken = train(courses, pupil, chosen, work)
    made["trajectories"] |= {"usable": len(trajectories), "states": len(chosen)}
    made |= {"chat": chat, "steps": taken.steps, "curve": taken.curve, "versions": versions}
    _write(task.target, pupil, made)
    shutil.rmtree(work)
    return made


def _check_positive(*given: tuple[str, float]) -> None:
    for option, number in given:
        if not 0 < number <= 100_000:
            raise InputError(f"{option}: expected a positive number, found {number:g}")


def _hash(made: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def _usable(file: Path, library: Library | None) -> list[Trajectory]:
    """The trajectories without a problem. Raises InputError where none is left, or their tools are others."""
    everything = read_trajectories(file)
    found = [each for each in everything if each.problem is None]
    if not found:
        raise InputError(
            f"{file}: none of its {len(everything)} trajectories can be learned from, the first because "
            f"{everything[0].problem}; make others with a better teacher"
        )
    if library is not None:
        unknown = next((name for each in found for name in each.request.tools if name not in library.tools), None)
        if unknown is not None:
            raise InputError(f"{file}: '{unknown}' is not among --tools; give the tools that the trajectories search")
    return found


def _base(folder: Path) -> dict[str, str]:
    """The hashes of a model's files. Raises InputError for a folder that has not all that is needed."""
    for needed in ("config.json", "tokenizer.json", "*.safetensors"):
        if not any(folder.glob(needed)):
            raise InputError(
                f"{folder}: no {needed} in it; give the folder of a language model with its tokenizer, in safetensors"
            )
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".jinja"))
    return {path.name: sha256_of(path) for path in files if path.name != CARD}


def _courses() -> tuple[Any, Mapping[str, str]]:
    """What trains, and the versions of what it is made of. Raises MissingExtraError without the train extra."""
    try:
        versions = {"edgeret": edgeret.__version__, **{name: version(name) for name in LIBRARIES}}
        from edgeret_export.planner import courses
    except ImportError:
        raise MissingExtraError("edgeret-export[train]", "teaching a planner") from None
    return courses, versions


def _pupil(folder: Path, courses: Any) -> tuple[Any, str]:
    """The model, and the chat format that it will be served in. Raises InputError for a folder that holds none, and for
    one whose chat template edgeret does not write."""
    try:
        pupil = courses.load(folder)
    except (OSError, ValueError, KeyError) as error:
        told = " ".join(str(error).split())[:200]
        raise InputError(f"{folder}: no language model that can be loaded ({told})") from None
    chat = chat_format(pupil.tokenizer, (planning("words"), searching(("words",))))
    if chat is None:
        raise InputError(
            f"{folder}: its tokenizer has no chat template, or one of a format in which edgeret asks no planner; take "
            "an instruction-tuned model of one of these: chatml, qwen3, gemma"
        )
    return pupil, str(chat)


def _fitting(chosen: Sequence[State], pupil: Any, file: Path) -> list[State]:
    """The states that the model's context has room for, with their answers. Raises InputError if there is none."""
    whole = [[*conversation(state)["prompt"], *conversation(state)["completion"]] for state in chosen]
    found = [state for state, said in zip(chosen, whole, strict=True) if pupil.tokens(said) <= pupil.context]
    if not found:
        raise InputError(f"{file}: no conversation is short enough for the model's context of {pupil.context} tokens")
    if len(found) < len(chosen):
        say(f"{len(chosen) - len(found)} of {len(chosen)} states are longer than {pupil.context} tokens and left out")
    return found


def _write(target: Path, pupil: Any, made: dict[str, Any]) -> None:
    """Writes the folder, whole or not at all, and puts the weights' hashes into `made`."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".partial") as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        pupil.save(folder)
        made["files"] = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
        (folder / CARD).write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        _draw(made, target.name, folder / PICTURE)
        folder.rename(target)


def _draw(made: Mapping[str, Any], name: str, target: Path) -> None:
    curve = made["curve"]
    groups = {"Loss": ["loss"], "Accuracy": ["accuracy"]} if made["method"] == "sft" else {"Reward": ["reward"]}
    groups |= {} if made["method"] == "sft" else {"Terms of the reward, before their weights": list(WEIGHTS)}
    plots = {
        title: {key: [(int(point["step"]), point[key]) for point in curve if key in point] for key in keys}
        for title, keys in groups.items()
    }
    facts = (
        f"{made['base']['folder']}, {made['method']}, {made['steps']} steps on {made['trajectories']['states']} states."
    )
    draw_curves(target, name, facts, plots, made["steps"])
