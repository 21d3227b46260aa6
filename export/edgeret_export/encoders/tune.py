"""Tunes an embedding model for tool search on tool sets and their requests: the order of the work, and the folder that
comes out. How it trains is `trainer`, what on `pairs` and `batches`."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import edgeret
from edgeret.errors import InputError, MissingExtraError
from edgeret.terminal.progress import say
from edgeret_export.checkpoints import begin, workplace
from edgeret_export.encoders.adapter import ADAPTER, CARD, CONFIG, FULL, base_weights, load_merged, weights_of
from edgeret_export.encoders.batches import arrange, draw_anew
from edgeret_export.encoders.centre import Centred
from edgeret_export.encoders.continued import Begun, begin_from
from edgeret_export.encoders.curve_page import draw
from edgeret_export.encoders.export import encoder_of
from edgeret_export.encoders.pairs import Anchor, Pair, PairOptions, ToolSet, Vectors, make_anchors, make_pairs
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
    """How to tune. `rank` is LoRA's, None for all weights; `pairs` says what on; `level` is the weight of the loss that
    makes cosines of different requests compare (`encoders.level`)."""

    rank: int | None = 16
    epochs: float = 1.0
    batch: int = 64
    learning_rate: float | None = None
    pairs: PairOptions = field(default_factory=PairOptions)
    level: float = field(default=0.0, repr=False)  # so that plans of tunings without it stay what they were

    def __post_init__(self) -> None:
        """Raises InputError for numbers that make no training."""
        for option, value, least in (("--rank", 1 if self.rank is None else self.rank, 1), ("--batch", self.batch, 2)):
            if value < least:
                raise InputError(f"{option}: expected at least {least}, found {value}")
        for option, number in (("--epochs", self.epochs), ("--learning-rate", self.rate)):
            if not 0 < number <= 1000:
                raise InputError(f"{option}: expected a positive number, found {number:g}")
        if not 0 <= self.level <= 10:
            raise InputError(f"--level: expected 0 to 10, found {self.level:g}; 0.3 does some good, 0 leaves it out")

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
    begun: Path | None = None,
) -> dict[str, Any]:
    """Tunes the card's encoder on `sets` and writes `target`, whole or not at all; returns its card as plain data.

    Of eight states the one that finds most in `left_out` is kept, and of what LoRA changed the share that finds most
    there; without them the last one, and half. `licences` are those of sets, by name. `begun`: see `continued`.

    Raises InputError for a target, sets, an adapter or an encoder that do not fit, and where an interrupted tuning was
    another one; MissingExtraError without the train extra.
    """
    base = fetch(card, offline)
    file = base / base_weights(card)
    plan = plan_of(card, sets, left_out, tuning, begun)
    work = workplace(target, "tuning", "sets or options", resume, plan)
    trainer, versions = _trainer()
    before_it = None if begun is None else _begin(begun, card, base, left_out, tuning)
    model = trainer.load_base(base if before_it is None else before_it.merged)
    vectors = trainer.TorchVectors(model, encoder_of(card))
    exams = {each.name: Examination(each) for each in (*sets, *left_out)}
    before = _measure(exams, vectors)
    course, counts = _course(sets, vectors, card, tuning, work, trainer)
    trained = _trained(model, card, tuning, trainer)
    begin(work, plan)
    known = {each.name: exams[each.name] for each in left_out}
    curve = trainer.train(trained, course, lambda: _measure(known, vectors), resume)
    step = best_step(curve)
    best = trainer.kept(work, step)
    measure_share = partial(_measure_merged, known, base, card, trainer)
    shares = _shares(trained, best, before_it, measure_share) if known else {}
    share = _best_share(trained, shares)
    made = {
        "base": {"card": card.name, "file": file.name, "sha256": sha256_of(file), "licence": card.licence},
        **({} if before_it is None else {"from": before_it.told}),
        "recipe": _recipe(tuning, trainer),
        **_told_sets(sets, left_out, counts, licences or {}),
        "steps": len(course.batches),
        **{"step": step, "share": share, "shares": {str(share): found for share, found in shares.items()}},
        "curve": curve,
        "versions": versions,
    }

    def measure_tuned(folder: Path) -> Mapping[str, Any]:
        if trained.config is None:
            trained.load(folder / FULL)
            return _measure(exams, vectors)
        return _measure_merged(exams, base, card, trainer, folder)

    _write(target, best, _scaled(trained.config, share), before_it, made, before, measure_tuned)
    shutil.rmtree(work)
    return made


def _begin(begun: Path, card: Card, base: Path, left_out: Sequence[ToolSet], tuning: Tuning) -> Begun:
    before_it = begin_from(begun, card, base)
    _tell(before_it, begun, left_out, tuning)
    return before_it


def _measure_merged(
    exams: Mapping[str, Examination], base: Path, card: Card, trainer: Any, tuned: Path
) -> dict[str, dict[str, float]]:
    return _measure(exams, _merged(base, tuned, card, trainer))


def _told_sets(
    sets: Sequence[ToolSet], left_out: Sequence[ToolSet], counts: Mapping[str, int], licences: Mapping[str, str]
) -> Mapping[str, Any]:
    return {
        "sets": {each.name: _told(each, counts[each.name], licences) for each in sets},
        "left_out": {each.name: _told(each, 0, licences) for each in left_out},
    }


def _trainer() -> tuple[Any, Mapping[str, str]]:
    """What trains, and the versions of what it is made of. Raises MissingExtraError without the train extra."""
    try:
        versions = {"edgeret": edgeret.__version__, **{name: version(name) for name in LIBRARIES}}
        from edgeret_export.encoders import trainer
    except ImportError:
        raise MissingExtraError("edgeret-export[train]", "tuning an encoder") from None
    return trainer, versions


def _merged(base: Path, adapter: Path, card: Card, trainer: Any) -> Vectors:
    """The tuned encoder as a build makes it."""
    vectors: Vectors = trainer.TorchVectors(load_merged(base, adapter), encoder_of(card))
    return vectors


def _shares(
    trained: Any, kept: Path, begun: Begun | None, measure: Callable[[Path], dict[str, dict[str, float]]]
) -> dict[float, dict[str, dict[str, float]]]:
    """What `measure` finds in left-out sets, by how much of LoRA's change is taken; all weights are taken whole."""
    found = {}
    for share in SHARES if trained.config is not None else ():
        with tempfile.TemporaryDirectory() as folder:
            _write_weights(Path(folder), kept, _scaled(trained.config, share), begun)
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


