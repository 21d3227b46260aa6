"""`edgeret serve --store`: what is activated decides from then on, and what began with one version ends with it."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import pytest
from patience import PATIENCE_S
from permuted import permute_heads
from serves import process
from two_versions import two_versions

import edgeret
from edgeret import BundleStore
from edgeret.adapters.serve.service import Service
from edgeret.cli.commands import main

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

QUERY = "find my file and send a mail"
NEW = {"name": "water_plants", "description": "Waters the plants"}


@pytest.fixture
def folder(tmp_path: Path, tiny_original: Path, tiny_many: Path) -> Path:
    """A store with "old", which is active, and "new"."""
    return two_versions(tmp_path / "store", tiny_original, tiny_many).folder


def until(says: Any) -> None:
    """Waits for that."""
    end = monotonic() + PATIENCE_S
    while not says():
        assert monotonic() < end
        sleep(0.05)


def test_a_switch_by_another_process_is_taken_up_while_requests_go_on(folder: Path, tmp_path: Path) -> None:
    with process("--store", folder, "--port", 1, "--socket", tmp_path / "no", first="serve") as child:
        assert "not allowed with" in child.communicate(timeout=PATIENCE_S)[1]
    with process("--store", folder, "--socket", tmp_path / "s", "--learn") as child:
        assert child.stderr is not None and "listening" in child.stderr.readline()
        transport = httpx.HTTPTransport(uds=str(tmp_path / "s"))
        with httpx.Client(transport=transport, base_url="http://localhost", timeout=PATIENCE_S) as client:
            assert client.get("/health").json()["bundle"] == "old"
            said, over = list[int](), threading.Event()

            def ask() -> None:
                while not over.is_set():
                    said.append(client.post("/v1/decide", json={"query": QUERY, "session": "a"}).status_code)

            asking = threading.Thread(target=ask)
            asking.start()
            subprocess.run([sys.executable, "-m", "edgeret", "store", "activate", str(folder), "new"], check=True)
            until(lambda: client.get("/health").json()["bundle"] == "new")
            over.set()
            asking.join(PATIENCE_S)
            assert said and set(said) == {200}
            learned = client.post("/v1/learn", json={"query": QUERY, "calls": ["find_file"]}).json()
            assert Path(learned["overlay"]).parent == folder / "learned"
            assert client.get("/health").json()["learned"] == learned["stored"] == 1
        assert "now decides new" in child.stderr.readline()


@pytest.fixture
def store(folder: Path) -> BundleStore:
    return BundleStore(folder, overlay=True, threads=1)


@pytest.fixture
def service(store: BundleStore) -> Iterator[Service]:
    made = Service(store, learns=True, overlay=store.folder / "tools.json")
    yield made
    made.close()


def test_tools_that_clients_change_stay_over_a_switch_and_a_start(
    service: Service, store: BundleStore, folder: Path
) -> None:
    told = service.do("change", {"add": [NEW], "remove": ["phone_call"]})
    assert (told["added"], told["removed"], told["overlay"]) == (
        ["water_plants"],
        ["phone_call"],
        str(folder / "tools.json"),
    )
    other = BundleStore(folder, threads=1)
    other.activate("new")
    assert "water_plants" in other.runtime.tools
    assert store.refresh() is not None
    listed = service.do("tools", {})
    sources = {tool["name"]: tool["source"] for tool in listed["tools"]}
    assert sources["water_plants"] == "added" and "phone_call" not in sources
    assert listed["removed"] == ["phone_call"]


def test_a_version_that_must_not_decide_never_does_and_one_that_cannot_is_told(
    service: Service, store: BundleStore, folder: Path, tiny: Path
) -> None:
    told: list[object] = []
    assert service.do("health", {})["bundle"] == "old"
    store.watch(0.05, told.append)
    other = BundleStore(folder, threads=1)
    with pytest.raises(edgeret.CheckFailedError):
        other.activate(other.add(permute_heads(tiny), "bad"))
    other.activate("new")
    until(lambda: told)
    health = service.do("health", {})
    assert (health["bundle"], health["trouble"]) == ("new", None)
    (folder / "store.json").write_text("no")
    until(lambda: service.do("health", {})["trouble"])
    assert service.do("decide", {"query": QUERY})["tool"] == "find_file"


def test_a_session_that_nobody_asks_holds_no_version_and_can_go_on(service: Service, store: BundleStore) -> None:
    first = service.do("decide", {"query": QUERY, "session": "quiet"})
    held = weakref.ref(store.runtime.loaded)
    store.activate("new")
    service.do("decide", {"query": QUERY, "session": "busy"})
    gc.collect()
    assert held() is None
    told = service.do("decide", {"calls": [first["tool"]], "session": "quiet"})
    assert told["tool"] != first["tool"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--store", "FOLDER", "bundle"], "one of these"),
        (["--store", "FOLDER", "--tools", "t.jsonl"], "one of these"),
        (["--store", "nowhere"], "no store"),
        (["--store", "FOLDER", "--overlay", "x"], "a store keeps what is learned itself"),
        (["--store", "FOLDER", "--content-hash", "ab"], "go with one bundle"),
        (["--store", "EMPTY"], "no version is active"),
    ],
)
def test_what_does_not_go_with_a_store_is_refused(
    folder: Path, tmp_path: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    BundleStore(tmp_path / "empty", threads=1).add(folder / "bundles" / BundleStore(folder).find("old").content_hash)
    names = {"FOLDER": str(folder), "EMPTY": str(tmp_path / "empty")}
    assert main(["serve", *(names.get(each, each) for each in arguments)]) == 2
    assert told in capsys.readouterr().err


def test_pipe_decides_by_a_store_too(folder: Path) -> None:
    with process("--store", folder, first="pipe", text=False) as child:
        asked = b'{"do": "health"}\n{"do": "decide", "query": "find my file"}\n'
        out, err = child.communicate(asked, timeout=PATIENCE_S)
    health, decided = map(json.loads, out.splitlines())
    assert (health["bundle"], health["trouble"], decided["tool"]) == ("old", None, "find_file"), err
