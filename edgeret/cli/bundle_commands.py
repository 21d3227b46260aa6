"""Commands about a bundle as such: inspect, verify, doctor. Decides nothing; the checks are elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array
from edgeret.bundle.layout import MANIFEST
from edgeret.bundle.reader import Bundle, open_bundle, read_manifest, verify_bundle
from edgeret.cli.doctor import examine, stored_tools, stray_files, versions
from edgeret.cli.options import (
    add_content_hash,
    add_overlay_options,
    add_runtime_options,
    add_trust,
    chosen_key,
    chosen_overlay,
    load_runtime,
)
from edgeret.cli.picture import clusters_told, draw
from edgeret.cli.told import overlay_line, overlay_told, signature_check
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.languages import read_languages
from edgeret.encoders.variants import read_variants
from edgeret.errors import BundleError, EdgeretError, InputError
from edgeret.fields import get, get_strings
from edgeret.quoting import visible
from edgeret.runtime.loading import load
from edgeret.runtime.options import LOSS
from edgeret.terminal.console import MOST_CHARS, add_command, table
from edgeret.types import Explanation

EXPLAINED = 3
"""Requests whose decisions a picture explains."""


def add_bundle_commands(commands: Any) -> None:
    """Adds inspect, verify and doctor."""
    look = add_command(commands, "inspect", "Show what a bundle holds.", _inspect, _print_inspect, bundle=True)
    look.add_argument("--html", metavar="FILE", help="draw it too: tools, clusters and transitions, files and licences")
    look.add_argument(
        "--live",
        metavar="FOLDER",
        help="with --html: the page holds what decides, and does so as one types; the folder has the library for "
        "that, as bindings/js of a checkout and the npm package do",
    )
    add_content_hash(look)
    add_trust(look)
    add_overlay_options(look)
    verify = add_command(commands, "verify", "Check every byte of a bundle.", _verify, _print_checks, bundle=True)
    add_content_hash(verify)
    add_trust(verify)
    doctor = add_command(
        commands, "doctor", "Check that a bundle works on this device.", _doctor, _print_checks, bundle=True
    )
    add_runtime_options(doctor)
    add_overlay_options(doctor)


def _inspect(arguments: argparse.Namespace) -> Mapping[str, Any]:
    bundle = open_bundle(arguments.bundle, content_hash=arguments.content_hash, trust=arguments.trust)
    info, where = bundle.manifest.info, str(bundle.path)
    EncoderSpec.of(info, where)
    read_languages(info[roles.INFO_ENCODER], where)
    names = get_strings(bundle.map(roles.INDEX), "names", where)
    if arguments.html is None and arguments.live is not None:
        raise InputError("--live is for a page; name it with --html FILE")
    if arguments.html is not None:
        explained = _explained(arguments.bundle, bundle.manifest.content_hash)
        draw(bundle, Path(arguments.html), explained, None if arguments.live is None else Path(arguments.live))
    return {
        **({} if arguments.html is None else {"html": arguments.html}),
        "bundle": str(bundle.path),
        "overlay": overlay_told(chosen_overlay(arguments), bundle.manifest, chosen_key(arguments)),
        "format_version": bundle.manifest.version,
        "content_hash": bundle.manifest.content_hash,
        "built_with": info.get(roles.INFO_EDGERET),
        "size_mb": round(bundle.size / 1e6, 3),
        "encoder": info[roles.INFO_ENCODER],
        "variants": _variants_info(bundle),
        "static": _static_info(bundle),
        "planner": _planner_info(bundle),
        "tools": list(names),
        "counts": info.get(roles.INFO_COUNTS),
        "clusters": clusters_told(bundle),
        "recipe": info.get(roles.INFO_RECIPE),
        "report": info.get(roles.INFO_REPORT),
        "toolchain": info.get(roles.INFO_TOOLCHAIN),
        "files": [asdict(entry) for entry in bundle.manifest.files],
    }


def _explained(folder: str, content_hash: str) -> list[Explanation]:
    """How some requests are decided, that the bundle was shown, or else what its first tool is described as; none where
    it cannot run here."""
    try:
        runtime = load(folder, content_hash=content_hash)
        shown = [exemplar.query for exemplar in runtime.loaded.exemplars.all[:EXPLAINED]]
        described = [tool.description for tool in runtime.tools.values() if tool.description.strip()]
        return [runtime.task(query).next().explain() for query in shown or described[:1]]
    except EdgeretError:
        return []  # `doctor` says why


def _variants_info(bundle: Bundle) -> list[Mapping[str, Any]]:
    """The graphs that stand in for the encoder on other hardware, with what the build measured of each."""
    sizes = {entry.role: entry.size for entry in bundle.manifest.files}
    told = _map(_map(bundle.manifest.info, roles.INFO_REPORT), roles.INFO_VARIANTS)
    return [
        {
            **variant.to_dict(),
            "size_mb": round(sum(sizes[role] for role, _ in variant.files) / 1e6, 3),
            "measured": told.get(variant.name),
        }
        for variant in read_variants(bundle.manifest, str(bundle.path))
    ]


def _told_of_variant(variant: Mapping[str, Any]) -> str:
    lengths = ", ".join(str(file["tokens"]) for file in variant["files"] if file["tokens"])
    spec, measured = variant["spec"], variant["measured"]
    cosine = measured.get("cosine_mean") if isinstance(measured, Mapping) else None
    parity = "not measured on the build host" if cosine is None else f"cosine to the original {_told(cosine)}"
    return (
        f"{variant['name']}: {spec['precision']}, {variant['size_mb']} MB"
        + (f", texts of {lengths} tokens" if lengths else "")
        + f"; {parity}"
    )


def _static_info(bundle: Bundle) -> Mapping[str, Any] | None:
    """What is told of the stage that decides first, None without one: its encoder, its thresholds, and its files."""
    part = bundle.part(roles.STATIC)
    if part is None:
        return None
    where = f"{bundle.path} ({roles.INFO_CASCADE})"
    told = get(part.manifest.info, roles.INFO_CASCADE, dict, where)
    losses = get_array(told, "losses", "<f4", (None,), where)
    least = get_array(told, "least", "<f4", losses.shape, where)
    own = [entry for entry in part.manifest.files if entry.role in roles.PART_ROLES]
    return {
        "encoder": get(part.manifest.info, roles.INFO_ENCODER, dict, where),
        "size_mb": round(sum(entry.size for entry in own) / 1e6, 3),
        "least_probability": {f"{loss:g}": p for loss, p in zip(losses.tolist(), least.tolist(), strict=True)},
    }


def _planner_info(bundle: Bundle) -> Mapping[str, Any] | None:
    entry = bundle.manifest.file(roles.PLANNER)
    if entry is None:
        return None
    texts = [f.name for f in bundle.manifest.files if f.role.startswith(roles.PLANNER_LICENCE)]
    planner = get(bundle.manifest.info, roles.INFO_PLANNER, dict, str(bundle.path))
    return {**planner, "licence": entry.licence, "licence_files": texts}


def _print_inspect(result: Mapping[str, Any]) -> str:
    counts, spec = _map(result, "counts"), result["encoder"]["spec"]
    undemonstrated = counts.get("without_demonstration")
    rows = [[f["name"], f["role"], round(f["size"] / 1e6, 3), f["licence"], f["source"]] for f in result["files"]]
    lines = [
        f"bundle   {result['bundle']}, format {result['format_version']}, {result['size_mb']} MB",
        f"overlay  {overlay_line(result['overlay'])}",
        f"hash     {result['content_hash']}",
        f"encoder  {_told(result['encoder'].get('card'))}, {spec['precision']} ({spec['instruction_set']})",
        f"speaks   {_told_of_languages(result['encoder'].get('languages', []))}",
        f"tools    {len(result['tools'])}, demonstrations {_told(counts.get('demonstrations'))}, "
        f"clusters {result['clusters']}; without demonstration: "
        f"{len(undemonstrated) if isinstance(undemonstrated, list) else _told(None)}",
    ]
    lines += [f"target   {_told_of_variant(variant)}" for variant in result["variants"]]
    if static := result["static"]:
        least = static["least_probability"].get(f"{LOSS:g}")
        lines.append(
            f"first    a table of token vectors, {static['size_mb']} MB, decides from probability {_told(least)} on"
        )
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
    lines = [visible(text) for text in lines]
    return "\n".join([*lines, "", table(rows, ("file", "role", "MB", "licence", "source"))])


def _told_of_languages(languages: Sequence[str]) -> str:
    """The languages of an encoder, the first of many."""
    if len(languages) <= 12:
        return ", ".join(languages) or _told(None)
    return f"{len(languages)} languages: {', '.join(languages[:12])}, …"


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
    signed: list[Mapping[str, Any]] = []
    if arguments.trust is not None:
        check, wanted = signature_check(folder, arguments.trust)
        if wanted is None:
            _check_place(folder)
            return {"ok": False, "checks": [check]}
        signed = [check]
    try:
        manifest = verify_bundle(folder, content_hash=arguments.content_hash, trust=arguments.trust)
    except BundleError as error:
        _check_place(folder)
        # Told as a finding: here a damaged bundle is an answer (exit 1), elsewhere an obstacle (exit 2).
        return {"ok": False, "checks": [*signed, {"name": "integrity", "ok": False, "detail": str(error)}]}
    size = sum(entry.size for entry in manifest.files)
    detail = f"{len(manifest.files)} files, {size} bytes, content hash {manifest.content_hash}"
    checks = [*signed, {"name": "integrity", "ok": True, "detail": detail}, stored_tools(folder, manifest.content_hash)]
    checks.append(stray_files(folder, manifest))
    return {"ok": all(c["ok"] for c in checks), "content_hash": manifest.content_hash, "checks": checks}


def _check_place(folder: Path) -> None:
    """Raises BundleError where there is no bundle at all, which is bad input and no finding about one."""
    if not (folder / MANIFEST).is_file():
        read_manifest(folder)


def _doctor(arguments: argparse.Namespace) -> Mapping[str, Any]:
    try:
        runtime = load_runtime(arguments)
        kept = overlay_told(chosen_overlay(arguments), runtime.manifest, chosen_key(arguments))
        found = examine(runtime)
        detail = f"{overlay_line(kept)}; {runtime.learned.status}"
        found["checks"].append({"name": "overlay", "ok": True, "detail": detail})
        return found
    except InputError:
        raise
    except EdgeretError as error:
        _check_place(Path(arguments.bundle))
        return {"ok": False, "checks": [{"name": "loading", "ok": False, "detail": str(error)}], "versions": versions()}


def _print_checks(result: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{'ok   ' if c['ok'] else 'FAILS'}  {c['name']}: {visible(' '.join(c['detail'].split()))[:MOST_CHARS]}"
        for c in result["checks"]
    )
