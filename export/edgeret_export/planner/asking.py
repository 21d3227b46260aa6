"""The language model that a command line names: a planner's card, or a server. Knows nothing of what it is asked."""

from __future__ import annotations

from dataclasses import dataclass

from edgeret.errors import InputError
from edgeret.host import available_cpus
from edgeret.planner.answers import Answerer, LocalAnswerer
from edgeret.planner.endpoint import Endpoint
from edgeret_export.planner.package import fetch_planner, load_planner
from edgeret_export.sources.cards import find_card


@dataclass(frozen=True, slots=True)
class Asked:
    """A model that can be asked, and the `name` that tells it from others: a card's with its file's hash, or a server's
    model (its URL, where the server chooses)."""

    answerer: Answerer
    name: str


def named_model(planner: str | None, endpoint: str | None, model: str | None, offline: bool) -> Asked | None:
    """The model of a `planner` card, or the `model` behind an `endpoint`'s URL; None where neither is named.

    Raises InputError where both are, for an unknown card, and when no source delivers; PlannerError and
    MissingExtraError as `load_planner`.
    """
    if endpoint and planner:
        raise InputError("--planner and --endpoint both name a planner; keep one")
    if endpoint:
        return Asked(Endpoint(endpoint, model), model or endpoint)
    if not planner:
        return None
    fetched = fetch_planner(find_card(planner), offline)
    name = f"{fetched.card.name} {fetched.card.files[fetched.planner.file]}"
    return Asked(LocalAnswerer(load_planner(fetched, available_cpus())), name)
