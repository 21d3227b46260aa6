"""What the proxy reads and names before any server is started: its configuration, names, definitions and pins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret import InputError
from edgeret.adapters.mcp.config import read_config
from edgeret.adapters.mcp.definitions import MOST_BYTES, MOST_TOOLS, accepted
from edgeret.adapters.mcp.names import MOST_CHARS, exposed_name, prefix
from edgeret.adapters.mcp.pins import Pins
from edgeret.cli.commands import main


def written(folder: Path, text: str) -> Path:
    path = folder / "mcp.json"
    path.write_text(text)
    return path


def test_the_usual_file_is_read_and_what_is_not_known_is_told(tmp_path: Path) -> None:
    entry = {"command": "run", "args": ["-v"], "env": {"A": "b"}, "cwd": "/", "autoApprove": ["x"]}
    remote = {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer x"}}
    whole = {"mcpServers": {"one": entry, "My server": remote, "off": {**entry, "disabled": True}}, "inputs": []}
    lines: list[str] = []
    one, two = read_config(written(tmp_path, json.dumps(whole)), lines.append)
    assert (one.command, one.args, one.env, one.cwd) == ("run", ("-v",), {"A": "b"}, "/")
    assert (two.prefix, two.url, two.headers) == ("My_server", "https://example.org/mcp", remote["headers"])
    assert any('"autoApprove"' in line for line in lines) and any("disabled" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": {"git": {"command": "a"}, "git": {"command": "b"}}}', '"git" stands there twice'),
        ('{"mcpServers": {"a b": {"command": "a"}, "a_b": {"command": "b"}}}', "would both be named a_b__"),
        ('{"mcpServers": {}}', "no server in it"),
        ('{"servers": {}}', 'no "mcpServers" in it'),
        ("[" * 100_000, "no JSON"),
        ('{"mcpServers": {"a": {}}}', 'give either "command"'),
        ('{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}', 'give either "command"'),
        ('{"mcpServers": {"a": {"url": "ftp://y"}}}', "must begin with http"),
        ('{"mcpServers": {"a": {"url": "http://y", "type": "grpc"}}}', "is not spoken here"),
        ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', '"args" must be a list of texts'),
        ('{"mcpServers": {"a": {"command": "x", "env": {"A": 1}}}}', '"env" must be an object of texts'),
        ('{"mcpServers": {"!": {"command": "x"}}}', "a name needs a letter or a digit"),
        ('{"mcpServers": {"a": []}}', "expected an object"),
    ],
)
def test_a_file_that_does_not_say_what_to_start_is_refused_in_one_line(
    tmp_path: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"mcp\.json") as caught:
        read_config(path, print)
    assert words in str(caught.value)
    assert main(["mcp", "--config", str(path), "--check"]) == 2
    assert capsys.readouterr().out == ""


def test_names_are_the_servers_and_the_tools_own_where_they_can_be() -> None:
    assert exposed_name("git", "git_log") == "git__git_log"
    odd = exposed_name("git", "git log/über")
    assert odd.startswith("git__git_log__ber_") and odd != exposed_name("git", "git log/uber")
    long, other = exposed_name("s" * 24, "t" * 200), exposed_name("s" * 24, "t" * 201)
    assert len(long) == len(other) == MOST_CHARS and long != other


def test_no_server_can_take_the_name_of_another_ones_tool() -> None:
    for name in ("a__b", "a_", "_a", "a _ b", "ä b"):
        held = prefix(name)
        assert "__" not in held and not held.endswith("_") and not held.startswith("_")


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
