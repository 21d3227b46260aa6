"""Which turns become demonstrations, with which calls and links; what is redacted; what is kept for a test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcript_samples import chat, command, read_all, reasons, run, write

from edgeret.errors import InputError
from edgeret_export.transcripts.conversation import MadeCall
from edgeret_export.transcripts.follow_up import is_question, refers_back
from edgeret_export.transcripts.redact import read_patterns
from edgeret_export.transcripts.requests import _Made, links_of
from edgeret_export.transcripts.split import Split

DONE = {"role": "assistant", "content": "Done."}


@pytest.mark.parametrize(
    "query",
    [
        *(
            "and summarise it",
            "Then mail that to Bob",
            "it",
            "now the bedroom too",
            "Also close the blinds",
            "no, the other",
        ),
        *(
            "please mail it to Ana",
            "Delete those files",
            "what about tomorrow?",
            "Turn that off",
            "send him the report",
        ),
    ],
)
def test_turns_that_need_the_one_before_are_known(query: str) -> None:
    assert refers_back(query, asked=False, called=True)


@pytest.mark.parametrize(
    "query",
    [
        *("Find the budget report and mail it to Ana", "Play jazz", "Tell Ana that lunch is on me", "mute"),
        *(
            "Book a table for this evening",
            "Note that milk is out",
            "Android updates, please",
            "Call Ana and tell her I am late",
        ),
    ],
)
def test_turns_that_stand_alone_are_known(query: str) -> None:
    assert not refers_back(query, asked=False, called=True)


@pytest.mark.parametrize(
    "query",
    [
        *("und jetzt bitte auf Deutsch", "schick sie bitte an Anna", "mach es bitte aus", "nein, die letzte Rechnung"),
        *("et maintenant en anglais", "envoie-la à Anne s'il te plaît", "non, la dernière facture"),
        *("y ahora en inglés por favor", "envíalo a mi hermana", "no, la última factura"),
        *("然后发给小王", "把它关掉", "不对，是第二个"),
    ],
)
def test_turns_in_other_languages_that_need_the_one_before_are_known(query: str) -> None:
    assert refers_back(query, asked=False, called=True)


@pytest.mark.parametrize(
    "query",
    [
        *("wie wird das Wetter morgen", "such die Rechnung vom März und schick sie an Anna", "spiel bitte etwas Jazz"),
        *("quel temps fera-t-il demain", "cherche la facture de mars et envoie-la à Anne"),
        *("qué tiempo hará mañana", "busca la factura de marzo y mándala a Ana"),
        *("明天天气怎么样", "找到三月的账单，把它发给小王"),
    ],
)
def test_turns_in_other_languages_that_stand_alone_are_known(query: str) -> None:
    assert not refers_back(query, asked=False, called=True)


def test_an_answer_to_a_question_is_no_request() -> None:
    assert refers_back("The one from March, by Smith", asked=True, called=False)
    assert refers_back("Smith", asked=True, called=True)
    assert not refers_back("Play some jazz", asked=True, called=True)
    assert is_question('Which "Ana"? ')
    assert not is_question("Which? This one.")


def test_a_later_record_that_knows_more_of_a_turn_takes_its_place(tmp_path: Path) -> None:
    whole = chat("Find it in the big archive", [("find", {"n": 1}, "Error: no")], [("search", {}, "x")], DONE)[
        "messages"
    ]
    path = write(tmp_path / "log.jsonl", *({"messages": whole[:size]} for size in (1, 2, 3, 4, 5, 6)))
    found, report = run(tmp_path, path)
    assert [[call.tool for call in each.calls] for each in found] == [["search"]]
    assert report["repeated"] == 4
    failed = write(
        tmp_path / "log.jsonl", *({"messages": whole[:size]} for size in (2, 3)), chat("Play", [("play", {}, "")])
    )
    assert [each.query for each in run(tmp_path, failed)[0]] == ["Play"]


def test_user_messages_in_a_row_are_one_request_and_calls_before_any_are_none(tmp_path: Path) -> None:
    record = chat([("early", {}, "x")], "I need quiet.", "Mute the phone", [("mute", {}, "ok")])
    found, _ = run(tmp_path, write(tmp_path / "log.jsonl", record))
    assert [(each.query, [call.tool for call in each.calls]) for each in found] == [
        ("I need quiet.\nMute the phone", ["mute"])
    ]


def test_a_clarified_request_is_left_out_and_joined_on_demand(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": "Which Ana?"}
    path = write(
        tmp_path / "log.jsonl",
        chat("Text Ana: lunch", asked, "Ana Smith", [("text", {}, "ok")], "Mute", [("m", {}, "")]),
    )
    found, report = run(tmp_path, path, keep_no_tool=True)
    assert [each.query for each in found] == ["Mute"]
    assert reasons(report)["the assistant asked back"] == 1
    found, _ = run(tmp_path, path, turns="join")
    assert [each.query for each in found] == ["Text Ana: lunch\nAna Smith", "Mute"]


def test_what_failed_is_counted_once_where_turns_are_joined(tmp_path: Path) -> None:
    record = chat(
        "Find the letter to Bob",
        [("find", {}, "Error: no"), ("search", {}, "x")],
        DONE,
        "and print it",
        [("print", {}, "")],
    )
    found, report = run(tmp_path, write(tmp_path / "log.jsonl", record), turns="join")
    assert [[call.tool for call in each.calls] for each in found] == [["search"], ["search", "print"]]
    assert reasons(report) == {"failed": 1}


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("Error: no such file", True),
        ("Traceback (most recent call last):\n…", True),
        ("ValueError: bad", True),
        ('{"error": "no"}', True),
        ('{"success": false}', True),
        ('{"isError": true, "content": []}', True),
        ('{"error": null, "value": 3}', False),
        ("Errors were found in 3 files", False),
        ("No errors", False),
        ("", False),
    ],
)
def test_results_without_a_flag_fail_by_their_form(result: str, failed: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", chat("Do this thing", [("do", {}, result), ("other", {}, "ok")]))
    assert [call.tool for call in run(tmp_path, path)[0][0].calls] == (["other"] if failed else ["do", "other"])


def test_calls_are_kept_by_the_rule_that_all_doors_have(tmp_path: Path) -> None:
    table = Path(__file__).parents[2] / "data" / "outcomes"
    lines = [line for path in sorted(table.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in map(json.loads, lines) if isinstance(row["result"], str)]
    records = [chat(f"Do this {i}", [(f"do_{i}", {}, row["result"]), ("end", {}, "ok")]) for i, row in enumerate(rows)]
    found, _ = run(tmp_path, write(tmp_path / "log.jsonl", *records))
    kept = {call.tool for each in found for call in each.calls} - {"end"}
    assert kept == {f"do_{i}" for i, row in enumerate(rows) if row["outcome"] == "worked"}


def test_calls_that_no_demonstration_can_hold_are_told(tmp_path: Path) -> None:
    unread = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "no_json", "arguments": "{'a': 1"}}]}
    bare = {"role": "assistant", "tool_calls": [{"id": "b", "function": {"name": "\u202e", "arguments": "{}"}}]}
    weight = {"role": "assistant", "weight": 0, "tool_calls": [{"id": "c", "function": {"name": "bad"}}]}
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    many = [("play", {}, "ok")] * 257
    records = [chat("One", unread), chat("Two", bare), chat("Three", weight), chat("Four", [("f", {"a": deep}, "")])]
    found, report = run(
        tmp_path, write(tmp_path / "log.jsonl", *records, chat("Five", many), chat("x" * 20_001, many[:1]))
    )
    assert [(each.query, dict(each.calls[0].arguments)) for each in found] == [("One", {}), ("Four", {})]
    assert reasons(report) == {
        "no JSON object; the call was kept without them": 1,
        "too deep or too large; the call was kept without them": 1,
        "a call without a usable name": 1,
        "marked with weight 0": 1,
        "no call that a demonstration can hold": 1,
        "more than 256 calls": 1,
        "a query of more than 20000 characters": 1,
    }


@st.composite
def intervals(draw: st.DrawFn) -> list[_Made]:
    began = sorted(draw(st.lists(st.integers(0, 12), max_size=7)))
    return [_Made(MadeCall("", "t", {}), b, b + draw(st.integers(0, 6))) for b in began]


@given(intervals())
def test_links_say_of_every_pair_whether_one_was_done_before_the_other(calls: Sequence[_Made]) -> None:
    links = links_of(calls)
    done = {(i, j) for j in range(len(calls)) for i in range(j) if calls[i].ended < calls[j].began}
    if links is None:
        assert len(done) == len(calls) * (len(calls) - 1) // 2
        return
    reached = set(links)
    while more := {(i, k) for i, j in reached for j2, k in reached if j == j2} - reached:
        reached |= more
    assert reached == done
    assert all(not any((i, k) in done and (k, j) in done for k in range(i + 1, j)) for i, j in links)


def test_patterns_are_checked_by_line_and_numbers_and_keys_are_redacted(tmp_path: Path) -> None:
    patterns = tmp_path / "patterns"
    for text, words in (
        ("ok\n(", ':2: "(" is no pattern of RE2'),
        ("(?=x)", "no look-around"),
        ("a*", "matches everywhere"),
        ("# nothing\n", "no patterns in it"),
    ):
        patterns.write_text(text)
        with pytest.raises(InputError) as caught:
            read_patterns(patterns)
        assert words in str(caught.value)
    patterns.write_text("(?P<phone>[0-9]{6,})\nAna|(a+)+$\n")
    arguments = {"phone": 15550100, "to Ana": [True, 7, {"n": "x 123456"}]}
    path = write(
        tmp_path / "log.jsonl",
        chat("Call Ana, " + "a" * 5000, [("call", arguments, "")]),
        chat("Ana" * 2500, [("c", {}, "")]),
    )
    found, report = run(tmp_path, path, redactor=read_patterns(patterns))
    assert found[0].query == "Call [redacted], [redacted]"
    assert found[0].calls[0].arguments == {"phone": "[phone]", "to [redacted]": [True, 7, {"n": "x [phone]"}]}
    assert reasons(report) == {"a query of more than 20000 characters when redacted": 1}
    named = write(tmp_path / "Ana.jsonl", chat("Play", [("play", {}, "")]))
    assert run(tmp_path, named, redactor=read_patterns(patterns))[0][0].id == "[redacted]:1"


def test_a_test_part_takes_whole_conversations_and_their_near_duplicates(tmp_path: Path) -> None:
    kinds = ("jazz", "blues", "soul", "funk", "rock", "folk")
    records = [
        chat(
            f"Play {kind} number {n} in the kitchen at noon",
            [("play", {}, "")],
            f"Stop {kind} after {n * 7} bars of it",
            [("stop", {}, "")],
        )
        for kind in kinds
        for n in range(3)
    ]
    path = write(tmp_path / "log.jsonl", *records, *(chat(f"Open door {word}", [("open", {}, "")]) for word in kinds))
    train, report = run(tmp_path, path, test=True)
    tested = read_all(tmp_path / "test.jsonl")
    before = (tmp_path / "test.jsonl").read_bytes()
    assert len(train) + len(tested) == report["demonstrations"] + report["test"]["demonstrations"] == 42
    assert 0 < len(tested) <= 17
    sides = [{each.query.split(" ")[1] for each in part if each.query.startswith("Play")} for part in (train, tested)]
    assert not sides[0] & sides[1]
    assert not {each.id.split("-")[0] for each in train} & {each.id.split("-")[0] for each in tested}
    run(tmp_path, path, test=True)
    assert (tmp_path / "test.jsonl").read_bytes() == before


@given(
    queries=st.lists(
        st.tuples(st.sampled_from(["a b", "call ana", "play jazz in the hall", "x"]), st.integers(0, 3)), max_size=20
    ),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 9),
)
def test_a_share_is_never_exceeded_and_equal_queries_and_groups_stay_together(
    queries: list[tuple[str, int]], share: float, seed: int
) -> None:
    split = Split()
    for query, group in queries:
        split.add(query, group)
    taken = split.choose(share, seed)
    assert len(taken) <= round(share * len(queries))
    for number in taken:
        same = {
            i for i, (query, group) in enumerate(queries) if query == queries[number][0] or group == queries[number][1]
        }
        assert same <= taken


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = [
        {"type": "function", "function": {"name": name, "description": f"To {name}."}} for name in ("play", "stop")
    ]
    newer = [
        {"type": "function", "function": {"name": "play", "description": "To play music."}},
        {"type": "web_search"},
    ]
    records = [
        chat("Play jazz", [("play", {}, "")], tools=tools),
        chat("Stop the alarm", [("stop", {}, "")], tools=newer),
        chat("Open", [("open", {}, "")]),
    ]
    path = write(tmp_path / "log.jsonl", *records, "broken")
    words = (path, "-o", tmp_path / "d", "--tools-out", tmp_path / "t", "--test", tmp_path / "x", "--test-share", "0.5")
    assert command(*words) == 0
    said = capsys.readouterr().out
    assert "1 demonstrations of 2 tools" in said
    assert "1 more (50.0% of all)" in said
    assert "2 tools; 1 changed on the way, the newest was kept: play" in said
    assert "calls a tool that is neither defined in the transcripts nor in --tools" in said
    assert f"edgeret-export build --tools {tmp_path / 't'} --demos {tmp_path / 'd'}" in said
    assert command(path, "-o", tmp_path / "d", "--tools", tmp_path / "t", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["demonstrations"], report["called"], report["test"], report["tools"]) == (2, 2, None, None)
    assert command(path, "-o", tmp_path / "d", "--seed", "-1") == 2
    assert "--seed must be at least 0" in capsys.readouterr().err
