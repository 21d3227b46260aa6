"""bindings/java on this machine's JVM: every number of conformance/, Python's decisions, and what the binding promises.

Without a JDK of 17 or newer all of it is skipped. The native half is linked to the library that all tests share; what
`make java` makes is for the tests marked `full`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import core_run
import pytest
from filelock import FileLock
from python_reader import by_python

import edgeret

ROOT = Path(__file__).parents[2]
JAVA = ROOT / "bindings" / "java"
CONFORMANCE = ROOT / "conformance"
DESKTOP = ROOT / "examples" / "desktop"
KINDS = sorted(path.stem for path in CONFORMANCE.glob("*.json"))
PATIENCE_S = 600


def _without() -> str:
    """Why nothing can run here; empty where it can."""
    tools = [name for name in ("javac", "java", "jar", "make", "cc") if shutil.which(name) is None]
    if tools:
        return f"no {tools[0]} here; Debian has the JDK as the package openjdk-17-jdk-headless"
    told = subprocess.run(["javac", "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"\d+", told.stdout + told.stderr)
    return "" if version and int(version[0]) >= 17 else f"the JDK here is {told.stdout.strip()}; 17 or newer is needed"


MISSING = _without()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@dataclass(frozen=True)
class Jvm:
    """A jar, and the compiled test programs."""

    jar: Path
    programs: Path

    def command(self, program: str, *flags: str) -> list[str]:
        return ["java", *flags, "-cp", os.pathsep.join((str(self.jar), str(self.programs))), program]

    def run(self, program: str, *words: str | Path, flags: Sequence[str] = ()) -> str:
        return run([*self.command(program, *flags), *words])


def run(command: Sequence[str | Path], cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=PATIENCE_S)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def built(kept: Path, core: Path) -> Jvm:
    """The jar over this library, made once a content."""
    sources = sorted(
        path for path in JAVA.rglob("*") if path.suffix in (".java", ".c", ".h") or path.name == "Makefile"
    )
    told = hashlib.sha256(core.read_bytes())
    for path in sources:
        told.update(path.name.encode() + b"\0" + path.read_bytes())
    target = kept / told.hexdigest()[:24]
    with FileLock(f"{target}.lock"):
        if not (target / "test").exists():
            run(["make", "-C", JAVA, f"OUT={target}", f"CORE={core}"])
            made = target / "test.partial"
            programs = sorted((JAVA / "test").glob("*.java"))
            run(["javac", "-Xlint:all", "-cp", target / "edgeret.jar", "-d", made, *programs])
            made.rename(target / "test")
    return Jvm(target / "edgeret.jar", target / "test")


@pytest.fixture(scope="module")
def jvm(core: CDLL, request: pytest.FixtureRequest) -> Jvm:
    return built(Path(request.config.cache.mkdir("java")), Path(core._name))


@pytest.mark.parametrize(("kind", "how"), [*((kind, "folder") for kind in KINDS), ("few", "bytes"), ("many", "mapped")])
def test_the_jvm_gives_every_number(jvm: Jvm, kind: str, how: str) -> None:
    requests, _, wanted = core_run.expected(json.loads((CONFORMANCE / f"{kind}.json").read_bytes()))
    for line in wanted:
        for untold in ("votes", "takes", "understood"):
            line.pop(untold, None)  # the program does not tell them
    compare(answers(jvm, CONFORMANCE / kind, how, requests), wanted)


def answers(jvm: Jvm, bundle: Path, how: str, requests: Sequence[Sequence[str]], *tools: Path) -> list[dict[str, Any]]:
    told = "".join("\t".join(request) + "\n" for request in requests)
    command = [*jvm.command("Requests"), bundle, how, *tools]
    done = subprocess.run(command, input=told, capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(found: Sequence[dict[str, Any]], wanted: Sequence[dict[str, Any]], close: float = core_run.CLOSE) -> None:
    assert len(found) == len(wanted)
    for got, told in zip(found, wanted, strict=True):
        line = dict(told)
        close = max(close, line.pop("close", 0))
        assert line.keys() <= got.keys()
        for what in line:
            pair = core_run.keyed(got[what], what), core_run.keyed(line[what], what)
            assert max(core_run.differences(*pair), default=0.0) <= close, (what, *pair)


def beside_python(jvm: Jvm, runtime: edgeret.Runtime, bundle: Path, how: str, *tools: Path) -> None:
    """Every step of the example's first 150 requests."""
    requests = list(core_run.steps_of(DESKTOP / "requests.jsonl"))[:150]
    wanted: list[dict[str, Any]] = [{"tools": list(runtime.tools)}]
    for query, *calls in requests:
        task = runtime.task(query)
        for tool in calls:
            task.call(tool, foreign=True)
        decision = task.next(k=None)
        wanted.append(
            {
                "tool": None if decision.tool == "<end>" else decision.tool,
                "abstained": decision.abstained,
                "confirm": decision.confirm,
                "stage": {"static": "TABLE", "full": "TRANSFORMER"}[decision.stage],
                "probability": decision.probability,
                "candidates": [[one.tool, one.probability] for one in decision.candidates],
            }
        )
    compare(answers(jvm, bundle, how, requests, *tools), wanted, 1e-5)


