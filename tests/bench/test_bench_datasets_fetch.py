"""Originals on their way to this machine, what is written of them, and the commands `fetch` and `stats`."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dataset_records import survives

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.queries import RetrievalQuery
from edgeret.types import Call, Tool
from edgeret_bench.cli import main
from edgeret_bench.datasets import DATASETS, Dataset, File, Source, convert, fetch, registry, toolbench
from edgeret_bench.datasets.stats import statistics

APIS = [{"tool_name": "Cargo", "api_name": name, "api_description": name} for name in ("Stop", "Go")]
RECORDS = json.dumps(
    [{"api_list": APIS, "query": "halt", "relevant APIs": [["Cargo", "Stop"]], "query_id": 1}]
).encode()
PLACE = "owner/name@0123abc"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the place where repositories publish their files; urllib reads it as it reads a host."""
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "_GITHUB", (tmp_path / "upstream").as_uri())
    folder = tmp_path / "upstream/owner/name/0123abc/some data"
    folder.mkdir(parents=True)
    (folder / "G1_query.json").write_bytes(RECORDS)
    return folder


def register(monkeypatch: pytest.MonkeyPatch, *files: File) -> Source:
    source = Source("tiny", "for tests", "queries", "MIT", files, toolbench.read)
    monkeypatch.setattr(registry, "DATASETS", {"tiny": source})
    return source


