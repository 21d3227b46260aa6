"""A second reader, written from docs/FORMAT.md alone: whatever it cannot reproduce, the specification does not say.

Of edgeret it uses the facade only, as the other side of each comparison.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from dataclasses import replace
from itertools import cycle, pairwise, product
from pathlib import Path

import msgpack
import numpy as np
import onnxruntime
import pytest
from conftest import WORDS, tiny_bundle
from format_decision import DecisionReader, array
from format_prior import Array, log_sum, softmax, unit
from format_shown import examples_of
from python_reader import by_python
from tokenizers import Tokenizer

import edgeret
from edgeret import Tool
from edgeret.runtime.history import History
from edgeret_export.fitting.training_set import FEW_PLANS
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import components_of, request_of

TOOLS = [
    Tool("find_file", "find a file", {"type": "object", "properties": {"name": {"description": "of the file"}}}),
    Tool("send_mail", "send a mail, with what find_file found", {"properties": {"mailAddress": {}, "text": 5}}),
    Tool("write_note", "write a note"),
    Tool("play_music", "play music", {"properties": {"file_id": {}}, "required": ["file_id"]}),
    Tool("book_meeting", "book a meeting", {"properties": {"day": {"description": "as Get_Day gives it"}}}),
    Tool("phone_call", "call a phone", {"properties": {"address": {}}, "required": ["address", "phone_number", 5]}),
    Tool("get_day", "find free days of the calendar"),
    Tool("getPhone", "look a phone up"),
    Tool("closeNote", "close it", {"properties": [], "required": "note_id"}),
]
QUERIES = [
    "find my file and send a mail", "book the meeting then send a mail", "play", "open calendar day", "call a phone",
    "close note", "zebra", "any mail from a phone?", "mail my file to a@b.org on Tuesday",
    "Anruf um 9 Uhr: 0123 456 789", "明天 9点",
    "call the phone in 20 minutes, 15% off or 30 euros", "find '/tmp/my file.pdf' and book the meeting for 2026-12-01",
    "don't open the note, close it", "tell Bo to call the phone",
    "write a note, and also play the music; then find me free days. Call the phone after that",
    "öffne die note nicht, dann spiel music", "n'ouvre pas la note puis appelle le phone",
    "no cierres la note y luego pon la music, por favor", "不要打开 note，然后播放 music，再给我打电话",
    " ".join(np.random.default_rng(0).choice(WORDS, 90)) + " and then send it, or share it",
]  # fmt: skip
PLANS = "", "find_file", "find_file send_mail", "phone_call", "book_meeting phone_call book_meeting write_note"
HISTORIES = [tuple(plan.split()) for plan in (*PLANS, "write_note " * 9, "their_tool", "find_file their_tool")]


def wrap(version: int, body: bytes) -> bytes:
    """Section 2.1: the manifest's bytes around a body, written by hand."""
    digest = hashlib.sha256(f"edgeret-bundle/{version}\n".encode() + body).digest()
    mark, width = next((m, w) for m, w in ((b"\xc4", 1), (b"\xc5", 2), (b"\xc6", 4)) if len(body) < 1 << 8 * w)
    length = mark + len(body).to_bytes(width, "big")
    return b"\x94\xaeedgeret-bundle" + bytes([version]) + b"\xc4\x20" + digest + length + body


def rows(numbers: Array, scales: Array, width: int | None = None) -> Array:
    """Section 8.1: rows of weights, stored as a byte each, or as half a byte where that makes rows of this width."""
    if numbers.shape[1] * 2 == width:
        numbers = np.stack((numbers << 4 >> 4, numbers >> 4), axis=2).reshape(len(numbers), width)
    return numbers.astype(np.float64) * scales[:, None]


