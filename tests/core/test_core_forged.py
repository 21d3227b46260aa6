"""Forged bundles: the core refuses what Python refuses, and decides where Python does. `core/test/fuzz_bundle.c` and
`tests/forge_run.py` go on from there."""

from __future__ import annotations

import warnings
from ctypes import CDLL
from pathlib import Path

from binding import Core, CoreError
from conftest import tiny_bundle
from forge import Forger
from forge_cases import PLAIN, RARE
from forge_onnx import ENCODER
from forge_variants import VARIANTS
from python_reader import by_python

from edgeret.errors import EdgeretError

QUERY = "find my file and send a mail"
TURNS = 4
NO_ENCODER = 5
OTHERS = {*ENCODER, *VARIANTS, *RARE, "places"}
"""Graphs that this library reads by other means, and families that are slow or tried elsewhere."""
STRICTER = (
    "an object with a key twice",  # section 6
    "something else than a value",  # section 6: NaN is no JSON
    "an extension type",  # section 2.3
    "is no tool of the index",  # section 11: labels
)
"""What the core refuses along docs/FORMAT.md and Python lets pass, by words of the message."""


def _python(folder: Path) -> str | None:
    """What Python says against a bundle."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            by_python(folder, threads=1).task(QUERY).next()
    except EdgeretError as error:
        return str(error)
    return None


def _core(core: Core, folder: Path) -> str | None:
    try:
        model = core.load(folder)
    except CoreError as error:
        return error.text
    try:
        with model.task(QUERY) as task:
            task.next()
    except CoreError as error:
        return None if error.status == NO_ENCODER else error.text
    finally:
        model.close()
    return None


def test_both_readers_refuse_the_same(core: CDLL, tmp_path: Path) -> None:
    forger, library = Forger(tiny_bundle(tmp_path / "base")), Core(core)
    refused = fine = 0
    for turn in range(TURNS):
        for name in sorted(set(PLAIN) - OTHERS):
            forgery, folder = forger.forgery(), tmp_path / f"{name}-{turn}"
            folder.mkdir()
            what = PLAIN[name](forgery, 31 * turn + len(name))
            forgery.write(folder)
            if name == "encoder-bytes":
                continue
            wanted, found = _python(folder), _core(library, folder)
            if wanted is None and found is not None and any(words in found for words in STRICTER):
                continue
            assert (found is None) == (wanted is None), f"{name} {turn} ({what}): Python {wanted!r}, the core {found!r}"
            refused, fine = refused + (found is not None), fine + (found is None)
            assert found is None or found.isprintable()
    assert refused > 20 and fine > 10
