"""A browser without a window, and a server for the pages that it visits. Knows no page."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import PATIENCE_S

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@contextmanager
def temporary_apart() -> Iterator[dict[str, str]]:
    """An environment for it whose temporary folder goes afterwards, since it leaves folders there. Not in pytest's:
    its socket would have too long a path."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield {**os.environ, "TMPDIR": folder}


FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update"),
)
TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", "": "text/html"}


class _Site(http.server.ThreadingHTTPServer):
    """Pages by their paths, a folder beside them, and what a page told."""

    def __init__(self, pages: Mapping[str, bytes], root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Visit)
        self.pages, self.root, self.ended = pages, root, threading.Event()
        self.told: dict[str, Any] = {}


class _Visit(http.server.BaseHTTPRequestHandler):
    server: _Site

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        file = (self.server.root / path.lstrip("/")).resolve()
        if path in self.server.pages:
            body = self.server.pages[path]
        elif self.server.root in file.parents and file.is_file():
            body = file.read_bytes()
        else:
            return self.send_error(404)
        return self._reply(body, TYPES.get(Path(path).suffix, "application/octet-stream"))

    def do_POST(self) -> None:
        self.server.told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._reply(b"", "text/plain")
        self.server.ended.set()

    def _reply(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def visited(pages: Mapping[str, bytes], root: Path, profile: Path) -> dict[str, Any]:
    """What the page "/" told by a POST, in a browser that knows nothing."""
    site, quiet = _Site(pages, root), subprocess.DEVNULL
    threading.Thread(target=site.serve_forever, daemon=True).start()
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={profile}", f"http://127.0.0.1:{site.server_port}/"]
    try:
        with (
            temporary_apart() as environment,
            subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True, env=environment) as browser,
        ):
            try:
                assert site.ended.wait(PATIENCE_S), "the page did not come to its end"
            finally:
                os.killpg(browser.pid, signal.SIGKILL)
    finally:
        site.shutdown()
        site.server_close()
    return site.told
