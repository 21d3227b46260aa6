"""The command line of the runtime. Parses arguments and prints; the work is elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret import __version__
from edgeret.bundle.reader import Bundle, open_bundle, verify_bundle
from edgeret.cli.console import MOST_CHARS, Parser, add_command, run, table
from edgeret.cli.doctor import examine, stray_files, versions
from edgeret.cli.options import add_content_hash, add_mask_options, add_runtime_options, load_runtime, parse_history
from edgeret.cli.picture import clusters_told, draw
from edgeret.encoders.base import EncoderSpec
from edgeret.errors import BundleError, EdgeretError, InputError
from edgeret.fields import get, get_strings
from edgeret.inputs.query import check_query
from edgeret.planner.model import LICENCE_ROLE
from edgeret.planner.model import ROLE as PLANNER_ROLE
from edgeret.planner.prompts import MASKINGS
from edgeret.quoting import visible
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.scoring.calibration import POLICIES
from edgeret.scoring.index import ROLE as INDEX_ROLE
from edgeret.types import PlanStep


def make_parser() -> argparse.ArgumentParser:
    """The parser of `edgeret`."""
    parser = Parser(prog="edgeret", description="Decides which function an assistant calls next.")
    parser.add_argument("--version", action="version", version=f"edgeret {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    search = add_command(commands, "search", "Find tools by their descriptions.", _search, _print_search, bundle=True)
    search.add_argument("query", metavar="QUERY")
    search.add_argument("-k", type=int, default=10, metavar="N", help="how many tools (default: %(default)s)")
    search.add_argument("--clauses", action="store_true", help="search every clause of the query too")

    select = add_command(commands, "select", "Decide which function comes next.", _select, _print_select, bundle=True)
    select.add_argument("query", metavar="QUERY")
    select.add_argument(
        "--history", default="", metavar="a,b,c", help="tools called so far, in order (or a JSON array)"
    )
    select.add_argument("-k", type=int, default=10, metavar="N", help="candidates to list (default: %(default)s)")
    _add_policy(select)
    _add_masking(select)

    prompt = add_command(
        commands,
        "prompt",
        "Write the prompt that asks a language model which function comes next.",
        _prompt,
        _print_prompt,
        bundle=True,
    )
    prompt.add_argument("query", metavar="QUERY")
    prompt.add_argument(
        "--history", default="", metavar="a,b,c", help="tools called so far, in order (or a JSON array)"
    )
    _add_masking(prompt)

    plan = add_command(commands, "plan", "Decide step by step until <end>.", _plan, _print_plan, bundle=True)
    plan.add_argument("query", metavar="QUERY")
    plan.add_argument(
        "--max-steps", type=int, default=16, metavar="N", help="bound on the calls (default: %(default)s)"
    )
    plan.add_argument("--no-arguments", action="store_true", help="do not have the planner fill in arguments")
    plan.add_argument("--stream", action="store_true", help="show each step on stderr as it is decided")
    _add_policy(plan, floor=False)

    for command in (search, select, prompt, plan):
        add_runtime_options(command)
    look = add_command(commands, "inspect", "Show what a bundle holds.", _inspect, _print_inspect, bundle=True)
    look.add_argument("--html", metavar="FILE", help="draw it too: tools, clusters and transitions, files and licences")
    add_content_hash(look)
    verify = add_command(commands, "verify", "Check every byte of a bundle.", _verify, _print_checks, bundle=True)
    add_content_hash(verify)
    doctor = add_command(
        commands, "doctor", "Check that a bundle works on this device.", _doctor, _print_checks, bundle=True
    )
    add_runtime_options(doctor)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    return run(make_parser(), argv)


def _add_policy(parser: argparse.ArgumentParser, floor: bool = True) -> None:
    parser.add_argument("--policy", choices=POLICIES, default="auto", help="who decides (default: %(default)s)")
    if floor:
        parser.add_argument(
            "--min-probability", type=float, metavar="P", help="abstain below this probability (default: the bundle's)"
        )


def _add_masking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--masking", choices=MASKINGS, default="hard", help="what a planner's prompt shows (default: %(default)s)"
    )
    add_mask_options(parser)


def _search(arguments: argparse.Namespace) -> Mapping[str, Any]:
    check_query(arguments.query)
    runtime = load_runtime(arguments)
    hits = runtime.search(arguments.query, arguments.k, clauses=arguments.clauses)
    return {"query": arguments.query, "index": runtime.index.kind, "hits": [asdict(hit) for hit in hits]}


def _print_search(result: Mapping[str, Any]) -> str:
    return table([[hit["similarity"], hit["tool"]] for hit in result["hits"]], ("cosine", "tool"))


def _select(arguments: argparse.Namespace) -> Mapping[str, Any]:
    check_query(arguments.query)
    if arguments.k < 1:
        raise InputError(f"-k must be at least 1, found {arguments.k}")
    _, task = _task(arguments)
    return task.next(
        policy=arguments.policy,
        k=arguments.k,
        min_probability=arguments.min_probability,
        coverage=arguments.coverage,
        masking=arguments.masking,
        weighted=arguments.weighted,
    ).to_dict()


def _print_select(result: Mapping[str, Any]) -> str:
    what = result["tool"] if not result["abstained"] else "abstained"
    lines = [
        f"{what}  (probability {result['probability']:.3f}, by {result['source']})",
        f"because {result['reason']}",
        "",
    ]
    lines.append(table([[c["probability"], c["tool"]] for c in result["candidates"]], ("probability", "candidate")))
    lines += ["", "ms: " + ", ".join(f"{stage} {ms:.3f}" for stage, ms in result["timings_ms"].items())]
    return "\n".join(lines)


def _task(arguments: argparse.Namespace) -> tuple[Runtime, Task]:
    """The runtime, and a task of the query with the history's calls made."""
    history = parse_history(arguments.history)
    runtime = load_runtime(arguments)
    task = runtime.task(arguments.query)
    for tool in history:
        task.call(tool)
    return runtime, task


