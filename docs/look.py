"""A hook of mkdocs: gives the site edgeret/look.css, which names the colours of everything that edgeret shows."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

LOOK = Path(__file__).parents[1] / "edgeret" / "look.css"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds it where `extra_css` of mkdocs.yml looks for it."""
    files.append(File.generated(config, "look.css", abs_src_path=str(LOOK)))
    return files
