"""What stands for something else in MCP clients' files: `${VAR}`, `${workspaceFolder}`, `${input:id}`, `~`, and files
of variables. Knows nothing of servers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from edgeret.quoting import quoted
from edgeret.records import dataclass

INPUT = "EDGERET_INPUT_"
"""What the variable begins with that an `${input:id}` is taken from, since nobody can be asked on a pipe."""
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_BRACED = re.compile(r"\{(env|file):([^{}]+)\}")
_LINE = re.compile(
    r"""[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*
        (?:'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\n]*?))[ \t]*(?:(?<=[\s'"])\#[^\n]*)?(?:\n|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_DEEPEST = 8
_MOST_FILE_BYTES = 1 << 16
_PROJECT = ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT")
"""Variables that a client sets to the folder of the file."""
_HARMLESS = frozenset(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PWD", "PATH", "USER", "TMPDIR", "TEMP"))


class UnsetError(Exception):
    """Something that stands for nothing here, in words that go on "left out: "; never with a value."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a file is read: the variables, the project's folder, the file's `inputs` by their ids, and whether its
    client takes `$VAR` for a variable."""

    variables: Mapping[str, str]
    workspace: Path
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bare: bool = False

    def expand(self, text: str, own: Mapping[str, str] | None = None, shell: bool = False, show: bool = False) -> str:
        """The text with all that stands for something else replaced; `own` variables count before the others. In a
        `shell` script, what is not known is left to the shell. To `show` it, values that may be secrets stay names.
        Raises UnsetError."""
        return _Expansion(self, own or {}, shell, show).of(text)

    def home(self, text: str) -> str:
        """The text with a `~` at its begin replaced."""
        return str(Path.home()) + text[1:] if text == "~" or text.startswith(("~/", "~\\")) else text


@dataclass(frozen=True, slots=True)
class _Expansion:
    around: Surroundings
    own: Mapping[str, str]
    shell: bool
    show: bool

    def of(self, text: str, depth: int = 0) -> str:
        parts, at, last = list[str](), 0, text.rfind("}")
        while 0 <= (begin := text.find("${", at)) < last:
            end = _closing(text, begin + 2)
            whole = text[begin : end + 1]
            parts += [self._plain(text[at:begin]), self._value(whole, depth)]
            at = end + 1
        return "".join([*parts, self._plain(text[at:])])

    def _plain(self, text: str) -> str:
        text = _BRACED.sub(self._braced, text)
        return _BARE.sub(self._bare, text) if self.around.bare else text

    def _braced(self, match: re.Match[str]) -> str:
        return self._file(match) if match[1] == "file" else self._variable(match[2], match[0])

    def _bare(self, match: re.Match[str]) -> str:
        # Its client leaves what is not set as it is; so do shells' variables and passwords with a dollar get through.
        if match[1] in self.own or match[1] in self.around.variables or (match[1].isupper() and not self.shell):
            return self._variable(match[1], match[0])
        return match[0]

    def _file(self, match: re.Match[str]) -> str:
        path = self.around.workspace / self.around.home(match[2])
        if self.show:
            return match[0]
        try:
            with path.open("rb") as file:
                return file.read(_MOST_FILE_BYTES).decode().strip()
        except (OSError, ValueError):
            raise UnsetError(f"{quoted(match[0])} cannot be read") from None

    def _value(self, whole: str, depth: int) -> str:
        if depth > _DEEPEST:
            raise UnsetError("it holds ${…} nested too deep")
        content = whole[2:-1]
        if content in (places := self._places()):
            return places[content]
        kind, _, rest = content.partition(":")
        if kind == "input" and rest:
            return self._input(rest, whole)
        if kind.lower() == "env" and rest:
            content = rest
        name, default_given, default = content.partition(":-")
        if ":" in name or not name.strip() or not name.isprintable():
            if self.shell:
                return whole
            raise UnsetError(f"{quoted(f'${{{name}}}')} is known to its client alone")
        if default_given and not self._known(name):
            return self.of(default, depth + 1)
        return self._variable(name, whole)

    def _places(self) -> dict[str, str]:
        folder = self.around.workspace
        return {
            "workspaceFolder": str(folder),
            "workspaceRoot": str(folder),
            f"workspaceFolder:{folder.name}": str(folder),
            "workspaceFolderBasename": folder.name,
            "userHome": str(Path.home()),
            "cwd": str(Path.cwd()),
            "pathSeparator": os.sep,
            "/": os.sep,
        }

    def _known(self, name: str) -> str | None:
        return self.own.get(name) or self.around.variables.get(name)

    def _variable(self, name: str, whole: str) -> str:
        value = self.own.get(name, self.around.variables.get(name))
        if value is None and name in _PROJECT:
            value = str(self.around.workspace)
        if value is None:
            if self.shell:
                return whole
            raise UnsetError(f"the variable {quoted(name)} is not set")
        return whole if self.show and not _harmless(name, value) else value

    def _input(self, id_: str, whole: str) -> str:
        variable = input_variable(id_)
        value = self.around.variables.get(variable)
        # A client that starts us may leave its own placeholder where its user gave nothing.
        if value is None or value == whole:
            default = self.around.inputs.get(id_, {}).get("default")
            if not isinstance(default, str):
                raise UnsetError(f"its client asks for {quoted(whole)}; set the variable {variable} in its place")
            value = default
        return whole if self.show else value


def input_variable(id_: str) -> str:
    """The variable that an `${input:id}` is taken from."""
    return INPUT + re.sub(r"[^A-Za-z0-9]+", "_", id_).strip("_").upper()


def read_variables(text: str, around: Surroundings) -> dict[str, str]:
    """The variables of a dotenv file: `export`, quotes, comments, values over several lines in quotes. `${VAR}` counts
    but in single quotes. Raises UnsetError."""
    found: dict[str, str] = {}
    text = text.replace("\r\n", "\n")
    at = 0
    while at < len(text):
        if (match := _LINE.match(text, at)) is None:
            at = text.find("\n", at) + 1 or len(text)
            continue
        at = max(match.end(), at + 1)
        name, single, double, rest = match.groups()
        if single is not None:
            found[name] = single
        elif double is not None:
            plain = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), double, flags=re.DOTALL)
            found[name] = around.expand(plain, found)
        else:
            found[name] = around.expand(rest, found)
    return found


def _closing(text: str, at: int) -> int:
    """Where the brace is that closes the one before `at`; the next one, where they do not pair."""
    depth = 1
    for match in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.start()
    return text.index("}", at)


def _harmless(name: str, value: str) -> bool:
    return name in _HARMLESS or (Path(value).is_absolute() and Path(value).exists())
