"""What a card says of an encoder: how it makes a vector. Reads and checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeret.encoders.languages import CODE
from edgeret.errors import InputError
from edgeret_export.sources.card_fields import get_choice, get_field, get_text

POOLINGS = ("mean", "cls", "max", "lasttoken")


@dataclass(frozen=True, slots=True)
class AdapterCard:
    """What an encoder was tuned to: a folder that `edgeret-export lab tune` wrote, and the sha256 of its weights."""

    folder: Path
    sha256: str

    @property
    def name(self) -> str:
        """The folder's name, which people know it by."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class CentreCard:
    """What is taken off an encoder's vectors: a file that `edgeret-export lab centre` wrote, and its sha256."""

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
    scripts: tuple[str, ...] = ()
    """Scripts that its vocabulary is cut to; none: it is left whole."""
    like: str | None = None
    """The card of the encoder that it was taught to be like. It takes over its prior, token vectors and head for
    arguments."""

    @property
    def as_published(self) -> bool:
        """Whether a build takes the model as its files have it."""
        return self.adapter is None and self.truncate is None and self.centre is None and not self.scripts


def read_encoder(path: Path, spec: Mapping[str, Any]) -> EncoderCard:
    """The table [encoder] of the card at `path`. Raises InputError naming file and key."""
    return EncoderCard(
        dimension=get_field(path, spec, "dimension", int),
        max_tokens=get_field(path, spec, "max_tokens", int),
        pooling=get_choice(path, spec, "pooling", POOLINGS),
        normalised=get_field(path, spec, "normalised", bool),
        query_prefix=get_text(path, spec, "query_prefix"),
        tool_prefix=get_text(path, spec, "tool_prefix"),
        int8_keep=_patterns(path, spec.get("int8_keep", [""])),
        adapter=_adapter(path, spec),
        truncate=_truncate(path, spec),
        languages=_languages(path, spec.get("languages", [])),
        centre=_centre(path, spec),
        like=get_text(path, spec, "like") or None,
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


def _patterns(path: Path, value: Any) -> tuple[str, ...]:
    try:
        if isinstance(value, str):
            raise TypeError("a single string")
        patterns = tuple(re.compile(pattern).pattern for pattern in value)
    except (re.error, TypeError) as error:
        raise InputError(f'{path}: "encoder.int8_keep" must be a list of regular expressions ({error})') from None
    return patterns or ("",)
