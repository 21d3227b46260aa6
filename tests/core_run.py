"""The core of other platforms, run here in emulators: `make core-platforms`.

    python tests/core_run.py                        all platforms that can run here; the others are named
    python tests/core_run.py linux-arm64 wasm       these
    python tests/core_run.py --bundle build/desktop the same, and the example's requests by a bundle's profile `tiny`
    python tests/core_run.py --bundle edgeret/base --profile full       or by its encoder

Each builds the library with zig, and a program around it (core/test/conformance.c); the page's library runs in Node.
They must give every number of conformance/, and of the example what this machine's compiler gives.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "core"))
import build  # noqa: E402

CONFORMANCE = ROOT / "conformance"
CLOSE = 2e-6
LEARNED_CLOSE = 1e-5
"""Of what was learned, whose weights come of many steps."""
# Linked with all they need, so that no root of their architecture is wanted.
RUNS: dict[str, tuple[str, str, str]] = {
    "linux-x86_64": ("x86_64-linux-musl", "", ""),
    "linux-arm64": ("aarch64-linux-musl", "qemu-aarch64-static", "qemu-user-static"),
    "linux-arm32": ("arm-linux-musleabihf", "qemu-arm-static", "qemu-user-static"),
    "linux-riscv64": ("riscv64-linux-musl", "qemu-riscv64-static", "qemu-user-static"),
    "windows-x86_64": ("x86_64-windows-gnu", "wine", "wine"),
    "wasm": ("", "node", "nodejs"),
}
"""Platforms: the program's, what runs it, and Debian's package with that."""
Line = dict[str, Any]


def main() -> int:
    """0; 1 where something differs; 2 where what was asked for cannot run here."""
    parser = argparse.ArgumentParser(description="Run the core of other platforms in emulators.")
    parser.add_argument("platform", nargs="*", choices=[[], *RUNS], metavar="PLATFORM", help=", ".join(RUNS))
    parser.add_argument("--bundle", type=Path, help="a bundle for the example's requests")
    parser.add_argument("--profile", default="tiny", help="of that bundle (default: %(default)s)")
    parser.add_argument("--requests", type=Path, default=ROOT / "examples" / "desktop" / "requests.jsonl")
    options = parser.parse_args()
    missing = [name for name in options.platform or RUNS if RUNS[name][1] and not shutil.which(RUNS[name][1])]
    for name in missing:
        print(f"{name}: not run, no {RUNS[name][1]} here; on Debian: apt-get install {RUNS[name][2]}", file=sys.stderr)
    if options.platform and missing:
        return 2
    with tempfile.TemporaryDirectory(prefix="edgeret-core-") as folder:
        work, wanted = Path(folder), []
        if options.bundle:
            asked = (options.bundle.resolve(), list(steps_of(options.requests)), options.profile)
            wanted = [(*asked, answers(native(work), *asked))]
        for kind in sorted(CONFORMANCE.glob("*.json")):
            wanted.append((kind.with_suffix(""), *expected(json.loads(kind.read_bytes()))))
        return max(
            [check(name, command(name, work), wanted) for name in options.platform or RUNS if name not in missing]
        )


def steps_of(requests: Path) -> Iterator[list[str]]:
    """Of each request every step that its calls make, and the end."""
    for line in requests.read_text(encoding="utf-8").splitlines():
        request = json.loads(line)
        calls = [call["tool"] for call in request["calls"]]
        for count in range(len(calls) + 1):
            yield [request["query"], *calls[:count]]


def expected(told: Any) -> tuple[list[list[str]], str, list[Line]]:
    """The requests of a file of conformance/, the profile, and the lines that answer them."""
    requests, lines = [], [{key: told[key] for key in ("contentHash", "tools", "takes")}]
    for request in told["requests"]:
        for step in request["steps"]:
            requests.append([request["query"], *step["history"]])
            lines.append({key: value for key, value in step.items() if key != "history"})
            if not step["history"]:
                lines[-1] |= {key: request[key] for key in ("understood", "search", "spans", "vector")}
    for turn in told["turns"]:
        calls, last = [name for turn in turn["earlier"] for name in turn], next(filter(None, turn["earlier"][::-1]), [])
        requests.append(["!turn", str(len(last)), turn["query"], *calls])
        lines.append(decision_of(turn))
    for number, (query, calls) in enumerate(told["lessons"], 1):
        requests.append(["!learn", query, *calls])
        lines.append({"stored": number})
    for step in told["learned"]:
        requests.append([step["query"]])
        lines.append({**decision_of(step), "close": LEARNED_CLOSE})
    added = ["+" + json.dumps(tool, ensure_ascii=False) for tool in told["added"]]
    requests.append(["!change", *added, *("-" + name for name in told["removed"])])
    lines.append({"changed": len(added) + len(told["removed"])})
    for step in told["changed"]:
        requests.append([step["query"]])
        lines.append(decision_of(step))
    for call in told["arguments"]:
        before = [part for tool, given, result in call["calls"] for part in (tool, json_of(given), json_of(result))]
        requests.append(["!call", call["tool"], call["query"], " ".join(map(str, call["clock"] or ())), *before])
        lines.append({key: call[key] for key in ("given", "missing")})
    return requests, "default", lines


def decision_of(step: Line) -> Line:
    return {key: step[key] for key in ("tool", "abstained", "confirm", "probability", "candidates")}


def json_of(value: Any) -> str:
    """Nothing, where nobody told it."""
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def forged(told: Any, bundle: Path, to: Path) -> Iterator[tuple[str, Path]]:
    """The forgeries of a file of conformance/, each in a folder of its own, with what is wrong."""
    for number, one in enumerate(told["refused"]):
        folder = shutil.copytree(bundle, to / str(number))
        for name, at, digits in one["edits"]:
            content = bytearray((folder / name).read_bytes())
            content[at : at + len(digits) // 2] = bytes.fromhex(digits)
            (folder / name).write_bytes(content)
        yield one["why"], folder


def native(work: Path) -> list[str]:
    """The program by this machine's compiler."""
    program, compiler = work / "native", os.environ.get("CC") or shutil.which("cc") or "cc"
    flags = ("-std=c11", "-O2", "-DER_BUILD", f"-I{ROOT / 'core/include'}", f"-I{ROOT / 'core/src'}")
    sources = [*sorted((ROOT / "core/src").glob("*.c")), ROOT / "core/test/conformance.c"]
    build.run([compiler, *flags, *sources, "-o", program, "-lm", "-lpthread"])
    return [str(program)]


