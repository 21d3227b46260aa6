"""Builds our own arithmetic (edgeret/kernel/*.c) into the package, where there is a C compiler.

Without one, or with EDGERET_PURE=1, the package is built without it, and numpy and ONNX Runtime do the same.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = Path("edgeret", "kernel")
SOURCES = ("step.c", "teach.c", "first.c", "clauses.c", "many.c", "words.c", "stems.c", "transformer.c", "workers.c")
HEADERS = ("arithmetic.h", "strings.h", "first_body.h", "transformer.h", "transformer_body.h", "workers.h")
LIBRARY = KERNEL / "_kernel.so"
# Nobody reads errno or floating-point traps; without both, loops over probabilities are vectors.
# Vectors of 64 bytes are passed between inlined functions alone, so no ABI is touched.
FLAGS = (
    "-O3",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
)


class StepHook(BuildHookInterface):
    """Compiles before a wheel or an editable installation is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the library to the wheel, which then is for this machine's kind."""
        root = Path(self.root)
        library, made = root / LIBRARY, root / LIBRARY.with_suffix(".partial")
        compiler = shlex.split(os.environ.get("CC", "cc"))
        if os.environ.get("EDGERET_PURE") == "1" or sys.platform == "win32" or shutil.which(compiler[0]) is None:
            library.unlink(missing_ok=True)
            self.app.display_info("edgeret: no C compiler is used, so numpy and ONNX Runtime do all arithmetic")
            return
        sources = [str(root / KERNEL / name) for name in SOURCES]
        content = b"".join((root / KERNEL / name).read_bytes() for name in (*SOURCES, *HEADERS))
        made_of = f'-DEDGERET_SOURCES="{hashlib.sha256(content).hexdigest()}"'
        command = [*compiler, *FLAGS, made_of, "-o", str(made), *sources, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            made.unlink(missing_ok=True)
            library.unlink(missing_ok=True)
            self.app.display_warning(
                f"edgeret: numpy and ONNX Runtime do all arithmetic; compiling our own failed: {done.stderr[-500:]}"
            )
            return
        made.replace(library)  # at once: whatever starts meanwhile finds the one before, or this one
        build_data["artifacts"].append(LIBRARY.as_posix())
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
