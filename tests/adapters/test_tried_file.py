"""The file of what was tried: appended, never doubled, whole or as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgeret import Call, Demonstration, InputError, read_demonstrations
from edgeret.adapters.trial.tried_file import append

FIND = Demonstration("a", "找 my file 🙂", (Call("find_file", {"name": "Ä"}), Call("send_mail", {"file": "$out_1"})))
NOTHING = Demonstration("b", "open\u2028calendar", ())


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "new" / "tried.jsonl"
    assert append(file, [FIND, NOTHING]) == 2
    assert read_demonstrations(file, ["find_file", "send_mail"]) == [FIND, NOTHING]


def test_no_line_is_doubled_whatever_its_id_or_the_order_of_its_keys(tmp_path: Path) -> None:
    file = tmp_path / "tried.jsonl"
    calls = [{"arguments": {"name": "Ä"}, "tool": "find_file"}, {"tool": "send_mail", "arguments": {"file": "$out_1"}}]
    file.write_text(json.dumps({"calls": calls, "query": FIND.query, "id": "mine"}), encoding="utf-8")
    assert append(file, [FIND, NOTHING, NOTHING]) == 1
    assert append(file, [FIND, NOTHING]) == 0
    found = read_demonstrations(file, ["find_file", "send_mail"])
    assert [one.id for one in found] == ["mine", "b"]


@pytest.mark.parametrize(
    "line", ['{"query": "half', "[]", '{"name": "a tool"}', '{"query": "q", "calls": [1]}', "\xff"]
)
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, line: str) -> None:
    file = tmp_path / "tried.jsonl"
    append(file, [FIND])
    before = file.read_bytes() + line.encode("latin-1")
    file.write_bytes(before)
    with pytest.raises(InputError, match=r"tried.jsonl:2: no demonstration.*--output"):
        append(file, [NOTHING])
    assert file.read_bytes() == before


def test_a_place_where_no_file_can_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written .*--output"):
        append(tmp_path, [FIND])


def test_processes_that_write_at_once_double_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tried.jsonl"
    code = (
        "import sys; from pathlib import Path; from edgeret import Call, Demonstration\n"
        "from edgeret.adapters.trial.tried_file import append\n"
        "for n in range(40): append(Path(sys.argv[1]), [Demonstration(str(n), f'q{n}', (Call('a'),))])"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(file)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert sorted(one.query for one in read_demonstrations(file, ["a"])) == sorted(f"q{n}" for n in range(40))
