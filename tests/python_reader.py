"""Python's own reading of a bundle, by which the library is judged. Programs get it where the library cannot decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret import Runtime
from edgeret.runtime.components import load_components
from edgeret.runtime.options import LoadOptions


def by_python(folder: Path, **options: Any) -> Runtime:
    """As `edgeret.load`, without an overlay."""
    return Runtime(load_components(folder, LoadOptions(**options)))
