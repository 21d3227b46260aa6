"""Result files: what is stamped on them, that they come back as they went, and what is refused."""

from __future__ import annotations

import hashlib
import json
import math
import os
from argparse import Namespace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from bench_cli import refused, run, write_demonstrations
from conftest import make_demonstrations
from hypothesis import given
from hypothesis import strategies as st

from edgeret import __version__
from edgeret.errors import InputError
from edgeret.terminal.console import check_place
from edgeret_bench.results.files import KINDS, SCHEMA, VERSION, environment, order_of, read_result, rounded, stamp
from edgeret_bench.results.files import write_result as write

RESULT: dict[str, Any] = {"schema": "edgeret-result/1", "kind": "latency", "n": 3, "deep": {"ä": [1.5, None, "</"]}}


@pytest.fixture
def stamped(tiny_original: Path, tmp_path: Path) -> tuple[dict[str, Any], Path]:
    demos = write_demonstrations(tmp_path / "demos.jsonl", make_demonstrations(1))
    command = ("next-tool", tiny_original, "--demos", demos, "--methods", "dr", "-o", tmp_path / "out" / "r.json")
    run(*command)
    return read_result(tmp_path / "out" / "r.json"), demos


def test_a_stamp_says_what_was_run_on_what_and_where(stamped: tuple[dict[str, Any], Path]) -> None:
    result, demos = stamped
    data = demos.read_bytes()
    assert (result["schema"], result["kind"]) == (f"{SCHEMA}/{VERSION}", "next-tool")
    assert datetime.fromisoformat(result["created"]).tzinfo is not None
    assert result["command"][0] == "edgeret-bench"
    assert result["bundle"] == "bundle"
    assert len(result["bundle_hash"]) == 64
    expected = {"name": "demos.jsonl", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    assert result["inputs"] == {"demos": expected}
    assert result["options"]["methods"] == "dr"
    assert result["options"]["seed"] == 0
    assert not {"handler", "printer", "json", "output", "demos", "bundle"} & set(result["options"])
    assert result["environment"]["edgeret"] == __version__
    assert result["n_plans"] == 7


def test_the_environment_names_machine_and_versions() -> None:
    found = environment()
    assert {"python", "numpy", "onnxruntime", "edgeret"} <= set(found["versions"])
    assert found["cpus"] >= 1
    assert found["machine"] and found["system"] and found["instruction_set"]
    assert {"cpu", "memory_gb", "governor", "load_average"} <= set(found)
    assert json.loads(json.dumps(found)) == found


def test_a_stamp_is_of_the_arguments_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b"tools")
    arguments = Namespace(
        tools=str(tmp_path / "t.jsonl"), queries=tmp_path / "gone", argv=["x", "-v"], seed=3, train=None
    )
    result = stamp("retrieval", arguments, {"answer": 42})
    assert result["command"] == ["edgeret-bench", "x", "-v"]
    assert result["bundle"] is None
    assert result["inputs"]["queries"] == {"name": "gone", "sha256": None, "bytes": None}
    assert result["inputs"]["tools"]["sha256"] == hashlib.sha256(b"tools").hexdigest()
    assert list(result["inputs"]) == ["queries", "tools"]
    assert result["options"] == {"seed": 3}
    assert result["answer"] == 42


def test_the_command_is_the_one_that_was_run(tiny_original: Path, tmp_path: Path) -> None:
    demos = write_demonstrations(tmp_path / "demos.jsonl", make_demonstrations(1))
    command = [
        "next-tool",
        str(tiny_original),
        "--demos",
        str(demos),
        "--methods",
        "dr",
        "-o",
        str(tmp_path / "r.json"),
    ]
    run(*command)
    assert read_result(tmp_path / "r.json")["command"] == ["edgeret-bench", *command]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "r.json"
    write(file, RESULT)
    assert read_result(file) == read_result(str(file)) == RESULT
    write(file, {**RESULT, "n": math.nan, "m": math.inf})
    assert read_result(file) == {**RESULT, "n": None, "m": None}
    assert [entry.name for entry in file.parent.iterdir()] == ["r.json"]


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(plain, st.sampled_from(KINDS))
def test_any_plain_data_comes_back(tmp_path_factory: pytest.TempPathFactory, value: Any, kind: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any.json"
    result = {"schema": "edgeret-result/1", "kind": kind, "value": value}
    write(file, result)
    assert read_result(file) == result


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", r"r\.json: not JSON \(.*\); expected a result of edgeret-bench"),
        (b"", r"not JSON"),
        (b"\xff\xfe", r"not JSON"),
        (b"[" * 100_000, r"not JSON"),
        (b"[]", r'not a result of edgeret-bench; its "schema" must be edgeret-result/1'),
        (b"3", r"not a result"),
        (b'{"kind": "latency"}', r"not a result"),
        (b'{"schema": "another/1", "kind": "latency"}', r"not a result"),
        (b'{"schema": "edgeret-result/1", "kind": "poem"}', r"not a result"),
        (b'{"schema": "edgeret-result/1", "kind": ["latency"]}', r"not a result"),
        (b'{"schema": null, "kind": "latency"}', r"not a result"),
        (b'{"schema": "edgeret-result/2", "kind": "latency"}', r"schema version 2, this edgeret-bench reads 1"),
        (b'{"schema": "edgeret-result", "kind": "latency"}', r"schema version"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    file = tmp_path / "r.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=expected) as caught:
        read_result(file)
    assert str(file) in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "gone.json", tmp_path):
        with pytest.raises(InputError, match=r"cannot be read \(.*\); expected a result of edgeret-bench"):
            read_result(place)


def test_a_folder_in_the_way_is_reported_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "r.json").mkdir()
    with pytest.raises(InputError, match=r"r\.json: cannot be written \(.*\); give another place with -o"):
        write(tmp_path / "r.json", RESULT)
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_an_older_result_stays_when_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "r.json", RESULT)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
            write(tmp_path / "r.json", {**RESULT, "n": 4})
    assert read_result(tmp_path / "r.json") == RESULT
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_a_file_where_a_folder_should_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "file" / "r.json", RESULT)


@pytest.mark.parametrize("under", ["r.json", "new/r.json"])
def test_a_place_that_cannot_hold_a_file_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, under: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"file is no folder\); give another place with -o$"):
        check_place(tmp_path / "file" / under, "-o")
    check_place(tmp_path / under, "-o")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path or mode != os.W_OK)
    with pytest.raises(InputError, match=f"no permission to write in {tmp_path}"):
        check_place(tmp_path / under, "-o")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("place", [".", "", "/"])
def test_a_place_without_a_name_is_reported(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path, place: str
) -> None:
    demos = write_demonstrations(tmp_path / "demos.jsonl", make_demonstrations(1))
    error = refused(capsys, "next-tool", tiny_original, "--demos", demos, "--methods", "dr", "-o", place)
    assert "it is no file's name" in error


def test_text_that_utf_8_cannot_hold_is_written_or_refused(tmp_path: Path) -> None:
    try:
        write(tmp_path / "r.json", {**RESULT, "command": ["edgeret-bench", "\udcff.jsonl"]})
    except InputError:
        assert not list(tmp_path.iterdir())


def test_an_order_has_a_name_of_its_own() -> None:
    names = {order_of(q) for q in (["a", "b"], ["b", "a"], ["ab"], ["a", "b", "c"], [])}
    assert len(names) == 5
    assert order_of(["a", "b"]) == order_of(("a", "b"))


def test_samples_are_rounded_to_five_decimals() -> None:
    assert rounded({"a": [0.1234567, 2], "b": []}) == {"a": [0.12346, 2.0], "b": []}
