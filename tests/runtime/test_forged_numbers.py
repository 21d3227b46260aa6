"""Bundles whose hashes are all right and whose content is not: numbers, tables, entries, texts and sizes made up."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from patience import PATIENCE_S
from rewritten import changed, rewrite

import edgeret
from edgeret.bundle.codec import unpack
from edgeret.bundle.layout import FORMAT_VERSION, MANIFEST, wrap
from edgeret.bundle.reader import open_bundle, read_manifest, verify_bundle
from edgeret.errors import BundleError, InputError
from edgeret_export.reference.scoring.calibration import Calibration, CalibrationParameters


def with_calibration(folder: Path, **numbers: object) -> None:
    """Changes fitted numbers."""
    info = dict(read_manifest(folder).info)
    info["calibration"] = {**info["calibration"], "parameters": {**info["calibration"]["parameters"], **numbers}}
    rewrite(folder, {}, info)


def with_options(folder: Path, **options: object) -> None:
    """Changes options of the graph."""
    stored = unpack((folder / "graph.msgpack").read_bytes(), "graph")["options"]
    changed(folder, "graph.msgpack", options={**stored, **options})


def packed(array: np.ndarray) -> dict[str, Any]:
    """An array as a bundle holds it."""
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": array.tobytes()}


def array(folder: Path, name: str, key: str) -> np.ndarray:
    """A copy of an array of a bundle's file."""
    stored = unpack((folder / name).read_bytes(), name)[key]
    return np.frombuffer(stored["data"], stored["dtype"]).reshape(stored["shape"]).copy()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_probability", float("nan")),
        ("min_probability", 2.0),
        ("head_weight", 1e39),
        ("head_weight", -1.0),
        ("graph_weight", 1e300),
        ("unseen_bias", float("inf")),
        ("added_bias", -1e5),
        ("memory_weight", 101),
        ("later_head_weight", -0.1),
    ],
)
def test_fitted_numbers_out_of_range_are_refused_by_name(tiny: Path, name: str, value: float) -> None:
    with_calibration(tiny, **{name: value})
    with pytest.raises(BundleError, match=f'calibration.: "{name}" (must lie between|is not finite)'):
        edgeret.load(tiny)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 1e-300),
        ("temperature", float("nan")),
        ("cluster_share", 2.0),
        ("repeat_factor", -1.0),
        ("repeat_factor", 0.0),
        ("cluster_prior", 1e30),
        ("global_prior", 0),
    ],
)
def test_options_of_the_graph_out_of_range_are_refused_by_name(tiny: Path, name: str, value: float) -> None:
    with_options(tiny, **{name: value})
    with pytest.raises(BundleError, match=f'graph.: "{name}" (must lie between|is not finite)'):
        edgeret.load(tiny)


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        ("graph.msgpack", "counts", 3e38),
        ("graph.msgpack", "counts", np.nan),
        ("head.msgpack", "popular", 1e30),
        ("head.msgpack", "bias", -np.inf),
        ("index.msgpack", "vectors", np.nan),
    ],
)
def test_arrays_with_numbers_too_large_or_not_finite_are_refused(tiny: Path, file: str, key: str, value: float) -> None:
    numbers = array(tiny, file, key)
    numbers.flat[0] = value
    changed(tiny, file, **{key: packed(numbers)})
    with pytest.raises(BundleError, match=f'"{key}" holds numbers that are not finite, or too large'):
        edgeret.load(tiny)


@pytest.mark.parametrize("key", ["weight_scales", "spelling_scales"])
@pytest.mark.parametrize("value", [-1e-3, 1.1e6])
def test_scales_of_the_heads_weights_out_of_range_are_refused(tiny: Path, key: str, value: float) -> None:
    numbers = array(tiny, "head.msgpack", key)
    numbers.flat[0] = value
    changed(tiny, "head.msgpack", **{key: packed(numbers)})
    with pytest.raises(BundleError, match=f'"{key}" must lie between 0 and 1e[+]06'):
        edgeret.load(tiny)


