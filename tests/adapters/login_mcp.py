"""An MCP server over HTTP that asks for a login, with the SDK's own pieces for that. Not a test itself.

python login_mcp.py PORT
"""

from __future__ import annotations

import secrets
import sys
import time
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl

SECONDS = 3600


class Provider:
    """Lets in whoever comes to its page."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.renewals: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_hex(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.given(client.client_id, authorization_code.resource)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        return self.renewals.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: list[str]) -> OAuthToken:
        del self.renewals[refresh_token.token]
        return self.given(client.client_id, None)

    async def load_access_token(self, token: str) -> Any:
        return self.tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)

    def given(self, client: str, resource: Any) -> OAuthToken:
        """A token that was not given before."""
        token, renewal = secrets.token_hex(16), secrets.token_hex(16)
        until = int(time.time()) + SECONDS
        self.tokens[token] = AccessToken(token=token, client_id=client, scopes=[], expires_at=until, resource=resource)
        self.renewals[renewal] = RefreshToken(token=renewal, client_id=client, scopes=[])
        return OAuthToken(access_token=token, expires_in=SECONDS, refresh_token=renewal)


if __name__ == "__main__":
    port = int(sys.argv[1])
    here = AnyHttpUrl(f"http://127.0.0.1:{port}")
    auth = AuthSettings(
        issuer_url=here,
        resource_server_url=AnyHttpUrl(f"http://127.0.0.1:{port}/mcp"),
        validate_token_resource=False,
        client_registration_options=ClientRegistrationOptions(enabled=True),
    )
    mcp = MCPServer("login", auth_server_provider=Provider(), auth=auth)  # type: ignore[arg-type]

    @mcp.tool()
    def read_mail() -> str:
        """Read mail."""
        return "no mail"

    uvicorn.run(mcp.streamable_http_app(), host="127.0.0.1", port=port, log_level="error")
