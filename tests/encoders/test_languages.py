"""Languages of an encoder: a query in a script that none of them has is warned of, once, and decided all the same."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import build_tiny, tiny_card
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret.cli import commands as cli
from edgeret.encoders.languages import foreign_script, read_languages, scripts_of
from edgeret.errors import BundleError, LanguageWarning
from edgeret.runtime.unread import unread

CHINESE, RUSSIAN, GREEK = "打开文件并发送邮件", "напиши письмо", "άνοιξε το αρχείο"


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle whose card says English."""
    card = tiny_card()
    assert card.encoder is not None
    spoken = replace(card, encoder=replace(card.encoder, languages=("en",)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("conftest.tiny_card", lambda: spoken)
        return build_tiny(tmp_path_factory.mktemp("english") / "bundle")


@pytest.mark.parametrize(
    ("text", "languages", "script"),
    [
        ("open the file", ("en",), None),
        ("öffne die Datei", ("en",), None),  # one script: not told apart
        (CHINESE, ("en",), "CJK"),
        (f"{CHINESE} report.pdf", ("en",), None),  # not mostly
        (f"{CHINESE * 3} report.pdf", ("en",), "CJK"),
        (RUSSIAN, ("en", "de"), "CYRILLIC"),
        (RUSSIAN, ("en", "sr"), None),
        (GREEK, ("ru", "zh-Hant"), "GREEK"),
        ("open the file", ("zh",), "LATIN"),
        ("ファイルを開く", ("ja",), None),
        ("ファイルを開く", ("zh",), "KATAKANA"),
        ("파일을 열어", ("en",), "HANGUL"),
        ("ｆｕｌｌ ｗｉｄｔｈ", ("en",), None),
        (CHINESE, (), None),
        (CHINESE, ("en", "tlh"), None),  # a language of a script that is not known could be it
        ("12 + 34 = 🎵!", ("en",), None),
        ("", ("zh",), None),
    ],
)
def test_a_script_is_foreign_where_no_language_has_it(
    text: str, languages: tuple[str, ...], script: str | None
) -> None:
    assert foreign_script(text, languages) == script


@given(st.text(), st.sampled_from([("en",), ("zh",), ("ru", "el"), ()]))
def test_any_text_has_an_answer(text: str, languages: tuple[str, ...]) -> None:
    found, scripts = foreign_script(text, languages), scripts_of(languages)
    assert found is None or (scripts is not None and found not in scripts)


@pytest.mark.parametrize("bad", ["en", {"en": 1}, [7], ["English"], ["e" * 500], ["en\n"], ["en"] * 301, None])
def test_languages_of_a_bundle_are_codes(bad: object) -> None:
    with pytest.raises(BundleError, match='"languages" '):
        read_languages({"languages": bad}, "bundle")


def test_select_search_and_plan_warn_once(english: Path) -> None:
    runtime = edgeret.load(english)
    for ask in (runtime.task, runtime.search, runtime.plan, runtime.conversation().say):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            for _ in range(3):
                ask(CHINESE)
            ask("find my file")
        (warning,) = found
        assert warning.category is LanguageWarning
        assert "a query in Cjk script, which its encoder was not trained on (en)" in str(warning.message)
        assert CHINESE not in str(warning.message)


def test_a_language_that_looks_like_another_one_is_warned_of(english: Path) -> None:
    runtime, german = edgeret.load(english), "kannst du bitte meine Datei öffnen und das Licht ausmachen"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            runtime.search(german)
    (warning,) = found
    assert "a query in what looks like German, which its encoder was not trained on (en)" in str(warning.message)


@pytest.mark.parametrize(
    "query",
    [
        "play La Vie en Rose by Édith Piaf",
        "call Jürgen Müller about the Übergabe",
        "translate guten Morgen into German",
        "git checkout -b der/die/das && make -j",
        "Schadenfreude",
        "Licht an",  # too short to be sure
    ],
)
def test_names_code_and_borrowed_words_are_not_warned_of(query: str) -> None:
    assert unread(query, ("en",)) is None


def test_an_encoder_of_many_languages_is_asked_nothing() -> None:
    assert unread("kannst du bitte meine Datei öffnen", ("en", "de-AT", "fr", "es", "zh-Hans")) is None
    assert unread("kannst du bitte meine Datei öffnen", ("en", "fr")) == "what looks like German"
    assert unread("kannst du bitte meine Datei öffnen", ()) is None


def test_a_bundle_that_names_no_languages_warns_of_nothing(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runtime.search(CHINESE)
        runtime.task(RUSSIAN).next()


def test_the_command_line_says_it_in_one_line(english: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["select", CHINESE], ["search", RUSSIAN], ["plan", GREEK]):
        command, query = arguments
        assert cli.main([command, str(english), query, "--json"]) == 0
        out, err = capsys.readouterr()
        (line,) = err.strip().splitlines()
        assert line.startswith("warning: ")
        assert "which its encoder was not trained on (en)" in line
        assert out.startswith("{")
    assert cli.main(["select", str(english), "find my file"]) == 0
    assert not capsys.readouterr().err


def test_inspect_tells_the_languages(english: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(english)]) == 0
    assert "speaks   en\n" in capsys.readouterr().out
    assert cli.main(["inspect", str(tiny)]) == 0
    assert "speaks   (not told)\n" in capsys.readouterr().out
