"""Another profile of a bundle while it runs, and back: tools, what was learned, and who watches."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import edgeret
from edgeret import BundleError, Call, Demonstration, InputError, Tool
from edgeret.types import Decision

QUERY = "water the roses on the balcony"
ROSES = Tool("water_roses", "Waters the roses")


def taught(runtime: edgeret.Runtime, query: str, *calls: str) -> None:
    runtime.learn([Demonstration("one", query, tuple(map(Call, calls)))])


def queries(runtime: edgeret.Runtime) -> set[str | None]:
    return {plan.query for plan in runtime.learned.plans}


def test_what_is_learned_goes_to_the_small_encoder_and_comes_back(tiny_cascade: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    usual = edgeret.load(tiny_cascade, overlay=overlay)
    first, second = list(usual.tools)[:2]
    taught(usual, "do the first thing", first)
    taught(usual, "do the second thing", second)
    usual.learn([Demonstration("two", "in silence", (Call(first),))], keep_words=False)
    low = usual.with_profile("tiny")
    assert queries(low) == {"do the first thing", "do the second thing"}  # vectors of another encoder mean nothing
    assert low.task("do the first thing").next().stage == "static"
    taught(low, "while it was hot", second)
    low.forget("do the first thing")
    taught(usual, "beside it", first)
    back = low.with_profile("default")
    assert back.learned is usual.learned
    assert queries(back) == {"do the second thing", "while it was hot", "beside it", None}
    back.close()
    assert queries(edgeret.load(tiny_cascade, overlay=overlay)) == queries(back)


def test_between_default_and_full_all_is_shared(tiny_cascade: Path) -> None:
    usual = edgeret.load(tiny_cascade)
    taught(usual, QUERY, next(iter(usual.tools)))
    full = usual.with_profile("full")
    assert full.learned is usual.learned and usual.with_profile("default") is usual
    wanted = edgeret.load(tiny_cascade, profile="full")
    taught(wanted, QUERY, next(iter(usual.tools)))
    for query in (QUERY, "find my file and send a mail"):
        one, other = full.task(query).next(k=None), wanted.task(query).next(k=None)
        assert (one.tool, one.stage) == (other.tool, other.stage) and dict(one.candidates) == dict(other.candidates)


@pytest.mark.parametrize("profile", ["tiny", "full"])
def test_tools_of_today_are_there_and_watchers_go_on(tiny_cascade: Path, profile: str, tmp_path: Path) -> None:
    usual = edgeret.load(tiny_cascade)
    gone, other = list(usual.tools)[:2]
    changed = usual.with_tools(add=[ROSES], remove=[gone], replace=[Tool(other, "Something else")])
    log = changed.log_to(tmp_path / "log")
    low = changed.with_profile(profile)  # type: ignore[arg-type]
    assert dict(low.tools) == dict(changed.tools)
    found: Decision = low.task(QUERY).next(policy="heads")
    assert found.tool == "water_roses"
    log.close()
    assert any("water_roses" in path.read_text() for path in log.folder.iterdir() if path.suffix == ".jsonl")
    own = edgeret.from_tools([ROSES, Tool("call_home", "Calls home")], base=tiny_cascade).with_profile(profile)  # type: ignore[arg-type]
    assert own.task(QUERY).next(policy="heads").tool == "water_roses" and len(own.tools) == 2


def test_what_cannot_be_had_is_refused(tiny_cascade: Path, tiny_original: Path, tmp_path: Path) -> None:
    usual = edgeret.load(tiny_cascade)
    with pytest.raises(InputError, match="unknown profile"):
        usual.with_profile("large")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tiny"):
        edgeret.load(tiny_original).with_profile("tiny")
    place = shutil.copytree(tiny_cascade, tmp_path / "moved")
    here = edgeret.load(place)
    shutil.rmtree(place)
    shutil.copytree(tiny_original, place)
    with pytest.raises(BundleError, match="another bundle"):
        here.with_profile("tiny")
    assert here.task(QUERY).next()
