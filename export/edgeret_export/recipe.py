"""What a build may be told, with defaults that were measured; a TOML file overrides them by name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.index_form import CROSSOVER, STORED_AS, StoredAs
from edgeret.encoders.base import PRECISIONS
from edgeret.encoders.variants import TARGETS
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.inputs.tool_text import FORMS
from edgeret.runtime.options import PROFILES
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.reference.scoring.calibration import RISKS
from edgeret_export.reference.scoring.graph import GraphOptions

_HEAD = HeadOptions()
AUTO = "auto"
PRECISION_CHOICES = (AUTO, *PRECISIONS)


@dataclass(frozen=True, slots=True)
class Recipe:
    """All knobs of a build.

    `precision`: "auto" is int8 where that passes the parity gate, and fp32 elsewhere. `order`: longest context of the
    graph. `history_scale`, `label_smoothing`: see `HeadOptions`. `tool_text`: what stands for
    a tool (see `edgeret.inputs.tool_text`). `hnsw_from`: tools from which an HNSW graph is built. `index_vectors`: how
    the index keeps vectors, "int8" in a quarter of the bytes. `planner_questions`: held-out decisions that a planner is
    asked about, to find what its advice is worth. `profile`: "tiny" puts a table of token vectors in the full encoder's
    place, "full" has none, "default" decides by it where it is sure enough.
    `targets`: hardware that the encoder gets graphs for, of cpu, gpu, npu and mobile with commas between; none is what
    this machine's CPU runs best. `npu_tokens`: lengths of text that those for NPUs are made for. `risk`: the share of
    answers that may be wrong where a caller names none; 0 for a tenth, as far as that costs few right ones.
    """

    precision: str = AUTO
    seed: int = 0
    order: int = GraphOptions().order
    history_scale: float = _HEAD.history_scale
    label_smoothing: float = _HEAD.label_smoothing
    tool_text: str = "name+description"
    hnsw_from: int = CROSSOVER
    index_vectors: str = STORED_AS[0]
    planner_questions: int = 120
    profile: str = "default"
    targets: str = ""
    npu_tokens: str = "32,128"
    risk: float = 0.0

    @property
    def target_names(self) -> tuple[str, ...]:
        """The targets, each once."""
        return tuple(dict.fromkeys(name.strip() for name in self.targets.split(",") if name.strip()))

    @property
    def npu_lengths(self) -> tuple[int, ...]:
        """Lengths of text that graphs for NPUs are made for, in tokens."""
        return tuple(sorted({int(text) for text in self.npu_tokens.split(",")}))

    @property
    def stored_as(self) -> StoredAs:
        """How the index keeps vectors."""
        return "int8" if self.index_vectors == "int8" else "fp32"

    @property
    def head_options(self) -> HeadOptions:
        """What the head is fitted with."""
        return HeadOptions(history_scale=self.history_scale, label_smoothing=self.label_smoothing)


def recipe_of(info: Mapping[str, Any], where: str) -> Recipe:
    """What a bundle says that it was built with; keys of a later release are left out. Raises BundleError."""
    told = get(info, roles.INFO_RECIPE, dict, where)
    try:
        return _override(Recipe(), {f.name: told[f.name] for f in fields(Recipe) if f.name in told}, where)
    except InputError as error:
        raise BundleError(f"{error}; build the bundle again") from None


def read_recipe(path: str | Path | None, **overrides: Any) -> Recipe:
    """The defaults, overridden by the file (if any), overridden by what is not None. Raises InputError."""
    recipe = Recipe()
    if path is not None:
        try:
            value = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); expected a recipe in TOML") from None
        except ValueError as error:
            raise InputError(f"{path}: not TOML ({error})") from None
        recipe = _override(recipe, value, str(path))
    return _override(recipe, {k: v for k, v in overrides.items() if v is not None}, "the command line")


def _override(recipe: Recipe, value: dict[str, Any], where: str) -> Recipe:
    known = {f.name: type(getattr(recipe, f.name)) for f in fields(recipe)}
    for key, found in value.items():
        if key not in known:
            raise InputError(f'{where}: unknown recipe key "{key}"; known: {", ".join(known)}')
        accepted = (int, float) if known[key] is float else (known[key],)
        if type(found) not in accepted:
            raise InputError(f'{where}: "{key}" must be a {known[key].__name__}, found {found!r}')
    recipe = replace(recipe, **value)
    problems = {
        "precision": (recipe.precision in PRECISION_CHOICES, f"one of {', '.join(PRECISION_CHOICES)}"),
        "tool_text": (recipe.tool_text in FORMS, f"one of {', '.join(FORMS)}"),
        "order": (1 <= recipe.order <= 8, "between 1 and 8"),
        "seed": (0 <= recipe.seed < 2**31, "between 0 and 2147483647"),
        "history_scale": (0 < recipe.history_scale < 1e3, "above 0 and below 1000"),
        "label_smoothing": (0 <= recipe.label_smoothing < 1, "at least 0 and below 1"),
        "index_vectors": (recipe.index_vectors in STORED_AS, f"one of {', '.join(STORED_AS)}"),
        "hnsw_from": (recipe.hnsw_from > 0, "above 0"),
        "profile": (recipe.profile in PROFILES, f"one of {', '.join(PROFILES)}"),
        "targets": (set(recipe.target_names) <= set(TARGETS), f"some of {', '.join(TARGETS)}, with commas between"),
        "npu_tokens": (
            _lengths(recipe.npu_tokens),
            f"some of {', '.join(map(str, roles.NPU_TOKENS))}, with commas between",
        ),
        "risk": (recipe.risk == 0 or RISKS[0] <= recipe.risk <= RISKS[-1], f"0, or {RISKS[0]:g} to {RISKS[-1]:g}"),
        "planner_questions": (0 <= recipe.planner_questions <= 100_000, "between 0 and 100000"),
    }
    if recipe.profile == "tiny" and recipe.targets:
        raise InputError(f"{where}: a tiny bundle has no encoder to make for targets; leave out either")
    for key, (fine, allowed) in problems.items():
        if not fine:
            raise InputError(f'{where}: "{key}" must be {allowed}, found {getattr(recipe, key)!r}')
    return recipe


def _lengths(text: str) -> bool:
    parts = [part.strip() for part in text.split(",")]
    return all(part.isdecimal() and int(part) in roles.NPU_TOKENS for part in parts)