def _prompt(arguments: argparse.Namespace) -> Mapping[str, Any]:
    check_query(arguments.query)
    runtime, task = _task(arguments)
    prompt = task.prompt(masking=arguments.masking, weighted=arguments.weighted, coverage=arguments.coverage)
    tokens = None
    if runtime.advisor.has_planner:
        constant, variable = runtime.advisor.planner.count(prompt)
        tokens = {"constant": constant, "variable": variable}
    return {
        "masking": arguments.masking,
        "weighted": arguments.weighted,
        "messages": prompt.messages,
        "constant_turns": len(prompt.constant),
        "tokens": tokens,
    }


def _print_prompt(result: Mapping[str, Any]) -> str:
    text = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in result["messages"])
    if result["tokens"] is None:
        return text
    return text + f"\n\n(tokens: {result['tokens']['constant']} constant, {result['tokens']['variable']} variable)"


def _plan(arguments: argparse.Namespace) -> Mapping[str, Any]:
    check_query(arguments.query)
    if arguments.max_steps < 1:
        raise InputError(f"--max-steps must be at least 1, found {arguments.max_steps}")
    runtime = load_runtime(arguments)
    plan = runtime.plan(
        arguments.query,
        policy=arguments.policy,
        max_steps=arguments.max_steps,
        arguments=not arguments.no_arguments,
        decided=_show_step if arguments.stream else None,
    )
    return plan.to_dict()


def _show_step(step: PlanStep) -> None:
    what = step.decision.tool or "(abstained)"
    told = f"{what} {json.dumps(step.call.arguments, ensure_ascii=False)}" if step.call else what
    sys.stderr.write(visible(told) + "\n")


def _print_plan(result: Mapping[str, Any]) -> str:
    rows = [
        [
            i,
            step["tool"] or f"(abstained: {step['reason']})",
            step["probability"],
            step["source"],
            _written(step),
        ]
        for i, step in enumerate(result["steps"], 1)
    ]
    return table(rows, ("step", "tool", "probability", "by", "arguments")) + f"\n\n{result['outcome']}"


def _written(step: Mapping[str, Any]) -> str:
    """A step's arguments, and the names of those that are missing."""
    given = json.dumps(step["arguments"], ensure_ascii=False) if step["arguments"] else ""
    missing = f"missing: {', '.join(step['missing'])}" if step["missing"] else ""
    return "  ".join(part for part in (given, missing) if part)


