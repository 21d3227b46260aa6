"""Requests in Chinese, which puts no space between words: wishes, questions, negation, opposites."""

from __future__ import annotations

import pytest
from spoken import asked, on_sides

from edgeret_export.reference.inputs.asking import asks_for_knowledge, asks_question, is_bare
from edgeret_export.reference.inputs.clauses import clause_spans, split_clauses
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.opposites import told


@pytest.mark.parametrize(
    ("query", "wishes"),
    [
        ("打开客厅的灯，然后播放音乐", ["打开客厅的灯", "播放音乐"]),
        ("请帮我关窗帘，再给妈妈打电话。", ["请帮我关窗帘", "给妈妈打电话"]),
        ("关灯并且锁门", ["关灯", "锁门"]),
        ("把空调关掉，另外提醒我买牛奶", ["把空调关掉", "提醒我买牛奶"]),
        ("現在幾點？還有貓在哪裡", ["現在幾點", "貓在哪裡"]),
        ("卧室的灯关掉，客厅的灯打开", ["卧室的灯关掉", "客厅的灯打开"]),
    ],
)
def test_wishes_are_found(query: str, wishes: list[str]) -> None:
    assert asked(query) == wishes


@pytest.mark.parametrize(
    "query",
    [
        "打开客厅、卧室和厨房的灯",
        "把音量再调高一点",
        "如果下雨，就关上窗户",
        "我好无聊，能不能找个两个人玩的游戏",
        "转账1,000元给小王",
        "现在还有多少人",
        "再见",
    ],
)
def test_what_only_tells_more_of_a_wish_is_none(query: str) -> None:
    assert asked(query) == []


def test_clauses_end_at_its_own_stops() -> None:
    query = "我明天要去上海出差。帮我订一张火车票！"
    assert split_clauses(query) == ["我明天要去上海出差", "帮我订一张火车票"]
    assert clause_spans("关灯") == [(0, 2)]
    assert rules_in(query).count("打开灯 TV") == 3  # four signs


def test_how_it_is_put() -> None:
    assert asks_question("今天天气怎么样")
    assert asks_question("客厅的灯开着吗？")
    assert not asks_question("把客厅的灯打开")
    assert asks_for_knowledge("天空为什么是蓝色的")
    assert not asks_for_knowledge("现在有多少盏灯亮着")
    assert is_bare("写一首关于秋天的诗")
    assert not is_bare("播放《月亮代表我的心》")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("打开客厅的灯", ["on"]),
        ("把卧室的灯关掉", ["off"]),
        ("不要关灯", ["on"]),
        ("别把门打开", ["off"]),
        ("音量调大一点", ["up"]),
        ("客厅的灯开着吗", []),
        ("今天几号", []),
    ],
)
def test_a_request_is_on_a_side(query: str, words: list[str]) -> None:
    assert on_sides(query, *words)


def test_words_for_somebody_else_are_no_wish() -> None:
    assert not told("告诉妈妈把门锁上").sides
    assert told("告诉妈妈把门锁上").quoted
    assert not told("告诉我今天的天气").quoted