def github(sha256: str | None, name: str = "G1_query.json") -> File:
    return File("github", PLACE, f"some data/{name}", name, sha256)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, Any, str]:
    code = main([*argv, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


def test_files_with_the_right_hash_are_kept_and_not_fetched_again(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, github(digest(RECORDS)))
    target = fetch.fetch_dataset("tiny", tmp_path / "kept/tiny")
    assert (target / "G1_query.json").read_bytes() == RECORDS
    (upstream / "G1_query.json").unlink()
    assert fetch.fetch_dataset("tiny", target) == target
    assert [path.name for path in target.parent.iterdir()] == ["tiny"]


def test_a_wrong_hash_names_file_expected_and_found_and_leaves_nothing(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, github("0" * 64))
    with pytest.raises(InputError, match=rf"G1_query\.json: expected sha256 0{{64}}, found {digest(RECORDS)}"):
        fetch.fetch_dataset("tiny", tmp_path / "kept/tiny")
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_kept_file_that_changed_is_an_error(upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, github(digest(RECORDS)))
    target = fetch.fetch_dataset("tiny", tmp_path / "tiny")
    (target / "G1_query.json").write_bytes(b"[]")
    with pytest.raises(InputError, match=r"tiny: G1_query\.json: expected sha256 .*delete this folder"):
        fetch.fetch_dataset("tiny", target)


def test_a_file_without_a_known_hash_must_be_allowed_and_is_held_to_its_first_one(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, github(None))
    out = str(tmp_path / "out")
    code, _, err = run(capsys, "lab", "fetch", "tiny", "-o", out)
    assert code == 2
    assert "no hash is known of github:owner/name@0123abc/some data/G1_query.json" in err
    assert "--allow-unpinned" in err
    code, result, _ = run(capsys, "lab", "fetch", "tiny", "-o", out, "--allow-unpinned")
    assert code == 0
    assert result["unpinned"] == {"G1_query.json": digest(RECORDS)}
    assert main(["lab", "fetch", "tiny", "-o", out, "--allow-unpinned"]) == 0
    assert f"G1_query.json has sha256 {digest(RECORDS)}" in capsys.readouterr().out
    (Path(result["originals"]) / "G1_query.json").write_bytes(b"[]")
    code, _, err = run(capsys, "lab", "fetch", "tiny", "-o", out, "--allow-unpinned")
    assert code == 2
    assert digest(RECORDS) in err


def test_a_file_that_is_pinned_later_is_held_to_its_pin_and_no_longer_told_as_unpinned(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    register(monkeypatch, github(None))
    assert run(capsys, "lab", "fetch", "tiny", "-o", out, "--allow-unpinned")[0] == 0
    register(monkeypatch, github(digest(RECORDS)))
    code, result, _ = run(capsys, "lab", "fetch", "tiny", "-o", out)
    assert (code, result["unpinned"]) == (0, {})
    register(monkeypatch, github("0" * 64))
    code, _, err = run(capsys, "lab", "fetch", "tiny", "-o", out)
    assert code == 2
    assert f"G1_query.json: expected sha256 {'0' * 64}, found {digest(RECORDS)}; delete this folder" in err


def test_offline_is_one_line_with_file_source_and_the_way_without(
    upstream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, github(digest(RECORDS)), github(digest(b""), "G2_query.json"))
    code, result, err = run(capsys, "lab", "fetch", "tiny")
    assert (code, result) == (2, None)
    progress, err = err.splitlines()
    assert progress.startswith("· fetching 2 files of tiny")
    assert "G2_query.json could not be fetched from github:owner/name@0123abc/some data/G2_query.json" in err
    assert "edgeret-bench lab fetch tiny --from FOLDER, with G1_query.json, G2_query.json in it" in err


def test_hub_datasets_come_at_their_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", (tmp_path / "hub").as_uri())
    folder = tmp_path / "hub/datasets/owner/name/resolve/0123abc/data"
    folder.mkdir(parents=True)
    (folder / "x.json").write_bytes(RECORDS)
    register(monkeypatch, File("hf", PLACE, "data/x.json", "G1.json", digest(RECORDS)))
    assert (fetch.fetch_dataset("tiny", tmp_path / "a") / "G1.json").read_bytes() == RECORDS
    register(monkeypatch, File("hf", PLACE, "gone.json", "G1.json", digest(RECORDS)))
    with pytest.raises(InputError, match=r"G1\.json could not be fetched from hf:owner/name@0123abc/gone\.json"):
        fetch.fetch_dataset("tiny", tmp_path / "b")


def test_a_download_that_breaks_off_is_an_error(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(io.BytesIO):
        headers: ClassVar[dict[str, str]] = {"Content-Length": "9"}

    monkeypatch.setattr(fetch, "urlopen", lambda *_, **__: Broken(b"[]"))
    register(monkeypatch, github(None))
    with pytest.raises(InputError, match=r"G1_query\.json came incomplete from github:.*2 of 9 bytes"):
        fetch.fetch_dataset("tiny", tmp_path / "kept/tiny", allow_unpinned=True)


def test_a_copy_is_read_in_place_and_compared_with_what_is_pinned(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, github("0" * 64))
    out = tmp_path / "out"
    code, result, _ = run(capsys, "lab", "fetch", "tiny", "--from", str(upstream), "-o", str(out))
    assert code == 0
    assert (result["n_tools"], result["n_demonstrations"], result["n_queries"]) == (2, 0, 1)
    assert [Path(file).name for file in result["written"]] == ["tools.jsonl", "queries.jsonl"]
    assert result["unlike_pinned"] == [f"G1_query.json: expected sha256 {'0' * 64}, found {digest(RECORDS)}"]
    assert sorted(file.name for file in out.iterdir()) == ["queries.jsonl", "tools.jsonl"]
    code, _, err = run(capsys, "lab", "fetch", "tiny", "--from", str(tmp_path / "nowhere"))
    assert code == 2
    assert "no such folder; expected G1_query.json in it" in err


def test_without_a_name_the_datasets_are_listed_with_source_and_licence(capsys: pytest.CaptureFixture[str]) -> None:
    code, result, _ = run(capsys, "lab", "fetch")
    assert code == 0
    assert set(result["datasets"]) == set(DATASETS)
    assert result["datasets"]["ultratool"]["licence"] == "not stated"
    assert main(["lab", "fetch"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in DATASETS)
    assert "pypi:bfcl-eval==2026.3.23" in text
    assert main(["lab", "fetch", "-o", "x"]) == 2
    assert main(["lab", "fetch", "nothing"]) == 2
    assert "known: taskbench-huggingface" in capsys.readouterr().err


def test_every_source_is_well_formed() -> None:
    for source in DATASETS.values():
        names = [file.name for file in source.files]
        assert len(set(names)) == len(names) > 0
        for file in source.files:
            assert file.sha256 is None or len(file.sha256) == 64
            assert ("==" if file.kind == "pypi" else "@") in file.place
            assert not Path(file.name).is_absolute()
            assert file.path == file.name if file.kind == "pypi" else file.path.endswith(file.name)


TOOLS = (
    Tool("find", "finds", {"type": "object", "properties": {"q": {"type": "string"}}}),
    Tool("send", "sends\u2028it"),
)
PLANS = (
    Demonstration("a", "find it", (Call("find", {"q": "x"}),)),
    Demonstration("b", "zwei\x85", (Call("find"), Call("send", {"to": ["$out_1", {"cc": "for $out_1"}]})), ((0, 1),)),
    Demonstration("c", "free", (Call("find"), Call("send"), Call("find", {"q": "$out_2 and $out_1"})), ()),
    Demonstration("d", "no", (Call("find", {"q": "$out_1 is not before, $out_12 neither"}),)),
)
DATASET = Dataset("x", TOOLS, PLANS, (RetrievalQuery("q", "find", frozenset(("send", "find"))),), {})


def test_what_is_written_is_read_back_the_same(tmp_path: Path) -> None:
    survives(DATASET, tmp_path)
    survives(Dataset("y", TOOLS, (), DATASET.queries, {}), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["queries.jsonl", "tools.jsonl"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        convert.write(DATASET, tmp_path / "file")


def test_statistics_by_hand() -> None:
    found = statistics(TOOLS, PLANS)
    assert (found["n_plans"], found["n_tools"], found["n_tools_with_end"], found["n_tools_called"]) == (4, 2, 3, 2)
    assert found["calls_per_plan"] == pytest.approx({"mean": 7 / 4, "std": (11 / 16) ** 0.5})
    # 0, 1 (twice the same pair), 2, 0
    assert found["dependencies_per_plan"] == pytest.approx({"mean": 3 / 4, "std": (11 / 16) ** 0.5})
    assert found["links_per_plan"]["mean"] == 1 / 4
    assert found["n_chains"] == 2
    assert found["plans_by_length"] == {"1": 2, "2": 1, "3": 1}


def test_statistics_of_nothing_are_zero() -> None:
    assert statistics([], [])["calls_per_plan"] == {"mean": 0, "std": 0}


def test_the_command_stats_reads_what_fetch_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools, plans, _ = (str(path) for path in convert.write(DATASET, tmp_path))
    code, result, _ = run(capsys, "lab", "stats", "--tools", tools, "--demos", plans)
    assert code == 0
    assert statistics(TOOLS, PLANS).items() <= result.items()
    assert (result["kind"], result["inputs"]["demos"]["name"]) == ("stats", "demonstrations.jsonl")
    assert main(["lab", "stats", "--tools", tools, "--demos", plans]) == 0
    assert "1.8 ± 0.8" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.real
def test_bfcl_itself_is_fetched_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    datasets: dict[str, Mapping[str, Any]] = {}
    for name in ("bfcl", "bfcl-irrelevance"):
        code, result, err = run(capsys, "lab", "fetch", name, "-o", str(tmp_path / name))
        if code == 2 and "pip could not download" in err:
            pytest.skip(f"the wheel cannot be had here: {err.strip()}")
        assert code == 0, err
        datasets[name] = result
        survives(DATASETS[name].reader(Path(result["originals"])), tmp_path / f"{name}-again")
    assert (datasets["bfcl"]["n_tools"], datasets["bfcl"]["n_demonstrations"]) == (2681, 2701)
    assert datasets["bfcl"]["skipped"] == {"mended: an argument that the tool does not have was left out": 2}
    assert datasets["bfcl-irrelevance"]["n_queries"] == 240 + 884
