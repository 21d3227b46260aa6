"""Builds the core (core/src/*.c) into the package, with the compiler here.

Without a compiler the build ends, and says how to get one. With EDGERET_TARGET=manylinux-aarch64 or another name in
wheels/targets.py it is compiled for that platform, by zig.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _beside() -> Any:
    """wheels/targets.py: a build in isolation finds no module of the checkout by its name."""
    spec = importlib.util.spec_from_file_location("edgeret_targets", Path(__file__).parent / "wheels" / "targets.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


targets = _beside()


class StepHook(BuildHookInterface):
    """Compiles before a wheel or an editable installation is made."""

    _made: Path | None = None

    def dependencies(self) -> list[str]:
        """zig, where it is asked for; pip then fetches it for the build alone."""
        return [targets.ZIG] if os.environ.get("EDGERET_TARGET") else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the library to the wheel, which then is for one platform."""
        if name := os.environ.get("EDGERET_TARGET"):
            self._for_target(targets.chosen(name), version == "editable", build_data)
        else:
            self._for_this_machine(build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what was compiled for a wheel only."""
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)

    def _for_target(self, name: str, editable: bool, build_data: dict[str, Any]) -> None:
        """With zig. A failure ends the build: whoever names a platform wants no wheel without the library."""
        target, root = targets.TARGETS[name], Path(self.root)
        build_data["pure_python"] = False
        if editable:
            if name != targets.here():
                raise targets.BuildError(
                    f"EDGERET_TARGET={name}: editable installations are for this machine; set here"
                )
            library = targets.CORE_LIBRARY
            targets.compile_for(target, library, root, root / library.file(target.suffix))
            build_data["tag"] = _tag_of_this_machine()
            return
        # Not in the checkout, whose own libraries are for this machine, and where several may build at once.
        self._made = Path(tempfile.mkdtemp(prefix="edgeret-core-"))
        held = targets.CORE_LIBRARY.file(target.suffix)
        targets.compile_for(target, targets.CORE_LIBRARY, root, self._made / held.name)
        build_data["force_include"][str(self._made / held.name)] = held.as_posix()
        build_data["tag"] = f"py3-none-{target.tag}"

    def _for_this_machine(self, build_data: dict[str, Any]) -> None:
        """With the compiler that is here, if there is one."""
        root = Path(self.root)
        compiler = shlex.split(os.environ.get("CC", "cc"))
        # An end, and no warning: pip shows none, and a slim image would be slow without a word.
        if sys.platform == "win32":
            raise targets.BuildError(f"on Windows no compiler of the machine's own is used. {targets.WITHOUT_COMPILER}")
        if shutil.which(compiler[0]) is None:
            raise targets.BuildError(f"no C compiler ({compiler[0]}) is used here. {targets.ADVICE}")
        library = targets.CORE_LIBRARY
        file = root / library.file()
        build_data["artifacts"].append(library.file().as_posix())
        build_data["pure_python"] = False
        build_data["tag"] = _tag_of_this_machine()
        # An editable installation, another one with other extras and a wheel: each would compile for half a minute.
        told, kept = targets.made_of(compiler, library, root), root / "build" / f"{library.stem}.made"
        if file.exists() and kept.exists() and kept.read_text() == _with_bytes(told, file):
            return
        try:
            targets.compile_with(compiler, library, root, made := file.with_suffix(".partial"))
        except targets.BuildError as error:
            file.unlink(missing_ok=True)
            raise targets.BuildError(f"{error}. {targets.ADVICE}") from None
        made.replace(file)  # at once: whatever starts meanwhile finds the one before, or this one
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(_with_bytes(told, file))


def _with_bytes(told: str, file: Path) -> str:
    """What a library was made of, and which bytes came of it."""
    return f"{told} {hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def _tag_of_this_machine() -> str:
    return f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
