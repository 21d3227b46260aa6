"""Builds the arithmetic of steps and lessons (edgeret/scoring/*.c) into the package, where there is a C compiler.

Without one, or with EDGERET_PURE=1, the package is built without it, and numpy does the same.
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

SCORING = Path("edgeret", "scoring")
SOURCES, HEADER = ("step.c", "teach.c", "first.c", "clauses.c", "many.c"), "arithmetic.h"
LIBRARY = SCORING / "_step.so"
# Nobody reads errno or floating-point traps; without both, loops over probabilities are vectors.
FLAGS = ("-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math")


class StepHook(BuildHookInterface):
    """Compiles before a wheel or an editable installation is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the library to the wheel, which then is for this machine's kind."""
        root = Path(self.root)
        (root / LIBRARY).unlink(missing_ok=True)
        compiler = shlex.split(os.environ.get("CC", "cc"))
        if os.environ.get("EDGERET_PURE") == "1" or sys.platform == "win32" or shutil.which(compiler[0]) is None:
            self.app.display_info("edgeret: no C compiler is used, so numpy does a step's arithmetic")
            return
        sources = [str(root / SCORING / name) for name in SOURCES]
        content = b"".join((root / SCORING / name).read_bytes() for name in (*SOURCES, HEADER))
        made_of = f'-DEDGERET_SOURCES="{hashlib.sha256(content).hexdigest()}"'
        command = [*compiler, *FLAGS, made_of, "-o", str(root / LIBRARY), *sources, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.app.display_warning(
                f"edgeret: numpy does a step's arithmetic; compiling it failed: {done.stderr[-500:]}"
            )
            return
        build_data["artifacts"].append(LIBRARY.as_posix())
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
