"""Strangers' bundles and words against the core, with sanitizers: `make core-fuzz`.

    python tests/core_fuzz_run.py [--seconds 60] [--only bundle]

clang's libFuzzer looks for new ways through the code; without clang, files are changed blindly (core/test/fuzz_main.c).
What it found stays in build/core-fuzz and is where the next run begins; what breaks the core is kept there as crash-*.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFORMANCE, CORE, KEPT = ROOT / "conformance", ROOT / "core", ROOT / "build" / "core-fuzz"
KINDS = ("alone", "few", "many")
FILES = (
    *("exemplars.json", "familiarity.msgpack", "graph.msgpack", "head.msgpack", "index.msgpack", "memory.msgpack"),
    *("table.msgpack", "tokenizer.json", "tools.json", "word-vectors.msgpack", "manifest"),
)
"""As in fuzz_bundle.c."""
ENCODED = KEPT / "encoded"
"""A bundle whose encoder may be another one, which conformance/ lacks."""
CLANGS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))


def main() -> int:
    """0 where nothing broke; 1 where something did; 2 without a compiler."""
    parser = argparse.ArgumentParser(description="Fuzz the core.")
    parser.add_argument("--seconds", type=int, default=60, help="for each of them")
    parser.add_argument("--only", choices=tuple(SEEDS))
    options = parser.parse_args()
    compiler, fuzzer = next(
        ((name, True) for name in map(shutil.which, CLANGS) if name and fuzzes(name)), (shutil.which("gcc"), False)
    )
    if compiler is None:
        print("no clang and no gcc here; on Debian: apt-get install clang", file=sys.stderr)
        return 2
    return max(fuzz(compiler, fuzzer, what, options.seconds) for what in SEEDS if options.only in (None, what))


def fuzzes(compiler: str) -> bool:
    """Whether it has a fuzzer's library."""
    command = [compiler, "-fsanitize=fuzzer", "-x", "c", "-", "-o", os.devnull]
    empty = b"int LLVMFuzzerTestOneInput(const char *a, unsigned long b) { return a && b ? 0 : 0; }"
    return not subprocess.run(command, input=empty, capture_output=True, check=False).returncode


