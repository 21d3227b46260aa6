"""What the core makes of a bundle's files is what Python makes of them, array by array."""

from __future__ import annotations

import ctypes as c
import json
import random
import re
import shutil
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding import Core, CoreError, Model, Text
from conftest import full
from core_build import Library
from core_probe import KINDS, Probe, build, probe_of
from forge import Forger, Forgery
from forge_arrays import get, pack

from edgeret.bundle.reader import Bundle, open_bundle
from edgeret.runtime.options import LoadOptions
from edgeret_export.reference.components import Components, load_components
from edgeret_export.reference.encoders.static import read_table
from edgeret_export.reference.scoring.familiarity import Familiarity

BASE = Path(__file__).parents[2] / "edgeret" / "base"


@pytest.fixture(scope="module")
def probe(core_library: Library) -> Probe:
    return probe_of(core_library)


@pytest.fixture(scope="module", params=[*KINDS[::2], *full(*KINDS[1::2])])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(request.param, tmp_path_factory.mktemp("kind") / "bundle")


def same(found: Any, wanted: Any, exact: bool = True) -> None:
    wanted = np.asarray(wanted)
    assert found is not None and found.shape == wanted.shape
    assert np.array_equal(found, wanted) if exact else np.allclose(found, wanted, atol=2e-7)


def check_stage(probe: Probe, model: Model, bundle: Bundle, components: Components, small: bool) -> None:
    numbers, index = probe.numbers(model, small), components.index
    spec, names = components.encoder.spec, components.index.names
    assert (numbers["dimension"], numbers["max_tokens"]) == (spec.dimension, spec.max_tokens)
    same(probe.array(model, "vectors", small), index.vectors, exact=False)
    if index.examples is not None:
        rounded = probe.array(model, "examples", small), probe.array(model, "example_scales", small)
        same(rounded[0] * rounded[1][:, None], index.examples.vectors, exact=False)
        starts = np.searchsorted(index.examples.owners, np.arange(len(names) + 1))
        same(probe.array(model, "example_starts", small), starts)
        same(probe.array(model, "example_twins", small), index.examples._shared, exact=False)
    else:
        assert probe.array(model, "examples", small) is None
    check_familiarity(probe, model, components.familiarity, numbers, small)
    p = components.calibration.parameters
    for key in (
        "head_weight",
        "graph_weight",
        "memory_weight",
        "later_head_weight",
        "later_graph_weight",
        "unseen_bias",
    ):
        assert numbers[key] == getattr(p, key)
    assert (numbers["added_bias"], numbers["min_probability"]) == (p.added_bias, p.min_probability)
    for key, value in (("map", p.calibration_map), ("prior_map", p.prior_map), ("right", p.right_probabilities)):
        same(probe.array(model, key, small), np.array(value, np.float32))
    same(probe.array(model, "first_floors", small), np.array(p.first_floors, np.float32))
    same(probe.array(model, "later_floors", small), np.array(p.later_floors, np.float32))
    assert numbers["has_head"] == (components.head is not None) and numbers["has_memory"] == (
        components.memory is not None
    )
    if components.head is not None:
        check_heads(probe, model, bundle, components, numbers, small)


def check_familiarity(probe: Probe, model: Model, wanted: Familiarity, numbers: dict[str, float], small: bool) -> None:
    assert (numbers["no_tool"], numbers["edge"]) == (wanted.means.no_tool, wanted.edge)
    if len(wanted.means.tools):
        same(probe.array(model, "familiar_tools", small), wanted.means.tools)
        same(probe.array(model, "means", small), wanted.means.vectors)
        same(probe.array(model, "familiar_counts", small), wanted.means.counts)


def check_heads(
    probe: Probe, model: Model, bundle: Bundle, components: Components, numbers: dict[str, float], small: bool
) -> None:
    head, graph, stored = components.head, components.graph, bundle.map("head")
    assert head is not None and graph is not None
    a, names = head.arrays, components.index.names
    same(probe.array(model, "label_tools", small), [*(names.index(label) for label in head.labels[:-1]), -1])
    weights, scales = probe.array(model, "weights", small), probe.array(model, "weight_scales", small)
    same(weights * scales[:, None], a.weights)
    for key in ("bias", "starts", "followers", "values", "count", "segment_weights", "spelling_scales"):
        same(probe.array(model, key, small), getattr(a, key))
    same(probe.array(model, "spelling", small), get(stored["spelling"]))
    popular = dict(zip(a.popular_names, a.popular.tolist(), strict=True))
    same(probe.array(model, "popular", small), np.array([popular.get(name, 0.0) for name in names], np.float32))
    assert numbers["description_weight"] == a.description_weight
    assert (numbers["prior_weight"], numbers["prior_steps"]) == (a.prior_weight, a.prior_steps)
    for key, value in graph.options.to_dict().items():
        assert numbers[key] == value
    check_graph(probe, model, bundle, small)
    if components.memory is not None:
        memory = bundle.map("memory")
        same(probe.array(model, "memory_vectors", small), get(memory["vectors"]).astype(np.float32))
        same(probe.array(model, "memory_starts", small), get(memory["starts"]))
        same(probe.array(model, "memory_calls", small), get(memory["calls"]))


