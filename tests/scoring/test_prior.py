"""The prior, worked by hand: words, flow, clauses and the end of a plan, and what it promises of any request."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from conftest import TOOLS, tiny_exported
from hypothesis import given
from hypothesis import strategies as st

from edgeret.encoders.providers import choose
from edgeret.errors import BundleError
from edgeret.inputs.tool_text import tool_text
from edgeret.types import SEGMENTS, Tool
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.evidence import evidence
from edgeret_export.reference.inputs.clauses import parts
from edgeret_export.reference.lexicon import Lexicon, Overlaps, tool_flow, tool_words
from edgeret_export.reference.scoring.cover import first_nearest
from edgeret_export.reference.scoring.flow import NO_FLOW, Flow
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.reference.scoring.prior import (
    CALLED,
    KINDS,
    Evidence,
    Hits,
    Prior,
    PriorWeights,
    ToolWeights,
)
from edgeret_export.reference.scoring.reading import Reading
from edgeret_export.sources.priors import read_prior

SHIPPED = read_prior("tiny").weights
NAMES = [f.name for f in fields(ToolWeights)]
NOTHING = PriorWeights(**{name: kind(*[0.0] * len(fields(kind))) for name, kind in KINDS.items()})
N, END = 4, 3
"""Three tools that lie on three axes, then `<end>`."""
AXES = np.vstack((np.eye(3), np.zeros((1, 3)))).astype(np.float32)


def weights(
    end: dict[str, float] | None = None, nothing: dict[str, float] | None = None, **tool: float
) -> PriorWeights:
    """No evidence counts but what is named here."""
    return replace(
        NOTHING,
        tool=replace(NOTHING.tool, **tool),
        end=replace(NOTHING.end, **(end or {})),
        nothing=replace(NOTHING.nothing, **(nothing or {})),
    )


def request(*clauses: int, name: tuple[float, ...] = (0, 0, 0), said: tuple[int, ...] = ()) -> Evidence:
    """A request with a clause, which is a window too, on the axis of each of these tools."""
    rows = np.zeros((1 + SEGMENTS, 3), np.float32)
    rows[:, clauses[0]] = 1
    nothing, names = np.zeros(N, np.float32), np.array([*name, 0], np.float32)
    # Each tool's share of its name is one word, which no other tool has.
    hits = Hits(np.arange(N), np.arange(N), names, np.ones(N, np.float32), np.float32(1))
    shared = Overlaps(np.stack((names, nothing, nothing, nothing)), said, lambda: hits)
    return Evidence(Passages.of(rows, AXES[list(clauses)], AXES[list(clauses)]), shared, lambda: 4 * len(clauses))


def reading(what: Evidence, how: PriorWeights, *pairs: tuple[int, int, bool]) -> Reading:
    """Of a request among the three tools, with this flow: taker, giver, whether by mention."""
    columns = list(zip(*pairs, strict=True)) or [(), (), ()]
    flow = Flow(np.array(columns[0], np.intp), np.array(columns[1], np.intp), np.array(columns[2], bool))
    return Reading(Prior(AXES, END, flow, how), what)


def test_shared_words_are_weighed() -> None:
    found = reading(request(0, name=(0.5, 1.0, 0)), weights(name=2.0)).scores(())
    np.testing.assert_allclose(found, [1.0, 2.0, 0.0, -np.inf])


def test_a_tool_whose_name_is_all_that_is_said_wins_whatever_the_weights() -> None:
    found = reading(request(0, said=(1,)), weights(window=-0.5, nothing={"constant": 30.0}))
    log_p = found.log_probabilities(())
    assert log_p.argmax() == 1
    assert log_p[1] > np.log(0.99)
    # A called tool is said no more.
    assert found.log_probabilities((1,)).argmax() != 1


def test_cosines_count_in_tenths() -> None:
    found = reading(request(0, 1), weights(window=0.25)).scores(())
    np.testing.assert_allclose(found[:3], [2.5, 2.5, 0.0])


def test_a_giver_that_is_mentioned_is_needed_until_it_was_called() -> None:
    how = weights(was_called=2.0, still_needed=-3.0)
    found = reading(request(0), how, (2, 0, True), (2, 1, True))
    np.testing.assert_allclose(found.scores(())[:3], [0, 0, -3])
    np.testing.assert_allclose(found.scores((0,))[:3], [-CALLED, 0, 2 - 3])  # the other one is still needed
    np.testing.assert_allclose(found.scores((0, 1))[:3], [-CALLED, -CALLED, 2])


def test_one_giver_of_a_key_is_enough() -> None:
    how = weights(key_was_called=2.0, key_still_needed=-3.0)
    found = reading(request(0), how, (2, 0, False), (2, 1, False))
    np.testing.assert_allclose(found.scores(())[:3], [0, 0, -3])
    np.testing.assert_allclose(found.scores((0,))[:3], [-CALLED, 0, 2])


def test_what_gives_to_the_tool_that_is_wanted_gains() -> None:
    wanted = request(2)
    shares = np.exp(3 * np.array([0, 0, 8 + 4 + 3]) - 45)
    shares = shares / shares.sum()
    named = reading(wanted, weights(gives=1.0), (2, 0, True), (2, 1, True)).scores(())
    np.testing.assert_allclose(named[:3], [shares[2], shares[2], 0], atol=1e-6)
    keyed = reading(wanted, weights(key_gives=1.0), (2, 0, False), (2, 1, False)).scores(())
    np.testing.assert_allclose(keyed[:3], [shares[2] / 2, shares[2] / 2, 0], atol=1e-6)


def test_the_clause_behind_that_of_the_last_call_is_next() -> None:
    found = reading(request(1, 0, 2), weights(next_clause=1.0))
    assert [found.scores(calls)[:3].argmax() for calls in ((), (1,), (0,), (1, 0))] == [1, 0, 2, 2]
    np.testing.assert_allclose(found.scores((-1,))[:3], found.scores(())[:3])  # nobody knows which clause that was


def test_of_parts_that_are_as_near_but_for_rounding_the_first_counts() -> None:
    cosines = np.array([[0.2], [0.700001], [0.700004], [0.7]], np.float32)
    assert first_nearest(cosines, 0) == 1
    assert first_nearest(cosines + np.float32([[0], [0], [0], [0.1]]), 0) == 3


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_before_any_call_scores_are_the_same_by_the_shorter_way(clauses: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = request(*clauses, name=tuple(rng.random(3)))
    rows, all_clauses = asked.passages.rows, asked.passages.clauses
    windows = [rng.normal(size=(n, 3)).astype(np.float32) for n in (1, 7)]
    made_up = [replace(asked, passages=Passages.of(rows, some, all_clauses)) for some in windows]
    how = weights(**{name: float(rng.normal()) for name in NAMES})
    for what in (asked, *made_up):
        found = reading(what, how, (2, 0, True), (2, 1, False))
        # An unknown tool was called: nobody knows what that left, and all thirds of this request are the same.
        np.testing.assert_allclose(found.scores(()), found.scores((-1,)), rtol=1e-5, atol=1e-5)


def test_the_plan_is_complete_when_all_clauses_are_covered() -> None:
    how = weights(end={"constant": -6.0, "least_clause": 12.0}, nothing={"constant": -6.0})
    found = reading(request(0, 1), how)
    assert found.log_probabilities(()).argmax() != END
    assert found.log_probabilities((0,)).argmax() == 1
    assert found.log_probabilities((0, 1)).argmax() == END
    assert np.exp(found.log_probabilities((0, 1))[END]) == pytest.approx(1 / (1 + np.exp(-6)), abs=1e-5)


def test_words_that_a_called_tool_has_speak_for_others_no_more() -> None:
    # "play the song on the speaker": two tools have "speaker" in their names, and one of them "song" too.
    words, tools = np.array([0, 1, 1]), np.array([0, 0, 1])
    rarity = np.array([0.6, 0.4, 0.4], np.float32)
    hits = Hits(
        np.tile(words, 2)[[0, 3, 1, 2, 4, 5]],
        np.concatenate((tools, tools + N))[[0, 3, 1, 2, 4, 5]],
        np.tile(rarity, 2)[[0, 3, 1, 2, 4, 5]],
        np.array([1, 2.5, 1, 1], np.float32),
        np.float32(1),
    )
    name, coverage = np.array([1.0, 1.0, 0, 0], np.float32), np.array([1.0, 0.4, 0, 0], np.float32)
    nothing = np.zeros(N, np.float32)
    shared = Overlaps(np.stack((name, nothing, coverage, nothing)), (), lambda: hits)
    what = Evidence(Passages.of(np.zeros((1 + SEGMENTS, 3), np.float32), AXES[:1], AXES[:1]), shared, lambda: 6)
    found = reading(what, weights(name=1.0, coverage=1.0, spent_name=-1.0, spent_coverage=-0.5))
    np.testing.assert_allclose(found.scores(())[:3], [2, 1.4, 0])
    np.testing.assert_allclose(found.scores((0,))[1:3], [1.4 - 1 - 0.2, 0], rtol=1e-5)  # all of its words are explained
    np.testing.assert_allclose(found.scores((1,))[0], 2 - 0.4 - 0.5 * 0.4, rtol=1e-5)  # "song" is not
    end = found.end_features(0.0, (1,))
    assert (end["fresh_name"], end["fresh_coverage"]) == pytest.approx((0.6, 0.6))
    np.testing.assert_array_equal(found.scores((-1,))[:3], found.scores(())[:3])  # a foreign tool has no words
    has, names, covers = shared.among(np.array([1, 3])).hits().tables()
    np.testing.assert_array_equal(has, [[False, False], [True, False]])
    np.testing.assert_allclose(names, [[0, 0], [1, 0]])
    np.testing.assert_allclose(covers, [[0, 0], [0.4, 0]])


def test_what_no_called_tool_is_near_to_is_left() -> None:
    found = reading(request(0, 1), SHIPPED)
    one, both = found.end_features(0.0, (0,)), found.end_features(0.0, (0, 1))
    assert (one["fresh_window"], one["fresh_clause"]) == (10, 10)
    assert (both["fresh_window"], both["fresh_clause"]) == (0, 0)
    assert one["tools"] == pytest.approx(np.log(N))


def test_nobody_looks_something_up_for_its_own_sake_where_a_tool_takes_it() -> None:
    found = reading(request(0, 1), SHIPPED, (2, 0, True), (1, 0, False))
    told = [found.end_features(0.0, calls) for calls in ((0,), (0, 2), (2, 0), (1, 0), (0, -1))]
    assert [(end["unused"], end["key_unused"]) for end in told] == [(1, 1), (0, 0), (0, 1), (1, 0), (0, 0)]


def test_a_request_that_no_tool_fits_ends_at_once() -> None:
    found = reading(request(0), weights(nothing={"constant": 2.0})).log_probabilities(())
    np.testing.assert_allclose(np.exp(found), [*[(1 - 1 / (1 + np.exp(-2))) / 3] * 3, 1 / (1 + np.exp(-2))], rtol=1e-5)


@pytest.mark.parametrize("calls", [(-1,), (0, -1), (-1, -1, 2)])
def test_a_foreign_call_is_a_call_and_no_tool(calls: tuple[int, ...]) -> None:
    found = reading(request(0, 1), SHIPPED, (1, 0, True))
    told = found.end_features(0.0, calls)
    assert told["words_by_call"] == pytest.approx(np.log(8 / len(calls)))
    assert np.exp(found.log_probabilities(calls)).sum() == pytest.approx(1, abs=1e-5)
    assert not found.features(calls)["related"].any() or calls[-1] >= 0


def test_one_tool_is_enough() -> None:
    flow = Flow(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, bool))
    nothing = np.zeros(2, np.float32)
    hits = Hits(np.empty(0, np.intp), np.empty(0, np.intp), nothing[:0], nothing, np.float32(1))
    shared = Overlaps(np.stack((nothing, nothing, nothing, nothing)), (), lambda: hits)
    one = Evidence(Passages.of(np.eye(4, 3, dtype=np.float32), AXES[:1], AXES[:1]), shared, lambda: 1)
    found = Reading(Prior(AXES[[0, 3]], 1, flow, SHIPPED), one)
    for calls in ((), (0,), (0, 0), (-1,)):
        assert np.exp(found.log_probabilities(calls)).sum() == pytest.approx(1, abs=1e-5)


EXPORTED = tiny_exported()
ENCODER = OnnxEncoder(EXPORTED.model, EXPORTED.tokenizer, EXPORTED.spec, choose(("cpu",), False, {}), 1)
LINKED = [
    *TOOLS,
    Tool("share_file", "Shares what find_file found.", {"properties": {"file_id": {}}, "required": ["file_id"]}),
    Tool("get_note", "Reads a note."),
    Tool("close_note", "Closes it.", {"properties": {"note_id": {}}, "required": ["note_id"]}),
]
SAID = [tool_words(tool) for tool in (*LINKED, Tool("", ""))]
LEXICON = Lexicon(SAID)
PRIOR = Prior(
    np.vstack(
        (
            ENCODER.encode_tools([tool_text(tool, "name+description") for tool in LINKED]),
            np.zeros((1, EXPORTED.spec.dimension)),
        )
    ).astype(np.float32),
    len(LINKED),
    tool_flow(SAID, [*(tool.name for tool in LINKED), "<end>"]),
    SHIPPED,
)
QUERIES = [
    "find my file and send a mail", "mail", "share the file then close the note, and play music", "close note",
    "write a note about the meeting and then call me. Find it after that", "zebra", "read " * 150 + "and zip the pack",
]  # fmt: skip
CALLS = st.lists(st.integers(-1, len(LINKED) - 1), max_size=5)


def read(query: str, how: PriorWeights = SHIPPED) -> Reading:
    return Reading(PRIOR.weighing(how), evidence(query, ENCODER.encode_query(query), LEXICON))


@given(st.sampled_from(QUERIES), CALLS)
def test_scores_are_features_times_weights(query: str, calls: list[int]) -> None:
    found = read(query)
    features = found.features(calls)
    assert sorted(features) == sorted(NAMES)
    expected = sum(getattr(SHIPPED.tool, name) * features[name].astype(float) for name in NAMES)
    for position in LEXICON.overlaps(query).said:
        expected[position] += 10
    for call in {call for call in calls if call >= 0}:
        expected[call] -= CALLED
    apart = found.scores(calls)[:-1] - expected[:-1]
    # Scores are right up to a constant, which is none where a request asks for one thing.
    constant = apart[0] if parts(query).wishes else 0.0
    np.testing.assert_allclose(apart, constant, atol=1e-4)
    assert found.scores(calls)[-1] == -np.inf


@given(st.sampled_from(QUERIES), CALLS, st.sets(st.integers(0, len(LINKED) - 1)))
def test_what_is_allowed_shares_all_probability(query: str, calls: list[int], chosen: set[int]) -> None:
    allowed = np.zeros(PRIOR.n, bool)
    allowed[[*chosen, PRIOR.end]] = True
    found, whole = read(query).log_probabilities(calls, allowed), read(query).log_probabilities(calls)
    assert found.dtype == np.float32
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-5)
    assert np.exp(whole).sum() == pytest.approx(1, abs=1e-5)
    assert (found[~allowed] == -np.inf).all()
    tools = sorted(chosen)
    if tools:
        np.testing.assert_allclose(found[tools] - found[tools[0]], whole[tools] - whole[tools[0]], atol=1e-3)
    else:
        assert found[PRIOR.end] == 0


def test_some_of_the_tools_are_read_as_among_all_but_for_their_flow() -> None:
    chosen = np.array([1, 4, PRIOR.end])
    plain = replace(SHIPPED, tool=replace(SHIPPED.tool, related=0.0, gives=0.0, key_gives=0.0))
    plain = replace(plain, tool=replace(plain.tool, still_needed=0.0, key_still_needed=0.0))
    query = "book a meeting and send a mail"
    seen = evidence(query, ENCODER.encode_query(query), LEXICON)
    some = Reading(Prior(PRIOR.vectors[chosen], 2, NO_FLOW, plain), seen.among(chosen)).scores(())
    np.testing.assert_allclose(some[:2], read(query, plain).scores(())[chosen[:2]], atol=1e-4)


def test_that_nothing_fits_is_told_by_form_and_words_too() -> None:
    found = read("why do you send the mail of 5 people").nothing_features(0.0)
    assert (found["question"], found["explains"], found["bare"]) == (1, 1, 0)
    assert found["tools"] == pytest.approx(np.log(len(LINKED)))
    assert found["words"] == pytest.approx(np.log1p(5)) and found["explained"] == pytest.approx(np.log1p(2))
    plain = read("write a note").nothing_features(0.0)
    assert (plain["question"], plain["explains"], plain["bare"]) == (0, 0, 1)
    assert plain["explained"] == plain["words"] == pytest.approx(np.log1p(2))


def test_features_of_calls_that_were_not_made_are_zero() -> None:
    found = read("find my file").features(())
    for name in ("related", "was_called", "key_was_called"):
        assert not found[name].any()
    assert found["still_needed"][6] == found["key_still_needed"][8] == 1


def test_weights_survive_the_manifest_and_impossible_ones_are_refused_by_name() -> None:
    told = SHIPPED.to_dict()
    assert PriorWeights.from_dict(told, "here") == SHIPPED
    for part, key in (("tool", "name"), ("end", "drop"), ("nothing", "best"), ("search", "window"), ("wish", "apart")):
        for value in (1001, float("nan"), "1", None, True):
            with pytest.raises(BundleError, match=f'here: {part}.*"{key}"'):
                PriorWeights.from_dict({**told, part: {**told[part], key: value}}, "here")
        with pytest.raises(BundleError, match=f"here: {part}"):
            PriorWeights.from_dict({key: value for key, value in told.items() if key != part}, "here")
