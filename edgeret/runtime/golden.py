"""Golden vectors and golden decisions: what the build host computed and decided, done again on this device. Knows
nothing of where bundles lie, and repairs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array
from edgeret.encoders.base import MIN_COSINE, EncoderSpec
from edgeret.errors import BundleError, EdgeretError
from edgeret.fields import get, get_number, get_strings
from edgeret.inputs.query import check_query
from edgeret.quoting import quoted
from edgeret.records import dataclass
from edgeret.runtime.learned_plan import MAX_CALLS
from edgeret.runtime.loaded import load_bundle
from edgeret.runtime.options import Profile
from edgeret.runtime.runtime import Runtime
from edgeret.types import END

MAX_GOLDEN = 16
"""Queries with vectors, and decisions, that a stage may have; `doctor` pays for each."""
NEAR, TOLERANCE = 0.999, 0.05
"""Where a device's vectors are as near as NEAR to the build host's, all decisions must be the same, and probabilities
within TOLERANCE: those of real bundles moved by 0.011 at a cosine of 0.9999."""
SHARE, TOLERANCE_FURTHER = 0.75, 0.25
"""How many must be the same, and how nearly, where vectors are further away, as those of int8 are on another kind of
CPU: at the least cosine that passes, 0.98, three of a hundred tools were others. Of other heads', most are."""


@dataclass(frozen=True, slots=True)
class GoldenDecision:
    """What policy "heads" decided where the bundle was built, by one encoder and its heads, nothing learned: the `tool`
    (or `<end>`: before any call, that nothing fits) behind the calls of `history`, and its probability."""

    query: str
    history: tuple[str, ...]
    tool: str
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """The decision as the manifest keeps it (docs/FORMAT.md, section 3)."""
        return {
            "query": self.query,
            "history": list(self.history),
            "tool": self.tool,
            "probability": self.probability,
        }


def stages(runtime: Runtime) -> list[tuple[str, Runtime]]:
    """The bundle of a runtime as it was built, whatever was learned and changed since, by each encoder alone; and what
    is behind a check's name where it is not the bundle's own. Raises as loading does, should the folder hold another
    bundle by now."""
    loaded = runtime.loaded.whole or runtime.loaded
    two = loaded.core.stages > 1
    profiles: Sequence[tuple[str, Profile]] = (
        (("", "full"), (", table", "tiny")) if two else (("", loaded.options.profile),)
    )
    if not two and loaded is runtime.loaded and not loaded.anything_learned:
        return [("", runtime)]
    options = replace(loaded.options, content_hash=loaded.bundle_hash or loaded.options.content_hash)
    return [(name, Runtime(load_bundle(loaded.path, replace(options, profile=each)))) for name, each in profiles]


def golden_checks(runtime: Runtime) -> list[dict[str, Any]]:
    """The checks of vectors and of decisions, each `{"name", "ok", "detail"}`. Raises BundleError for what makes no
    sense."""
    vectors, decisions = [], []
    for name, stage in stages(runtime):
        cosines = golden_cosines(stage)
        vectors.append(_vectors(f"golden vectors{name}", stage, cosines))
        decisions.append(_decisions(f"golden decisions{name}", stage, cosines))
    return vectors + decisions


def golden_queries(runtime: Runtime) -> tuple[str, ...]:
    """Queries whose vectors travel in the bundle. Raises BundleError."""
    if roles.INFO_GOLDEN not in runtime.manifest.info:
        return ()
    where = f"{runtime.path} (golden)"
    queries = get_strings(get(runtime.manifest.info, roles.INFO_GOLDEN, dict, where), "queries", where)
    _check_count(len(queries), "queries", where)
    return tuple(check_query(query, where) for query in queries)


def golden_cosines(runtime: Runtime) -> list[float]:
    """Cosines of this device's vectors to the build host's, one a golden query. Raises BundleError."""
    queries = golden_queries(runtime)
    if not queries:
        return []
    where = f"{runtime.path} (golden)"
    shape = (len(queries), runtime.loaded.spec.dimension)
    vectors = get_array(get(runtime.manifest.info, roles.INFO_GOLDEN, dict, where), "vectors", "<f4", shape, where)
    return [float(runtime.loaded.core.encode(q) @ v) for q, v in zip(queries, vectors, strict=True)]


