"""Which of a bundle's graphs runs where, and manifests that tell of graphs that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from edgeret.bundle import roles
from edgeret.bundle.layout import FileEntry, Manifest
from edgeret.encoders import variants
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.variants import WEIGHT_BITS, Variant, choose_variant, read_variants
from edgeret.errors import BundleError, InputError
from edgeret_export.reference.components import roles_to_read

SPEC = EncoderSpec(24, 64, "mean", True, "", "", "int8", "avx512_vnni")
HALF = EncoderSpec(24, 64, "mean", True, "", "", "fp16", "any")
NARROW = EncoderSpec(24, 64, "mean", True, "", "", "int8", "avx2")
FIXED = EncoderSpec(24, 64, "mean", True, "", "", "int8", "any")
NARROW_CPU = Variant("cpu-7bit", "cpu", (("encoder-cpu-7bit", 0),), NARROW)
ON_GPU = Variant("gpu", "gpu", (("encoder-gpu", 0),), HALF)
ON_NPU = Variant("npu", "npu", (("encoder-npu-16", 16), ("encoder-npu-32", 32)), FIXED)
ON_PHONE = Variant("mobile", "mobile", (("encoder-mobile", 0), ("encoder-mobile-operators", 0)), SPEC)
ALL = (NARROW_CPU, ON_GPU, ON_NPU, ON_PHONE)


def manifest(*told: Variant, encoder: EncoderSpec | None = SPEC, **changed: Any) -> Manifest:
    played = [role for variant in told for role, _ in variant.files] + ([] if encoder is None else [roles.ENCODER])
    files = tuple(FileEntry(role, role, 1, "0" * 64, "MIT", "here") for role in played)
    listed = [variant.to_dict() | changed for variant in told]
    info = {roles.INFO_ENCODER: {"spec": (encoder or SPEC).to_dict()}}
    return Manifest(6, "0" * 64, files, info | ({roles.INFO_VARIANTS: listed} if told else {}))


def chosen(
    target: str | None, provider: str = "cpu", here: str = "avx512_vnni", found: Manifest | None = None
) -> str | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variants, "instruction_set", lambda: here)
        variant = choose_variant(manifest(*ALL) if found is None else found, target, provider, "B")
    return None if variant is None else variant.name


@pytest.mark.parametrize("here", WEIGHT_BITS)
def test_a_cpu_runs_the_graph_whose_products_it_adds_up_exactly(here: str) -> None:
    assert chosen(None, here=here) == (None if WEIGHT_BITS[here] == 8 else "cpu-7bit")


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        *((name, "gpu") for name in ("cuda", "tensorrt", "rocm", "directml")),
        *((name, "npu") for name in ("qnn", "coreml", "nnapi", "openvino")),
        ("xnnpack", None),
    ],
)
def test_a_provider_has_its_own_graph(provider: str, expected: str | None) -> None:
    assert chosen(None, provider) == expected


def test_a_target_or_a_name_overrides_the_provider() -> None:
    assert chosen("gpu") == "gpu"
    assert chosen("NPU", "cuda") == "npu"
    assert chosen("cpu", "cuda") is None
    assert chosen("cpu-7bit") == "cpu-7bit"
    assert chosen("encoder", here="avx2") is None


def test_without_a_graph_of_its_own_a_provider_runs_the_encoder() -> None:
    assert chosen(None, "cuda", found=manifest(ON_NPU)) is None
    assert chosen(None, "qnn", found=manifest()) is None


def test_half_precision_is_a_gpus_graph_already() -> None:
    assert chosen("gpu", found=manifest(encoder=HALF)) is None


def test_without_an_encoder_the_one_that_is_left_runs() -> None:
    assert chosen(None, found=manifest(ON_NPU, encoder=None)) == "npu"
    assert chosen(None, here="avx512_vnni", found=manifest(NARROW_CPU, encoder=None)) == "cpu-7bit"


@pytest.mark.parametrize(
    ("target", "found", "message"),
    [
        (
            "gpu",
            manifest(),
            r"nothing in it for the target .gpu.; targets to load: cpu, encoder\. Build it with --targ",
        ),
        ("npi", manifest(ON_NPU), r"targets to load: cpu, encoder, npu; did you mean .npu."),
        (
            "mobile",
            manifest(ON_PHONE, ON_GPU),
            r"for a minimal build of ONNX Runtime.*; targets to load: cpu, enc.*gpu",
        ),
        ("cpu", manifest(ON_GPU, encoder=None), r"nothing in it for the target .cpu.; targets to load: gpu\. "),
        (None, manifest(ON_PHONE, encoder=None), r"nothing in it for the target .cpu.; .*: none that runs here"),
    ],
)
def test_what_cannot_be_had_is_told_with_what_can(target: str | None, found: Manifest, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(target, found=found)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": 3}, '"name" must be'),
        ({"target": "tpu"}, "one of cpu, gpu, npu, mobile as its target"),
        ({"files": []}, "and files"),
        ({"files": [{"role": "encoder-npu-16", "tokens": 16}, 3]}, "a file that is not a map"),
        ({"files": [{"role": "encoder", "tokens": 0}]}, "no file with the role .encoder."),
        ({"files": [{"role": "encoder-cpu-7bit", "tokens": 0}]}, "no file with the role"),
        ({"files": [{"role": "encoder-npu-16", "tokens": -1}]}, "of another length"),
        ({"files": [{"role": "encoder-npu-16", "tokens": 1 << 20}]}, "of another length"),
        ({"files": [{"role": f"encoder-npu-{n}", "tokens": n} for n in (32, 16)]}, "lengths of their own, in order"),
        ({"files": [{"role": "encoder-npu-16", "tokens": 16}] * 2}, "lengths of their own, in order"),
        ({"files": [{"role": f"encoder-npu-{n}", "tokens": n} for n in (16, 32)], "target": "cpu"}, "lengths of their"),
        ({"spec": FIXED.to_dict() | {"dimension": 25}}, "not made of this bundle's encoder"),
        ({"spec": FIXED.to_dict() | {"query_prefix": "q"}}, "not made of this bundle's encoder"),
        ({"spec": []}, '"spec" must be'),
    ],
)
def test_a_variant_that_cannot_be_is_refused_by_name(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        read_variants(manifest(ON_NPU, **changed), "B")


def test_variants_that_are_no_list_or_too_many_or_twice_are_refused() -> None:
    found = manifest(ON_NPU)
    for listed in ({}, [3], [ON_NPU.to_dict()] * 17, [ON_NPU.to_dict()] * 2):
        info = {**found.info, roles.INFO_VARIANTS: listed}
        with pytest.raises(BundleError):
            read_variants(Manifest(6, "0" * 64, found.files, info), "B")


def test_graphs_that_do_not_run_are_not_read() -> None:
    assert {roles.ENCODER, *roles.VARIANT_ROLES} & set(roles_to_read(ON_NPU)) == {"encoder-npu-16", "encoder-npu-32"}
    assert {roles.ENCODER, *roles.VARIANT_ROLES} & set(roles_to_read(None)) == {roles.ENCODER}
    assert {roles.TOOLS, roles.INDEX, roles.TOKENIZER} <= set(roles_to_read(ON_NPU))
