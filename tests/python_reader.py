"""Python's own reading of a bundle, by which the library is judged. Programs get it where the library cannot decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret import Runtime
from edgeret.bundle.overlay_file import overlay_path
from edgeret.runtime.components import load_components
from edgeret.runtime.loading import with_overlay
from edgeret.runtime.options import LoadOptions


def by_python(folder: Path, overlay: Path | bool = False, **options: Any) -> Runtime:
    """As `edgeret.load`."""
    components = load_components(folder, LoadOptions(**options))
    if not overlay:
        return Runtime(components)
    return with_overlay(components, overlay_path(folder) if overlay is True else overlay)