class Reader(DecisionReader):
    """Sections 1 to 9 and 16; everything in float64, where the reference has float32."""

    def __init__(self, folder: Path) -> None:
        """Section 11: proves every byte, then parses."""
        self.manifest = (folder / "manifest").read_bytes()
        magic, version, _, body = msgpack.unpackb(self.manifest)
        assert (magic, version, self.manifest) == ("edgeret-bundle", 11, wrap(11, body))
        self.body = msgpack.unpackb(body)
        self.info, self.entries = self.body["info"], {entry["role"]: entry for entry in self.body["files"]}
        self.files = {role: (folder / entry["name"]).read_bytes() for role, entry in self.entries.items()}
        for role, data in self.files.items():
            expected = self.entries[role]["size"], self.entries[role]["sha256"]
            assert (len(data), hashlib.sha256(data).hexdigest()) == expected
        roles = ("index", "graph", "head", "memory", "familiarity")
        self.maps = {r: msgpack.unpackb(self.files[r]) for r in roles if r in self.files}
        self.index, self.head, self.graph = (self.maps.get(role) for role in ("index", "head", "graph"))
        self.tools = {tool["name"]: tool for tool in json.loads(self.files["tools"])}
        self.labels: list[str] = ["<end>"] if self.head is None else self.head["labels"]
        assert (
            self.labels[-1] == "<end>"
            and (self.graph or self.maps["index"] | {"labels": self.labels})["labels"] == self.labels
        )
        vectors = array(self.index["vectors"])
        if "scales" in self.index:  # section 6
            vectors = unit(rows(vectors, array(self.index["scales"])))
        self.vectors = dict(zip(self.index["names"], vectors, strict=True))
        self.examples = examples_of(self.index, array)
        self.names = [*self.labels, *(name for name in self.index["names"] if name not in self.labels)]
        self.end = len(self.labels) - 1
        self.place = np.stack(
            [self.vectors.get(name, np.zeros(self.info["encoder"]["spec"]["dimension"])) for name in self.names]
        )
        self.tokenizer = Tokenizer.from_buffer(self.files["tokenizer"])
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.info["encoder"]["spec"]["max_tokens"])
        words = msgpack.unpackb(self.files["word-vectors"])  # section 5.2
        assert words["tokenizer"] == self.entries["tokenizer"]["sha256"]
        self.pieces = rows(array(words["pairs"]), array(words["scales"]), 64)
        assert len(self.pieces) == self.tokenizer.get_vocab_size()
        self.session = onnxruntime.InferenceSession(self.files["encoder"], providers=["CPUExecutionProvider"])
        self._read_words()
        self._read_flow()

    def leave_out_end(self) -> None:
        """Section 16.8: names are the tools alone, in the index's order."""
        self.names, self.end = list(self.index["names"]), -1
        self.place = np.stack([self.vectors[name] for name in self.names])
        self._read_words()
        self._read_flow()

    def word_vector(self, word: str) -> Array:
        """Section 5.2."""
        return unit(self.pieces[self.tokenizer.encode(word, add_special_tokens=False).ids].sum(axis=0))

    def encode(self, query: str) -> None:
        """Sections 5 and 8.1: the query's vector q (d,), its segment means g (3, d), its tokens and its spelling."""
        spec = self.info["encoder"]["spec"]
        first = self.tokenizer.encode(spec["query_prefix"] + query)
        vectors, tokens, offsets, sizes = [], [], [], []
        for window in (first, *first.overflowing):
            ids = np.array([window.ids], np.int64)
            feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            feeds = {i.name: feeds[i.name] for i in self.session.get_inputs()}
            vector, rows = self.session.run(["sentence_embedding", "token_embeddings"], feeds)
            vectors.append(vector[0])
            sizes.append(len(window.ids))
            own = [place for place, special in enumerate(window.special_tokens_mask) if not special]
            tokens += list(rows[0, own].astype(np.float64))
            offsets += [window.offsets[place] for place in own]
        self.q = vectors[0] if len(vectors) == 1 else unit(np.average(vectors, axis=0, weights=sizes))
        segments = np.zeros((3, spec["dimension"]))
        for i, token in enumerate(tokens):
            segments[3 * i // len(tokens)] += token
        self.g, before = unit(segments), len(spec["query_prefix"])
        own = [
            (token, begin - before, end - before)
            for token, (begin, end) in zip(tokens, offsets, strict=True)
            if end > before
        ]
        self.read(query, own)

    def read(self, query: str, tokens: list[tuple[Array, int, int]]) -> None:
        """A query whose vectors are here, by its tokens and where they stand."""
        read, self.spelt = f" {' '.join(query.lower().split())} ".encode(), np.zeros(1024)
        for piece in (read[i : i + length] for length in (3, 4) for i in range(len(read) - length + 1)):
            h = int.from_bytes(piece, "little") * 2654435761 % 2**32
            self.spelt[h >> 22] += 1 if h >> 21 & 1 else -1
        self.spelt /= np.sqrt((self.spelt**2).sum()) or 1
        self._read_request(query, tokens)

    def numbers(self, history: tuple[str, ...]) -> list[int]:
        """Label numbers of a history, -3 for unseen tools."""
        return [self.labels.index(name) if name in self.labels else -3 for name in history]

    def walk(self, history: tuple[str, ...]) -> Array:
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

        cosines = array(self.graph["centroids"]) @ self.q
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

    def logits(self, history: tuple[str, ...]) -> Array:
        """Section 8.1: the head's logits (L,)."""
        names = ("weights", "weight_scales", "spelling", "spelling_scales", "bias", "count", "segment_weights")
        weights, by_weight, spelling, by_spelling, bias, count, mix = (array(self.head[name]) for name in names)
        starts, followers, values = (array(self.head[name]) for name in ("starts", "followers", "values"))
        n, numbers = len(history), self.numbers(history)
        direction = self.head["description_weight"] * self.q + mix[min(n, len(mix) - 1)] @ self.g
        logits = rows(weights, by_weight) @ self.q + rows(spelling, by_spelling, 1024) @ self.spelt + bias
        logits += count[min(n, len(count) - 1)]
        logits[:-1] += [self.vectors[name] @ direction for name in self.labels[:-1]]
        features = sorted({t for t in numbers if t >= 0})
        features += [len(self.labels) + t for t in numbers[-1:] if t >= 0]
        for feature in features:
            entries = slice(starts[feature], starts[feature + 1])
            logits[followers[entries]] += values[entries]
        if not self.head["prior_steps"]:
            logits += self.head["prior_weight"] * self.static[: len(logits)]
            logits[[i for i in self.said if i < len(logits) and not n]] += 10
        return logits

    def alone(self, text: str, tokens: list[tuple[Array, int, int]]) -> Array:
        """Section 16.9: a wish as a query of its own."""
        wish, segments = copy.copy(self), np.zeros_like(self.g)
        for i, (token, _, _) in enumerate(tokens):
            segments[3 * i // len(tokens)] += token
        wish.q, wish.g = unit(np.sum([token for token, _, _ in tokens], axis=0)), unit(segments)
        wish.read(text, tokens)
        return np.log(np.maximum(wish.fused(()), 1e-30))

    def score(self, history: tuple[str, ...]) -> Array:
        """Section 8.1: the head's log-probabilities, of labels or of all names."""
        logits = self.logits(history)
        if self.head["prior_steps"]:
            n, weight = len(logits), self.head["prior_weight"]
            p, m = np.maximum(self.prior(history), -60), np.maximum(self.popular(history), -60)
            unseen = m[n:] + (weight - 1) * log_sum(m[n:]) if len(m) > n else m[n:]
            logits = np.concatenate((logits + weight * p[:n], unseen))
        return logits - log_sum(logits)

    def popularity(self) -> Array:
        told = dict(zip(self.head["popular_names"], array(self.head["popular"]), strict=True))
        return np.array([told.get(name, 0.0) for name in self.names], np.float64)

    def popular(self, history: tuple[str, ...]) -> Array:
        return self.prior(history) + self.popularity()

    def recall(self, history: tuple[str, ...]) -> Array:
        """Section 8.2: the memory's log-probabilities of all names, up to a constant."""
        memory = self.maps["memory"]
        vectors, starts, calls = (array(memory[key]).astype(np.float64) for key in ("vectors", "starts", "calls"))
        cosines, votes = vectors @ self.q, 0.01 * softmax(self.popular(history))
        h = self.numbers(history)
        for plan in np.argsort(-cosines, kind="stable")[:64]:
            if cosines[plan] < 0.4:
                continue
            made = calls[int(starts[plan]) : int(starts[plan + 1])].astype(int).tolist()
            for k, label in enumerate([*made, self.end]):
                g = made[:k]
                alike = (g[-1:] == h[-1:]) - 1
                either = set(g) | set(h)
                jaccard = len(set(g) & set(h)) / len(either) if either else 1.0
                votes[label] += np.exp((cosines[plan] - 1) / 0.05 + 1.5 * (alike + jaccard - 1) - abs(len(g) - len(h)))
        return np.log(votes + 1e-30)

    def fused(self, history: tuple[str, ...]) -> Array:
        """Section 9, fusion: probabilities of names."""
        p, n = self.info["calibration"]["parameters"], len(self.labels)
        if self.head is None:
            return softmax(self.prior(history))
        walked = self.walk(history)
        if self.head["prior_steps"]:
            head = self.score(history)
            spread = np.log(np.maximum(np.exp(head[:n]).sum() * walked, 1e-30))
            scores = p["head_weight"] * head + p["graph_weight"] * np.concatenate((spread, head[n:]))
            scores = scores + p["memory_weight"] * self.recall(history) if "memory" in self.maps else scores
            return softmax(self.doubt_end(scores, history))
        later = "later_" if history else ""
        known = p[f"{later}head_weight"] * self.logits(history) + p[f"{later}graph_weight"] * np.log(walked)
        known = self.doubt_end(known, history)
        bias = np.where(self.popularity() == 0, p["added_bias"], p["unseen_bias"])
        unseen = np.minimum(80, self.among_tools(()) + bias)[n:]
        seen = () if len(unseen) and unseen.max() <= np.log(0.003) else history
        unseen = np.minimum(80, self.among_tools(seen) + bias)[n:]
        if len(unseen) and unseen.max() > np.log(0.01):
            unseen += np.log1p(-np.exp(self.prior(seen)[n - 1]))
        return softmax(np.concatenate((known - log_sum(known), unseen)))


@pytest.fixture(scope="module", params=["tools alone", "few", "many", "few, in bytes"])
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of every kind, whose tools give to each other and whose encoder reads 24 tokens at once."""
    few = {"many": 0}.get(request.param, FEW_PLANS)
    shown = () if request.param == "tools alone" else None
    target = tmp_path_factory.mktemp("kind") / "bundle"
    recipe = Recipe(precision="fp32", profile="full", index_vectors="int8" if "bytes" in request.param else "fp32")
    tools = [replace(tool, examples=("open the thing", "close it")[: i % 3]) for i, tool in enumerate(TOOLS)]
    return tiny_bundle(target, tools=tools, demonstrations=shown, few=few, max_tokens=24, recipe=recipe)


def test_packing_the_manifest_again_gives_its_bytes(kind: Path) -> None:
    reader = Reader(kind)
    keys = ("name", "role", "size", "sha256", "licence", "source")
    entries = [{key: entry[key] for key in keys} for entry in sorted(reader.body["files"], key=lambda e: e["name"])]
    assert wrap(11, msgpack.packb({"files": entries, "info": reader.info})) == reader.manifest
    hashes, spec = {r: e["sha256"] for r, e in reader.entries.items()}, reader.info["encoder"]["spec"]
    pairs = {"weights": hashes["encoder"], "tokenizer": hashes["tokenizer"], **{key: spec[key] for key in sorted(spec)}}
    fingerprint = hashlib.sha256(msgpack.packb(pairs)).hexdigest()
    parts = (*reader.maps.values(), reader.info["calibration"])
    assert {part["encoder"] for part in parts} == {reader.info["encoder"]["fingerprint"]} == {fingerprint}
    assert all(
        reader.info["calibration"].get(role) == hashes.get(role) for role in ("graph", "head", "memory", "familiarity")
    )
    assert [*reader.tools] == reader.index["names"]
    golden, found = reader.info["golden"], []
    for query in golden["queries"]:
        reader.encode(query)
        found.append(reader.q)
    np.testing.assert_allclose(found, array(golden["vectors"]), atol=1e-5)


@pytest.mark.parametrize(
    ("points", "each"),
    [(None, 3), pytest.param(None, 1, marks=pytest.mark.full), ([(0, 0), (0.5, 0.3), (0.9, 0.6), (1, 0.7)], 1)],
    ids=["as built", "as built, all", "bent"],
)
def test_second_reader_agrees(kind: Path, tmp_path: Path, points: list[tuple[float, float]] | None, each: int) -> None:
    """On prior, graph, head and fused probabilities, also with calibration maps that move everything."""
    folder = Path(shutil.copytree(kind, tmp_path / "bundle"))
    if points is not None:
        body = Reader(folder).body
        packed = {"dtype": "<f4", "shape": [len(points), 2], "data": np.array(points, "<f4").tobytes()}
        body["info"]["calibration"]["parameters"] |= {"calibration_map": packed, "prior_map": packed}
        (folder / "manifest").write_bytes(wrap(11, msgpack.packb(body)))
    reader, runtime = Reader(folder), by_python(folder, threads=1)
    # What bends probabilities knows nothing of a query and its calls: each is asked with one of the others.
    asked = [*product(QUERIES, HISTORIES)] if points is None else [*zip(QUERIES, cycle(HISTORIES))]
    for query, history in asked[::each]:
        task = runtime.task(query)
        for tool in history:
            task.call(tool, foreign=True)
        reader.encode(query)
        assert tuple(reader.names) == request_of(task).names
        request, numbers = request_of(task), reader.numbers(history)
        np.testing.assert_allclose(
            np.exp(reader.prior(history)), np.exp(request.prior_scores(task.calls)), rtol=0, atol=1e-5
        )
        fused, calibrated = reader.decide(history)
        begun = History(list(task.calls))
        if reader.head is not None:
            graph, head = components_of(runtime).graph, np.exp(request.head_scores(begun))
            walked = graph.distribution(graph.locate(request.vector), numbers)
            np.testing.assert_allclose(reader.walk(history), walked, rtol=0, atol=1e-5)
            np.testing.assert_allclose(np.exp(reader.score(history)), head, rtol=0, atol=1e-5)
        assert fused.sum() == pytest.approx(1)
        np.testing.assert_allclose(calibrated, task.probabilities(), rtol=0, atol=1e-5)
        for coverage in (0.5, 0.9, 0.99):
            mask = components_of(runtime).calibration.candidate_set(task.candidates(), coverage)
            names = [request.names[i] for i in reader.conformal_set(task.probabilities(), coverage)]
            assert {candidate.tool for candidate in mask} == set(names)


def test_second_reader_finds_the_same_tools(kind: Path) -> None:
    runtime, reader = edgeret.load(kind, threads=1), Reader(kind)
    reader.leave_out_end()
    for query in QUERIES:
        reader.encode(query)
        scores = dict(zip(reader.names, reader.relevance(query), strict=True))
        hits = runtime.search(query, len(reader.names), strategy="hybrid")
        assert {hit.tool for hit in hits} == set(reader.names)
        for hit, other in pairwise(hits):
            assert scores[hit.tool] >= scores[other.tool] - 1e-4
        for hit in hits[:3]:
            assert hit.similarity == pytest.approx(float(reader.vectors[hit.tool] @ reader.q), abs=1e-4)


def test_exemplars_are_as_specified(tiny_original: Path) -> None:
    exemplars = json.loads(Reader(tiny_original).files["exemplars"])
    assert all({"query", "calls"} == set(exemplar) for exemplar in exemplars)
    assert all({"tool", "arguments"} == set(call) for exemplar in exemplars for call in exemplar["calls"])


def test_arrays_lie_where_a_reader_may_map_them(kind: Path) -> None:
    reader = Reader(kind)
    for role, content in reader.maps.items():
        data = reader.files[role]
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
