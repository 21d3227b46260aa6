"""The parity gate: what it asks, what it measures, what it refuses, and what a build does then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from conftest import TOOLS, make_demonstrations, tiny_card, tiny_exported
from onnx import numpy_helper

from edgeret.encoders.base import MIN_COSINE
from edgeret.errors import CheckFailedError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Call, Tool
from edgeret_export import build
from edgeret_export.encoded import Encoded
from edgeret_export.encoders import gate as gates
from edgeret_export.encoders import parity
from edgeret_export.encoders.export import ExportedEncoder, attempts
from edgeret_export.encoders.parity import Loss, Parity, ndcg5, problems
from edgeret_export.encoders.questions import LOOKS, MAX_ITEMS, from_demonstrations, from_tools, mixed, sample
from edgeret_export.recipe import Recipe

NONE = Loss(0, 1.0, 1.0, 0.0, 0.0)
FINE = Parity("int8", 1.0, 0.5, 100, 0, 0.99, 0.985, NONE, NONE)


def damaged(precision: str, noise: float, seed: int = 9) -> ExportedEncoder:
    """The made-up encoder with noise of that size, relative to its weights, in its word vectors."""
    exported = tiny_exported()
    model = onnx.load_from_string(exported.model)
    (table,) = (i for i in model.graph.initializer if i.name == "table")
    values = numpy_helper.to_array(table)
    shaken = values + noise * values.std() * np.random.default_rng(seed).normal(size=values.shape)
    table.CopyFrom(numpy_helper.from_array(shaken.astype(np.float32), "table"))
    return replace(exported, model=model.SerializeToString(), spec=replace(exported.spec, precision=precision))


@pytest.fixture
def tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[dict[tuple[str, int], float]], list[tuple[str, int]]]:
    """Exports are the made-up encoder with the noise given by precision and attempt; the list says what was tried."""

    def prepare(noise: dict[tuple[str, int], float]) -> list[tuple[str, int]]:
        done: list[tuple[str, int]] = []

        def export(card: Any, precision: str, offline: bool, attempt: int = 0) -> ExportedEncoder:
            done.append((precision, attempt))
            return damaged(precision, noise.get((precision, attempt), 0.0))

        monkeypatch.setenv("EDGERET_CACHE", str(tmp_path))
        monkeypatch.setattr(build, "export_encoder", export)
        monkeypatch.setattr(gates, "compare_with_torch", lambda exported, encoder: 1.0)
        return done

    return prepare


def encode(precision: str, demonstrations: list[Demonstration] | None = None, tools: list[Tool] = TOOLS) -> Encoded:
    card = tiny_card()
    assert card.encoder is not None
    card = replace(card, encoder=replace(card.encoder, int8_keep=("", "a", "b")))
    return build.encode(card, Recipe(precision=precision), demonstrations or [], tools, False)


def test_automatic_precision_goes_from_int8_by_more_of_fp32_to_fp32() -> None:
    card = tiny_card()
    assert card.encoder is not None
    card = replace(card, encoder=replace(card.encoder, int8_keep=("", "a")))
    assert attempts(card, None) == [("int8", 0), ("int8", 1), ("fp32", 0)]
    assert attempts(card, "int8") == [("int8", 0), ("int8", 1)]
    assert attempts(card, "fp16") == [("fp16", 0)]
    assert attempts(card, "fp32") == [("fp32", 0)]


def test_faithful_int8_is_taken_at_once(tried: Any) -> None:
    done = tried({("int8", 0): 0.02})
    assert encode("auto", make_demonstrations()).parity.precision == "int8"
    assert done == [("fp32", 0), ("int8", 0)]


def test_damaged_int8_ends_in_fp32_and_the_build_says_why(tried: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = tried({("int8", attempt): 1.0 for attempt in range(3)})
    encoded = encode("auto", make_demonstrations())
    assert done[1:] == [("int8", 0), ("int8", 1), ("int8", 2), ("fp32", 0)]
    assert encoded.parity.precision == encoded.exported.spec.precision == "fp32"
    told = " ".join(capsys.readouterr().err.split())
    assert "texts have a cosine to the original below 0.98" in told
    assert "encoder: fp32, 0.0 MB, 1.00 times the time of fp32 a text" in told


def test_the_first_attempt_that_passes_is_taken(tried: Any) -> None:
    tried({("int8", 0): 1.0})
    assert encode("auto").parity.precision == "int8"


@pytest.mark.parametrize("precision", ["int8", "fp16"])
def test_a_precision_that_was_asked_for_is_kept_to(tried: Any, precision: str) -> None:
    tried({(precision, attempt): 1.0 for attempt in range(3)})
    with pytest.raises(CheckFailedError) as caught:
        encode(precision, make_demonstrations())
    message = str(caught.value)
    assert message.startswith(f"parity gate ({precision}): ")
    assert f"below {MIN_COSINE[precision]} (the least " in message
    assert "Nothing was written. Without --precision" in message
    assert "VNNI" not in message


def test_no_demonstrations_are_enough(tried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried({})
    given: list[Any] = []
    monkeypatch.setattr(build, "training_set", lambda *arguments: given.append(arguments))
    encoded = encode("auto")
    measured = encoded.parity
    assert (encoded.training, given) == (None, [])
    assert list(encoded.golden["queries"]) == [
        "find file",
        "send mail",
        "write note",
        "play music",
        "book meeting",
        "phone call",
    ]
    assert encoded.golden["vectors"].shape == (6, 24)
    assert measured.demonstrations.observations == 0
    assert measured.tools.observations == len(TOOLS)


def test_a_damaged_encoder_is_refused_without_demonstrations(tried: Any) -> None:
    tried({("int8", attempt): 1.0 for attempt in range(3)})
    assert encode("auto").parity.precision == "fp32"


@pytest.mark.parametrize("tool", [Tool("find_file", "find a file"), Tool("find_file", ""), Tool("_", "")])
def test_one_tool_is_enough(tried: Any, tool: Tool) -> None:
    tried({})
    assert encode("auto", [], [tool]).parity.precision == "int8"
    tried({("int8", attempt): 3.0 for attempt in range(3)})
    if tool.name != "_":
        assert encode("auto", [], [tool]).parity.precision == "fp32"


def test_noise_is_accepted_where_a_shown_loss_is_not() -> None:
    # What a default build was refused for: 0.0068 on 110 queries.
    noise = replace(FINE, demonstrations=Loss(110, 0.6396, 0.6328, -0.004, 0.0176))
    assert problems(noise) == []
    (shown,) = problems(replace(FINE, demonstrations=Loss(2000, 0.6396, 0.6196, 0.0123, 0.0277)))
    assert shown == (
        "nDCG@5 fell from 0.6396 to 0.6196 on 2000 demonstrations, which shows a loss of 0.0123 at least; "
        "at most 0.005 allowed"
    )
    (shown,) = problems(replace(FINE, tools=Loss(200, 0.9, 0.8, 0.05, 0.15)))
    assert "on 200 texts made from the tools" in shown


def test_one_strange_text_among_many_is_no_damage() -> None:
    assert problems(replace(FINE, below=1, cosine_min=0.7)) == []
    (shown,) = problems(replace(FINE, below=20, cosine_min=0.7))
    assert shown.startswith("20 of 100 texts have a cosine to the original below 0.98 (the least 0.70000)")


def test_figures_for_the_manifest_hold_no_time() -> None:
    figures = replace(FINE, cosine_min=0.98765432).to_dict()
    assert "time_ratio" not in figures
    assert figures["cosine_min"] == 0.987654
    assert figures["tools"] == {
        "observations": 0,
        "ndcg5_reference": 1.0,
        "ndcg5_exported": 1.0,
        "shown": 0.0,
        "at_most": 0.0,
    }


def test_ndcg_is_of_each_query_and_undefined_without_a_tool() -> None:
    scores = np.array([[0.9, 0.1, 0.5], [0.2, 0.3, 0.1], [0.0, 0.1, 0.2]], np.float32)
    found = ndcg5(scores, [frozenset({2}), frozenset(), frozenset({1, 2})])
    assert found[0] == pytest.approx(1 / np.log2(3))
    assert np.isnan(found[1])
    assert found[2] == pytest.approx(1)


def test_ndcg_is_scikit_learns() -> None:
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 12)).astype(np.float32)
    relevant = [frozenset(rng.choice(12, rng.integers(1, 8), replace=False).tolist()) for _ in scores]
    truth = np.array([[tool in tools for tool in range(12)] for tools in relevant], float)
    expected = [ndcg_score(truth[i : i + 1], scores[i : i + 1], k=5) for i in range(40)]
    np.testing.assert_allclose(ndcg5(scores, relevant), expected)


def test_tools_of_one_score_up_to_rounding_do_not_change_places() -> None:
    relevant = [frozenset({1})]
    a, b = (ndcg5(np.array([[0.5, 0.5 + shift]], np.float32), relevant) for shift in (1e-7, -1e-7))
    assert a == b


def test_texts_of_one_tool_count_once() -> None:
    questions = from_tools([Tool("sendMail", "Sends a mail. Takes an address. More."), Tool("go", ""), Tool("_", "")])
    assert questions.texts == ("send Mail", "Sends a mail.", "Takes an address.", "Sends a mail. Takes an", "go", "_")
    assert questions.observation.tolist() == [0, 0, 0, 0, 1, 2]
    assert questions.relevant[:5:4] == (frozenset({0}), frozenset({1}))
    same = np.eye(3, dtype=np.float32)
    zeros = np.zeros((0, 3), np.float32)
    vectors = parity.Vectors(zeros, np.tile(same[:1], (6, 1)), same)
    assert parity.compare("fp32", 1, 1.0, vectors, vectors, from_demonstrations([], []), questions).tools == Loss(
        3, pytest.approx((1 + 1 / np.log2(3) + 0.5) / 3), pytest.approx((1 + 1 / np.log2(3) + 0.5) / 3), 0.0, 0.0
    )


def test_demonstrations_of_the_same_words_count_once() -> None:
    calls = (Call("play_music"),)
    demonstrations = [Demonstration(str(i), query, calls) for i, query in enumerate(("Play it", "play  it", "stop"))]
    questions = from_demonstrations(demonstrations, TOOLS)
    assert questions.observation.tolist() == [0, 0, 1]
    assert questions.relevant == (frozenset({3}),) * 3


def test_a_sample_covers_both_ends_evenly() -> None:
    assert sample(0).tolist() == []
    assert sample(1).tolist() == [0]
    assert sample(5).tolist() == [0, 1, 2, 3, 4]
    assert sample(100, 4).tolist() == [0, 33, 66, 99]
    large = sample(1_000_003)
    assert (len(large), large[0], large[-1]) == (MAX_ITEMS, 0, 1_000_002)
    assert set(np.diff(large)) <= {977, 978}


def test_every_beginning_of_a_mixed_order_is_a_sample() -> None:
    assert mixed(0) == []
    assert mixed(LOOKS[0]) == list(range(LOOKS[0]))
    order = mixed(100_000)
    assert len(set(order)) == len(order) == LOOKS[-1]
    assert abs(np.mean(order[: LOOKS[0]]) - 50_000) < 10_000
    assert order == mixed(100_000)


def asked_demonstrations(count: int) -> list[Demonstration]:
    words = ("mail", "note", "music", "meeting", "find", "play")
    called = ("send_mail", "write_note", "play_music", "book_meeting", "find_file", "play_music")
    return [Demonstration(str(i), f"{words[i % 6]} {i}", (Call(called[i % 6]),)) for i in range(count)]


def test_a_faithful_encoder_is_asked_as_little_as_shows_it(tried: Any) -> None:
    tried({})
    faithful = encode("int8", asked_demonstrations(5 * LOOKS[0])).parity
    assert (faithful.demonstrations.observations, faithful.demonstrations.at_most) == (LOOKS[0], 0.0)


def test_what_shows_nothing_either_way_is_asked_on(tried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried({})
    monkeypatch.setattr(gates, "decided", lambda loss: loss.observations >= LOOKS[1])
    many = asked_demonstrations(LOOKS[2])
    assert encode("int8", many).parity.demonstrations.observations == LOOKS[1]
    assert encode("int8", many[: LOOKS[0] + 1]).parity.demonstrations.observations == LOOKS[0] + 1


def test_a_loss_is_decided_when_it_is_shown_or_shown_to_be_small() -> None:
    limit = parity.MAX_NDCG_LOSS
    assert parity.decided(Loss(200, 0.9, 0.8, 2 * limit, 0.2))
    assert parity.decided(Loss(200, 0.9, 0.9, -limit, limit / 2))
    assert not parity.decided(Loss(200, 0.9, 0.9, -limit, 2 * limit))


def test_many_looks_ask_more_of_a_loss_than_one() -> None:
    # Every second request loses its tool. Where there were more tools there are more looks, each of which may refuse by
    # chance, so the same observations show less.
    shown = []
    for count in (LOOKS[0], LOOKS[0] + 1):
        questions = from_tools([Tool(f"tool{i}", "") for i in range(count)])
        tools = np.eye(count, dtype=np.float32)
        found = tools.copy()
        found[::2] = np.roll(tools[::2], 1, axis=0)
        shown.append(parity.loss_of(questions, (tools, tools), (found, tools), 1).shown)
    assert shown[0] > shown[1] + 0.01
