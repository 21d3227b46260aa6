"""Tools that come and go: a bundle's components with other tools, arranged anew without a build. Knows nothing of
decisions and of what was learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array
from edgeret.bundle.overlay import Record
from edgeret.errors import BundleError, InputError
from edgeret.fields import get, get_strings
from edgeret.inputs.tool_examples import check_examples
from edgeret.inputs.tool_text import USUAL, tool_text
from edgeret.inputs.tools import check_tools, stored_tool
from edgeret.quoting import quoted, suggestion
from edgeret.records import dataclass
from edgeret.runtime.components import Components
from edgeret.runtime.learning import senseless
from edgeret.runtime.shown import encode_examples, examples_at, texts_of, with_examples
from edgeret.scoring.calibration import Calibration, CalibrationParameters
from edgeret.scoring.index import Index
from edgeret.types import Tool

CHANGE = "tools"
"""The kind of an overlay's records that hold a change of tools."""


def changed(
    components: Components,
    add: Sequence[Tool],
    remove: Collection[str],
    substitute: Sequence[Tool],
    vectors: NDArray[np.float32] | None = None,
    shown: NDArray[np.float32] | None = None,
) -> Components:
    """The components with tools added, removed and replaced by others of the same name. `vectors` are those of what is
    added and replaced, in this order, float32 (tools, dimension), and `shown` those of their examples, float32
    (examples, dimension); None has them encoded.

    An HNSW graph knows only the tools that it was built of, so without those every search is exact. Raises InputError
    for names that are there already, or not there; and if no tool would be left.
    """
    old = components.tools
    _check(old, add, remove, substitute)
    fresh = [*add, *substitute]
    if vectors is None:
        told = components.manifest.info.get(roles.INFO_RECIPE)
        form = str(told.get("tool_text", USUAL)) if isinstance(told, dict) else USUAL
        vectors = components.encoder.encode_tools([tool_text(tool, form) for tool in fresh])
    if shown is None:
        shown = encode_examples(fresh, components.encoder)
    gone, other = set(remove), {tool.name: i for i, tool in enumerate(substitute, len(add))}
    names = [name for name in components.index.names if name not in gone]
    at = {name: i for i, name in enumerate(components.index.names)}
    kept = components.index.vectors[np.array([at[name] for name in names], np.intp)]
    for i, name in enumerate(names):
        if name in other:
            kept[i] = vectors[other[name]]
    tools = {name: substitute[other[name] - len(add)] if name in other else old[name] for name in names}
    tools |= {tool.name: tool for tool in add}
    every = (*names, *(tool.name for tool in add))
    examples = with_examples(components.index, every, fresh, shown)
    index = Index(every, np.concatenate((kept, vectors[: len(add)])), None, examples)
    cascade = components.cascade
    if cascade is not None:
        cascade = replace(cascade, components=changed(cascade.components, add, remove, substitute))
    return replace(components, tools=MappingProxyType(tools), index=index, cascade=cascade, words=None)


def unlike(
    old: Mapping[str, Tool], add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]
) -> tuple[Sequence[Tool], Sequence[Tool]]:
    """What of `add` and `substitute` is not there as it is given, so an assistant may add its own at every start. What
    is removed is not there either, and may come back at once."""

    def is_new(tool: Tool) -> bool:
        name = getattr(tool, "name", "")
        return name in remove or old.get(name) != tool

    return list(filter(is_new, add)), list(filter(is_new, substitute))


def instead(components: Components, tools: Sequence[Tool]) -> Components:
    """The components for other tools altogether: only the encoder and the prior serve them. Raises InputError."""
    bare = replace(
        components,
        graph=None,
        head=None,
        memory=None,
        familiarity=components.familiarity.without_demonstrations(),
        calibration=Calibration(
            replace(
                CalibrationParameters(),
                calibration_map=components.calibration.prior_map,
                prior_map=components.calibration.prior_map,
            ),
            components.calibration.risk,
        ),
        tools=MappingProxyType({}),
        index=Index((), np.zeros((0, components.encoder.spec.dimension), np.float32)),
        cascade=None,
        words=None,
    )
    return changed(bare, tools, (), ())


