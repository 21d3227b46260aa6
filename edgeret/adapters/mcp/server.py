"""What is known of one server: how it is started or reached, which of its tools are taken, and how that is told to
people without what may be secret. Knows nothing of files."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from edgeret.adapters.mcp.itself import MARKER
from edgeret.quoting import quoted
from edgeret.records import dataclass

Transport = Literal["stdio", "http", "sse"]
_SECRET = re.compile(r"(?i)key|token|secret|passw|pwd|auth|credential|bearer|cookie|header")
_TOKEN = re.compile(r"(?:sk-|gh[opsu]_|github_pat_|glpat-|xox[a-z]-|AIza|AKIA|npm_|hf_|pat-|eyJ)\S{6,}")
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Server:
    """One entry: a `command` to start, or a `url` to connect to. `prefix` is what its tools' names begin with."""

    name: str
    prefix: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    transport: Transport = "stdio"
    tools_only: frozenset[str] | None = None
    """The only tools that are taken, by the server's names for them; None for all."""
    tools_left_out: frozenset[str] = frozenset()
    reached: str = ""
    """How it is reached, in words for people, without what may be secret."""
    proxies: str = ""
    """Files of the proxies that it runs under, as MARKER holds them."""

    def takes(self, tool: Any) -> bool:
        """Whether its entry lets a tool be used; what is no name is for others to judge."""
        if not isinstance(tool, str):
            return True
        return (self.tools_only is None or tool in self.tools_only) and not self.tools_left_out & {tool, "*"}

    @property
    def child_env(self) -> dict[str, str]:
        """The variables that its process gets beside the harmless ones."""
        return {**self.env, MARKER: self.proxies} if self.proxies else dict(self.env)

    def not_started(self, error: OSError) -> str:
        """Why its command could not be started, in words that go on a sentence about it, with what was tried."""
        if self.cwd is not None and not Path(self.cwd).is_dir():
            return f"cannot be started: its folder {quoted(self.cwd)} is not there (tried: {self.reached})"
        if isinstance(error, FileNotFoundError) and len(Path(self.command).parts) == 1:
            folders = self.env.get("PATH", os.environ.get("PATH", ""))
            missing = f"no program {quoted(self.command)} in PATH, {quoted(folders)}"
            return f"cannot be started: {missing} (tried: {self.reached})"
        return f"cannot be started ({error.strerror or error}; tried: {self.reached})"


def shown_command(words: Sequence[str]) -> str:
    """A command line for people, without values of options that are named like secrets, or look like them."""
    shown, secret = list[str](), False
    for i, word in enumerate(words):
        name = re.split(r"[=:\s]", word, maxsplit=1)[0]
        given = word[len(name) : len(name) + 1].strip()
        if i and ((secret and not word.startswith("-")) or _TOKEN.match(word)):
            word = "…"
        elif i and given and _SECRET.search(name):
            word = f"{name}{given}…"
        elif given == "=":
            word = f"{name}={shown_url(word[len(name) + 1 :])}"
        else:
            word = shown_url(word)
        secret = bool(i) and not given and name.startswith("-") and _SECRET.search(name) is not None
        shown.append(shlex.quote(word) if re.search(r"\s", word) or not word else word)
    return _short(" ".join(shown))


def shown_url(text: str) -> str:
    """A text for people: where it is a URL, without what names a user and without what is asked."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
        return text
    return _short(re.sub(r"(?<=//)[^/@]*@", "…@", re.sub(r"[?#].*", "?…", text, flags=re.DOTALL)))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
