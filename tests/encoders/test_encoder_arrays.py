"""Where a transformer's weights lie in its file, as a bundle says."""

from __future__ import annotations

from typing import Any

import numpy as np
from bert_samples import exported_bert, weights_of

from edgeret.bundle.codec import unpack
from edgeret_export.reference.encoders.encoder_arrays import pack_arrays


def _arrays() -> dict[str, Any]:
    packed = pack_arrays(exported_bert().model, exported_bert().spec)
    assert packed is not None
    return unpack(packed, "arrays")


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
