"""Prior cards: weights that rank tools without demonstrations, what they were fitted on, and what they are worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeret.errors import BundleError, InputError
from edgeret_export.reference.scoring.prior import PriorWeights
from edgeret_export.sources.cards import DEFAULT_ENCODER, Card, cards_folder, teacher_of


@dataclass(frozen=True, slots=True)
class PriorCard:
    """A prior: its `encoder` (a card's name), weights, the map from its confidence to how often it is right, and
    `told`, everything that the card says."""

    encoder: str
    weights: PriorWeights
    calibration_map: tuple[tuple[float, float], ...]
    told: Mapping[str, Any]


def read_prior(encoder: str, path: str | Path | None = None) -> PriorCard:
    """The prior card at `path`, or the one that is shipped for this encoder; for an encoder without one, the default
    encoder's, whose cosines are of a kind with others'. Raises InputError."""
    file = Path(path) if path is not None else _shipped(encoder)
    told = read_told(file)
    try:
        points = tuple((float(x), float(y)) for x, y in told["calibration_map"])
        return PriorCard(str(told["encoder"]), PriorWeights.from_dict(told["weights"], str(file)), points, told)
    except (ValueError, KeyError, TypeError, BundleError) as error:
        raise InputError(f"{file}: no prior card ({error}); make one with: edgeret-export lab prior") from None


def read_told(file: Path) -> dict[str, Any]:
    """Everything that a card says, whatever that is. Raises InputError for what is no object in JSON with weights."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); expected a prior card in JSON") from None
    except ValueError as error:
        raise InputError(f"{file}: no prior card ({error}); make one with: edgeret-export lab prior") from None
    if not isinstance(told, dict) or not isinstance(told.get("weights"), dict):
        raise InputError(f"{file}: no prior card (no weights); make one with: edgeret-export lab prior")
    return told


def prior_for(card: Card) -> PriorCard:
    """The prior that is shipped for this card's encoder, if it was fitted with the adapter that the card has now, else
    the default encoder's: what was tuned otherwise has other cosines. Raises InputError."""
    card = teacher_of(card)
    own, adapter = read_prior(card.name), card.encoder and card.encoder.adapter
    fitted = own.told.get("recipe", {}).get("adapter")
    return own if fitted == (adapter and adapter.name) else read_prior(DEFAULT_ENCODER)


def prior_of_tables(card: Card) -> PriorCard | None:
    """The prior that is shipped for tables in the place of this card's encoder, which start at the token vectors that
    are shipped for it; None where there is none. Raises InputError."""
    card = teacher_of(card)
    file = Path(str(cards_folder())) / "priors" / f"{card.name}-tables.json"
    return read_prior(card.name, file) if file.exists() else None


def write_prior(path: Path, told: Mapping[str, Any]) -> None:
    """Writes a prior card. Raises InputError where that is not possible."""
    try:
        path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def _shipped(encoder: str) -> Path:
    folder = Path(str(cards_folder())) / "priors"
    own = folder / f"{encoder}.json"
    return own if own.exists() else folder / f"{DEFAULT_ENCODER}.json"
