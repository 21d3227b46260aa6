"""bindings/js/page.html in a browser, and its library under Node: what a person sees is what conformance/ says."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER, visited

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "bindings" / "js" / "edgeret.wasm"
PAGE = Path(__file__).with_name("test_page.html")
built = pytest.mark.skipif(not LIBRARY.exists(), reason="no edgeret.wasm here; make it: make js")


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
    asked = {"queries": [request["query"] for request in wanted["requests"]], "files": files}
    told = visited({"/": PAGE.read_bytes(), "/asked": json.dumps(asked).encode()}, ROOT, tmp_path / "profile")
    assert told.get("failed") is None and told, told
    assert f"{len(wanted['tools'])} tools" in told["loaded"] and wanted["contentHash"][:16] in told["loaded"]
    learned = told["learned"]
    assert (learned["called"], learned["learned"], learned["forgotten"]) == ([False, True], [True, False], [True, True])
    assert learned["kept"] == 1 and "like “" in learned["why"], learned
    assert len(told["found"]) == len(wanted["requests"])
    for seen, request in zip(told["found"], wanted["requests"], strict=True):
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


def _close(rows: list[list[Any]], candidates: list[list[Any]]) -> bool:
    """Whether these are the eight most probable ones, as the page rounds them."""
    all_of = {name if name != "<end>" else "(nothing)": share for name, share in candidates}
    shares = sorted(all_of.values(), reverse=True)[: len(rows)]
    return len(rows) == min(8, len(candidates)) and all(
        abs(share - all_of[name]) <= 0.000502 and abs(share - ranked) <= 0.000502
        for (name, share), ranked in zip(rows, shares, strict=True)
    )
