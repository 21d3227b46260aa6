"""What changed between two bundles: tools, schemas, vectors, decisions; and what a bundle is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret_export import cli
from edgeret_export.diff import compare
from edgeret_export.sbom import bill
from tests.conftest import TOOLS, make_demonstrations, tiny_bundle

NEWER: Sequence[edgeret.Tool] = [
    edgeret.Tool("find_file", "find a file", {"type": "object", "properties": {"name": {"type": "integer"}}}),
    edgeret.Tool("send_mail", "send the letter"),
    *TOOLS[2:5],
    edgeret.Tool("share_pack", "share a pack"),
]


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with one tool more and one less, two changed."""
    return tiny_bundle(tmp_path_factory.mktemp("newer") / "bundle", tools=NEWER)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_tools_schemas_vectors_and_files_that_changed_are_named(tiny_original: Path, newer: Path) -> None:
    found = compare(edgeret.load(tiny_original), edgeret.load(newer))
    assert found["tools"] == {
        "added": ["share_pack"],
        "removed": ["phone_call"],
        "changed": [
            {"name": "find_file", "description": False, "parameters": ["properties.name.type"]},
            {"name": "send_mail", "description": True, "parameters": []},
        ],
    }
    assert list(found["vectors"]["most_moved"]) == ["send_mail"]  # the schema is no part of what is encoded
    assert found["vectors"]["cosine"]["least"] < 0.99 < found["vectors"]["cosine"]["mean"] + 0.3
    assert {"index", "tools"} <= found["files"].keys() and "encoder" not in found["files"]
    assert found["info"]["recipe"] == {} and found["decisions"] is None


def test_with_another_encoder_neighbours_are_compared_and_no_cosines(tiny_original: Path, tmp_path: Path) -> None:
    other = compare(edgeret.load(tiny_original), edgeret.load(tiny_bundle(tmp_path / "other", seed=1)))
    assert other["vectors"]["cosine"] is None
    assert 0 <= other["vectors"]["neighbours_kept"] < 1
    assert "fingerprint" in other["info"]["encoder"]


def test_a_bundle_and_itself_are_the_same(tiny_original: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runtime = edgeret.load(tiny_original)
    found = compare(runtime, runtime, make_demonstrations(1), ["send a mail"])
    assert found["tools"] == {"added": [], "removed": [], "changed": []} and found["files"] == {}
    assert not any(found["info"].values())
    assert found["vectors"]["neighbours_kept"] == 1 and found["vectors"]["most_moved"] == {}
    assert found["decisions"]["same"] == 1 and found["decisions"]["examples"] == []
    assert found["queries"][0]["moved"] == 0
    assert cli.main(["diff", str(tiny_original), str(tiny_original)]) == 0
    assert "the same bundle twice" in capsys.readouterr().out


def test_decisions_and_first_answers_are_compared(
    tiny_original: Path, newer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demos = tmp_path / "d.jsonl"
    plans = [("send a mail", ["send_mail"]), ("phone call", ["phone_call"]), ("share pack", ["share_pack"])]
    demos.write_text(
        "".join(json.dumps({"query": q, "calls": [{"tool": t} for t in tools]}) + "\n" for q, tools in plans)
    )
    command = ["diff", str(tiny_original), str(newer), "--demos", str(demos), "--query", "share the pack"]
    found = told(capsys, *command)
    decided = found["decisions"]
    assert decided["steps"] == 6  # a call and an end each, tools of the other bundle among them
    gained = decided["only_after_right"] - decided["only_before_right"]
    assert decided["top1"][1] - decided["top1"][0] == pytest.approx(gained / 6)
    (asked,) = found["queries"]
    assert asked["query"] == "share the pack" and 0 < asked["moved"] <= 1
    assert cli.main(command) == 0
    text = capsys.readouterr().out
    assert "1 added: share_pack" in text and "find_file (properties.name.type)" in text


@pytest.mark.parametrize("place", ["nowhere", "demos"])
def test_what_is_not_there_is_one_line(
    place: str, tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"nowhere": [str(tmp_path / "none")], "demos": [str(tiny_original), "--demos", str(tmp_path / "none")]}
    assert cli.main(["diff", str(tiny_original), *line[place]]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


leaves = st.one_of(st.integers(0, 2), st.sampled_from(["", "a"]), st.booleans(), st.none())
keys = st.sampled_from("ab")
inner = leaves | st.dictionaries(keys, leaves, max_size=2) | st.lists(leaves, max_size=2)
nested = inner | st.dictionaries(keys, inner, max_size=2) | st.lists(inner, max_size=2)
schemas = st.dictionaries(st.sampled_from("abc"), nested, max_size=3)


@given(schemas, schemas)
def test_schemas_differ_in_some_place_unless_they_are_equal(first: dict[str, Any], second: dict[str, Any]) -> None:
    from edgeret_export.diff import _changed, _flat

    assert _changed(_flat(first), _flat(first)) == {}
    if json.dumps(first, sort_keys=True) != json.dumps(second, sort_keys=True):
        assert _changed(_flat(first), _flat(second))


def test_a_bill_of_materials_names_every_file_with_hash_and_licence(
    tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    target = tmp_path / "bill.json"
    found = told(capsys, "sbom", str(tiny_original), "-o", str(target))
    text = target.read_text(encoding="utf-8")
    bom = json.loads(text)
    manifest = edgeret.load(tiny_original).manifest
    files = {c["bom-ref"]: c for c in bom["components"] if c["type"] != "library"}
    for entry in manifest.files:
        component = files.pop(entry.role)
        assert component["hashes"] == [{"alg": "SHA-256", "content": entry.sha256}]
        assert component["licenses"] and entry.source in component["description"]
    assert not files and found["licences"] == ["MIT", "as its inputs"]
    assert bom["metadata"]["component"]["version"] == manifest.content_hash
    assert text == bill(manifest, tiny_original.name)  # the same bytes whenever it is written
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_a_bundle_with_a_changed_byte_has_no_bill(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = next(path for path in tiny.iterdir() if path.name.startswith("head"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert cli.main(["sbom", str(tiny), "-o", str(tmp_path / "bill.json")]) != 0
    assert not (tmp_path / "bill.json").exists()
    assert "head" in capsys.readouterr().err