def check_graph(probe: Probe, model: Model, bundle: Bundle, small: bool) -> None:
    stored = {
        key: get(value) for key, value in bundle.map("graph").items() if isinstance(value, dict) and "dtype" in value
    }
    for name, key in (
        ("keys", "keys"),
        ("graph_starts", "starts"),
        ("targets", "targets"),
        ("counts", "counts"),
        ("centroids", "centroids"),
    ):
        same(probe.array(model, name, small), stored[key])


def test_every_array_is_pythons(probe: Probe, folder: Path) -> None:
    model, bundle = probe.load(folder), open_bundle(folder)
    components = load_components(folder, LoadOptions())
    assert model.content_hash == bundle.manifest.content_hash
    assert model.names == list(components.index.names)
    check_stage(probe, model, bundle, components, small=False)
    numbers, cascade = probe.numbers(model), components.cascade
    assert (numbers["has_small"], numbers["has_full"], model.stages) == (cascade is not None, 1, 2 if cascade else 1)
    if cascade is not None:
        part = bundle.part("static")
        assert part is not None
        check_stage(probe, model, part, cascade.components, small=True)
        assert (numbers["least"], numbers["nothing"]) == (cascade.least, cascade.nothing)
        assert numbers["declines"] == cascade.declines
    rows, scales = probe.array(model, "pairs"), probe.array(model, "piece_scales")
    same(rows.astype(np.int8), components.word_vectors._pairs)
    same(scales, components.word_vectors._scales)
    model.close()


def test_the_priors_weights(probe: Probe, folder: Path) -> None:
    model, prior = probe.load(folder), load_components(folder, LoadOptions()).prior
    found = (c.c_double * 128)()
    size = probe.library.probe_prior(model.handle, found)
    blocks = (prior.tool, prior.end, prior.nothing, prior.search, prior.wish, prior.values)
    assert found[:size] == [weight for block in blocks for weight in astuple(block)]
    model.close()


def test_tools_are_as_they_stand_in_the_file(probe: Probe, folder: Path) -> None:
    model, wanted = probe.load(folder), load_components(folder, LoadOptions()).tools
    for number, name in enumerate(model.names):
        texts = (Text * 3)()
        care = probe.library.probe_tool(model.handle, number, texts)
        tool = wanted[name]
        assert [str(texts[0]), str(texts[1])] == [tool.name, tool.description]
        assert json.loads(str(texts[2])) == tool.parameters
        assert care == (-1.0 - (tool.risk or 0.0) if tool.confirm else tool.risk or 0.0)
        assert probe.library.er_tool_find(model.handle, Text.of(name)) == number
        probe.library.er_tool_definition.restype = Text
        assert json.loads(str(probe.library.er_tool_definition(model.handle, number))) == tool.to_dict()
    for name in ("", "nobody", model.names[0] + "x"):
        assert probe.library.er_tool_find(model.handle, Text.of(name)) == -1
    model.close()


def test_a_table_alone(probe: Probe, tmp_path: Path) -> None:
    """The first stage alone: the bundle's own encoder is not even opened, and arrays are the small one's."""
    folder = build("many, with a first stage", tmp_path / "bundle")
    (folder / "encoder.onnx").write_bytes(b"nobody looks")
    (folder / "graph.msgpack").unlink()
    with pytest.raises(CoreError, match=r"encoder\.onnx: expected"):
        probe.load(folder)
    model, bundle = probe.load(folder, first_stage_alone=1), open_bundle(folder, only=("static-table", "static-index"))
    part, numbers = bundle.part("static"), probe.numbers(model, small=True)
    assert part is not None and (numbers["has_small"], numbers["has_full"], model.stages, model.encodes) == (
        1,
        0,
        1,
        True,
    )
    rows, scales = read_table(part.map("table"), model.dimension, "here")
    same(probe.array(model, "table_rows", small=True), rows)
    same(probe.array(model, "table_scales", small=True), scales)
    model.close()


