"""The weights by which arguments are read, and how sure what is read so is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeret_export.fitting import argument_weights
from edgeret_export.reference.scoring.argument_shape import TRAITS

TRANSFER = Path(__file__).parents[2] / "examples" / "transfer"


def test_weights_and_confidence_of_two_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argument_weights, "STEPS", 60)
    out = tmp_path / "weights.json"
    assert argument_weights.main([str(TRANSFER / "home"), str(TRANSFER / "shop"), "-o", str(out)]) == 0
    told = json.loads(out.read_text("utf-8"))
    assert told["fitted_on"] == ["home", "shop"]
    assert set(told["confidence"]) == set(TRAITS)
    assert told["confidence"]["share"] > 0
    assert told["weights"]["absent optional"] > 0
