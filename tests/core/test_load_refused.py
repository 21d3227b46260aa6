"""What a loading refuses, and which links it follows: by name, and in Python's words."""

from __future__ import annotations

import ctypes as c
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding import CoreError, Text
from conftest import tiny_bundle
from core_build import Library
from core_probe import Probe, probe_of
from forge import Forger, Forgery
from forge_arrays import get, pack

from edgeret.bundle.reader import open_bundle


@pytest.fixture(scope="module")
def probe(core_library: Library) -> Probe:
    return probe_of(core_library)


def _set(role: str, key: str, change: Callable[[Any], Any]) -> Callable[[Forgery], None]:
    def forge(forgery: Forgery) -> None:
        holder = forgery.map(role)
        array = get(holder[key]).copy() if isinstance(holder[key], dict) else holder[key]
        changed = change(array)
        holder[key] = pack(changed, holder[key]["dtype"]) if isinstance(holder[key], dict) else changed

    return forge


def _at(place: Any, value: Any) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


def _tool(**fields: Any) -> Callable[[Forgery], None]:
    return lambda forgery: forgery.json("tools")[1].update(fields)


def _grown(forgery: Forgery, calls: int) -> None:
    """The last plan of the memory calls the first tool so many times more."""
    _set("memory", "calls", lambda array: np.concatenate((array, np.zeros(calls, np.int32))))(forgery)
    _set("memory", "starts", lambda array: array + calls * (np.arange(len(array)) == len(array) - 1))(forgery)


REFUSED: Sequence[tuple[str, Callable[[Forgery], object], str]] = (
    ("a foreign index", lambda f: f.map("index").update(encoder="0" * 64), "made for another encoder"),
    ("a name twice", _set("index", "names", lambda names: [names[1], *names[1:]]), "one of them twice"),
    ("long vectors", _set("index", "vectors", lambda rows: rows * 1.01), "not of length 1"),
    ("no number", _set("index", "vectors", _at((0, 0), np.nan)), "not finite"),
    ("too large", _set("head", "bias", _at(0, 2e9)), "too large"),
    ("another shape", _set("head", "bias", lambda array: array[1:]), "another shape"),
    ("labels of the graph", _set("graph", "labels", lambda names: names[::-1]), "different tools"),
    (
        "a label of nobody",
        lambda f: [f.map(r).update(labels=["nobody", *f.map(r)["labels"][1:]]) for r in ("head", "graph")],
        "no tool",
    ),
    ("no end", lambda f: [f.map(r).update(labels=f.map(r)["labels"][::-1]) for r in ("head", "graph")], "end in <end>"),
    ("starts that fall", _set("graph", "starts", _at(1, 0)), "contradict"),
    ("no counts", _set("graph", "counts", _at(0, 0)), "contradict"),
    ("a far target", _set("graph", "targets", _at(0, 99)), "contradict"),
    ("a far cluster", _set("graph", "keys", _at((-1, 0), 999)), "contradict"),
    ("a context of nobody", _set("graph", "keys", _at((-1, 2), 99)), "contradict"),
    ("a key twice", _set("graph", "keys", lambda keys: np.concatenate((keys[:1], keys[:1], keys[2:]))), "contradict"),
    ("no empty context", _set("graph", "keys", _at((0, 1), 1)), "contradict"),
    ("order 17", lambda f: f.map("graph")["options"].update(order=17), "order"),
    ("a cold graph", lambda f: f.map("graph")["options"].update(temperature=0.0), "temperature"),
    ("a follower twice", _set("head", "followers", lambda array: array * 0), "history"),
    ("a history that ends early", _set("head", "starts", _at(-1, 0)), "history"),
    ("halves that are infinite", _set("head", "values", _at(0, np.inf)), "not finite"),
    ("scales below 0", _set("head", "weight_scales", _at(0, -1)), "weight_scales"),
    ("a truth for a number", lambda f: f.map("head").update(prior_weight=True), "prior_weight"),
    ("a number for a truth", lambda f: f.map("head").update(prior_steps=1), "prior_steps"),
    ("calls of nobody", _set("memory", "calls", _at(0, 99)), "contradict"),
    ("the end as a call", _set("memory", "calls", _at(0, 5)), "contradict"),
    ("a plan too long", lambda f: _grown(f, 256), "contradict"),
    ("tools that fall", _set("familiarity", "tools", lambda array: array[::-1]), "contradict"),
    ("an edge of nothing", lambda f: f.map("familiarity").update(edge=0.0), "edge"),
    ("another tokenizer", lambda f: f.map("word-vectors").update(tokenizer="0" * 64), "another tokenizer"),
    (
        "pieces too few",
        lambda f: [_set("word-vectors", k, lambda a: a[1:])(f) for k in ("pairs", "scales")],
        "pieces of words",
    ),
    ("a weight too large", lambda f: f.info["prior"]["tool"].update(name=1001), "name"),
    ("a weight too few", lambda f: f.info["prior"]["end"].pop("open"), "open"),
    (
        "a map that falls",
        lambda f: f.info["calibration"]["parameters"].update(calibration_map=pack([[0, 1], [1, 0]], "<f4")),
        "rise",
    ),
    ("floors too few", lambda f: f.info["calibration"]["parameters"].update(first_floors=pack([0.5], "<f4")), "shape"),
    (
        "quantiles too few",
        lambda f: f.info["calibration"]["parameters"].update(right_probabilities=pack([0.5], "<f4")),
        "quantiles",
    ),
    ("no table beside a first stage", lambda f: f.info.update(static={"cascade": 1}), "cascade"),
    ("languages", lambda f: f.info["encoder"].update(languages=["English"]), "languages"),
    ("an empty description", _tool(description=" \u2003"), "description"),
    ("a hidden character", _tool(description="a\u202eb"), "invisible"),
    (
        "a joiner in a name",
        lambda f: f.map("index")["names"].__setitem__(1, "a\u200db") or _tool(name="a\u200db")(f),
        "no tool|invisible",
    ),
    ("another name", _tool(name="other"), "index has another tool"),
    ("deep parameters", _tool(parameters={"a": json.loads("[" * 33 + "1" + "]" * 33)}), "nested"),
    ("long parameters", _tool(parameters={"a": "x" * 65_530}), "65536"),
    ("a careless risk", _tool(risk=0.6), "risk"),
    ("a confirm that is none", _tool(confirm=None), "confirm"),
    ("an example on two lines", _tool(examples=["a\nb"]), "example"),
    ("an example twice spaced", _tool(examples=["a  b"]), "example"),
    ("a tool too few", lambda f: f.json("tools").pop(), "lines"),
)


