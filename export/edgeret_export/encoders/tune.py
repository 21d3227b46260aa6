"""Tunes an embedding model for tool search on tool sets and their requests: the order of the work, and the folder that
comes out. How it trains is `trainer`, what on `pairs` and `batches`."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import edgeret
from edgeret.cli.progress import say
from edgeret.errors import InputError, MissingExtraError
from edgeret_export.checkpoints import begin, workplace
from edgeret_export.encoders.adapter import ADAPTER, CARD, CONFIG, FULL, base_weights, load_merged
from edgeret_export.encoders.batches import arrange
from edgeret_export.encoders.curve_page import draw
from edgeret_export.encoders.export import encoder_of
from edgeret_export.encoders.pairs import Pair, PairOptions, ToolSet, Vectors, make_pairs
from edgeret_export.encoders.quality import Examination, mean_of
from edgeret_export.sources.cards import Card
from edgeret_export.sources.fetch import fetch, sha256_of

PICTURE = "curve.html"
LIBRARIES = ("torch", "transformers", "sentence-transformers", "peft", "accelerate", "datasets")
SHARES = (1.0, 0.75, 0.5)
"""Of what LoRA changed, that left-out sets choose among: between the base and what was trained lies what does best on
other people's tools (Wortsman et al., robust fine-tuning, 2022)."""
HALF = 0.5
"""The share where no set says which: what that paper advises."""
LORA_RATE, FULL_RATE = 5e-4, 2e-5
"""Learning rates, where none is given. All weights take a far smaller one than the few of LoRA."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How to tune. `rank` is LoRA's, None for all weights; `pairs` says what on."""

    rank: int | None = 16
    epochs: float = 1.0
    batch: int = 64
    learning_rate: float | None = None
    pairs: PairOptions = field(default_factory=PairOptions)

    def __post_init__(self) -> None:
        """Raises InputError for numbers that make no training."""
        for option, value, least in (("--rank", 1 if self.rank is None else self.rank, 1), ("--batch", self.batch, 2)):
            if value < least:
                raise InputError(f"{option}: expected at least {least}, found {value}")
        for option, number in (("--epochs", self.epochs), ("--learning-rate", self.rate)):
            if not 0 < number <= 1000:
                raise InputError(f"{option}: expected a positive number, found {number:g}")

    @property
    def rate(self) -> float:
        """The learning rate."""
        if self.learning_rate is not None:
            return self.learning_rate
        return FULL_RATE if self.rank is None else LORA_RATE


