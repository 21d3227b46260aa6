"""The picture of a bundle: what it shows, that it is safe to open, and where it cannot be written."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from conftest import build_tiny

import edgeret
from edgeret.bundle.reader import open_bundle
from edgeret.cli.commands import main
from edgeret.cli.picture import HEIGHT, WIDTH, cluster_rows, draw, project
from edgeret.errors import InputError
from edgeret.scoring.graph import GLOBAL, PADDING


class Reader(HTMLParser):
    """Collects tags, and what they would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [str(value) for name, value in attrs if name in ("src", "href", "data")]


def test_the_picture_shows_tools_transitions_files_and_licences(tiny_original: Path, tmp_path: Path) -> None:
    bundle = open_bundle(tiny_original)
    draw(bundle, tmp_path / "b.html")
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    assert reader.loads == []
    assert "script" not in reader.tags
    assert reader.tags.count("circle") == 6
    assert text.count("class=unseen") == 1  # phone_call
    assert "find_file → send_mail" in text.replace("&gt;", ">")
    for file in bundle.manifest.files:
        assert f"<td>{file.name}</td>" in text
        assert f"<td>{file.licence}</td>" in text


def test_transitions_count_what_followed_what(tiny_original: Path) -> None:
    graph = edgeret.load(tiny_original, threads=1).components.graph
    moves = graph.transitions()
    everywhere = {(int(b), int(a)): n for c, b, a, n in moves.tolist() if c == GLOBAL}
    find, send = graph.labels.index("find_file"), graph.labels.index("send_mail")
    assert everywhere[find, send] == pytest.approx(16)  # two plans, eight times each
    assert everywhere[PADDING, find] == pytest.approx(16)
    rows = cluster_rows(graph, edgeret.load(tiny_original, threads=1).components.index, moves)
    assert any("find_file → send_mail" in row[2] for row in rows)


def test_the_map_keeps_every_tool_inside_and_does_not_flip() -> None:
    vectors = np.random.default_rng(0).standard_normal((30, 8)).astype(np.float32)
    flat = project(vectors)
    assert (flat >= 0).all()
    assert (flat <= [WIDTH, HEIGHT]).all()
    assert np.array_equal(flat, project(vectors))
    assert np.isfinite(project(vectors[:1])).all()
    assert np.isfinite(project(np.ones((3, 8), np.float32))).all()


def test_inspect_writes_it_and_says_where_it_cannot(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "picture.html"
    assert main(["inspect", str(tiny), "--html", str(target)]) == 0
    assert target.is_file()
    assert str(target) in capsys.readouterr().out
    assert main(["inspect", str(tiny), "--html", str(tmp_path)]) == 2
    assert re.search(r"cannot be written .*--html", capsys.readouterr().err)
    with pytest.raises(InputError):
        draw(open_bundle(tiny), tmp_path)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    path = build_tiny(tmp_path / "<img src=x onerror=alert(1)>")
    draw(open_bundle(path), tmp_path / "b.html")
    reader = Reader()
    reader.feed((tmp_path / "b.html").read_text(encoding="utf-8"))
    assert "img" not in reader.tags