def command(name: str, work: Path) -> list[str]:
    """What runs the program of one platform; built first."""
    triple, runner, _ = RUNS[name]
    if name == "wasm":
        made = build.build(name, work)
        shutil.copy(made, ROOT / "bindings" / "js" / made.name)
        return [runner, str(ROOT / "tests" / "core_run.mjs")]
    target = build.TARGETS[name]
    build.build(name, work, replace(target, triple=triple))
    program = work / name / ("conformance.exe" if "windows" in name else "conformance")
    static = ("-static",) if "linux" in name else ()
    built = [work / name / "libedgeret.a", "-o", program, *(("-lm",) if "linux" in name else ())]
    source, include = ROOT / "core/test/conformance.c", f"-I{ROOT / 'core/include'}"
    build.run([*build.compiler(), "cc", "-target", triple, "-O2", "-DER_STATIC", *static, include, source, *built])
    return [*([runner] if runner else []), str(program)]


def answers(command: Sequence[str], bundle: Path, requests: Sequence[Sequence[str]], profile: str) -> list[Line]:
    """The program's lines."""
    told = "".join("\t".join(request) + "\n" for request in requests).encode()
    environment = {**os.environ, "WINEDEBUG": "-all"}
    words = [*command, str(bundle), *(["tiny"] if profile == "tiny" else [])]
    done = subprocess.run(words, input=told, capture_output=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr.decode('utf-8', 'replace')[-1000:]}")
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def check(name: str, command: Sequence[str], wanted: Sequence[tuple[Path, list[list[str]], str, list[Line]]]) -> int:
    """Runs all bundles; 1 where a number is another one."""
    bad, begun = 0, time.monotonic()
    for bundle, requests, profile, lines in wanted:
        found = answers(command, bundle, requests, profile)
        wrong = [] if len(found) == len(lines) else [f"{len(found)} lines and not {len(lines)}"]
        most = 0.0
        for request, got, line in zip([["(bundle)"], *requests], found, lines, strict=False):
            for what in got.keys() & line.keys():
                far = max(differences(keyed(got[what], what), keyed(line[what], what)), default=0.0)
                most = max(most, far if far != float("inf") else 0.0)
                if far > line.get("close", CLOSE):
                    wrong.append(f"{request}: {what}: {got[what]} and not {line[what]}"[:400])
        counted = f"{len(requests)} requests, {len(wrong)} differ, numbers within {most:.1e}"
        print(f"{name}: {bundle.name}: {counted}", *wrong[:5], sep="\n  ")
        bad |= bool(wrong)
    print(f"{name}: {time.monotonic() - begun:.0f} s")
    return bad


def keyed(value: Any, what: str) -> Any:
    """Candidates by name: those of nearly one probability may stand either way."""
    return dict(value) if what in ("candidates", "search") else value


def differences(a: Any, b: Any) -> Iterator[float]:
    """Of each number; of anything else that differs, infinity."""
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, int | float) or not isinstance(b, int | float):
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            for key in a:
                yield from differences(a[key], b[key])
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for one, other in zip(a, b, strict=True):
                yield from differences(one, other)
        elif a != b:
            yield float("inf")
    else:
        yield abs(a - b)


if __name__ == "__main__":
    sys.exit(main())