@pytest.mark.parametrize(
    ("key", "place", "value"),
    [("starts", 0, 1), ("starts", -1, 10_000), ("starts", 1, 10_000), ("starts", 1, -1), ("followers", 0, -1),
     ("followers", 0, 10_000), ("followers", 1, 0)],
)  # fmt: skip
def test_rows_of_the_history_that_lead_out_of_it_are_refused(tiny: Path, key: str, place: int, value: int) -> None:
    numbers = array(tiny, "head.msgpack", key)
    numbers[place] = value
    changed(tiny, "head.msgpack", **{key: packed(numbers)})
    with pytest.raises(BundleError, match="the rows of its history contradict each other"):
        edgeret.load(tiny)


def test_rows_of_the_spelling_of_another_length_are_refused(tiny: Path) -> None:
    changed(tiny, "head.msgpack", spelling=packed(array(tiny, "head.msgpack", "spelling")[:, :100].copy()))
    with pytest.raises(BundleError, match='"spelling" must have rows of 1024 bytes, or of half as many'):
        edgeret.load(tiny)


@pytest.mark.parametrize(
    ("place", "value"),
    [((-1, 0), 10_000), ((-1, 0), -2), ((-1, 1), 99), ((-1, 2), 1_000), ((-1, 2), -5), ((0, 2), 0)],
    ids=[
        "cluster beyond",
        "cluster below",
        "longer than the order",
        "label beyond",
        "label below",
        "unused place used",
    ],
)
def test_keys_of_clusters_and_labels_that_are_not_there_are_refused(
    tiny: Path, place: tuple[int, int], value: int
) -> None:
    keys = array(tiny, "graph.msgpack", "keys")
    keys[place] = value
    changed(tiny, "graph.msgpack", keys=packed(keys))
    with pytest.raises(BundleError, match="contradict each other"):
        edgeret.load(tiny)


def test_a_row_that_comes_twice_is_refused(tiny: Path) -> None:
    keys = array(tiny, "graph.msgpack", "keys")
    keys[-1] = keys[-2]
    changed(tiny, "graph.msgpack", keys=packed(keys))
    with pytest.raises(BundleError, match="contradict each other"):
        edgeret.load(tiny)


def test_centroids_of_another_length_than_1_are_refused(tiny: Path) -> None:
    changed(tiny, "graph.msgpack", centroids=packed(array(tiny, "graph.msgpack", "centroids") * 3))
    with pytest.raises(BundleError, match="centroids are not of length 1"):
        edgeret.load(tiny)


def test_a_label_that_comes_twice_is_refused(tiny: Path) -> None:
    labels = unpack((tiny / "head.msgpack").read_bytes(), "head")["labels"]
    changed(tiny, "head.msgpack", labels=[labels[1], *labels[1:]])
    changed(tiny, "graph.msgpack", labels=[labels[1], *labels[1:]])
    with pytest.raises(BundleError, match=r"one of them twice|contradict each other"):
        edgeret.load(tiny)


def test_a_decision_that_would_be_nan_is_refused(tiny: Path) -> None:
    policy = Calibration(CalibrationParameters())
    for bad in (np.nan, np.inf):
        for scores in ([0.5, bad], [bad, bad], [bad]):
            with pytest.raises(BundleError, match="no probabilities, but NaN or infinity"):
                policy.calibrate(np.array(scores, np.float32), policy.map)


@pytest.mark.parametrize("floor", [float("nan"), -0.1, 1.5])
def test_a_floor_that_is_no_probability_is_refused(tiny: Path, floor: float) -> None:
    task = edgeret.load(tiny).task("write a note")
    with pytest.raises(InputError, match=r"min_probability must (lie between 0 and 1|be a number)"):
        task.next(min_probability=floor)


