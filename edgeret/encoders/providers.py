"""Execution providers of ONNX Runtime, by name and strictly: what was asked for is what runs, or an error says why.

ONNX Runtime itself falls back to the CPU without a word; then a benchmark measures the wrong device.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from ctypes import CDLL
from dataclasses import field
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from edgeret.errors import MissingExtraError, ProviderError
from edgeret.quoting import said, suggestion, visible
from edgeret.records import dataclass

NAMES: Mapping[str, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "migraphx": "MIGraphXExecutionProvider",
    "directml": "DmlExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "qnn": "QNNExecutionProvider",
    "nnapi": "NnapiExecutionProvider",
    "xnnpack": "XnnpackExecutionProvider",
}
PLUGINS: Mapping[str, str] = {"qnn": "onnxruntime_qnn"}
"""Providers that are packages of their own beside ONNX Runtime, by their module's name."""
_SHORT = {full.lower(): name for name, full in NAMES.items()}
STATIC_SHAPES = frozenset({"qnn", "nnapi", "coreml"})
"""Providers that compile a graph for fixed shapes; with dynamic ones they hand the work back to the CPU."""
DEVICE_MEMORY = frozenset({"cuda", "tensorrt", "rocm", "migraphx"})
"""Providers that compute in their own memory; inputs and outputs are bound, so that one copy each way is all."""
ON_NVIDIA = frozenset({"cuda", "tensorrt"})
"""Providers that want CUDA's libraries, which pip installs where no loader looks."""

DISABLED_OPTIMIZERS = "optimization.disable_specified_optimizers"
"""ONNX Runtime's session entry for rewritings of a graph that shall not take place, joined by ";"."""
SLOW_ON_CPU = ("SkipLayerNormFusion",)
"""Rewritings after which a CPU takes longer. The joined sum and normalisation adds up number by number where the plain
operators use vector instructions: an int8 text of 20 tokens took 1.36 times as long, one of 62 1.4 times."""


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """The providers that were requested, in order, with their options; `missing` are those among them that this ONNX
    Runtime was built without."""

    requested: tuple[str, ...]
    allow_fallback: bool = False
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def usable(self) -> tuple[str, ...]:
        """The providers to ask ONNX Runtime for, in order; the CPU where none of those requested is left."""
        return tuple(p for p in self.requested if p not in self.missing) or ("cpu",)

    @property
    def static(self) -> bool:
        """Whether the first usable provider needs fixed shapes."""
        return self.usable[0] in STATIC_SHAPES

    @property
    def bound(self) -> bool:
        """Whether the first usable provider computes in its own memory."""
        return self.usable[0] in DEVICE_MEMORY

    @property
    def unfused(self) -> tuple[str, ...]:
        """The rewritings of a graph that make the first usable provider slower, by ONNX Runtime's names."""
        return SLOW_ON_CPU if self.usable[0] == "cpu" else ()


def first_of(providers: str | Sequence[str]) -> str:
    """edgeret's name of the first provider that is asked for, which need not be one; "cpu" where none is."""
    names = (providers,) if isinstance(providers, str) else providers
    return _short(names[0]) if names else "cpu"


