"""An NPU's graphs on what runs or compiles them: OpenVINO's provider, and Qualcomm's compiler with its emulator.

Both come as packages that need an environment of their own, which the Makefile's rule `npu` makes:

    make npu

By hand: `python tests/npu_run.py build BUNDLE` where the build host's libraries are, then `openvino BUNDLE` or
`qnn BUNDLE` in an environment with `onnxruntime-openvino`, or with `onnxruntime` and `onnxruntime-qnn`, and this
repository in PYTHONPATH. Exits 1 where a graph does not run whole, or gives other vectors than the build host's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from edgeret_export.reference.runtime import components_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "desktop"
LEAST_COSINE = 0.98
SOC = "57"
"""Snapdragon 8 Gen 3, by Qualcomm's numbers: the emulator wants to know which chip it is."""
QUERIES = ("mail the minutes to Ana", "wake me at six tomorrow")


def build(path: Path) -> int:
    """A bundle of the example's tools with graphs for NPUs."""
    from edgeret.inputs.tools import read_tools
    from edgeret_export.build import build_bundle
    from edgeret_export.recipe import Recipe
    from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

    recipe = Recipe(targets="cpu,npu", npu_tokens="32,128")
    build_bundle(read_tools(EXAMPLE / "tools.jsonl"), (), path, find_card(DEFAULT_ENCODER), recipe, overwrite=True)
    return 0


def openvino(path: Path) -> int:
    """Runs the graphs on OpenVINO's provider, on this CPU, beside the encoder itself on the same provider."""
    import edgeret

    return _compared(
        path, ("openvino", None), ("openvino", "encoder"), options=None, at_once=len(QUERIES), edgeret=edgeret
    )


def qnn(path: Path) -> int:
    """Compiles the graphs for a Snapdragon with no node left to the CPU, then runs one query in the emulator."""
    import onnxruntime as ort
    import onnxruntime_qnn as plugin

    import edgeret

    ort.register_execution_provider_library(plugin.get_ep_name(), plugin.get_library_path())
    devices = [device for device in ort.get_ep_devices() if device.ep_name == plugin.get_ep_name()]
    for file in sorted(path.glob("encoder-npu-*.onnx")):
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        options.add_provider_for_devices(devices, {"backend_path": plugin.get_qnn_htp_path(), "soc_model": SOC})
        started = perf_counter()
        ort.InferenceSession(str(file), options)
        print(f"{file.name}: compiled whole in {perf_counter() - started:.1f} s")
    return _compared(path, ("qnn", None), options={"qnn": {"soc_model": SOC}}, at_once=1, edgeret=edgeret)


def _compared(
    path: Path, *chosen: tuple[str, str | None], options: dict[str, Any] | None, at_once: int, edgeret: Any
) -> int:
    failed = 0
    expected = components_of(edgeret.load(path)).encoder
    for provider, target in chosen:
        runtime = edgeret.load(path, providers=provider, target=target, provider_options=options)
        encoder = components_of(runtime).encoder
        cosines, started = [], perf_counter()
        for query in QUERIES[:at_once]:
            cosines.append(float(encoder.encode(query) @ expected.encode(query)))
        ms = (perf_counter() - started) / at_once * 1e3
        ran = encoder.providers[0] == provider
        failed += not ran or not min(cosines) >= LEAST_COSINE
        told = target or "its own graph"
        print(
            f"{provider}, {told}: least cosine {min(cosines):.4f} over {at_once} queries, {ms:.1f} ms a query, on "
            f"{', '.join(encoder.providers)}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit({"build": build, "openvino": openvino, "qnn": qnn}[sys.argv[1]](Path(sys.argv[2])))