def golden_decisions(runtime: Runtime) -> tuple[GoldenDecision, ...]:
    """What the bundle says that it decides, none where it says nothing. Raises BundleError."""
    if roles.INFO_DECISIONS not in runtime.manifest.info:
        return ()
    where = f"{runtime.path} ({roles.INFO_DECISIONS})"
    listed = get(runtime.manifest.info, roles.INFO_DECISIONS, list, where)
    _check_count(len(listed), "decisions", where)
    return tuple(_decision(value, where) for value in listed)


def decide_again(runtime: Runtime, query: str, history: Sequence[str]) -> tuple[GoldenDecision, float]:
    """What a runtime of one stage decides that has learned nothing, and by how much the second candidate is less
    probable. No planner is asked. Raises InputError."""
    best, *others = runtime.task(query, history).next(policy="heads", k=2).candidates
    found = GoldenDecision(query, tuple(history), best.tool, round(best.probability, 6))
    return found, best.probability - (others[0].probability if others else 0.0)


def _vectors(name: str, runtime: Runtime, cosines: Sequence[float]) -> dict[str, Any]:
    if not cosines:
        return _check(name, True, "none in this bundle, so there is nothing to compare with")
    # What runs may be a variant; its vectors can be no nearer to the golden ones than both graphs are to the original.
    specs = runtime.loaded.spec, EncoderSpec.of(runtime.manifest.info, name)
    floor = min(MIN_COSINE[spec.precision] for spec in specs)
    worst = min(cosines)
    detail = f"cosine to the build host's vectors at least {worst:.5f} over {len(cosines)} queries, {floor} needed"
    if not worst >= floor:
        detail += "; this CPU computes other vectors: build a bundle here, or with --precision fp32"
    return _check(name, bool(np.isfinite(worst)) and worst >= floor, detail)


def _decisions(name: str, runtime: Runtime, cosines: Sequence[float]) -> dict[str, Any]:
    golden = golden_decisions(runtime)
    if not golden:
        return _check(name, True, "none in this bundle, so only its vectors are compared; build it again to have some")
    needed, tolerance = (1.0, TOLERANCE) if min(cosines, default=1.0) >= NEAR else (SHARE, TOLERANCE_FURTHER)
    furthest, others = 0.0, []
    for wanted in golden:
        try:
            found = decide_again(runtime, wanted.query, wanted.history)[0]
        except EdgeretError as error:
            return _check(name, False, f"{quoted(wanted.query)}: {error}")
        apart = abs(found.probability - wanted.probability)
        furthest = max(furthest, apart)
        if found.tool != wanted.tool or not apart <= tolerance:
            behind = f" behind {', '.join(wanted.history)}" if wanted.history else ""
            told = f"{quoted(wanted.query)}{behind}: expected {wanted.tool} ({wanted.probability:.3f}), "
            others.append(f"{told}found {found.tool} ({found.probability:.3f})")
    same = len(golden) - len(others)
    detail = f"{same} of {len(golden)} as they were built, probabilities within {furthest:.4f}"
    if same < needed * len(golden):
        return _check(name, False, f"{detail}; {others[0]}; build the bundle again")
    return _check(name, True, detail)


def _decision(value: Any, where: str) -> GoldenDecision:
    if not isinstance(value, dict):
        raise BundleError(f"{where}: a decision is not a map; build the bundle again")
    history, probability = get_strings(value, "history", where), get_number(value, "probability", 0, 1, where)
    if len(history) > MAX_CALLS or END in history:
        raise BundleError(f"{where}: a decision that nobody can make; build the bundle again")
    query = check_query(get(value, "query", str, where), where)
    return GoldenDecision(query, history, get(value, "tool", str, where), probability)


def _check_count(count: int, what: str, where: str) -> None:
    if count > MAX_GOLDEN:
        raise BundleError(f"{where}: {count} {what}, at most {MAX_GOLDEN} are allowed; build the bundle again")


def _check(name: str, ok: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "ok": ok, "detail": detail}
