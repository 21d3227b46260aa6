"""What is kept of what was learned stays bounded and readable: names of tools that went, clocks that are wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import WORDS
from learned_states import chances, plan, state, stored, taught
from python_reader import by_python

import edgeret
from edgeret.bundle.overlay_file import overlay_path, read_overlay
from edgeret.errors import OverlayError
from edgeret.types import Tool
from edgeret_export.reference import learning
from edgeret_export.reference.overlay_writer import Overlay
from edgeret_export.reference.scoring.learned_state import pack_learner, without_idle_names

QUERY = "open my letter and read it"


def load(bundle: Path) -> edgeret.Runtime:
    return edgeret.load(bundle, overlay=True)


def names(runtime: edgeret.Runtime) -> list[str]:
    """Of all tools that it knows."""
    return list(state(runtime)["names"])


def passing(runtime: edgeret.Runtime, number: int) -> edgeret.Runtime:
    """The runtime with tools of which others come every time."""
    return runtime.with_tools(add=[Tool(f"guest_{number}_{i}", f"paint {i} pots") for i in range(40)])


def test_names_of_tools_that_went_are_dropped(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "NEW_NAMES", 100)
    runtime = by_python(tiny, overlay=True)
    most, largest = 0, 0
    for number in range(25):
        passing(runtime, number).learn([plan(f"{WORDS[number]} {WORDS[-1 - number]}", "find_file", "write_note")])
        most, largest = max(most, len(names(runtime))), max(largest, overlay_path(tiny).stat().st_size)
    # Of every plan's 40 guests the memory itself refers to some; what it does not is gone after a few plans.
    kept = state(runtime)
    used = {label for row in kept["offset_labels"] for label in row} | {*kept["row_labels"], *kept["calls"]}
    assert len(names(runtime)) <= len(used) + 100 + 2 * 60
    assert most < 25 * 40
    again = by_python(tiny, overlay=True)
    assert state(again) == kept
    assert chances(again, QUERY) == chances(runtime, QUERY)


def test_a_plan_of_very_many_new_names_leaves_no_more_of_them_than_it_needs(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "NEW_NAMES", 100)
    runtime = by_python(tiny, overlay=True)
    for number in range(3):
        many = [Tool(f"guest_{number}_{i}", f"paint {i} pots") for i in range(300)]
        runtime.with_tools(add=many).learn([plan(f"{WORDS[number]} it", "find_file")])
        chances(runtime, QUERY)  # a request of the tools that stay
    runtime.forget(query=f"{WORDS[1]} it")
    assert len(names(runtime)) < 80
    assert not any(name.startswith("guest_1_") for name in names(by_python(tiny, overlay=True)))


def test_a_learner_with_fewer_names_says_the_same(tiny: Path) -> None:
    runtime = by_python(tiny, overlay=True)
    passing(runtime, 0).learn([plan(QUERY, "guest_0_3", "find_file"), plan("paint it", "guest_0_5")])
    packed = pack_learner(taught(runtime))
    fewer = without_idle_names(packed, {"send_mail"})
    assert len(fewer["names"]) < len(packed["names"])
    assert {"<end>", "guest_0_3", "guest_0_5", "find_file", "send_mail"} <= set(fewer["names"])
    for key in ("calls", "offset_labels", "row_labels"):
        named = [np.where(held[key] < 0, "", np.array(held["names"])[held[key]]).tolist() for held in (packed, fewer)]
        assert named[0] == named[1]
        assert packed[key].dtype == fewer[key].dtype
    assert without_idle_names(fewer, {"send_mail"})["names"] == fewer["names"]


@pytest.mark.parametrize("now", [-86_400 * 10**9, -1, -(2**62), 0, 2**63 - 1])
def test_a_clock_that_is_wrong_writes_what_can_be_read(tiny: Path, monkeypatch: pytest.MonkeyPatch, now: int) -> None:
    runtime = by_python(tiny, overlay=True)
    monkeypatch.setattr(time, "time_ns", lambda: now)
    runtime.learn([plan(QUERY, "find_file")])
    runtime.close()
    again = load(tiny)
    assert stored(again) == [(QUERY, ("find_file",))]
    assert again.learned.plans[0].learned_at >= 0
    again.learn([plan("more", "find_file")])
    again.forget(query="more")
    assert stored(load(tiny)) == [(QUERY, ("find_file",))]


def rewritten(bundle: Path, **values: Any) -> edgeret.Runtime:
    """The bundle with an overlay of one plan, in whose record something else stands."""
    runtime = load(bundle)
    runtime.learn([plan(QUERY, "find_file")])
    runtime.close()
    path, fingerprint = overlay_path(bundle), runtime.manifest.fingerprint
    (record,) = read_overlay(path, fingerprint)
    with Overlay.open(path, fingerprint, runtime.manifest.content_hash) as overlay:
        overlay.compact([(record.kind, {**record.value, **values})])
    return load(bundle)


def test_an_overlay_of_a_clock_before_1970_is_read(tiny: Path) -> None:
    assert rewritten(tiny, learned_at=-86_400.0).learned.plans[0].learned_at == 0


@pytest.mark.parametrize(
    "name", ["a\x1b[31mred", "x" * 257, " space ", "a\u202eb", "<start>", "hid\U000e0041den", "a\nb"]
)
def test_names_that_no_tool_can_have_are_refused(tiny: Path, name: str) -> None:
    with pytest.raises(OverlayError, match="a record makes no sense") as caught:
        rewritten(tiny, new_names=["find_file", name])
    assert name not in str(caught.value) or name in (" space ", "<start>")


def test_more_names_than_any_device_learns_are_refused(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeret_export.reference.plan_record.MAX_NAMES", 1000)
    rewritten(tiny, new_names=["find_file", *(f"t{i}" for i in range(1000))])
    with pytest.raises(OverlayError, match="names of tools, at most 1000 are kept"):
        by_python(tiny, overlay=True)
