"""Brings llama.cpp's own converter of weights to this machine, proves its hash and keeps it in the cache.

It comes out of the source distribution of llama-cpp-python, which carries llama.cpp whole; wheels leave it out. No code
of it runs here.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

from edgeret.errors import InputError
from edgeret.terminal.progress import say
from edgeret_export.sources.fetch import cache_folder

DISTRIBUTION, VERSION = "llama-cpp-python", "0.3.36"
"""A converter of its own version, whichever engine is installed: what it writes is read by all later ones."""
ARCHIVE_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
FILES_SHA256 = "cf160252f1e06fa5dd42c61424cbea14b1f309c580aa8dd9c9e30254b47b86f0"
"""Of the names and hashes of what is taken out of the archive."""
WEIGHTS_SCRIPT, ADAPTER_SCRIPT = "convert_hf_to_gguf.py", "convert_lora_to_gguf.py"
_ROOT = PurePosixPath(f"llama_cpp_python-{VERSION}/vendor/llama.cpp")
_TAKEN = (WEIGHTS_SCRIPT, ADAPTER_SCRIPT, "LICENSE", "conversion/*.py", "gguf-py/gguf/*.py")


def converter_folder(offline: bool = False) -> Path:
    """The folder with the converter's scripts, fetched the first time. With `offline` only the cache is used. Raises
    InputError where it cannot be had, or is not the one that was pinned."""
    folder = cache_folder() / "converters" / f"llama.cpp-{VERSION}-{FILES_SHA256[:16]}"
    if folder.is_dir():
        if _hash_of(folder) == FILES_SHA256:
            return folder
        say("the converter in the cache is not the one that was fetched; fetching it again")
        shutil.rmtree(folder)
    if offline:
        raise InputError(f"llama.cpp's converter is not in the cache ({folder.parent}); run once without --offline")
    say(f"fetching llama.cpp's converter from the source of {DISTRIBUTION} {VERSION} (77 MB, once)")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as temporary:
        taken = Path(temporary) / "converter"
        _extract(_download(Path(temporary)), taken)
        found = _hash_of(taken)
        if found != FILES_SHA256:
            raise InputError(f"{DISTRIBUTION} {VERSION}: expected a converter of sha256 {FILES_SHA256}, found {found}")
        with suppress(OSError):  # another process was faster; what it left is checked with the next use
            taken.rename(folder)
    return folder


def _download(folder: Path) -> Path:
    """The archive, which pip holds to its hash."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{DISTRIBUTION}=={VERSION} --hash=sha256:{ARCHIVE_SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [f"--no-binary={DISTRIBUTION}", "--require-hashes", "--dest", str(folder), "--requirement", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode or len(archives) != 1:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        why = (errors or ["no reason given"])[-1].strip()
        raise InputError(f"pip could not download the source of {DISTRIBUTION} {VERSION} ({why})")
    return archives[0]


def _extract(archive: Path, target: Path) -> None:
    """The converter's files, and nothing else of the archive."""
    with tarfile.open(archive) as source:
        for member in source:
            path = PurePosixPath(member.name)
            if not member.isfile() or not path.is_relative_to(_ROOT):
                continue
            name = path.relative_to(_ROOT)
            stream = source.extractfile(member) if _is_taken(name) else None
            if stream is not None:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(stream.read())


def _is_taken(name: PurePosixPath) -> bool:
    return any(len(name.parts) == len(PurePosixPath(each).parts) and name.match(each) for each in _TAKEN)


def _hash_of(folder: Path) -> str:
    """Of every file in the folder, whatever it is."""
    lines = (
        f"{path.relative_to(folder).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()
