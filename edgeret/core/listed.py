"""Which files of a bundle the library reads, by its manifest alone."""

from __future__ import annotations

import ctypes as c

from edgeret.core.library import Given, ask, the_library

MOST_FILES = 256


class _Listed(c.Structure):
    """`er_listed`."""

    _fields_ = (("name", Given), ("size", c.c_uint64))


def listed(manifest: bytes, tiny: bool) -> list[str]:
    """Names of the files beside the manifest that a loading reads; `tiny` with the small encoder alone. Raises
    BundleError for what is no manifest, or has no such encoder."""
    room, count = (_Listed * MOST_FILES)(), c.c_size_t(MOST_FILES)
    ask(the_library().whole.er_list, manifest, len(manifest), int(tiny), room, c.byref(count))
    return [str(one.name) for one in room[: count.value]]
