"""A bundle for the entry point group `edgeret.bases`. Knows nothing of what is in it."""

from pathlib import Path

PATH = Path(__file__).parent / "base"
"""The bundle's folder."""
