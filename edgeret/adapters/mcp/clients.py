"""Where MCP clients keep their files of servers, and how an entry of theirs is written. Reads and writes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from edgeret.records import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """One client: its name for people, where its user's file is, the key that its servers stand under, and whether its
    entries say that they are started on standard input and output."""

    title: str
    file: Callable[[], Path]
    key: str = "mcpServers"
    typed: bool = False

    def entry(self, words: Sequence[str], env: dict[str, str]) -> dict[str, Any]:
        """The entry of a command line."""
        kind = {"type": "stdio"} if self.typed else {}
        return {**kind, "command": words[0], "args": list(words[1:]), **({"env": env} if env else {})}


def _applications() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _claude_code() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home()) / ".claude.json"


CLIENTS = {
    "claude-desktop": Client("Claude Desktop", lambda: _applications() / "Claude" / "claude_desktop_config.json"),
    "claude-code": Client("Claude Code", _claude_code, typed=True),
    "cursor": Client("Cursor", lambda: Path.home() / ".cursor" / "mcp.json"),
    "vscode": Client("VS Code", lambda: _applications() / "Code" / "User" / "mcp.json", "servers", True),
    "windsurf": Client("Windsurf", lambda: Path.home() / ".codeium" / "windsurf" / "mcp_config.json"),
}
"""The clients that `edgeret mcp install` knows."""
