"""A second reader, written from docs/FORMAT.md alone: whatever it cannot reproduce, the specification does not say.

Of edgeret it uses the facade only, as the other side of each comparison.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import onnxruntime
import pytest
from conftest import WORDS, build_tiny
from numpy.typing import NDArray
from tokenizers import Tokenizer

import edgeret
from edgeret import Tool
from edgeret.runtime.history import History
from edgeret_export.fitting.training_set import FEW_PLANS

Array = NDArray[Any]
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
    "close note", "zebra", "write a note, and also play the music; then find me free days. Call the phone after that",
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


def array(value: dict[str, Any]) -> Array:
    """Section 2.4; a length that does not match the shape is an error of `reshape`."""
    assert value["dtype"] in ("<f4", "<f2", "<i4", "<i8")
    return np.frombuffer(value["data"], value["dtype"]).reshape(value["shape"])


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def log_sum(scores: Array) -> float:
    return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max())


def unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


COMMON = (
    "a about all also an and any are as at be but by can could did do does for from had has have he her his how i if in "
    "into is it its just me my no not of on or our out please she so some that the their them then there they this to up "
    "us was we were what when which will with would you your"
)
PRODUCERS = "browse check create detect fetch find get identify list locate look lookup query read retrieve search show"
CUT = re.compile(
    r"""(?<=[.!?;:])\s+
    | (?:(?<!\s)\s+)?(?:,\s*)?\b(?:and\s+then|and\s+also|as\s+well\s+as|after\s+that|afterwards?|in\s+addition
      |additionally|moreover|furthermore|plus|followed\s+by|along\s+with|while|then|also|and|or|but|so\s+that)\b\s*
    | (?:(?<!\s)\s+)?[,;]\s+""",
    re.IGNORECASE | re.VERBOSE,
)
KEY = re.compile(r"(.+?)[_ ]?(?:ids?|IDs?|Ids?|identifier|number|code|token|key|name)")


def stem(word: str) -> str:
    """Section 16.1."""
    for ending in ("ies", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) >= len(ending) + 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: -len(ending)] + ("i" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == "y":
        return word[:-1] + "i"
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        return word[:-1]
    return word


def words_of(text: str) -> list[str]:
    """Section 16.1."""
    runs = re.findall(r"[^\W_]+", re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", text).lower())
    return [stem(run) for run in runs if run not in COMMON.split()]


def in_words(name: str) -> str:
    """Section 6: a name in words."""
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", re.sub(r"[_\-.]", " ", name)).strip()


def a_map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class Reader:
    """Sections 1 to 9 and 16; everything in float64, where the reference has float32."""

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
        self.maps = {r: msgpack.unpackb(self.files[r]) for r in ("index", "graph", "head", "memory") if r in self.files}
        self.index, self.head, self.graph = (self.maps.get(role) for role in ("index", "head", "graph"))
        self.tools = {tool["name"]: tool for tool in json.loads(self.files["tools"])}
        self.labels: list[str] = ["<end>"] if self.head is None else self.head["labels"]
        assert (
            self.labels[-1] == "<end>"
            and (self.graph or self.maps["index"] | {"labels": self.labels})["labels"] == self.labels
        )
        self.vectors = dict(zip(self.index["names"], array(self.index["vectors"]), strict=True))
        self.names = [*self.labels, *(name for name in self.index["names"] if name not in self.labels)]
        self.end = len(self.labels) - 1
        self.place = np.stack(
            [self.vectors.get(name, np.zeros(self.info["encoder"]["spec"]["dimension"])) for name in self.names]
        )
        self.tokenizer = Tokenizer.from_buffer(self.files["tokenizer"])
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.info["encoder"]["spec"]["max_tokens"])
        self.session = onnxruntime.InferenceSession(self.files["encoder"], providers=["CPUExecutionProvider"])
        self._read_words()
        self._read_flow()

    def encode(self, query: str) -> None:
        """Section 5: the query's vector q (d,), its segment means g (3, d), its tokens and their offsets."""
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
            tokens += list(rows[0, 1:-1].astype(np.float64))
            offsets += window.offsets[1:-1]
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
        self._read_request(query, own)

    def _read_words(self) -> None:
        """Section 16.2: the sets of words of names, and rarities."""
        self.sets: list[dict[str, set[str]]] = []
        for name in self.names:
            tool = self.tools.get(name, {"name": "", "description": "", "parameters": {}})
            own = set(words_of(in_words(tool["name"])))
            keys = {word for key in a_map(tool["parameters"].get("properties")) for word in words_of(in_words(key))}
            self.sets.append({"name": own, "text": own | set(words_of(tool["description"])), "parameters": own | keys})
        known = {word for sets in self.sets for word in sets["text"] | sets["parameters"]}
        counts = {word: sum(word in sets["text"] for sets in self.sets) for word in known}
        self.rarity = {word: np.log(1 + len(self.names) / max(1, count)) for word, count in counts.items()}

    def _read_flow(self) -> None:
        """Section 16.3: takers' givers, by name and by key."""
        place = {name.lower(): i for i, name in enumerate(self.names)}
        producers = {stem(word) for word in PRODUCERS.split()}
        self.named: list[set[int]] = [set() for _ in self.names]
        self.keyed: list[set[int]] = [set() for _ in self.names]
        for i, name in enumerate(self.names):
            if name not in self.tools:
                continue
            tool, parameters = self.tools[name], self.tools[name]["parameters"]
            texts = [tool["description"]]
            texts += [str(a_map(v).get("description", "")) for v in a_map(parameters.get("properties")).values()]
            for mention in re.findall(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*[A-Za-z0-9_]", "\n".join(texts)):
                if not re.fullmatch("[a-z]+", mention) and place.get(mention.lower(), i) != i:
                    self.named[i].add(place[mention.lower()])
            required = parameters.get("required")
            for key in required if isinstance(required, list) else []:
                match = KEY.fullmatch(key) if isinstance(key, str) else None
                if match and (owner := set(words_of(in_words(match[1])))):
                    found = (
                        j for j, sets in enumerate(self.sets) if owner <= sets["name"] and sets["name"] & producers
                    )
                    self.keyed[i] |= {j for j in found if j != i}

    def _read_request(self, query: str, tokens: list[tuple[Array, int, int]]) -> None:
        """Sections 16.2, 16.4 and 16.5: what a request shares with names, its cosines, and static scores S."""
        rarity, said = self.rarity, set(words_of(query))

        def weight(chosen: set[str]) -> float:
            return float(sum(rarity[word] for word in chosen))

        known = said & rarity.keys()
        shared = {
            field: np.array([weight(known & sets[field]) / max(weight(sets[field]), 1e-6) for sets in self.sets])
            for field in ("name", "parameters")
        }
        shared["coverage"] = np.array([weight(known & sets["text"]) / max(weight(known), 1e-6) for sets in self.sets])
        texts = [weight(known & sets["text"]) * 0.25 / max(weight(sets["text"]), 1e-6) ** 0.5 for sets in self.sets]
        shared["text"] = np.array(texts)
        self.said = [i for i, sets in enumerate(self.sets) if said and sets["name"] == said]
        t, stride = len(tokens), max(4, -(-len(tokens) // 24))
        starts = sorted({*range(0, t - 7, stride), t - 8}) if t > 8 else [0][:t]
        vectors = np.array([token for token, _, _ in tokens])
        windows = [vectors[i : i + 8].sum(axis=0) for i in starts] or [self.q]
        self.windows = unit(np.array(windows)) @ self.place.T
        spans, begin = [], 0
        for match in CUT.finditer(query):
            spans.append((begin, match.start()))
            begin = match.end()
        spans = [(i, j) for i, j in [*spans, (begin, len(query))] if len(query[i:j].split()) >= 3] or [(0, len(query))]
        clauses = []
        for i, j in spans[:24]:
            first = sum(begin < i for _, begin, _ in tokens)
            last = sum(end <= j for _, _, end in tokens)
            if last > first:
                clauses.append(vectors[first:last].sum(axis=0))
        self.clauses = unit(np.array(clauses or [self.q])) @ self.place.T
        self.n_words, self.shared = len(query.split()), shared
        self.cosines = np.vstack((self.q, self.g)) @ self.place.T
        w, c = self.windows.max(axis=0), self.clauses.max(axis=0)
        wanted = 8 * w + 2 * shared["name"] + 2 * shared["coverage"] + 4 * c + 3 * self.cosines[0]
        share = np.exp(3 * (wanted - wanted.max())) * (np.arange(len(wanted)) != self.end)
        share /= max(share.sum(), 1e-6)
        evidence = {
            **shared,
            "gives": np.zeros(len(w)),
            "key_gives": np.zeros(len(w)),
            "window": 10 * w,
            "clause": 10 * c,
        }
        for i in range(len(w)):
            evidence["gives"][list(self.named[i])] += share[i]
            evidence["key_gives"][list(self.keyed[i])] += share[i] / max(1, len(self.keyed[i]))
        self.static = sum(self.info["prior"]["tool"][key] * value for key, value in evidence.items())
        self.static[self.said] += 10
        self.static[self.end] = 0

    def numbers(self, history: tuple[str, ...]) -> list[int]:
        """Label numbers of a history, -3 for unseen tools."""
        return [self.labels.index(name) if name in self.labels else -3 for name in history]

    def prior_scores(self, history: tuple[str, ...]) -> Array:
        """Section 16.6."""
        n, weights = len(self.names), self.info["prior"]["tool"]
        here = {self.names.index(name) for name in history if name in self.names}
        last = self.names.index(history[-1]) if history and history[-1] in self.names else None
        rows = (self.windows, self.clauses)
        after = [0 if last is None else min(int(r[:, last].argmax()) + 1, len(r) - 1) for r in rows]
        thirds = self.cosines[1:]
        evidence = {
            "later": 10 * self.windows[after[0] :].max(axis=0),
            "next_clause": 10 * self.clauses[after[1]],
            "third": 10 * (1.5 * thirds[min(len(history), 2)] - 0.5 * thirds.sum(axis=0)),
            "was_called": np.array([bool(g & here) for g in self.named]),
            "still_needed": np.array([bool(g - here) for g in self.named]),
            "key_was_called": np.array([bool(g & here) for g in self.keyed]),
            "key_still_needed": np.array([bool(g) and not g & here for g in self.keyed]),
        }
        if last is not None:
            apart = self.place - self.place.sum(axis=0) / max(1, n - 1)
            lengths = np.sqrt(np.maximum((apart**2).sum(axis=1), 1e-9))
            evidence["related"] = 10 * (apart @ apart[last]) / (lengths * lengths[last]) * (np.arange(n) != self.end)
        scores = self.static + sum(weights[key] * value for key, value in evidence.items())
        scores[list(here)] -= 20
        scores[self.end] = -np.inf
        return scores

    def prior(self, history: tuple[str, ...]) -> Array:
        """Section 16.7: log-probabilities of all names."""
        scores, k = self.prior_scores(history), len(history)
        best = scores.max()
        if k:
            here = [self.names.index(name) for name in history if name in self.names]
            covered = [
                np.minimum(1, rows[:, here].max(axis=1) / np.maximum(rows.max(axis=1), 1e-6))
                if here
                else np.zeros(len(rows))
                for rows in (self.windows, self.clauses)
            ]
            reached = max((1 + int(self.windows[:, i].argmax()) for i in here), default=0)
            evidence = {
                "constant": 1, "calls": k, "best": best, "clauses_left": len(self.clauses) - k,
                "words_by_call": np.log(self.n_words / k), "windows_covered": covered[0].mean(),
                "clauses_covered": covered[1].mean(), "least_window": covered[0].min(),
                "least_clause": covered[1].min(),
                "drop": self.prior_scores(()).max() - best, "windows_left": 1 - reached / len(self.windows),
            }  # fmt: skip
        else:
            evidence = {
                "constant": 1, "best": best, "cosine": self.cosines[0].max(), "name": self.shared["name"].max(),
                "window": max(self.windows.max(), self.clauses.max()), "coverage": self.shared["coverage"].max(),
            }  # fmt: skip
        weights = self.info["prior"]["end" if k else "nothing"]
        logit = sum(weights[key] * value for key, value in evidence.items())
        logit = float(np.clip(-10 if self.said and not k else logit, -30, 30))
        found = scores - log_sum(scores) - np.log1p(np.exp(logit))
        found[self.end] = logit - np.log1p(np.exp(logit))
        return found

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
        names = ("weights", "bias", "called", "last", "count", "segment_weights")
        weights, bias, called, last, count, mix = (array(self.head[k]).astype(np.float64) for k in names)
        n, numbers = len(history), self.numbers(history)
        direction = self.head["description_weight"] * self.q + mix[min(n, len(mix) - 1)] @ self.g
        logits = weights @ self.q + bias + count[min(n, len(count) - 1)]
        logits[:-1] += [self.vectors[name] @ direction for name in self.labels[:-1]]
        logits += called[sorted({t for t in numbers if t >= 0})].sum(axis=0)
        if numbers and numbers[-1] >= 0:
            logits += last[numbers[-1]]
        if not self.head["prior_steps"]:
            logits += self.head["prior_weight"] * self.static[: len(logits)]
        return logits

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
            return softmax(scores + p["memory_weight"] * self.recall(history) if "memory" in self.maps else scores)
        known = p["head_weight"] * self.logits(history) + p["graph_weight"] * np.log(walked)
        bias = np.where(self.popularity() == 0, p["added_bias"], p["unseen_bias"])
        unseen = np.minimum(80, p["unseen_slope"] * self.prior(history) + bias)[n:]
        return softmax(np.concatenate((known - log_sum(known), unseen)))

    def decide(self, history: tuple[str, ...]) -> tuple[Array, Array, Array]:
        """Section 9: fused, and calibrated, probabilities of names; and those that the prior alone gives."""
        fused = self.fused(history)
        return (
            fused,
            self.calibrated(fused, "calibration_map"),
            self.calibrated(softmax(self.prior(history)), "prior_map"),
        )

    def calibrated(self, fused: Array, name: str) -> Array:
        points = array(self.info["calibration"]["parameters"][name]).astype(np.float64)
        top = int(fused.argmax())
        target = np.interp(fused[top], points[:, 0], points[:, 1])
        rest = np.delete(fused, top)
        runner_up = rest.max() / rest.sum()
        if target < 0.5:
            target = max(target, runner_up / (1 + runner_up) + 1e-6)
        return np.where(np.arange(len(fused)) == top, target, fused * (1 - target) / rest.sum())

    def conformal_set(self, calibrated: Array, coverage: float) -> set[int]:
        """Section 9: which candidates a set of this coverage holds."""
        quantiles = array(self.info["calibration"]["parameters"]["right_probabilities"])
        threshold = quantiles[int((1 - coverage) * (len(quantiles) - 1))]
        return {int(calibrated.argmax()), *np.flatnonzero(calibrated >= threshold).tolist()}


@pytest.fixture(scope="module", params=["tools alone", "few", "many"])
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of every kind, whose tools give to each other and whose encoder reads 24 tokens at once."""
    few = {"many": 0}.get(request.param, FEW_PLANS)
    shown = () if request.param == "tools alone" else None
    target = tmp_path_factory.mktemp("kind") / "bundle"
    return build_tiny(target, tools=TOOLS, demonstrations=shown, few=few, max_tokens=24)


def test_packing_the_manifest_again_gives_its_bytes(kind: Path) -> None:
    reader = Reader(kind)
    keys = ("name", "role", "size", "sha256", "licence", "source")
    entries = [{key: entry[key] for key in keys} for entry in sorted(reader.body["files"], key=lambda e: e["name"])]
    assert wrap(2, msgpack.packb({"files": entries, "info": reader.info})) == reader.manifest
    hashes, spec = {r: e["sha256"] for r, e in reader.entries.items()}, reader.info["encoder"]["spec"]
    pairs = {"weights": hashes["encoder"], "tokenizer": hashes["tokenizer"], **{key: spec[key] for key in sorted(spec)}}
    fingerprint = hashlib.sha256(msgpack.packb(pairs)).hexdigest()
    parts = (*reader.maps.values(), reader.info["calibration"])
    assert {part["encoder"] for part in parts} == {reader.info["encoder"]["fingerprint"]} == {fingerprint}
    assert all(reader.info["calibration"].get(role) == hashes.get(role) for role in ("graph", "head", "memory"))
    assert [*reader.tools] == reader.index["names"]
    golden, found = reader.info["golden"], []
    for query in golden["queries"]:
        reader.encode(query)
        found.append(reader.q)
    np.testing.assert_allclose(found, array(golden["vectors"]), atol=1e-5)


@pytest.mark.parametrize("points", [None, [(0, 0), (0.5, 0.3), (0.9, 0.6), (1, 0.7)]], ids=["as built", "bent"])
def test_second_reader_agrees(kind: Path, tmp_path: Path, points: list[tuple[float, float]] | None) -> None:
    """On prior, graph, head and fused probabilities, also with calibration maps that move everything."""
    folder = Path(shutil.copytree(kind, tmp_path / "bundle"))
    if points is not None:
        body = Reader(folder).body
        packed = {"dtype": "<f4", "shape": [len(points), 2], "data": np.array(points, "<f4").tobytes()}
        body["info"]["calibration"]["parameters"] |= {"calibration_map": packed, "prior_map": packed}
        (folder / "manifest").write_bytes(wrap(2, msgpack.packb(body)))
    reader, runtime = Reader(folder), edgeret.load(folder, threads=1)
    for query, history in product(QUERIES, HISTORIES):
        task = runtime.task(query)
        for tool in history:
            task.call(tool, foreign=True)
        reader.encode(query)
        assert tuple(reader.names) == task.request.names
        request, numbers = task.request, reader.numbers(history)
        np.testing.assert_allclose(
            np.exp(reader.prior(history)), np.exp(request.prior_scores(task.calls)), rtol=0, atol=1e-5
        )
        fused, calibrated, alone = reader.decide(history)
        begun = History()
        for call, number in zip(task.calls, numbers, strict=True):
            begun.add(call, number)
        np.testing.assert_allclose(alone, request.by_prior(begun), rtol=0, atol=1e-5)
        if reader.head is not None:
            graph, head = runtime.components.graph, np.exp(request.head_scores(begun))
            walked = graph.distribution(graph.locate(request.vector), numbers)
            np.testing.assert_allclose(reader.walk(history), walked, rtol=0, atol=1e-5)
            np.testing.assert_allclose(np.exp(reader.score(history)), head, rtol=0, atol=1e-5)
        assert fused.sum() == pytest.approx(1)
        np.testing.assert_allclose(calibrated, task.probabilities(), rtol=0, atol=1e-5)
        for coverage in (0.5, 0.9, 0.99):
            mask = runtime.components.calibration.candidate_set(task.candidates(), coverage)
            names = [request.names[i] for i in reader.conformal_set(task.probabilities(), coverage)]
            assert {candidate.tool for candidate in mask} == set(names)


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
