"""A bundle's encoder, ready to run. Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.bundle.reader import Bundle
from edgeret.encoders.base import Encoder, EncoderSpec
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.encoders.providers import ProviderChoice
from edgeret.encoders.static import StaticEncoder
from edgeret.errors import BundleError
from edgeret.fields import get

SAMPLE, SAMPLE_CHARACTERS = "find a file and send it", 1000
"""A text to try an encoder with, and how much of the bundle's own is used."""


def load_encoder(
    bundle: Bundle, choice: Callable[[], ProviderChoice], threads: int, static_tokens: int | None = None
) -> Encoder:
    """The bundle's encoder, tried on one text; ONNX Runtime is asked for a `choice` of providers only for a graph.
    Raises BundleError, ProviderError or MissingExtraError."""
    where = f"{bundle.path} (encoder)"
    spec = EncoderSpec.from_dict(
        get(get(bundle.manifest.info, roles.INFO_ENCODER, dict, where), "spec", dict, where), where
    )
    role = roles.ENCODER if bundle.manifest.file(roles.TABLE) is None else roles.TABLE
    model, tokenizer = bundle.read(role), bundle.read(roles.TOKENIZER)
    hashes = {entry.role: entry.sha256 for entry in bundle.manifest.files}
    fingerprint = encoder_fingerprint(spec.to_dict(), hashes[role], hashes[roles.TOKENIZER])
    if fingerprint != bundle.fingerprint():
        raise BundleError(
            f"{where}: its fingerprint is {fingerprint[:12]}…, the manifest says {bundle.fingerprint()[:12]}…; "
            "weights, tokenizer or settings were exchanged: build the bundle again"
        )
    encoder: Encoder
    if role == roles.TABLE:
        encoder = StaticEncoder(model, tokenizer, spec, where)
    else:
        encoder = OnnxEncoder(model, tokenizer, spec, choice(), threads, static_tokens, where)
    encoder.encode_query(_sample(bundle.manifest.info))
    return encoder


def _sample(info: Mapping[str, Any]) -> str:
    """The first golden query, or a text of our own; whoever decides needs no golden queries."""
    golden = info.get(roles.INFO_GOLDEN)
    queries = golden.get("queries") if isinstance(golden, dict) else None
    first = queries[0] if isinstance(queries, list) and queries else None
    return first[:SAMPLE_CHARACTERS] if isinstance(first, str) and first.strip() else SAMPLE
