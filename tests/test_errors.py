"""Errors: whatever a message quotes, printing it does nothing but print it."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgeret
from edgeret import errors
from edgeret.bundle.overlay_file import read_overlay
from edgeret.errors import BundleError, EdgeretError, LanguageWarning, MissingExtraError
from edgeret.quoting import UNSEEN, said

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, (EdgeretError, LanguageWarning))
]
ACTING = "\x1b[2J\x1b]0;mine\x07 a\x9b1m\u202eb\u2028c\U000e0041 \udc9b\r\nd"


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_holds_nothing_that_acts(kind: type[Exception]) -> None:
    error = kind(ACTING, "b") if kind is MissingExtraError else kind(ACTING)
    assert not UNSEEN.search(str(error))
    assert "\\x1b[2J" in str(error)
    assert "größe 日本 🎵" in str(BundleError("größe 日本 🎵"))


def test_a_folder_and_its_files_may_be_called_anything(tiny: Path) -> None:
    odd = tiny.rename(tiny.with_name("od\x1b[31md\u202e"))
    (odd / "graph.msgpack").unlink()
    with pytest.raises(BundleError, match=r"od\\x1b\[31md") as caught:
        edgeret.load(odd)
    assert not UNSEEN.search(str(caught.value))
    with pytest.raises(EdgeretError) as told:
        read_overlay(odd, "ab" * 32)
    assert not UNSEEN.search(str(told.value))


def test_what_a_library_says_is_on_one_line_and_short() -> None:
    assert said(RuntimeError("a\n b\x1b[31m" + "c" * 1000)) == "a b\\x1b[31m" + "c" * 292
    assert said(RuntimeError()) == "RuntimeError"