def recorded(
    components: Components, add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]
) -> tuple[str, dict[str, Any]]:
    """A change as an overlay keeps it: its kind, and the tools with their vectors, of the components after it."""
    at = {name: i for i, name in enumerate(components.index.names)}
    fresh = [*add, *substitute]
    return CHANGE, {
        "added": [tool.to_dict() for tool in add],
        "removed": list(remove),
        "replaced": [tool.to_dict() for tool in substitute],
        "vectors": components.index.vectors[np.array([at[tool.name] for tool in fresh], np.intp)],
        "examples": examples_at(components.index, [at[tool.name] for tool in fresh]),
    }


def replayed(components: Components, records: Sequence[Record], where: str) -> Components:
    """The components after the changes that an overlay holds. Raises OverlayError for changes that make no sense, for
    instance to a bundle with other tools."""
    for record in records:
        if record.kind != CHANGE:
            continue
        try:
            parts = {key: get(dict(record.value), key, list, where) for key in ("added", "replaced")}
            add, substitute = ([stored_tool(entry, where) for entry in parts[key]] for key in ("added", "replaced"))
            shape = (len(add) + len(substitute), components.encoder.spec.dimension)
            vectors = get_array(record.value, "vectors", "<f4", shape, where)
            if not np.allclose(np.einsum("ij,ij->i", vectors, vectors), 1, atol=1e-2):
                raise BundleError(f"{where}: vectors of tools that are not of length 1")
            n = len(texts_of([*add, *substitute]))
            shown = get_array(record.value, "examples", "<f4", (n, components.encoder.spec.dimension), where)
            if not np.allclose(np.einsum("ij,ij->i", shown, shown), 1, atol=1e-2):
                raise BundleError(f"{where}: vectors of examples that are not of length 1")
            removed = get_strings(dict(record.value), "removed", where)
            components = changed(components, add, removed, substitute, vectors, shown)
        except (BundleError, InputError) as error:
            raise senseless(error, where) from None
    return components


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of tools that changed, from a bundle's to those of today, sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    replaced: tuple[str, ...]


def summed(records: Sequence[Record]) -> Changes:
    """All changes that an overlay holds as one. Takes records as they are: `replayed` is what checks them."""
    added: set[str] = set()
    removed: set[str] = set()
    replaced: set[str] = set()
    for record in records:
        if record.kind != CHANGE:
            continue
        for name in record.value["removed"]:
            if name not in added:
                removed.add(name)
            added.discard(name)
            replaced.discard(name)
        for tool in record.value["added"]:
            (replaced if tool["name"] in removed else added).add(tool["name"])
            removed.discard(tool["name"])
        replaced |= {tool["name"] for tool in record.value["replaced"]} - added
    return Changes(*(tuple(sorted(names)) for names in (added, removed, replaced)))


def _check(old: Mapping[str, Tool], add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]) -> None:
    if isinstance(remove, str):
        raise InputError("remove must be a list of tools' names, found text")
    for kind, given in (("add", add), ("replace", substitute)):
        if not all(isinstance(tool, Tool) for tool in given):
            raise InputError(f"{kind} must be a list of edgeret.Tool, as edgeret.read_tools gives them")
        for i, tool in enumerate(given, 1):
            check_examples(tool.examples, tool.name, f"{kind}, item {i}")
        if given:
            check_tools([(f"{kind}, item {i}", tool) for i, tool in enumerate(given, 1)], kind)
    for name in remove:
        _known(name, old, "remove")
    for tool in substitute:
        _known(tool.name, old, "replace")
    for tool in add:
        if tool.name in old and tool.name not in remove:
            raise InputError(f"{quoted(tool.name)} is among the tools already; replace it instead of adding it")
    both = set(remove) & {tool.name for tool in substitute}
    if both:
        raise InputError(f"{quoted(min(both))} is to be removed and replaced; choose one")
    if len(old) + len(add) - len(set(remove)) < 1:
        raise InputError("no tool would be left; keep or add at least one")


def _known(name: object, old: Mapping[str, Tool], kind: str) -> None:
    if not isinstance(name, str) or name not in old:
        shown = quoted(name) if isinstance(name, str) else type(name).__name__
        near = suggestion(name, old) if isinstance(name, str) else ""
        raise InputError(f"{kind}: unknown tool {shown}; list the tools with: edgeret inspect{near}")
