"""What an original is: its files, where they are published, its licence. Knows no original and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edgeret_bench.datasets.collect import Dataset
from edgeret_bench.datasets.pins import find_pin

NOT_STATED = "not stated"
Kind = Literal["github", "hf", "pypi", "archive"]


@dataclass(frozen=True, slots=True)
class File:
    """One file of an original. `place` is OWNER/NAME@REVISION (github, hf), NAME==VERSION/FOLDER (pypi), or the ADDRESS
    of an archive with its version, ADDRESS@VERSION (archive).

    `path` is where the file lies in `place`, `name` where the reader looks for it; out of a wheel both are the same.
    `sha256` is None where the file could not be had yet.
    """

    kind: Kind
    place: str
    path: str
    name: str
    sha256: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}/{self.path}"


@dataclass(frozen=True, slots=True)
class Source:
    """An original: what it is, what is read out of it, its licence as its publisher states it, its files."""

    name: str
    title: str
    holds: str
    licence: str
    files: tuple[File, ...]
    reader: Callable[[Path], Dataset]

    @property
    def pinned(self) -> bool:
        """Whether every file has a hash to hold it to."""
        return all(file.sha256 is not None for file in self.files)


def files_of(kind: Kind, place: str, folder: str, *names: str) -> tuple[File, ...]:
    """Files of one folder, kept by their paths below it, with their pins as far as there are any."""
    paths = {name: f"{folder}/{name}".lstrip("/") for name in names}
    return tuple(File(kind, place, path, name, find_pin(kind, place, path)) for name, path in paths.items())
