"""What of a bundle Python runs beside the library that decides: a planner, an encoder that the library does not run.
Decides nothing."""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edgeret.bundle import roles
from edgeret.bundle.kept import KeptBundle
from edgeret.bundle.layout import Manifest
from edgeret.bundle.reader import Bundle
from edgeret.encoders.providers import choose, first_of, only_cpu
from edgeret.encoders.variants import Variant, choose_variant
from edgeret.errors import BundleError, InputError, PlannerError
from edgeret.fields import get
from edgeret.host import thread_budget
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.options import LoadOptions
from edgeret.types import Degraded

if TYPE_CHECKING:
    from edgeret.encoders.onnx import OnnxGraphs
    from edgeret.planner.model import Planner


class Beside(NamedTuple):
    """`encoder` is None where the library reads texts itself; `reranking` is what the planner's word is worth."""

    encoder: OnnxGraphs | None = None
    planner: LazyPlanner = LazyPlanner()
    reranking: RerankParameters = RerankParameters()

    @property
    def degraded(self) -> tuple[Degraded, ...]:
        """What of it was lost since it was loaded."""
        lost = None if self.encoder is None else self.encoder.lost
        return () if lost is None else (Degraded("provider", lost),)


def load_beside(kept: KeptBundle, options: LoadOptions) -> Beside:
    """What the library lacks of a bundle. Raises BundleError, InputError, ProviderError or MissingExtraError."""
    manifest = kept.manifest
    told = () if manifest.file(roles.PLANNER) is None else load_planner(kept.open((roles.PLANNER,)), options)
    return Beside(_encoder(kept, options), *told)


def _encoder(kept: KeptBundle, options: LoadOptions) -> OnnxGraphs | None:
    manifest, provider = kept.manifest, first_of(options.providers)
    if options.profile == "tiny" or manifest.file(roles.TABLE) is not None:
        return None
    variant = choose_variant(manifest, options.target, provider, str(kept.path))
    if read_by_library(manifest, variant, options):
        if variant is not None:
            warnings.warn(
                f"{kept.path}: the graph that suits this CPU ({variant.name}) runs on ONNX Runtime, which is not "
                "installed; the bundle's own one gives the same and is slower; pip install 'edgeret[cpu]'",
                RuntimeWarning,
                stacklevel=2,
            )
        return None
    if manifest.encoder is not None and manifest.encoder.role == roles.ENCODER_ARRAYS and variant is None:
        raise InputError(
            f"{kept.path}: its encoder's weights are in codes, which the CPU alone reads, in texts of any length; for "
            "other hardware build one with --precision int8, fp16 or fp32"
        )
    from edgeret.encoders.load import load_graphs

    graphs = (roles.ENCODER,) if variant is None else tuple(role for role, _ in variant.files)
    choice = partial(choose, options.providers, options.allow_fallback, options.provider_options or {})
    return load_graphs(kept.open((*graphs, roles.TOKENIZER)), choice, options.threads, options.static_tokens, variant)


def read_by_library(manifest: Manifest, variant: Variant | None, options: LoadOptions) -> bool:
    """Whether the library encodes texts. It runs a bundle's own encoder in int8 on the CPU; where another CPU family's
    graph suits this one better, but nobody asked for it and ONNX Runtime is not there, the own one as well."""
    if manifest.file(roles.ENCODER_ARRAYS) is None:
        return False
    if options.static_tokens is not None:
        return False
    if not only_cpu(options.providers, options.provider_options or {}):
        return False
    return variant is None or (options.target is None and find_spec("onnxruntime") is None)


def load_planner(bundle: Bundle, options: LoadOptions) -> tuple[LazyPlanner, RerankParameters]:
    """The planner, which is loaded with the first question, and what its word is worth; neither where there is none.
    Raises BundleError for a manifest that makes no sense."""
    if bundle.manifest.file(roles.PLANNER) is None:
        return LazyPlanner(), RerankParameters()
    from edgeret.planner.llama import import_llama
    from edgeret.planner.model import Planner
    from edgeret.planner.spec import PlannerSpec

    where = f"{bundle.path} ({roles.PLANNER})"
    value = get(bundle.manifest.info, roles.INFO_PLANNER, dict, where)
    spec = PlannerSpec.from_dict(get(value, "spec", dict, where), where)
    file = bundle.large_file(roles.PLANNER)

    def load() -> Planner:
        # From the very bytes that were verified. llama.cpp maps their copy, which outlives the context.
        import_llama()  # before hundreds of megabytes are copied for nothing
        try:
            with file.private_copy() as path:
                threads = thread_budget(options.threads)
                return Planner(path, spec, threads, options.gpu_layers, file.where)
        except BundleError as error:
            raise PlannerError(str(error)) from None

    folder = None if options.state_folder is None else Path(options.state_folder)
    reranking = RerankParameters.from_dict(get(value, "parameters", dict, where), where)
    return LazyPlanner(load, f"{file.sha256}\0{spec.chat}", folder), reranking
