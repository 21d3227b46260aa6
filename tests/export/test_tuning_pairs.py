"""What an encoder is tuned on, and how its batches are made: by hand, with made-up vectors and no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import tool_text
from edgeret.types import Call, Tool
from edgeret_export.cli import main
from edgeret_export.encoders.batches import arrange, draw_anew
from edgeret_export.encoders.pairs import (
    NEAREST,
    TOOL_FORM,
    Anchor,
    Pair,
    PairOptions,
    ToolSet,
    make_anchors,
    make_pairs,
    match,
)
from edgeret_export.encoders.quality import Examination
from edgeret_export.encoders.tune import Tuning, best_step
from edgeret_export.tune_command import read_imagined, read_licences

TRANSFER = Path(__file__).parents[2] / "examples" / "transfer"
TOOLS = tuple(Tool(f"tool_{letter}", f"does {letter * 3} things") for letter in "abcdefghijklmn")
TEXT = {tool.name: tool_text(tool, TOOL_FORM) for tool in TOOLS}


class Letters:
    """Stands for an encoder: a text's vector says how often it has each letter threefold, and a little of the rest."""

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.array([[text.count(x * 3) + 0.01 * text.count(x) for x in "abcdefghijklmn"] for text in texts])
        return np.float32(vectors / np.maximum(1e-6, np.linalg.norm(vectors, axis=1, keepdims=True)))

    tools = queries


def plan(query: str, *names: str) -> Demonstration:
    return Demonstration(query, query, tuple(Call(f"tool_{name}") for name in names))


PLANS = (
    plan("please give me a bbb thing and then fetch the aaa thing", "a", "b"),
    plan("only the ccc now", "c"),
    plan("nothing fits this"),
    plan("the ddd of the day", "d"),
    plan("now eee, twice", "e", "f", "e"),
)
SET = ToolSet("letters", TOOLS, PLANS)


def pairs_of(*anchors: str, stories: float = 0.0, seed: int = 0, imagined: dict | None = None) -> list[Pair]:
    return make_pairs(SET, Letters(), PairOptions(anchors, stories, seed, imagined))


def test_texts_and_tools_are_matched_one_to_one_for_the_largest_sum() -> None:
    # Greedily, row 0 would take column 0 (0.9), and row 1 be left with 0.1: 1.0 in all, where 0.8 + 0.7 can be had.
    assert match(np.array([[0.9, 0.8], [0.7, 0.1]])) == [(0, 1), (1, 0)]
    assert match(np.array([[0.1, 0.2, 0.9]])) == [(0, 2)]
    assert match(np.array([[0.3], [0.6], [0.5]])) == [(1, 0)]


def test_a_request_is_paired_with_each_of_its_tools_once() -> None:
    found = [(pair.anchor, pair.positive) for pair in pairs_of("query")]
    assert found == [
        (plan.query, TEXT[name]) for plan in PLANS for name in dict.fromkeys(call.tool for call in plan.calls)
    ]


def test_clauses_are_paired_with_the_tools_that_they_mean() -> None:
    found = {pair.anchor: pair.positive for pair in pairs_of("clauses")}
    assert found["please give me a bbb thing"] == TEXT["tool_b"]
    assert found["fetch the aaa thing"] == TEXT["tool_a"]
    assert "only the ccc now" not in found


def test_a_history_names_the_calls_so_far_in_words() -> None:
    found = [(pair.anchor, pair.positive) for pair in pairs_of("history") if pair.anchor.startswith("now eee")]
    assert found == [
        ("now eee, twice", TEXT["tool_e"]),
        ("now eee, twice | tool e", TEXT["tool_f"]),
        ("now eee, twice | tool e | tool f", TEXT["tool_e"]),
    ]


