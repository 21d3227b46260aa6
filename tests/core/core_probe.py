"""What probe_load.c shows of a model, and bundles of every kind to be shown."""

from __future__ import annotations

import ctypes as c
from pathlib import Path
from typing import Any

import numpy as np
from binding import Core, Model
from conftest import TOOLS, make_demonstrations, tiny_bundle
from core_build import CORE, Library

from edgeret import Tool
from edgeret_export.recipe import Recipe

EXAMPLES = [
    Tool("show_note", "show a note", examples=("jot this down", 'keep "that" in my notes', "jot this down!")),
    *TOOLS,
]
KINDS = ("alone", "few", "many", "many, with a first stage", "few, a table", "alone, in bytes", "few, in bytes")


class View(c.Structure):
    _fields_ = (("at", c.c_void_p), ("rows", c.c_uint32), ("columns", c.c_uint32), ("kind", c.c_char))


class Probe(Core):
    """The library, and what probe_load.c shows of a model."""

    def array(self, model: Model, name: str, small: bool = False) -> Any:
        view, types = View(), {b"f": np.float32, b"i": np.int32, b"u": np.uint32, b"b": np.int8}
        if not self.library.probe_array(model.handle, int(small), name.encode(), c.byref(view)):
            return None
        data = c.string_at(view.at, view.rows * view.columns * np.dtype(types[view.kind]).itemsize)
        rows = np.frombuffer(data, types[view.kind]).reshape(view.rows, view.columns)
        return rows[:, 0] if view.columns == 1 else rows

    def numbers(self, model: Model, small: bool = False) -> dict[str, float]:
        found = (c.c_double * 64)()
        size = self.library.probe_numbers(model.handle, int(small), found)
        return dict(zip(NUMBERS, found[:size], strict=True))


NUMBERS = """
dimension max_tokens has_head has_memory order nearest temperature cluster_prior global_prior cluster_share
repeat_factor description_weight prior_weight prior_steps no_tool edge head_weight graph_weight memory_weight
later_head_weight later_graph_weight unseen_bias added_bias min_probability nothing declines least has_small has_full
""".split()  # noqa: SIM905 - a list of them would be a line each


def probe_of(core_library: Library) -> Probe:
    """The library with what it shows."""
    found = Probe(core_library(*(path.stem for path in sorted((CORE / "src").glob("*.c"))), "probe_load"))
    found.library.probe_tool.restype = c.c_double
    found.library.probe_row.restype = c.c_int64
    return found


def build(kind: str, target: Path) -> Path:
    profile = "tiny" if "a table" in kind else "default" if "stage" in kind else "full"
    recipe = Recipe(precision="fp32", profile=profile, index_vectors="int8" if "bytes" in kind else "fp32")
    shown = () if kind.startswith("alone") else make_demonstrations()
    return tiny_bundle(
        target, tools=EXAMPLES, demonstrations=shown, few=0 if kind.startswith("many") else 1500, recipe=recipe
    )
