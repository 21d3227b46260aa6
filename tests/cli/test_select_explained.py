"""`select --explain` and `--why-not`, and explanations on pages."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import edgeret
from edgeret.cli.commands import main

QUERY = "write a note to me"


def selected(capsys: pytest.CaptureFixture[str], bundle: Path, *options: str) -> str:
    assert main(["select", str(bundle), QUERY, *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("bundle", ["tiny_original", "tiny_many", "tiny_cascade"])
def test_a_decision_is_explained(
    bundle: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = request.getfixturevalue(bundle)
    explained = json.loads(selected(capsys, folder, "--explain", "--json"))["explanation"]
    assert set(explained) == {
        *("query", "tool", "reason", "probabilities", "votes", "words", "demonstrations", "similarity", "cluster"),
        *("floor", "remedies", "lines"),
    }
    assert {vote["part"] for vote in explained["votes"]} >= {"prior", "words", "meaning", "head", "graph"}
    assert set(explained["votes"][0]) == {"part", "weight", "probabilities", "pull", "within"}
    text = selected(capsys, folder, "--explain")
    for line in explained["lines"][1:]:
        assert line in text
    assert "together" in text and "explanation" not in json.loads(selected(capsys, folder, "--json"))


def test_why_not_another_tool(capsys: pytest.CaptureFixture[str], tiny_original: Path) -> None:
    explained = json.loads(selected(capsys, tiny_original, "--why-not", "play_music", "--json"))["explanation"]
    assert list(explained["probabilities"])[1] == "play_music"
    assert {remedy["tool"] for remedy in explained["remedies"]} == {"play_music"}
    with pytest.raises(SystemExit) as stop:
        raise SystemExit(main(["select", str(tiny_original), QUERY, "--why-not", "play_musik"]))
    assert stop.value.code == 2 and 'did you mean "play_music"?' in capsys.readouterr().err


def test_alternatives_are_said(capsys: pytest.CaptureFixture[str], tiny_original: Path) -> None:
    assert main(["select", str(tiny_original), "the mail of the meeting", "--json", "--min-probability", "0"]) == 0
    shared = json.loads(capsys.readouterr().out)["alternatives"]
    assert main(["select", str(tiny_original), "the mail of the meeting", "--min-probability", "0"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("either: ")]
    assert bool(said) is bool(shared)
    assert all(one["tool"] in said[0] for one in shared)


class Page(HTMLParser):
    """Collects what is loaded, and how tables head their rows and columns."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.scopes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        links = [str(value) for name, value in attrs if name in ("src", "href", "data")]
        self.loads += [link for link in links if not link.startswith("#")]
        self.scopes += [str(value) for name, value in attrs if name == "scope"]


@pytest.mark.parametrize("command", [["inspect"], ["search", QUERY]])
@pytest.mark.parametrize("bundle", ["tiny_original", "tiny_tools"])
def test_decisions_are_drawn(
    command: list[str], bundle: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, target = str(request.getfixturevalue(bundle)), tmp_path / "page.html"
    assert main([command[0], folder, *command[1:], "--html", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    page = Page(text)
    assert page.loads == [] and "script" not in page.tags and "prefers-color-scheme: dark" in text
    assert page.tags.count("caption") >= 1 and {"row", "col"} == set(page.scopes)
    assert "meaning (in prior)" in text and "together" in text and 'class="bar"' in text
    assert "What told " in text
    capsys.readouterr()


def test_a_bundle_that_cannot_run_here_is_drawn_without_decisions(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise edgeret.ProviderError("no such provider")

    monkeypatch.setattr("edgeret.cli.bundle_commands.load", refused)
    assert main(["inspect", str(tiny), "--html", str(tmp_path / "page.html")]) == 0
    assert "<h2>Decisions</h2>" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h2>Files</h2>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out
