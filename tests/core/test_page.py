"""bindings/js/page.html in a browser, and its library under Node: what a person sees is what conformance/ says."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "bindings" / "js" / "edgeret.wasm"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update"),
)
PAGE = Path(__file__).with_name("test_page.html")
TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"}
built = pytest.mark.skipif(not LIBRARY.exists(), reason="no edgeret.wasm here; make it: make js")


class Site(http.server.ThreadingHTTPServer):
    """The checkout as a server has it, and what the page told."""

    def __init__(self, asked: Any) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.asked, self.told, self.ended = asked, {}, threading.Event()  # type: Any, dict[str, Any], threading.Event
        self.visited: list[str] = []


class Visit(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.visited.append(self.path)
        if self.path == "/asked":
            return self._reply(json.dumps(self.server.asked).encode(), "application/json")
        path = PAGE if self.path == "/" else (ROOT / self.path.lstrip("/")).resolve()
        if ROOT not in path.parents or not path.is_file():
            return self.send_error(404)
        return self._reply(path.read_bytes(), TYPES.get(path.suffix, "application/octet-stream"))

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


@built
@pytest.mark.skipif(shutil.which("node") is None, reason="no node here; Debian has it as the package nodejs")
def test_the_library_of_pages_gives_every_number() -> None:
    tests = sorted((ROOT / "bindings" / "js" / "test").glob("*.test.mjs"))
    done = subprocess.run(["node", "--test", *tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@built
@pytest.mark.full
@pytest.mark.skipif(BROWSER is None, reason="no chromium here; Debian has it as the package chromium")
def test_the_page_shows_every_decision(tmp_path: Path) -> None:
    wanted = json.loads((ROOT / "conformance" / "many.json").read_bytes())
    files = sorted(path.name for path in (ROOT / "conformance" / "many").iterdir())
    site = Site({"queries": [request["query"] for request in wanted["requests"]], "files": files})
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        _visit(f"http://127.0.0.1:{site.server_port}/", tmp_path / "profile", site.ended)
    finally:
        site.shutdown()
        site.server_close()
    assert site.told.get("failed") is None and site.told, site.told
    assert f"{len(wanted['tools'])} tools" in site.told["loaded"] and wanted["contentHash"][:16] in site.told["loaded"]
    learned = site.told["learned"]
    assert (learned["called"], learned["learned"], learned["forgotten"]) == ([False, True], [True, False], [True, True])
    assert learned["kept"] == 1 and "like “" in learned["why"], learned
    assert len(site.told["found"]) == len(wanted["requests"])
    for seen, request in zip(site.told["found"], wanted["requests"], strict=True):
        first = request["steps"][0]
        assert seen["query"] == request["query"]
        what = first["tool"] or ("nothing (" if first["abstained"] else "nothing more")
        assert seen["said"].startswith(what) and seen["said"].endswith(" ms")
        assert _close(seen["rows"], first["candidates"]), seen
        called = next(name for name, _ in seen["rows"] if name != "(nothing)")
        assert seen["called"] == f"called: {called}"
        for step in request["steps"]:
            if step["history"] == [called]:
                assert _close(seen["then"], step["candidates"]), seen


def _visit(address: str, profile: Path, ended: threading.Event) -> None:
    """Opens the address in a browser that knows nothing, until the page has told."""
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={profile}", address]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True) as browser:
        try:
            assert ended.wait(PATIENCE_S), "the page did not come to its end"
        finally:
            os.killpg(browser.pid, signal.SIGKILL)


def _close(rows: list[list[Any]], candidates: list[list[Any]]) -> bool:
    """Whether these are the eight most probable ones, as the page rounds them."""
    all_of = {name if name != "<end>" else "(nothing)": share for name, share in candidates}
    shares = sorted(all_of.values(), reverse=True)[: len(rows)]
    return len(rows) == min(8, len(candidates)) and all(
        abs(share - all_of[name]) <= 0.000502 and abs(share - ranked) <= 0.000502
        for (name, share), ranked in zip(rows, shares, strict=True)
    )