def _inspect(arguments: argparse.Namespace) -> Mapping[str, Any]:
    bundle = open_bundle(arguments.bundle, content_hash=arguments.content_hash)
    info, where = bundle.manifest.info, str(bundle.path)
    encoder = get(info, "encoder", dict, where)
    EncoderSpec.from_dict(get(encoder, "spec", dict, where), where)
    names = get_strings(bundle.map(INDEX_ROLE), "names", where)
    if arguments.html is not None:
        draw(bundle, Path(arguments.html))
    return {
        **({} if arguments.html is None else {"html": arguments.html}),
        "bundle": str(bundle.path),
        "format_version": bundle.manifest.version,
        "content_hash": bundle.manifest.content_hash,
        "built_with": info.get("edgeret"),
        "size_mb": round(bundle.size / 1e6, 3),
        "encoder": encoder,
        "planner": _planner_info(bundle),
        "tools": list(names),
        "counts": info.get("counts"),
        "clusters": clusters_told(bundle),
        "recipe": info.get("recipe"),
        "report": info.get("report"),
        "toolchain": info.get("toolchain"),
        "files": [asdict(entry) for entry in bundle.manifest.files],
    }


def _planner_info(bundle: Bundle) -> Mapping[str, Any] | None:
    entry = bundle.manifest.file(PLANNER_ROLE)
    if entry is None:
        return None
    texts = [f.name for f in bundle.manifest.files if f.role.startswith(LICENCE_ROLE)]
    planner = get(bundle.manifest.info, "planner", dict, str(bundle.path))
    return {**planner, "licence": entry.licence, "licence_files": texts}


def _print_inspect(result: Mapping[str, Any]) -> str:
    counts, spec = _map(result, "counts"), result["encoder"]["spec"]
    undemonstrated = counts.get("without_demonstration")
    rows = [[f["name"], f["role"], round(f["size"] / 1e6, 3), f["licence"], f["source"]] for f in result["files"]]
    lines = [
        f"bundle   {result['bundle']}, format {result['format_version']}, {result['size_mb']} MB",
        f"hash     {result['content_hash']}",
        f"encoder  {_told(result['encoder'].get('card'))}, {spec['precision']} ({spec['instruction_set']})",
        f"tools    {len(result['tools'])}, demonstrations {_told(counts.get('demonstrations'))}, "
        f"clusters {result['clusters']}; without demonstration: "
        f"{len(undemonstrated) if isinstance(undemonstrated, list) else _told(None)}",
    ]
    if planner := result["planner"]:
        worth = _map(planner, "parameters").get("weight")
        texts = ", ".join(planner["licence_files"]) or "no text"
        advice = f"its advice weighs {_told(worth)}" if worth else "its advice did not help and is not asked for"
        lines.append(f"planner  {_told(planner.get('card'))}, licence {planner['licence']} ({texts}); {advice}")
    held_out = _map(_map(result, "report"), "held_out")
    if top1 := _map(held_out, "top1"):
        told = ", ".join(f"{name} {_told(value)}" for name, value in top1.items())
        lines.append(f"held out top-1 {told}; ECE {_told(held_out.get('ece_calibrated'))}")
    if "html" in result:
        lines.append(f"picture  {result['html']}")
    lines = [visible(line) for line in lines]
    return "\n".join([*lines, "", table(rows, ("file", "role", "MB", "licence", "source"))])


def _map(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """What a bundle says of itself where it need not: the map, or an empty one."""
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _told(value: object) -> str:
    """The same of a text or a number."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)[:200] if isinstance(value, str | int) else "(not told)"


def _verify(arguments: argparse.Namespace) -> Mapping[str, Any]:
    folder = Path(arguments.bundle)
    try:
        manifest = verify_bundle(folder, content_hash=arguments.content_hash)
    except BundleError as error:
        # Told as a finding: here a damaged bundle is an answer (exit 1), elsewhere an obstacle (exit 2).
        return {"ok": False, "checks": [{"name": "integrity", "ok": False, "detail": str(error)}]}
    size = sum(entry.size for entry in manifest.files)
    detail = f"{len(manifest.files)} files, {size} bytes, content hash {manifest.content_hash}"
    checks = [{"name": "integrity", "ok": True, "detail": detail}, stray_files(folder, manifest)]
    return {"ok": all(c["ok"] for c in checks), "content_hash": manifest.content_hash, "checks": checks}


def _doctor(arguments: argparse.Namespace) -> Mapping[str, Any]:
    try:
        return examine(load_runtime(arguments))
    except EdgeretError as error:
        return {"ok": False, "checks": [{"name": "loading", "ok": False, "detail": str(error)}], "versions": versions()}


def _print_checks(result: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{'ok   ' if c['ok'] else 'FAILS'}  {c['name']}: {visible(' '.join(c['detail'].split()))[:MOST_CHARS]}"
        for c in result["checks"]
    )
