"""The bundle whose encoder reads where nobody names one. Knows nothing of what is in it."""

from __future__ import annotations

from pathlib import Path

from edgeret.errors import BundleError

GROUP = "edgeret.bases"
"""The entry points by which an installed distribution offers a bundle: each names a path."""
PACKAGED = Path(__file__).parents[1] / "base"
"""What comes with edgeret itself: an encoder in codes, which needs no ONNX Runtime, and a head for arguments."""


def base_path() -> Path:
    """The folder of the bundle that an installed distribution offers (`edgeret-minilm`), of several the first by name;
    else of the one that comes with edgeret. Raises BundleError for an offer that names no folder."""
    from importlib.metadata import entry_points  # brings sockets and mail, which no decision of a bundle waits for

    for offer in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        path = Path(offer.load())
        if not path.is_dir():
            raise BundleError(f"{path}: the base that '{offer.name}' offers is not there; install it again")
        return path
    return PACKAGED
