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
CLANGS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))


def main() -> int:
    """0 where nothing broke; 1 where something did; 2 without a compiler."""
    parser = argparse.ArgumentParser(description="Fuzz the core.")
    parser.add_argument("--seconds", type=int, default=60, help="for each of them")
    parser.add_argument("--only", choices=("bundle", "text", "overlay"))
    options = parser.parse_args()
    compiler, fuzzer = next(
        ((name, True) for name in map(shutil.which, CLANGS) if name and fuzzes(name)), (shutil.which("gcc"), False)
    )
    if compiler is None:
        print("no clang and no gcc here; on Debian: apt-get install clang", file=sys.stderr)
        return 2
    return max(
        fuzz(compiler, fuzzer, what, options.seconds)
        for what in ("bundle", "text", "overlay")
        if options.only in (None, what)
    )


def fuzzes(compiler: str) -> bool:
    """Whether it has a fuzzer's library."""
    command = [compiler, "-fsanitize=fuzzer", "-x", "c", "-", "-o", os.devnull]
    empty = b"int LLVMFuzzerTestOneInput(const char *a, unsigned long b) { return a && b ? 0 : 0; }"
    return not subprocess.run(command, input=empty, capture_output=True, check=False).returncode


def fuzz(compiler: str, fuzzer: bool, what: str, seconds: int) -> int:
    """Builds one of them, and runs it."""
    corpus = KEPT / what
    corpus.mkdir(parents=True, exist_ok=True)
    for name, content in {"bundle": bundles, "text": texts, "overlay": overlays}[what]().items():
        (corpus / name).write_bytes(content)
    program, crash = KEPT / f"fuzz_{what}", KEPT / f"crash-{what}-"
    flags = ["-std=c11", "-O1", "-g", "-fno-omit-frame-pointer", f'-DCONFORMANCE="{CONFORMANCE}"', "-DER_BUILD"]
    sanitizers = "-fsanitize=address,undefined" + (",fuzzer" if fuzzer else "")
    sources = [*sorted((CORE / "src").glob("*.c")), CORE / "test" / f"fuzz_{what}.c"]
    sources += [] if fuzzer else [CORE / "test" / "fuzz_main.c"]
    flags += [sanitizers, "-fno-sanitize-recover=all", f"-I{CORE / 'include'}", f"-I{CORE / 'src'}"]
    objects = KEPT / f"objects-{what}"
    objects.mkdir(exist_ok=True)

    def compiled(source: Path) -> str:
        made = objects / f"{source.stem}.o"
        subprocess.run([compiler, *flags, "-c", str(source), "-o", str(made)], check=True, stderr=subprocess.DEVNULL)
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


if __name__ == "__main__":
    sys.exit(main())
