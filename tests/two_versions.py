"""A store of two versions, for tests of what switches between them."""

from __future__ import annotations

from pathlib import Path

from edgeret.store.store import BundleStore


def two_versions(folder: Path, old: Path, new: Path) -> BundleStore:
    """A store with the bundles "old", which is active, and "new"."""
    store = BundleStore(folder, threads=1)
    store.add(old, "old")
    store.add(new, "new")
    store.activate("old")
    return store