@pytest.fixture(scope="module")
def forger(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    return Forger(tiny_bundle(tmp_path_factory.mktemp("forged") / "bundle"))


@pytest.mark.parametrize("case", REFUSED, ids=[case[0] for case in REFUSED])
def test_what_must_be_refused(
    probe: Probe, forger: Forger, tmp_path: Path, case: tuple[str, Callable[[Forgery], object], str]
) -> None:
    forgery = forger.forgery()
    case[1](forgery)
    (tmp_path / "bundle").mkdir()
    forgery.write(tmp_path / "bundle")
    with pytest.raises(CoreError, match=case[2]) as raised:
        probe.load(tmp_path / "bundle")
    assert raised.value.status == 2 and "\n" not in raised.value.text


def test_content_hashes(probe: Probe, forger: Forger) -> None:
    wanted = open_bundle(forger.folder).manifest.content_hash
    for text in (wanted, wanted.upper(), f" {wanted}\n"):
        probe.load(forger.folder, content_hash=Text.of(text)).close()
    with pytest.raises(CoreError, match="another bundle than the one asked for") as raised:
        probe.load(forger.folder, content_hash=Text.of("0" * 64))
    assert raised.value.status == 2
    for text in ("abc", "z" * 64, "é" * 32):
        with pytest.raises(CoreError, match="64 hexadecimal digits") as raised:
            probe.load(forger.folder, content_hash=Text.of(text))
        assert raised.value.status == 1


def test_options(probe: Probe, forger: Forger) -> None:
    for options, told in (
        ({"most_loss": 1.5}, "most_loss"),
        ({"threads": -1}, "threads"),
        ({"threads": 5_000}, "threads"),
    ):
        with pytest.raises(CoreError, match=told) as raised:
            probe.load(forger.folder, **options)
        assert raised.value.status == 1
    with pytest.raises(CoreError, match="no table of token vectors") as raised:
        probe.load(forger.folder, first_stage_alone=1)
    assert raised.value.status == 1


def test_handles_that_are_not_there(probe: Probe) -> None:
    library, nothing = probe.library, c.c_void_p()
    library.er_free(nothing)
    assert library.er_load(None, None, c.byref(nothing), None) == 1
    assert library.er_load(b"folder", None, None, None) == 1
    assert library.er_load_files(None, c.c_size_t(3), None, c.byref(nothing), None) == 1
    assert library.er_describe(nothing, None, None) == 1
    library.er_tool_definition.restype = Text
    assert str(library.er_tool_definition(nothing, 0)) == str(library.er_tool_name(nothing, 0)) == ""
    assert library.er_tool_find(nothing, Text.of("a")) == -1


# ---- Folders ----


def hub(folder: Path, place: Path) -> Path:
    """As the cache of the Hugging Face hub keeps files."""
    snapshot, blobs = place / "snapshots" / ("a" * 40), place / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for i, file in enumerate(sorted(folder.iterdir())):
        shutil.copy(file, blobs / f"{i:064x}")
        (snapshot / file.name).symlink_to(f"../../blobs/{i:064x}")
    return snapshot


def volume(folder: Path, place: Path) -> Path:
    """As Kubernetes mounts files."""
    shutil.copytree(folder, place / "..2026_01_31")
    (place / "..data").symlink_to("..2026_01_31")
    for file in folder.iterdir():
        (place / file.name).symlink_to(f"..data/{file.name}")
    return place


def test_links_of_two_layouts_are_followed(probe: Probe, forger: Forger, tmp_path: Path) -> None:
    wanted = open_bundle(forger.folder).manifest.content_hash
    for layout in (hub, volume):
        model = probe.load(layout(forger.folder, tmp_path))
        assert model.content_hash == wanted
        model.close()


def test_a_folder_that_waits_aside_is_found(probe: Probe, forger: Forger, tmp_path: Path) -> None:
    shutil.copytree(forger.folder, tmp_path / ".bundle.replaced")
    wanted = open_bundle(forger.folder).manifest.content_hash
    for path in (tmp_path / "bundle", f"{tmp_path}/bundle/"):
        model = probe.load(path)
        assert model.content_hash == wanted
        model.close()


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("/etc/passwd", "cannot be read"),
        ("../other", "cannot be read"),
        ("nowhere", "missing"),
        ("manifest", "cannot be read"),
        ("./tools.json", "cannot be read"),
        ("sub/../tools.json", "cannot be read"),
        ("../blobs/" + "a" * 64, "cannot be read"),
        ("../../blobs/" + "a" * 64, "cannot be read|missing"),
    ],
)
def test_other_links_are_refused(probe: Probe, forger: Forger, tmp_path: Path, target: str, told: str) -> None:
    folder = Path(shutil.copytree(forger.folder, tmp_path / "bundle"))
    (tmp_path / "other").write_bytes((folder / "manifest").read_bytes())
    (folder / "manifest").unlink()
    (folder / "manifest").symlink_to(target)
    with pytest.raises(CoreError, match=told) as raised:
        probe.load(folder)
    assert raised.value.status == 3


def test_what_is_no_file_is_refused_without_waiting(probe: Probe, forger: Forger, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(forger.folder, tmp_path / "bundle"))
    manifest = folder / "manifest"
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(CoreError, match="not a regular file"):
        probe.load(folder)
    manifest.unlink()
    manifest.mkdir()
    with pytest.raises(CoreError, match="a folder"):
        probe.load(folder)
    manifest.rmdir()
    manifest.touch()
    with pytest.raises(CoreError, match="damaged"):
        probe.load(folder)
    with pytest.raises(CoreError, match="no such folder"):
        probe.load(tmp_path / "nowhere")
    with pytest.raises(CoreError, match="not a bundle"):
        probe.load(folder / "tools.json")
    with pytest.raises(CoreError, match="too long"):
        probe.load("x" * 5_000)
