"""What reaches a terminal or a file: none of a stranger's escapes, errors of one line, and no device replaced."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewritten import rewrite

from edgeret.bundle.layout import FORMAT_VERSION, MANIFEST, wrap
from edgeret.bundle.reader import read_manifest
from edgeret.cli import commands as cli
from edgeret.errors import InputError
from edgeret.quoting import visible
from edgeret.terminal.console import MOST_CHARS, as_json, check_place, write_whole

ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202egnp.exe\u2028\u200b\U000e0041"


def forged_texts(folder: Path) -> None:
    """Escapes wherever a bundle's maker may write a text, and a line that looks like ours."""
    value = msgpack.unpackb(msgpack.unpackb((folder / MANIFEST).read_bytes())[3])
    for entry in value["files"]:
        entry["licence"], entry["source"] = f"MIT{ESCAPES}", f"here{ESCAPES}\nok     integrity: fine"
    value["info"]["encoder"]["card"] = f"card{ESCAPES}\nhash     0000"
    value["info"]["edgeret"] = ESCAPES
    (folder / MANIFEST).write_bytes(wrap(FORMAT_VERSION, msgpack.packb(value)))


@pytest.mark.parametrize("command", ["inspect", "verify", "doctor"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_nothing_that_a_terminal_obeys_comes_out_of_a_bundle(
    tiny: Path, capsys: pytest.CaptureFixture[str], command: str, form: list[str]
) -> None:
    forged_texts(tiny)
    assert cli.main([command, str(tiny), *form]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert visible(out, keep="\n") == out
    assert out.count("\nok     integrity") + out.startswith("ok     integrity") == (command != "inspect" and not form)
    if form:
        assert out.count("\n") == 1
        assert json.loads(out)


def test_json_says_the_very_text_in_escapes(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    forged_texts(tiny)
    cli.main(["inspect", str(tiny), "--json"])
    assert json.loads(capsys.readouterr().out)["files"][0]["licence"] == f"MIT{ESCAPES}"


@given(st.text(st.characters(codec=None)))
def test_escaped_json_reads_back_as_it_was(text: str) -> None:
    shown = as_json({"text": text})
    assert visible(shown) == shown
    assert json.loads(shown) == {"text": text}


def test_an_error_line_is_one_line_of_bounded_length(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    info = dict(read_manifest(tiny).info)
    info["encoder"] = {
        **info["encoder"],
        "spec": {**info["encoder"]["spec"], "precision": "\x1b[31m" + "x" * 3_000_000},
    }
    rewrite(tiny, {}, info)
    assert cli.main(["select", str(tiny), "q"]) == 2
    _, err = capsys.readouterr()
    assert len(err) <= MOST_CHARS + 20
    assert "\x1b" not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("key", ["counts", "recipe", "report", "toolchain", "golden", "edgeret"])
@pytest.mark.parametrize("value", ["gone", 5, [1, 2]])
def test_inspect_copes_without_what_a_bundle_need_not_tell(
    tiny: Path, capsys: pytest.CaptureFixture[str], key: str, value: object
) -> None:
    info = dict(read_manifest(tiny).info)
    info.pop(key) if value == "gone" else info.update({key: value})
    rewrite(tiny, {}, info)
    for form in ([], ["--json"], ["--html", str(tiny.parent / "b.html")]):
        assert cli.main(["inspect", str(tiny), *form]) == 0
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("history", ["[" * 100_000, '["find_file"', "[1]", '[["find_file"]]'])
def test_a_history_that_is_no_list_of_names_is_refused_in_one_line(
    tiny: Path, capsys: pytest.CaptureFixture[str], history: str
) -> None:
    assert cli.main(["select", str(tiny), "write a note", "--history", history]) == 2
    err = capsys.readouterr().err
    assert "--history: " in err
    assert err.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes among its files")
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "a page", "-o")
    reader.join(10)
    assert read == ["a page"]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    """On a node of the test's own, or on the system's where only root may make one."""
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | 0o020000, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("no right to make a device here")
    write_whole(device, "a page", "--html")
    assert device.is_char_device()


def test_a_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_block_device", lambda self: True)
    with pytest.raises(InputError, match=r"cannot be written \(it is a disk\); give another place with -o"):
        check_place(tmp_path / "sda", "-o")


def test_a_link_to_a_report_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    link = tmp_path / "report.html"
    link.symlink_to("kept/real.html")
    for text in ("one", "two"):
        write_whole(link, text, "-o")
        assert (tmp_path / "kept" / "real.html").read_text() == text
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["real.html"]


def test_other_peoples_files_with_a_likely_name_are_kept(tmp_path: Path) -> None:
    (tmp_path / "report.html.partial").write_text("mine")
    write_whole(tmp_path / "report.html", "page", "-o")
    assert (tmp_path / "report.html.partial").read_text() == "mine"
