"""An encoder's graphs for other hardware than the build host's: which there are, how each is made and tried.

The encoder itself is what index and heads are fitted to; these stand in for it (`edgeret.encoders.variants`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgeret.bundle import roles
from edgeret.encoders.providers import choose
from edgeret.encoders.variants import CPU, GPU, MOBILE, NPU, WEIGHT_BITS, Variant
from edgeret.host import instruction_set
from edgeret.terminal.progress import say
from edgeret_export.encoders.cache import key_of, recall, remember
from edgeret_export.encoders.export import EXPORT_RECIPE, ExportedEncoder, export_encoder
from edgeret_export.encoders.mobile import to_ort
from edgeret_export.encoders.onnx_graph import quiet, read_onnx
from edgeret_export.encoders.original import PROBES
from edgeret_export.encoders.qdq import CALIBRATION_TEXTS, MAX_NOISE, Feed, quantized
from edgeret_export.encoders.questions import sample
from edgeret_export.encoders.smooth import smooth
from edgeret_export.encoders.static_shape import fixed
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.sources.cards import Card

FAMILY: Mapping[int, str] = {7: "avx2", 8: "avx512_vnni"}
"""By bits of a weight, the CPU family that an int8 graph is made for; others with equal bits run it too."""


@dataclass(frozen=True, slots=True)
class Made:
    """A variant with its files' bytes by role. `encoder` runs it here; None where this CPU would add up otherwise than
    the one that it is for."""

    variant: Variant
    files: Mapping[str, bytes]
    encoder: OnnxEncoder | None

    @property
    def size(self) -> int:
        """Bytes of its graphs together."""
        return sum(len(data) for role, data in self.files.items() if role != roles.MOBILE_OPERATORS)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The targets, the lengths of text in tokens that graphs for NPUs are made for, and queries and tool texts to
    calibrate them with. `attempt` is the card's at which int8 passed the gate, or its last."""

    targets: Sequence[str]
    npu_tokens: Sequence[int]
    queries: Sequence[str]
    tools: Sequence[str]
    attempt: int = 0


def make_variants(card: Card, exported: ExportedEncoder, wanted: Wanted, offline: bool) -> Iterator[Made]:
    """The variants that the targets need beside the encoder that was `exported`. Raises CheckFailedError for one that
    cannot be made of this model."""
    if CPU in wanted.targets:
        own = WEIGHT_BITS[exported.spec.instruction_set] if exported.spec.precision == "int8" else None
        for bits in FAMILY:
            if bits != own:
                yield _for_cpu(card, bits, wanted.attempt, offline)
    if GPU in wanted.targets and exported.spec.precision != "fp16":
        half = export_encoder(card, "fp16", offline)
        variant = Variant("gpu", GPU, (("encoder-gpu", 0),), half.spec)
        yield Made(variant, {"encoder-gpu": half.model}, _started(half.model, half))
    if NPU in wanted.targets:
        yield _for_npu(export_encoder(card, "fp32", offline), wanted)
    if MOBILE in wanted.targets:
        yield _for_mobile(card, wanted.attempt, offline)


def _for_cpu(card: Card, bits: int, attempt: int, offline: bool) -> Made:
    made = export_encoder(card, "int8", offline, attempt, family=FAMILY[bits])
    name = f"cpu-{bits}bit"
    role = f"encoder-{name}"
    return Made(Variant(name, CPU, ((role, 0),), made.spec), {role: made.model}, _runs_here(made, bits))


def _runs_here(made: ExportedEncoder, bits: int) -> OnnxEncoder | None:
    """Seven bits are added up exactly by every CPU, eight only by those for which they are."""
    return _started(made.model, made) if bits <= WEIGHT_BITS[instruction_set()] else None


def _for_npu(original: ExportedEncoder, wanted: Wanted) -> Made:
    spec = replace(original.spec, precision="int8", instruction_set="any")
    longest = max(tokens for tokens in roles.NPU_TOKENS if tokens <= max(spec.max_tokens, roles.NPU_TOKENS[0]))
    lengths = sorted({min(tokens, longest) for tokens in wanted.npu_tokens})
    models = []
    for tokens in lengths:
        feeds = _feeds(original, wanted, tokens)
        hashes = [hashlib.sha256(feed["input_ids"].tobytes()).hexdigest() for feed in feeds]
        weights = hashlib.sha256(original.model).hexdigest()
        key = key_of(("npu", EXPORT_RECIPE, MAX_NOISE, weights, tokens, hashes, dict(original.toolchain)))
        model = recall(key)
        if model is None:
            say(f"quantising for NPUs, texts of {tokens} tokens")
            smoothed = smooth(read_onnx(original.model), original.tokenizer, spec.max_tokens)
            with quiet():
                model = quantized(fixed(smoothed, tokens), feeds)
            remember(key, model)
        models.append((model, tokens))
    files = tuple((f"encoder-npu-{tokens}", tokens) for tokens in lengths)
    encoder = OnnxEncoder(models, original.tokenizer, spec, choose(("cpu",), False, {}), 1)
    variant = Variant("npu", NPU, files, spec)
    return Made(variant, {role: model for (role, _), (model, _) in zip(files, models, strict=True)}, encoder)


def _feeds(original: ExportedEncoder, wanted: Wanted, tokens: int) -> list[Feed]:
    """Queries and tool texts, as many of each, and texts of all kinds, as a graph of one length takes them. What a
    scale was not calibrated for is cut off, and few tools show little of what people say."""
    spec, half = original.spec, CALIBRATION_TEXTS // 2
    texts = [spec.query_prefix + text for text in PROBES]
    texts += [spec.query_prefix + wanted.queries[i] for i in sample(len(wanted.queries), half)]
    texts += [spec.tool_prefix + wanted.tools[i] for i in sample(len(wanted.tools), half)]
    tokenizer = load_tokenizer(original.tokenizer, tokens, "calibration").library
    names = {node.name for node in read_onnx(original.model).graph.input}
    feeds: list[Feed] = []
    for text in texts:
        ids = np.array(tokenizer.encode(text).ids, np.int64)
        row, mask = np.zeros((1, tokens), np.int64), np.zeros((1, tokens), np.int64)
        row[0, : len(ids)], mask[0, : len(ids)] = ids, 1
        feed = {"input_ids": row, "attention_mask": mask, "token_type_ids": np.zeros_like(row)}
        feeds.append({name: value for name, value in feed.items() if name in names})
    return feeds


def _for_mobile(card: Card, attempt: int, offline: bool) -> Made:
    made = export_encoder(card, "int8", offline, attempt, family="arm64")
    with quiet():
        model, operators = to_ort(made.model)
    spec = made.spec
    files = {roles.MOBILE: model, roles.MOBILE_OPERATORS: operators}
    return Made(Variant("mobile", MOBILE, tuple((role, 0) for role in files), spec), files, _runs_here(made, 8))


def _started(model: bytes, made: ExportedEncoder) -> OnnxEncoder:
    return OnnxEncoder(model, made.tokenizer, made.spec, choose(("cpu",), False, {}), 1)