def plan_of(
    card: Card, sets: Sequence[ToolSet], left_out: Sequence[ToolSet], tuning: Tuning, begun: Path | None = None
) -> str:
    """A hash of all that determines a tuning. Raises InputError for a folder `begun` without an adapter."""
    digest = hashlib.sha256(repr((sorted(card.files.items()), tuning)).encode())
    if tuning.level or begun is not None:
        adapter = None if begun is None else sha256_of(weights_of(begun))
        digest.update(repr((tuning.level, adapter)).encode())
    for each in (*sets, ToolSet("", (), ()), *left_out):
        digest.update(repr((each.name, tuple(each.tools), tuple(each.demonstrations))).encode())
    return digest.hexdigest()


def _tell(begun: Begun, folder: Path | None, left_out: Sequence[ToolSet], tuning: Tuning) -> None:
    """Says what spoils a tuning that goes on from an adapter, and does not show in its figures."""
    seen = begun.card.get("sets", {})
    for each in left_out:
        if each.name in seen:
            say(f"{each.name} is left out, but {folder} was tuned on a set of that name: its figures flatter")
    if tuning.rank is not None and tuning.rank < begun.config["r"]:
        say(f"{folder} has rank {begun.config['r']}, and what is written --rank {tuning.rank}; some of it is lost")


