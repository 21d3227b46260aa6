"""Readers of requests to assistants (CLINC150, BANKING77, SLURP, MASSIVE, Home Assistant), on records of our own in the
originals' forms, clean and dirty."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dataset_records import calls, lines, survives, whole

from edgeret.errors import InputError
from edgeret_bench.datasets import Dataset, banking77, clinc150, ha_intents, intents, massive, slurp

UNKNOWN = "calls a tool that the dataset does not define"
UNASKED = "names a tool that the dataset does not define"


def text(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")


def asked(dataset: Dataset) -> list[tuple[str, str, set[str]]]:
    return [(query.id, query.query, set(query.tools)) for query in dataset.queries]


# --- CLINC150 and BANKING77 ------------------------------------------------------------------------------------------


def clinc(folder: Path, **parts: Any) -> Path:
    whole(folder / "domains.json", {"at_sea": ["set_sail", "drop_anchor"], "meals": ["cook"]})
    empty: dict[str, Any] = {part: [] for split in clinc150.SPLITS for part in (split, f"oos_{split}")}
    whole(folder / "data_full.json", empty | parts)
    return folder


def test_clinc150_requests_out_of_scope_are_demonstrations_and_queries_of_no_tool(tmp_path: Path) -> None:
    folder = clinc(
        tmp_path,
        train=[["hoist the main", "set_sail"], ["lost", "row"], ["alone"], ["  ", "cook"]],
        oos_train=[["who won", "oos"]],
        val=[["stop here", "drop_anchor"]],
        test=[["go", "set_sail"], ["dive", "dive"]],
        oos_test=[["how tall is it", "oos"]],
    )
    dataset = clinc150.read(folder)
    assert [(tool.name, tool.description) for tool in dataset.tools] == [
        ("cook", "cook (meals)"),
        ("drop_anchor", "drop anchor (at sea)"),
        ("set_sail", "set sail (at sea)"),
    ]
    assert [(d.id, d.query, calls(d)) for d in dataset.demonstrations] == [
        ("train-0", "hoist the main", (("set_sail", {}),)),
        ("oos_train-0", "who won", ()),
        ("val-0", "stop here", (("drop_anchor", {}),)),
    ]
    assert asked(dataset) == [("test-0", "go", {"set_sail"}), ("oos_test-0", "how tall is it", set())]
    assert dataset.skipped == {
        UNKNOWN: 1,
        UNASKED: 1,
        "a request that is no pair of a text and an intent": 1,
        "a query that is empty, too long or no text": 1,
    }
    survives(dataset, tmp_path / "out")


def test_clinc150_without_one_of_its_parts_says_which(tmp_path: Path) -> None:
    folder = clinc(tmp_path, oos_val=None)
    with pytest.raises(InputError, match=r'data_full\.json: no list "oos_val" in it; expected CLINC150\'s requests'):
        clinc150.read(folder)


def banking(folder: Path, train: str, test: str) -> Path:
    whole(folder / "categories.json", ["lost_card", "top_up"])
    text(folder / "train.csv", train)
    text(folder / "test.csv", test)
    return folder


def test_banking77_has_demonstrations_and_queries(tmp_path: Path) -> None:
    train = 'text,category\n"Gone, and ""soon"" too",lost_card\nMore,top_up\nHm,elsewhere\n'
    dataset = banking77.read(banking(tmp_path, train, "text,category\nTopped?,top_up\n"))
    assert [(tool.name, tool.description) for tool in dataset.tools] == [
        ("lost_card", "lost card"),
        ("top_up", "top up"),
    ]
    assert [(d.query, calls(d)) for d in dataset.demonstrations] == [
        ('Gone, and "soon" too', (("lost_card", {}),)),
        ("More", (("top_up", {}),)),
    ]
    assert asked(dataset) == [("test-0", "Topped?", {"top_up"})]
    assert dataset.skipped == {UNKNOWN: 1}
    survives(dataset, tmp_path / "out")


def test_a_table_without_its_column_says_which(tmp_path: Path) -> None:
    folder = banking(tmp_path, "text,intent\nGone,lost_card\n", "text,intent\nMore,top_up\n")
    with pytest.raises(InputError, match=r'banking77: no plans or queries .*Skipped: 2 × a record without "category"'):
        banking77.read(folder)


# --- SLURP and MASSIVE -----------------------------------------------------------------------------------------------


def spoken(number: int, marked: str, scenario: str = "boat", action: str = "steer") -> dict[str, Any]:
    said = " ".join("".join(part.partition(" : ")[2] or part for part in marked.replace("[", "]").split("]")).split())
    return {
        "slurp_id": number,
        "sentence": said,
        "sentence_annotation": marked,
        "intent": "boat_otherwise",
        "scenario": scenario,
        "action": action,
        "tokens": [],
        "entities": [],
    }


def test_slurp_takes_values_out_of_the_marked_sentence(tmp_path: Path) -> None:
    lines(
        tmp_path / "train.jsonl",
        spoken(1, "turn [side : left] by [angle : ten degrees]"),
        spoken(2, "from [side : left] to [side : right]"),
        {"slurp_id": 3, "sentence": "no mark", "scenario": "boat", "action": "stop"},
    )
    lines(tmp_path / "devel.jsonl", spoken(4, "stop", action="stop"))
    lines(tmp_path / "test.jsonl", spoken(5, "[side : right] now"))
    dataset = slurp.read(tmp_path)
    steer, stop = dataset.tools
    assert (steer.name, steer.description, list(steer.parameters["properties"])) == (
        "boat_steer",
        "boat steer",
        ["angle", "side"],
    )
    assert (stop.name, stop.parameters["properties"]) == ("boat_stop", {})
    assert [(d.id, d.query, calls(d)) for d in dataset.demonstrations] == [
        ("train-1", "turn left by ten degrees", (("boat_steer", {"side": "left", "angle": "ten degrees"}),)),
        ("train-2", "from left to right", (("boat_steer", {"side": "left"}),)),
        ("devel-4", "stop", (("boat_stop", {}),)),
    ]
    assert asked(dataset) == [("test-5", "right now", {"boat_steer"})]
    assert dataset.skipped == {intents.SECOND_VALUE: 1, 'a record without "sentence_annotation"': 1}
    survives(dataset, tmp_path / "out")


def test_massive_reads_one_language_by_its_partitions(tmp_path: Path) -> None:
    def row(number: str, partition: str, utt: str, marked: str) -> dict[str, Any]:
        more = {"locale": "de-DE", "scenario": "boat", "worker_id": "1", "judgments": []}
        return {"id": number, "partition": partition, "intent": "boat_steer", "utt": utt, "annot_utt": marked, **more}

    lines(
        tmp_path / "de-DE.jsonl",
        row("0", "train", "nach links", "nach [side : links]"),
        row("1", "dev", "los", "los"),
        row("2", "test", "rechts bitte", "[side : rechts] bitte"),
        {"id": "3", "partition": "test", "utt": "ohne"},
    )
    dataset = massive.read(tmp_path, "de-DE")
    assert dataset.name == "massive-de-DE"
    assert [calls(d) for d in dataset.demonstrations] == [(("boat_steer", {"side": "links"}),), (("boat_steer", {}),)]
    assert asked(dataset) == [("test-2", "rechts bitte", {"boat_steer"})]
    assert dataset.skipped == {'a record without "intent"': 1}
    survives(dataset, tmp_path / "out")


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    text(tmp_path / "en-US.jsonl", '{"id": "0"}\n{"id": \n')
    with pytest.raises(InputError, match=r"en-US\.jsonl:2: not JSON .*expected MASSIVE's requests, one a line"):
        massive.read(tmp_path)


# --- Home Assistant --------------------------------------------------------------------------------------------------

INTENTS = """
HassHoist:
  supported: true
  description: "Hoists a sail"
  slots:
    name: {description: "Name of a sail", required: true}
    height: {description: "How high", required: false}
