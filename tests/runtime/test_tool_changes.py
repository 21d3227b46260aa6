"""Tools that come and go while the assistant runs, and bundles' encoders that serve other tools altogether."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS
from learned_states import chances, plan, state

import edgeret
from edgeret.bundle.overlay_file import overlay_path
from edgeret.errors import InputError, OverlayError
from edgeret.runtime.kept import summed
from edgeret.types import END, Tool
from edgeret_export.reference.overlay_writer import Overlay

LOCK = Tool("lock_door", "close it stop pack")
ZIP = Tool("zip_files", "zip a pack of me", {"type": "object", "properties": {"name": {"type": "string"}}})


def test_added_tools_are_found_and_chosen_at_once(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    grown = runtime.with_tools(add=[LOCK, ZIP])
    assert list(grown.tools) == [*runtime.tools, "lock_door", "zip_files"]
    assert grown.search("close it stop pack", 1)[0].tool == "lock_door"
    assert chances(grown, "zip pack")["zip_files"] > 0
    assert grown.task("close it stop pack", tools=["lock_door"]).candidates()[0].tool in ("lock_door", END)
    grown.learn([plan("close it", "lock_door")])
    assert grown.task("close it").next().tool == "lock_door"
    assert "lock_door" not in chances(runtime, "close it")


@pytest.mark.parametrize("query", ["write a note", "play my song", "zip it"])
def test_removed_tools_are_never_chosen_proposed_or_found(tiny: Path, query: str) -> None:
    runtime = edgeret.load(tiny)
    runtime.learn([plan(query, "write_note"), plan(query, "write_note")])
    less = runtime.with_tools(remove=["write_note"])
    assert "write_note" not in less.tools
    assert "write_note" not in [hit.tool for hit in less.search(query, 10)]
    for policy in ("heads", "auto"):
        decision = less.task(query).next(policy=policy, k=None)  # type: ignore[arg-type]
        assert "write_note" not in [decision.tool, *(c.tool for c in decision.candidates)]
    found = chances(less, query)
    assert "write_note" not in found
    assert sum(found.values()) == pytest.approx(1, abs=1e-4)
    assert "write_note" not in less.plan(query).tools
    assert "write_note" not in str(less.task(query).prompt(masking="none").messages[-1])
    with pytest.raises(InputError, match='unknown tool "write_note"'):
        less.task(query, ["write_note"])
    with pytest.raises(InputError, match='unknown tool "write_note"'):
        less.learn([plan(query, "write_note")])


def test_running_tasks_keep_the_tools_that_they_began_with(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    task = runtime.task("write a note")
    runtime.with_tools(remove=["write_note"], add=[LOCK])
    assert task.accept(task.next())
    assert task.calls[0].tool == "write_note"
    assert "lock_door" not in [c.tool for c in task.candidates()]


def test_replaced_tools_are_found_by_their_new_words_only(tiny: Path) -> None:
    other = Tool("play_music", "lock and close a door of the day")
    changed = edgeret.load(tiny).with_tools(replace=[other])
    assert changed.tools["play_music"] == other
    assert changed.search("close day", 1)[0].tool == "play_music"
    similarity = {hit.tool: hit.similarity for hit in changed.search("play music", 6)}["play_music"]
    assert similarity < edgeret.load(tiny).search("play music", 1)[0].similarity - 0.2


def test_what_is_there_as_it_is_given_changes_nothing(tiny: Path) -> None:
    for _ in range(2):  # as an assistant that adds its tools at every start
        runtime = edgeret.load(tiny, overlay=True)
        grown = runtime.with_tools(add=[LOCK, TOOLS[0]], keep=True)
        assert [*grown.tools] == [*(tool.name for tool in TOOLS), "lock_door"]
        runtime.close()
        size = overlay_path(tiny).stat().st_size
        assert grown.with_tools(add=[LOCK], replace=[TOOLS[0]], keep=True) is grown
        assert overlay_path(tiny).stat().st_size == size
    again = edgeret.load(tiny, overlay=True)
    assert again.with_tools(add=[LOCK], keep=True) is again
    assert "lock_door" not in edgeret.load(tiny, overlay=None).tools


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"add": [Tool("find_file", "another")]}, '"find_file" is among the tools already'),
        ({"add": [LOCK, LOCK]}, "already taken"),
        ({"add": ["lock_door"]}, "add must be a list of edgeret.Tool"),
        ({"add": [Tool("a b\n", "x")]}, "name"),
        ({"remove": ["find_fiel"]}, 'remove: unknown tool "find_fiel".*did you mean "find_file"'),
        ({"remove": "find_file"}, "found text"),
        ({"remove": [3]}, "unknown tool int"),
        ({"replace": [LOCK]}, 'replace: unknown tool "lock_door"'),
        ({"replace": [TOOLS[0]], "remove": ["find_file"]}, "to be removed and replaced"),
        ({"remove": [tool.name for tool in TOOLS]}, "no tool would be left"),
        ({"add": [LOCK], "keep": True}, "keep needs an overlay"),
    ],
)
def test_changes_that_make_no_sense_are_refused(tiny: Path, change: dict[str, Any], message: str) -> None:
    runtime = edgeret.load(tiny)
    with pytest.raises(InputError, match=message):
        runtime.with_tools(**change)
    assert list(runtime.tools) == [tool.name for tool in TOOLS]


def test_kept_changes_are_there_after_a_restart_and_others_are_not(tiny: Path) -> None:
    runtime = edgeret.load(tiny, overlay=True)
    runtime.learn([plan("zip it", "find_file")])
    kept = runtime.with_tools(add=[LOCK, ZIP], keep=True).with_tools(remove=["play_music", "lock_door"], keep=True)
    kept = kept.with_tools(replace=[Tool("send_mail", "post a letter")], keep=True)
    kept.with_tools(remove=["zip_files"])
    again = edgeret.load(tiny, overlay=True)
    assert dict(again.tools) == dict(kept.tools)
    assert state(again) == state(kept)
    for query in ("write a note", "zip pack"):
        assert chances(again, query) == chances(kept, query)
        assert again.search(query, 9) == kept.search(query, 9)
    found = edgeret.load(tiny, overlay=overlay_path(tiny))
    assert list(found.tools) == list(kept.tools)
    manifest = found.manifest
    overlay = Overlay.open(overlay_path(tiny), manifest.fingerprint, manifest.content_hash, read_only=True)
    changes = summed(overlay.records)
    assert (changes.added, changes.removed, changes.replaced) == (("zip_files",), ("play_music",), ("send_mail",))


def test_only_one_line_of_generations_is_kept_so_that_the_file_stays_readable(tiny: Path) -> None:
    runtime = edgeret.load(tiny, overlay=True)
    kept = runtime.with_tools(add=[LOCK], keep=True)
    for generation in (runtime, runtime.with_tools(add=[LOCK]), kept.with_tools(remove=["lock_door"])):
        with pytest.raises(InputError, match="the tools kept there were changed since"):
            generation.with_tools(add=[ZIP], keep=True)
    other = edgeret.load(tiny, overlay=True)
    runtime.close()
    other.with_tools(add=[ZIP], keep=True)
    other.close()
    with pytest.raises(InputError, match="the tools kept there were changed since, by another process"):
        kept.with_tools(add=[ZIP], keep=True)
    assert list(edgeret.load(tiny, overlay=True).tools)[-2:] == ["lock_door", "zip_files"]


def test_what_was_learned_is_shared_by_generations_and_comes_back_with_its_tool(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    grown = runtime.with_tools(add=[LOCK])
    grown.learn([plan("close it", "lock_door")])
    less = grown.with_tools(remove=["lock_door"])
    assert less.learned is runtime.learned
    assert less.task("close it").next().tool != "lock_door"
    assert less.with_tools(add=[LOCK]).task("close it").next().tool == "lock_door"


def forged(bundle: Path, value: dict[str, Any]) -> edgeret.Runtime:
    manifest = edgeret.load(bundle).manifest
    path = overlay_path(bundle)
    with Overlay.open(path, manifest.fingerprint, manifest.content_hash) as overlay:
        overlay.compact([("tools", value)])
    return edgeret.load(bundle, overlay=True)


def test_forged_changes_of_tools_with_right_hashes_are_refused(tiny: Path) -> None:
    kept = edgeret.load(tiny, overlay=True).with_tools(add=[LOCK, ZIP], keep=True)
    kept.close()
    manifest = kept.manifest
    overlay = Overlay.open(overlay_path(tiny), manifest.fingerprint, manifest.content_hash, read_only=True)
    genuine = dict(overlay.records[0].value)
    assert list(forged(tiny, genuine).tools) == list(kept.tools)
    size = len(genuine["vectors"]["data"])
    one = genuine["added"][0]
    strange: dict[str, list[Any]] = {
        "added": [None, {}, [3], [one], [one, one], [one, {**one, "name": "find_file"}], [one, {**one, "name": ""}]],
        "removed": [None, "find_file", [["find_file"]], ["nobody"], [3]],
        "replaced": [None, [one], [{**one, "name": "find_file"}]],
        "vectors": [
            None,
            {**genuine["vectors"], "data": b"\xff" * size},
            {**genuine["vectors"], "data": bytes(size)},
            {**genuine["vectors"], "data": b""},
            {**genuine["vectors"], "shape": [1, 48]},
        ],
    }
    strange["removed"].append([tool.name for tool in TOOLS] + ["nobody"])
    for key, values in strange.items():
        for value in values:
            with pytest.raises(OverlayError, match=r"a record makes no sense: .*bring back a copy") as caught:
                forged(tiny, {**genuine, key: value})
            assert "build the bundle" not in str(caught.value)
        with pytest.raises(OverlayError, match="a record makes no sense"):
            forged(tiny, {k: v for k, v in genuine.items() if k != key})


def test_a_runtime_from_tools_alone_searches_decides_and_learns(tiny: Path) -> None:
    base = edgeret.load(tiny)
    runtime = edgeret.from_tools([LOCK, ZIP], base=base)
    assert list(runtime.tools) == ["lock_door", "zip_files"]
    assert runtime.search("zip pack", 1)[0].tool == "zip_files"
    found = chances(runtime, "zip a pack of me")
    assert set(found) == {"lock_door", "zip_files", END}
    runtime.learn([plan("play my song", "zip_files")])
    assert runtime.task("play my song").next(policy="heads").tool == "zip_files"
    assert base.learned.count == 0
    assert set(chances(base, "play my song")) == {*base.tools, END}


@pytest.mark.parametrize("tools", [[], "lock_door", None])
def test_from_tools_needs_tools(tiny: Path, tools: Any) -> None:
    with pytest.raises(InputError, match=r"edgeret\.Tool"):
        edgeret.from_tools(tools, base=tiny)


def test_from_tools_keeps_nothing_and_says_so(tiny: Path) -> None:
    with pytest.raises(InputError, match="from_tools takes no overlay"):
        edgeret.from_tools([LOCK], base=tiny, overlay=True)


FROM_TOOLS = """
import json, socket, sys
def blocked(*a, **k):
    raise OSError("the runtime opened a socket")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = blocked
import edgeret
runtime = edgeret.from_tools([edgeret.Tool("zip_files", "zip a pack")], base=sys.argv[1])
runtime.learn([edgeret.Demonstration("d", "zip it", (edgeret.Call("zip_files"),))])
tool = runtime.with_tools(add=[edgeret.Tool("lock_door", "close it")]).task("zip it").next(policy="heads").tool
print(json.dumps({"tool": tool, "modules": sorted(sys.modules)}))
"""
HEAVY = ("torch", "sklearn", "scipy", "optimum", "transformers", "sentence_transformers", "edgeret_export", "onnx")


def test_from_tools_and_learning_load_nothing_of_the_build_host_and_open_no_socket(tiny: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FROM_TOOLS, str(tiny)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tool"] == "zip_files"
    assert [m for m in said["modules"] if m.split(".")[0] in HEAVY] == []
