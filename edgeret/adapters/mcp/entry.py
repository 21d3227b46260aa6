"""One server's entry in an MCP client's file, whichever client it is: what its keys are called, and what they may hold.
Knows nothing of files and of other entries."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.adapters.mcp.names import prefix
from edgeret.adapters.mcp.placeholders import Surroundings, UnsetError, read_variables
from edgeret.adapters.mcp.server import Server, Transport, shown_command, shown_url
from edgeret.quoting import quoted

_KEYS = {
    "command": ("command", "cmd"),
    "args": ("args", "arguments"),
    "env": ("env", "environment", "envs"),
    "env_file": ("envFile", "env_file"),
    "env_names": ("env_vars", "env_keys"),
    "cwd": ("cwd", "workingDirectory", "working_directory"),
    "url": ("httpUrl", "serverUrl", "url", "baseUrl", "uri"),
    "headers": ("headers", "http_headers"),
    "header_names": ("env_http_headers",),
    "bearer": ("bearer_token_env_var",),
    "kind": ("type", "transport", "transportType"),
    "off": ("disabled",),
    "on": ("enabled", "isActive", "active"),
    "only": ("includeTools", "enabled_tools", "enabledTools", "allowedTools", "allowed_tools", "tools"),
    "left_out": ("excludeTools", "disabledTools", "disabled_tools", "excludedTools"),
}
"""What is read, and its names in the files of clients; the first name that is there counts."""
_FOREIGN = """
alwaysAllow alwaysLoad auth authProviderType autoApprove auto_approve available_tools bundled
default_tools_approval_mode description dev disabledReason display_name fromGalleryId gallery icon icons id
initTimeout instructions keepAlive logoUrl metadata name note oauth oauth_resource provider providerUrl remote
required sandbox sandboxEnabled scopes settings source startOnLaunch start_on_launch startup_timeout_ms
startup_timeout_sec supports_parallel_tool_calls tags timeout title toolTimeout tool_timeout_sec trust version
watchPaths
"""
"""Other clients' keys that mean nothing here; timeouts too, which are seconds to some and milliseconds to others."""
KNOWN = frozenset(_FOREIGN.split()).union(*_KEYS.values())
REACHED_BY = frozenset(_KEYS["command"] + _KEYS["url"])
_KINDS: Mapping[str, Transport] = {
    **dict.fromkeys(("stdio", "local", "process", "command"), "stdio"),
    **dict.fromkeys(("http", "https", "streamable", "streamablehttp", "httpstream", "remote"), "http"),
    **dict.fromkeys(("sse", "httpsse", "serversentevents"), "sse"),
}
_URL = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SHELL = re.compile(r"(?:.*[/\\])?(?:(?:ba|z|da|k|fi|a)?sh|cmd|powershell|pwsh)(?:\.exe)?", re.IGNORECASE)
_SCRIPT = re.compile(r"-[a-z]*c|/[cC]|-Command")
"""What a shell's script comes behind."""


class UnusableError(Exception):
    """An entry that cannot be used, in words that go on "left out: "; never with a value of it that may be secret."""