def _course(
    sets: Sequence[ToolSet], vectors: Vectors, card: Card, tuning: Tuning, work: Path, trainer: Any
) -> tuple[Any, dict[str, int]]:
    """The training on these sets, and how many pairs, or anchors with the second loss, each of them gave. Raises
    InputError if there is nothing to train on."""
    encoder, seed, centre = encoder_of(card), tuning.pairs.seed, None
    everything: list[Pair]
    if tuning.level:
        if encoder.centre is not None:
            asked = list(dict.fromkeys(d.query for each in sets for d in each.demonstrations))
            centre = vectors.queries(asked).mean(axis=0)
            vectors = Centred(vectors, centre)
        anchors = {each.name: make_anchors(each, vectors, tuning.pairs) for each in sets}
        counts = {name: len(found) for name, found in anchors.items()}
        told: list[Anchor] = [anchor for found in anchors.values() for anchor in found]
        solved = any(anchor.right for anchor in told)
        everything, batches = draw_anew(told, tuning.batch, tuning.epochs, seed) if solved else ([], [])
    else:
        pairs = {each.name: make_pairs(each, vectors, tuning.pairs) for each in sets}
        counts = {name: len(found) for name, found in pairs.items()}
        everything = [pair for found in pairs.values() for pair in found]
        batches = arrange(everything, tuning.batch, tuning.epochs, seed)
    if not batches:
        raise InputError("--set: no request that needs one tool and not another; give sets with more tools or plans")
    say(f"tuning on {sum(counts.values())} pairs of {len(sets)} sets in {len(batches)} steps")
    texts = [
        (encoder.query_prefix + pair.anchor, encoder.tool_prefix + pair.positive, encoder.tool_prefix + pair.negative)
        for pair in everything
    ]
    needed = [frozenset(encoder.tool_prefix + text for text in pair.needed) for pair in everything]
    return trainer.Course(texts, batches, tuning.rate, seed, work, tuning.level, needed, centre), counts


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
    begun: Begun | None,
    made: dict[str, Any],
    before: Mapping[str, Any],
    measure: Callable[[Path], Mapping[str, Any]],
) -> None:
    """Writes the folder, whole or not at all, and puts into `made` what is known by then: the weights' hash, and the
    figures, `before` and as `measure` finds them in the folder."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".partial") as temporary:
        folder = Path(temporary) / "adapter"
        folder.mkdir()
        file, part = _write_weights(folder, kept, config, begun)
        if part is not None:
            made["kept"] = round(part, 4)
        after = measure(folder)
        made["adapter"] = {"file": file.name, "sha256": sha256_of(file)}
        made["figures"] = {name: {"before": found, "after": after[name]} for name, found in before.items()}
        (folder / CARD).write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        draw(made, target.name, folder / PICTURE)
        folder.rename(target)


def _write_weights(
    folder: Path, kept: Path, config: Mapping[str, Any] | None, begun: Begun | None
) -> tuple[Path, float | None]:
    """Writes what was trained, LoRA matrices in fp16 with peft's settings, with what it was `begun` from added. Returns
    the file of the weights and, of a sum, what its rank keeps."""
    from safetensors.numpy import load_file, save_file

    if config is None:
        shutil.copyfile(kept, folder / FULL)
        return folder / FULL, None
    arrays, part = load_file(kept), None
    if begun is not None:
        arrays, config, part = begun.add(arrays, config)
    save_file({name: value.astype(np.float16) for name, value in arrays.items()}, folder / ADAPTER, {"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return folder / ADAPTER, part


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
        **({"level": tuning.level} if tuning.level else {}),
        "scale": trainer.SCALE,
        "max_tokens": trainer.MAX_TOKENS,
        "schedule": trainer.SCHEDULE,
        "warm_up": trainer.WARM_UP,
        "bf16": trainer.bf16_here(),
    }


def _told(each: ToolSet, pairs: int, licences: Mapping[str, str]) -> dict[str, Any]:
    counts = {"tools": len(each.tools), "requests": len(each.demonstrations)}
    return {**counts, **({"pairs": pairs} if pairs else {}), "licence": licences.get(each.name)}
