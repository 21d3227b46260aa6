"""What a caller can ask for, checked once, at the door, into small values. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from edgeret.encoders.base import MAX_TOKENS
from edgeret.errors import InputError
from edgeret.planner.prompts import MASKINGS, Masking
from edgeret.quoting import quoted
from edgeret.records import dataclass
from edgeret.types import IndexKind

Policy = Literal["auto", "heads", "planner"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
Weighted = Literal["auto", "yes", "no"]
COVERAGE = 0.95
MAX_ASKED = 16
"""Candidates that the planner is asked about at most; more cost a second and help no planner."""
Profile = Literal["tiny", "default", "full"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
INDEX_KINDS: tuple[IndexKind, ...] = get_args(IndexKind)
LEAST_RISK, MOST_RISK = 0.005, 0.5
LOSS = 0.005
"""Of accuracy, that deciding without the full encoder may cost."""
MAX_THREADS, MAX_LAYERS = 4096, 1 << 20
LEAST_KEY, MOST_KEY = 16, 1024
"""Bytes of a device's secret."""
MAX_NUMBER = 1e300
"""Beyond, a number is no option; Python's own can be too long to be written."""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What a planner's prompt shows: see `Task.prompt`."""

    masking: Masking = "hard"
    weighted: Weighted = "auto"
    coverage: float = COVERAGE

    def __post_init__(self) -> None:
        """Raises InputError for what is out of range."""
        _choice("masking", self.masking, MASKINGS)
        _choice("weighted", self.weighted, get_args(Weighted))
        if not 0 < _number("coverage", self.coverage) < 1:
            raise InputError(f"coverage must lie between 0 and 1, found {self.coverage}")


@dataclass(frozen=True, slots=True)
class DecideOptions(PromptOptions):
    """How a decision is made: see `Task.next`."""

    policy: Policy = "auto"
    k: int | None = 10
    min_probability: float | None = None
    risk: float | None = None
    budget_ms: float | None = None

    def __post_init__(self) -> None:
        """Raises InputError for what is out of range."""
        PromptOptions.__post_init__(self)
        _choice("policy", self.policy, POLICIES)
        check_count("k", self.k, optional=True)
        if self.min_probability is not None and not 0 <= _number("min_probability", self.min_probability) <= 1:
            raise InputError(f"min_probability must lie between 0 and 1, found {self.min_probability}")
        check_risk(self.risk)
        if self.risk is not None and self.min_probability is not None:
            raise InputError("min_probability and risk both say how probable an answer must be; name one of them")
        check_budget(self.budget_ms)


checked_before = lru_cache(maxsize=64, typed=True)(DecideOptions)  # typed, or True would be taken for a 1 before it
"""The options of a decision, which are the same at most steps, and then not checked again. Raises TypeError for what
cannot be hashed."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a bundle is loaded: see `edgeret.load`."""

    providers: str | Sequence[str] = ("cpu",)
    allow_fallback: bool = False
    provider_options: Mapping[str, Mapping[str, Any]] | None = None
    threads: int | None = None
    static_tokens: int | None = None
    gpu_layers: int = 0
    state_folder: str | Path | None = None
    content_hash: str | None = None
    index: IndexKind = "auto"
    overlay: str | Path | bool | None = False
    profile: Profile = "default"
    loss: float = LOSS
    risk: float | None = None
    target: str | None = None
    trust: Any = None
    overlay_key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Raises InputError for what is out of range; which providers there are is ONNX Runtime's to say."""
        names = (self.providers,) if isinstance(self.providers, str) else self.providers
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise InputError(f"providers must be names such as 'cpu', found {_shown(self.providers)}")
        options = {} if self.provider_options is None else self.provider_options
        sound = isinstance(options, Mapping) and all(isinstance(name, str) for name in options)
        if not sound or not all(isinstance(value, Mapping) for value in options.values()):
            raise InputError("provider_options must be a mapping from a provider's name to its options")
        if not isinstance(self.allow_fallback, bool):
            raise InputError(f"allow_fallback must be True or False, found {_shown(self.allow_fallback)}")
        check_count("threads", self.threads, MAX_THREADS, optional=True)
        check_count("static_tokens", self.static_tokens, MAX_TOKENS, optional=True)
        if type(self.gpu_layers) is not int or not -1 <= self.gpu_layers <= MAX_LAYERS:
            raise InputError(f"gpu_layers must be a whole number from -1 (all layers), found {_shown(self.gpu_layers)}")
        if self.state_folder is not None:
            check_path("state_folder", self.state_folder)
        if self.content_hash is not None and not isinstance(self.content_hash, str):
            raise InputError(f"content_hash must be hexadecimal digits, found {_shown(self.content_hash)}")
        _choice("index", self.index, INDEX_KINDS)
        _choice("profile", self.profile, PROFILES)
        if self.target is not None and not isinstance(self.target, str):
            raise InputError(f"target must be a name such as 'cpu', found {_shown(self.target)}")
        if not 0 <= _number("loss", self.loss) <= 1:
            raise InputError(f"loss must lie between 0 and 1, found {self.loss}")
        check_risk(self.risk)
        if not isinstance(self.overlay, bool | None):
            check_path("overlay", self.overlay)
        check_key(self.overlay_key)


def check_key(key: object) -> None:
    """Raises InputError unless this is None or can be a device's secret."""
    if key is not None and (not isinstance(key, bytes) or not LEAST_KEY <= len(key) <= MOST_KEY):
        found = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InputError(
            f"overlay_key must be {LEAST_KEY} to {MOST_KEY} bytes that only this device knows, found {found}"
        )


def check_budget(budget_ms: object) -> None:
    """Raises InputError unless this is None or a time."""
    if budget_ms is not None and not _number("budget_ms", budget_ms) > 0:
        raise InputError(f"budget_ms must be a number above 0, or None for no bound, found {_shown(budget_ms)}")


def check_risk(risk: object) -> None:
    """Raises InputError unless this is None or a share of answers that may be wrong."""
    if risk is not None and not LEAST_RISK <= _number("risk", risk) <= MOST_RISK:
        raise InputError(f"risk must lie between {LEAST_RISK:g} and {MOST_RISK:g}, found {risk}")


def check_count(name: str, value: object, most: int | None = None, *, optional: bool = False) -> None:
    """Raises InputError unless the value is a whole number from 1 to `most`, or None where that is `optional`."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, found {_shown(value)}")
    if value < 1 or (most is not None and value > most):
        bound = "" if most is None else f" and at most {most}"
        raise InputError(f"{name} must be at least 1{bound}, found {_shown(value)}")


def check_path(name: str, value: object) -> None:
    """Raises InputError unless the value can be a path."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InputError(f"{name} must be a path, found {_shown(value)}")


def _choice(name: str, value: object, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {name} {_shown(value)}; choose one of {', '.join(known)}")


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not -MAX_NUMBER < value < MAX_NUMBER:
        raise InputError(f"{name} must be a number, found {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """The value itself where it is short and plain, else what it is."""
    if isinstance(value, str):
        return quoted(value)
    plain = isinstance(value, float | None) or (isinstance(value, int) and abs(value) < MAX_NUMBER)
    return str(value) if plain else type(value).__name__