def test_the_desktops_tools_over_the_installed_base_are_decided_as_python_does(jvm: Jvm, tmp_path: Path) -> None:
    tools = edgeret.read_tools(DESKTOP / "tools.jsonl")
    told = tmp_path / "tools.jsonl"
    told.write_text("".join(json.dumps(tool.to_dict()) + "\n" for tool in tools), encoding="utf-8")
    beside_python(jvm, edgeret.from_tools(tools), edgeret.base_path(), "folder", told)


@pytest.mark.full
@pytest.mark.real
def test_a_desktop_bundle_decides_as_python_does(jvm: Jvm, real: Path) -> None:
    beside_python(jvm, by_python(real), real, "mapped")
    beside_python(jvm, by_python(real, profile="tiny"), real, "tiny")


def test_steps_bad_input_letters_and_use_after_close(jvm: Jvm, tmp_path: Path) -> None:
    said = jvm.run("Checks", CONFORMANCE, tmp_path, flags=["-Xcheck:jni"])
    assert said.strip() == "all fine"  # and no word of the JVM's about calls that break JNI's rules


def test_the_jvm_learns_into_an_overlay_that_python_reads(jvm: Jvm, tmp_path: Path) -> None:
    assert jvm.run("Learning", CONFORMANCE, tmp_path, flags=["-Xcheck:jni"]).strip() == "all fine"
    (overlay,) = tmp_path.glob("*.overlay")
    runtime = edgeret.load(CONFORMANCE / "few", overlay=overlay)
    (plan,) = runtime.learned.plans
    assert (list(plan.calls), plan.origin) == (["play_music", "phone_call"], "corrected")
    runtime.close()


def test_the_jvm_reads_what_calls_are_given(jvm: Jvm) -> None:
    assert jvm.run("Filling", CONFORMANCE, flags=["-Xcheck:jni"]).strip() == "all fine"


def test_threads_share_models_and_no_memory_is_left(jvm: Jvm) -> None:
    assert "all fine" in jvm.run("Threads", CONFORMANCE, flags=["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch"])


def test_the_jar_holds_what_it_must_and_nothing_of_others(jvm: Jvm) -> None:
    with zipfile.ZipFile(jvm.jar) as jar:
        names = [name for name in jar.namelist() if not name.endswith("/")]
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    assert "META-INF/LICENSE" in names and sum(name.startswith("edgeret/native/") for name in names) == 1
    assert all(name.startswith(("META-INF/", "edgeret/")) for name in names)
    version = re.search(r'ER_VERSION "(.+)"', (ROOT / "core/include/edgeret.h").read_text())
    assert version and f"Implementation-Version: {version[1]}" in manifest


def test_a_missing_native_library_is_told_in_a_line(jvm: Jvm, tmp_path: Path) -> None:
    bare = tmp_path / "bare.jar"
    with zipfile.ZipFile(jvm.jar) as jar, zipfile.ZipFile(bare, "w") as made:
        for name in jar.namelist():
            if "/native/" not in name:
                made.writestr(name, jar.read(name))
    program = Jvm(bare, jvm.programs).command("Requests")
    done = subprocess.run([*program, CONFORMANCE / "few", "folder"], capture_output=True, text=True, check=False)
    assert done.returncode and "is neither on java.library.path nor in the jar for" in done.stderr
    assert "make java" in done.stderr
    with zipfile.ZipFile(jvm.jar) as jar:
        inside = next(name for name in jar.namelist() if "edgeret_jni" in name)
        (tmp_path / Path(inside).name).write_bytes(jar.read(inside))
    flag = f"-Djava.library.path={tmp_path}"
    assert '"tools"' in Jvm(bare, jvm.programs).run("Requests", CONFORMANCE / "few", "folder", flags=[flag])


def test_the_pages_lines_run(jvm: Jvm, tmp_path: Path) -> None:
    (lines,) = re.findall(r"^```java\n(.*?)^```$", (ROOT / "docs/howto/java.md").read_text(), re.M | re.S)
    (tmp_path / "Decide.java").write_text(lines)
    said = run(["java", "-cp", jvm.jar, tmp_path / "Decide.java", CONFORMANCE / "few", "find my file and send a mail"])
    assert said.splitlines()[:2] == ["find_file 0.979", "send_mail 0.988"]


@pytest.mark.full
def test_make_java_and_cmake_build_what_runs_elsewhere(jvm: Jvm, tmp_path: Path) -> None:
    run(["make", "java"], ROOT)
    jar = Path(shutil.copy(ROOT / "build" / "java" / "edgeret.jar", tmp_path))
    there = Jvm(jar, jvm.programs)
    few = shutil.copytree(CONFORMANCE, tmp_path / "conformance")
    assert there.run("Checks", few, _fresh(tmp_path / "one")).strip() == "all fine"
    if shutil.which("cmake"):
        home = Path(shutil.which("javac") or "").resolve().parents[1]
        run(["cmake", "-S", JAVA, "-B", tmp_path / "jni", "-DCMAKE_BUILD_TYPE=Release", f"-DJAVA_HOME={home}"])
        run(["cmake", "--build", tmp_path / "jni"])
        flag = f"-Djava.library.path={tmp_path / 'jni'}"
        assert there.run("Checks", few, _fresh(tmp_path / "two"), flags=[flag]).strip() == "all fine"


def _fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder
