"""A second reader, written from docs/FORMAT.md alone: whatever it cannot reproduce, the specification does not say.

Of edgeret it uses the facade only, as the other side of each comparison.
"""

from __future__ import annotations

import hashlib
import json
from itertools import product
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

import edgeret

Array = NDArray[Any]
QUERIES = [
    "find my file and send a mail",
    "book the meeting then send a mail",
    "play",
    "open calendar day",
    "call a phone",
]
PLANS = "", "find_file", "find_file send_mail", "phone_call", "book_meeting phone_call book_meeting write_note"
HISTORIES = [tuple(plan.split()) for plan in (*PLANS, "write_note " * 9)]


def wrap(version: int, body: bytes) -> bytes:
    """Section 2.1: the manifest's bytes around a body, written by hand."""
    digest = hashlib.sha256(f"edgeret-bundle/{version}\n".encode() + body).digest()
    mark, width = next((m, w) for m, w in ((b"\xc4", 1), (b"\xc5", 2), (b"\xc6", 4)) if len(body) < 1 << 8 * w)
    length = mark + len(body).to_bytes(width, "big")
    return b"\x94\xaeedgeret-bundle" + bytes([version]) + b"\xc4\x20" + digest + length + body


def array(value: dict[str, Any]) -> Array:
    """Section 2.4; a length that does not match the shape is an error of `reshape`."""
    assert value["dtype"] in ("<f4", "<i4", "<i8")
    return np.frombuffer(value["data"], value["dtype"]).reshape(value["shape"])


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


