"""Forged bundles: whatever their content, they are refused or decide sanely. `make fuzz` tries many more of them.

The first tests prove that the forger gets past sizes, hashes and owners, so that the others mean something.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgpack
import pytest
from conftest import full

if sys.platform != "linux":
    pytest.skip("forged bundles are tried under Linux's limits", allow_module_level=True)

from forge import Forger, Raw, encode, encode_json, fingerprint, twice
from forge_cases import FAMILIES, Forge, make_bases, plan, scratch
from forge_run import distinct
from forge_workers import Worker, run_cases

import edgeret
from edgeret.errors import BundleError

TESTS = Path(__file__).parents[1]
CASES = len(FAMILIES)
"""Each family's first."""
QUERY = "find my file and send a mail"


@pytest.fixture(scope="module")
def bases() -> Iterator[Path]:
    with scratch("edgeret-forged-") as folder:
        make_bases(folder)
        yield folder


def decisions(folder: Path) -> list[tuple[str | None, float]]:
    task = edgeret.load(folder, threads=1).task(QUERY)
    return [(c.tool, c.probability) for c in task.candidates()]


def test_an_unchanged_forgery_is_the_original(bases: Path, tmp_path: Path) -> None:
    Forger(bases / "tiny").forgery().write(tmp_path)
    for file in (bases / "tiny").iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()
    assert decisions(tmp_path) == decisions(bases / "tiny")