def fuzz(compiler: str, fuzzer: bool, what: str, seconds: int) -> int:
    """Builds one of them, and runs it."""
    corpus = KEPT / what
    corpus.mkdir(parents=True, exist_ok=True)
    for name, content in SEEDS[what]().items():
        (corpus / name).write_bytes(content)
    program, crash = KEPT / f"fuzz_{what}", KEPT / f"crash-{what}-"
    flags = ["-std=c11", "-O1", "-g", "-fno-omit-frame-pointer", "-DER_BUILD"]
    flags += [f'-DCONFORMANCE="{CONFORMANCE}"', f'-DENCODED="{ENCODED}"']
    sanitizers = "-fsanitize=address,undefined" + (",fuzzer" if fuzzer else "")
    sources = [*sorted((CORE / "src").glob("*.c")), CORE / "test" / f"fuzz_{what}.c"]
    sources += [] if fuzzer else [CORE / "test" / "fuzz_main.c"]
    flags += [sanitizers, "-fno-sanitize-recover=all", f"-I{CORE / 'include'}", f"-I{CORE / 'src'}"]
    objects = KEPT / f"objects-{Path(compiler).name}"
    objects.mkdir(exist_ok=True)
    headers = max(path.stat().st_mtime for folder in ("src", "include", "test") for path in (CORE / folder).glob("*.h"))

    def compiled(source: Path) -> str:
        made = objects / f"{source.stem}.o"
        if made.exists() and made.stat().st_mtime > max(headers, source.stat().st_mtime):
            return str(made)  # all targets share the library
        done = subprocess.run([compiler, *flags, "-c", str(source), "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{source.name}: {done.stderr[-2000:]}")
        return str(made)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        linked = list(pool.map(compiled, sources))
    subprocess.run([compiler, sanitizers, *linked, "-o", str(program), "-lm", "-lpthread"], check=True)
    command = [str(program)]
    if fuzzer:
        command += [
            f"-max_total_time={seconds}",
            "-max_len=65536",
            "-timeout=20",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
        ]
        command += [f"-artifact_prefix={crash}", str(corpus)]
    else:
        command += ["--seconds", str(seconds), *sorted(map(str, corpus.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        print(done.stdout[-500:], done.stderr[-6000:], sep="\n", file=sys.stderr)
        return 1
    told = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if "cov:" in line or "inputs" in line or "executed" in line
    ]
    print(
        f"{what}: nothing broke in {seconds} s, by {'libFuzzer' if fuzzer else 'changing blindly'}",
        *told[-2:],
        sep="\n  ",
    )
    return 0


def bundles() -> dict[str, bytes]:
    """Each file of conformance/ as an input that changes nothing; of a manifest its body."""
    found = {}
    for kind, name in enumerate(KINDS):
        files = [file for file in FILES if (CONFORMANCE / name / file).exists()]
        for place, file in enumerate(files):
            content = (CONFORMANCE / name / file).read_bytes()
            if file == "manifest":
                content = content[content.index(b"\x82\xa5files") :]
            found[f"{name}-{file}"] = bytes((kind, place)) + content
    return found


def texts() -> dict[str, bytes]:
    """Each request of conformance/, with what was called."""
    found = {}
    for kind, name in enumerate(KINDS):
        for i, request in enumerate(json.loads((CONFORMANCE / f"{name}.json").read_bytes())["requests"]):
            lines = [request["query"], *request["steps"][i % len(request["steps"])]["history"]]
            found[f"{name}-{i}"] = bytes((kind,)) + "\n".join(lines).encode()
    return found


def overlays() -> dict[str, bytes]:
    """What Python learned with a bundle of conformance/: all batches as they are, and the body of each."""
    import edgeret
    from edgeret import Call, Demonstration, Tool
    from edgeret.bundle.overlay import HEADER_BYTES

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "o.overlay"
        runtime = edgeret.load(CONFORMANCE / "few", overlay=path)
        names = list(runtime.tools)
        for i in range(6):
            calls = tuple(Call(name) for name in names[: i % 3])
            runtime.learn([Demonstration(str(i), f"find my file {i}", calls)])
        runtime = runtime.with_tools(add=[Tool("share_screen", "share it", examples=("show me",))], keep=True)
        for number in range(2):
            data = path.read_bytes()
            found[f"batches-{number}"] = b"\0" + data[HEADER_BYTES:]
            at = HEADER_BYTES
            while at < len(data):
                length = int.from_bytes(data[at + 4 : at + 8], "little")
                found[f"body-{number}-{at}"] = b"\1" + data[at + 48 : at + 48 + length]
                at += 48 + length + 32
            runtime.forget(id=0)
    return found


def definitions() -> dict[str, bytes]:
    """The tools of conformance/, two by two, and some odd ones."""
    found = {}
    odd = [b'{"name": "a", "description": "b", "examples": ["c"], "risk": 0.1, "confirm": true}', b"{}", b"\xff"]
    for kind, name in enumerate(KINDS):
        tools = [json.dumps(tool).encode() for tool in json.loads((CONFORMANCE / name / "tools.json").read_bytes())]
        for i, tool in enumerate(tools):
            come = tool.replace(b'"name": "', b'"name": "new_')
            found[f"{name}-{i}"] = bytes((kind + 3 * (i % 40),)) + come + b"\n" + tools[(i + 1) % len(tools)]
        found[f"{name}-odd"] = bytes((kind,)) + b"\n".join(odd)
    return found


def encodings() -> dict[str, bytes]:
    """Requests with numbers that nobody drew; makes the bundle that they are decided by, with a head for arguments."""
    sys.path.insert(0, str(ROOT / "tests"))
    from conftest import build_tiny, make_demonstrations
    from forge_arguments import with_head

    from edgeret_export.recipe import Recipe

    shutil.rmtree(ENCODED, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        plain = build_tiny(Path(folder) / "b", demonstrations=make_demonstrations(4), recipe=Recipe(precision="fp32"))
        with_head(plain, ENCODED)
    numbers = [struct.pack("<8f", *(0.1 * (i + 1) * (-1) ** k for k in range(8))) for i in range(4)]
    odd = struct.pack("<4f", float("nan"), float("inf"), 1e30, 0)
    told = dict(enumerate((*numbers, odd)))
    return {f"{how}-{i}": bytes((how,)) + b"find my file\n" + told[i] for how in range(8) for i in told}


SEEDS = {"bundle": bundles, "text": texts, "overlay": overlays, "tools": definitions, "encoder": encodings}
"""Where each of them begins."""

if __name__ == "__main__":
    sys.exit(main())
