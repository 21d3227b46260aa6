"""The reference's own reading of a bundle, by which the library is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret import Runtime
from edgeret_export.reference.runtime import load_reference


def by_python(folder: Path, overlay: Path | bool = False, **options: Any) -> Runtime:
    """As `edgeret.load`."""
    return load_reference(folder, overlay, **options)
