"""The version of the distributions beside edgeret: edgeret's own, and the only one that they take of each other.

hatchling reads this for export/, bench/ and wheels/minilm/, whose pyproject.toml name it. What they require of this
repository's distributions gets the version here, so that no pyproject says one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

OURS = re.compile(r"edgeret(-\w+)?(\[[\w,-]+\])?")
SAID = Path(__file__).parents[1] / "edgeret" / "__init__.py"


class Locked(MetadataHookInterface):
    """Fills in `version`, and `dependencies` and `optional-dependencies` from the hook's own table."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Raises SystemExit where edgeret's folder is not beside: these are built in a checkout alone."""
        if not SAID.is_file():
            raise SystemExit(f"{SAID}: not there, and it says the version; build in a checkout of edgeret")
        metadata["version"] = version = version_of(SAID)
        metadata["dependencies"] = locked(self.config["dependencies"], version)
        if extras := self.config.get("optional-dependencies"):
            metadata["optional-dependencies"] = {name: locked(needed, version) for name, needed in extras.items()}


def version_of(file: Path) -> str:
    """What `__version__` is set to in a module. Raises ValueError."""
    if found := re.search(r'^__version__ = "(.+)"$', file.read_text(encoding="utf-8"), re.MULTILINE):
        return found[1]
    raise ValueError(f"{file}: expected a line __version__ = …")


def locked(needed: Iterable[str], version: str) -> list[str]:
    """The requirements, those of this repository's distributions with the version."""
    return [f"{one}=={version}" if OURS.fullmatch(one) else one for one in needed]