class Reader:
    """Sections 1 to 9; everything in float64, where the reference has float32."""

    def __init__(self, folder: Path) -> None:
        """Section 11: proves every byte, then parses."""
        self.manifest = (folder / "manifest").read_bytes()
        magic, version, _, body = msgpack.unpackb(self.manifest)
        assert (magic, version, self.manifest) == ("edgeret-bundle", 2, wrap(2, body))
        self.body = msgpack.unpackb(body)
        self.info, self.entries = self.body["info"], {entry["role"]: entry for entry in self.body["files"]}
        self.files = {role: (folder / entry["name"]).read_bytes() for role, entry in self.entries.items()}
        for role, data in self.files.items():
            expected = self.entries[role]["size"], self.entries[role]["sha256"]
            assert (len(data), hashlib.sha256(data).hexdigest()) == expected
        self.index, self.graph, self.head = (msgpack.unpackb(self.files[r]) for r in ("index", "graph", "head"))
        self.tools = [tool["name"] for tool in json.loads(self.files["tools"])]
        self.labels: list[str] = self.head["labels"]
        assert self.labels == self.graph["labels"] and self.labels[-1] == "<end>"
        self.vectors = dict(zip(self.index["names"], array(self.index["vectors"]), strict=True))
        self.unseen = [name for name in self.index["names"] if name not in self.labels]

    def encode(self, query: str) -> tuple[Array, Array]:
        """Section 5: the query's vector (d,) and its segment means (3, d)."""
        spec = self.info["encoder"]["spec"]
        tokenizer = Tokenizer.from_buffer(self.files["tokenizer"])
        tokenizer.no_padding()
        tokenizer.enable_truncation(spec["max_tokens"])
        ids = np.array([tokenizer.encode(spec["query_prefix"] + query).ids], np.int64)
        session = onnxruntime.InferenceSession(self.files["encoder"], providers=["CPUExecutionProvider"])
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        feeds = {i.name: feeds[i.name] for i in session.get_inputs()}
        vector, tokens = session.run(["sentence_embedding", "token_embeddings"], feeds)
        words = tokens[0, 1:-1].astype(np.float64)
        segments = np.zeros((3, spec["dimension"]))
        for i, word in enumerate(words):
            segments[3 * i // len(words)] += word
        return vector[0], segments / np.maximum(np.linalg.norm(segments, axis=1, keepdims=True), 1e-12)

    def numbers(self, history: tuple[str, ...]) -> list[int]:
        """Label numbers of a history, -3 for unseen tools."""
        assert set(history) <= set(self.tools)
        return [self.labels.index(name) if name in self.labels else -3 for name in history]

    def walk(self, vector: Array, history: tuple[str, ...]) -> Array:
        """Section 7: the graph's distribution (L,)."""
        options, size = self.graph["options"], len(self.labels)
        keys, starts, targets, counts = (array(self.graph[k]) for k in ("keys", "starts", "targets", "counts"))
        rows = {tuple(key): row for row, key in enumerate(keys.tolist())}

        def count(cluster: int, context: list[int]) -> Array:
            result = np.zeros(size)
            unused = [-2] * (options["order"] - len(context))
            if (row := rows.get((cluster, len(context), *context, *unused))) is not None:
                span = slice(starts[row], starts[row + 1])
                result[targets[span]] = counts[span]
            return result

        cosines = array(self.graph["centroids"]) @ vector
        nearest = np.argsort(-cosines)[: options["nearest"]].tolist()
        weights = softmax(cosines[nearest] / options["temperature"])
        beta, gamma = options["cluster_prior"], options["global_prior"]
        padded = [-1] * options["order"] + self.numbers(history)
        everywhere, p = np.full(size, 1 / size), np.zeros(size)
        for n in range(options["order"] + 1):
            context = padded[len(padded) - n :]
            seen = count(-1, context)
            everywhere = (seen + gamma * everywhere) / (seen.sum() + gamma)
            local = sum(w * count(k, context) for k, w in zip(nearest, weights, strict=True))
            share = options["cluster_share"] if n else 0.0
            p = (local + beta * (share * p + (1 - share) * everywhere)) / (local.sum() + beta)
        p[sorted({t for t in self.numbers(history) if t >= 0})] *= options["repeat_factor"]
        return p / p.sum()

    def score(self, vector: Array, segments: Array, history: tuple[str, ...]) -> Array:
        """Section 8: the head's log-probabilities (L,)."""
        names = ("weights", "bias", "called", "last", "count", "segment_weights")
        weights, bias, called, last, count, mix = (array(self.head[k]).astype(np.float64) for k in names)
        n, numbers = len(history), self.numbers(history)
        direction = self.head["description_weight"] * vector + mix[min(n, len(mix) - 1)] @ segments
        logits = weights @ vector + bias + count[min(n, len(count) - 1)]
        logits[:-1] += [self.vectors[name] @ direction for name in self.labels[:-1]]
        logits += called[sorted({t for t in numbers if t >= 0})].sum(axis=0)
        if numbers and numbers[-1] >= 0:
            logits += last[numbers[-1]]
        return np.log(softmax(logits))

    def decide(self, query: str, history: tuple[str, ...]) -> tuple[Array, Array]:
        """Section 9: fused, and calibrated, probabilities of labels, then unseen tools."""
        p = self.info["calibration"]["parameters"]
        vector, segments = self.encode(query)
        head, graph = self.score(vector, segments, history), self.walk(vector, history)
        known = p["head_weight"] * head + p["graph_weight"] * np.log(graph + 1e-12)
        known -= np.log(np.exp(known - known.max()).sum()) + known.max()
        unseen = [p["unseen_slope"] * (self.vectors[t] @ vector) + p["unseen_bias"] for t in self.unseen]
        unseen = [x - p["unseen_called"] * (t in history) for t, x in zip(self.unseen, unseen, strict=True)]
        fused = softmax(np.array([*known, *unseen]))
        top, calibration_map = int(fused.argmax()), array(p["calibration_map"]).astype(np.float64)
        confidence = fused[top]
        target = np.interp(confidence, calibration_map[:, 0], calibration_map[:, 1])
        rest = np.delete(fused, top)
        runner_up = rest.max() / rest.sum()
        target = max(target, runner_up / (1 + runner_up) + 1e-6)
        return fused, np.where(np.arange(len(fused)) == top, target, fused * (1 - target) / rest.sum())

    def conformal_set(self, calibrated: Array, coverage: float) -> set[int]:
        """Section 9: which candidates a set of this coverage holds."""
        quantiles = array(self.info["calibration"]["parameters"]["right_probabilities"])
        threshold = quantiles[int((1 - coverage) * (len(quantiles) - 1))]
        return {int(calibrated.argmax()), *np.flatnonzero(calibrated >= threshold).tolist()}


def test_packing_the_manifest_again_gives_its_bytes(tiny_original: Path) -> None:
    reader = Reader(tiny_original)
    keys = ("name", "role", "size", "sha256", "licence", "source")
    entries = [{key: entry[key] for key in keys} for entry in sorted(reader.body["files"], key=lambda e: e["name"])]
    assert wrap(2, msgpack.packb({"files": entries, "info": reader.info})) == reader.manifest
    hashes, spec = {r: e["sha256"] for r, e in reader.entries.items()}, reader.info["encoder"]["spec"]
    pairs = {"weights": hashes["encoder"], "tokenizer": hashes["tokenizer"], **{key: spec[key] for key in sorted(spec)}}
    fingerprint = hashlib.sha256(msgpack.packb(pairs)).hexdigest()
    parts = (reader.index, reader.graph, reader.head, reader.info["calibration"])
    assert {part["encoder"] for part in parts} == {reader.info["encoder"]["fingerprint"]} == {fingerprint}
    assert all(reader.info["calibration"][role] == hashes[role] for role in ("graph", "head"))
    assert reader.tools == reader.index["names"]
    golden = reader.info["golden"]
    np.testing.assert_allclose([reader.encode(q)[0] for q in golden["queries"]], array(golden["vectors"]), atol=1e-5)


@pytest.mark.parametrize(
    "calibration_map", [None, [(0, 0), (0.5, 0.3), (0.9, 0.6), (1, 0.7)]], ids=["as built", "bent"]
)
def test_second_reader_agrees(tiny: Path, calibration_map: list[tuple[float, float]] | None) -> None:
    """On graph, head and fused probabilities, also with a calibration map that moves everything."""
    if calibration_map is not None:
        body = Reader(tiny).body
        packed = {
            "dtype": "<f4",
            "shape": [len(calibration_map), 2],
            "data": np.array(calibration_map, "<f4").tobytes(),
        }
        body["info"]["calibration"]["parameters"]["calibration_map"] = packed
        (tiny / "manifest").write_bytes(wrap(2, msgpack.packb(body)))
    reader, runtime = Reader(tiny), edgeret.load(tiny)
    for query, history in product(QUERIES, HISTORIES):
        task = runtime.task(query)
        for tool in history:
            task.call(tool)
        vector, segments = reader.encode(query)
        numbers = reader.numbers(history)
        walked = runtime.components.graph.distribution(runtime.components.graph.locate(task.request.vector), numbers)
        scored = runtime.components.head.log_probabilities(task.request.query_logits, numbers)
        np.testing.assert_allclose(reader.walk(vector, history), walked, rtol=0, atol=1e-5)
        np.testing.assert_allclose(reader.score(vector, segments, history), scored, rtol=0, atol=1e-5)
        assert (*reader.labels, *reader.unseen) == task.request.names
        fused, calibrated = reader.decide(query, history)
        assert fused.sum() == pytest.approx(1)
        np.testing.assert_allclose(calibrated, task.probabilities(), rtol=0, atol=1e-5)
        for coverage in (0.5, 0.9, 0.99):
            mask = runtime.components.calibration.candidate_set(task.candidates(), coverage)
            names = [task.request.names[i] for i in reader.conformal_set(task.probabilities(), coverage)]
            assert {candidate.tool for candidate in mask} == set(names)


def test_exemplars_are_as_specified(tiny_original: Path) -> None:
    exemplars = json.loads(Reader(tiny_original).files["exemplars"])
    assert all({"query", "calls"} == set(exemplar) for exemplar in exemplars)
    assert all({"tool", "arguments"} == set(call) for exemplar in exemplars for call in exemplar["calls"])


def test_arrays_lie_where_a_reader_may_map_them(tiny_original: Path) -> None:
    reader = Reader(tiny_original)
    for role in ("index", "graph", "head"):
        data, content = reader.files[role], getattr(reader, role)
        arrays = [value for value in content.values() if isinstance(value, dict) and "data" in value]
        assert arrays
        for value in arrays:
            assert list(value) == ["dtype", "shape", "padding", "data"]
            assert set(value["padding"]) <= {0} and len(value["padding"]) < 64
            if value["data"]:
                place = data.index(b"\xa4data", data.index(value["padding"] + b"\xa4data")) + 5
                place = data.index(value["data"], place)
                assert place % 64 == 0, role


@pytest.mark.parametrize("name", ["manifest", "graph.msgpack"])
def test_second_reader_refuses_damage(tiny: Path, name: str) -> None:
    (tiny / name).write_bytes((tiny / name).read_bytes()[:-1] + b"!")
    with pytest.raises((AssertionError, ValueError)):
        Reader(tiny)
