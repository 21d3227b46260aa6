"""Forged heads for arguments: a good bundle that has one, and families that spoil it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from forge import Forger, Forgery
from forge_arrays import arrays_of
from forge_bytes import bytes_of
from forge_fields import Family, spoil_map

from edgeret_export.reference.arguments.role import pack_arguments
from edgeret_export.reference.scoring import argument_shape as shape

ROLE = "arguments"
ARGUMENTS: dict[str, Family] = {
    f"{ROLE}-fields": spoil_map(ROLE),
    f"{ROLE}-arrays": arrays_of(ROLE),
    f"{ROLE}-bytes": bytes_of(ROLE),
}
POOL = {**dict.fromkeys(shape.POOL, 0.0), "rules": 1.0, "head": 0.5, "options": 0.5, "head, talk": 0.1, "tuned": 1.0}
TRAITS = {**dict.fromkeys(shape.TRAITS, 0.1), "share": 0.9}


def with_head(folder: Path, to: Path, seed: int = 0) -> Path:
    """The bundle in a folder with a head that was drawn, in another folder."""
    forgery = Forger(folder).forgery()
    encoder, chance = forgery.info["encoder"], np.random.default_rng(seed)
    dimension = encoder["spec"]["dimension"]
    head = {
        name: (chance.normal(size=sizes) / sizes[-1] ** 0.5).astype(np.float32) + ("norm" in name and len(sizes) == 1)
        for name, sizes in shape.shapes(dimension).items()
    }
    texts = {
        name: _unit(name, dimension) for name in ("find_file: find a file", "name: of the file", "text", "file id")
    }
    counts = {("send_mail", "text"): {"find_file": (5, 4, 2, 0)}}
    data = pack_arguments(head, texts, POOL, TRAITS, counts, encoder["fingerprint"])
    forgery.add("arguments.msgpack", ROLE, data)
    to.mkdir(parents=True)
    forgery.write(to)
    return to


def _unit(text: str, dimension: int) -> np.ndarray:
    found = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)).normal(size=dimension)
    return (found / np.linalg.norm(found)).astype(np.float32)


def forge(forger: Forger, name: str, number: int, to: Path) -> tuple[Forgery, str]:
    """One forgery, written into an empty folder, and what it is."""
    forgery = forger.forgery()
    what = ARGUMENTS[name](forgery, number)
    to.mkdir(parents=True)
    forgery.write(to)
    return forgery, what
