"""Algorithm 1 over a library of six tools that is searched by words, with a teacher whose every answer is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from edgeret.errors import InputError, PlannerError
from edgeret.planner.answers import Answer, Limits, Shape, grammar_of, misfit
from edgeret.planner.chat import Prompt
from edgeret.strategies.base import Search
from edgeret.strategies.base import run as run_strategy
from edgeret.strategies.toolqp import MAX_TURNS, TOOLQP
from edgeret.types import Hit, Tool, Usage
from edgeret_export.planner.lessons import conversation, states
from edgeret_export.planner.teacher import Teacher, holds_name, without_names, written
from edgeret_export.planner.trajectories import THRESHOLD, Maker, Request, SearchTurn, Trajectory, TrajectoryOptions
from edgeret_export.planner.trajectory_file import read_requests, read_trajectories, to_dict, write_trajectories
from edgeret_export.reference.python_finder import PythonFinder

USAGE = Usage(0, 0, 0, 0, 0.0)
OTHERS = [Tool(f"other_{i}", f"other thing {i}") for i in range(8)]
TOOLS = [
    *OTHERS,
    Tool("send_mail", "delivers a letter over the net", {"properties": {"recipient": {"type": "string"}}}),
    Tool("find_file", "looks for a document"),
]
LIBRARY = {tool.name: tool for tool in TOOLS}
ORDER = [tool.name for tool in TOOLS]
REQUEST = Request("r1", "give Ana the report", ("find_file", "send_mail"))


def ranker(text: str, k: int) -> list[Hit]:
    """Tools by how many words of their description the text has; equal ones in the library's order."""
    words = set(re.findall(r"\w+", text.lower()))
    shared = {tool.name: len(words & set(tool.description.split())) for tool in TOOLS}
    order = sorted(ORDER, key=lambda name: (-shared[name], ORDER.index(name)))
    return [Hit(name, shared[name] / 10) for name in order[:k]]


class Fake:
    """Answers a plan, and queries by what it is told."""

    def __init__(self, queries: Callable[[str], Any], plan: Mapping[str, Any] | None = None) -> None:
        self.plan = {"plan": "get it, then pass it on", "goal_1": "get the report", "goal_2": "pass it to Ana"}
        self.plan |= plan or {}
        self.queries, self.told, self.plans = queries, list[str](), list[str]()

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        assert isinstance(shape, Mapping)
        text = prompt.variable.text
        (self.plans if "plan" in shape else self.told).append(text)
        value = {key: self.plan[key] for key in shape} if "plan" in shape else {"query": self.queries(text)}
        problem = misfit(value, shape)
        return Answer(None if problem else value, USAGE, problem)


def make(teacher: Any, candidates: int = 1, seed: int = 0, request: Request = REQUEST) -> Trajectory:
    return Maker(Teacher(teacher, LIBRARY), ranker, TrajectoryOptions(candidates, seed)).make(request)


def knowing(told: str) -> str:
    return "looks for a document" if "Sub-goal: get" in told else "delivers a letter"


def test_every_sub_goal_gets_the_query_that_finds_its_tool() -> None:
    teacher = Fake(knowing)
    assert make(teacher) == Trajectory(
        REQUEST,
        "get it, then pass it on",
        ("get the report", "pass it to Ana"),
        (
            SearchTurn("looks for a document", 0, ("find_file", "send_mail", *ORDER[:3]), {"find_file": 1}),
            SearchTurn("delivers a letter", 1, ("send_mail", "find_file", *ORDER[:3]), {"send_mail": 1}),
        ),
    )
    assert teacher.told[1].startswith("Request: give Ana the report\nPlan: get it")
    assert "Done: get the report (query: looks for a document)\nSub-goal: pass it to Ana" in teacher.told[1]


def test_the_teacher_is_told_more_at_every_level_and_never_the_names() -> None:
    teacher = Fake(lambda told: f"other thing {len(teacher.told)}" if "All about" not in told else "delivers a letter")
    found = make(teacher, request=Request("r", "give Ana the report", ("send_mail",)))
    assert found.problem is None and found.turns[-1].ranks == {"send_mail": 1}
    levels = teacher.told
    assert len(levels) == 5
    assert "What the tool does" not in levels[0]
    assert "What the tool does: delivers a letter over the net" in levels[1] and "Searched" not in levels[1]
    assert levels[2].count("Searched: other thing 2\nFound, and not what is needed: other_") == 1
    assert "Searched: get it, then pass it on" in levels[3] and "All about" not in levels[3]
    assert "recipient" in levels[4]
    assert not any("send_mail" in told for told in (*levels, *teacher.plans))


def test_of_several_queries_the_one_with_the_best_average_rank_is_kept() -> None:
    queries = iter(["nothing at all", "delivers other thing", "delivers a letter over the net"])
    found = make(Fake(lambda _: next(queries)), candidates=3, request=Request("r", "go", ("send_mail",)))
    assert [turn.query for turn in found.turns] == ["delivers a letter over the net"]


