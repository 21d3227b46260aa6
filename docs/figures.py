"""Writes measured figures into README and the pages, and says where they and the results differ.

    python docs/figures.py                     writes what docs/results/ holds into the pages
    python docs/figures.py --check             differences and figures out of bounds, and nothing written (`make check`)
    python docs/figures.py --measure [NAME …]  runs what is in RUNS first, in the checkout's folder (`make figures`)

A figure stands between `<!--= NAME PATH FORMAT -->` and `<!--/-->`: what lies at PATH in docs/results/NAME.json, its
keys with / between them, as FORMAT says: Python's for numbers, or `of100`. A table is one of `TABLES` between
`<!--= table NAME -->` and `<!--/-->`. Nobody types either.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figure_tables import CLAIMS, TABLES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
PAGES = ("README.md", "docs/measured.md", "docs/howto/*.md", "docs/for/*.md")
MARKED = re.compile(r"<!--= (?P<what>[^>]+?) -->(?P<text>.*?)<!--/-->", re.S)
DESKTOP = "build/desktop"
REQUESTS = "examples/desktop/requests.jsonl"
TRAIN = "examples/desktop/demonstrations.jsonl"
TOOLE, ULTRA = "build/data/toole", "build/data/ultratool"
SEARCHED = {
    "desktop": f"examples/desktop/tools.jsonl --queries {REQUESTS}",
    "ultratool": f"{ULTRA}/tools.jsonl --queries {ULTRA}/queries.jsonl",
    "one": f"{TOOLE}/tools.jsonl --queries {TOOLE}-one.jsonl --limit 1000",
    "two": f"{TOOLE}/tools.jsonl --queries {TOOLE}-two.jsonl",
}
SERVERS = "--config examples/mcp/servers.json --requests examples/mcp/requests.jsonl"
ALONE = "edgeret-export build --tools examples/desktop/tools.jsonl"
RUNS: Mapping[str, str] = {
    "next-tool": f"next-tool {DESKTOP} --demos {REQUESTS}",
    "arguments": f"arguments {DESKTOP} --demos {REQUESTS}",
    "terse": f"next-tool {DESKTOP} --demos examples/desktop/terse.jsonl",
    "cascade": f"lab cascade {DESKTOP} --demos {REQUESTS}",
    "mcp": f"lab mcp {SERVERS} --base edgeret/base",
    "mcp-tools": f"lab mcp {SERVERS} --base build/figures/alone-tools",
    "peers": f"lab peers {DESKTOP} --queries {REQUESTS}",
    "latency": f"latency {DESKTOP} --queries {REQUESTS}",
    "alone": f"next-tool build/figures/alone --demos {REQUESTS}",
    "alone-base": f"next-tool build/figures/alone-base --demos {REQUESTS}",
    "alone-tools": f"next-tool build/figures/alone-tools --demos {REQUESTS}",
    "shorter": f"next-tool build/figures/shorter --demos {REQUESTS}",
    "serve": f"lab serve {DESKTOP} --queries {REQUESTS} --rate 200 --core 0 --rounds 3",
    **{
        f"search-{name}{tuned}": f"retrieval --tools {files} --methods dense,clauses,hybrid "
        f"--base build/figures/alone{tuned}"
        for name, files in SEARCHED.items()
        for tuned in ("", "-tools")
    },
}
"""The results that figures come from: file, and arguments of edgeret-bench."""
MADE: Mapping[str, str] = {
    DESKTOP: f"edgeret-export build --tools examples/desktop/tools.jsonl --demos {TRAIN} -o {DESKTOP}",
    "build/figures/alone": f"{ALONE} -o build/figures/alone",
    "build/figures/alone-base": f"{ALONE} --encoder all-minilm-l4-tools -o build/figures/alone-base",
    "build/figures/alone-tools": f"{ALONE} --encoder all-minilm-l6-v2-tools -o build/figures/alone-tools",
    "build/figures/shorter": "edgeret-export build --tools examples/desktop/tools.jsonl "
    f"--demos {TRAIN} --profile full --encoder all-minilm-l4-tools -o build/figures/shorter",
    TOOLE: f"edgeret-bench lab fetch toole -o {TOOLE}",
    f"{TOOLE}-one.jsonl": f'grep \'"id": "s\' {TOOLE}/queries.jsonl > {TOOLE}-one.jsonl',
    f"{TOOLE}-two.jsonl": f'grep \'"id": "m\' {TOOLE}/queries.jsonl > {TOOLE}-two.jsonl',
    ULTRA: f"edgeret-bench lab fetch ultratool -o {ULTRA}",
}
"""What runs read, and how a shell makes it where it is missing."""
BOUNDS: Mapping[str, tuple[float, float]] = {
    "next-tool methods/fused/top1": (0.82, 1.0),
    "next-tool methods/fused/mrr": (0.88, 1.0),
    "shorter methods/fused/top1": (0.82, 1.0),
    "terse methods/fused/top1": (0.82, 1.0),
    "cascade profiles/default/top1": (0.82, 1.0),
    "cascade profiles/tiny/top1": (0.74, 1.0),
    "cascade profiles/default/declined_when_none_fits": (0.75, 1.0),
}
"""What README and pages go by, in words. A result beyond is to be explained, not written down."""
LEFT_OUT = ("samples", "options", "curve", "refusal_curve", "reliability")
"""Parts of results that no figure comes from."""


def main(argv: Sequence[str] | None = None) -> int:
    """0; 1 where pages, results and bounds do not agree, a line for each."""
    parser = argparse.ArgumentParser(description="Figures out of results, into the pages.")
    parser.add_argument("--check", action="store_true", help="write nothing, and say what differs")
    parser.add_argument("--measure", nargs="*", choices=sorted(RUNS), metavar="NAME", help="run these first, or all")
    options = parser.parse_args(argv)
    if options.measure is not None:
        for name in options.measure or RUNS:
            measure(name)
    found = write(ROOT, results(RESULTS), check=options.check)
    for line in found:
        print(line)
    return int(bool(found))


def results(folder: Path) -> dict[str, Any]:
    """The results by the names of their files."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))}


