"""The head for arguments: its role, what it is asked, and what becomes of its answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from argument_tools import ALL, CANCEL, EVENT, MAIL, MESSAGE, TEXT, THEME, tool
from numpy.typing import NDArray

from edgeret import BundleError, Call, Tool
from edgeret.bundle.codec import pack, unpack
from edgeret.encoders.base import EncodedQuery
from edgeret_export.reference.arguments import features as features
from edgeret_export.reference.arguments.filling import fill
from edgeret_export.reference.arguments.reader import ArgumentReader, reader_of, texts_of, wanted_of
from edgeret_export.reference.arguments.role import StoredArguments, load_arguments, pack_arguments
from edgeret_export.reference.arguments.spans import Suitor
from edgeret_export.reference.inputs.chunks import chunks
from edgeret_export.reference.scoring import argument_shape as shape
from edgeret_export.reference.scoring.argument_head import ArgumentHead, pack_head, unpack_head
from edgeret_export.reference.scoring.argument_joining import ANY_SCRIPT, TUNED

DIMENSION = 16
POOL = {**dict.fromkeys(shape.POOL, 0.0), "rules": 1.0, "head": 0.1, "options": 0.1}
TRAITS = {**dict.fromkeys(shape.TRAITS, 0.0), "share": 1.0}


class Encoder:
    """Words to vectors by their bytes; remembers what tools' texts it was asked for."""

    spec = SimpleNamespace(dimension=DIMENSION)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.queries: list[str] = []

    def encode_query(self, text: str) -> EncodedQuery:
        """A token for every character that is no space."""
        self.queries.append(text)
        places = [(i, i + 1) for i, letter in enumerate(text) if not letter.isspace()]
        tokens = np.array([_vector(text[a:b]) for a, b in places], np.float32).reshape(-1, DIMENSION)
        return EncodedQuery(tokens[:1], tokens, np.array(places, np.intp).reshape(-1, 2))

    def encode_tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector for each text."""
        self.asked += texts
        return np.array([_vector(text) for text in texts], np.float32)


def _vector(text: str) -> NDArray[np.float32]:
    seed = int.from_bytes(text.encode()[:32], "little") % 2**32
    found: NDArray[np.float32] = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return found / np.float32(np.linalg.norm(found))


def _arrays(seed: int = 0) -> dict[str, NDArray[np.float32]]:
    chance = np.random.default_rng(seed)
    return {
        name: (chance.normal(size=sizes) / (sizes[-1] ** 0.5)).astype(np.float32) + ("norm" in name and len(sizes) == 1)
        for name, sizes in shape.shapes(DIMENSION).items()
    }


def _reader(tools: Sequence[Tool] = (), **changed: Any) -> ArgumentReader:
    data = _packed(tools, **changed)
    stored = load_arguments(_bundle(data), changed.get("encoder", Encoder()))
    found = reader_of(stored)
    assert found is not None and reader_of(stored) is found
    return found


def _packed(tools: Sequence[Tool] = (), **changed: Any) -> bytes:
    texts = {text: _vector(text) for one in tools for text in texts_of(one, wanted_of(one))}
    given = {"pool": POOL, "traits": TRAITS, "counts": {}, "fingerprint": "f", **changed}
    return pack_arguments(_arrays(), texts, given["pool"], given["traits"], given["counts"], given["fingerprint"])


def _bundle(data: bytes) -> Any:
    return SimpleNamespace(
        path=Path("bundle"),
        manifest=SimpleNamespace(file=lambda role: role == "arguments" or None),
        map=lambda _: unpack(data, "arguments"),
        fingerprint=lambda: "f",
    )


def test_features_have_the_sizes_that_the_head_has() -> None:
    assert features.UNIT_FEATURES == shape.UNIT_FEATURES
    assert features.PARAMETER_FEATURES == shape.PARAMETER_FEATURES
    assert features.OPTION_FEATURES == shape.OPTION_FEATURES
    assert features.RELATIONS == shape.RELATIONS
    assert len(features.CHUNK_KINDS) == shape.CHUNK_KINDS


def test_a_role_reads_as_it_was_written() -> None:
    counts = {("cancel_event", "event_id"): {"find_event": [9, 8, 2, 0]}}
    stored = load_arguments(_bundle(_packed([MAIL], counts=counts)), Encoder())
    assert isinstance(stored, StoredArguments)
    assert stored.counts == counts
    assert (stored.pool, stored.traits) == (POOL, TRAITS)
    more = {**POOL, "head, talk": 0.25, TUNED: 0.0, ANY_SCRIPT: 1.0}
    told = load_arguments(_bundle(_packed([MAIL], pool={**more, "rules, long": 0.0})), Encoder())
    assert told is not None and told.pool == more
    for name, array in _arrays().items():
        assert np.abs(stored.head.arrays[name] - array).max() <= np.abs(array).max() / 127


def test_without_the_role_there_is_no_head() -> None:
    bundle = SimpleNamespace(manifest=SimpleNamespace(file=lambda _: None))
    assert load_arguments(bundle, Encoder()) is None  # type: ignore[arg-type]
    assert reader_of(None) is None


def _change(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: value.update(values)


def _inside(key: str, name: str, changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: value[key].update({name: changed})


class TestForgeries:
    """What does not hang together is refused, and says where."""

    CASES: ClassVar[dict[str, tuple[Callable[[dict[str, Any]], None], str]]] = {
        "owner": (_change(encoder="other"), "another encoder"),
        "no head": (_change(head=3), "head"),
        "array gone": (lambda value: value["head"].pop("ask.weight"), "ask.weight"),
        "size": (_inside("head", "norm.bias", np.zeros(7, np.float32)), "shape"),
        "not finite": (_inside("head", "norm.bias", np.full(shape.WIDTH, np.nan, np.float32)), "finite"),
        "too large": (_inside("head", "norm.bias", np.full(shape.WIDTH, 1e6, np.float32)), "over"),
        "scale": (_inside("head", "ask.weight.scales", np.full(4 * shape.WIDTH, -1, np.float32)), "scales"),
        "keys fall": (_change(keys=np.array([2, 1, 3], np.int64)[:3]), "shape"),
        "rows": (_change(scales=np.full(2, 5, np.float32)), "no encoder gives"),
        "names": (_change(names=["a"], counts=np.array([[0, 0, 1, 1, 1, 0, 0]], np.int32)), "contradict"),
        "taken oftener than there": (
            _change(names=["a"], counts=np.array([[0, 0, 0, 1, 2, 0, 0]], np.int32)),
            "contradict",
        ),
        "below nothing": (_inside("pool", "head", -1.0), "head"),
        "no number": (_inside("traits", "share", "much"), "share"),
        "far too much": (_inside("pool", "new", 1e9), "new"),
        "far too much of a call": (_inside("pool", "rules, camel", 1e9), "rules, camel"),
        "tuned by a word": (_inside("pool", TUNED, "yes"), TUNED),
        "any script by a word": (_inside("pool", ANY_SCRIPT, "zh"), ANY_SCRIPT),
    }

    @pytest.mark.parametrize("name", CASES)
    def test_is_refused(self, name: str) -> None:
        change, told = self.CASES[name]
        value = unpack(_packed([tool("one", "Does it.", [])]), "arguments")
        value = {**value, "head": dict(value["head"])}
        value["keys"], value["rows"] = np.array([1, 2], np.int64), np.zeros((2, DIMENSION), np.int8)
        value["scales"] = np.zeros(2, np.float32)
        change(value)
        with pytest.raises(BundleError, match=told):
            load_arguments(_bundle(pack(_plain(value))), Encoder())


def _plain(value: Any) -> Any:
    """Packed arrays as arrays again, so that they can be packed anew."""
    if isinstance(value, dict) and value.keys() >= {"dtype", "shape", "data"}:
        return np.frombuffer(bytes(value["data"]), value["dtype"]).reshape(value["shape"])
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def test_shares_sum_to_one_and_bytes_say_nearly_the_same() -> None:
    query = "mail gideon@example.com the plan, please, and switch to dark"
    for one in (MAIL, MESSAGE, THEME):
        both = []
        for head in (ArgumentHead(_arrays()), unpack_head(unpack(pack(pack_head(_arrays())), ""), DIMENSION, "")):
            reader = _reader([one])
            reader.head = head
            found = chunks(query)
            given = reader.log_shares(one, (), Suitor(found, one, (), None), found, query, None)
            assert given is not None
            both.append(given[1])
        for number, parameter in enumerate(wanted_of(one)):
            shares = both[0].options[number] if features.options(parameter) else both[0].spans[number]
            total = np.exp(shares.astype(np.float64)).sum() + np.exp(both[0].absent[number])
            assert total == pytest.approx(1, abs=1e-4)
        assert np.abs(both[0].absent - both[1].absent).max() < 0.2


def test_only_tools_that_came_later_are_encoded_and_once() -> None:
    encoder = Encoder()
    reader = _reader([MAIL], encoder=encoder)
    fill(MAIL, "mail ana@example.com", (), ALL, None, reader)
    assert encoder.asked == []
    fill(THEME, "make it dark", (), ALL, None, reader)
    assert encoder.asked == texts_of(THEME, wanted_of(THEME))
    fill(THEME, "make it light", (), ALL, None, reader)
    assert len(encoder.asked) == len(texts_of(THEME, wanted_of(THEME)))


def test_a_request_is_encoded_once_and_not_at_all_where_somebody_did() -> None:
    encoder = Encoder()
    reader = _reader([MAIL, THEME], encoder=encoder)
    query = "mail ana@example.com and make it dark"
    fill(MAIL, query, (), ALL, None, reader)
    fill(THEME, query, (), ALL, None, reader)
    assert encoder.queries == [query]
    encoded = encoder.encode_query("make it light")
    fill(THEME, "make it light", (), ALL, None, reader, encoded)
    assert encoder.queries == [query, "make it light"]


def test_what_the_rules_are_sure_of_stays_beside_a_head_that_knows_nothing() -> None:
    told = fill(MAIL, "mail gideon@example.com about the plan", (), ALL, None, _reader([MAIL]))
    assert told.given["to"].value == "gideon@example.com"
    assert "$out_1" not in str(fill(MAIL, "mail $out_1", (), ALL, None, _reader([MAIL])).given)


def test_demonstrations_say_which_outputs_are_taken() -> None:
    event = Call("find_event", {})
    taken = {("cancel_event", "event_id"): {"find_event": [9, 9, 0, 0]}}
    never = {("cancel_event", "event_id"): {"find_event": [9, 0, 0, 0]}}
    words = fill(CANCEL, "cancel it", [event], {**ALL, "find_event": EVENT}, None, _reader([CANCEL]))
    assert words.given["event_id"].value == "$out_1"
    told = fill(CANCEL, "cancel it", [event], ALL, None, _reader([CANCEL], counts=taken))
    assert told.given["event_id"].value == "$out_1"
    assert told.given["event_id"].confidence == pytest.approx(9 / 9.5, abs=0.001)
    assert "event_id" not in fill(CANCEL, "cancel it", [event], ALL, None, _reader([CANCEL], counts=never)).given


@pytest.mark.parametrize(
    "query",
    ["", " ", ".", "a", "mail ana " * 3000, "\u202eabc \u0301", "给安娜发邮件", "x" * 20_000, "1 " * 399],
)
def test_any_text_is_read(query: str) -> None:
    many = tool("many", "Has many.", [], **{f"p{i}": {"type": "string"} for i in range(200)})
    choice = tool("choose", "Has choices.", None, one={"type": "string", "enum": [f"c{i}" for i in range(400)]})
    nested = tool("nested", "Has objects.", None, one={"type": "object", "properties": {"two": TEXT}})
    for one in (many, choice, nested, MAIL, THEME):
        told = fill(one, query, (), {one.name: one}, None, _reader())
        for argument in told.given.values():
            assert 0 <= argument.confidence <= 1


@pytest.mark.parametrize("pool", [{"rules": 0.1, "head": 0.2}, {"rules": 0.2, "head": 0.1}])
def test_a_head_guesses_what_must_be_given_and_asks_for_it_all_the_same(pool: dict[str, float]) -> None:
    note = tool("find_note", "Finds a note.", keywords={"type": "string", "description": "Words of the note."})
    query = "where is the one on bread, or was it about router settings in Linz"
    known = {**POOL, **pool, "absent required": 3.5}
    told = fill(note, query, (), ALL, None, _reader([note], pool=known))
    assert told.given["keywords"].confidence < 0.5
    assert told.missing.keys() == {"keywords"}


def test_only_a_tuned_head_guesses_an_id() -> None:
    note = tool("open_note", "Opens a note.", note_id={"type": "string", "description": "Id of the note."})
    known = {**POOL, "rules": 0.1, "head": 0.1, "absent required": 2.5}
    given = [fill(note, "open note B12", (), ALL, None, _reader([note], pool={**known, TUNED: t})) for t in (0.0, 1.0)]
    assert [one.given.keys() for one in given] == [set(), {"note_id"}]
    assert all(one.missing.keys() == {"note_id"} for one in given)


@pytest.mark.parametrize("script", [0.0, 1.0])
def test_a_head_that_knows_a_script_tells_where_its_values_end(script: float) -> None:
    note = tool("find_note", "Finds a note.", keywords={"type": "string", "description": "Words of the note."})
    pool = {**POOL, "rules": 0.0, "head": 1.0, "absent required": -90.0, ANY_SCRIPT: script}
    given = fill(note, "请找关于面包和路由器的笔记", (), ALL, None, _reader([note], pool=pool)).given
    assert bool(given) == bool(script)
    assert all(one.value in "请找关于面包和路由器的笔记" for one in given.values())


def test_a_call_is_joined_by_weights_that_know_it() -> None:
    wide = tool("findNote", "Finds a note.", keywords={"type": "string", "description": "Words of the note."})
    words = "find the note on router settings"
    pool = {**POOL, "absent, camel": -30.0, "rules, camel": 0.5}
    plain, known = (fill(wide, words, (), {}, None, _reader([wide], pool=one)) for one in (POOL, pool))
    assert known.given["keywords"].confidence >= plain.given["keywords"].confidence
    other = tool("find_note", "Finds a note.", keywords={"type": "string", "description": "Words of the note."})
    assert fill(other, words, (), {}, None, _reader([other], pool=pool)) == fill(
        other, words, (), {}, None, _reader([other])
    )


@pytest.mark.parametrize(("tuned", "sure", "asked"), [(1.0, 0.45, False), (1.0, 0.35, True), (0.0, 0.45, True)])
def test_a_tuned_head_asks_where_it_is_less_sure(tuned: float, sure: float, asked: bool) -> None:
    traits = dict.fromkeys(TRAITS, 0.0) | {"all": math.log(sure / (1.0 - sure))}
    reader = _reader([MAIL], pool={**POOL, TUNED: tuned}, traits=traits)
    found = fill(MAIL, "mail ana@example.org that I am late", (), {MAIL.name: MAIL}, None, reader)
    known = [name for name in MAIL.parameters["required"] if name in found.given]
    assert known
    assert all(found.given[name].confidence == pytest.approx(sure) for name in known)
    assert all((name in found.missing) == asked for name in known)