def test_a_forgery_passes_every_hash_owner_and_fingerprint(bases: Path, tmp_path: Path) -> None:
    forgery = Forger(bases / "tiny").forgery()
    forgery.files["tokenizer"] += b" "
    forgery.info["encoder"]["spec"]["tool_prefix"] = "tool: "
    forgery.map("head")["description_weight"] += 0.5
    forgery.write(tmp_path)
    body = msgpack.unpackb(msgpack.unpackb((tmp_path / "manifest").read_bytes())[3])
    for entry in body["files"]:
        data = (tmp_path / entry["name"]).read_bytes()
        assert (entry["size"], entry["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    hashes = {entry["role"]: entry["sha256"] for entry in body["files"]}
    owner = fingerprint(body["info"]["encoder"]["spec"], hashes["encoder"], hashes["tokenizer"])
    parts = [
        msgpack.unpackb((tmp_path / f"{name}.msgpack").read_bytes()) for name in ("index", "graph", "head", "memory")
    ]
    assert owner != Forger(bases / "tiny").info["encoder"]["fingerprint"]
    assert {owner} == {part["encoder"] for part in (*parts, body["info"]["calibration"])}
    assert decisions(tmp_path) != decisions(bases / "tiny")


def test_the_language_model_of_its_base_is_asked(bases: Path) -> None:
    for policy in ("auto", "planner"):
        assert edgeret.load(bases / "planner", threads=1).task(QUERY).next(policy=policy).source == "planner"


def test_a_forged_hash_is_the_only_thing_that_is_wrong(bases: Path, tmp_path: Path) -> None:
    forgery = Forger(bases / "tiny").forgery()
    forgery.last.append(lambda body: body["files"][0].update(sha256="0" * 64))
    forgery.write(tmp_path)
    with pytest.raises(BundleError, match=r"altered \(expected sha256 0000"):
        edgeret.load(tmp_path)


def test_an_owner_that_was_forged_stays_forged(bases: Path, tmp_path: Path) -> None:
    forgery = Forger(bases / "tiny").forgery()
    forgery.map("graph")["encoder"] = "f" * 64
    forgery.write(tmp_path)
    with pytest.raises(BundleError, match="made for another encoder"):
        edgeret.load(tmp_path)


def test_what_no_packer_writes_can_be_written() -> None:
    value = {"a": [1, Raw(b"\xc1")], "b": twice([("k", 1), ("k", "\ud800")])}
    assert encode(value) == b"\x82\xa1a\x92\x01\xc1\xa1b\xdf\0\0\0\x02\xa1k\x01\xa1k\xa3\xed\xa0\x80"
    assert encode_json({"a": [Raw(b"1e999"), "\ud800"]}) == b'{"a":[1e999,"\xed\xa0\x80"]}'


def test_a_case_is_the_same_every_time(bases: Path, tmp_path: Path) -> None:
    forge = Forge(bases)
    for number, families in ((0, set(FAMILIES)), (1, {*list(FAMILIES)[::4]})):
        for name in families - {"many", "sizes"}:
            first, second = tmp_path / f"{name}{number}a", tmp_path / f"{name}{number}b"
            assert forge.forge((name, number), first) == forge.forge((name, number), second)
            listed = [sorted(p.name for p in folder.iterdir()) if folder.is_dir() else [] for folder in (first, second)]
            assert listed[0] == listed[1]
            for file in listed[0]:
                if (first / file).is_file() and (first / file).stat().st_size < 1 << 24:
                    assert (first / file).read_bytes() == (second / file).read_bytes()


def test_what_goes_wrong_in_a_step_is_found() -> None:
    script = """
import time, forge_exercise
from edgeret.errors import InputError
forge_exercise.CPU_SECONDS, forge_exercise.MEMORY_MB = 1, 100
watch = forge_exercise.Watch()
with watch.step("key"):
    {}["a"]
with watch.step("base"):
    raise SystemExit(0)
with watch.step("fine"):
    raise InputError("no")
with watch.step("greedy"):
    raise InputError("std::bad_alloc")
with watch.step("insane"):
    forge_exercise.sane(False, "sum", 7)
with watch.step("slow"):
    end = time.process_time() + 1.1
    while time.process_time() < end:
        pass
bytearray(b"x" * (150 << 20))
print([(f.step, f.kind) for f in watch.finish().findings])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=TESTS)
    expected = [
        ("key", "KeyError"),
        ("base", "SystemExit"),
        ("greedy", "Memory"),
        ("insane", "Insane"),
        ("slow", "Slow"),
    ]
    assert done.stdout.strip() == str([*expected, ("all", "Memory")])


def test_what_a_library_writes_to_the_terminal_is_looked_at(tmp_path: Path) -> None:
    script = """
import json, os, sys, forge_exercise
from edgeret.errors import InputError
class RawError(InputError):
    def __str__(self):
        return chr(27) + "[31m"
written, watch = forge_exercise.Written(), forge_exercise.Watch()
with watch.step("raw"):
    raise RawError("x")
os.write(2, sys.argv[1].encode())
print(json.dumps([written.harmful(), *[f.kind for f in watch.finish().findings]]), file=sys.stdout)
"""
    told = "U+001B in what was written to descriptor 2"
    for text, expected in (("a\x1b]0;x\x07", told), ("größe\n", None), ("", None)):
        with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
            err.write("\x9b from before")
            err.flush()
            subprocess.run([sys.executable, "-c", script, text], stdout=out, stderr=err, check=True, cwd=TESTS)
        assert json.loads((tmp_path / "out").read_text()) == [expected, "Unsafe"]


@pytest.mark.parametrize("case", [("words-fields", 700099), ("two", 398)])
def test_cases_that_the_forger_itself_once_failed_on(bases: Path, tmp_path: Path, case: tuple[str, int]) -> None:
    assert Forge(bases).forge(case, tmp_path / "forged")


def test_a_worker_that_dies_is_a_finding_and_the_next_one_goes_on() -> None:
    script = "import os; print('ready', flush=True); input(); os.write(2, b'what\\nGGML_ASSERT(x)'); os.abort()"
    worker = Worker([sys.executable, "-c", script])
    for number in range(2):
        findings = worker.run(("names", number)).findings
        assert [(finding.kind, finding.message.strip()) for finding in findings] == [("SIGABRT", "GGML_ASSERT(x)")]
    worker.close()


def test_every_family_has_its_turn() -> None:
    cases = list(plan(list(FAMILIES), CASES, 0))
    assert {name for name, _ in cases} == set(FAMILIES)
    assert len(set(cases)) == CASES


@pytest.mark.parametrize(("base", "numbers"), [("tiny", range(6)), ("hnsw", (1,)), *full(("planner", (2, 3)))])
def test_good_bundles_give_no_findings_and_no_errors(bases: Path, base: str, numbers: Sequence[int]) -> None:
    """The number chooses the last command line that is tried."""
    script = (
        "import sys; from pathlib import Path; from forge_exercise import exercise\n"
        "for number in sys.argv[3:]:\n"
        "    outcome = exercise(Path(sys.argv[1]), sys.argv[2], int(number), 60)\n"
        "    assert not (outcome.refused or outcome.errors or outcome.findings), outcome\n"
    )
    command = [sys.executable, "-c", script, str(bases / base), base, *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TESTS)
    assert done.returncode == 0, done.stderr[-2_000:]


@pytest.mark.parametrize("sixth", [0, *full(*range(1, 6))])
def test_forged_bundles_are_refused_or_decide_sanely(bases: Path, sixth: int) -> None:
    """A fixed selection of a sixth of the families; `make fuzz` goes on from there."""
    families = list(FAMILIES)[sixth::6]
    found = run_cases(bases, plan(families, len(families), 0), 1)
    assert len(found) == len(families)
    assert any(result.refused for _, result in found)
    assert any(not result.refused for _, result in found)
    lines = distinct(found)
    assert not lines, "\n".join(("run one again with: tests/forge_run.py --case FAMILY:NUMBER", *lines))
