"""A build's encoder, tuned on the build's own demonstrations: what `tune` is told, and where its work is kept. How it
tunes is `encoders.tune`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.terminal.progress import say
from edgeret.types import Tool
from edgeret_export.encoders.adapter import CARD, with_adapter
from edgeret_export.encoders.pairs import PairOptions, ToolSet
from edgeret_export.encoders.tune import Tuning, plan_of, tune
from edgeret_export.fitting.crossfit import MIN_PLANS
from edgeret_export.sources.cards import Card
from edgeret_export.sources.fetch import cache_folder

ANCHORS = ("query",)
"""Heads read a request's own vector, whatever was called."""
EPOCHS = 2.0
"""On 2,627 of UltraTool's plans, one finds 0.819 (nDCG@5) of what was held back and two 0.845; next tools of others
gain 0.009 and 0.011 of MRR."""
HELD_BACK = 10
"""Every tenth request is not tuned on: those choose among the states of the training and how much of it is kept, and
say how sure the heads may be."""
LEAST = HELD_BACK * MIN_PLANS
"""Different requests below which those are too few."""


def finetuned(
    card: Card, tools: Sequence[Tool], demonstrations: Sequence[Demonstration], seed: int, offline: bool
) -> tuple[Card, frozenset[str]]:
    """The card with an adapter tuned on the demonstrations in place of its own, and the queries that it was not tuned
    on: only these can say how sure what is built on it may be. What was tuned is kept in the cache, and an interrupted
    tuning goes on where it was.

    Raises InputError for a card that takes no adapter and for too few demonstrations, and what `tune` raises.
    """
    plain = with_adapter(card, "none")
    queries = list(dict.fromkeys(d.query for d in demonstrations if d.calls))
    if len(queries) < LEAST:
        raise InputError(
            f"--finetune needs at least {LEAST} different requests that call a tool, found {len(queries)}; give more "
            "with --demos, or leave it out"
        )
    back = frozenset(queries[::HELD_BACK])
    fit = ToolSet("demonstrations", tools, [d for d in demonstrations if d.query not in back])
    chosen = ToolSet("held back", tools, [d for d in demonstrations if d.query in back])
    tuning = Tuning(epochs=EPOCHS, pairs=PairOptions(anchors=ANCHORS, stories=0.0, seed=seed))
    folder = cache_folder() / "adapters" / f"finetuned-{plan_of(plain, [fit], [chosen], tuning)[:16]}"
    if (folder / CARD).is_file():
        say(f"finetune: tuned before, kept in {folder}")
    else:
        folder.parent.mkdir(parents=True, exist_ok=True)
        tune([fit], [chosen], plain, tuning, folder, resume=True, offline=offline)
    return replace(card, encoder=with_adapter(plain, str(folder)).encoder), back
