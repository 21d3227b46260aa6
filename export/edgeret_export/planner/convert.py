"""Weights to a quantised GGUF with a planner's card beside it: the order of the work, and what is written in the end.

Looked at and laid out by `weights`, converted by llama.cpp's own scripts in a process of their own, quantised by
`quantise`, and compared with the model before by `gguf_parity`. Nothing appears unless everything succeeded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edgeret.errors import CheckFailedError, InputError, MissingExtraError
from edgeret.host import available_cpus
from edgeret.planner.model import Planner
from edgeret.planner.spec import PlannerSpec
from edgeret.terminal.console import check_place
from edgeret.terminal.progress import say
from edgeret_export.planner.gguf_limits import Limits
from edgeret_export.planner.gguf_parity import Answers, Examination, ask, compare, problems
from edgeret_export.planner.quantise import quantise
from edgeret_export.planner.weights import About, Weights, check_adapter, lay_out, metadata
from edgeret_export.sources.converter import ADAPTER_SCRIPT, WEIGHTS_SCRIPT, converter_folder
from edgeret_export.sources.fetch import sha256_of

_NEEDED = ("gguf", "sentencepiece", "llama_cpp", "torch", "transformers")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.gguf")


@dataclass(frozen=True, slots=True)
class Order:
    """What is converted, to which type, how it will be asked, and which files hold its licence's text. The adapter is
    merged, or converted to a file of its own where it is to lie `beside`."""

    weights: Weights
    about: About
    kind: str
    spec: PlannerSpec
    licence_files: tuple[Path, ...] = ()
    adapter: Path | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """What both models are asked, what quantising may cost, and texts that say which columns count (none: all)."""

    examined: Examination
    limits: Limits
    weighed_by: tuple[str, ...] = ()


def check_target(target: Path) -> None:
    """Raises InputError for a GGUF's place that is taken, or whose name is none."""
    if not _FILE.fullmatch(target.name):
        raise InputError(f"{target}: expected a name like model-q8_0.gguf: letters, digits, dots, dashes, underscores")
    check_place(target, "-o")
    for file in (target, target.with_suffix(".toml")):
        if file.exists() or file.is_symlink():
            raise InputError(f"{file}: exists already; remove it, or choose another name with -o")


def check_modules() -> None:
    """Raises MissingExtraError where a library is not installed that conversion needs."""
    if any(find_spec(module) is None for module in _NEEDED):
        raise MissingExtraError("edgeret-export[gguf]", "converting a planner")


def convert(order: Order, target: Path, trial: Trial, offline: bool = False) -> dict[str, Any]:
    """Writes the GGUF `target`, its card (TOML) and its licence beside it; returns what was measured and the files.

    Raises InputError for weights or places that do not fit, PlannerError where llama.cpp refuses, CheckFailedError
    where more is lost than the trial's limits allow, MissingExtraError without the extra `gguf`.
    """
    check_target(target)
    check_modules()
    scripts = converter_folder(offline)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.stem}.", suffix=".partial") as temporary:
        work = Path(temporary)
        laid, whole, small = work / "weights", work / "whole.gguf", work / target.name
        lay_out(order.weights, None if order.beside else order.adapter, laid, order.about)
        say(f"converting {order.about.name} ({order.weights.architecture})")
        told = work / "metadata.json"
        told.write_text(json.dumps(metadata(order.about)), encoding="utf-8")
        _run(scripts / WEIGHTS_SCRIPT, [laid, "--outtype", "auto", "--outfile", whole, "--metadata", told], order)
        before = _asked(whole, order, trial, "before")
        quantise(whole, small, order.kind, _importance(order, laid, trial.weighed_by))
        after = _asked(small, order, trial, order.kind)
        measured = {
            "type": order.kind,
            "bytes_before": whole.stat().st_size,
            "bytes": small.stat().st_size,
            "importance_matrix": bool(trial.weighed_by),
            **compare(trial.examined, before, after, trial.limits),
        }
        whole.unlink()
        if why := problems(measured, trial.limits):
            raise CheckFailedError(
                f"{order.kind} of {order.about.name}: {'; '.join(why)}. Nothing was written. Take a type with more "
                "bits by --quantize, or allow more by --max-perplexity and --min-kept"
            )
        made = {target.name: small}
        if order.beside:
            made[f"{target.stem}.adapter.gguf"] = _adapter(scripts, order, laid, work)
        for file in order.licence_files:
            made[f"{target.stem}.{file.name}"] = shutil.copyfile(file, work / f"licence-{len(made)}")
        card = work / "card.toml"
        card.write_text(_card(order, target, made, measured), encoding="utf-8")
        _place({**made, target.with_suffix(".toml").name: card}, target.parent)
    return {"gguf": str(target), "card": str(target.with_suffix(".toml")), "files": sorted(made), "measured": measured}