def test_a_query_has_to_find_its_tools_by_itself_and_behind_the_request() -> None:
    """A request that finds its tool itself proves nothing of a query; nor does a query that the request drowns out."""
    nothing = Fake(lambda told: f"thing {len(told)}")
    assert make(nothing, request=Request("r", "delivers letter", ("send_mail",))).problem is not None
    queries = iter(["delivers", "delivers a letter over the net"])
    drowned = make(Fake(lambda _: next(queries)), candidates=2, request=Request("r", "other thing", ("send_mail",)))
    assert [turn.query for turn in drowned.turns] == ["delivers a letter over the net"]
    assert drowned.turns[0].found[0] == "send_mail"


def test_what_an_example_says_is_no_plan_and_no_query() -> None:
    copied = Fake(knowing, {"goal_1": "Search restaurants near a place."})
    assert make(copied).problem == "the teacher gave no plan"
    query = "search restaurants near a location, by place, cuisine and distance"
    assert make(Fake(lambda _: query)).problem == "no query finds the tools of sub-goal 1"


def test_failed_attempts_are_kept_in_four_of_ten() -> None:
    def slow(told: str) -> str:
        return "looks for a document" if "What the tool does" in told else "other thing"

    request = Request("r", "go", ("find_file",))
    lengths = [len(make(Fake(slow), seed=seed, request=request).turns) for seed in range(300)]
    assert set(lengths) == {1, 2}
    assert 0.3 < lengths.count(2) / 300 < 0.5


def test_a_sub_goal_that_no_query_finds_is_a_problem() -> None:
    count = iter(range(100))
    found = make(Fake(lambda _: f"other thing {next(count)}"))
    assert found.problem == "no query finds the tools of sub-goal 1" and not states(found)


def test_tools_of_one_sub_goal_are_found_on_average() -> None:
    same = Fake(lambda _: "delivers a document", {"goal_2": "get the report"})
    found = make(same)
    assert found.goals == ("get the report",)
    assert found.turns[0].ranks == {"find_file": 1, "send_mail": 2} or found.turns[0].average == 1.5
    assert found.turns[0].average <= THRESHOLD


def test_queries_that_hold_the_name_or_were_asked_before_are_none() -> None:
    answers = iter(["call send_mail", "use SendMail", "send mail to Ana", "", "delivers a letter"])
    found = make(Fake(lambda _: next(answers)), candidates=5, request=Request("r", "go", ("send_mail",)))
    assert [turn.query for turn in found.turns] == ["delivers a letter"]
    twice = make(Fake(lambda _: "looks for a document that delivers a letter over the net"))
    assert twice.problem == "no query finds the tools of sub-goal 2"


@pytest.mark.parametrize(
    ("text", "given_away"),
    [
        ("send_mail", True),
        ("a SendMail tool", True),
        ("SEND-MAIL", True),
        ("send mail to somebody", True),
        ("resend mailing lists", False),
        ("mail to send", False),
    ],
)
def test_a_name_is_given_away_in_any_spelling(text: str, given_away: bool) -> None:
    assert holds_name(text, ["send_mail"]) is given_away
    assert "mail" not in without_names(text, ["send_mail"]).lower() or not given_away


def test_words_of_a_name_may_be_said_where_the_request_says_them_and_one_word_is_a_word() -> None:
    assert not holds_name("send mail to somebody", ["send_mail"], "please send mail to Ana")
    assert holds_name("send_mail to somebody", ["send_mail"], "please send mail to Ana")
    assert not holds_name("weather of a city", ["weather"]) and holds_name("Weather.", ["weather"])


@pytest.mark.parametrize(
    "plan",
    [
        {"plan": ""},
        {"goal_1": " \n"},
        {"goal_2": "call send_mail"},
        {"plan": 7},
        {"plan": "x" * 301},
        {"plan": "\ud800"},
    ],
)
def test_a_plan_that_is_none_is_asked_for_again_and_then_a_problem(plan: Mapping[str, Any]) -> None:
    teacher = Fake(knowing, plan)
    assert make(teacher).problem == "the teacher gave no plan"
    assert len(teacher.plans) == 3


@pytest.mark.parametrize("query", ["", None, ["x"], "x" * 301, "\ud800", "\\", '"', "find_file send_mail"])
def test_a_teacher_of_nonsense_makes_a_problem_and_no_lesson(query: Any) -> None:
    found = make(Fake(lambda _: query))
    assert found.problem is not None and not states(found)


def test_more_tools_than_a_plan_has_room_for_are_a_problem() -> None:
    request = Request("r", "go", tuple(ORDER[:9]))
    assert make(Fake(knowing), request=request).problem == "more than 8 tools, which no plan has room for"


