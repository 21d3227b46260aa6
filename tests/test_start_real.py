"""What a process with real weights takes once its bundle is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOADED_MB = 125
"""Resident memory that is too much. The whole desktop example takes 113, of which 43 are pages of libraries; those
differ. One more copy of the encoder takes 24."""


@pytest.mark.real
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measured on Linux alone")
def test_a_loaded_bundle_keeps_one_copy_of_its_weights(real: Path) -> None:
    code = (
        "import sys, edgeret\n"
        "from edgeret.host import resident_mb\n"
        "runtime = edgeret.load(sys.argv[1])\n"
        "print(resident_mb())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(real)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < LOADED_MB