def test_a_key_that_comes_twice_is_refused(tiny: Path) -> None:
    data = (tiny / "graph.msgpack").read_bytes()
    twice = bytes([data[0] + 1]) + msgpack.packb("labels") + msgpack.packb(1) + data[1:]
    info = dict(read_manifest(tiny).info)
    info["calibration"] = {**info["calibration"], "graph": hashlib.sha256(twice).hexdigest()}
    rewrite(tiny, {"graph.msgpack": twice}, info)
    with pytest.raises(BundleError, match="a map with a key twice"):
        edgeret.load(tiny)


EXHAUSTING = {
    "maps in the manifest": lambda: (
        b"\x82\xa5files\x90\xa4info\x81\xa1k" + b"\xdc\xff\xff" * 200 + b"\x80" * 15_000_000
    ),
    "maps beside one another": lambda: (
        b"\x82\xa5files\x90\xa4info\x81\xa1k" + (b"\x92" + b"\xdc\xff\xff" + b"\x80" * 65_535) * 200 + b"\xc0"
    ),
    "nested arrays": lambda: b"\x82\xa5files\x90\xa4info\x81\xa1k" + b"\x91" * 400 + b"\x90",
}
LOAD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
import edgeret, time
edgeret.load(sys.argv[2])
base, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
try:
    edgeret.load(sys.argv[1])
except edgeret.EdgeretError as error:
    print(str(error)[:300])
print(time.process_time() - started, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1000)
"""


def cost_of_loading(folder: Path, good: Path) -> tuple[str, float, float]:
    """What a fresh process says, its seconds of CPU and the megabytes it grew by, beyond a good bundle's."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), str(good)], capture_output=True, text=True, check=True
    )
    *said, last = done.stdout.splitlines()
    seconds, megabytes = map(float, last.split())
    return " ".join(said), seconds, megabytes


@pytest.mark.parametrize("kind", EXHAUSTING)
def test_a_manifest_made_to_exhaust_memory_costs_little(tiny: Path, tiny_original: Path, kind: str) -> None:
    (tiny / MANIFEST).write_bytes(wrap(FORMAT_VERSION, EXHAUSTING[kind]()))
    said, seconds, megabytes = cost_of_loading(tiny, tiny_original)
    assert "build the bundle again" in said
    assert seconds < 2
    assert megabytes < 200


def test_empty_maps_under_an_unknown_key_cost_little(tiny: Path, tiny_original: Path) -> None:
    data = (tiny / "index.msgpack").read_bytes()
    maps = b"\xdd" + struct.pack(">I", 60_000_000) + b"\x80" * 60_000_000
    rewrite(tiny, {"index.msgpack": bytes([data[0] + 1]) + b"\xa4more" + maps + data[1:]})
    said, seconds, megabytes = cost_of_loading(tiny, tiny_original)
    assert "more maps and arrays" in said
    assert seconds < 2
    assert megabytes < 300


def test_a_large_file_of_an_unknown_role_is_not_read_when_loading(tiny: Path, tiny_original: Path) -> None:
    """Nor held in memory when verifying; sparse files are large for nothing."""
    body = msgpack.unpackb((tiny / MANIFEST).read_bytes())[3]
    value = msgpack.unpackb(body)
    with (tiny / "video").open("wb") as stream:
        stream.truncate(4 << 30)
    entry = {"name": "video", "role": "film", "size": 4 << 30, "sha256": "0" * 64, "licence": "", "source": ""}
    value["files"] = sorted([*value["files"], entry], key=lambda e: e["name"])
    (tiny / MANIFEST).write_bytes(wrap(FORMAT_VERSION, msgpack.packb(value)))
    said, seconds, megabytes = cost_of_loading(tiny, tiny_original)
    assert said == ""
    assert seconds < 2
    assert megabytes < 100


def test_tools_made_to_exhaust_memory_are_refused_unread(tiny: Path, tiny_original: Path) -> None:
    rewrite(tiny, {"tools.json": b"[\n" + b"{},\n" * 15_000_000 + b"{}\n]\n"})
    said, seconds, megabytes = cost_of_loading(tiny, tiny_original)
    assert "15000001 lines for the" in said
    assert seconds < 2
    assert megabytes < 200