HassSink:
  supported: false
  description: "Sinks"
HassSalute: {supported: true, description: "Salutes"}
"""
HOIST = """
language: en
tests:
  - sentences: ["hoist the jib", "jib up"]
    intent: {name: HassHoist, slots: {name: Jib, height: 50, colour: red}}
  - sentences: ["hoist the main"]
    intent: {name: HassHoist, slots: {name: Main}}
  - sentences: ["sink"]
    intent: HassSink
  - sentences: ["what"]
  - no sentences
"""


def harbour(folder: Path) -> Path:
    text(folder / "intents.yaml", INTENTS)
    text(folder / "tests/en/_fixtures.yaml", "areas: []")
    text(folder / "tests/en/boat_HassHoist.yaml", HOIST)
    text(folder / "tests/en/HassSalute/default.yaml", "language: en\ntests:\n  - sentences: [ahoy]\n")
    return folder


def test_home_assistant_keeps_paraphrases_of_a_wish_on_one_side(tmp_path: Path) -> None:
    dataset = ha_intents.read(harbour(tmp_path / "in"))
    assert [(tool.name, tool.parameters.get("required")) for tool in dataset.tools] == [
        ("HassHoist", ["name"]),
        ("HassSalute", None),
    ]
    assert [(d.id, d.query, calls(d)) for d in dataset.demonstrations] == [
        ("en-HassSalute_default-0-0", "ahoy", (("HassSalute", {}),)),
        ("en-boat_HassHoist-0-0", "hoist the jib", (("HassHoist", {"name": "Jib", "height": 50}),)),
        ("en-boat_HassHoist-0-1", "jib up", (("HassHoist", {"name": "Jib", "height": 50}),)),
    ]
    assert asked(dataset) == [("en-boat_HassHoist-1-0", "hoist the main", {"HassHoist"})]
    assert dataset.skipped == {
        "mended: an argument that the tool does not have was left out": 2,
        "sentences without an intent": 2,
        UNKNOWN: 1,
    }
    survives(dataset, tmp_path / "out")


def without(module: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda _, monkeypatch: monkeypatch.setitem(sys.modules, module, None)


def spoilt(name: str, content: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda folder, _: text(folder / name, content)


@pytest.mark.parametrize(
    ("spoil", "language", "told"),
    [
        (without("yaml"), "en", r"intents\.yaml: reading YAML needs PyYAML: pip install pyyaml"),
        (spoilt("intents.yaml", "a: [b"), "en", r"intents\.yaml: not YAML \(.*\); expected Home Assistant's intents"),
        (spoilt("intents.yaml", "- a"), "en", r"intents\.yaml: expected a YAML mapping .*, found list"),
        (spoilt("tests/fr/_x.yaml", "a: b"), "fr", r"tests/fr: no YAML file in it; expected .* in 'fr'"),
    ],
)
def test_home_assistant_says_what_is_wrong_and_where(
    spoil: Callable[[Path, pytest.MonkeyPatch], None],
    language: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = harbour(tmp_path)
    spoil(folder, monkeypatch)
    with pytest.raises(InputError, match=told):
        ha_intents.read(folder, language)


def test_yaml_makes_no_objects(tmp_path: Path) -> None:
    folder = harbour(tmp_path)
    text(folder / "intents.yaml", "HassHoist: !!python/object/apply:os.getcwd []")
    with pytest.raises(InputError, match=r"intents\.yaml: not YAML"):
        ha_intents.read(folder)
