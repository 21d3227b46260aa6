"""Rankings into one, by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgeret.strategies.fusion import RRF_CONSTANT, added, peak_rank, reciprocal_rank
from edgeret.types import Hit


def ranking(**similarities: float) -> list[Hit]:
    return sorted((Hit(tool, value) for tool, value in similarities.items()), key=lambda hit: -hit.similarity)


def names(hits: list[Hit]) -> list[str]:
    return [hit.tool for hit in hits]


def test_the_multi_view_ranking_of_re_invoke_compares_ranks_before_similarities() -> None:
    """As figure 8 of paper 001: of two intents, one is near to everything; its second tool does not beat the other's
    first."""
    near = ranking(a=0.9, b=0.85, c=0.2)
    far = ranking(c=0.4, b=0.3, a=0.1)
    found = peak_rank([near, far])
    # Reversed ranks of the paper, 3 for the first: a (3, 0.9), b (2, 0.85), c (3, 0.4).
    assert [(hit.tool, hit.similarity) for hit in found] == [("a", 0.9), ("c", 0.4), ("b", 0.85)]


def test_of_equal_ranks_the_higher_similarity_wins_and_a_worse_rank_lends_none() -> None:
    found = peak_rank([ranking(a=0.5, b=0.4), ranking(b=0.3, c=0.2), ranking(c=0.29, a=0.1)])
    # Each is first once: a with 0.5, b with 0.3 (its 0.4 is a second place), c with 0.29.
    assert [(hit.tool, hit.similarity) for hit in found] == [("a", 0.5), ("b", 0.3), ("c", 0.29)]


def test_reciprocal_ranks_are_summed() -> None:
    found = reciprocal_rank([ranking(a=0.9, b=0.8, c=0.7), ranking(c=0.5, b=0.4, d=0.3)])
    score = dict.fromkeys("abcd", 0.0)
    for place in (("a", "b", "c"), ("c", "b", "d")):
        for rank, tool in enumerate(place, 1):
            score[tool] += 1 / (RRF_CONSTANT + rank)
    assert names(found) == sorted(score, key=lambda tool: -score[tool]) == ["c", "b", "a", "d"]
    assert {hit.tool: hit.similarity for hit in found} == {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.3}


@given(st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1), min_size=1), min_size=1, max_size=5))
def test_a_fusion_holds_every_tool_once_and_one_ranking_stays_as_it_is(given: list[dict[str, float]]) -> None:
    rankings = [ranking(**similarities) for similarities in given]
    for fuse in (peak_rank, reciprocal_rank):
        found = names(fuse(rankings))
        assert sorted(found) == sorted({tool for similarities in given for tool in similarities})
        assert names(fuse(rankings[:1])) == names(rankings[0])
    assert names(peak_rank(rankings))[0] in {ranked[0].tool for ranked in rankings}


def test_nothing_is_fused_to_nothing() -> None:
    assert peak_rank([]) == reciprocal_rank([]) == []


def test_shares_of_several_texts_are_added_and_a_tool_that_is_missing_has_none() -> None:
    one = [Hit("a", 0.9, 0.6), Hit("b", 0.2, 0.4)]
    other = [Hit("c", 0.8, 0.7), Hit("b", 0.5, 0.3)]
    assert added([one, other]) == [Hit("b", 0.5, 0.35), Hit("c", 0.8, 0.35), Hit("a", 0.9, 0.3)]
    ranks = [Hit("b", 0.5), Hit("a", 0.4)]
    assert added([one, ranks]) == reciprocal_rank([one, ranks])
