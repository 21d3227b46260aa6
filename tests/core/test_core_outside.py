"""An encoder of the caller's, by which the core reads all that it reads; and what a planner of the caller's needs."""

from __future__ import annotations

import ctypes as c
import json
import shutil
import threading
from collections.abc import Callable, Sequence
from ctypes import CDLL
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding import Core, CoreError, Encoder, Model, Run
from conftest import tiny_bundle
from core_learning import Learner
from python_reader import by_python
from test_decisions import QUERIES, TOOLS

import edgeret
from edgeret.types import Candidate, Tool
from edgeret_export.recipe import Recipe
from edgeret_export.reference.encoders.windows import WindowEncoder
from edgeret_export.reference.runtime import components_of, request_of

BAD_INPUT, BAD_BUNDLE, NO_ENCODER = 1, 2, 5
WITHIN = 1e-5
LONG = "find my file and send a mail to " * 30
MORE = Tool("open_calendar", "open the calendar " * 40, examples=("open calendar day", "free day"))


class Given:
    """An encoder of Python's, as a caller's function, which keeps how many ids it was asked for at a time."""

    def __init__(self, encoder: WindowEncoder, most: int = 0) -> None:
        self.asked: list[int] = []
        self.threads: set[int] = set()
        self.instead: Callable[[Any, Any], int] | None = None

        def run(_: object, place: Any, failure: Any) -> int:
            window = place.contents
            self.asked.append(window.count)
            self.threads.add(threading.get_ident())
            if self.instead is not None:
                return self.instead(window, failure.contents)
            vector, tokens = encoder.embed_tokens(np.array(window.ids[: window.count], np.int64))
            c.memmove(window.vector, np.ascontiguousarray(vector).ctypes.data, vector.nbytes)
            c.memmove(window.tokens, np.ascontiguousarray(tokens).ctypes.data, tokens.nbytes)
            return 0

        self.encoder = Encoder(c.sizeof(Encoder), Run(run), None, most)

    def load(self, library: Core, folder: Path, **options: Any) -> Model:
        return library.load(folder, encoder=c.addressof(self.encoder), **options)


