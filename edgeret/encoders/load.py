"""A bundle's encoder, ready to run. Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.bundle.reader import Bundle
from edgeret.encoders.base import SHARED_BY, Encoder, EncoderSpec
from edgeret.encoders.compiled import compiled_encoder
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.encoders.providers import ProviderChoice, choose
from edgeret.encoders.static import StaticEncoder
from edgeret.encoders.variants import Variant
from edgeret.encoders.windows import WindowEncoder
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.host import thread_budget

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
    tried: bool = True,
) -> Encoder:
    """The bundle's encoder, or the `variant` that stands in for it, with so many CPU threads or as many as suit it. A
    graph is run by arithmetic of our own if it is to be `compiled` and can be; else by ONNX Runtime, which is asked for
    a `choice` of providers. A table takes over the tokenizer of the encoder `beside` it, which is made of the same
    file. It is `tried` on one text, unless whoever asks does that. Raises BundleError, ProviderError,
    MissingExtraError, and InputError for `static_tokens` beside graphs of their own lengths."""
    where = f"{bundle.path} (encoder)"
    spec = _spec(bundle, where)
    tokenizer = bundle.read(roles.TOKENIZER)
    encoder: Encoder
    if bundle.manifest.file(roles.TABLE) is not None:
        table = bundle.read(roles.TABLE)
        encoder = StaticEncoder(table, tokenizer if beside is None else beside.tokenizer, spec, where)
    else:
        if variant is not None:
            spec, where = variant.spec, f"{bundle.path} ({variant.name})"
        files = ((roles.ENCODER, 0),) if variant is None else variant.files
        encoder = _started(bundle, files, tokenizer, spec, choice, threads, static_tokens, compiled, where)
    if tried:
        encoder.encode_query(_sample(bundle.manifest.info))
    return encoder


def _spec(bundle: Bundle, where: str) -> EncoderSpec:
    """What the manifest says of the encoder, once it is proved to be of these very files. A bundle that was thinned
    lacks the weights themselves, and says what they were."""
    told = get(bundle.manifest.info, roles.INFO_ENCODER, dict, where)
    spec = EncoderSpec.from_dict(get(told, "spec", dict, where), where)
    entry = bundle.manifest.file(roles.TABLE) or bundle.manifest.file(roles.ENCODER)
    weights = get(told, "weights", str, where) if entry is None else entry.sha256
    hashes = {entry.role: entry.sha256 for entry in bundle.manifest.files}
    fingerprint = encoder_fingerprint(spec.to_dict(), weights, hashes.get(roles.TOKENIZER, ""))
    if fingerprint != bundle.fingerprint():
        raise BundleError(
            f"{where}: its fingerprint is {fingerprint[:12]}…, the manifest says {bundle.fingerprint()[:12]}…; "
            "weights, tokenizer or settings were exchanged: build the bundle again"
        )
    return spec


def _started(
    bundle: Bundle,
    files: Sequence[tuple[str, int]],
    tokenizer: bytes,
    spec: EncoderSpec,
    choice: Callable[[], ProviderChoice],
    threads: int | None,
    static_tokens: int | None,
    compiled: bool,
    where: str,
) -> Encoder:
    """What runs the graphs with these roles, each made for so many tokens (0: any)."""
    models = [(bundle.private_file(role), tokens) for role, tokens in files]
    if models[0][1] == 0:
        model = models[0][0]
        if compiled and static_tokens is None:
            ours = compiled_encoder(
                model, tokenizer, spec, where, thread_budget(threads or min(SHARED_BY, thread_budget()))
            )
            if ours is not None:
                return ours
        return OnnxEncoder(model, tokenizer, spec, choice(), threads or threads_for(spec), static_tokens, where)
    if static_tokens is not None:
        lengths = ", ".join(str(tokens) for _, tokens in models)
        raise InputError(f"{where}: made for texts of {lengths} tokens; leave out static_tokens")
    return OnnxEncoder(models, tokenizer, spec, choice(), threads or threads_for(spec), None, where)


def start_encoder(model: bytes, tokenizer: bytes, spec: EncoderSpec, threads: int = 1) -> WindowEncoder:
    """An encoder that is in no bundle yet, on this CPU as a bundle's would run. Raises as `load_encoder` does."""
    ours = compiled_encoder(model, tokenizer, spec, threads=threads)
    return ours or OnnxEncoder(model, tokenizer, spec, choose(("cpu",), False, {}), threads)


def threads_for(spec: EncoderSpec) -> int:
    """How many CPU threads suit ONNX Runtime where nobody says. With a second one an int8 text of 20 tokens is 6 %
    faster for 1.8 times the CPU time, and on shared cores four times as slow; one in fp32 takes 0.6 of the time for 1.2
    times the CPU time."""
    return 1 if spec.precision == "int8" else thread_budget()


def _sample(info: Mapping[str, Any]) -> str:
    """The first golden query, or a text of our own; whoever decides needs no golden queries."""
    golden = info.get(roles.INFO_GOLDEN)
    queries = golden.get("queries") if isinstance(golden, dict) else None
    first = queries[0] if isinstance(queries, list) and queries else None
    return first[:SAMPLE_CHARACTERS] if isinstance(first, str) and first.strip() else SAMPLE
