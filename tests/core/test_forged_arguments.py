"""Forged heads for arguments: the library refuses what the reference refuses, and reads by what is left."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path

import pytest
from binding import Core, CoreError
from forge import Forger
from forge_arguments import ARGUMENTS, forge, with_head

from edgeret import Arguments, Call
from edgeret.errors import EdgeretError
from edgeret_export.reference.runtime import load_reference

FEW = Path(__file__).parents[2] / "conformance" / "few"
QUERY = "find my file “plan” and mail it to ana@example.com: see you at 9"
TOOLS = ("find_file", "send_mail", "play_music")
CALLS = (Call("find_file", {"name": "plan"}),)
TURNS = 12
STRICTER = ("an object with a key twice", "an extension type")
"""As in test_core_forged.py."""


def by_reference(folder: Path) -> dict[str, object] | str:
    """What is given, or what is said against the bundle."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            task = load_reference(folder, threads=1).task(QUERY)
            for call in CALLS:
                task.call(call.tool, call.arguments)
            return {tool: told(task.arguments(tool)) for tool in TOOLS}
    except EdgeretError as error:
        return str(error)


def by_core(core: Core, folder: Path) -> dict[str, object] | str:
    try:
        model = core.load(folder)
    except CoreError as error:
        return error.text
    try:
        with model.task(QUERY) as task:
            return {tool: told(task.arguments(tool, CALLS)) for tool in TOOLS}
    except CoreError as error:
        return error.text
    finally:
        model.close()


def told(found: Arguments) -> object:
    """The head's activations have 256 levels in the library: it is as sure within a hundredth."""
    sure = {name: pytest.approx(one.confidence, abs=0.01) for name, one in found.given.items()}
    return {name: (one.value, one.source, one.span) for name, one in found.given.items()}, sure, dict(found.missing)


@pytest.fixture
def forger(tmp_path: Path) -> Iterator[Forger]:
    yield Forger(with_head(FEW, tmp_path / "good"))


def test_a_good_head_reads_as_the_reference_does(core: CDLL, tmp_path: Path) -> None:
    for seed in range(4):
        folder = with_head(FEW, tmp_path / str(seed), seed)
        found, wanted = by_core(Core(core), folder), by_reference(folder)
        assert isinstance(wanted, dict) and found == wanted


def test_both_readers_refuse_the_same(core: CDLL, forger: Forger, tmp_path: Path) -> None:
    refused = read = 0
    for number in range(TURNS):
        for name in ARGUMENTS:
            folder = tmp_path / "forged"
            _, what = forge(forger, name, 31 * number + len(name), folder)
            found, wanted = by_core(Core(core), folder), by_reference(folder)
            shutil.rmtree(folder)
            if isinstance(found, str) and any(words in found for words in STRICTER):
                continue
            assert isinstance(found, str) == isinstance(wanted, str), (name, number, what, found, wanted)
            refused, read = refused + isinstance(found, str), read + isinstance(found, dict)
            assert not isinstance(found, str) or found.isprintable()
    assert refused > 10 and read > 3
