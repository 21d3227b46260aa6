"""Takes named files out of a published archive, and nothing else: no other member is written anywhere."""

from __future__ import annotations

import http.client
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from urllib.request import urlopen

from edgeret_bench.datasets.source import File
from edgeret_export.sources.fetch import SourceError

TIMEOUT_S = 60


def from_archive(place: str, files: Sequence[File], target: Path) -> None:
    """All files out of one tar archive, read as it comes. Raises SourceError naming file and source."""
    address, _, _ = place.rpartition("@")
    wanted = {file.path: file for file in files}
    try:
        with urlopen(address, timeout=TIMEOUT_S) as response, tarfile.open(fileobj=response, mode="r|*") as archive:
            for member in archive:
                source = archive.extractfile(member) if member.name in wanted and member.isfile() else None
                if source is not None:
                    _keep(source, target / wanted.pop(member.name).name)
                if not wanted:
                    return
    except (OSError, EOFError, ValueError, tarfile.TarError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise SourceError(f"{files[0].name} could not be fetched from {files[0]} ({reason})") from None
    missing = next(iter(wanted.values()))
    raise SourceError(f"{missing.name} is not in the archive that {missing} names")


def _keep(source: IO[bytes], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as sink:
        shutil.copyfileobj(source, sink)
