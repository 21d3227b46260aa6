"""Tells whether a server's command is this very proxy, so that it does not start itself without end. Knows nothing of
what servers are for."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

MARKER = "EDGERET_MCP_PROXY"
"""The variable that tells servers, and so proxies among them, which configurations are being served above them: their
paths, as PATH would hold them."""
_PROGRAM = "edgeret"
_STARTERS = re.compile(
    r"(?:python|pypy)[\d.]*w?|py|uvx?|pipx|pdm|poetry|hatch|rye|conda|mamba|micromamba|pixi|mise|env|exec|sudo|doas|nice|"
    r"nohup|setsid|ionice|timeout|stdbuf|time|xargs|command|(?:ba|z|da|k|fi|a)?sh|cmd|powershell|pwsh|wsl|start|flatpak|"
    r"nix|arch|caffeinate"
)
_SCRIPT = re.compile(r"\s|[;&|()\"']")
_DEEPEST = 4


def proxied_file(words: Sequence[str]) -> str | None:
    """The configuration that a command line of this program serves, as it names it; empty where that cannot be seen,
    None where the command is another program."""
    if not words:
        return None
    for line in _lines(list(words), _DEEPEST):
        for i in range(len(line) - 1):
            if _is_program(line, i) and line[i + 1] == "mcp":
                return _named(line[i + 2 :])
            if i == 0 and not _STARTERS.fullmatch(_stem(line[0])):
                break  # what follows are that program's own words
    return None


def serves(proxies: str, named: str | Path, folders: Iterable[Path]) -> bool:
    """Whether one of the `proxies`, as MARKER holds them, serves a file that is named in one of these folders."""
    held = f"{os.pathsep}{os.path.normcase(proxies)}{os.pathsep}"
    paths = (_resolved(folder / Path(named).expanduser()) for folder in folders)
    # Not taken apart: a path may hold what parts them.
    return any(f"{os.pathsep}{os.path.normcase(path)}{os.pathsep}" in held for path in paths)


def _resolved(path: Path) -> str:
    try:
        return str(path.resolve())
    except (OSError, ValueError, RuntimeError):
        return str(path)


def _lines(words: list[str], depth: int) -> Iterator[list[str]]:
    """A command line, and those that stand in its words as scripts for a shell."""
    yield words
    if not depth or not _STARTERS.fullmatch(_stem(words[0])):
        return
    for word in words[1:]:
        if _PROGRAM in word and _SCRIPT.search(word):
            for part in re.split(r"[;&|()\n]+", word):
                try:
                    inner = shlex.split(part, comments=True)
                except ValueError:
                    inner = part.split()
                while inner and re.match(r"[A-Za-z_]\w*=", inner[0]):
                    inner.pop(0)
                if inner:
                    yield from _lines(inner, depth - 1)


def _is_program(line: Sequence[str], place: int) -> bool:
    word = line[place]
    name = re.split(r"[\[@=<>~! ]", re.split(r"[/\\]", word)[-1])[0]
    stem = _stem(name)
    if stem == _PROGRAM:
        return place == 0 or _STARTERS.fullmatch(_stem(line[0])) is not None
    if stem == "__main__.py":
        return Path(word).parent.name == _PROGRAM
    if place:
        return False
    # Under another name: a link to the program, or a copy that was made executable.
    path = shutil.which(word)
    return path is not None and Path(path).resolve() in _ourselves()


def _ourselves() -> set[Path]:
    found = [shutil.which(_PROGRAM), sys.argv[0] if _stem(sys.argv[0]) == _PROGRAM else None]
    return {Path(path).resolve() for path in found if path}


def _stem(word: str) -> str:
    """A program's name without its folder and what Windows ends it with."""
    return re.sub(r"\.(?:exe|cmd|bat|ps1)$|-script\.py$", "", re.split(r"[/\\]", word)[-1].lower())


def _named(options: Sequence[str]) -> str:
    """What `--config` names among a proxy's options, the last one counting, shortened or not."""
    found = ""
    for i, word in enumerate(options):
        option, given, value = word.partition("=")
        if len(option) > 4 and "--config".startswith(option):
            found = value if given else next(iter(options[i + 1 : i + 2]), "")
    return found
