"""A planner from its card into the bundle, its licence beside it and its worth in the manifest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.errors import InputError
from edgeret.host import available_cpus
from edgeret.planner.chat import CHAT_FORMATS
from edgeret.planner.model import Planner
from edgeret.planner.reranker import RerankParameters
from edgeret.planner.spec import PlannerSpec
from edgeret.terminal.progress import say
from edgeret_export.fitting.crossfit import Fitted
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.planner.exemplars import choose_exemplars
from edgeret_export.planner.filling import MOST_ASKED, Read, fit_filling
from edgeret_export.planner.weight import fit_reranking
from edgeret_export.reference.scoring.calibration import Calibration
from edgeret_export.sources.cards import Card, PlannerCard, cards_folder
from edgeret_export.sources.fetch import fetch
from edgeret_export.writer import BundleWriter


@dataclass(frozen=True, slots=True)
class PlannerModel:
    """A planner's card and the folder that its files were fetched to."""

    card: Card
    planner: PlannerCard
    folder: Path


def fetch_planner(card: Card, offline: bool = False, allow_unpinned: bool = False) -> PlannerModel:
    """The card's files. Raises InputError for a card of another kind, or when no source delivers."""
    if card.weights is not None:
        raise InputError(
            f"model card '{card.name}' is of weights that are no planner yet; make one with: "
            f"edgeret-export lab planner {card.name if card.origin.parent == cards_folder() else card.origin} -o X.gguf"
        )
    if card.planner is None:
        raise InputError(f"model card '{card.name}' is an {card.kind}, a planner is needed; see: edgeret-export cards")
    return PlannerModel(card, card.planner, fetch(card, offline, allow_unpinned))


def load_planner(model: PlannerModel, threads: int) -> Planner:
    """The planner itself, to be asked here. Raises PlannerError for a model that llama.cpp refuses, MissingExtraError
    without llama-cpp-python."""
    return Planner(model.folder / model.planner.file, _spec(model.planner), threads)


def _spec(planner: PlannerCard) -> PlannerSpec:
    return PlannerSpec(next(chat for chat in CHAT_FORMATS if chat == planner.chat), planner.context)


def add_planner(
    writer: BundleWriter, model: PlannerModel, training: TrainingSet | None, fitted: Fitted, questions: int, read: Read
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Writes the model and its licence; what the manifest says of the planner, and the report on its advice, for which
    it is asked at most so many questions, and on the arguments that it gives where `read` leaves some missing.

    Raises PlannerError for a model that llama.cpp refuses, MissingExtraError without llama-cpp-python.
    """
    card, planner = model.card, model.planner
    source = f"{card.name}: {planner.made_from or card.sources[0]}"
    say(f"{card.name} comes under the licence {card.licence}, whose text goes into the bundle")
    for number, name in enumerate(planner.licence_files):
        role = roles.PLANNER_LICENCE if not number else f"{roles.PLANNER_LICENCE}-{number + 1}"
        data = (model.folder / name).read_bytes()
        writer.add(f"planner-{Path(name).name}", role, data, card.licence, source)
    writer.add_file("planner.gguf", roles.PLANNER, model.folder / planner.file, card.licence, source)
    spec = _spec(planner)
    parameters, report = RerankParameters(), {"questions": 0, "weight": 0.0, "note": "nobody asked what it is worth"}
    if training is not None and fitted.held_out is not None and questions:
        engine = load_planner(model, available_cpus())
        calibration = Calibration(fitted.calibration)
        parameters, report = fit_reranking(engine, training, fitted.held_out, calibration, questions)
        plans = training.demonstrations
        most = min(questions, MOST_ASKED)
        worth, told = fit_filling(engine, training.tools, plans, choose_exemplars(plans), read, training.seed, most)
        parameters, report["arguments"] = replace(parameters, filling=worth), told
    if planner.measured:
        report["quantised"] = dict(planner.measured)
    return {"card": card.name, "spec": spec.to_dict(), "parameters": parameters.to_dict()}, report
