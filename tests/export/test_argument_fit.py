"""The head for arguments as a build fits it: tuned, kept where better; counts of outputs; its card."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pytest import MonkeyPatch

from edgeret import Call, Tool
from edgeret.encoders.base import EncodedQuery
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret_export import argument_lab
from edgeret_export.argument_lab import Set, fit_card, read_set
from edgeret_export.cli import main as export
from edgeret_export.encoders.argument_card import ArgumentCard, argument_card_of, pack_card, read_card
from edgeret_export.encoders.pretrained import made_for
from edgeret_export.fitting import argument_fit
from edgeret_export.fitting.argument_cases import cases, halves, shortened
from edgeret_export.fitting.argument_fit import Arrays, Reading, counts_of, fit, reader_of, tune
from edgeret_export.fitting.argument_network import batch, hide
from edgeret_export.fitting.argument_pool import fit_pool, fit_traits
from edgeret_export.reference.scoring import argument_shape as shape
from edgeret_export.reference.scoring.argument_joining import TUNED
from edgeret_export.sources.cards import find_card

DIMENSION = 8
PLAY = Tool(
    "play",
    "Plays something.",
    {"type": "object", "properties": {"what": {"type": "string", "description": "Name of it."}}, "required": ["what"]},
)
FIND = Tool("find", "Finds it. Returns the id.", {"type": "object", "properties": {"id": {"type": "string"}}})
TOOLS = {"play": PLAY, "find": FIND}
WORDS = ("blue", "rain", "stone", "river", "cloud", "night", "glass", "ember", "moss", "tide")


class Encoder:
    """A vector for every word, the same wherever it stands."""

    spec = SimpleNamespace(dimension=DIMENSION)

    def encode_query(self, text: str) -> EncodedQuery:
        """A token for every word."""
        at, places = 0, []
        for word in text.split():
            at = text.index(word, at)
            places.append((at, at + len(word)))
        tokens = np.array([_vector(text[a:b]) for a, b in places], np.float32)
        return EncodedQuery(tokens[:1], tokens, np.array(places, np.intp))

    def encode_tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector for every text."""
        return np.array([_vector(text) for text in texts], np.float32)


def _vector(text: str) -> NDArray[np.float32]:
    seed = int.from_bytes(text.encode()[:32], "little") % 2**32
    found: NDArray[np.float32] = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return found / np.float32(np.linalg.norm(found))


def _demonstrations(count: int) -> list[Demonstration]:
    """Whose values are two words behind "wob", where no rule looks for them."""
    found = []
    for i in range(count):
        value = f"{WORDS[i % 10]} {WORDS[(i * 3 + 1) % 10]}"
        found.append(Demonstration(f"d{i}", f"kindly wob {value} again ok", (Call("play", {"what": value}),)))
    return found


def _begin() -> dict[str, NDArray[np.float32]]:
    chance = np.random.default_rng(0)
    return {
        name: (chance.normal(size=sizes) / (sizes[-1] ** 0.5)).astype(np.float32) + ("norm" in name and len(sizes) == 1)
        for name, sizes in shape.shapes(DIMENSION).items()
    }


POOL, TRAITS = fit_pool([]), fit_traits([])


@pytest.mark.parametrize("small", [24, 25])
def test_tuning_is_better_on_held_out_calls_or_is_not_kept(monkeypatch: MonkeyPatch, small: int) -> None:
    told: list[str] = []
    monkeypatch.setattr(argument_fit, "SMALL", small)  # below it the rules are not joined anew
    monkeypatch.setattr(argument_fit, "PASSES", (4, 10))
    tuned = tune(_begin(), POOL, TRAITS, TOOLS, _demonstrations(24), Reading(Encoder()), 0, told.append)  # type: ignore[arg-type]
    report = tuned.report
    assert report["held_out_calls"] == 24
    assert told == ["arguments: tuning the head on 24 demonstrations"]
    better = (report["calls_right"], report["f1"]) > (report["calls_right_untuned"], report["f1_untuned"])
    assert report["kept"] is better
    changed = any(not np.array_equal(tuned.arrays[name], one) for name, one in _begin().items())
    assert changed is report["kept"]
    assert (tuned.pool != POOL) is (report["kept"] and small == 24)


def test_a_few_demonstrations_tune_nothing() -> None:
    begin = _begin()
    tuned = tune(begin, POOL, TRAITS, TOOLS, _demonstrations(5), Reading(Encoder()), 0, print)  # type: ignore[arg-type]
    assert tuned.arrays is begin
    assert tuned.report == {"calls": 5}