def write(root: Path, known: Mapping[str, Any], check: bool) -> list[str]:
    """Puts the figures into the pages, unless only to `check`; what does not agree, a line for each."""
    found, used = [], set[str]()
    for page in sorted(file for pattern in PAGES for file in root.glob(pattern)):
        name, text = page.relative_to(root).as_posix(), page.read_text(encoding="utf-8")

        def put(marked: re.Match[str], name: str = name) -> str:
            try:
                told, of = rendered(marked["what"], known)
            except (KeyError, TypeError, ValueError) as error:
                found.append(f"{name}: {marked['what']}: not in docs/results ({error}); run: make figures")
                return marked[0]
            used.update(of)
            if told is None:
                print(f"{name}: {marked['what']}: not measured yet; what stands there is older", file=sys.stderr)
                return marked[0]
            if told != marked["text"] and check:
                found.append(f"{name}: {marked['what']}: not what the result says; run: python docs/figures.py")
            return f"<!--= {marked['what']} -->{told}<!--/-->"

        written = MARKED.sub(put, text)
        if text.count("<!--=") != len(MARKED.findall(text)):
            found.append(f"{name}: a figure's mark has no end; close it with <!--/-->")
        if not check and written != text:
            page.write_text(written, encoding="utf-8")
    found += [f"docs/results/{name}.json: no page has a figure of it" for name in sorted(known.keys() - used)]
    return [*found, *beyond(known), *stale(root, known), *unclaimed(root)]


def rendered(what: str, known: Mapping[str, Any]) -> tuple[str | None, set[str]]:
    """The text for a mark, None for a table none of whose results are there, and the results that it is of. Raises
    KeyError where there is no such figure."""
    first, *rest = what.split()
    if first == "table":
        table, of = TABLES[rest[0]]
        there = {each: known[each] for each in of if each in known}
        return f"\n\n{table(there)}\n\n" if there or not of else None, set(there)
    path, form = rest
    return formatted(looked_up(known[first], path), form), {first}


def looked_up(result: Any, path: str) -> Any:
    """What lies at a path of a result."""
    for key in path.split("/"):
        result = result[int(key) if isinstance(result, list) else key]
    return result


def formatted(value: Any, form: str) -> str:
    """A figure as pages show it."""
    return f"{100 * value:.0f}" if form == "of100" else format(value, form)


def beyond(known: Mapping[str, Any]) -> list[str]:
    """Figures out of their bounds."""
    found = []
    for what, (least, most) in BOUNDS.items():
        name, path = what.split()
        if name in known and not least <= (value := looked_up(known[name], path)) <= most:
            found.append(f"docs/results/{name}.json: {path} is {value:.4f}, not {least:g} to {most:g}; why?")
    return found


def stale(root: Path, known: Mapping[str, Any]) -> list[str]:
    """Results of other commands, or of files that have changed since."""
    found = []
    for name, result in known.items():
        if name not in RUNS or result["command"][1:] != shlex.split(RUNS[name]):
            found.append(f"docs/results/{name}.json: not of the command in docs/figures.py; run: make figures")
        hashes = {each["sha256"] for each in result.get("inputs", {}).values()}
        for word in result["command"] if hashes else ():
            if word.startswith("examples/") and sha256(root / word) not in hashes:
                found.append(f"docs/results/{name}.json: {word} has changed since; run: make figures")
    return found


def sha256(file: Path) -> str:
    """A file's hash, as results have it."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def unclaimed(root: Path) -> list[str]:
    """Claims in the list that README does not make any more."""
    said = " ".join(re.sub(r"<!--.*?-->", "", (root / "README.md").read_text(encoding="utf-8")).split())
    return [f"docs/figure_tables.py: README does not say {claim!r}" for claim, _ in CLAIMS if claim not in said]


def measure(name: str) -> None:
    """Runs one command of RUNS, makes before what it reads, and keeps its result without what no figure is of."""
    command = f"edgeret-bench {RUNS[name]}"
    target = ROOT / "build" / "figures" / f"{name}.json"
    prepare(command)
    target.parent.mkdir(parents=True, exist_ok=True)
    run(f"{command} --json > {target.relative_to(ROOT)}")
    result = json.loads(target.read_text(encoding="utf-8"))
    kept = {key: value for key, value in result.items() if key not in LEFT_OUT} | {"command": shlex.split(command)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def prepare(command: str) -> None:
    """Makes what a command reads and is not there, and what is needed for that."""
    for place, made in MADE.items():
        if not (ROOT / place).exists() and re.search(rf"{place}(/|\s|$)", command) and command != made:
            prepare(made)
            run(made)


def run(command: str) -> None:
    """Runs a line of the shell in the checkout, with this environment's commands; ends where it fails."""
    print("$", command, file=sys.stderr)
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ.get('PATH', '')}"
    if code := subprocess.run(command, shell=True, cwd=ROOT, env={**os.environ, "PATH": path}, check=False).returncode:
        sys.exit(code)


if __name__ == "__main__":
    sys.exit(main())
