"""Tools that come and go, where Python decides: a bundle's components with other tools, arranged anew without a build.
Knows nothing of decisions and of what was learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.core.model import Model
from edgeret.inputs.tool_text import USUAL, tool_text
from edgeret.runtime.tool_checks import check_change
from edgeret.types import Tool
from edgeret_export.reference.components import Components
from edgeret_export.reference.scoring.calibration import Calibration, CalibrationParameters
from edgeret_export.reference.scoring.index import Index
from edgeret_export.reference.shown import encode_examples, with_examples


def changed(
    components: Components,
    add: Sequence[Tool],
    remove: Collection[str],
    substitute: Sequence[Tool],
    known: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
) -> Components:
    """The components with tools added, removed and replaced by others of the same name. `known` are the vectors of what
    is added and replaced, in this order, float32 (tools, dimension), and those of their examples, float32 (examples,
    dimension); None has them encoded.

    An HNSW graph knows only the tools that it was built of, so without those every search is exact. Raises InputError
    for names that are there already, or not there; and if no tool would be left.
    """
    old = components.tools
    check_change(old, add, remove, substitute)
    fresh = [*add, *substitute]
    if known is not None:
        vectors, shown = known
    else:
        told = components.manifest.info.get(roles.INFO_RECIPE)
        form = str(told.get("tool_text", USUAL)) if isinstance(told, dict) else USUAL
        vectors = components.encoder.encode_tools([tool_text(tool, form) for tool in fresh])
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


def instead(components: Components, tools: Sequence[Tool]) -> Components:
    """The components for other tools altogether: only the encoder and the prior serve them. Raises InputError."""
    return changed(_bare(components), tools, (), ())


def like(components: Components, model: Model, tools: Mapping[str, Tool], alone: bool) -> Components:
    """The bundle's components with the tools of a model that the library made of it, by number, and their vectors;
    `alone` as for `instead`."""
    held = _bare(components) if alone else components
    position = {name: i for i, name in enumerate(held.index.names)}
    names, stays, latest = list(tools), set[str](), -1
    for name in names:  # tools that stay keep their order, and stand before all others
        if (at := position.get(name, -1)) <= latest:
            break
        stays.add(name)
        latest = at
    add = [tools[name] for name in names if name not in stays]
    substitute = [tools[name] for name in names if name in stays and tools[name] != held.tools[name]]
    remove = [name for name in held.index.names if name not in stays]
    number = {name: i for i, name in enumerate(names)}
    known = model.vectors_of([number[tool.name] for tool in (*add, *substitute)])
    return changed(held, add, remove, substitute, known)


def _bare(components: Components) -> Components:
    return replace(
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
