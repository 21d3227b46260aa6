"""Graphs that stand in for a bundle's encoder on other hardware, and which of them runs here. Runs none itself.

Index, heads and calibration were fitted to the encoder's vectors; a variant gives nearly the same ones, and the build
measured how nearly. So the encoder's fingerprint stays the bundle's, whichever graph runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.layout import Manifest
from edgeret.encoders.base import REBUILD, EncoderSpec
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.host import instruction_set
from edgeret.quoting import quoted, suggestion
from edgeret.records import dataclass

CPU, GPU, NPU, MOBILE = "cpu", "gpu", "npu", "mobile"
ITSELF = "encoder"
"""What a bundle's own encoder is called beside its variants."""
TARGETS = (CPU, GPU, NPU, MOBILE)
LOADABLE = (CPU, GPU, NPU)
"""Targets that this runtime runs; the mobile one is for a minimal build of ONNX Runtime in an application."""
FOR_GPU = frozenset({"cuda", "tensorrt", "rocm", "migraphx", "directml"})
FOR_NPU = frozenset({"qnn", "nnapi", "coreml", "openvino"})
"""Providers, and what they run best: half precision, or static shapes and standard operators."""
WEIGHT_BITS: Mapping[str, int] = {
    **{"avx512_vnni": 8, "avx_vnni": 8, "arm64": 8, "arm64_dotprod": 8},
    **{"avx512": 7, "avx2": 7, "generic": 7},
}
"""Bits of an int8 weight that a CPU family adds up exactly. Without VNNI, x86 sums two products in 16 bits, which
overflow with eight. Families with equal bits run the very same graph."""
MAX_VARIANTS = 16


@dataclass(frozen=True, slots=True)
class Variant:
    """One stand-in: its `name`, the `target` that it is for, its files as pairs of role and length of text in tokens
    (0: any), and its `spec`."""

    name: str
    target: str
    files: tuple[tuple[str, int], ...]
    spec: EncoderSpec

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data, for the manifest."""
        files = [{"role": role, "tokens": tokens} for role, tokens in self.files]
        return {"name": self.name, "target": self.target, "files": files, "spec": self.spec.to_dict()}


def read_variants(manifest: Manifest, where: str) -> tuple[Variant, ...]:
    """The variants that a manifest tells of; none in most bundles. Raises BundleError."""
    if roles.INFO_VARIANTS not in manifest.info:
        return ()
    listed = get(manifest.info, roles.INFO_VARIANTS, list, where)
    if len(listed) > MAX_VARIANTS:
        raise BundleError(f"{where}: {len(listed)} variants, at most {MAX_VARIANTS} are allowed; {REBUILD}")
    found = tuple(_variant(value, manifest, f"{where} (variant {i + 1})") for i, value in enumerate(listed))
    if len({variant.name for variant in found}) != len(found):
        raise BundleError(f"{where}: two variants of one name; {REBUILD}")
    return found


def _variant(value: Any, manifest: Manifest, where: str) -> Variant:
    if not isinstance(value, dict):
        raise BundleError(f"{where}: not a map; {REBUILD}")
    name, target = get(value, "name", str, where), get(value, "target", str, where)
    listed = get(value, "files", list, where)
    if not all(isinstance(file, dict) for file in listed):
        raise BundleError(f"{where}: a file that is not a map; {REBUILD}")
    files = [(get(file, "role", str, where), get(file, "tokens", int, where)) for file in listed]
    if target not in TARGETS or not 0 < len(name) <= 100 or not files:
        raise BundleError(f"{where}: needs a name, one of {', '.join(TARGETS)} as its target, and files; {REBUILD}")
    known = {roles.MOBILE, roles.MOBILE_OPERATORS} if target == MOBILE else set(roles.VARIANT_ROLES)
    for role, tokens in files:
        if role not in known or manifest.file(role) is None or not 0 <= tokens <= max(roles.NPU_TOKENS):
            raise BundleError(f"{where}: no file with the role {quoted(role)}, or of another length; {REBUILD}")
    lengths = [tokens for _, tokens in files]
    if (target != MOBILE and lengths != sorted(set(lengths))) or (len(files) > 1 and target in (CPU, GPU)):
        raise BundleError(f"{where}: its files must have lengths of their own, in order; {REBUILD}")
    spec = EncoderSpec.from_dict(get(value, "spec", dict, where), where)
    own = EncoderSpec.of(manifest.info, where)
    if replace(spec, precision=own.precision, instruction_set=own.instruction_set) != own:
        raise BundleError(f"{where}: not made of this bundle's encoder; {REBUILD}")
    return Variant(name, target, tuple(files), spec)


def choose_variant(manifest: Manifest, target: str | None, provider: str, where: str) -> Variant | None:
    """The variant to run: of a `target`, of that very name, or what suits the execution provider where None is given;
    None for the encoder itself.

    Raises InputError for a target that the bundle has nothing for, and BundleError for variants that make no sense.
    """
    variants = read_variants(manifest, where)
    if not variants and target in (None, CPU):
        return None
    running = [variant for variant in variants if variant.target in LOADABLE]
    has_encoder = manifest.encoder is not None
    spec = EncoderSpec.of(manifest.info, where)
    target = None if target is None else target.lower()
    wanted = target or (GPU if provider in FOR_GPU else NPU if provider in FOR_NPU else CPU)
    named = [variant for variant in running if variant.name == wanted]
    fitting = named or [variant for variant in running if variant.target == wanted]
    if wanted == CPU and not named:
        fitting = [variant for variant in fitting if not has_encoder or (_suits(variant.spec) and not _suits(spec))]
        fitting.sort(key=lambda variant: not _suits(variant.spec))
    if fitting:
        return fitting[0]
    own_targets = targets_of_encoder(spec) if has_encoder else []
    if has_encoder and (target is None or target in own_targets):
        return None
    if target is None and running:
        return running[0]
    raise InputError(f"{where}: {_nothing_for(wanted, variants, running, own_targets)}")


def targets_of_encoder(spec: EncoderSpec) -> list[str]:
    """What a bundle's own encoder is for, and called."""
    return [CPU, ITSELF, *([GPU] if spec.precision == "fp16" else [])]


def _nothing_for(wanted: str, variants: Sequence[Variant], running: Sequence[Variant], own: Sequence[str]) -> str:
    """Why a target cannot be had, and what can be."""
    there = list(dict.fromkeys([*own, *(variant.target for variant in running)]))
    there += [variant.name for variant in running if variant.name not in there]
    told = ", ".join(there) or "none that runs here"
    if any(wanted in (variant.name, variant.target) for variant in variants):
        return (
            f"the target {wanted} is for a minimal build of ONNX Runtime in an application (docs/howto/targets.md); "
            f"targets to load: {told}"
        )
    remedy = f". Build it with --target {wanted}" if wanted in TARGETS else suggestion(wanted, there)
    return f"nothing in it for the target {quoted(wanted)}; targets to load: {told}{remedy}"


def _suits(spec: EncoderSpec) -> bool:
    """Whether int8 products of this graph are exact on this CPU."""
    here = WEIGHT_BITS[instruction_set()]
    return spec.precision != "int8" or WEIGHT_BITS.get(spec.instruction_set, here) == here
