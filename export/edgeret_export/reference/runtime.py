"""A runtime of a bundle's components, by which the library is judged, and with which experiments vary one component."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeret.bundle.overlay_file import overlay_path
from edgeret.errors import InputError
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import LoadOptions
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret_export.reference.asked import Asked
from edgeret_export.reference.components import Components, load_components
from edgeret_export.reference.learning import Learned
from edgeret_export.reference.loaded import ComponentsLoaded
from edgeret_export.reference.request import Request
from edgeret_export.reference.stopwatch import Stopwatch


def runtime_of(components: Components, learned: Learned | None = None) -> Runtime:
    """A runtime of components, one of which may be another one than the bundle's."""
    return Runtime(ComponentsLoaded(components, learned))


def load_reference(folder: str | Path, overlay: Path | bool = False, **options: Any) -> Runtime:
    """As `edgeret.load`, by components."""
    loaded = ComponentsLoaded(load_components(folder, LoadOptions(**options)))
    if not overlay:
        return Runtime(loaded)
    place = overlay_path(folder) if overlay is True else overlay
    return Runtime(loaded.going_on(place.absolute(), options.get("overlay_key")))


def components_of(runtime: Runtime) -> Components:
    """The components of such a runtime; of any other one those of its bundle, read now. Raises InputError for one whose
    tools have changed since."""
    return _components(runtime.loaded)


def request_of(task: Task) -> Request:
    """A task's query as the full encoder's components read it; of the library's tasks it is read now."""
    asked = task.asked
    if isinstance(asked, Asked):
        return asked.request
    components = replace(_components(asked.loaded), cascade=None)
    return ComponentsLoaded(components).scorer.read(task.query, Stopwatch())


def _components(loaded: Loaded) -> Components:
    if isinstance(loaded, ComponentsLoaded):
        return loaded.components
    if loaded.whole is not None:
        raise InputError(f"{loaded.path}: its tools have changed; change those of a runtime of components")
    return load_components(loaded.path, replace(loaded.options, content_hash=loaded.bundle_hash))