def test_a_first_stage_that_is_never_asked_is_not_read(probe: Probe, tmp_path: Path) -> None:
    folder = build("many, with a first stage", tmp_path / "bundle")
    (folder / "static-table.msgpack").unlink()
    model = probe.load(folder, most_loss=-1.0)
    assert (model.stages, probe.numbers(model)["has_small"]) == (1, 0)
    model.close()
    with pytest.raises(CoreError, match=r"static-table\.msgpack: missing"):
        probe.load(folder)


def shuffled(forgery: Forgery) -> None:
    graph = forgery.map("graph")
    keys, starts, targets, counts = (get(graph[key]) for key in ("keys", "starts", "targets", "counts"))
    order = list(range(len(keys)))
    random.Random(1).shuffle(order)
    spans = [np.arange(starts[row], starts[row + 1]) for row in order]
    graph["keys"] = pack(keys[order], "<i4")
    graph["starts"] = pack(np.cumsum([0, *map(len, spans)]), "<i4")
    graph["targets"], graph["counts"] = (
        pack(targets[np.concatenate(spans)], "<i4"),
        pack(counts[np.concatenate(spans)], "<f4"),
    )


def test_a_graph_in_any_order_is_the_same(probe: Probe, tmp_path: Path) -> None:
    folder = build("few", tmp_path / "bundle")
    forgery = Forger(folder).forgery()
    shuffled(forgery)
    (tmp_path / "shuffled").mkdir()
    forgery.write(tmp_path / "shuffled")
    model = probe.load(tmp_path / "shuffled")
    check_graph(probe, model, open_bundle(folder), small=False)
    keys = probe.array(model, "keys")
    for row in range(0, len(keys), 7):
        assert probe.library.probe_row(model.handle, np.ascontiguousarray(keys[row]).ctypes.data_as(c.c_void_p)) == row
    nobody = np.full(keys.shape[1], 77, np.int32)
    assert probe.library.probe_row(model.handle, nobody.ctypes.data_as(c.c_void_p)) == -1
    model.close()


class File(c.Structure):
    _fields_ = (("name", Text), ("bytes", c.c_char_p), ("length", c.c_size_t))


def test_files_in_memory(probe: Probe, tmp_path: Path) -> None:
    """At any address: arrays that do not lie at a multiple of their size are copied."""
    folder = build("few", tmp_path / "bundle")
    held = [(path.name, b"x" * (i % 5) + path.read_bytes()) for i, path in enumerate(sorted(folder.iterdir()))]

    def load(files: Sequence[tuple[str, bytes]]) -> c.c_void_p:
        array = (File * len(files))()
        for i, (name, data) in enumerate(files):
            offset = len(data) - (folder / name).stat().st_size
            array[i].name, array[i].length = Text.of(name), len(data) - offset
            c.memmove(
                c.byref(array[i], File.bytes.offset), c.byref(c.c_void_p(c.cast(data, c.c_void_p).value + offset)), 8
            )
        model = c.c_void_p()
        probe("er_load_files", array, c.c_size_t(len(files)), None, c.byref(model))
        return model

    handle, model = load(held), probe.load(folder)
    other = Model(probe, handle)
    for name in ("vectors", "keys", "counts", "weights", "bias", "memory_vectors", "map"):
        same(probe.array(other, name), probe.array(model, name))
    other.close()
    model.close()
    with pytest.raises(CoreError, match=r"bundle/tools\.json: missing"):
        load([one for one in held if one[0] != "tools.json"])
    with pytest.raises(CoreError, match="bundle/manifest: missing"):
        load([])


# ---- What is refused ----


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="tells what of a file is resident")
def test_what_loading_read_and_deciding_does_not_is_no_longer_resident(core: c.CDLL, tmp_path: Path) -> None:
    own = Path(shutil.copytree(BASE, tmp_path / "own"))  # which no other test's model has mapped
    model = Core(core).load(own)
    with model.task("mute the speakers") as task:
        task.next()
    large = max(own.iterdir(), key=lambda file: file.stat().st_size)
    smaps = Path("/proc/self/smaps").read_text(encoding="utf-8")
    resident = re.findall(rf"{re.escape(str(large))}\n.*?^Rss: +(\d+) kB", smaps, re.MULTILINE | re.DOTALL)
    assert 0 < sum(map(int, resident)) * 1024 < large.stat().st_size / 2
    model.close()