def test_imagined_tools_are_paired_with_those_they_are_like() -> None:
    imagined = {PLANS[0].query: ("a thought, imagined, the aaa tool", "another, imagined, the bbb tool")}
    found = {pair.anchor: pair.positive for pair in pairs_of("tnd", "qtnd", imagined=imagined)}
    assert found == {
        f"{before}{text}": TEXT[name]
        for before in ("", f"{PLANS[0].query} ")
        for text, name in zip(imagined[PLANS[0].query], ("tool_a", "tool_b"), strict=True)
    }


def test_no_tool_that_a_request_needs_is_its_negative_and_the_nearest_two_are_none() -> None:
    for seed in range(20):
        for pair in pairs_of("query", "clauses", "history", stories=2, seed=seed):
            assert pair.negative not in pair.needed
            assert pair.positive in pair.needed
        (only,) = (pair for pair in pairs_of("query", seed=seed) if pair.anchor == "the ddd of the day")
        scores = (Letters().queries([only.anchor]) @ Letters().tools(list(TEXT.values())).T)[0]
        order = np.argsort(-np.round(scores, 5), kind="stable").tolist()
        assert order.index(list(TEXT.values()).index(only.negative)) in range(2, 10)


def test_of_few_tools_any_other_is_the_negative_and_where_there_is_none_there_is_no_pair() -> None:
    two = ToolSet("two", TOOLS[:2], (plan("give me aaa", "a"), plan("aaa and bbb", "a", "b")))
    (pair,) = make_pairs(two, Letters(), PairOptions(("query",), 0.0))
    assert (pair.anchor, pair.negative) == ("give me aaa", TEXT["tool_b"])


def test_the_same_words_with_other_plans_need_the_tools_of_all_of_them() -> None:
    twice = ToolSet("twice", TOOLS, (plan("give me aaa", "a"), plan("give me aaa", "b")))
    found = make_pairs(twice, Letters(), PairOptions(("query",), 0.0))
    assert [pair.needed for pair in found] == [{TEXT["tool_a"], TEXT["tool_b"]}] * 2


def test_stories_join_requests_with_all_their_tools() -> None:
    plain, told = pairs_of("query"), pairs_of("query", stories=1.5)
    stories = {pair.anchor: pair.needed for pair in told[len(plain) :]}
    assert told[: len(plain)] == plain or {p.anchor for p in plain} <= {p.anchor for p in told}
    assert 3 <= len(stories) <= 6
    for text, needed in stories.items():
        parts = [plan for plan in PLANS if plan.calls and plan.query in text]
        assert 2 <= len(parts) <= 3
        assert needed == {TEXT[call.tool] for plan in parts for call in plan.calls}


def test_the_same_seed_gives_the_same_pairs_and_batches_and_another_one_others() -> None:
    first, again, other = (pairs_of("query", "clauses", stories=2, seed=seed) for seed in (3, 3, 4))
    assert first == again != other
    assert arrange(first, 4, 2.5, 3) == arrange(again, 4, 2.5, 3) != arrange(first, 4, 2.5, 4)


def test_a_batch_holds_no_text_twice_and_no_needed_tool_as_a_negative() -> None:
    pairs = pairs_of("query", "clauses", "history", stories=4)
    batches = arrange(pairs, 4, 3, 0)
    assert {len(batch) for batch in batches} <= {1, 2, 3, 4}
    for batch in batches:
        chosen = [pairs[i] for i in batch]
        texts = [text for pair in chosen for text in (pair.anchor, pair.positive, pair.negative)]
        assert len(texts) == len(set(texts))
        for pair in chosen:
            others = {text for other in chosen if other is not pair for text in (other.positive, other.negative)}
            assert others.isdisjoint(pair.needed)


def test_a_part_of_an_epoch_is_a_part_of_its_batches_and_crumbs_are_left_out() -> None:
    distinct = [Pair(f"q{i}", f"p{i}", f"n{i}", frozenset((f"p{i}",))) for i in range(34)]
    whole = arrange(distinct, 16, 1, 0)
    assert sorted(map(len, whole)) == [16, 16]  # and not a third one of two pairs
    assert len(arrange(distinct, 16, 0.5, 0)) == 1
    assert len(arrange(distinct, 16, 2, 0)) == 4
    assert arrange([], 16, 1, 0) == []


