"""What the proxy names and keeps before any server is started: names, definitions and pins."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret import InputError
from edgeret.adapters.mcp.definitions import MOST_BYTES, MOST_TOOLS, accepted
from edgeret.adapters.mcp.names import MOST_CHARS, MOST_PREFIX_CHARS, exposed_name, prefix
from edgeret.adapters.mcp.pins import Pins


def test_names_are_the_servers_and_the_tools_own_where_they_can_be() -> None:
    assert exposed_name("git", "git_log") == "git__git_log"
    odd = exposed_name("git", "git log/über")
    assert odd.startswith("git__git_log__ber_") and odd != exposed_name("git", "git log/uber")
    long, other = exposed_name("s" * 24, "t" * 200), exposed_name("s" * 24, "t" * 201)
    assert len(long) == len(other) == MOST_CHARS and long != other


def test_no_server_can_take_the_name_of_another_ones_tool() -> None:
    for name in ("a__b", "a_", "_a", "a _ b", "ä b", "天气", "-", "!", "x" * 300):
        held = prefix(name)
        assert "__" not in held and not held.endswith("_") and not held.startswith("_")
        assert 0 < len(held) <= MOST_PREFIX_CHARS and held.isascii()


def test_names_that_would_be_alike_are_told_apart_whoever_else_is_there() -> None:
    assert prefix("git") == "git" and prefix("my-server_2") == "my-server_2" and prefix("s" * 24) == "s" * 24
    alike = ["a b", "a_b", "a.b", "a__b", "天气a", "日历a", "天气", "日历", "!", "?", "s" * 24, "s" * 25, "s" * 26]
    assert len({prefix(name) for name in alike}) == len(alike)


def test_definitions_are_bounded_and_the_rest_is_kept_as_it_came() -> None:
    good = {"name": "ok", "inputSchema": {"type": "object"}, "x-vendor": {"a": None}, "annotations": {"title": "Ok"}}
    many = [{**good, "name": f"t{i}"} for i in range(MOST_TOOLS + 5)]
    lines: list[str] = []
    found = accepted("s", "s", [good, {**good}, {**good, "name": "big", "description": "x" * MOST_BYTES}], lines.append)
    assert found["s__ok"].shown == {**good, "name": "s__ok"}
    assert found["s__ok"].found == {
        "name": "s__ok",
        "description": "Ok",
        "annotations": {"title": "Ok"},
        "inputSchema": {"type": "object"},
    }
    assert len(lines) == 3 and "each stands there twice: ok" in lines[0] and "has no description" in lines[2]
    assert len(accepted("s", "s", many, lines.append)) == MOST_TOOLS


def test_a_pin_knows_a_definition_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    path, lines = tmp_path / "pins.json", []
    one = {"name": "t", "description": "a", "inputSchema": {}}
    listed = accepted("s", "s", [one], print)
    assert Pins(path, lines.append).admitted("s", listed) == listed
    turned = accepted("s", "s", [dict(reversed(one.items()))], print)
    assert Pins(path, lines.append).admitted("s", turned) and not lines
    other = accepted("s", "s", [{**one, "outputSchema": {}}], print)
    pins = Pins(path, lines.append)
    assert not pins.admitted("s", other) and not pins.admitted("s", other)
    assert len(lines) == 1 and "--accept s/t" in lines[0]
    assert pins.accept("s", other.values()) == ["t"]
    assert Pins(path, lines.append).admitted("s", other) == other


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "edgeret-pins-1", "servers": {"a": {"b": 1}}}'])
def test_a_file_that_holds_no_pins_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pins.json"
    path.write_text(text)
    with pytest.raises(InputError, match="no file of pins"):
        Pins(path, print)
    assert path.read_text() == text