@pytest.fixture(scope="module")
def library(core: CDLL) -> Core:
    return Core(core)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two encoders, the second of which the core does not run."""
    recipe = Recipe(precision="fp32", profile="default")
    return tiny_bundle(tmp_path_factory.mktemp("outside") / "bundle", recipe=recipe, tools=TOOLS, few=0)


@pytest.fixture(scope="module")
def python(folder: Path) -> edgeret.Runtime:
    return by_python(folder)


@pytest.fixture
def given(python: edgeret.Runtime) -> Given:
    encoder: Any = components_of(python).encoder
    return Given(encoder)


def near(found: Sequence[tuple[str, float]], wanted: Sequence[Candidate]) -> None:
    assert dict(found) == pytest.approx({one.tool: one.probability for one in wanted}, abs=WITHIN)


def test_tasks_are_read_by_it_as_by_pythons_own(
    library: Core, folder: Path, python: edgeret.Runtime, given: Given
) -> None:
    model = given.load(library, folder)
    assert model.encodes and model.stages == 2
    for query in (*QUERIES, LONG):
        theirs = python.task(query)
        with model.task(query) as task:
            for name in ("find_file", "their_tool", "send_mail"):
                decision, found = theirs.next(k=None), task.next()
                assert (found.best, found.abstained) == (decision.candidates[0].tool, decision.abstained)
                assert found.stage == int(decision.stage == "full")
                near(task.candidates(50), decision.candidates)
                task.next(own=1)
                near(task.candidates(50), theirs.candidates())
                assert task.next().stage == 1
                task.call(name)
                theirs.call(name, foreign=True)
    assert max(given.asked) == 64
    model.close()


def test_search_examples_and_tools_that_come_are_read_by_it(
    library: Core, folder: Path, python: edgeret.Runtime, given: Given
) -> None:
    other, theirs = given.load(library, folder), python.with_tools(add=[MORE])
    model = other.with_tools(add=[json.dumps(MORE.to_dict())])
    other.close()
    for query in (*QUERIES, "is a day free?"):
        with model.task(query) as task:
            task.next(own=1)
            near(task.candidates(50), theirs.task(query).candidates())
        hits = [hit.tool for hit in theirs.search(query, 3, strategy="hybrid")]
        assert [name for name, _, _ in model.search(query, 3)] == hits
    assert np.allclose(model.encode(LONG), components_of(theirs).encoder.encode(LONG), atol=1e-6)
    model.close()


def test_what_was_learned_and_turns_rest_on_it(
    library: Core, folder: Path, python: edgeret.Runtime, given: Given
) -> None:
    model, theirs = given.load(library, folder), by_python(folder)
    learner, words = Learner(model), "open calendar day"
    with model.task(words, learner=learner.handle) as task:
        task.call("play_music")
        library("er_learn", task.handle, None, None)
    task_there = theirs.task(words)
    task_there.call("play_music")
    task_there.learn()
    with model.task(words, learner=learner.handle) as task:
        task.next()
        assert dict(task.candidates(50)) == pytest.approx(dict(theirs.task(words).candidates()), abs=1e-3)
    conversation = python.conversation()
    conversation.say(QUERIES[0]).call("find_file")
    second = conversation.say("and mail it")
    with model.task("and mail it", earlier=(["find_file"], 1)) as task:
        task.next()
        near(task.candidates(50), second.candidates())


def test_texts_are_cut_where_it_reads_no_more(library: Core, folder: Path, python: edgeret.Runtime) -> None:
    encoder: Any = components_of(python).encoder
    given = Given(encoder, most=8)
    model = given.load(library, folder)
    model.encode(LONG)
    assert max(given.asked) == 8 and len(given.asked) > 10
    given = Given(encoder, most=2)  # those that the tokenizer adds
    with pytest.raises(CoreError, match="2 special tokens leave the encoder no room") as error:
        given.load(library, folder)
    assert error.value.status == BAD_BUNDLE
    model.close()


def test_threads_ask_it_each_for_themselves(library: Core, folder: Path, given: Given) -> None:
    model, failures = given.load(library, folder), []
    wanted = model.encode(QUERIES[0])

    def ask() -> None:
        try:
            for _ in range(20):
                assert np.array_equal(model.encode(QUERIES[0]), wanted)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(given.threads) > 1
    model.close()


def fill(window: Any, number: float) -> int:
    for at, count in ((window.vector, window.dimension), (window.tokens, window.count * window.dimension)):
        c.memmove(at, np.full(count, number, np.float32).ctypes.data, 4 * count)
    return 0


def says(status: int, text: bytes) -> Callable[[Any, Any], int]:
    def refuse(_: Any, failure: Any) -> int:
        failure.status, failure.text = status, text
        return status

    return refuse


@pytest.mark.parametrize(
    ("instead", "status", "words"),
    [
        (says(BAD_INPUT, b"the card fell off the bus"), BAD_INPUT, "the card fell off the bus"),
        (says(4, b""), 4, "the encoder that was given at loading failed"),
        (says(99, b"x" * 511), NO_ENCODER, "x" * 511),
        (says(-1, b"gone"), NO_ENCODER, "gone"),
        (lambda window, _: fill(window, float("nan")), BAD_BUNDLE, "not finite"),
        (lambda window, _: fill(window, 7.0), BAD_BUNDLE, "a vector must have length 1"),
        (lambda *_: 0, BAD_BUNDLE, "a vector must have length 1, found 0"),
    ],
)
def test_what_it_cannot_do_is_told_and_harms_nothing(
    library: Core, folder: Path, given: Given, instead: Any, status: int, words: str
) -> None:
    model = given.load(library, folder)
    wanted = model.encode(QUERIES[0])
    with model.task("zebra") as task:
        given.instead = instead
        for ask in (
            task.next, task.encoding, lambda: model.task("hello", tools=["find_file"]), lambda: model.search("hello"),
            lambda: model.encode("hello"), lambda: given.load(library, folder),
            lambda: model.with_tools(add=['{"name": "one", "description": "another"}']),
        ):  # fmt: skip
            with pytest.raises(CoreError) as error:
                ask()
            assert error.value.status == status and words in error.value.text
        given.instead = None
        assert task.next().stage == 1
    assert np.array_equal(model.encode(QUERIES[0]), wanted)
    model.close()


def test_options_that_do_not_fit_are_refused(library: Core, folder: Path, given: Given) -> None:
    for broken in (Encoder(8, given.encoder.run), Encoder(c.sizeof(Encoder))):
        with pytest.raises(CoreError, match="an encoder needs its size, and a function to run"):
            library.load(folder, encoder=c.addressof(broken))
    for index in (-1, 3):
        with pytest.raises(CoreError, match=f"index is {index}; ER_INDEX_AUTO"):
            library.load(folder, index=index)
    with pytest.raises(CoreError, match="no HNSW graph in it"):
        library.load(folder, index=2)
    library.load(folder, index=1).close()


def test_a_file_that_is_not_read_may_be_missing(library: Core, folder: Path, given: Given, tmp_path: Path) -> None:
    place = Path(shutil.copytree(folder, tmp_path / "bundle"))
    (place / "encoder.onnx").unlink()
    with pytest.raises(CoreError, match=r"encoder\.onnx"):
        library.load(place)
    given.load(library, place).close()


def test_a_planner_may_be_asked_about_the_conformal_set(
    library: Core, folder: Path, python: edgeret.Runtime, given: Given
) -> None:
    model = given.load(library, folder)
    calibration = components_of(python).calibration
    for query in QUERIES:
        theirs = python.task(query)
        with model.task(query) as task:
            with pytest.raises(CoreError, match="nothing was decided"):
                task.conformal(0.9)
            task.next(own=1)
            for coverage in (0.05, 0.5, 0.95, 0.999):
                wanted = calibration.candidate_set(theirs.candidates(), coverage)
                found, count = task.conformal(coverage)
                assert count == len(wanted)
                near(found, wanted)
                assert task.conformal(coverage, 1) == (found[:1], count)
            for coverage in (0.0, 1.0, -1.0, float("nan")):
                with pytest.raises(CoreError, match="it lies between 0 and 1"):
                    task.conformal(coverage)
            for number, name in enumerate(model.names):
                answer = task.answer_with(number, risk=0.1)
                tool = python.tools[name]
                floors = [calibration.floor(False, None, risk) for risk in (0.1, tool.risk) if risk is not None]
                assert answer.floor == pytest.approx(max(floors)) and bool(answer.confirm) == tool.confirm
                assert bool(answer.named) == (name in request_of(theirs).named)
            for number in (-2, len(model.names)):
                with pytest.raises(CoreError, match=f"no tool has the number {number}"):
                    task.answer_with(number)
            for name in model.names:
                task.failed(name)
            task.next()
            assert task.conformal(0.5) == ([("<end>", pytest.approx(1.0))], 1)
    model.close()
