"""`inspect --html --live`: the page decides what the library decides, loads nothing, and runs no stranger's script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from browser import BROWSER, visited
from conftest import TOOLS, tiny_bundle

from edgeret import Tool
from edgeret.bundle.reader import open_bundle
from edgeret.cli.commands import main
from edgeret.cli.live import live
from edgeret.cli.picture import draw
from edgeret.errors import InputError
from edgeret_export.recipe import Recipe

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "bindings" / "js"
DRIVER = """<!doctype html><iframe id="frame" src="/page.html?q=QUERY"></iframe><script type="module">
const frame = document.getElementById("frame"), said = () => frame.contentDocument?.getElementById("said")?.textContent;
while (!said()) await new Promise((done) => setTimeout(done, 50));
const { title, body } = frame.contentDocument, shown = body.innerHTML.split('<script type="application')[0];
body.querySelector("#candidates button")?.click();
const called = body.querySelector("#calls").textContent;
await fetch("/told", { method: "POST", body: JSON.stringify({ title, shown, called }) });
</script>"""
"""Waits in a frame for what the page says."""
HOSTILE = "</script><script>document.title='taken'</script><!--live-->"
built = pytest.mark.skipif(not (LIBRARY / "edgeret.wasm").exists(), reason="no edgeret.wasm here; make it: make js")


@built
def test_the_page_holds_one_script_and_loads_nothing(tmp_path: Path) -> None:
    bundle = open_bundle(ROOT / "conformance" / "many")
    draw(bundle, tmp_path / "b.html", library=LIBRARY)
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert f"script-src 'sha256-{digest}' 'wasm-unsafe-eval'" in html.unescape(policy)
    assert html.unescape(policy).startswith("default-src 'none'")
    assert not re.search(r"^(import|export) ", script, re.MULTILINE) and text.count("<script") == 2
    (held,) = re.findall(r'id="held">(.*?)</script>', text, re.DOTALL)
    assert json.loads(held)["files"].keys() == {"manifest", *(file.name for file in bundle.manifest.files)}


def test_without_the_library_the_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, page = ROOT / "conformance" / "many", tmp_path / "b.html"
    assert main(["inspect", str(bundle), "--html", str(page), "--live", str(tmp_path)]) != 0
    assert "library.js: No such file or directory; give the folder bindings/js" in capsys.readouterr().err
    assert not page.exists()
    assert main(["inspect", str(bundle), "--live", str(LIBRARY)]) != 0
    assert "name it with --html FILE" in capsys.readouterr().err
    (tmp_path / "library.js").write_text("const end = '</script>';")
    (tmp_path / "edgeret.js").write_text("")
    with pytest.raises(InputError, match="would end the page's script"):
        live(open_bundle(bundle), tmp_path)
    (tmp_path / "library.js").write_text("")
    (tmp_path / "edgeret.wasm").write_bytes(b"junk")
    with pytest.raises(InputError, match="no WebAssembly"):
        live(open_bundle(bundle), tmp_path)


@built
@pytest.mark.full
@pytest.mark.skipif(BROWSER is None, reason="no chromium here; Debian has it as the package chromium")
def test_the_page_decides_in_a_browser(tmp_path: Path) -> None:
    wanted = json.loads((ROOT / "conformance" / "many.json").read_bytes())["requests"][0]
    draw(open_bundle(ROOT / "conformance" / "many"), tmp_path / "b.html", library=LIBRARY)
    seen = shown(tmp_path / "b.html", wanted["query"])
    (tool, probability), *_ = wanted["steps"][0]["candidates"]
    assert f'aria-live="polite">{tool}, in ' in seen and f">{probability:.3f} {tool} <button>" in seen
    assert 'id="why">for find_file: ' in seen

    parameters = {"type": "object", "properties": {"to": {"type": "string", "format": "email"}}, "required": ["to"]}
    tools = [*TOOLS[1:], Tool("write_to", f"write to somebody {HOSTILE}", parameters)]
    recipe = Recipe(precision="fp32", profile="tiny")  # a table, which runs everywhere
    folder = tiny_bundle(tmp_path / "hostile", tools=tools, demonstrations=(), recipe=recipe)
    draw(open_bundle(folder), tmp_path / "h.html", library=LIBRARY)
    seen = shown(tmp_path / "h.html", "write to somebody: a@b.org")
    assert '<u title="to: a@b.org">a@b.org</u>' in seen and seen.startswith("hostile")
    assert seen.endswith('called: write_to({"to":"a@b.org"})')
    assert '<td class="text">to</td><td class="text">a@b.org</td><td class="text">rule</td>' in seen


def shown(page: Path, query: str) -> str:
    """The page as a browser has it once it has decided."""
    pages = {"/": DRIVER.replace("QUERY", quote(query)).encode(), "/page.html": page.read_bytes()}
    told = visited(pages, page.parent / "nothing", page.parent / "profile")
    return f"{told['title']}{told['shown']}{told['called']}"
