"""The command `reach`: where true values stand, and what is read where each one's place is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeret_bench.cli import main
from tests.bench_cli import printed, refused

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
PLACES = {"find": {"place": TEXT}, "light": {"mode": {"type": "string", "enum": ["dim", "full"]}}, "set": {"x": NUMBER}}
PLACES |= {"send": {"what": TEXT, "frame": {"type": "object"}}}


def _written(folder: Path, calls: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """A plan of each call, but for those without a request, which go behind the call before them."""
    tools = [
        {"name": name, "description": name, "parameters": {"type": "object", "properties": properties}}
        for name, properties in PLACES.items()
    ]
    plans: list[dict[str, Any]] = []
    for query, tool, arguments in calls:
        if query:
            plans.append({"query": query, "calls": []})
        plans[-1]["calls"].append({"tool": tool, "arguments": arguments})
    for name, rows in (("tools", tools), ("demos", plans)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return ["--tools", f"{folder / 'tools.jsonl'}", "--demos", f"{folder / 'demos.jsonl'}"]


@pytest.mark.parametrize(
    ("query", "tool", "arguments", "place", "within"),
    [
        ("what is near Lake Garda", "find", {"place": "Lake Garda"}, "words", 1.0),
        ("what is near the lake", "find", {"place": "Lake Garda"}, "nowhere", 0.0),
        ("make it brighter", "light", {"mode": "full"}, "option", 1.0),
        ("make it red", "light", {"mode": "red"}, "no option", 0.0),
        ("set it to 4.5", "set", {"x": 4.5}, "words", 1.0),
        ("set it to 4.5", "set", {"x": "4.5"}, "other type", 0.0),
        ("send it framed", "send", {"frame": {"wide": 2}}, "nested", 0.0),
    ],
)
def test_a_true_value_is_counted_where_it_is_had_from(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    query: str,
    tool: str,
    arguments: dict[str, Any],
    place: str,
    within: float,
) -> None:
    found = printed(capsys, "lab", "reach", *_written(tmp_path, [(query, tool, arguments)]))
    assert {name: count for name, count in found["places"].items() if count} == {place: 1}
    assert found["calls_within"] == within


def test_outputs_and_values_of_earlier_calls_are_not_made_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [("show me around", "find", {"place": "Lake Garda"})]
    calls += [("", "find", {"place": "lake garda"}), ("", "send", {"what": "$out_1"})]
    found = printed(capsys, "lab", "reach", *_written(tmp_path, calls))
    assert {name: count for name, count in found["places"].items() if count} == {
        "nowhere": 1,
        "earlier": 1,
        "output": 1,
    }
    assert found["calls_within"] == pytest.approx(2 / 3)


def test_where_every_place_is_known_words_are_read_and_nothing_is_made_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [
        ("what is near the old mill by the river", "find", {"place": "old mill"}),
        ("make it cosy", "light", {"mode": "dim"}),
        ("what is near the lake", "find", {"place": "Lake Garda"}),
    ]
    options = _written(tmp_path, calls)
    found = printed(capsys, "lab", "reach", *options)
    assert found["pointed"] == {"calls_right": pytest.approx(2 / 3), "precision": 1.0, "recall": pytest.approx(2 / 3)}
    assert main(["lab", "reach", *options]) == 0
    assert "calls right 0.667" in capsys.readouterr().out


def test_demonstrations_without_arguments_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = _written(tmp_path, [("what is near", "find", {})])
    assert "no demonstration has arguments" in refused(capsys, "lab", "reach", *options)
