"""`edgeret-export lab prior` with the real encoder, on a few plans of two sets: who reads which set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Call
from edgeret_export.cli import main
from edgeret_export.encoders.adapter import with_adapter
from edgeret_export.fitting.joined import joined
from edgeret_export.fitting.wishes import ADDED
from edgeret_export.prior import read_pairs
from edgeret_export.sources.cards import DEFAULT_ENCODER, cards_folder, find_card
from edgeret_export.sources.priors import prior_for, prior_of_tables, read_prior

TRANSFER = Path(__file__).parents[2] / "examples" / "transfer"
CARD = "all-minilm-l6-v2-tools"
SETS = ("bank", "home")


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that name two sets of twelve plans each."""
    folder, told = tmp_path_factory.mktemp("sets"), []
    for name in SETS:
        plans = (TRANSFER / name / "demonstrations.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        few = folder / f"{name}.jsonl"
        few.write_text("".join(plans[:12]), encoding="utf-8")
        told += ["--set", f"{name}={TRANSFER / name / 'tools.jsonl'}:{few}"]
    return told


def made(folder: Path, *words: str) -> dict[str, Any]:
    """The card that the command writes."""
    file = folder / "prior.json"
    assert main(["lab", "prior", "--encoder", CARD, "-o", str(file), *words]) == 0
    assert read_prior(CARD, file).weights
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.full
@pytest.mark.real
def test_a_set_is_read_with_the_adapter_that_was_named_for_it(tmp_path: Path, sets: list[str]) -> None:
    plain = made(tmp_path, *sets, "--adapter", "none")
    one_by_one = made(tmp_path, *sets, *(word for name in SETS for word in ("--adapter-for", f"{name}=none")))
    assert one_by_one["weights"] == plain["weights"]
    assert one_by_one["recipe"]["adapters"] == dict.fromkeys(SETS)
    tuned = made(tmp_path, *sets)
    mixed = made(tmp_path, *sets, "--adapter-for", "home=none")
    assert len({json.dumps(card["weights"]) for card in (plain, tuned, mixed)}) == 3
    assert mixed["recipe"]["adapters"] == {"home": None}


def test_an_adapter_for_a_set_that_is_not_there_is_refused(
    sets: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["lab", "prior", *sets, "-o", str(tmp_path / "prior.json"), "--adapter-for", "bnak=none"]
    assert main(words) == 2
    assert "--adapter-for bnak: no --set of that name; there are bank, home" in capsys.readouterr().err


@pytest.mark.parametrize("told", ["none", "=none", "bank="])
def test_an_adapter_needs_a_set(told: str) -> None:
    with pytest.raises(InputError, match="--adapter-for: expected SET=PLACE, found"):
        read_pairs("--adapter-for", [told])


def test_a_prior_goes_with_the_adapter_that_it_was_fitted_with() -> None:
    """With another one, or none, the encoder's cosines are others."""
    tuned, plain = find_card(CARD), find_card(DEFAULT_ENCODER)
    own, shared = read_prior(CARD), read_prior(DEFAULT_ENCODER)
    assert own.weights != shared.weights
    assert prior_for(tuned) == own
    assert prior_for(plain) == shared
    assert prior_for(with_adapter(tuned, "none")) == shared


SHIPPED = str(cards_folder() / "token-vectors" / f"{DEFAULT_ENCODER}.msgpack")


@pytest.mark.full
@pytest.mark.real
def test_a_prior_for_tables_reads_every_set_by_a_table(tmp_path: Path, sets: list[str]) -> None:
    file = tmp_path / "prior.json"
    words = [word for name in SETS for word in ("--token-vectors-for", f"{name}={SHIPPED}")]
    assert main(["lab", "prior", *sets, *words, "-o", str(file)]) == 0
    found, plain = json.loads(file.read_text(encoding="utf-8")), tmp_path / "plain.json"
    assert sorted(found["recipe"]["token_vectors"]) == sorted(SETS)
    assert main(["lab", "prior", *sets, "-o", str(plain)]) == 0
    assert found["weights"] != json.loads(plain.read_text(encoding="utf-8"))["weights"]


def test_token_vectors_for_some_sets_alone_are_refused(
    sets: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["lab", "prior", *sets, "-o", str(tmp_path / "prior.json"), "--token-vectors-for", f"bank={SHIPPED}"]
    assert main(words) == 2
    assert "--token-vectors-for: expected one for every --set and no other; see 'home'" in capsys.readouterr().err


def test_the_prior_for_tables_is_that_of_an_encoder_that_has_one() -> None:
    found = prior_of_tables(find_card(DEFAULT_ENCODER))
    assert found is not None
    assert found.weights != prior_for(find_card(DEFAULT_ENCODER)).weights
    assert set(found.told["recipe"]["token_vectors"]) == set(found.told["sources"])
    assert prior_of_tables(find_card("multilingual-e5-small-q4")) is None


@pytest.mark.full
@pytest.mark.real
def test_one_block_is_fitted_and_all_else_is_kept(tmp_path: Path) -> None:
    shipped = json.loads(Path(str(cards_folder() / "priors" / f"{DEFAULT_ENCODER}.json")).read_text(encoding="utf-8"))
    sets = [word for name in ("home", "switches") for word in ("--set", str(TRANSFER / name))]
    file, words = tmp_path / "prior.json", ["--encoder", DEFAULT_ENCODER, *sets]
    for block, also in (
        ("wish", {"tool": ADDED["tool"], "end": ADDED["end"]}),
        ("search", {}),
        ("end", {}),
        ("nothing", {}),
    ):
        file.write_text(json.dumps(shipped), encoding="utf-8")
        assert main(["lab", "prior", *words, "--only", block, "-o", str(file)]) == 0
        found = json.loads(file.read_text(encoding="utf-8"))
        assert {key for key in shipped if found[key] != shipped[key]} == {"weights", "fitted_later"}
        assert found["fitted_later"][block] == {"adapter": None, "plans": {"home": 78, "switches": 61}}
        assert found["weights"][block] != shipped["weights"][block]
        for name, weights in shipped["weights"].items():
            kept = {key: value for key, value in weights.items() if key not in also.get(name, ())}
            assert name == block or {key: found["weights"][name][key] for key in kept} == kept
    assert {key: found["weights"]["end"][key] for key in ADDED["end"]} == {
        key: shipped["weights"]["end"][key] for key in ADDED["end"]
    }


def test_two_requests_are_joined_to_one_that_asks_for_both() -> None:
    single = [Demonstration(str(i), f"Do thing {i}.", (Call(f"tool_{i}"),)) for i in range(6)]
    both = [*single, Demonstration("long", "word " * 40, (Call("tool_9"),))]
    made = joined("set", both)
    assert made and made == joined("set", both)
    assert len({len(demonstration.calls) for demonstration in made}) == 1
    assert all(one.calls[0] != one.calls[1] and "thing" in one.query for one in made)
    assert not joined("set", single[:3])
