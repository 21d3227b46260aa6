"""What stands for something else in clients' files; no text whatever ends in a traceback or is sent unexpanded."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeret import InputError
from edgeret.adapters.mcp.config import read_config
from edgeret.adapters.mcp.jsonc import parse, plain
from edgeret.adapters.mcp.placeholders import Surroundings, UnsetError, read_variables

FOLDER = Path("/work/project")
VARIABLES = {"A": "a", "B_2": "b", "EMPTY": "", "ODD": "${A}", "my-var": "m", "EDGERET_INPUT_KEY_2": "typed"}
AROUND = Surroundings(VARIABLES, FOLDER, {"lang": {"default": "en"}})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}/${B_2}", "a/b"),
        ("${env:A}${ENV:A}", "aa"),
        ("${NO:-${NEITHER:-x}}y", "xy"),
        ("${A:-d}${EMPTY:-d}${EMPTY}", "ad"),
        ("${NO:-}", ""),
        ("${NO:-http://x:1/{id}}", "http://x:1/{id}"),
        ("${env:NO:-d}", "d"),
        ("${my-var}", "m"),
        ("${ODD}", "${A}"),  # a value is taken as it is
        ("${workspaceFolder}", str(FOLDER)),
        ("${workspaceFolder:project}${workspaceFolderBasename}", f"{FOLDER}project"),
        ("${userHome}", str(Path.home())),
        ("a${pathSeparator}b${/}c", f"a{os.sep}b{os.sep}c"),
        ("${input:key 2}${input:lang}", "typeden"),
        ("${CLAUDE_PROJECT_DIR}", str(FOLDER)),
        ("{env:A}", "a"),
        ("$A $ {A} $(A) 100$ ${ open {A}", None),
        ("$A $5 $$ {} { }", "$A $5 $$ {} { }"),
        ("${NO}", None),
        ("${}", None),
        ("${A:=x}", None),
        ("${command:x}", None),
        ("{env:NO}", None),
        ("${workspaceFolder:other}", None),
    ],
)
def test_a_placeholder_has_one_value_or_is_refused(text: str, value: str | None) -> None:
    if value is None:
        with pytest.raises(UnsetError):
            AROUND.expand(text)
    else:
        assert AROUND.expand(text) == value


def test_a_bare_variable_counts_where_its_client_takes_it_for_one() -> None:
    gemini = Surroundings(VARIABLES, FOLDER, bare=True)
    assert gemini.expand("Bearer $A, pa$$word, $lower") == "Bearer a, pa$$word, $lower"
    with pytest.raises(UnsetError, match='"MY_TOKEN" is not set'):
        gemini.expand("Bearer $MY_TOKEN")
    assert gemini.expand("echo $MY_TOKEN ${NOT} ${x%.*}", shell=True) == "echo $MY_TOKEN ${NOT} ${x%.*}"


def test_an_entry_s_own_variables_count_and_a_shell_keeps_its_own(tmp_path: Path) -> None:
    own = {"AUTH": "Bearer x"}
    entry = {"command": "npx", "args": ["mcp-remote", "--header", "Authorization:${AUTH}"], "env": own}
    shell = {"command": "bash", "args": ["-c", "for i in 1; do run ${i}; done"]}
    later = {"command": "x", "env": {"ROOT": "/r", "BIN": "${ROOT}/bin", "PATH": "${PATH}:/more"}}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"remote": entry, "shell": shell, "later": later}}))
    remote, bash, chained = read_config(path, print)
    assert remote.args[-1] == "Authorization:Bearer x" and "Bearer" not in remote.reached
    assert bash.args[1] == "for i in 1; do run ${i}; done"
    assert chained.env["BIN"] == "/r/bin" and chained.env["PATH"] == os.environ["PATH"] + ":/more"


def test_files_of_variables_are_read_as_their_authors_mean_them(tmp_path: Path) -> None:
    text = """# comment
export A=1
B = two words  # comment
C='sin#gle ${A}'
D="dou\\"ble\\nline ${A}"
E="over
two lines"
F=a#b
G=
H=$5
I="" # empty
no line
J=${A}${UNDEF:-x}\r
"""
    assert read_variables(text, Surroundings({}, FOLDER)) == {
        "A": "1",
        "B": "two words",
        "C": "sin#gle ${A}",
        "D": 'dou"ble\nline 1',
        "E": "over\ntwo lines",
        "F": "a#b",
        "G": "",
        "H": "$5",
        "I": "",
        "J": "1x",
    }
    with pytest.raises(UnsetError):
        read_variables("A=${UNDEF}", Surroundings({}, FOLDER))


def test_comments_and_commas_are_blanked_but_not_in_texts() -> None:
    text = '{"a//b": "/* no */", /* c "q" */ "u": "http://x", // end {\n "s": "\\"//", "l": [1, 2, ], }'
    assert parse(text) == {"a//b": "/* no */", "u": "http://x", "s": '"//', "l": [1, 2]}
    assert len(plain(text)) == len(text)
    with pytest.raises(ValueError, match="line 3"):
        parse('{\n // c\n "a" 1}')


_SIGNS = """
${A} ${NO} ${NO:-x} ${env:A} ${env: ${input:x} ${workspaceFolder} ${{x}} ${A:-${NO}} } { $A ~ ~/x ä http://x/ https://[
mcp edgeret --config -c sh
"""
_WORDS = st.sampled_from([*_SIGNS.split(), "a b", "", "\0", "\ud800"])
_TEXT = st.lists(_WORDS, max_size=4).map("".join) | st.text(max_size=6)
_NAMES = """
command args env envFile cwd url httpUrl headers type transport disabled enabled includeTools disabledTools tools
env_vars bearer_token_env_var env_http_headers name other
"""
_KEY = st.sampled_from(_NAMES.split())
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEY | _TEXT, inner, max_size=3),
    max_leaves=6,
)
_ENTRY = st.dictionaries(_KEY, _VALUE, max_size=6) | _VALUE
_PLACE = st.sampled_from(["mcpServers", "servers", "mcp", "context_servers", "mcp_servers", "projects", "inputs", "x"])
_FILE = st.dictionaries(_PLACE, st.dictionaries(_TEXT, _ENTRY, max_size=3) | st.lists(_ENTRY, max_size=2) | _VALUE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=_FILE)
def test_no_file_ends_in_a_traceback_and_nothing_is_left_unexpanded(
    document: Mapping[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(document))
    try:
        servers = read_config(path, lambda _: None)
    except InputError as error:
        assert "mcp.json" in str(error)
        return
    for server in servers:
        shell = re.fullmatch(r"(.*/)?sh", server.command) is not None
        sent = [
            server.command,
            *([] if shell else server.args),
            server.url,
            *server.headers.values(),
            *server.env.values(),
        ]
        assert not any(re.search(r"\$\{[^}]*\}", text) for text in sent), server
        assert server.prefix and (server.url or server.command)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_no_bytes_end_in_a_traceback(data: bytes, tmp_path: Path) -> None:
    for name in ("mcp.json", "mcp.toml", ".env"):
        (tmp_path / name).write_bytes(data)
    for name in ("mcp.json", "mcp.toml"):
        with pytest.raises(InputError):
            read_config(tmp_path / name, print)
    (tmp_path / "env.json").write_text('{"mcpServers": {"a": {"command": "x", "envFile": ".env"}}}')
    try:
        read_config(tmp_path / "env.json", print)
    except InputError as error:
        assert "env.json" in str(error)