@pytest.mark.parametrize("shape", [[0, (1 << 63) - 1], [1 << 40, 0], [0, 0, 0]])
def test_shapes_of_nothing_but_names_are_refused(tiny: Path, shape: list[int]) -> None:
    changed(tiny, "head.msgpack", segment_weights={"dtype": "<f4", "shape": shape, "data": b""})
    with pytest.raises(BundleError, match=r"another shape|has no rows"):
        edgeret.load(tiny)


@pytest.mark.parametrize(
    ("key", "value"), [("role", "r" * 101), ("licence", "l" * 501), ("source", "s" * 3_000_000), ("size", 65 << 20)]
)
def test_entries_with_endless_texts_or_sizes_beyond_their_role_are_refused(tiny: Path, key: str, value: object) -> None:
    value_of = msgpack.unpackb(msgpack.unpackb((tiny / MANIFEST).read_bytes())[3])
    entry = next(e for e in value_of["files"] if e["role"] == ("tokenizer" if key == "size" else "tools"))
    entry[key] = value
    (tiny / MANIFEST).write_bytes(wrap(FORMAT_VERSION, msgpack.packb(value_of)))
    with pytest.raises(BundleError, match=r"characters|is said to have") as caught:
        open_bundle(tiny)
    assert len(str(caught.value)) < 1000


def test_a_folder_in_a_files_place_is_named_and_leaks_nothing(tiny: Path) -> None:
    (tiny / "head.msgpack").unlink()
    (tiny / "head.msgpack").mkdir()
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.is_dir() else 0
    for _ in range(5):
        with pytest.raises(BundleError, match=r"head\.msgpack: a folder"):
            edgeret.load(tiny)
    assert not before or len(list(descriptors.iterdir())) <= before


def test_a_hash_from_elsewhere_is_checked_before_anything_else_is_read(tiny: Path) -> None:
    content_hash = read_manifest(tiny).content_hash
    assert edgeret.load(tiny, content_hash=content_hash.upper()).manifest.content_hash == content_hash
    for file in tiny.iterdir():
        if file.name != MANIFEST:
            file.unlink()
    with pytest.raises(BundleError, match=f"another bundle than the one asked for .*found {content_hash}"):
        edgeret.load(tiny, content_hash="0" * 64)
    with pytest.raises(BundleError, match="another bundle than the one asked for"):
        verify_bundle(tiny, content_hash="0" * 64)


FORK = """
import os, sys, threading
import edgeret
runtime = edgeret.load(sys.argv[1])
task = runtime.task("write a note")
stop = threading.Event()
def decide():
    while not stop.is_set():
        runtime.task("play my song").next()
thread = threading.Thread(target=decide)
thread.start()
refused = 0
for _ in range(20):
    child = os.fork()
    if not child:
        tried = 0
        for attempt in (lambda: runtime.task("write a note"), lambda: runtime.search("note"), task.next):
            try:
                attempt()
            except edgeret.EdgeretError as error:
                tried += "loaded before this process was forked; load it again" in str(error)
        os._exit(tried)
    refused += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
stop.set()
thread.join()
print(refused)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_another_thread_decides_is_refused_and_never_hangs(tiny: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tiny)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.stdout.strip() == "60", done.stderr


def test_a_runtime_loaded_in_the_forked_child_decides(tiny: Path) -> None:
    code = FORK[: FORK.index("stop =")] + (
        "child = os.fork()\nif not child:\n    os._exit(edgeret.load(sys.argv[1]).task('write a note').next().tool"
        " == 'write_note')\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tiny)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout.strip() == "1", done.stderr


def test_a_manifest_that_is_one_long_array_header_is_damage(tiny: Path) -> None:
    for data in (b"\xdd\xff\xff\xff\xff", b"\x94" * 100_000, b""):
        (tiny / MANIFEST).write_bytes(data)
        with pytest.raises(BundleError, match=r"manifest: damaged"):
            read_manifest(tiny)
