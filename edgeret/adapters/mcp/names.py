"""What a tool is called towards the client: its server's name, two underscores, its own name. Knows nothing of tools.

The server's name always stands in front, not only where two servers have tools of one name. A name that depends on who
else is there changes when a server starts late, dies or is added, and a client's "always allow `read_file`" would then
mean another tool; so a server can never take the name of another one's tool. For the same reason a name that had to be
changed always carries digits of its hash, not only where another one would be alike.
"""

from __future__ import annotations

import hashlib
import re

MOST_CHARS = 64
"""Of a name: what the APIs behind most clients allow, and so what clients refuse beyond."""
MOST_PREFIX_CHARS = 24
BETWEEN = "__"
_FORBIDDEN = re.compile(r"[^A-Za-z0-9-]+|_+")
_NAMELESS = "server"


def prefix(server: str) -> str:
    """A server's name as tools' names can hold it: at most MOST_PREFIX_CHARS, no two underscores in it and none at its
    end, so that the first two of a tool's name end it. What had to be cut or replaced is told apart by six digits of
    its hash."""
    safe = _FORBIDDEN.sub("_", server).strip("_")
    if safe == server and len(safe) <= MOST_PREFIX_CHARS:
        return safe
    digits = _digits(server)
    return f"{safe[: MOST_PREFIX_CHARS - len(digits) - 1].rstrip('_') or _NAMELESS}_{digits}"


def exposed_name(server_prefix: str, tool: str) -> str:
    """The tool's name for the client: at most MOST_CHARS of A-Z, a-z, 0-9, `_` and `-`. What had to be cut or replaced
    is told apart by six digits of its hash."""
    plain = f"{server_prefix}{BETWEEN}{tool}"
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", plain)
    if safe == plain and len(plain) <= MOST_CHARS:
        return plain
    digits = _digits(tool)
    return f"{safe[: MOST_CHARS - len(digits) - 1]}_{digits}"


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:6]
