"""Strict execution providers: what ONNX Runtime would do silently is an error, unless it was allowed."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from edgeret.encoders import providers
from edgeret.errors import ProviderError


class Session:
    """A session of an ONNX Runtime that has CUDA built in and no CUDA to run on: it keeps the CPU alone."""

    fallback_disabled = False

    def __init__(self, model: bytes, options: Any, providers: list[str], provider_options: list[dict]) -> None:
        self.asked, self.options = providers, provider_options

    def get_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]

    def disable_fallback(self) -> None:
        self.fallback_disabled = True


@pytest.fixture(autouse=True)
def cuda_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    fake = SimpleNamespace(get_available_providers=lambda: built_in, InferenceSession=Session)
    monkeypatch.setattr(providers, "import_onnxruntime", lambda: fake)


def test_a_silent_fallback_is_an_error() -> None:
    choice = providers.choose(["cuda"], False, {})
    with pytest.raises(
        ProviderError, match=r"asked for 'cuda', ONNX Runtime would silently run on cpu.*allow_fallback"
    ):
        providers.create_session(b"", choice, None)


def test_an_allowed_fallback_runs_and_adds_the_cpu() -> None:
    session = providers.create_session(b"", providers.choose(["cuda"], True, {"cuda": {"device_id": 1}}), None)
    assert session.asked == ["CUDAExecutionProvider", "CPUExecutionProvider"]
    assert session.options == [{"device_id": 1}, {}]
    assert session.fallback_disabled  # in silence; the encoder goes on by itself, and says so


@pytest.mark.parametrize("name", ["cpu", "CPU", "CPUExecutionProvider", "cpuexecutionprovider"])
def test_a_provider_goes_by_either_name_in_any_case_and_one_needs_no_list(name: str) -> None:
    for given in (name, [name], (name,)):
        assert providers.choose(given, False, {name: {"x": 1}}) == providers.ProviderChoice(
            ("cpu",), False, {"cpu": {"x": 1}}
        )


def test_no_provider_at_all_is_refused() -> None:
    with pytest.raises(ProviderError, match="no execution provider given; the plainest is 'cpu'"):
        providers.choose([], False, {})


def test_a_choice_keeps_what_was_requested_and_what_is_missing() -> None:
    choice = providers.choose(["coreml"], True, {"coreml": {"x": 1}})
    assert (choice.requested, choice.missing, choice.usable) == (("coreml",), ("coreml",), ("cpu",))
    assert not choice.static
    session = providers.create_session(b"", choice, None)
    assert (session.asked, session.options) == (["CPUExecutionProvider"], [{}])


def test_the_cpu_runs_without_fallback() -> None:
    assert providers.create_session(b"", providers.choose(["CPU"], False, {}), None).fallback_disabled


def test_shapes_binding_and_rewritings_follow_the_first_provider() -> None:
    assert providers.ProviderChoice(("qnn", "cpu")).static
    assert providers.ProviderChoice(("cuda",)).bound
    assert not providers.ProviderChoice(("cpu",)).static
    assert providers.ProviderChoice(("cpu", "cuda")).unfused
    assert not providers.ProviderChoice(("cuda", "cpu")).unfused
    assert providers.name_of("QNNExecutionProvider") == "qnn"


def test_a_mistyped_provider_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(ProviderError, match=r"unknown execution provider 'cdua'; .*; did you mean \"cuda\"\?$"):
        providers.choose(["cdua"], False, {})


def test_what_this_onnx_runtime_lacks_is_named() -> None:
    with pytest.raises(ProviderError, match="'coreml' is not in this ONNX Runtime; available: cuda, cpu"):
        providers.choose(["coreml"], False, {})


def without_libraries(*printed: str) -> SimpleNamespace:
    """An ONNX Runtime with CUDA built in that prints what its own search for libraries does."""

    def preload_dlls() -> None:
        sys.stdout.writelines(f"{line}\n" for line in printed)

    built_in = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    return SimpleNamespace(
        get_available_providers=lambda: built_in, InferenceSession=Session, preload_dlls=preload_dlls
    )


def test_a_missing_library_is_named_and_nothing_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "libcublasLt.so.13"
    said = f"{name}: cannot open shared object file: No such file or directory"
    fake = without_libraries(f"Failed to load {name}: {said}", "Please follow https://example.org to install CUDA.")
    monkeypatch.setattr(providers, "import_onnxruntime", lambda: fake)
    with pytest.raises(ProviderError, match=f"silently run on cpu: {re.escape(said)}; available: cpu"):
        providers.create_session(b"", providers.choose(["cuda"], False, {}), None)
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(sys.platform != "linux", reason="drivers have other names elsewhere")
def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(providers, "import_onnxruntime", without_libraries)
    monkeypatch.setattr(providers, "CDLL", nowhere)
    with pytest.raises(ProviderError, match=r"libcuda\.so\.1: cannot open .*NVIDIA's driver"):
        providers.create_session(b"", providers.choose(["cuda"], False, {}), None)
    assert providers.create_session(b"", providers.choose(["cuda"], True, {}), None).get_providers()


def test_only_providers_on_nvidia_look_for_its_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError

    fake = without_libraries()
    fake.preload_dlls = refuse
    monkeypatch.setattr(providers, "import_onnxruntime", lambda: fake)
    providers.create_session(b"", providers.choose(["cpu"], False, {}), None)