def flattened(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with what some clients keep in an object of its own, `transport` or `command`, beside the rest."""
    flat = dict(entry)
    for key in ("transport", "command"):
        inner = flat.get(key)
        if isinstance(inner, dict):
            del flat[key]
            if key == "command" and "path" in inner:
                inner = {**inner, "command": inner["path"]}
            flat = inner | flat
    return flat


def command_line(entry: Any) -> list[str]:
    """The words of an entry's command as they stand there; none where it has no command."""
    if not isinstance(entry, dict):
        return []
    entry = flattened(entry)
    words = [*_listed(_value(entry, "command")), *_listed(_value(entry, "args"))]
    return [word for word in words if isinstance(word, str)]


def switched_off(entry: Mapping[str, Any]) -> bool:
    """Whether its client does not start it."""
    off, on = _value(entry, "off"), _value(entry, "on")
    return off is True or str(off).lower() == "true" or on is False or str(on).lower() == "false"


def read_entry(name: str, entry: Mapping[str, Any], around: Surroundings, proxies: str) -> Server:
    """The server of an entry, `flattened`. Raises UnusableError."""
    if not name.strip():
        raise UnusableError("it has no name")
    try:
        return _Reader(entry, around).server(name, proxies)
    except UnsetError as error:
        raise UnusableError(str(error)) from None


class _Reader:
    def __init__(self, entry: Mapping[str, Any], around: Surroundings) -> None:
        self._entry, self._around = entry, around

    def server(self, name: str, proxies: str) -> Server:
        has_command, has_url = self._get("command") is not None, self._get("url") is not None
        kind = self._kind(has_command and has_url)
        if (has_command and has_url and kind is None) or not (has_command or has_url):
            raise UnusableError('give either "command" (a program to start) or "url" (a server to connect to)')
        only, left_out = self._names("only"), self._names("left_out")
        taken = None if only is None or "*" in only else only
        if has_url and (kind != "stdio" or not has_command):
            url, shown = self._url()
            headers = self._headers()
            transport = kind if kind in ("http", "sse") else "sse" if self._is_sse(url) else "http"
            reached = f"{shown} ({transport})"
            return Server(
                name, prefix(name), url=url, headers=headers, transport=transport, tools_only=taken,
                tools_left_out=left_out or frozenset(), reached=reached,
            )  # fmt: skip
        cwd = self._folder()
        env = self._env()
        words, shown_words = self._words(env)
        return Server(
            name, prefix(name), words[0], tuple(words[1:]), env, cwd, tools_only=taken,
            tools_left_out=left_out or frozenset(), reached=shown_command(shown_words), proxies=proxies,
        )  # fmt: skip

    def _get(self, what: str) -> Any:
        return _value(self._entry, what)

    def _kind(self, needed: bool) -> Transport | None:
        kind = self._get("kind")
        if not isinstance(kind, str):
            return None
        known = _KINDS.get(re.sub(r"[^a-z]", "", kind.lower()))
        if known is None and (needed or self._get("command") is None):
            raise UnusableError(f'transport {quoted(kind)} is not spoken here; "stdio", "http" and "sse" are')
        return known

    def _is_sse(self, url: str) -> bool:
        return "httpUrl" not in self._entry and re.split(r"[?#]", url)[0].rstrip("/").endswith("/sse")

    def _url(self) -> tuple[str, str]:
        text = self._text("url")
        url = self._around.expand(text).strip()
        if not _URL.fullmatch(url) or not url.isprintable():
            raise UnusableError('"url" must begin with http:// or https:// and hold no blanks')
        shown = self._around.expand(text, show=True).strip()
        return url, shown_url(shown)

    def _headers(self) -> dict[str, str]:
        found = {key: self._around.expand(value) for key, value in self._texts("headers").items()}
        variables = dict(self._texts("header_names"))
        if isinstance(bearer := self._get("bearer"), str) and bearer:
            found["Authorization"] = f"Bearer {self._around.expand(f'${{{bearer}}}')}"
        found |= {key: self._around.expand(f"${{{variable}}}") for key, variable in variables.items()}
        for key, value in found.items():
            if not _HEADER.fullmatch(key) or not value.isascii() or not value.replace("\t", " ").isprintable():
                raise UnusableError(
                    f'"headers": {quoted(key)} is no header\'s name, or its value is not in plain ASCII'
                )
        return {key: value.strip() for key, value in found.items()}

    def _folder(self) -> str | None:
        if self._get("cwd") is None:
            return None
        cwd = self._around.home(self._around.expand(self._text("cwd")))
        return str(self._around.workspace / _for_system(cwd, "cwd"))

    def _env(self) -> dict[str, str]:
        env: dict[str, str] = {}
        if self._get("env_file") is not None:
            path = self._around.workspace / self._around.home(self._around.expand(self._text("env_file")))
            try:
                env = read_variables(path.read_bytes().decode("utf-8-sig"), self._around)
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
                raise UnusableError(f'its "envFile" {quoted(str(path))} cannot be read ({why})') from None
        for name in self._list("env_names"):
            name = name.get("name") if isinstance(name, dict) else name
            if isinstance(name, str) and name in self._around.variables:
                env[name] = self._around.variables[name]
        own: dict[str, str] = {}
        for key, value in self._texts("env").items():
            # First what its client would have found, then what stands above it in the entry.
            found = self._around.expand(value, {**env, **own, **self._around.variables})
            own[key] = found
        for key, value in (env := env | own).items():
            if not key or "=" in key or "${" in key:
                raise UnusableError(f'"env": {quoted(key)} is no variable\'s name')
            _for_system(key + value, "env")
        return env

    def _words(self, env: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """The command and its arguments, and the same as people may see them."""
        command, args = self._get("command"), self._list("args")
        if isinstance(command, list):
            command, args = (command[0] if command else ""), [*command[1:], *args]
        if not isinstance(command, str) or not command.strip():
            raise UnusableError('"command" must be a text that is not empty')
        raw = [command, *(self._argument(arg) for arg in args)]
        script = next((i + 1 for i, word in enumerate(raw) if i and _SCRIPT.fullmatch(word)), None)
        in_shell = _SHELL.fullmatch(command) is not None

        def all_of(show: bool) -> list[str]:
            return [
                self._around.home(self._around.expand(word, env, shell=in_shell and i == script, show=show))
                for i, word in enumerate(raw)
            ]

        words, shown = all_of(False), all_of(True)
        shown[0] = words[0]
        if not words[0].strip():
            raise UnusableError('"command" must be a text that is not empty')
        for word in words:
            _for_system(word, "args")
        taken_apart = _taken_apart(words[0], env)
        return [*taken_apart, *words[1:]], [*taken_apart, *shown[1:]]

    def _argument(self, value: Any) -> str:
        if (text := _as_text(value)) is None:
            raise UnusableError('"args" must be a list of texts')
        return text

    def _list(self, what: str) -> Sequence[Any]:
        value = self._get(what)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise UnusableError(f'"{self._called(what)}" must be a list of texts')
        return value

    def _names(self, what: str) -> frozenset[str] | None:
        value = self._get(what)
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            return None
        return frozenset(value)

    def _text(self, what: str) -> str:
        value = self._get(what)
        if not isinstance(value, str) or not value.strip():
            raise UnusableError(f'"{self._called(what)}" must be a text that is not empty')
        return value

    def _texts(self, what: str) -> dict[str, str]:
        value = self._get(what) or {}
        if not isinstance(value, dict):
            raise UnusableError(f'"{self._called(what)}" must be an object of texts')
        found = {key: _as_text(text) for key, text in value.items() if text is not None}
        for key, text in found.items():
            if text is None:
                raise UnusableError(f'"{self._called(what)}" must be an object of texts; {quoted(key)} is none')
        return {key: text for key, text in found.items() if text is not None}

    def _called(self, what: str) -> str:
        return next((key for key in _KEYS[what] if key in self._entry), what)


def _value(entry: Mapping[str, Any], what: str) -> Any:
    """What stands under the first of its names that holds anything; some clients write what is not there as empty."""
    return next((entry[key] for key in _KEYS[what] if entry.get(key) not in (None, "")), None)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _as_text(value: Any) -> str | None:
    """A text as it is, a number or a truth value as JavaScript writes it; None for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


def _for_system(text: str, key: str) -> str:
    """A text that a process can be given."""
    try:
        whole = "\0" not in os.fsdecode(os.fsencode(text))
    except UnicodeError:
        whole = False
    if not whole:
        raise UnusableError(f'"{key}" holds characters that no process can be given')
    return text


def _taken_apart(command: str, env: Mapping[str, str]) -> list[str]:
    """A command that is no program but begins with one, and holds its arguments too, as words."""
    path = env.get("PATH", os.environ.get("PATH"))
    if " " not in command.strip() or Path(command).exists() or shutil.which(command, path=path):
        return [command]
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError:
        return [command]
    return words if words and (shutil.which(words[0], path=path) or Path(words[0]).is_file()) else [command]
