"""What the runtime must not load, reach or need: checked in fresh processes."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "sklearn", "scipy", "optimum", "transformers", "sentence_transformers", "edgeret_export", "onnx")
HEAVY += ("tokenizers",)  # the library reads texts

SELECT = """
import json, socket, sys
def blocked(*a, **k):
    raise OSError("the runtime opened a socket")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = blocked
import edgeret
at_import = sorted(m for m in sys.modules if m.split(".")[0] in ("onnxruntime", "hnswlib"))
decision = edgeret.load(sys.argv[1]).task(sys.argv[2]).next()
print(json.dumps({"tool": decision.tool, "at_import": at_import, "modules": sorted(sys.modules)}))
"""


def select(python: str | Path, bundle: Path, cwd: Path, query: str) -> dict:
    done = subprocess.run(
        [str(python), "-c", SELECT, str(bundle), query], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_answering_loads_nothing_of_the_build_host_and_opens_no_socket(tiny: Path, tmp_path: Path) -> None:
    result = select(sys.executable, tiny, tmp_path, "write a note")
    assert result["tool"] == "write_note"
    assert [m for m in result["modules"] if m.split(".")[0] in HEAVY] == []
    assert result["at_import"] == []


NEEDLESS = (
    *("socket", "email", "tempfile", "importlib.metadata"),
    *("edgeret.planner.llama", "edgeret.planner.model", "edgeret.planner.schemas", "edgeret.planner.endpoint"),
    "edgeret.strategies",
)


def test_a_first_decision_waits_for_no_network_code_planner_or_search_strategy(tiny: Path, tmp_path: Path) -> None:
    code = (
        "import sys, edgeret\n"
        "edgeret.load(sys.argv[1]).task('write a note').next()\n"
        f"print([name for name in {NEEDLESS} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tiny)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_an_unknown_one_is_not() -> None:
    import edgeret

    assert all(hasattr(edgeret, name) for name in edgeret.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Endpont'"):
        edgeret.Endpont  # noqa: B018


def test_a_missing_extra_is_named_with_its_command(tiny: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from edgeret.cli.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "select", str(tiny), "q"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert "Install it with: pip install 'edgeret[cpu]'" in done.stderr


def test_files_and_functions_stay_short() -> None:
    long: list[str] = []
    for folder in ("edgeret", "export", "bench", "core", "conformance", "wheels", "tests", "examples", "docs"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            source = file.read_text()
            if source.count("\n") > 400:
                long.append(f"{file.relative_to(ROOT)} has {source.count(chr(10))} lines")
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60:
                    long.append(f"{file.relative_to(ROOT)}: {node.name}")
    assert not long
