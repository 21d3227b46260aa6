"""Which server a URI belongs to, and what the client calls it. A URI stays as its server wrote it, since results and
models quote it; only where another server had it before, it is wrapped: `edgeret:SERVER:URI`. Knows nothing of
connections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

MOST_MENTIONED = 2_000
"""URIs of one server that no list named, and its results did; of more, the oldest is forgotten."""
MOST_NAMED = 1_000
"""Places in one result that are looked at."""
MOST_MATCHED = 64
"""Templates of one server that a URI is held against."""
_MOST_VARIABLES, _MOST_CHARS = 8, 2_048
_SCHEME = "edgeret"


class Owners:
    """The URIs and templates that servers listed, and the URIs that their results mentioned."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        """None yet, of these servers: what each is called in names, in the order in which they come first."""
        self._prefixes = dict(prefixes)
        self._server = {prefix: server for server, prefix in prefixes.items()}
        self._listed: dict[str, str] = {}
        self._templates: dict[str, str] = {}
        self._mentioned: dict[str, dict[str, None]] = {server: {} for server in prefixes}

    def claim(self, server: str, uris: Iterable[str], templates: bool = False) -> None:
        """A server lists these URIs, or templates of them, and no others. Who listed one first keeps it."""
        owners, now = (self._templates if templates else self._listed), dict.fromkeys(uris)
        for gone in [uri for uri, owner in owners.items() if owner == server and uri not in now]:
            del owners[gone]
        for uri in now:
            owners.setdefault(uri, server)

    def shown(self, server: str, uri: str, template: bool = False) -> str:
        """What the client calls a URI of a server, or a template."""
        owner = self._templates.get(uri) if template else self.owner(uri)
        return uri if owner in (None, server) else f"{_SCHEME}:{self._prefixes[server]}:{uri}"

    def mention(self, server: str, uri: str) -> str:
        """A server's result names a URI; what the client calls it."""
        if self.owner(uri) is None:
            mentioned = self._mentioned[server]
            mentioned[uri] = None
            if len(mentioned) > MOST_MENTIONED:
                del mentioned[next(iter(mentioned))]
        return self.shown(server, uri)

    def unwrapped(self, uri: str) -> tuple[str | None, str]:
        """The server that a wrapped URI or template names, or None, and its own form."""
        scheme, _, rest = uri.partition(":")
        prefix, _, inner = rest.partition(":")
        server = self._server.get(prefix) if scheme == _SCHEME and inner else None
        return (server, inner) if server is not None else (None, uri)

    def owner(self, uri: str) -> str | None:
        """The server that a URI belongs to, if that is known: it listed it, or mentioned it first."""
        if (server := self._listed.get(uri)) is not None:
            return server
        return next((server for server, mentioned in self._mentioned.items() if uri in mentioned), None)

    def made_by(self, uri: str) -> str | None:
        """The server one of whose templates makes the URI."""
        tried = dict.fromkeys(self._prefixes, 0)
        for template, server in self._templates.items():
            tried[server] += 1
            made = _parsed(template) if tried[server] <= MOST_MATCHED else None
            if made is not None and made.match(uri, max_uri_length=_MOST_CHARS) is not None:
                return server
        return None

    def template_owner(self, template: str) -> str | None:
        """The server that listed a template, or a URI of that form, first."""
        return self._templates.get(template, self._listed.get(template))

    def named(self, server: str, result: Mapping[str, Any]) -> dict[str, Any]:
        """A server's result, with URIs as the client calls them; the same values where it calls all of them so."""
        changed = dict(result)
        for key in ("content", "contents", "messages"):
            parts = result.get(key)
            if isinstance(parts, list):
                named = [self._part(server, part) for part in parts[:MOST_NAMED]] + parts[MOST_NAMED:]
                if any(new is not old for new, old in zip(named, parts, strict=True)):
                    changed[key] = named
        return changed

    def _part(self, server: str, part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        changes: dict[str, Any] = {}
        uri = part.get("uri")
        if isinstance(uri, str) and part.get("type", "resource_link") == "resource_link":
            changes["uri"] = self.mention(server, uri)
        for key in ("resource", "content"):
            if isinstance(part.get(key), dict):
                changes[key] = self._part(server, part[key])
        return {**part, **changes} if any(part[key] is not value for key, value in changes.items()) else part


@lru_cache(4_096)
def _parsed(template: str) -> UriTemplate | None:
    """The template, or None for one that URIs cannot be held against."""
    try:
        return UriTemplate.parse(template, max_length=_MOST_CHARS, max_variables=_MOST_VARIABLES)
    except InvalidUriTemplate:
        return None
