"""Who may ask: by which name of this machine, from which web page, with which token. Knows nothing of
connections and of what is asked.

A browser sends requests to this machine for any page that its user happens to open. It says so in `Origin` and in
`Sec-Fetch-Site`, which pages cannot write themselves; programs send neither.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence

from edgeret.adapters.web.headers import TOKEN, TOLD, Headers, every, first
from edgeret.adapters.web.refusals import RefusedError
from edgeret.quoting import quoted
from edgeret.records import dataclass

_LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
_OWN_SITES = (b"none", b"same-origin")
"""Of `Sec-Fetch-Site`: the user's own doing, and pages that came from here."""
_JSON = re.compile(rb"application/([\w.+-]+\+)?json", re.IGNORECASE)
_REMEMBERED_S = b"600"


@dataclass(frozen=True, slots=True)
class Visitors:
    """`token` is what clients must say, None where only this machine can ask; `origins` are those of web pages that may
    ask, in lower case, such as `http://localhost:3000`. `any_host` where no name can lead a page here, since there is
    no port; `files` where bodies may hold files as well as JSON."""

    token: bytes | None = None
    origins: frozenset[bytes] = frozenset()
    any_host: bool = False
    files: bool = False

    def admit(self, method: str, headers: Headers) -> None:
        """Raises RefusedError for who may not ask."""
        self._check_page(headers)
        if self.token is not None:
            if not hmac.compare_digest(first(headers, TOKEN) or b"", self.token):
                raise RefusedError(403, "send the token as x-edgeret-token")
            return
        named = _LOOPBACK.fullmatch(first(headers, b"host") or b"") is not None
        if not named and not self.any_host:  # a page's own name may point here
            raise RefusedError(403, "ask for it by a name of this machine, such as localhost")
        if method == "POST" and _has_body(headers) and not _is_from_a_program(headers):
            also = ", or with multipart/form-data also authorization: Bearer" if self.files else ""
            raise RefusedError(
                415, f"a body of this type could come from any web page; send content-type: application/json{also}"
            )

    def page(self, headers: Headers) -> bytes | None:
        """The origin of a page that may ask, where one does."""
        origin = first(headers, b"origin")
        return origin if origin is not None and origin.lower() in self.origins else None

    def _check_page(self, headers: Headers) -> None:
        origins = every(headers, b"origin")
        host = (first(headers, b"host") or b"").lower()
        own = (b"http://" + host, b"https://" + host)
        for origin in origins:
            if origin.lower() not in self.origins and origin.lower() not in own:
                shown = quoted(origin.decode("ascii", "replace"))
                raise RefusedError(403, f"a page of {shown} asks; if it may, name it with --allow-origin")
        if not any(origin.lower() in self.origins for origin in origins) and any(
            site.lower() not in _OWN_SITES for site in every(headers, b"sec-fetch-site")
        ):
            raise RefusedError(403, "a page of another site asks; if it may, start this with --allow-origin ORIGIN")


def preflight(method: str, headers: Headers, page: bytes) -> Headers | None:
    """What a browser is told that asks whether a page which may ask may send such a request; None for any other
    request. It brings no token: browsers send none with that question."""
    wanted = first(headers, b"access-control-request-method")
    if method != "OPTIONS" or wanted is None:
        return None
    told = [
        *shared_with(page),
        (b"access-control-allow-methods", wanted),
        (b"access-control-max-age", _REMEMBERED_S),
    ]
    if (named := first(headers, b"access-control-request-headers")) is not None:
        told.append((b"access-control-allow-headers", named))
    if first(headers, b"access-control-request-private-network") is not None:
        told.append((b"access-control-allow-private-network", b"true"))
    return told


def shared_with(page: bytes) -> Headers:
    """What lets a page read an answer."""
    return [
        (b"access-control-allow-origin", page),
        (b"access-control-expose-headers", TOLD),
        (b"vary", b"origin"),
    ]


def readable_by(page: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    """An answer's headers for a page that may ask: what the upstream says of origins, it says of other ones."""
    own = [(name, value) for name, value in headers if not name.lower().startswith(b"access-control-")]
    return [*own, *shared_with(page)]


def _has_body(headers: Headers) -> bool:
    length = first(headers, b"content-length") or b"0"
    return length.strip(b"0") != b"" or first(headers, b"transfer-encoding") is not None


def _is_from_a_program(headers: Headers) -> bool:
    """Whether no form, beacon or unasked fetch of a page could send this: JSON by its type; or files, with a key, which
    a page cannot add."""
    types = [value.split(b";")[0].strip() for value in every(headers, b"content-type")]
    if len(types) != 1:
        return False
    has_key = (first(headers, b"authorization") or b"").lower().startswith(b"bearer ")
    return _JSON.fullmatch(types[0]) is not None or (types[0].lower() == b"multipart/form-data" and has_key)
