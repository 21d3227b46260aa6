"""A bundle's encoder in Python, ready to run. Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.reader import Bundle
from edgeret.encoders.base import SHARED_BY, EncoderSpec
from edgeret.encoders.load import ENCODER_ALONE, checked_spec, graphs_of, threads_for
from edgeret.encoders.providers import ProviderChoice, choose
from edgeret.encoders.variants import Variant
from edgeret.host import thread_budget
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.encoders.core import CoreEncoder, core_encoder
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.encoders.static import StaticEncoder
from edgeret_export.reference.encoders.windows import WindowEncoder

SAMPLE, SAMPLE_CHARACTERS = "find a file and send it", 1000
"""A text to try an encoder with, and how much of the bundle's own is used."""


def load_encoder(
    bundle: Bundle,
    choice: Callable[[], ProviderChoice],
    threads: int | None = None,
    static_tokens: int | None = None,
    beside: Encoder | None = None,
    variant: Variant | None = None,
    compiled: bool = False,
) -> Encoder:
    """The bundle's encoder, or the `variant` that stands in for it, with so many CPU threads or as many as suit it. A
    graph is run by arithmetic of our own if it is to be `compiled` and can be; else by ONNX Runtime, which is asked for
    a `choice` of providers. A table takes over the tokenizer of the encoder `beside` it, which is made of the same
    file. It is tried on one text. Raises BundleError, ProviderError,
    MissingExtraError, and InputError for `static_tokens` beside graphs of their own lengths."""
    where, spec = f"{bundle.path} (encoder)", checked_spec(bundle)
    tokenizer = bundle.read(roles.TOKENIZER)
    encoder: Encoder
    if bundle.manifest.file(roles.TABLE) is not None:
        table = bundle.read(roles.TABLE)
        encoder = StaticEncoder(table, tokenizer if beside is None else beside.tokenizer, spec, where)
    else:
        if variant is not None:
            spec, where = variant.spec, f"{bundle.path} ({variant.name})"
        if variant is None and bundle.manifest.file(roles.ENCODER) is None:
            return CoreEncoder(b"", bundle.read(roles.ENCODER_ARRAYS), tokenizer, spec, where, threads or SHARED_BY)
        model = graphs_of(bundle, ENCODER_ALONE if variant is None else variant.files, static_tokens, where)
        ours = None
        if compiled and static_tokens is None and not isinstance(model, list):
            shared = thread_budget(threads or min(SHARED_BY, thread_budget()))
            ours = core_encoder(model, tokenizer, spec, where, shared)
        encoder = ours or OnnxEncoder(
            model, tokenizer, spec, choice(), threads or threads_for(spec), static_tokens, where
        )
    encoder.encode_query(_sample(bundle.manifest.info))
    return encoder


def start_encoder(model: bytes, tokenizer: bytes, spec: EncoderSpec, threads: int = 1) -> WindowEncoder:
    """An encoder that is in no bundle yet, on this CPU as a bundle's would run. Raises as `load_encoder` does."""
    if spec.precision == "codebook":
        return CoreEncoder(b"", model, tokenizer, spec, threads=threads)
    ours = core_encoder(model, tokenizer, spec, threads=threads)
    return ours or OnnxEncoder(model, tokenizer, spec, choose(("cpu",), False, {}), threads)


def _sample(info: Mapping[str, Any]) -> str:
    """The first golden query, or a text of our own; whoever decides needs no golden queries."""
    golden = info.get(roles.INFO_GOLDEN)
    queries = golden.get("queries") if isinstance(golden, dict) else None
    first = queries[0] if isinstance(queries, list) and queries else None
    return first[:SAMPLE_CHARACTERS] if isinstance(first, str) and first.strip() else SAMPLE
