"""A bundle's encoder on ONNX Runtime, for what the library does not run: GPUs, NPUs, graphs in floating point. Knows
nothing of texts and tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgeret.bundle import roles
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.bundle.private_copy import PrivateBytes
from edgeret.bundle.reader import Bundle
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.onnx import OnnxGraphs
from edgeret.encoders.providers import ProviderChoice
from edgeret.encoders.variants import Variant
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.host import thread_budget

ENCODER_ALONE = ((roles.ENCODER, 0),)
"""The files of what is no variant, each with its tokens (0: any)."""


def load_graphs(
    bundle: Bundle,
    choice: Callable[[], ProviderChoice],
    threads: int | None = None,
    static_tokens: int | None = None,
    variant: Variant | None = None,
) -> OnnxGraphs:
    """The bundle's encoder, or the `variant` that stands in for it, with so many CPU threads or as many as suit it;
    ONNX Runtime is asked for a `choice` of providers. Raises BundleError, ProviderError, MissingExtraError, and
    InputError for `static_tokens` beside graphs of their own lengths."""
    where, spec = f"{bundle.path} (encoder)", checked_spec(bundle)
    if variant is not None:
        spec, where = variant.spec, f"{bundle.path} ({variant.name})"
    model = graphs_of(bundle, ENCODER_ALONE if variant is None else variant.files, static_tokens, where)
    return OnnxGraphs(model, spec, choice(), threads or threads_for(spec), static_tokens, where)


def checked_spec(bundle: Bundle) -> EncoderSpec:
    """What the manifest says of the encoder, once it is proved to be of these very files. A bundle that was thinned
    lacks the weights themselves, and says what they were. Raises BundleError."""
    where = f"{bundle.path} (encoder)"
    spec = EncoderSpec.of(bundle.manifest.info, where)
    entry = bundle.manifest.file(roles.TABLE) or bundle.manifest.encoder
    told = bundle.manifest.info[roles.INFO_ENCODER]
    weights = get(told, "weights", str, where) if entry is None else entry.sha256
    hashes = {entry.role: entry.sha256 for entry in bundle.manifest.files}
    fingerprint = encoder_fingerprint(spec.to_dict(), weights, hashes.get(roles.TOKENIZER, ""))
    if fingerprint != bundle.fingerprint():
        raise BundleError(
            f"{where}: its fingerprint is {fingerprint[:12]}…, the manifest says {bundle.fingerprint()[:12]}…; "
            "weights, tokenizer or settings were exchanged: build the bundle again"
        )
    return spec


def graphs_of(
    bundle: Bundle, files: Sequence[tuple[str, int]], static_tokens: int | None, where: str
) -> PrivateBytes | list[tuple[PrivateBytes, int]]:
    """The graphs with these roles, each made for so many tokens; one for any number of tokens alone. Raises
    BundleError, and InputError for `static_tokens` beside graphs of their own lengths."""
    models = [(bundle.private_file(role), tokens) for role, tokens in files]
    if models[0][1] == 0:
        return models[0][0]
    if static_tokens is not None:
        lengths = ", ".join(str(tokens) for _, tokens in models)
        raise InputError(f"{where}: made for texts of {lengths} tokens; leave out static_tokens")
    return models


def threads_for(spec: EncoderSpec) -> int:
    """How many CPU threads suit ONNX Runtime where nobody says. With a second one an int8 text of 20 tokens is 6 %
    faster for 1.8 times the CPU time, and on shared cores four times as slow; one in fp32 takes 0.6 of the time for 1.2
    times the CPU time."""
    return 1 if spec.precision == "int8" else thread_budget()
