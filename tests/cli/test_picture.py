"""The picture of a bundle: what it shows, that it is safe to open, and where it cannot be written."""

from __future__ import annotations

import itertools
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from conftest import tiny_bundle

from edgeret.bundle.reader import open_bundle
from edgeret.cli.commands import main
from edgeret.cli.drawn import read_drawn
from edgeret.cli.picture import cluster_rows, clusters_told, draw
from edgeret.cli.tool_map import (
    HEIGHT,
    RADIUS,
    WIDTH,
    Dot,
    apart,
    grouped,
    label_box,
    overlap,
    place_labels,
    project,
    tool_map,
)
from edgeret.errors import InputError
from edgeret_export.reference.scoring.graph import GLOBAL, PADDING, load_graph


class Reader(HTMLParser):
    """Collects tags, and what they would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.within: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        links = [str(value) for name, value in attrs if name in ("src", "href", "data")]
        self.loads += [link for link in links if not link.startswith("#")]
        self.within += [link[1:] for link in links if link.startswith("#")]
        self.names |= {str(value) for name, value in attrs if name == "id"}


def test_the_picture_shows_tools_transitions_files_and_licences(tiny_original: Path, tmp_path: Path) -> None:
    bundle = open_bundle(tiny_original)
    draw(bundle, tmp_path / "b.html")
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    reader = Reader(text)
    assert reader.loads == []
    assert set(reader.within) <= reader.names
    assert "script" not in reader.tags
    assert reader.tags.count("circle") == 6
    assert text.count('class="unseen"') == 1  # phone_call
    assert "find_file → send_mail" in text.replace("&gt;", ">")
    for file in bundle.manifest.files:
        assert f'<td class="text">{file.name}</td>' in text
        assert f'<td class="text">{file.licence}</td>' in text


def test_every_arrow_has_a_head_and_stops_at_the_rim_of_its_tool(tiny_original: Path, tmp_path: Path) -> None:
    drawn = tool_map(read_drawn(open_bundle(tiny_original)))
    places = {spot.dot.name: (spot.dot.x, spot.dot.y) for spot in drawn.spots}
    assert drawn.moves
    for move in drawn.moves:
        x, y = map(float, move.path.split()[-2:])
        assert np.hypot(x - places[move.after][0], y - places[move.after][1]) >= RADIUS
    draw(open_bundle(tiny_original), tmp_path / "b.html")
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    own = [move for spot in drawn.spots for move in (*spot.out, *spot.into)]
    assert text.count('<path class="move') == len(drawn.moves) + len(own)
    assert "marker-end: url(#head)" in text
    assert text.count('<marker id="head"') == 1


def test_names_on_the_map_cover_neither_each_other_nor_a_tool() -> None:
    rng = np.random.default_rng(0)
    crowd = [Dot(f"some_tool_{i}", *(rng.random(2) * [WIDTH, HEIGHT]), False) for i in range(70)]
    corners = [Dot("a_name_at_the_rim", x, y, False) for x in (0, WIDTH) for y in (0, HEIGHT)]
    labels = place_labels([*crowd, *corners])
    boxes = [label_box(label) for label in labels]
    assert len(labels) > 50
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    for dot in crowd:
        assert not any(overlap((dot.x - 4, dot.y - 4, dot.x + 4, dot.y + 4), box) for box in boxes)
    assert all(box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT for box in boxes)


def test_a_chosen_tool_shows_all_that_leaves_it_and_comes_to_it(tiny_original: Path) -> None:
    drawn = tool_map(read_drawn(open_bundle(tiny_original)))
    spots = {spot.dot.name: spot for spot in drawn.spots}
    assert [move.after for move in spots["find_file"].out].count("send_mail") == 1
    assert [move.before for move in spots["send_mail"].into].count("find_file") == 1
    for name, spot in spots.items():
        assert {move.before for move in spot.out} <= {name} and {move.after for move in spot.into} <= {name}
        assert all(move.group == spot.dot.group for move in spot.out)


def test_like_tools_have_one_colour_and_the_tool_in_their_middle_names_it() -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(4, dtype=np.float32)
    vectors = np.concatenate([c + 0.05 * rng.standard_normal((8, 4)).astype(np.float32) for c in centres])
    group, middles = grouped(vectors)
    assert len(middles) == 4
    assert all(len(set(group[8 * i : 8 * i + 8].tolist())) == 1 for i in range(4))
    assert [int(group[middle]) for middle in middles] == list(range(4))
    for few in (vectors[:1], np.ones((5, 3), np.float32)):
        group, middles = grouped(few)
        assert set(group.tolist()) == {0} and len(middles) == 1


def test_dots_that_would_cover_each_other_move_apart_and_stay_inside() -> None:
    flat = project(np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32))
    flat[:20] = flat[0] + np.random.default_rng(1).random((20, 2))
    moved = apart(flat)
    distance = np.hypot(*(moved[:, None] - moved[None]).transpose(2, 0, 1)) + 1e9 * np.eye(60)
    assert distance.min() > 2 * RADIUS
    assert (moved >= 0).all() and (moved <= [WIDTH, HEIGHT]).all()
    assert np.array_equal(apart(flat[:1]), flat[:1])


def test_names_without_room_are_counted_on_the_page(
    tiny_original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeret.cli.tool_map.NAMED", 0)
    draw(open_bundle(tiny_original), tmp_path / "b.html")
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert " 6 names show when" in text and text.count('class="late"') == 6
    assert place_labels([Dot("same", 100, 100, False)] * 12) != []
    assert len(place_labels([Dot("same", 100, 100, False)] * 12)) < 12


def test_transitions_count_what_followed_what(tiny_original: Path) -> None:
    drawn = read_drawn(open_bundle(tiny_original))
    graph, moves = load_graph(open_bundle(tiny_original)), drawn.transitions
    np.testing.assert_array_equal(moves, graph.transitions())
    everywhere = {(int(b), int(a)): n for c, b, a, n in moves.tolist() if c == GLOBAL}
    find, send = graph.labels.index("find_file"), graph.labels.index("send_mail")
    assert everywhere[find, send] == pytest.approx(16)  # two plans, eight times each
    assert everywhere[PADDING, find] == pytest.approx(16)
    rows = cluster_rows(drawn)
    assert any("find_file → send_mail" in row[2] for row in rows)


def test_the_map_keeps_every_tool_inside_and_does_not_flip() -> None:
    vectors = np.random.default_rng(0).standard_normal((30, 8)).astype(np.float32)
    flat = project(vectors)
    assert (flat >= 0).all()
    assert (flat <= [WIDTH, HEIGHT]).all()
    assert np.array_equal(flat, project(vectors))
    assert np.isfinite(project(vectors[:1])).all()
    assert np.isfinite(project(np.ones((3, 8), np.float32))).all()


def test_inspect_and_picture_say_the_same_number_of_clusters(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, total = clusters_told(open_bundle(tiny)), len(load_graph(open_bundle(tiny)).centroids)
    assert re.fullmatch(rf"{total}( \(2 × {total // 2}\))?", told)
    assert main(["inspect", str(tiny), "--html", str(tmp_path / "p.html")]) == 0
    assert f"clusters {told};" in capsys.readouterr().out
    assert f"{told} clusters" in (tmp_path / "p.html").read_text(encoding="utf-8")


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


def test_without_jinja2_the_extra_is_named_and_inspect_itself_still_works(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["inspect", str(tiny)]) == 0
    capsys.readouterr()
    assert main(["inspect", str(tiny), "--html", str(tmp_path / "p.html")]) == 2
    assert "inspect --html requires extra 'html'" in capsys.readouterr().err


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    path = tiny_bundle(tmp_path / "<img src=x onerror=alert(1)>\u202e")
    draw(open_bundle(path), tmp_path / "b.html")
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "img" not in Reader(text).tags
    assert "\u202e" not in text
    assert r"\u202e" in text


def test_a_bundle_from_tools_alone_is_told_of_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, page = tiny_bundle(tmp_path / "alone", demonstrations=()), tmp_path / "page.html"
    assert main(["inspect", str(bundle), "--html", str(page)]) == 0
    assert "clusters no" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "send_mail" in text and "no clusters" in text
