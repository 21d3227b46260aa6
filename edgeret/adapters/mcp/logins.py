"""Logins at servers that ask for one (OAuth, as the SDK does it), kept in one file of the user's: given by a person
once, in a browser, and renewed without one. Knows nothing of MCP's messages.

A proxy has nobody in front of it: where a login is missing or has ended, it says which command gives one.
"""

from __future__ import annotations

import sys
import time
import webbrowser
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from os import environ
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, TokenStorage
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError

from edgeret.adapters.mcp.causes import WebError
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.shared_file import SharedFile
from edgeret.quoting import quoted, visible

LOGIN_S = 300.0
"""For a person to log in."""
_FORMAT = "edgeret-logins-1"
_MOST_HEAD = 1 << 14
_PAGE = b"<!doctype html><title>edgeret</title><p>You can close this page, and go on where you came from."


def logins_path() -> Path:
    """Where they are kept: with the user, and in no folder of a project, which others may read."""
    return Path.home() / ".edgeret" / "logins.json"


class Logins:
    """The file's contents. Methods raise InputError where it cannot be read or written."""

    def __init__(self, path: Path) -> None:
        """Reads nothing."""
        self._path = path

    def auth(self, server: Server) -> httpx2.Auth | None:
        """What renews the login that is kept for a server; nothing where none is, or its headers hold a key."""
        if _has_key(server) or not self.get(server.url):
            return None

        async def nobody(_: str) -> None:
            raise WebError("wants another login; run edgeret mcp --login NAME")

        return _Provider(server, _Kept(self, server.url), "http://127.0.0.1/callback", nobody, None)

    def get(self, url: str) -> dict[str, Any]:
        """What is kept for the server at that address; empty where nothing is."""
        found = self._all().get(url, {}) if self._path.exists() else {}
        return found if isinstance(found, dict) else {}

    def put(self, url: str, **parts: Any) -> None:
        """Keeps parts of a login beside those that are there."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._file()
        with file.locked():
            every = self._all(file)
            every[url] = {**every.get(url, {}), **parts}
            file.write({"format": _FORMAT, "servers": every})

    def _all(self, file: SharedFile | None = None) -> dict[str, Any]:
        file = file or self._file()
        value = file.read()
        if value is None:
            return {}
        servers = value.get("servers") if isinstance(value, dict) and value.get("format") == _FORMAT else None
        if not isinstance(servers, dict):
            raise file.strange()
        return servers

    def _file(self) -> SharedFile:
        return SharedFile(self._path, "logins", "HOME")


class Person:
    """Somebody in front of a browser on this machine, who gives a login to one server after the other."""

    def __init__(self, logins: Logins, say: Say) -> None:
        """Use as a context."""
        self._logins, self._say = logins, say
        self._listener: Any = None

    async def __aenter__(self) -> Person:
        self._listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.aclose()

    def auth(self, server: Server) -> httpx2.Auth | None:
        """What asks for a new login where the server wants one; nothing where its headers hold a key."""
        if _has_key(server):
            return None
        port = self._listener.extra(anyio.abc.SocketAttribute.local_port)
        kept = _Kept(self._logins, server.url, fresh=True)
        return _Provider(server, kept, f"http://127.0.0.1:{port}/callback", self._send, self._answer)

    async def _send(self, address: str) -> None:
        if not address.startswith(("https://", "http://")):
            raise WebError("wants a login at an address that is none of the web's")
        self._say(f"open this address in a browser on this machine: {visible(address)}")
        # Where there is no screen, a browser in this very terminal would be started.
        if sys.platform in ("win32", "darwin") or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
            await anyio.to_thread.run_sync(webbrowser.open, address)

    async def _answer(self) -> AuthorizationCodeResult:
        """What the browser brings back."""
        found: list[Mapping[str, str]] = []
        async with anyio.create_task_group() as tasks:

            async def serve(stream: Any) -> None:
                with suppress(anyio.BrokenResourceError, anyio.IncompleteRead, anyio.DelimiterNotFound, OSError):
                    async with stream:
                        head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", _MOST_HEAD)
                        target = head.split(b" ", 2)[1].decode("latin-1") if head.count(b" ") > 1 else ""
                        asked = httpx2.URL("http://127.0.0.1").join(target)
                        right = asked.path == "/callback" and bool({"code", "error"} & set(asked.params))
                        body, status = (_PAGE, b"200 OK") if right else (b"", b"404 Not Found")
                        kind = b"\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
                        await stream.send(b"HTTP/1.1 " + status + kind % len(body) + body)
                        if right:
                            found.append(dict(asked.params))
                            tasks.cancel_scope.cancel()

            tasks.start_soon(self._listener.serve, serve)
        if "code" not in found[0]:
            raise OAuthFlowError(f"refused: {quoted(found[0].get('error', ''))}")
        return AuthorizationCodeResult(
            **{name: found[0][name] for name in ("code", "state", "iss") if name in found[0]}
        )


class _Kept(TokenStorage):
    """One server's login, as the SDK wants to keep it; of a `fresh` one nothing is there before."""

    def __init__(self, logins: Logins, url: str, fresh: bool = False) -> None:
        self._logins, self._url, self._fresh = logins, url, fresh
        self.provider: _Provider

    async def get_tokens(self) -> OAuthToken | None:
        found: OAuthToken | None = _valid(OAuthToken, (await self.parts()).get("tokens"))
        return found

    async def set_tokens(self, tokens: OAuthToken) -> None:
        context = self.provider.context
        parts: dict[str, Any] = {"tokens": _plain(tokens), "until": None}
        if tokens.expires_in is not None:
            parts["until"] = time.time() + tokens.expires_in
        if context.oauth_metadata is not None:
            parts["metadata"] = _plain(context.oauth_metadata)
        if context.client_info is not None:
            parts["client"] = _plain(context.client_info)
        await anyio.to_thread.run_sync(lambda: self._logins.put(self._url, **parts))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        found: OAuthClientInformationFull | None = _valid(
            OAuthClientInformationFull, (await self.parts()).get("client")
        )
        return found

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Kept with the tokens, or a login that was broken off would be taken for one."""

    async def parts(self) -> dict[str, Any]:
        """All that is kept."""
        return {} if self._fresh else await anyio.to_thread.run_sync(self._logins.get, self._url)


class _Provider(OAuthClientProvider):
    """The SDK's, which also knows when a kept login ends and where it is renewed."""

    def __init__(
        self,
        server: Server,
        kept: _Kept,
        callback: str,
        send: Callable[[str], Awaitable[None]],
        answer: Callable[[], Awaitable[AuthorizationCodeResult]] | None,
    ) -> None:
        metadata = OAuthClientMetadata(client_name="edgeret", redirect_uris=[AnyUrl(callback)])
        super().__init__(server.url, metadata, kept, send, answer or _never)
        self._kept = kept
        kept.provider = self

    async def _initialize(self) -> None:
        await super()._initialize()
        parts = await self._kept.parts()
        if isinstance(until := parts.get("until"), int | float):
            self.context.token_expiry_time = until
        self.context.oauth_metadata = _valid(OAuthMetadata, parts.get("metadata")) or self.context.oauth_metadata


async def _never() -> AuthorizationCodeResult:
    raise AssertionError("nobody was sent anywhere")


def _has_key(server: Server) -> bool:
    return any(name.lower() == "authorization" for name in server.headers)


def _plain(model: Any) -> Any:
    return model.model_dump(mode="json", exclude_none=True)


def _valid(kind: Any, value: Any) -> Any:
    """The value as the SDK has it; None where it is none."""
    try:
        return None if value is None else kind.model_validate(value)
    except ValidationError:
        return None