def _importance(order: Order, laid: Path, texts: Sequence[str]) -> Mapping[str, Any] | None:
    if not texts:
        return None
    from edgeret_export.planner.importance import measure

    return measure(laid, order.weights.architecture, texts)


def _asked(file: Path, order: Order, trial: Trial, what: str) -> Answers:
    planner = Planner(file, order.spec, available_cpus(), name=f"{order.about.name} ({what})")
    return ask(planner, trial.examined, what)


def _adapter(scripts: Path, order: Order, laid: Path, work: Path) -> Path:
    assert order.adapter is not None
    made = work / "adapter.gguf"
    adapter = check_adapter(order.adapter).resolve()
    _run(scripts / ADAPTER_SCRIPT, ["--base", laid, "--outtype", "f16", "--outfile", made, adapter], order)
    return made


def _run(script: Path, arguments: Sequence[str | Path], order: Order) -> None:
    """A script of the converter's, which imports a `gguf` of its own, reads no network and writes nothing beside
    itself. Raises InputError with its last words."""
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_LOCAL_GGUF", "PYTHONSAFEPATH")}
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, check=False)
    if done.returncode:
        last = next((line.strip() for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        raise InputError(f"{order.weights.folder}: llama.cpp's converter refuses this model ({last[:300]})")


def _place(made: Mapping[str, Path], folder: Path) -> None:
    """Moves the files to where they belong, the card last; none of them stays where one cannot be placed."""
    placed: list[Path] = []
    try:
        for name, file in made.items():
            file.rename(folder / name)
            placed.append(folder / name)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another place with -o") from None
    finally:
        if len(placed) < len(made):
            for target in placed:
                target.unlink(missing_ok=True)


def _card(order: Order, target: Path, made: Mapping[str, Path], measured: Mapping[str, Any]) -> str:
    """The card, which `build --planner` takes, as TOML."""
    licences = [f"{target.stem}.{file.name}" for file in order.licence_files]
    about, beside = order.about, f"{target.stem}.adapter.gguf"
    top = {
        "name": re.sub(r"[^a-z0-9._-]", "-", target.stem.lower()),
        "kind": "planner",
        "summary": f"{about.name}, {order.kind}",
        "licence": about.licence,
        "sources": ["path:."],
    }
    planner = {
        "file": target.name,
        "chat": order.spec.chat,
        "context": order.spec.context,
        "licence_files": licences,
        "made_from": about.source if about.base_model is None else f"{about.source}, based on {about.base_model}",
    }
    hashes = {name: sha256_of(file) for name, file in made.items() if name != beside}
    return "\n".join(
        (*_table(top), "", "[planner]", *_table(planner), "", "[measured]", *_table(measured), "", "[files]",
         *_table(hashes), "")
    )  # fmt: skip


def _table(values: Mapping[str, Any]) -> list[str]:
    """TOML of strings, numbers, flags and lists of strings, which it writes as JSON does."""

    def written(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    return [f"{written(key) if '.' in key else key} = {written(value)}" for key, value in values.items()]
