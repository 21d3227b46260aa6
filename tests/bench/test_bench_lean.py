"""What `edgeret-bench` measures on a device, without edgeret-export, and what it says where it needs that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from bench_cli import write_demonstrations, write_tools
from conftest import TOOLS, make_demonstrations
from fresh_environment import installed, make_environment

BUILD_HOST = (
    *("torch", "transformers", "sentence_transformers", "huggingface_hub", "optimum", "onnx"),
    *("sklearn", "scipy", "threadpoolctl", "hnswlib", "edgeret_export"),
)
BLOCKED = f"""
import json, sys
sys.modules.update(dict.fromkeys({BUILD_HOST!r}))
from edgeret_bench.cli import main
for arguments in json.loads(sys.argv[1]):
    if code := main(arguments):
        sys.exit(code)
"""
LATENCY = ("--min-queries", "4", "--min-seconds", "0", "--threads", "1")


def bench(folder: Path, *commands: Sequence[object], code: int = 0) -> str:
    """What commands say, in a process that cannot import the build host's libraries; of a failure, its error line."""
    command = [sys.executable, "-c", BLOCKED, json.dumps([[str(word) for word in each] for each in commands])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    return write_demonstrations(tmp_path / "demos.jsonl", make_demonstrations(2))


def test_what_runs_on_a_device_needs_nothing_of_the_build_host(tiny: Path, demos: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("find my file\nplay my song\n")
    sweeps = ("--sweep-threads", "--sweep-providers", "cpu", "--sustained", "0.1")
    results = [tmp_path / name for name in ("before.json", "after.json", "steps.json", "plan.json", "abstain.json")]
    methods = "random,dr,fused,similarity,bm25,tool-graph"
    foreign = ("--nothing", "queries.txt", "--among", "2", "--learn", "3", "--train", demos)
    reports = ("report.html", "report.md", "report.csv")
    tools = write_tools(tmp_path / "tools.jsonl", TOOLS)
    said = bench(
        tmp_path,
        ("latency", tiny, "--queries", "queries.txt", *LATENCY, *sweeps, "-o", results[0]),
        ("latency", tiny, "--queries", demos, *LATENCY, "-o", results[1]),
        ("next-tool", tiny, "--demos", demos, "--methods", methods, "-o", results[2]),
        ("abstain", tiny, "--demos", demos, *foreign, "-o", results[4]),
        ("plan", tiny, "--demos", demos, "--steps", "4", "--plans", "2", "-o", results[3]),
        # With itself: on a busy machine the second of two runs may be slower, and the command says so by its exit code.
        ("compare", results[1], results[1], "--series", "encode"),
        ("compare", results[2], results[2]),
        *(("report", *results, "-o", name) for name in reports),
        ("lab", "fetch"),
        ("lab", "stats", "--tools", tools, "--demos", demos, "--json"),
    )
    assert all((tmp_path / name).stat().st_size > 1000 for name in reports)
    assert "encode" in said and "same" in said and "taskbench" in said
    assert json.loads(said.splitlines()[-1])["n_plans"] == 14


@pytest.mark.parametrize("command", ["few", "methods", "arguments"])
def test_commands_of_the_build_host_name_what_they_need(tiny: Path, demos: Path, tmp_path: Path, command: str) -> None:
    measured = ("--tools", write_tools(tmp_path / "tools.jsonl", TOOLS)) if command == "few" else (tiny,)
    fitted = () if command == "arguments" else ("--train", demos)
    error = bench(tmp_path, (command, *measured, *fitted, "--demos", demos), code=2)
    assert error.startswith(f"edgeret-bench: {command} (it needs the module ")
    assert error.endswith("requires edgeret-export. Install it with: pip install 'edgeret-export'\n")
    assert error.count("\n") == 1


def test_batches_name_what_they_need(tiny: Path, demos: Path, tmp_path: Path) -> None:
    error = bench(tmp_path, ("latency", tiny, "--queries", demos, *LATENCY, "--batches", "1,2"), code=2)
    told = "edgeret-bench: --batches needs edgeret-export. Install it with: pip install edgeret-export\n"
    assert error.endswith(told)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with edgeret-bench alone, away from the checkout."""
    return make_environment(tmp_path_factory, "edgeret[cpu,html]", "edgeret-bench")


@pytest.mark.full
@pytest.mark.install
def test_edgeret_bench_measures_a_bundle_from_elsewhere_without_torch(
    device: Path, tiny: Path, demos: Path, tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(program: str, *arguments: object) -> str:
        command = [str(device / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert not {name.lower() for name in installed(device)} & {
        "torch",
        "transformers",
        "scikit-learn",
        "onnx",
        "sentence-transformers",
        "hnswlib",
        "edgeret-export",
    }
    run("edgeret-bench", "latency", tiny, "--queries", demos, *LATENCY, "-o", "latency.json")
    run("edgeret-bench", "next-tool", tiny, "--demos", demos, "--methods", "dr,fused,bm25", "-o", "steps.json")
    run("edgeret-bench", "report", "latency.json", "steps.json", "-o", "report.html")
    assert "plotly" in (tmp_path / "report.html").read_text(encoding="utf-8")
