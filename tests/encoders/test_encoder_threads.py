"""How many threads an encoder has: by its precision, unless somebody says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgeret import host
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.bundle.reader import open_bundle
from edgeret.encoders.providers import choose
from edgeret_export.reference.encoders import load


@pytest.mark.parametrize(
    ("precision", "given", "expected"), [("int8", None, 1), ("int8", 3, 3), ("fp32", None, 5), ("fp32", 3, 3)]
)
def test_an_int8_encoder_has_one_thread_unless_told_otherwise(
    tiny_original: Path, monkeypatch: pytest.MonkeyPatch, precision: str, given: int | None, expected: int
) -> None:
    monkeypatch.setattr(host, "available_cpus", lambda: 5)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    bundle = open_bundle(tiny_original)
    spec = {**bundle.manifest.info["encoder"]["spec"], "precision": precision}
    hashes = {entry.role: entry.sha256 for entry in bundle.manifest.files}
    fingerprint = encoder_fingerprint(spec, hashes["encoder"], hashes["tokenizer"])
    info = {**bundle.manifest.info, "encoder": {"spec": spec, "fingerprint": fingerprint}}
    bundle = replace(bundle, manifest=replace(bundle.manifest, info=info))
    assert load.load_encoder(bundle, lambda: choose("cpu", False, {}), given).threads == expected
