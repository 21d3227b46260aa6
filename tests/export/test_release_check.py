"""A gate for releases: what fell is named with its requests, chance is not called a loss, and what nobody looked at is
said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import END, Call
from edgeret_export import cli
from edgeret_export.check import MEASURES, _share, check, ratio_of
from edgeret_export.check_budget import Budget, read_budget
from edgeret_export.check_requests import Answer, Must, Request, answers, own_words, read_must, requests_of
from tests.conftest import TOOLS, make_demonstrations, tiny_bundle

ANY_TIME = Budget(latency=1e9)
"""No test looks at a clock."""
OTHER = {"find_file": "play_music", "send_mail": "write_note", "write_note": "send_mail", "play_music": "find_file"}


def permuted(demonstrations: Sequence[Demonstration]) -> list[Demonstration]:
    """The same requests, solved by other tools."""
    return [replace(d, calls=tuple(Call(OTHER.get(c.tool, c.tool)) for c in d.calls)) for d in demonstrations]


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that loads and decides nonsense."""
    return tiny_bundle(tmp_path_factory.mktemp("bad") / "bundle", demonstrations=permuted(make_demonstrations()))


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with one tool more and one less."""
    tools = [*TOOLS[:-1], edgeret.Tool("share_pack", "share a pack", {}, ("share the pack",))]
    shared = [Demonstration(f"s{i}", f"share the pack {i}", (Call("share_pack"),)) for i in range(4)]
    return tiny_bundle(tmp_path_factory.mktemp("grown") / "bundle", tools=tools, demonstrations=[
        *make_demonstrations(), *shared])  # fmt: skip


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Requests that no bundle was built from."""
    file = tmp_path_factory.mktemp("demos") / "held-out.jsonl"
    file.write_text("".join(_line(d) for d in make_demonstrations(11)[56:]))
    return file


def _line(demonstration: Demonstration) -> str:
    calls = [{"tool": call.tool} for call in demonstration.calls]
    return json.dumps({"query": demonstration.query, "calls": calls}) + "\n"


def rows(found: Mapping[str, Any]) -> dict[str, Any]:
    return {row["name"]: row for row in found["measures"]}


def test_a_bundle_and_itself_lose_nothing(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original)
    found = check(runtime, runtime, make_demonstrations(2), ["the weather"], (), ANY_TIME)
    assert found["ok"] and found["fell"] == [] and found["only_new"] is None
    by_name = rows(found)
    assert by_name.keys() == {m.name for m in MEASURES} | {"latency", "size"}
    for row in by_name.values():
        assert row["changed"] == [] and row["verdict"] in ("ok", "unsure")
    shares = [by_name[m.name] for m in MEASURES]
    assert all(row["old"] == row["new"] and row["loss"] == 0 and row["lost"] == row["gained"] == 0 for row in shares)
    assert by_name["next_function"]["decisions"] == 32 and by_name["next_function"]["requests"] == 12
    assert by_name["first_function"]["decisions"] == 12 and by_name["foreign"]["decisions"] == 3
    assert by_name["size"]["loss"] == 1