def tune(
    sets: Sequence[ToolSet],
    left_out: Sequence[ToolSet],
    card: Card,
    tuning: Tuning,
    target: Path,
    *,
    resume: bool = False,
    offline: bool = False,
    licences: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Tunes the card's encoder on `sets` and writes `target`, whole or not at all; returns its card as plain data.

    Of eight states on the way the one that finds most in `left_out` is kept, and of what LoRA changed the share that
    finds most there; without them the last one, and half. `licences` are those of sets, by name. Raises InputError for
    a target, sets or an encoder that do not fit, and where an interrupted tuning was another one; MissingExtraError
    without the train extra.
    """
    base = fetch(card, offline)
    weights = base_weights(card)
    plan = plan_of(card, sets, left_out, tuning)
    work = workplace(target, "tuning", "sets or options", resume, plan)
    trainer, versions = _trainer()
    model = trainer.load_base(base)
    vectors = trainer.TorchVectors(model, encoder_of(card))
    exams = {each.name: Examination(each) for each in (*sets, *left_out)}
    before = _measure(exams, vectors)
    pairs = {each.name: make_pairs(each, vectors, tuning.pairs) for each in sets}
    course = _course(pairs, card, tuning, work, trainer)
    trained = _trained(model, card, tuning, trainer)
    begin(work, plan)
    known = {each.name: exams[each.name] for each in left_out}
    curve = trainer.train(trained, course, lambda: _measure(known, vectors), resume)
    step = best_step(curve)
    best = trainer.kept(work, step)
    shares = _shares(trained, best, lambda tuned: _measure(known, _merged(base, tuned, card, trainer))) if known else {}
    share = _best_share(trained, shares)
    made = {
        "base": {"card": card.name, "file": weights, "sha256": sha256_of(base / weights), "licence": card.licence},
        "recipe": _recipe(tuning, trainer),
        "sets": {each.name: _told(each, len(pairs[each.name]), licences or {}) for each in sets},
        "left_out": {each.name: _told(each, 0, licences or {}) for each in left_out},
        "steps": len(course.batches),
        "step": step,
        "share": share,
        "shares": {str(share): found for share, found in shares.items()},
        "curve": curve,
        "versions": versions,
    }

    def measure_tuned(folder: Path) -> Mapping[str, Any]:
        if trained.config is None:
            trained.load(folder / FULL)
            return _measure(exams, vectors)
        return _measure(exams, _merged(base, folder, card, trainer))

    _write(target, best, _scaled(trained.config, share), made, before, measure_tuned)
    shutil.rmtree(work)
    return made


def _trainer() -> tuple[Any, Mapping[str, str]]:
    """What trains, and the versions of what it is made of. Raises MissingExtraError without the train extra."""
    try:
        versions = {"edgeret": edgeret.__version__, **{name: version(name) for name in LIBRARIES}}
        from edgeret_export.encoders import trainer
    except ImportError:
        raise MissingExtraError("train", "tuning an encoder") from None
    return trainer, versions


def _merged(base: Path, adapter: Path, card: Card, trainer: Any) -> Vectors:
    """The tuned encoder as a build makes it."""
    vectors: Vectors = trainer.TorchVectors(load_merged(base, adapter), encoder_of(card))
    return vectors


def _shares(
    trained: Any, kept: Path, measure: Callable[[Path], dict[str, dict[str, float]]]
) -> dict[float, dict[str, dict[str, float]]]:
    """What `measure` finds in left-out sets, by how much of LoRA's change is taken; all weights are taken whole."""
    found = {}
    for share in SHARES if trained.config is not None else ():
        with tempfile.TemporaryDirectory() as folder:
            _write_weights(Path(folder), kept, _scaled(trained.config, share))
            found[share] = measure(Path(folder))
    return found


def _best_share(trained: Any, shares: Mapping[float, Mapping[str, Any]]) -> float:
    unmeasured = 1.0 if trained.config is None else HALF
    return max(shares, key=lambda share: (mean_of(list(shares[share].values())), share), default=unmeasured)


def _scaled(config: Mapping[str, Any] | None, share: float) -> Mapping[str, Any] | None:
    """peft's settings for a share of the change: it is proportional to `lora_alpha`."""
    return None if config is None else {**config, "lora_alpha": config["lora_alpha"] * share}


def best_step(curve: Sequence[Mapping[str, Any]]) -> int:
    """The step whose mean nDCG@5 over what was left out is the highest, the last of equal ones; without figures the
    last one that was kept."""
    points = [point for point in curve if "ndcg5" in point]
    if not points[-1]["ndcg5"]:
        return int(points[-1]["step"])
    return int(max(points, key=lambda point: (mean_of(list(point["ndcg5"].values())), point["step"]))["step"])


def plan_of(card: Card, sets: Sequence[ToolSet], left_out: Sequence[ToolSet], tuning: Tuning) -> str:
    """A hash of all that determines a tuning."""
    digest = hashlib.sha256(repr((sorted(card.files.items()), tuning)).encode())
    for each in (*sets, ToolSet("", (), ()), *left_out):
        digest.update(repr((each.name, tuple(each.tools), tuple(each.demonstrations))).encode())
    return digest.hexdigest()


def _course(pairs: Mapping[str, Sequence[Pair]], card: Card, tuning: Tuning, work: Path, trainer: Any) -> Any:
    """The training of these pairs. Raises InputError if there is nothing to train on."""
    encoder, everything = encoder_of(card), [pair for found in pairs.values() for pair in found]
    batches = arrange(everything, tuning.batch, tuning.epochs, tuning.pairs.seed)
    if not batches:
        raise InputError("--set: no request that needs one tool and not another; give sets with more tools or plans")
    say(f"tuning on {len(everything)} pairs of {len(pairs)} sets in {len(batches)} steps")
    texts = [
        (encoder.query_prefix + pair.anchor, encoder.tool_prefix + pair.positive, encoder.tool_prefix + pair.negative)
        for pair in everything
    ]
    return trainer.Course(texts, batches, tuning.rate, tuning.pairs.seed, work)


def _trained(model: Any, card: Card, tuning: Tuning, trainer: Any) -> Any:
    """The model, made ready. Raises InputError for one whose layers LoRA does not find."""
    if tuning.rank is None:
        return trainer.all_weights(model)
    try:
        return trainer.with_lora(model, tuning.rank, tuning.pairs.seed, card.name)
    except ValueError:
        raise InputError(
            f"model card '{card.name}': no layers named {', '.join(trainer.LINEAR)} to put LoRA on; tune all of its "
            "weights with --full"
        ) from None


def _write(
    target: Path,
    kept: Path,
    config: Mapping[str, Any] | None,
    made: dict[str, Any],
    before: Mapping[str, Any],
    measure: Callable[[Path], Mapping[str, Any]],
) -> None:
    """Writes the folder, whole or not at all, and puts into `made` what is known by then: the weights' hash, and the
    figures, `before` and as `measure` finds them in the folder."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".partial") as temporary:
        folder = Path(temporary) / "adapter"
        folder.mkdir()
        file = _write_weights(folder, kept, config)
        after = measure(folder)
        made["adapter"] = {"file": file.name, "sha256": sha256_of(file)}
        made["figures"] = {name: {"before": found, "after": after[name]} for name, found in before.items()}
        (folder / CARD).write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        draw(made, target.name, folder / PICTURE)
        folder.rename(target)


def _write_weights(folder: Path, kept: Path, config: Mapping[str, Any] | None) -> Path:
    """Writes what was trained, LoRA matrices in fp16 with peft's settings; returns the file of the weights."""
    from safetensors.torch import load_file, save_file

    if config is None:
        shutil.copyfile(kept, folder / FULL)
        return folder / FULL
    save_file({name: value.half() for name, value in load_file(kept).items()}, folder / ADAPTER, {"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return folder / ADAPTER


def _measure(exams: Mapping[str, Examination], vectors: Vectors) -> dict[str, dict[str, float]]:
    found = {name: exam.measure(vectors) for name, exam in exams.items()}
    if found:
        say(f"nDCG@5, mean of {', '.join(found)}: {mean_of(list(found.values())):.4f}")
    return found


def _recipe(tuning: Tuning, trainer: Any) -> dict[str, Any]:
    """All options, for whoever wants the same again; of imagined tools how many there were."""
    pairs = {key: value for key, value in asdict(tuning.pairs).items() if key != "imagined"}
    return {
        "rank": tuning.rank,
        "epochs": tuning.epochs,
        "batch": tuning.batch,
        "learning_rate": tuning.rate,
        **pairs,
        "anchors": list(tuning.pairs.anchors),
        "imagined": len(tuning.pairs.imagined or ()),
        "scale": trainer.SCALE,
        "max_tokens": trainer.MAX_TOKENS,
        "schedule": trainer.SCHEDULE,
        "warm_up": trainer.WARM_UP,
        "bf16": trainer.bf16_here(),
    }


def _told(each: ToolSet, pairs: int, licences: Mapping[str, str]) -> dict[str, Any]:
    counts = {"tools": len(each.tools), "requests": len(each.demonstrations)}
    return {**counts, **({"pairs": pairs} if pairs else {}), "licence": licences.get(each.name)}
