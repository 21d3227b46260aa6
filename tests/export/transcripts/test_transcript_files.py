"""Files of transcripts that are large, packed, damaged or something else: one clear line each, in bounded memory."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcript_samples import FOLDER, chat, command, reasons, run, write

from edgeret.errors import InputError
from edgeret_export.transcripts.files import BOMB_FROM, MAX_BYTES
from edgeret_export.transcripts.values import split_array

GOOD = chat("Play jazz", [("play", {"what": "jazz"}, "ok")])
OTHER = chat("Stop the alarm", [("stop", {}, "ok")])


def refused(tmp_path: Path, path: Path) -> str:
    with pytest.raises(InputError) as caught:
        run(tmp_path, path)
    assert not (tmp_path / "d.jsonl").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        ("﻿".encode("utf-16") + json.dumps(GOOD).encode("utf-16-le"), "UTF-16; convert it with: iconv -f UTF-16"),
        (b"PK\x03\x04 and so on", "a zip archive; unpack it first"),
        (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first"),
        (b'{"caf\xe9": 1}\n', "not UTF-8; convert the file with: iconv -f CP1252"),
        (b"hello\n", "not JSON"),
        (b"17\n", "expected a JSON object, found a number"),
        (b'{"some": "thing"}\n', "no shape that is known; see docs/howto/transcripts.md"),
        (b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "nested too deeply"),
        (b'{"messages": [{"role": "system", "content": "You help."}]}\n', "no demonstrations in these files"),
    ],
)
def test_a_file_without_transcripts_is_refused_in_a_line_that_says_why(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    assert words in refused(tmp_path, path)


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    found, report = run(tmp_path, tmp_path / "empty.jsonl", write(tmp_path / "good.jsonl", GOOD))
    assert [each.query for each in found] == ["Play jazz"]
    assert reasons(report) == {"empty": 1}


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path, tmp_path / "none")
    assert "a folder; give the files in it" in refused(tmp_path, tmp_path)


def test_a_transcript_is_never_replaced_by_what_comes_out_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "log.jsonl", GOOD)
    before = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    for words in (("-o", path), ("-o", tmp_path / "link"), ("-o", tmp_path / "d", "--test", path)):
        assert command(path, *words) == 2
        assert "would replace the transcript" in capsys.readouterr().err
    assert command(path, "-o", tmp_path / "d", "--test", tmp_path / "d") == 2
    assert path.read_bytes() == before


def test_a_line_of_a_hundred_megabytes_is_skipped_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(GOOD).encode() + b"\n")
        file.write(b'{"messages": "' + b"x" * 100_000_000 + b'"}\n')
        file.write(json.dumps(OTHER).encode() + b"\n")
    code = (
        "import resource, sys\nfrom edgeret_export.cli import main\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert main(sys.argv[1:]) == 0\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, file=sys.stderr)"
    )
    words = ["demos", str(path), "-o", str(tmp_path / "d"), "--json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert report["demonstrations"] == 2
    assert [row["first"] for row in report["skipped"]] == [f"{path}:2"]
    assert "longer than 16 MB" in report["skipped"][0]["reason"]
    assert int(done.stderr) * (1 if sys.platform == "darwin" else 1024) < 5 * MAX_BYTES


def test_an_array_that_is_too_large_to_hold_is_read_entry_by_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeret_export.transcripts.values.MAX_BYTES", 2000)
    monkeypatch.setattr("edgeret_export.transcripts.files.MAX_BYTES", 2000)
    records = [
        chat(f"Play {word} now", [("play", {}, "ok")]) for word in ("jazz", "blues", "soul", "funk", "rock", "bop")
    ]
    records.insert(2, chat("x" * 3000, [("play", {}, "ok")]))
    for text in (json.dumps(records), json.dumps(records, indent=2)):
        path = tmp_path / "log.json"
        path.write_text(text)
        found, report = run(tmp_path, path)
        assert [each.id for each in found] == [f"log:{number}" for number in (1, 2, 4, 5, 6, 7)]
        assert f"{path}:3" in [row["first"] for row in report["skipped"]]


@given(
    entries=st.lists(
        st.recursive(
            st.text() | st.integers() | st.booleans(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=10,
        )
    ),
    indent=st.sampled_from([None, 1]),
    size=st.integers(1, 40),
    escaped=st.booleans(),
)
def test_an_array_is_split_at_its_entries_wherever_it_is_cut(
    entries: list[Any], indent: int | None, size: int, escaped: bool
) -> None:
    text = json.dumps(entries, indent=indent, ensure_ascii=escaped).encode("utf-8", "surrogatepass")

    def chunks() -> Iterator[bytes]:
        rest = iter(text)
        while chunk := bytes(islice(rest, size)):
            yield chunk

    assert [json.loads(entry or b"0") for entry in split_array(chunks())] == entries


def test_a_column_s_name_inside_json_makes_no_table(tmp_path: Path) -> None:
    tools = [{"name": "find", "description": "Finds.", "parameters": {"required": ["where", "query", "how"]}}]
    path = write(tmp_path / "log.txt", {"tools": tools, **GOOD}, OTHER)
    assert len(run(tmp_path, path)[0]) == 2


def test_json_documents_of_every_outermost_shape_are_read(tmp_path: Path) -> None:
    shapes = [[GOOD, OTHER], {"runs": [GOOD, OTHER]}, {"data": [GOOD, OTHER], "object": "list"}]
    for shape in shapes:
        for indent in (None, 2):
            path = tmp_path / "log.json"
            path.write_text(json.dumps(shape, indent=indent))
            assert [each.query for each in run(tmp_path, path)[0]] == ["Play jazz", "Stop the alarm"]
    messages = tmp_path / "one.json"
    messages.write_text(json.dumps(GOOD["messages"], indent=2))
    assert [each.query for each in run(tmp_path, messages)[0]] == ["Play jazz"]
    lists = write(tmp_path / "lists.jsonl", GOOD["messages"], [GOOD, OTHER], [OTHER])
    assert [each.id for each in run(tmp_path, lists)[0]] == ["lists:1", "lists:2.2"]


def test_a_gzip_bomb_is_left_where_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb") as file:
        file.write(json.dumps(GOOD).encode() + b"\n")
        for _ in range(4 * BOMB_FROM >> 20):
            file.write(b" " * (1 << 20))
    found, report = run(tmp_path, path)
    assert [each.query for each in found] == ["Play jazz"]
    assert any(reason.startswith("unpacks to more than 500 times its size") for reason in reasons(report))


def test_a_damaged_gzip_file_is_read_up_to_the_damage(tmp_path: Path) -> None:
    lines = b"".join(
        json.dumps(chat(f"Play song {i}", [("play", {"n": i}, "ok")])).encode() + b"\n" for i in range(3000)
    )
    data = gzip.compress(lines)
    for broken in (data[: len(data) // 2], data[: len(data) // 2] + b"\0" * 50 + data[len(data) // 2 + 50 :]):
        path = tmp_path / "log.gz"
        path.write_bytes(broken)
        found, report = run(tmp_path, path)
        assert 0 < len(found) < 3000
        assert reasons(report)["damaged from here on; what stood before it was read"] == 1


def test_line_separators_inside_texts_cut_no_line(tmp_path: Path) -> None:
    query = "Play jazz\u2028and\u0085blues loudly"
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(chat(query, [("play", {}, "ok")]), ensure_ascii=False) + "\r\n", encoding="utf-8-sig")
    assert [each.query for each in run(tmp_path, path)[0]] == [query]


def test_tables_of_both_shapes_and_separators_are_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_text('Query;Tools\n"Play ""jazz"",\nloudly";play|louder\nCall Ana;["call"]\n;x\nToo;many;cells\n')
    found, report = run(tmp_path, path)
    assert [(each.id, each.query, [call.tool for call in each.calls]) for each in found] == [
        ("requests:2", 'Play "jazz",\nloudly', ["play", "louder"]),
        ("requests:4", "Call Ana", ["call"]),
    ]
    assert reasons(report) == {"no query in the row": 1, "more cells than the first line has columns": 1}
    own = '[{""tool"": ""play"", ""arguments"": {""what"": ""jazz""}}]'
    path.write_text(f'id,text,calls\n1,Play jazz,"{own}"\n2,"never closed,x\n' + "y" * 140_000 + "\n3,Stop it now,x\n")
    found, report = run(tmp_path, path)
    assert found[0].calls[0].arguments == {"what": "jazz"}
    assert any(reason.startswith("no row of a table") for reason in reasons(report))
    (tmp_path / "d.jsonl").unlink()
    path.write_text("query,answer\nWho are you,nobody\n")
    assert "no column of calls; one of: calls, tools" in refused(tmp_path, path)


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys\nfrom edgeret_export.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\nsys.exit(main(sys.argv[1:]))"
    )
    words = ["demos", str(FOLDER / "openai-fine-tuning.jsonl"), "-o", str(tmp_path / "d")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "give another place with -o" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100
