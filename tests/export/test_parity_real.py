"""The parity gate on real weights: a damaged encoder is refused, a faithful one is compared with torch once."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import EXAMPLE
from onnx import numpy_helper

from edgeret.errors import CheckFailedError
from edgeret.inputs.tools import read_tools
from edgeret_export import build
from edgeret_export.encoders import original
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import ExportedEncoder, export_encoder
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, Card, find_card

pytestmark = pytest.mark.real


def damaged(exported: ExportedEncoder) -> ExportedEncoder:
    """The encoder with the columns of one int8 or fp32 weight matrix, the largest but the word table, reversed."""
    model = onnx.load_from_string(exported.model)
    sizes = {i.name: int(np.prod(i.dims)) for i in model.graph.initializer if len(i.dims) == 2 and max(i.dims) < 10_000}
    (largest,) = (i for i in model.graph.initializer if i.name == max(sizes, key=lambda name: sizes[name]))
    values = np.ascontiguousarray(numpy_helper.to_array(largest)[:, ::-1])
    largest.CopyFrom(numpy_helper.from_array(values, largest.name))
    return replace(exported, model=model.SerializeToString())


@pytest.mark.full
def test_fp32_that_is_not_torch_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = damaged(export_encoder(find_card(DEFAULT_ENCODER), "fp32"))
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path))
    for _ in range(2):  # a refusal is not remembered as a pass
        with pytest.raises(CheckFailedError, match=r"^the fp32 export is not its torch original: cosine 0\.\d+ on '"):
            original.compare_with_torch(broken, start(broken))


def test_faithful_fp32_is_compared_with_torch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = export_encoder(find_card(DEFAULT_ENCODER), "fp32")
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path))
    first = original.compare_with_torch(exported, start(exported))
    assert first > 0.99999
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert original.compare_with_torch(exported, start(exported)) == first


def test_a_build_from_tools_alone_replaces_damaged_int8_by_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    def export(card: Card, precision: str, offline: bool, attempt: int = 0) -> ExportedEncoder:
        exported = export_encoder(card, precision, offline, attempt)
        return damaged(exported) if precision == "int8" else exported

    monkeypatch.setattr(build, "export_encoder", export)
    monkeypatch.setattr(build, "training_set", lambda *_: None)
    tools = read_tools(EXAMPLE / "tools.jsonl")[:8]
    found = build.encode(find_card(DEFAULT_ENCODER), Recipe(), [], tools, False)
    assert found.parity.precision == "fp32"
    with pytest.raises(CheckFailedError, match=r"^parity gate \(int8\): .* Without --precision int8 the build goes on"):
        build.encode(find_card(DEFAULT_ENCODER), Recipe(precision="int8"), [], tools, False)
