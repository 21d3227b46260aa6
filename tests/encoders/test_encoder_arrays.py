"""Where a transformer's weights lie in its file, as a bundle says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_samples import exported_bert, weights_of

from edgeret.bundle import roles
from edgeret.bundle.codec import pack, unpack
from edgeret.bundle.reader import open_bundle
from edgeret.bundle.writer import writing
from edgeret.encoders.encoder_arrays import check_arrays, pack_arrays
from edgeret.errors import BundleError

ROLES = (roles.ENCODER, roles.ENCODER_ARRAYS)


def _arrays() -> dict[str, Any]:
    packed = pack_arrays(exported_bert().model, exported_bert().spec)
    assert packed is not None
    return unpack(packed, "arrays")


def _check(folder: Path, arrays: dict[str, Any], with_encoder: bool = True) -> None:
    exported = exported_bert()
    with writing(folder, overwrite=True) as writer:
        if with_encoder:
            writer.add("encoder.onnx", roles.ENCODER, exported.model, "MIT", "test")
        writer.add("encoder-arrays.msgpack", roles.ENCODER_ARRAYS, pack(arrays), "MIT", "test")
        writer.finish({roles.INFO_ENCODER: {"spec": exported.spec.to_dict()}})
    check_arrays(open_bundle(folder, only=ROLES))


def test_numbers_lie_there() -> None:
    data, arrays, weights = exported_bert().model, _arrays(), weights_of(exported_bert())

    def read(told: dict[str, Any]) -> np.ndarray[Any, Any]:
        return np.frombuffer(data, told["dtype"], int(np.prod(told["shape"])), told["at"]).reshape(told["shape"])

    assert (read(arrays["words"]) == weights.words).all()
    assert (read(arrays["places"]) + read(arrays["type"]) == weights.places).all()
    for told, layer in zip(arrays["layers"], weights.layers, strict=True):
        for name in ("together", "attended", "wide", "narrow"):
            product = getattr(layer, name)
            assert (read(told[name]["weights"]) == product.weights).all()
            assert (read(told[name]["scales"]) == product.scales).all()
            assert (product.bias == (0 if told[name]["bias"] is None else read(told[name]["bias"]))).all()
            assert (product.shrink == (1 if told[name]["shrink"] is None else read(told[name]["shrink"]))).all()
        assert (read(told["behind"]["gain"]) == layer.behind.gain).all()


def test_checked(tmp_path: Path) -> None:
    arrays = _arrays()
    _check(tmp_path / "bundle", arrays)
    _check(tmp_path / "bundle", {**arrays, "later": 1})
    for key, value in (
        ("heads", 2),
        ("pooling", "cls"),
        ("words", {**arrays["words"], "at": arrays["words"]["at"] + 1}),
    ):
        with pytest.raises(BundleError, match="lie elsewhere"):
            _check(tmp_path / "bundle", {**arrays, key: value})
    with pytest.raises(BundleError, match="no encoder"):
        _check(tmp_path / "bundle", arrays, with_encoder=False)
