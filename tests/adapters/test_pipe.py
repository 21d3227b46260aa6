"""`edgeret pipe` as a child process: a line in, a line out, and nothing else on standard output."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from conftest import TOOLS
from patience import PATIENCE_S
from serves import process

QUERY = "find my file and send a mail"


def answers(bundle: Path, lines: bytes, *options: str) -> tuple[list[Any], str]:
    """All that the child says to some lines, and what it wrote beside."""
    with process(bundle, *options, first="pipe", text=False) as child:
        out, err = child.communicate(lines, timeout=PATIENCE_S)
    assert child.returncode == 0, err
    assert out.endswith(b"\n") or not out
    return [json.loads(line) for line in out.split(b"\n")[:-1]], err.decode()


def lines(*asked: Any) -> bytes:
    """Objects, and bytes as they are."""
    return b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in asked)


def test_every_action_is_answered_in_order_with_its_id(tiny: Path) -> None:
    new = {"name": "water_plants", "description": "Waters the plants"}
    asked = lines(
        {"id": 1, "do": "decide", "query": QUERY},
        {"id": "two", "do": "search", "query": QUERY, "k": 1},
        {"id": 3.5, "do": "plan", "query": QUERY},
        {"do": "tools"},
        {"id": 5, "do": "tools", "add": [new], "remove": ["phone_call"]},
        {"id": 6, "do": "learn", "query": QUERY, "calls": ["find_file", "send_mail"]},
        {"id": 7, "do": "health"},
    )
    told, beside = answers(tiny, asked, "--learn")
    assert [answer.get("id") for answer in told] == [1, "two", 3.5, None, 5, 6, 7]
    assert not any("error" in answer for answer in told)
    assert told[0]["tool"] == "find_file"
    assert [hit["tool"] for hit in told[1]["hits"]]
    assert told[2]["outcome"] and len(told[3]["tools"]) == len(TOOLS)
    assert (told[4]["added"], told[4]["removed"]) == (["water_plants"], ["phone_call"])
    assert (told[5]["stored"], told[6]["tools"], told[6]["learned"]) == (1, len(TOOLS), 1)
    assert "answered 7, refused 0" in beside


BAD: list[tuple[bytes, object, str]] = [
    (b"no", None, "not JSON"), (b"[]", None, "found a list"), (b"\xff", None, "not UTF-8"),
    (b'{"id": 1}', 1, "do: is missing; it is one of decide, search"),
    (b'{"id": 1, "do": "decid"}', 1, 'did you mean "decide"?'), (b'{"id": 1, "do": 3}', 1, "do: expected one of"),
    (b'{"id": [1], "do": "health"}', None, "id: expected text or a number"),
    (b'{"id": 1, "do": "decide", "qery": ""}', 1, 'did you mean "query"?'),
    (b'{"id": 1, "do": "learn", "query": "a", "calls": []}', 1, "start it with --learn"),
    (b'{"id": "\\ud800", "do": "decide", "query": "\\ud800"}', "\ud800", "half a surrogate pair"),
    (b'{"do": "tools", "ad": []}', None, 'did you mean "add"?'), (b"x" * (3 << 20), None, "more than 1 MB"),
    (b'{"id": 1, "do": "decide", "session": "s"}', 1, "no turn yet"),
]  # fmt: skip
"""A line, the id that is told with its error, and words of that."""


def test_a_bad_line_is_told_and_the_next_one_answered(tiny_original: Path) -> None:
    asked = [one for line, *_ in BAD for one in (line, {"id": 2, "do": "health"})]
    told, _ = answers(tiny_original, lines(*asked), "--no-overlay")
    assert [answer["id"] for answer in told] == [name for _, bad, _ in BAD for name in (bad, 2)]
    for answer, (_, _, says) in zip(told[::2], BAD, strict=True):
        assert says in answer["error"]["message"]
        assert answer["error"]["type"] == "edgeret_pipe"
    assert all(answer["ok"] for answer in told[1::2])


def test_blank_lines_marks_and_ends_of_other_systems_are_no_requests(tiny_original: Path) -> None:
    asked = b'\xef\xbb\xbf{"id": 1, "do": "health"}\r\n\r\n\n  \n{"id": 2, "do": "health"}'  # no end of line at the end
    told, _ = answers(tiny_original, asked, "--no-overlay")
    assert [answer["id"] for answer in told] == [1, 2]
    assert answers(tiny_original, b"", "--no-overlay")[0] == []


def test_answers_come_at_once_and_the_end_of_input_ends_it(tiny_original: Path) -> None:
    with process(tiny_original, "--no-overlay", first="pipe", cold=True) as child:
        assert child.stdin is not None and child.stdout is not None
        for calls in ([], ["find_file"]):
            child.stdin.write(json.dumps({"do": "decide", "query": QUERY, "calls": calls}) + "\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["tool"] == ("send_mail" if calls else "find_file")
        child.stdin.close()
        assert child.wait(PATIENCE_S) == 0


def test_whoever_reads_no_more_ends_it_without_a_traceback(tiny_original: Path) -> None:
    with process(tiny_original, "--no-overlay", first="pipe") as child:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        child.stdout.close()
        child.stdin.write('{"do": "health"}\n')
        child.stdin.flush()
        assert child.wait(PATIENCE_S) == 0
        assert "Traceback" not in child.stderr.read()


def test_sigterm_ends_it(tiny_original: Path) -> None:
    with process(tiny_original, "--no-overlay", first="pipe") as child:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        child.stdin.write('{"do": "health"}\n')
        child.stdin.flush()
        child.stdout.readline()
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert "Traceback" not in child.stderr.read()


def test_what_libraries_print_stays_off_the_answers(tiny_original: Path) -> None:
    code = (
        "import os, sys\n"
        "from edgeret.adapters.serve.service import Service\n"
        "was = Service.health\n"
        "def health(self, fields):\n"
        "    print('from python'); os.write(1, b'from native code\\n')\n"
        "    return was(self, fields)\n"
        "Service.health = health\n"
        "from edgeret.cli.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [__import__("sys").executable, "-c", code, "pipe", str(tiny_original), "--no-overlay"]
    done = subprocess.run(
        command, input='{"do": "health"}\n', capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert json.loads(done.stdout)["ok"]
    assert "from native code" in done.stderr and "from python" in done.stderr