def only_cpu(providers: str | Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether nothing but "cpu" is asked for, without options: then what computes there is ours to choose. By ONNX
    Runtime's own name for it, its provider is asked for."""
    names = (providers,) if isinstance(providers, str) else providers
    return [name.lower() for name in names] == ["cpu"] and not options


def import_onnxruntime() -> Any:
    """The module, whichever of the two distributions carries it. Raises MissingExtraError."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("cpu", "ONNX Runtime (or extra 'gpu' for CUDA, never both)") from None
    return onnxruntime


def choose(
    providers: str | Sequence[str], allow_fallback: bool, options: Mapping[str, Mapping[str, Any]]
) -> ProviderChoice:
    """Checks the names and that this ONNX Runtime was built with them. A string is one provider; names are edgeret's or
    ONNX Runtime's own, in any case. Raises ProviderError naming what there is."""
    names = (providers,) if isinstance(providers, str) else providers
    requested = tuple(dict.fromkeys(map(_short, names)))
    options = {_short(name): values for name, values in options.items()}
    if not requested:
        raise ProviderError("no execution provider given; the plainest is 'cpu'")
    unknown = [p for p in (*requested, *options) if p not in NAMES]
    if unknown:
        raise ProviderError(
            f"unknown execution provider '{unknown[0]}'; edgeret knows {', '.join(NAMES)}"
            + suggestion(unknown[0], NAMES)
        )
    built_in = import_onnxruntime().get_available_providers()
    missing = tuple(p for p in requested if NAMES[p] not in built_in and not _is_plugin(p))
    if missing and not allow_fallback:
        raise ProviderError(f"execution provider '{missing[0]}' is not in this ONNX Runtime; {_remedy(built_in)}")
    return ProviderChoice(requested, allow_fallback, options, missing)


def create_session(model: bytes | Path, choice: ProviderChoice, session_options: Any) -> Any:
    """An inference session of a model, or of a file that holds one, that runs on the first of `choice.usable`.

    Raises ProviderError when ONNX Runtime put another provider first, unless the choice allows it.
    """
    ort = import_onnxruntime()
    first = choice.usable[0]
    if _is_plugin(first):
        return _plugin_session(model, choice, session_options)
    chain = [NAMES[p] for p in choice.usable]
    if choice.allow_fallback and NAMES["cpu"] not in chain:
        chain.append(NAMES["cpu"])
    options = [dict(choice.options.get(p, {})) for p in choice.usable]
    options += [{}] * (len(chain) - len(options))
    lacking = _load_cuda(ort) if first in ON_NVIDIA else ""
    try:
        session = ort.InferenceSession(model, session_options, providers=chain, provider_options=options)
    except Exception as error:  # ONNX Runtime raises a different class a cause, all outside a common root
        why = f"{said(error)} ({lacking})" if lacking else said(error)
        raise ProviderError(f"ONNX Runtime cannot start the encoder on {first}: {why}") from None
    actual = session.get_providers()
    if actual[0] != chain[0] and not choice.allow_fallback:
        raise ProviderError(
            f"asked for '{first}', ONNX Runtime would silently run on {name_of(actual[0])}: "
            f"{lacking or 'its libraries or its device are missing here'}; {_remedy(actual)}"
        )
    session.disable_fallback()  # what fails later, its user handles, and says so
    return session


def _load_cuda(ort: Any) -> str:
    """Loads CUDA's libraries from the packages that pip installed, as ONNX Runtime itself does only where torch was
    imported before it. Gives what is missing, by the loader's words; nothing where all is there, or nobody can tell."""
    if not hasattr(ort, "preload_dlls"):
        return ""
    with redirect_stdout(StringIO()) as printed:
        ort.preload_dlls()
    lines = [line.partition(": ") for line in printed.getvalue().splitlines()]
    failed = [why for what, _, why in lines if what.startswith("Failed to load")]
    if not failed and sys.platform == "linux":
        try:
            CDLL("libcuda.so.1")
        except OSError as error:
            failed = [f"{error} (it comes with NVIDIA's driver)"]
    return visible(failed[0]) if failed else ""


def _is_plugin(name: str) -> bool:
    return name in PLUGINS and find_spec(PLUGINS[name]) is not None


def _plugin_session(model: bytes | Path, choice: ProviderChoice, session_options: Any) -> Any:
    """The same for a provider that is a package of its own. It makes the devices known that it finds; what it cannot
    run, the CPU does."""
    ort, first = import_onnxruntime(), choice.usable[0]
    try:
        plugin = import_module(PLUGINS[first])
        if not any(device.ep_name == plugin.get_ep_name() for device in ort.get_ep_devices()):
            ort.register_execution_provider_library(plugin.get_ep_name(), plugin.get_library_path())
        devices = [device for device in ort.get_ep_devices() if device.ep_name == plugin.get_ep_name()]
        options = {"backend_path": plugin.get_qnn_htp_path(), **choice.options.get(first, {})}
        session_options.add_provider_for_devices(devices, options)
        session = ort.InferenceSession(model, session_options)
    except Exception as error:  # as above; and a plugin is other people's code
        raise ProviderError(f"ONNX Runtime cannot start the encoder on {first}: {said(error)}") from None
    if session.get_providers()[0] != plugin.get_ep_name() and not choice.allow_fallback:
        raise ProviderError(f"asked for '{first}', which takes nothing of this encoder; build it with --target npu")
    session.disable_fallback()  # as above
    return session


def _short(name: str) -> str:
    return _SHORT.get(name.lower(), name.lower())


def name_of(provider: str) -> str:
    """edgeret's name of an ONNX Runtime provider."""
    return next((name for name, full in NAMES.items() if provider in (full, name.upper())), provider)


def _remedy(built_in: Sequence[str]) -> str:
    names = ", ".join(name for p in built_in if (name := name_of(p)) in NAMES)
    return (
        f"available: {names}. Choose one of them, install its ONNX Runtime, or pass allow_fallback=True "
        "(--allow-fallback)"
    )
