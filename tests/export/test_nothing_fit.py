"""The fit of "no tool fits": what is cut out of other people's tools, and the weights that it gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import SEGMENTS, Call, Tool
from edgeret_export.fitting.nothing import AGAINST, NothingSet, fit_nothing, nothing_share
from edgeret_export.fitting.nothing_sets import FEW, SIZES, Cut, cut_sets
from edgeret_export.fitting.prior import BLANK
from edgeret_export.reference.scoring.flow import NO_FLOW
from edgeret_export.reference.scoring.nothing import Form, Put
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.reference.scoring.prior import Evidence, Hits, Overlaps, Prior
from edgeret_export.reference.scoring.reading import Reading
from edgeret_export.sources.plans import Source

WIDE = 8
WEIGHTS = replace(BLANK, tool=replace(BLANK.tool, window=0.5))
RNG = np.random.default_rng(0)


def asked(cosine: float, form: Form) -> Evidence:
    """A request at this cosine to the first tool, and away from all others, put in this form."""
    rest = np.zeros(WIDE)
    rest[-1] = np.sqrt(1 - cosine**2)
    rows = np.tile(np.eye(WIDE)[0] * cosine + rest, (1 + SEGMENTS, 1)).astype(np.float32)
    none = np.zeros(3, np.float32)
    hits = Hits(np.empty(0, np.intp), np.empty(0, np.intp), none[:0], none, np.float32(1))
    shared = Overlaps(np.zeros((4, 3), np.float32), (), lambda: hits)
    return Evidence(Passages.of(rows, rows[:1], rows[:1]), shared, lambda: 0, put=lambda: Put(form))


def two_tools(group: str, fit: tuple[Evidence, ...], unfit: tuple[Evidence, ...], sayings: bool = False) -> NothingSet:
    vectors = np.vstack((np.eye(2, WIDE), np.zeros((1, WIDE)))).astype(np.float32)
    return NothingSet(group, "few", Prior(vectors, 2, NO_FLOW, BLANK), fit, unfit, sayings)


def some(low: float, high: float, form: Form, number: int = 60) -> tuple[Evidence, ...]:
    return tuple(asked(float(cosine), form) for cosine in RNG.uniform(low, high, number))


def test_what_is_near_fits_and_what_is_put_as_a_question_fits_less() -> None:
    question = Form(question=True, explains=True, bare=True)
    found = fit_nothing(
        [
            two_tools("a", some(0.3, 0.9, Form()), some(0.0, 0.5, Form())),
            two_tools("sayings", (), some(0.2, 0.6, question), sayings=True),
        ],
        WEIGHTS,
    )
    prior = two_tools("a", (), ()).prior.weighing(replace(WEIGHTS, nothing=found))

    def logit(cosine: float, form: Form) -> float:
        reading = Reading(prior, asked(cosine, form))
        return reading.end_logit((), float(reading.scores(()).max()))

    assert logit(0.8, Form()) < 0 < logit(0.1, Form())
    assert logit(0.5, question) > logit(0.5, Form())
    assert all(getattr(found, name) <= 0 for name in AGAINST)
    assert min(found.question, found.explains, found.bare) >= 0


def test_evidence_never_says_the_opposite_of_what_it_means() -> None:
    """Sets in which what is far fits, and what is a question, give no weights that say so elsewhere."""
    question = Form(question=True)
    found = fit_nothing([two_tools("a", some(0.0, 0.2, question), some(0.5, 0.9, Form()))], WEIGHTS)
    assert all(getattr(found, name) == 0 for name in (*AGAINST, "question", "bare"))


def test_less_of_what_is_said_fits_nothing_where_there_are_many_tools() -> None:
    assert [nothing_share(n) > nothing_share(4 * n) for n in (1, 8, 64)] == [True] * 3
    assert nothing_share(4) == pytest.approx(nothing_share(1) / 2)


@pytest.mark.parametrize(("fit", "unfit"), [(0, 3), (3, 0), (0, 0)])
def test_both_kinds_are_needed(fit: int, unfit: int) -> None:
    with pytest.raises(ValueError, match="to fit the prior on"):
        fit_nothing([two_tools("a", some(0.5, 0.9, Form(), fit), some(0.0, 0.3, Form(), unfit))], WEIGHTS)


def source(name: str, tools: int) -> Source:
    """Each tool is asked for once, and one request calls nothing."""
    listed = tuple(Tool(f"{name}_{i}", f"{name} {i}") for i in range(tools))
    plans = [Demonstration(str(i), f"{name} wants {i}", (Call(tool.name),)) for i, tool in enumerate(listed)]
    return Source(name, listed, (*plans, Demonstration("none", f"{name} says hello", ())))


def cuts() -> tuple[list[Cut], dict[str, Source]]:
    sources = {name: source(name, tools) for name, tools in (("a", 130), ("b", 24))}
    rng = np.random.default_rng(1)

    def vectors(number: int) -> np.ndarray:
        rows = rng.normal(size=(number, WIDE)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    sayings = {text: vectors(1)[0] for text in ("a says hello", "b says hello", "why is the sky blue")}
    found = list(cut_sets(list(sources.values()), {n: vectors(len(s.tools)) for n, s in sources.items()}, sayings, 0))
    return found, sources


def test_what_fits_has_its_tool_and_what_does_not_has_none() -> None:
    found, sources = cuts()
    tool_of = {d.query: d.calls[0].tool for s in sources.values() for d in s.demonstrations if d.calls}
    for cut in found:
        names = {tool.name for tool in cut.tools}
        assert len(names) == len(cut.tools) > 0
        assert all(tool_of[query] in names for query in cut.requests)
        assert not any(tool_of.get(query) in names for query in cut.strangers)
    fitting = [query for cut in found if cut.size == "few" for query in cut.requests]
    assert sorted(fitting) == sorted(tool_of)


def test_sizes_are_as_users_have_them() -> None:
    found, _ = cuts()
    few = [len(cut.tools) for cut in found if cut.size == "few"]
    assert set(few) <= set(FEW) and min(few) == 1
    for size, (least, most, _) in SIZES.items():
        large = [cut for cut in found if cut.size == size]
        assert large and all(least <= len(cut.tools) <= most for cut in large)
        assert all(cut.requests and cut.strangers for cut in large)


def test_sayings_are_asked_of_tools_that_their_authors_did_not_have() -> None:
    found, sources = cuts()
    said = [cut for cut in found if cut.sayings]
    assert {query for cut in said for query in cut.strangers} == {"a says hello", "b says hello", "why is the sky blue"}
    for name, own in sources.items():
        tools = {tool.name for tool in own.tools}
        assert not any(tools & {t.name for t in cut.tools} for cut in said if f"{name} says hello" in cut.strangers)


def test_cuts_are_the_same_every_time() -> None:
    assert cuts()[0] == cuts()[0]