def test_the_same_cases_give_the_same_weights() -> None:
    reading = Reading(Encoder())  # type: ignore[arg-type]
    found = [c for d in _demonstrations(12) for c in cases(TOOLS, d.query, d.calls, reading.encode_query)]
    reading.encode_tools([text for one in found for text in one.texts])
    first, second = (fit(found, reading.texts, 1, 1e-3, 3, None) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert reader_of(first, reading, POOL, TRAITS, {}).head.dimension == DIMENSION


def test_a_function_or_a_parameter_may_be_told_by_its_name_or_its_description_and_an_option_is_told_whole() -> None:
    light = Tool(
        "set_light",
        "Sets a light.",
        {
            "type": "object",
            "properties": {
                "room": {"type": "string", "description": "Where it is: upstairs."},
                "mode": {"type": "string", "enum": ["warm: red", "cold"]},
            },
        },
    )
    reading = Reading(Encoder())  # type: ignore[arg-type]
    (case,) = cases(
        {"set_light": light}, "warm in the hall", [Call("set_light", {"room": "hall"})], reading.encode_query
    )
    assert list(case.texts) == ["set light: Sets a light.", "room: Where it is: upstairs.", "mode", "warm: red", "cold"]
    assert halves("room: Where it is: upstairs.") == ("room", "Where it is: upstairs.")
    assert shortened(case, 0.0, random.Random(0)).texts == case.texts
    told = [shortened(case, 1.0, random.Random(seed)).texts for seed in range(9)]
    assert {texts[1] for texts in told} == {"room", "Where it is: upstairs."}
    assert all(texts[2:] == ["mode", "warm: red", "cold"] for texts in told)


def test_what_is_hidden_and_blurred_is_a_share_and_nothing_else_changes() -> None:
    reading = Reading(Encoder())  # type: ignore[arg-type]
    found = [c for d in _demonstrations(40) for c in cases(TOOLS, d.query, d.calls, reading.encode_query)]
    reading.encode_tools([text for one in found for text in one.texts])
    whole = batch(found, reading.texts)
    torch.manual_seed(0)
    assert hide(whole, 0.0, 0.0) is whole
    partly = hide(whole, 0.25, 0.3)
    gone = (partly.vectors == 0).all(-1)
    assert abs(float(gone.float().mean()) - 0.25) < 0.12
    assert torch.equal(partly.vectors[~gone], whole.vectors[~gone])
    blurred = partly.texts == 0
    assert abs(float(blurred.float().mean()) - 0.3) < 0.12
    assert torch.equal(partly.texts[~blurred], whole.texts[~blurred])
    assert all(left is right for left, right in zip(partly[1:4], whole[1:4], strict=True))


def test_outputs_are_counted_by_who_gave_them_and_whether_they_were_used() -> None:
    plans = [
        Demonstration("a", "one", (Call("find"), Call("play", {"what": "$out_1"}), Call("play", {"what": "x"}))),
        Demonstration("b", "two", (Call("find"), Call("play", {"what": "blue"}))),
    ]
    assert counts_of(TOOLS, plans)[("play", "what")]["find"] == [2, 1, 1, 0]


def test_a_card_reads_as_it_was_written_and_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.msgpack"
    path.write_bytes(pack_card(ArgumentCard({"made_for": {}}, _begin(), POOL, {**dict.fromkeys(shape.TRAITS, 0.0)})))
    found = read_card(path, DIMENSION)
    assert found.pool == POOL
    with pytest.raises(InputError, match="no head for arguments"):
        read_card(path, DIMENSION + 1)
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="no head for arguments"):
        read_card(path, DIMENSION)
    with pytest.raises(InputError, match="cannot be read"):
        read_card(tmp_path / "none", DIMENSION)


def test_a_build_takes_the_head_of_a_file_or_none_and_no_other_encoders(tmp_path: Path) -> None:
    card, other = find_card("all-minilm-l6-v2"), find_card("all-minilm-l6-v2-tools")
    shipped = argument_card_of(card)
    assert shipped is not None
    path = tmp_path / "x.msgpack"
    path.write_bytes(pack_card(replace(shipped, pool={**shipped.pool, "rules": 0.125})))
    found = argument_card_of(card, str(path))
    assert found is not None and found.pool["rules"] == 0.125
    assert argument_card_of(card, "none") is None
    with pytest.raises(InputError, match=r"another encoder than all-minilm-l6-v2-tools .*lab arguments"):
        argument_card_of(other, str(path))
    with pytest.raises(InputError, match="cannot be read"):
        argument_card_of(card, str(tmp_path / "none"))


def test_a_tiny_bundle_and_sets_without_calls_take_no_head(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: MonkeyPatch
) -> None:
    tools = tmp_path / "tools.jsonl"
    tools.write_text('{"name": "play", "description": "Plays."}\n')
    given = ["--tools", str(tools), "-o", str(tmp_path / "b"), "--argument-head", "x"]
    assert export(["build", *given, "--profile", "tiny"]) == 2
    assert "--argument-head: a tiny bundle's tokens" in capsys.readouterr().err
    with pytest.raises(InputError, match="no call with arguments; give more sets"):
        argument_lab.fit_head([Set("none", TOOLS, (), (), ())], [], Reading(Encoder()))  # type: ignore[arg-type]


