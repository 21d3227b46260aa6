"""Three distributions and a base: what each holds, how large it is, and that edgeret alone decides."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
import zipfile
from collections.abc import Mapping
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from fresh_environment import FOLDERS, ROOT, bare, install, installed, make_wheel, wheel_of
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import edgeret

MB = 1_000_000
TOOLS = (
    {"name": "set_alarm", "description": "Sets an alarm clock."},
    {"name": "send_mail", "description": "Sends an e-mail."},
)
DECIDES = """
import importlib.util, socket, sys
def blocked(*a, **k):
    raise OSError("the runtime opened a socket")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = blocked
import edgeret
runtime = edgeret.from_tools(edgeret.read_tools("tools.jsonl"))
print(runtime.task("write Ana an e-mail").next().tool, runtime.task("weck mich, für später").next().tool)
print(edgeret.base_path())
print([name for name in ("edgeret_export", "edgeret_bench", "onnxruntime", "torch") if importlib.util.find_spec(name)])
print(sorted({"huggingface_hub", "httpx"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The wheel of each distribution, and one of edgeret-minilm that holds edgeret's own base."""
    folder = tmp_path_factory.mktemp("dist")
    wheels = {name: wheel_of(name) for name in FOLDERS}
    # As in a checkout, whose files are beside; the bundle that `make minilm` makes is not part of it.
    checkout = folder / "checkout"
    for part in ("wheels/locked.py", "edgeret/__init__.py", "LICENSE"):
        (checkout / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, checkout / part)
    minilm = checkout / "wheels" / "minilm"
    shutil.copytree(ROOT / "wheels" / "minilm", minilm, ignore=shutil.ignore_patterns("base"))
    shutil.copytree(ROOT / "edgeret" / "base", minilm / "base")
    return {**wheels, "edgeret-minilm": make_wheel(minilm, folder)}


def comes_with_edgeret() -> list[str]:
    """What README says comes with it."""
    told = re.search(r"With edgeret \(.*?\) come (.*?)\.\s", (ROOT / "README.md").read_text(), re.S)
    assert told is not None
    return re.split(r",\s|\sand\s|\swith\s", told[1])


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_readme_names_what_edgeret_asks_for() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    direct = [Requirement(one).name for one in asked]
    assert comes_with_edgeret()[: len(direct)] == direct


@pytest.mark.install
def test_edgeret_is_small_and_holds_nothing_of_the_build_host(made: Mapping[str, Path]) -> None:
    wheel = made["edgeret"]
    assert wheel.stat().st_size <= 8 * MB
    told = re.search(r"With edgeret \(([\d.]+) MB packed, ([\d.]+) unpacked\)", (ROOT / "README.md").read_text())
    assert told is not None
    with zipfile.ZipFile(wheel) as archive:
        sizes = wheel.stat().st_size, sum(one.file_size for one in archive.infolist())
    assert [float(size) for size in told.groups()] == pytest.approx([size / MB for size in sizes], abs=0.6)
    tops = {name.split("/")[0] for name in names(wheel)}
    assert tops == {"edgeret", f"edgeret-{edgeret.__version__}.dist-info"}
    assert {"edgeret/base/manifest", "edgeret/cli/templates/base.html", "edgeret/py.typed"} <= {*names(wheel)}
    assert not [name for name in names(wheel) if name.endswith((".c", ".h"))]
    assert any(name.endswith("LICENSE") for name in names(wheel))


@pytest.mark.install
def test_export_and_bench_hold_what_they_read(made: Mapping[str, Path]) -> None:
    export, bench = {*names(made["edgeret-export"])}, {*names(made["edgeret-bench"])}
    kept = ROOT / "models"
    for file in kept.rglob("*.*"):
        assert f"edgeret_export/models/{file.relative_to(kept).as_posix()}" in export
    assert {"edgeret_export/desktop/tools.jsonl", "edgeret_export/desktop/terse.jsonl"} <= export
    assert "edgeret_bench/results/templates/report.html" in bench
    for held in (export, bench):
        assert any(name.endswith("LICENSE") for name in held)


@pytest.mark.install
def test_versions_are_locked_together(made: Mapping[str, Path]) -> None:
    for name in ("edgeret-export", "edgeret-bench", "edgeret-minilm"):
        folder = f"{name.replace('-', '_')}-{edgeret.__version__}.dist-info"
        told = PathDistribution(zipfile.Path(made[name], f"{folder}/"))
        assert told.version == edgeret.__version__
        ours = [one for one in told.requires or () if re.match(r"edgeret\b", one)]
        assert ours
        assert all(f"=={edgeret.__version__}" in one for one in ours), ours


@pytest.mark.install
def test_edgeret_alone_decides_and_takes_an_installed_base(
    made: Mapping[str, Path], tiny_table: Path, tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    scripts = bare(tmp_path)
    install(scripts, str(made["edgeret"]))
    there = {canonicalize_name(name) for name in installed(scripts)}
    assert there - {"edgeret", "pip", "setuptools"} == {canonicalize_name(name) for name in comes_with_edgeret()}
    (tmp_path / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in TOOLS))

    def run(program: str, *words: str) -> str:
        command = [str(scripts / program), *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment)
        return done.stdout

    def decide() -> list[str]:
        return run("python", "-c", DECIDES).splitlines()

    assert json.loads(run("edgeret", "select", str(tiny_table), "write a note", "--json"))["tool"] == "write_note"

    decided, base, found, loaded = decide()
    assert decided.startswith("send_mail ")
    assert base.endswith("edgeret/base")
    assert (found, loaded) == ("[]", "[]")
    install(scripts, "--no-index", str(made["edgeret-minilm"]))
    decided, base, *_ = decide()
    assert decided.startswith("send_mail ")
    assert base.endswith("edgeret_minilm/base")
