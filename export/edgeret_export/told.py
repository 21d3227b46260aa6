"""What a build says of itself, in words. Knows nothing of how anything was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeret.runtime.options import LOSS
from edgeret_export.planner_command import told_of_quantising

_GOOD = ((0.8, "good"), (0.6, "usable"), (0.0, "weak, show it more demonstrations"))
"""Words for a share of right decisions, from the least share that earns them."""
_EXACT = ((0.05, "exact"), (0.1, "fair"), (1.0, "rough, more demonstrations make it exact"))
"""Words for a calibration error, up to the most that they allow. Few decisions show an error by chance alone."""


def _told_of_cascade(cascade: Mapping[str, Any]) -> str:
    told = next(each for each in cascade["by_loss"] if each["allowed"] == LOSS)
    return (
        f"token vectors suffice for {told['small_first']:.0%} of first decisions and {told['small']:.0%} of all, at "
        f"{told['lost']:.4f} of held-out accuracy (at most {LOSS} allowed)"
    )


def print_build(result: Mapping[str, Any]) -> str:
    parity, held_out = result["parity"], result["held_out"]
    lines = [
        f"bundle      {result['bundle']}",
        f"hash        {result['content_hash']}",
        f"made        {_told_of_made(result)}",
        f"encoder     {_told_of_encoder(result)}",
        f"parity      {_told_of_parity(parity)}",
    ]
    for name, found in result.get("variants", {}).items():
        lines.append(f"target      {name}: {_told_of_variant(found)}")
    if "note" in held_out:
        lines.append(f"held out    {held_out['note']}")
    else:
        top1 = ", ".join(f"{name} {value:.3f}" for name, value in held_out["top1"].items())
        lines.append(f"held out    top-1 over {held_out['decisions']} decisions: {top1}")
        lines.append(f"floor       {_told_of_floor(held_out['floor'])}")
        lines.append(f"calibration {_told_of_calibration(held_out)}")
    if nothing := told_of_declining(result["nothing"]):
        lines.append(f"nothing     {nothing}")
    if sampled := held_out.get("head_plans"):
        lines.append(
            f"sample      heads were fitted on {sampled} of {held_out['plans']} demonstrations, drawn by the seed"
        )
    if cascade := result.get("cascade"):
        lines.append(f"cascade     {_told_of_cascade(cascade)}")
    if expansion := result.get("expansion"):
        lines.append(f"expansion   {_told_of_expansion(expansion)}")
    if asked := result.get("planner"):
        worth = f"weight {asked['weight']:g}" if asked["weight"] else "not asked by itself"
        if quantised := asked.get("quantised"):
            lines.append(f"quantised   {told_of_quantising(quantised)}")
        lines.append(f"planner     {worth} after {asked['questions']} questions" + _told_of_planner(asked))
    return "\n".join([*lines, f'next        edgeret select {result["bundle"]} "…"'])


def _told_of_made(result: Mapping[str, Any]) -> str:
    """What was built, and whether that is good, in a sentence."""
    made = f"a bundle of profile {result['profile']}, {result['bundle_mb']:.1f} MB, for {result['tools']} tools"
    top1 = result["held_out"].get("top1", {}).get("fused")
    if top1 is None:
        return f"{made}; how good it is nobody can say without more demonstrations"
    count, word = result["demonstrations"], next(word for least, word in _GOOD if top1 >= least)
    return f"{made} from {count} demonstrations; {word}: {top1:.0%} of decisions held out were right at once"


def _told_of_encoder(result: Mapping[str, Any]) -> str:
    parity = result["parity"]
    if result["profile"] == "tiny":
        return f"none; a table of token vectors in its place, made with the encoder in {parity['precision']}"
    return f"{parity['precision']}, {parity['size_mb']:.1f} MB"


def _told_of_calibration(held_out: Mapping[str, Any]) -> str:
    """An expected calibration error in words: how far probabilities are from how often they were right."""
    error, before = held_out["ece_calibrated"], held_out["ece_fused"]
    word = next(word for most, word in _EXACT if error <= most)
    before_it = f"{100 * before:.0f} before calibration"
    return f"{word}: probabilities are {100 * error:.0f} points off in the mean ({before_it}; ECE {error:.4f})"


def told_of_declining(found: Mapping[str, Any]) -> str:
    """What the bundle declines, as far as it is known; of nothing, nothing."""
    shares = (("declined", "requests that no tool fits"), ("lost", "that one does"))
    parts = [f"{100 * found[key]:.0f} of 100 {what}" for key, what in shares if key in found]
    return "declines " + ", and ".join(parts) if "declined" in found else ""


def _told_of_floor(floor: Mapping[str, float]) -> str:
    return (
        f"{floor['min_probability']:.2f}: {floor['answered']:.0%} of held-out requests are answered, "
        f"{floor['wrong']:.1%} of these wrongly; {floor['given_up']:.1%} of right answers are given up"
    )


def _told_of_variant(found: Mapping[str, Any]) -> str:
    if "cosine_mean" not in found:
        return f"{found['size_mb']:.1f} MB, {found['note']}"
    return f"{found['precision']}, {found['size_mb']:.1f} MB, {_told_of_parity(found)}"


def _told_of_parity(parity: Mapping[str, Any]) -> str:
    # Where nobody demonstrated anything, what the tools say of themselves stands in.
    what = "demonstrations" if parity["demonstrations"]["observations"] else "tools"
    ndcg5 = parity[what]
    return (
        f"cosine to the original {parity['cosine_mean']:.4f} in the mean, {parity['cosine_min']:.4f} at least; nDCG@5 "
        f"{ndcg5['ndcg5_exported']:.4f} (original {ndcg5['ndcg5_reference']:.4f}) on {ndcg5['observations']} {what}"
    )


def _told_of_expansion(report: Mapping[str, Any]) -> str:
    kept = f"{report['kept']} of {report['queries']} queries kept, for {report['tools_with_queries']} tools"
    if not report["weight"]:
        return f"{kept}; not used: they are not shown to find more tools"
    found, weight = report["round_trip_ndcg5"][report["copies"]], f"{report['weight']:g}"
    share = f"{kept}; weight {weight} of {report['copies']}"
    return f"{share}, which finds them again with nDCG@5 {found[weight]:.4f} ({found['0']:.4f} without)"


def _told_of_planner(report: Mapping[str, Any]) -> str:
    if "top1_planner" not in report:
        return f"; {report['note']}"
    top1 = ", ".join(f"{name} {report[f'top1_{name}']:.3f}" for name in ("heads", "planner", "together"))
    return f": top-1 {top1}"