def test_an_anchor_has_all_its_tools_and_the_nearest_wrong_ones_and_nothing_fits_is_one() -> None:
    found = {anchor.text: anchor for anchor in make_anchors(SET, Letters(), PairOptions(("query",), 0.0))}
    assert list(found) == [*(plan.query for plan in PLANS if plan.calls), "nothing fits this"]
    both = found[PLANS[0].query]
    assert both.right == (TEXT["tool_a"], TEXT["tool_b"]) and both.needed == set(both.right)
    for anchor in found.values():
        wrong = [text for text in TEXT.values() if text not in anchor.needed]
        scores = np.round((Letters().queries([anchor.text]) @ Letters().tools(wrong).T)[0], 5)
        assert anchor.near == tuple(wrong[i] for i in np.argsort(-scores, kind="stable")[:NEAREST])
    assert found["nothing fits this"].right == () and not found["nothing fits this"].needed


def test_what_one_plan_solves_is_no_request_that_nothing_fits() -> None:
    twice = ToolSet("twice", TOOLS, (plan("give me aaa", "a"), plan("give me aaa"), plan("aaa or bbb", "a", "b")))
    (one, other) = make_anchors(twice, Letters(), PairOptions(("query",), 0.0))
    assert (one.right, other.right) == ((TEXT["tool_a"],), (TEXT["tool_a"], TEXT["tool_b"]))


def test_of_a_large_set_the_nearest_wrong_tool_is_left_out_unless_nothing_fits() -> None:
    many = [
        Tool("tool_a", "does aaa things"),
        *(Tool(f"other_{i}", f"{'aaa ' * (i % 9)}{'b' * 30}") for i in range(500)),
    ]
    found = make_anchors(ToolSet("many", many, (plan("aaa", "a"), plan("so aaa"))), Letters(), PairOptions(("query",)))
    (solved, nothing) = (anchor.near for anchor in found)
    texts = [tool_text(tool, TOOL_FORM) for tool in many]
    order = [texts[i] for i in np.argsort(-(Letters().queries(["aaa"]) @ Letters().tools(texts).T)[0], kind="stable")]
    assert len(solved) == len(nothing) == NEAREST
    assert order[0] == texts[0] == nothing[0] and texts[0] not in solved
    assert next(text for text in order if text != texts[0]) not in solved


def test_every_epoch_draws_tools_anew_and_the_same_seed_the_same() -> None:
    anchors = [Anchor(f"q{i}", (f"a{i}", f"b{i}"), frozenset((f"a{i}", f"b{i}")), tuple("vwxyz")) for i in range(20)]
    anchors.append(Anchor("nothing", (), frozenset(), tuple("vwxyz")))
    pairs, batches = draw_anew(anchors, 8, 20, 1)
    assert (pairs, batches) == draw_anew(anchors, 8, 20, 1) != draw_anew(anchors, 8, 20, 2)
    assert sorted(i for batch in batches for i in batch) == list(range(len(pairs))) == list(range(20 * len(anchors)))
    first = [pair for pair in pairs if pair.anchor == "q3"]
    assert {pair.positive for pair in first} == {"a3", "b3"} and len({pair.negative for pair in first}) > 2
    for pair in pairs:
        assert (pair.positive in pair.needed) == (pair.anchor != "nothing")
        assert pair.negative in tuple("vwxyz") and pair.positive != pair.negative
    assert len(draw_anew(anchors, 8, 0.5, 1)[1]) == 2
    assert [len(batch) for batch in draw_anew(anchors[:17], 8, 1, 1)[1]] == [8, 8]  # and not a third one of one


