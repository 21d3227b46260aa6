"""What a tool is called towards the client: its server's name, two underscores, its own name. Knows nothing of tools.

The server's name always stands in front, not only where two servers have tools of one name. A name that depends on who
else is there changes when a server starts late, dies or is added, and a client's "always allow `read_file`" would then
mean another tool; so a server can never take the name of another one's tool.
"""

from __future__ import annotations

import hashlib
import re

MOST_CHARS = 64
"""Of a name: what the APIs behind most clients allow, and so what clients refuse beyond."""
MOST_PREFIX_CHARS = 24
BETWEEN = "__"
_FORBIDDEN = re.compile(r"[^A-Za-z0-9-]+|_+")


def prefix(server: str) -> str:
    """A server's name as tools' names can hold it: no two underscores in it and none at its end, so that the first two
    of a tool's name end it. Empty if nothing of it can be held."""
    return _FORBIDDEN.sub("_", server).strip("_")[:MOST_PREFIX_CHARS].rstrip("_")


def exposed_name(server_prefix: str, tool: str) -> str:
    """The tool's name for the client: at most MOST_CHARS of A-Z, a-z, 0-9, `_` and `-`. What had to be cut or replaced
    is told apart by six digits of its hash."""
    plain = f"{server_prefix}{BETWEEN}{tool}"
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", plain)
    if safe == plain and len(plain) <= MOST_CHARS:
        return plain
    digits = hashlib.sha256(tool.encode("utf-8", "backslashreplace")).hexdigest()[:6]
    return f"{safe[: MOST_CHARS - len(digits) - 1]}_{digits}"
