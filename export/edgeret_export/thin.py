"""A bundle without the graphs that one kind of hardware does not run. Makes nothing anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.layout import FileEntry, Manifest
from edgeret.bundle.reader import verify_bundle
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.variants import ITSELF, TARGETS, Variant, read_variants, targets_of_encoder
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.quoting import suggestion
from edgeret_export.writer import BundleWriter, writing


@dataclass(frozen=True, slots=True)
class Thinned:
    """What thinning reports: the new bundle, its size and content hash, and the graphs that it kept and left out."""

    path: Path
    content_hash: str
    size: int
    kept: Sequence[str]
    left_out: Sequence[str]


def thin_bundle(
    source: Path, keep: str, target: Path, *, content_hash: str | None = None, overwrite: bool = False
) -> Thinned:
    """Copies the bundle at `source` with those graphs alone that `keep` names: a target, one variant, or "encoder".

    Everything else is the same, the encoder's fingerprint too, which is the bundle's identity to what was learned.
    Raises BundleError for a bundle that is not whole, InputError for a graph that it has not.
    """
    manifest = verify_bundle(source, content_hash=content_hash)
    variants = read_variants(manifest, str(source))
    names = _names(manifest, variants, keep, source)
    running = {role for variant in variants if variant.name in names for role, _ in variant.files}
    graphs = {roles.ENCODER, roles.ENCODER_ARRAYS, *(role for variant in variants for role, _ in variant.files)}
    if ITSELF in names:
        running |= {roles.ENCODER, roles.ENCODER_ARRAYS}
    with writing(target, overwrite) as writer:
        for entry in manifest.files:
            if entry.role not in graphs or entry.role in running:
                _copy(writer, source, entry)
        new_hash = writer.finish(_info(manifest, variants, names))
        size = sum(entry.size for entry in writer.entries)
    every = [*([ITSELF] if manifest.encoder else []), *(variant.name for variant in variants)]
    return Thinned(target, new_hash, size, [n for n in every if n in names], [n for n in every if n not in names])


def _names(manifest: Manifest, variants: Sequence[Variant], keep: str, source: Path) -> Collection[str]:
    """The graphs that stay."""
    own = [ITSELF] if manifest.encoder is not None else []
    every = [*own, *(variant.name for variant in variants)]
    keep = keep.lower()
    found = {variant.name for variant in variants if keep in (variant.name, variant.target)}
    where = f"{source} (encoder)"
    if keep in targets_of_encoder(EncoderSpec.of(manifest.info, where)):
        found |= set(own)
    if not found:
        known = list(dict.fromkeys([*every, *(variant.target for variant in variants)]))
        why = "has no graph" if not every else f"has {', '.join(every)}"
        raise InputError(f"{source}: nothing in it is called '{keep}'; it {why}" + suggestion(keep, (*known, *TARGETS)))
    return found


def _copy(writer: BundleWriter, source: Path, entry: FileEntry) -> None:
    copied = writer.add_file(entry.name, entry.role, source / entry.name, entry.licence, entry.source)
    if copied.sha256 != entry.sha256:
        raise BundleError(f"{source / entry.name}: changed while it was copied; thin the bundle again")


def _info(manifest: Manifest, variants: Sequence[Variant], names: Collection[str]) -> dict[str, Any]:
    info = dict(manifest.info)
    where = "manifest"
    if variants:
        info[roles.INFO_VARIANTS] = [variant.to_dict() for variant in variants if variant.name in names]
        if not info[roles.INFO_VARIANTS]:
            del info[roles.INFO_VARIANTS]
    entry = manifest.encoder
    if entry is not None and ITSELF not in names:
        # The fingerprint is made of it, and must be provable without the file.
        info[roles.INFO_ENCODER] = {**get(info, roles.INFO_ENCODER, dict, where), "weights": entry.sha256}
    return info