def test_quality_is_ndcg_of_the_whole_request_and_of_its_clauses() -> None:
    # Both tools of the first request stand first; of the last one, `e` does and `f` is as far away as all others.
    found = Examination(ToolSet("some", TOOLS, PLANS[:4])).measure(Letters())
    assert found == {"dense": 1.0, "clauses": 1.0}
    # Of this one's tools the first is found first, the other is as far away as twelve more, and stands behind them.
    lost = Examination(ToolSet("lost", TOOLS, (plan("give me the aaa", "a", "n"),))).measure(Letters())
    assert lost["dense"] == pytest.approx(1 / (1 + 1 / np.log2(3)), abs=1e-6)


def test_the_state_that_finds_most_of_what_was_left_out_is_kept_without_it_the_last() -> None:
    def point(step: int, *values: float) -> dict:
        return {"step": step, "loss": 1.0, "ndcg5": {str(i): {"dense": v, "clauses": v} for i, v in enumerate(values)}}

    assert best_step([point(1, 0.2, 0.3), point(2, 0.4, 0.3), {"step": 3, "loss": 1.0}, point(4, 0.5, 0.2)]) == 2
    assert best_step([point(1, 0.5), point(2, 0.7), point(3, 0.7), point(4, 0.6)]) == 3
    assert best_step([point(1), point(2)]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anchors": ("query", "claws")}, "--anchors: unknown 'claws'; choose some of: query,clauses,history,tnd,qtnd"),
        ({"anchors": ()}, "--anchors: none given"),
        ({"stories": -1.0}, "--stories: expected 0 to 10 for each request, found -1"),
        ({"anchors": ("tnd",)}, "--anchors tnd and qtnd need the tools that were imagined; give --hypothetical FILE"),
    ],
)
def test_bad_options_of_pairs_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError) as error:
        PairOptions(**options)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "--rank: expected at least 1, found 0"),
        ({"batch": 1}, "--batch: expected at least 2, found 1"),
        ({"epochs": 0.0}, "--epochs: expected a positive number, found 0"),
        ({"learning_rate": float("nan")}, "--learning-rate: expected a positive number, found nan"),
        ({"level": float("nan")}, "--level: expected 0 to 10, found nan; 0.3 does some good, 0 leaves it out"),
        ({"level": -0.1}, "--level: expected 0 to 10, found -0.1; 0.3 does some good, 0 leaves it out"),
    ],
)
def test_bad_options_of_a_tuning_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError) as error:
        Tuning(**options)
    assert str(error.value) == message


def test_imagined_tools_are_read_as_they_are_searched_for(tmp_path: Path) -> None:
    file = tmp_path / "imagined.jsonl"
    file.write_text(
        '{"query": "rain?", "tools": [{"thought": "look", "name": "weather", "description": "Tells it."}, {}]}\n'
    )
    assert read_imagined(file) == {"rain?": ("look, weather, Tells it.",)}
    file.write_text('{"query": "rain?", "tools": ["weather"]}\n')
    with pytest.raises(InputError, match=r'imagined\.jsonl.*1.*expected "query" \(text\) and "tools"'):
        read_imagined(file)


def test_licences_belong_to_sets() -> None:
    assert read_licences(["a=MIT", "b=CC-BY-4.0"], ["a", "b", "c"]) == {"a": "MIT", "b": "CC-BY-4.0"}
    with pytest.raises(InputError, match=r"^--licence d=MIT: expected NAME=LICENCE .* \(a, b\)$"):
        read_licences(["d=MIT"], ["a", "b"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "bank"], "two sets are named 'bank'; give names of their own: NAME=FOLDER"),
        (["--left-out", "bank"], "two sets are named 'bank'"),
        (["--set", "home", "--licence", "shop=MIT"], "--licence shop=MIT: expected NAME=LICENCE with a NAME among the"),
        (["--anchors", "query,tnd"], "give --hypothetical FILE"),
    ],
)
def test_a_command_that_cannot_be_done_is_refused_before_the_work(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(TRANSFER / word) if word in ("bank", "home") else word for word in words]
    assert main(["lab", "tune", "--set", str(TRANSFER / "bank"), "-o", str(tmp_path / "out"), *folders]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
