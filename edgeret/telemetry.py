"""Switches off the telemetry of libraries that we load. ONNX Runtime (from 1.29 on POSIX systems) writes a device's id
into the user's cache and opens connections to its maker unless the environment forbids it before the import.
"""

from __future__ import annotations

import os
import sys

VARIABLES = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
"""What ONNX Runtime reads; which one depends on the build."""
_started_before_us = "onnxruntime" in sys.modules and not any(os.environ.get(name) == "1" for name in VARIABLES)


def disable(*others: str) -> None:
    """Forbids telemetry for this process and its children, by VARIABLES and `others`. The packages call it themselves,
    before anything is loaded."""
    os.environ.update(dict.fromkeys((*VARIABLES, *others), "1"))


def came_too_late() -> bool:
    """Whether the host imported ONNX Runtime before edgeret, with telemetry on; nothing we do stops it then."""
    return _started_before_us
