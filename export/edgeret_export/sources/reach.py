"""Whether any place that files are fetched from answers, so that a build without a network says so in seconds. Fetches
nothing."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

PATIENCE_S = 2.0
"""For a connection, and for the name of its host; a resolver without a network can take half a minute."""
HUB = "https://huggingface.co"
INDEX = "https://pypi.org"
_PORTS = {"http": 80, "https": 443}


def hub_url() -> str:
    """Where the hub is: HF_ENDPOINT, or the public one."""
    return os.environ.get("HF_ENDPOINT") or HUB


def hub_answers() -> bool:
    """Whether a file could be had from the hub."""
    return answers(hub_url())


def index_answers() -> bool:
    """Whether a package could be had from an index."""
    return answers(*index_urls())


def index_urls() -> list[str]:
    """Where pip looks for packages, by its own configuration; folders on this machine are left out."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    settings = [line.partition("=") for line in told.splitlines()]
    values = " ".join(value for key, _, value in settings if "index-url" in key or key.endswith(".proxy"))
    found = re.findall(r"https?://[^\s'\"]+", values)
    return found if any(key.endswith(".index-url") for key, _, _ in settings) else [*found, INDEX]


def answers(*urls: str) -> bool:
    """Whether the host of any of these takes a connection within PATIENCE_S seconds; with a proxy, whether that does
    for those that go by it, since nobody else would be asked."""
    proxies = [url for scheme, url in getproxies().items() if scheme in _PORTS]
    direct = [url for url in urls if not proxies or proxy_bypass(urlsplit(url).hostname or "")]
    asked = list(_places([*direct, *(proxies if len(direct) < len(urls) else [])]))
    told = SimpleQueue[bool]()
    for place in asked:
        # Of no use any more once the time is up, and nothing ends a look-up of a name.
        threading.Thread(target=lambda place=place: told.put(_connects(place)), daemon=True).start()
    try:
        return any(told.get(timeout=PATIENCE_S) for _ in asked)
    except Empty:
        return False


def _places(urls: list[str]) -> Iterator[tuple[str, int]]:
    for url in dict.fromkeys(urls):
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.hostname:
            yield parts.hostname, parts.port or _PORTS.get(parts.scheme, 443)


def _connects(place: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(place, timeout=PATIENCE_S / 4):
            return True
    except OSError:
        return False