def test_nonsense_stops_the_release_and_its_requests_are_named(
    tiny_original: Path, bad: Path, demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget, must = tmp_path / "budget.toml", tmp_path / "must.jsonl"
    budget.write_text("latency = 1e9\n")
    must.write_text(
        '{"query": "play my song", "tool": "play_music"}\n'
        '{"query": "find the letter then mail it to me", "calls": ["find_file"], "tool": "send_mail"}\n'
        '{"query": "book a meeting", "calls": [{"tool": "book_meeting"}, "write_note"], "tool": null}\n'
    )
    page = tmp_path / "check.html"
    command = ["check", str(bad), "--against", str(tiny_original), "--demos", str(demos), "--budget", str(budget)]
    command += ["--must", str(must), "--html", str(page)]
    assert cli.main([*command, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"] and {"next_function", "first_function", "must"} <= set(found["fell"])
    first = rows(found)["first_function"]
    assert first["old"] > first["new"] and first["loss"] > first["shown"] > 0 and first["at_most"] > first["loss"]
    assert {"query": "play my song", "calls": [], "expected": ["play_music"], "old": "play_music"}.items() <= next(
        each for each in rows(found)["must"]["changed"] if each["query"] == "play my song"
    ).items()
    assert len(first["changed"]) == first["lost"] > 0 and first["changed"][0]["old"] != first["changed"][0]["new"]
    assert cli.main(command) == 1
    text = capsys.readouterr().out
    assert "FELL     next function right, first function right" in text and "must-decide requests" in text
    assert "play my song" in text and "expected play_music" in text
    drawn = page.read_text()
    assert "play my song" in drawn and "FELL" in drawn and "<script" not in drawn
    assert cli.main(["check", str(tiny_original), "--against", str(bad), *command[4:10]]) == 0, (
        "the other way is a gain"
    )
    assert capsys.readouterr().out.splitlines()[-1].startswith("ok")


def test_without_demonstrations_tools_are_asked_by_their_own_words(tiny_tools: Path, grown: Path) -> None:
    before, after = edgeret.load(tiny_tools), edgeret.load(grown)
    found = check(before, after, budget=ANY_TIME)
    assert rows(found).keys() == {"own_words", "latency", "size"}
    assert rows(found)["own_words"]["requests"] == len(TOOLS) - 1
    told = " ".join(found["unchecked"])
    assert "--demos" in told and "--nothing" in told and "--must" in told
    (request,) = [r for r in own_words(after.tools, after.tools) if r.query == "share the pack"]
    assert request.acceptable == {"share_pack"} and request.first


def test_tools_that_came_and_went_are_apart(tiny_original: Path, grown: Path) -> None:
    before, after = edgeret.load(tiny_original), edgeret.load(grown)
    demonstrations = [
        Demonstration("new", "share the pack 9", (Call("share_pack"),)),
        Demonstration("gone", "phone call", (Call("phone_call"),)),
        Demonstration("both", "play my song a", (Call("play_music"),)),
    ]
    found = check(before, after, demonstrations, budget=ANY_TIME)
    assert found["only_new"]["demonstrations"] == 1 and found["only_new"]["decisions"] == 2
    assert rows(found)["first_function"]["requests"] == 1
    told = " ".join(found["unchecked"])
    assert "1 demonstrations, against the older bundle" in told and "1 demonstrations: the newer bundle lacks" in told
    musts = [Must("phone call", (), "phone_call"), Must("share the pack", ("phone_call",), "share_pack")]
    row = rows(check(before, after, must=musts, budget=ANY_TIME))["must"]
    assert row["requests"] == 2 and row["lost"] >= 1


def test_bundles_that_were_built_from_the_demonstrations_are_told(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original)
    told = " ".join(check(runtime, runtime, make_demonstrations(), budget=ANY_TIME)["unchecked"])
    assert "how the older bundle does on requests that it never saw" in told and "newer bundle" in told


def shares_of(lost: int, gained: int, of: int, budget: Budget) -> dict[str, Any]:
    """The row of a measure of so many requests."""
    first = next(measure for measure in MEASURES if measure.name == "first_function")
    right, wrong = Answer("a", "a"), Answer("b", "b")
    pairs = [(right, wrong)] * lost + [(wrong, right)] * gained + [(right, right)] * (of - lost - gained)
    said = [(Request(i, f"q{i}", (), frozenset("a")), pair) for i, pair in enumerate(pairs)]
    return _share(first, said, budget, 0.95)


@pytest.mark.parametrize(
    ("lost", "gained", "of", "verdict"),
    [
        (0, 0, 1000, "ok"),  # 3 of 1,000 at most
        (0, 0, 20, "unsure"),  # of 20 unchanged ones 3 in 20 may be others
        (4, 1, 100, "unsure"),  # 0.03 lost, and 2 of 100 are allowed; chance explains that
        (20, 17, 100, "unsure"),
        (5, 0, 100, "fell"),
        (60, 20, 400, "fell"),
        (10, 40, 200, "ok"),
        (5, 0, 1000, "ok"),
    ],
)
def test_a_loss_stops_a_release_where_chance_does_not_explain_it(lost: int, gained: int, of: int, verdict: str) -> None:
    row = shares_of(lost, gained, of, Budget())
    assert row["verdict"] == verdict, row
    assert row["loss"] == pytest.approx((lost - gained) / of) and row["shown"] <= row["loss"] <= row["at_most"]
    assert (row["lost"], row["gained"]) == (lost, gained)


def test_steps_of_a_request_are_no_requests() -> None:
    """Ten steps that one request lost are one request."""
    first, right, wrong = MEASURES[0], Answer("a", "a"), Answer("b", "b")
    one = [(Request(i // 10, "q", ("x",) * (i % 10), frozenset("a")), (right, right)) for i in range(1000)]
    one[:10] = [(request, (right, wrong)) for request, _ in one[:10]]
    apart = [(request, (right, wrong if i % 100 == 0 else right)) for i, (request, _) in enumerate(one)]
    rows_ = [_share(first, said, Budget(), 0.95) for said in (one, apart)]
    assert [row["loss"] for row in rows_] == pytest.approx([0.01, 0.01]) and rows_[0]["requests"] == rows_[1][
        "requests"
    ] == 100
    assert rows_[0]["shown"] < rows_[1]["shown"] and rows_[0]["at_most"] > rows_[1]["at_most"]


def test_a_ratio_of_times_is_as_sure_as_the_older_bundle_agrees_with_itself() -> None:
    rng = np.random.default_rng(0)
    old, noise = rng.uniform(0.5, 5, 60), rng.normal(0, 0.05, (3, 60))
    ratio, low, high = ratio_of(np.stack((old, 1.5 * old, old)) * np.exp(noise))
    assert low < ratio < high and low > 1.4 and high < 1.6
    ratio, low, high = ratio_of(np.stack((old, 1.5 * old, 2 * old)) * np.exp(noise))
    assert low < 1 < high, "a machine on which the same takes twice the time shows nothing"


def test_the_budget_decides(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original)
    assert check(runtime, runtime, budget=replace(ANY_TIME, size=0.5))["fell"] == ["size"]
    found = check(runtime, runtime, make_demonstrations(1), budget=replace(ANY_TIME, unsure="fail"))
    assert not found["ok"] and found["fell"] == [] and "first_function" in found["unsure"]
    must = [Must("play my song", (), "send_mail")]
    assert check(runtime, runtime, must=must, budget=ANY_TIME)["fell"] == ["must"]
    assert check(runtime, runtime, must=must, budget=replace(ANY_TIME, must=1))["fell"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("next_funktion = 0.1", "unknown key .*next_funktion"),
        ("declined = 1.5", '"declined" must be a share'),
        ("declined = nan", '"declined" must be a share'),
        ("wrong = true", '"wrong" must be a share'),
        ('latency = "fast"', '"latency" must be a number above 0'),
        ("size = 0", '"size" must be a number above 0'),
        ("must = 0.5", '"must" must be a whole number'),
        ('unsure = "maybe"', '"unsure" must be "pass" or "fail"'),
        ("[wrong", "not TOML"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "budget.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_budget(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_budget(tmp_path / "none.toml")


def test_a_budget_overrides_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text('wrong = 0\nlatency = 2\nunsure = "fail"\n')
    assert read_budget(tmp_path / "budget.toml") == Budget(wrong=0, latency=2, unsure="fail")
    assert read_budget(None) == Budget()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{}", "query"),
        ('{"query": "a"}', '"tool" is missing'),
        ('{"query": "a", "tool": 7}', '"tool" must be a name or null'),
        ('{"query": "a", "tool": "send_male"}', r"neither bundle has the tool .*send_male.*send_mail"),
        ('{"query": "a", "tool": null, "calls": ["nobody"]}', "neither bundle has the tool"),
        ('{"query": "a", "tool": null, "calls": "send_mail"}', '"calls" must be an array'),
        ('{"query": "a", "tool": null, "calls": [7]}', "a call must be"),
        ('{"query": " ", "tool": null}', "empty"),
        ("[]", "object"),
        ("", "no requests in it"),
    ],
)
def test_must_decide_requests_that_are_none_are_refused(line: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "must.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(InputError, match=words):
        read_must(file, [tool.name for tool in TOOLS])


def test_a_task_goes_on_where_a_request_does_and_begins_anew_where_not(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original)
    demonstrations = [*make_demonstrations(2), Demonstration("dag", "find my file and book a meeting", (
        Call("find_file"), Call("book_meeting")), ())]  # fmt: skip
    requests = requests_of(demonstrations, ["the weather"])
    alone = [next(answers(runtime, [request])) for request in requests]
    assert list(answers(runtime, requests)) == alone
    assert requests[-2].acceptable == {END} and requests[-4].acceptable == {"find_file", "book_meeting"}
    assert requests[-1].foreign and not requests[-1].first


@pytest.mark.parametrize("option", ["--demos", "--nothing", "--must", "--budget", "--against"])
def test_a_file_that_is_not_there_is_one_line(
    option: str, tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["check", str(tiny_original), "--against", str(tiny_original), option, str(tmp_path / "none")]
    assert cli.main(line) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
