"""Files of servers as MCP clients keep them, one of each kind. Not a test itself."""

from __future__ import annotations

import json
import sys

RUN = f'"command": {json.dumps(sys.executable)}, "args": ["server.py", "plain"]'
"""The better part of an entry that can be started."""

CASES = {
    "null arguments": ("mcp.json", '{"mcpServers": {"w": {"command": "true", "args": null}}}', "", "w"),
    "no ASCII": ("mcp.json", '{"mcpServers": {"天气a": {RUN}, "日历a": {RUN}}}', "天气a 日历a", ""),
    "other clients' keys": (
        "mcp.json",
        '{"mcpServers": {"w": {RUN, "type": "stdio", "autoApprove": ["a"], "timeout": 60, "alwaysAllow": [], '
        '"disabledTools": ["add_event"], "trust": true, "icon": "x", "_comment": "y"}}}',
        "w",
        "",
    ),
    "enabled": ("mcp.json", '{"mcpServers": {"w": {RUN}, "off": {RUN, "enabled": false}}}', "w", ""),
    "numbers": ("mcp.json", '{"mcpServers": {"w": {RUN, "env": {"PORT": 8080, "DEBUG": true}}}}', "w", ""),
    "gemini": (
        ".gemini/settings.json",
        '{"theme": "x", "mcp": {"excluded": ["no"]}, "mcpServers": {"w": {RUN, "trust": true, "timeout": 9000}, '
        '"far": {"httpUrl": "http://127.0.0.1:1/mcp"}, "no": {RUN}}}',
        "w",
        "far",
    ),
    "comments": ("mcp.json", '{\n // my servers\n "mcpServers": {"w": {RUN}, /* the end */ },\n}', "w", ""),
    "itself": (
        "self.json",
        '{"mcpServers": {"tools": {"command": "edgeret", "args": ["mcp", "--config", "self.json"]}, "w": {RUN}}}',
        "w",
        "",
    ),
    "sse": (
        "mcp.json",
        '{"mcpServers": {"w": {RUN}, "old": {"type": "sse", "url": "http://127.0.0.1:1/sse"}}}',
        "w",
        "old",
    ),
    "defaults": (
        "mcp.json",
        '{"mcpServers": {"w": {"command": "PYTHON", "args": ["${SRVDIR:-.}/stdio_srv.py", "plain"]}}}',
        "w",
        "",
    ),
    "vs code": ("mcp.json", '{"servers": {"w": {RUN}}}', "w", ""),
    "vs code in a project": (
        ".vscode/mcp.json",
        '{"inputs": [{"type": "promptString", "id": "api-key", "password": true}], "servers": {'
        '"w": {"type": "stdio", "command": "PYTHON", "args": ["${workspaceFolder}${/}server.py", "${env:MODE}"], '
        '"envFile": "${workspaceFolder}/.env", "dev": {"watch": "**"}}, '
        '"asks": {RUN, "env": {"KEY": "${input:api-key}"}}}}',
        "w",
        "",
    ),
    "vs code settings": (".vscode/settings.json", '{"editor.tabSize": 2, "mcp": {"servers": {"w": {RUN}}}}', "w", ""),
    "vs code settings in a line": ("settings.json", '{"mcp.servers": {"w": {RUN, "url": "", "cwd": ""}}}', "w", ""),
    "dev container": (
        ".devcontainer/devcontainer.json",
        '{"image": "x", "customizations": {"vscode": {"mcp": {"servers": {"w": {RUN}}}}}}',
        "w",
        "",
    ),
    "claude code": (
        "home/.claude.json",
        '{"numStartups": 3, "mcpServers": {"w": {RUN, "type": "stdio"}}, '
        '"projects": {"HERE": {"mcpServers": {"p": {RUN}}, "disabledMcpServers": ["off"]}, "/else": {"mcpServers": '
        '{"e": {RUN}}}}}',
        "w p",
        "",
    ),
    "claude code in a project": (
        ".mcp.json",
        '{"mcpServers": {"w": {RUN, "env": {"T": "${MY_TOKEN}"}}, "needs": {RUN, "env": {"T": "${UNSET}"}}, '
        '"api": {"type": "http", "url": "${BASE:-http://127.0.0.1:1}/mcp", "headers": {"A": "Bearer ${MY_TOKEN}"}}}}',
        "w",
        "api",
    ),
    "cursor": (
        ".cursor/mcp.json",
        '\ufeff{"mcpServers": {"w": {"command": "${userHome}/../py", '
        '"args": ["${workspaceFolder}/server.py", "plain"]}, '
        '"far": {"url": "http://127.0.0.1:1/${workspaceFolderBasename}", "headers": {"K": "${env:MY_TOKEN}"}}}}',
        "w",
        "far",
    ),
    "windsurf": (
        "mcp_config.json",
        '{"mcpServers": {"w": {RUN, "disabled": false, "disabledTools": ["send_mail"]}, '
        '"off": {RUN, "disabled": true}, '
        '"far": {"serverUrl": "http://127.0.0.1:1/sse", "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}}}}',
        "w",
        "far",
    ),
    "cline": (
        "cline_mcp_settings.json",
        '{"mcpServers": {"w": {RUN, "autoApprove": [], "disabled": false, "timeout": 60, "transportType": "stdio"}, '
        '"far": {"type": "streamableHttp", "url": "http://127.0.0.1:1/mcp"}}}',
        "w",
        "far",
    ),
    "codex": (
        ".codex/config.toml",
        'model = "x"\n[mcp_servers.w]\ncommand = "PYTHON"\nargs = ["server.py", "plain"]\n'
        'enabled_tools = ["send_mail"]\n'
        'env_vars = ["MY_TOKEN"]\nstartup_timeout_sec = 20\n[mcp_servers.w.env]\nA = "b"\n'
        '[mcp_servers.far]\nurl = "http://127.0.0.1:1/mcp"\nbearer_token_env_var = "MY_TOKEN"\n'
        '[mcp_servers.off]\ncommand = "x"\nenabled = false\n',
        "w",
        "far",
    ),
    "zed": (
        ".zed/settings.json",
        '{"theme": "One", "context_servers": {"w": {"source": "custom", RUN, "env": {}}, '
        '"older": {"command": {"path": "PYTHON", "args": ["server.py", "plain"]}, "settings": {}}, '
        '"ext": {"source": "extension", "settings": {"k": 1}}}}',
        "w older",
        "",
    ),
    "opencode": (
        "opencode.json",
        '{"$schema": "x", "mcp": {"w": {"type": "local", "command": ["PYTHON", "server.py", "plain"], "enabled": true, '
        '"environment": {"T": "{env:MY_TOKEN}"}}, "off": {"type": "local", "command": ["x"], "enabled": false}, '
        '"far": {"type": "remote", "url": "http://127.0.0.1:1/mcp"}}}',
        "w",
        "far",
    ),
    "copilot": ("mcp-config.json", '{"mcpServers": {"w": {"type": "local", RUN, "tools": ["*"]}}}', "w", ""),
    "continue": (
        "config.json",
        '{"mcpServers": [{"name": "w", RUN}, {RUN}, {"name": "off", RUN, "disabled": true}]}',
        "w server-2",
        "",
    ),
    "warp": ("mcp.json", '{"w": {RUN, "working_directory": null, "start_on_launch": true}}', "w", ""),
    "a line as the command": ("mcp.json", '{"mcpServers": {"w": {"command": "PYTHON server.py plain"}}}', "w", ""),
    "a transport of its own": (
        "mcp.json",
        '{"mcpServers": {"w": {RUN}, "far": {"transport": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}}}',
        "w",
        "far",
    ),
}
"""A file's name and text, the servers of it that are there when started, and those that are tried and are not."""
