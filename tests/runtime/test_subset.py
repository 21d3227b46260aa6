"""Tasks that decide among some of the tools: nothing else is ever proposed, however the bundle decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TOOLS, tiny_bundle

import edgeret
from edgeret import END, InputError, Runtime, Tool
from edgeret_export.recipe import Recipe

QUERIES = ("find my file and send a mail", "call a phone", "open calendar day", "zebra")


@pytest.fixture(params=["tiny_original", "tiny_many", "tiny_tools"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return edgeret.load(request.getfixturevalue(request.param), threads=1)


@pytest.mark.diagonal
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("history", [[], ["find_file"], ["phone_call", "send_mail"]])
@pytest.mark.parametrize("tools", [["phone_call"], ["send_mail", "write_note"], {"find_file"}, ("send_mail",) * 2])
def test_only_the_tools_given_are_ever_proposed(
    runtime: Runtime, query: str, history: list[str], tools: list[str]
) -> None:
    task = runtime.task(query, history, tools=tools)
    chances = dict(zip(task.names, task.probabilities().tolist(), strict=True))
    assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert {name for name, chance in chances.items() if chance} <= {END, *tools}
    assert {c.tool for c in task.candidates()} == {END, *tools}
    for policy in ("auto", "heads"):
        decision = task.next(policy=policy, k=None)
        assert {c.tool for c in decision.candidates} == {END, *tools}
        assert decision.tool in {None, END, *tools}


def test_all_tools_are_no_restriction(runtime: Runtime) -> None:
    whole, named = (runtime.task(QUERIES[0], tools=tools) for tools in (None, [tool.name for tool in TOOLS]))
    assert named.candidates() == whole.candidates()


def test_those_that_are_left_keep_their_odds(tiny_tools: Path) -> None:
    runtime = edgeret.load(tiny_tools, threads=1)
    some, whole = (runtime.task("write a note", tools=tools) for tools in (["send_mail", "book_meeting"], None))
    (mail, meeting), before = (
        [dict(task.candidates())[name] for name in ("send_mail", "book_meeting")] for task in (some, whole)
    )
    if before[0] > 1e-20:
        assert (mail > meeting) == (before[0] > before[1])


def test_a_failed_tool_leaves_the_others_of_the_subset(runtime: Runtime) -> None:
    task = runtime.task(QUERIES[0], tools=["find_file", "send_mail"])
    task.failed("find_file", "gone")
    assert {c.tool for c in task.candidates()} == {END, "send_mail"}
    task.failed("send_mail", "gone")
    assert [c.tool for c in task.next().candidates] == [END]
    assert task.next().tool is None


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([], "tools is empty; name at least one tool, or leave it out for all"),
        (["find_fil"], 'unknown tool "find_fil" in tools'),
        (["find_file", END], "unknown tool"),
        ("find_file", "tools must be a list of tools' names"),
        (5, "tools must be a list of tools' names"),
        ([None], "tools must be a list of tools' names"),
    ],
)
def test_unknown_tools_and_none_are_refused(runtime: Runtime, tools: object, words: str) -> None:
    with pytest.raises(InputError) as caught:
        runtime.task(QUERIES[0], tools=tools)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_an_hnsw_graph_that_does_not_find_the_tools_given_leaves_them_to_be_chosen(tmp_path: Path) -> None:
    pytest.importorskip("hnswlib")
    extra = [Tool(f"play_{i}", f"play my song number {i}") for i in range(300)]
    folder = tiny_bundle(tmp_path / "b", recipe=Recipe(precision="fp32", hnsw_from=10), tools=[*TOOLS, *extra])
    task = edgeret.load(folder, threads=1, index="hnsw").task("play my song", tools=["phone_call", "play_299"])
    assert {c.tool for c in task.candidates()} == {END, "phone_call", "play_299"}


def test_an_hnsw_graph_serves_a_handful_of_tools(tmp_path: Path) -> None:
    pytest.importorskip("hnswlib")
    folder = tiny_bundle(tmp_path / "b", recipe=Recipe(precision="fp32", hnsw_from=2))
    large, plain = (edgeret.load(folder, threads=1, index=kind) for kind in ("hnsw", "exact"))
    for query in QUERIES:
        found, expected = (dict(runtime.task(query).candidates()) for runtime in (large, plain))
        assert found.keys() == expected.keys()


def test_a_resumed_task_is_told_anew_what_may_be_chosen(runtime: Runtime) -> None:
    allowed = [TOOLS[0].name, TOOLS[1].name]
    saved = runtime.task("find my file", tools=allowed).to_dict()
    resumed = runtime.resume(saved, tools=allowed)
    assert {candidate.tool for candidate in resumed.candidates()} <= {*allowed, END}