def test_the_command_fits_a_head_to_sets_and_joins_it_as_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: MonkeyPatch
) -> None:
    asked: list[Any] = []

    def made(card: Any, sets: argument_lab.Sets, passes: Any, joined_as: Any, offline: bool) -> ArgumentCard:
        asked.append((card.name, sets, passes, joined_as, offline))
        return ArgumentCard(
            {"made_for": {}, "figures": {"own": {"calls": 3}}}, _begin(), POOL, {**dict.fromkeys(shape.TRAITS, 0.0)}
        )

    monkeypatch.setattr(argument_lab, "make_card", made)
    path = tmp_path / "head.msgpack"
    given = ["lab", "arguments", "--own", "a", "b", "--others", "c", "--passes", "1", "2", "-o", str(path)]
    assert export(given) == 0
    assert read_card(path, DIMENSION).pool == POOL
    assert "own: calls 3" in (told := capsys.readouterr().out) and f"--argument-head {path}" in told
    assert asked == [("all-minilm-l6-v2", ([Path("a"), Path("b")], [Path("c")], []), [1, 2], None, False)]
    assert export([*given, "--joined-as", "paraphrase-multilingual-minilm-l12-v2"]) == 2
    assert "there is no head for this encoder" in capsys.readouterr().err
    assert export([*given[:-1], str(tmp_path)]) == 2
    assert len(asked) == 1


@pytest.mark.parametrize("others", [("a/api", "b/api"), ("a/own",)])
def test_two_sets_of_one_name_are_refused_before_anything_is_read(others: Sequence[str]) -> None:
    sets = argument_lab.Sets((Path("c"),), [Path(other) for other in others])
    with pytest.raises(InputError, match=f"two sets are called {Path(others[0]).name}"):
        argument_lab.make_card(find_card("all-minilm-l6-v2"), sets, (1, 1), None, True)


def test_every_set_is_read_and_joined_by_what_was_fitted_without_it(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    seen: list[tuple[set[str], set[str]]] = []

    def watched(own: Sequence[Set], others: Sequence[Set], *rest: Any) -> Arrays:
        cases = [[case for one in sets for case in one.bare] for sets in (own, others)]
        seen.append(({case.texts[0] for case in cases[0]}, {case.tool for case in cases[1]}))
        return _begin()

    monkeypatch.setattr(argument_lab, "fit_head", watched)
    reading, chance = Reading(Encoder()), random.Random(0)  # type: ignore[arg-type]
    folders = [_set(tmp_path / f"s{i}", f"play{i}_", 1) for i in range(3)]
    own = [read_set(folder, reading, chance) for folder in folders]
    others, beside = ([read_set(_set(tmp_path / name, name, 3), reading, chance)] for name in ("other", "beside"))
    _, pool, traits, judged = fit_card(own, others, beside, reading, (1, 1))
    assert {name: one.of for name, one in judged.items()} == {"own": 27, "other": 9, "beside": 9}  # each call once
    *parts, all_of_it = seen
    assert all(len(one) == 2 and len(other) == 2 for one, other in parts)
    assert set().union(*(other for _, other in parts)) == all_of_it[1] == {"other0", "other1", "other2"}
    assert len(all_of_it[0]) == 3
    assert pool[TUNED] == 0.0 and traits.keys() == set(shape.TRAITS)


def test_other_languages_are_read_where_they_have_arguments(tmp_path: Path) -> None:
    folder = _set(tmp_path / "s", "play", 1)
    told = (folder / "demonstrations.jsonl").read_text("utf-8")
    (folder / "demonstrations.de.jsonl").write_text(told, "utf-8")
    bare = [{**json.loads(line), "calls": [{"tool": "play0"}]} for line in told.splitlines()]
    (folder / "demonstrations.fr.jsonl").write_text("\n".join(map(json.dumps, bare)), "utf-8")
    for languages, count in (((), 9), (("de", "fr", "nl"), 18)):
        found = read_set(folder, Reading(Encoder()), random.Random(0), languages)  # type: ignore[arg-type]
        assert len(found.demonstrations) == count


def _set(folder: Path, name: str, tools: int) -> Path:
    """A set of so many tools like PLAY, with nine calls."""
    folder.mkdir()
    defined = [
        {"name": f"{name}{i}", "description": f"Plays {i}.", "parameters": PLAY.parameters} for i in range(tools)
    ]
    demonstrations = [
        {"id": d.id, "query": d.query, "calls": [{"tool": f"{name}{i % tools}", "arguments": d.calls[0].arguments}]}
        for i, d in enumerate(_demonstrations(9))
    ]
    for file, rows in (("tools", defined), ("demonstrations", demonstrations)):
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "all-minilm-l6-v2-tools", "multilingual-e5-small-q4"])
def test_encoders_that_ship_with_weights_have_heads_of_their_own(name: str) -> None:
    card = find_card(name)
    found = argument_card_of(card)
    assert found is not None and found.told["made_for"] == made_for(card)
    assert argument_card_of(find_card("paraphrase-multilingual-minilm-l12-v2")) is None