def test_a_trajectory_has_no_more_turns_than_serving() -> None:
    """Eight sub-goals, of which the last three fail once: beside the stop there is room for one failure."""
    plan = {f"goal_{i + 1}": f"goal {i}" for i in range(8)}

    def slow(told: str) -> str:
        goal = told.split("Sub-goal: goal ")[1][0]
        return f"other thing {goal}" if "What the tool does" in told else f"other thing of {'abcdefgh'[int(goal)]}"

    request = Request("r", "go", tuple(ORDER[:8]))
    lengths = {len(make(Fake(slow, plan), seed=seed, request=request).turns) for seed in range(20)}
    assert lengths == {8, 9} and max(lengths) == MAX_TURNS - 1


def test_what_is_written_is_what_a_served_planner_can_write() -> None:
    assert written('say "it"\n\\ now\x00') == "say it now"
    assert '\\"' in grammar_of("text")  # the grammar is what keeps quotes out


def test_lessons_are_what_serving_asks_and_takes() -> None:
    """A planner that answers a trajectory's lessons leads the served strategy through the very same searches."""
    found = make(Fake(knowing))
    lessons = [conversation(state) for state in states(found)]
    asked: list[list[dict[str, str]]] = []

    class Pupil:
        def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
            asked.append(prompt.messages)
            value = json.loads(lessons[len(asked) - 1]["completion"][0]["content"])
            assert misfit(value, shape) is None
            return Answer(value, USAGE)

    search = Search(REQUEST.query, 3, PythonFinder(None, None, ranker), Pupil())  # type: ignore[arg-type] # only views
    trace = run_strategy(TOOLQP, search).trace
    assert asked == [lesson["prompt"] for lesson in lessons]
    assert trace.complete
    texts = [event.text for event in trace.events if event.kind == "search"]
    assert texts == [REQUEST.query, *(f"{REQUEST.query} {turn.query}" for turn in found.turns)]
    assert [event.kind for event in trace.events][-1] == "stop"


REQUESTS = [Request(f"r{i}", f"give Ana report {i}", ("find_file", "send_mail")) for i in range(4)]


def test_a_file_that_was_broken_off_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    made = write_trajectories(whole, REQUESTS, "x", lambda request: make(Fake(knowing), request=request))
    assert read_trajectories(whole) == made and len(made) == 4
    calls: list[str] = []

    def tired(request: Request) -> Trajectory:
        calls.append(request.id)
        if len(calls) == 3:
            raise PlannerError("the server is gone")
        return make(Fake(knowing), request=request)

    with pytest.raises(PlannerError):
        write_trajectories(broken, REQUESTS, "x", tired)
    broken.write_bytes(broken.read_bytes() + b'{"id": "r2", "que')
    with pytest.raises(InputError, match=r"its last line is cut off; go on with: edgeret-export lab trajectories"):
        read_trajectories(broken)
    assert write_trajectories(broken, REQUESTS, "x", tired) == made
    assert calls == ["r0", "r1", "r2", "r2", "r3"]
    assert broken.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(("requests", "made_of"), [(REQUESTS[1:], "x"), (REQUESTS, "y"), (REQUESTS[:1], "x")])
def test_trajectories_of_other_inputs_are_not_gone_on_with(
    tmp_path: Path, requests: list[Request], made_of: str
) -> None:
    file = tmp_path / "t.jsonl"
    write_trajectories(file, REQUESTS[:2], "x", lambda request: make(Fake(knowing), request=request))
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"holds trajectories of other requests, tools or options; remove it"):
        write_trajectories(file, requests, made_of, lambda request: make(Fake(knowing), request=request))
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan": 3}, r"t.jsonl:1: \"plan\" must be text, found a number"),
        ({"tools": "x"}, r"\"tools\" must be a list, found text"),
        ({"goals": [1]}, r"\"goals\" must be a list of texts"),
        ({"turns": []}, r"no \"problem\", and yet no \"plan\", \"tools\", \"goals\" or \"turns\""),
        ({"turns": [1]}, r"\"turns\": expected objects, found a number"),
        ({"turns": [{"goal": 2}]}, r"\"goal\" must be the position of a goal, 0 to 1"),
        ({"turns": [{"goal": 0, "ranks": {"a": 0}}]}, r"\"ranks\" must be an object of ranks from 1"),
        ({"query": "\ud800"}, r"\"query\" must be text"),
    ],
)
def test_a_line_that_is_no_trajectory_is_named(tmp_path: Path, change: Mapping[str, Any], message: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps({**to_dict(make(Fake(knowing)), "x"), **change}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_trajectories(file)


def test_requests_keep_the_order_of_their_tools_and_those_that_need_none_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    lines = [
        {"id": "a", "query": "x", "tools": ["send_mail", "find_file", "send_mail"]},
        {"id": "b", "query": "y", "tools": []},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert read_requests(file, ORDER) == [Request("a", "x", ("send_mail", "find_file"))]
    file.write_text(json.dumps(lines[1]), encoding="utf-8")
    with pytest.raises(InputError, match=r"no request needs a tool"):
        read_requests(file, ORDER)
