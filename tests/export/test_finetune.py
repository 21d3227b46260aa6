"""A build that tunes its encoder first: on what, kept where, and who judges what is built on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import encode_tiny, full, make_demonstrations

from edgeret import Call, Demonstration, Tool
from edgeret.errors import InputError
from edgeret_export import cli, finetune
from edgeret_export.encoders.adapter import ADAPTER, CARD
from edgeret_export.finetune import HELD_BACK, LEAST, finetuned
from edgeret_export.fitting.crossfit import crossfit
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.training_set import FEW_PLANS
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card
from edgeret_export.sources.priors import read_prior

TOOLS = [Tool("send_mail", "Sends a mail."), Tool("find_file", "Finds a file.")]
DEMONSTRATIONS = [Demonstration(str(i), f"request number {i}", (Call(TOOLS[i % 2].name),)) for i in range(LEAST)]


@pytest.fixture
def tunings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """What was tuned on, instead of tuning."""
    found: list[tuple[Any, ...]] = []

    def pretend(sets: Any, left_out: Any, card: Any, tuning: Any, target: Path, **options: Any) -> None:
        found.append((sets, left_out, card, options))
        target.mkdir()
        (target / ADAPTER).write_bytes(b"weights")
        (target / CARD).write_text("{}", encoding="utf-8")

    monkeypatch.setattr(finetune, "tune", pretend)
    monkeypatch.setattr(finetune, "cache_folder", lambda: tmp_path)
    return found


def test_nine_of_ten_requests_are_tuned_on_and_the_tenth_is_told(tunings: list[tuple[Any, ...]]) -> None:
    card, held_back = finetuned(find_card(DEFAULT_ENCODER), TOOLS, DEMONSTRATIONS, 0, True)
    (((fit,), (chosen,), plain, options),) = tunings
    assert {d.query for d in chosen.demonstrations} == held_back and len(held_back) == LEAST // HELD_BACK
    assert not held_back & {d.query for d in fit.demonstrations}
    assert len(fit.demonstrations) + len(chosen.demonstrations) == LEAST
    assert plain.encoder.adapter is None and options["resume"]
    assert card.encoder is not None and card.encoder.adapter is not None
    assert card.encoder.adapter.name.startswith("finetuned-")


def test_what_was_tuned_is_not_tuned_again_and_other_demonstrations_are(tunings: list[tuple[Any, ...]]) -> None:
    base = find_card(DEFAULT_ENCODER)
    first, _ = finetuned(base, TOOLS, DEMONSTRATIONS, 0, True)
    again, _ = finetuned(base, TOOLS, DEMONSTRATIONS, 0, True)
    assert first == again and len(tunings) == 1
    finetuned(base, TOOLS, [*DEMONSTRATIONS, Demonstration("more", "one more", (Call("find_file"),))], 0, True)
    assert len(tunings) == 2


def test_too_few_demonstrations_and_two_adapters_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=f"at least {LEAST} different requests that call a tool, found {LEAST - 1}"):
        finetuned(find_card(DEFAULT_ENCODER), TOOLS, DEMONSTRATIONS[1:], 0, True)
    tools = tmp_path / "tools.jsonl"
    tools.write_text('{"name": "send_mail", "description": "Sends a mail."}\n', encoding="utf-8")
    line = ["build", "--tools", str(tools), "-o", str(tmp_path / "b"), "--finetune", "--adapter", "none", "--offline"]
    assert cli.main(line) == 2
    assert "leave out --adapter or --finetune" in capsys.readouterr().err


@pytest.mark.parametrize("few", [0, *full(FEW_PLANS)])
def test_only_the_plans_that_judge_are_predicted_and_all_are_learned_from(few: int) -> None:
    training = encode_tiny(Recipe(precision="fp32"), make_demonstrations(), few=few).training
    assert training is not None
    one_fold = {d.query for d, fold in zip(training.demonstrations, training.folds, strict=True) if fold == 1}
    judged = training.judged_by(one_fold)
    rows = judged.decisions.plan[judged.judging_rows]
    assert {judged.demonstrations[plan].query for plan in rows.tolist()} == one_fold
    assert len(judged.decisions) == len(training.decisions)
    fitted, whole = (
        crossfit(each, training.queries.vectors[:9], 3, HeadOptions(), read_prior("tiny").calibration_map)
        for each in (judged, training)
    )
    assert fitted.report["decisions"] == len(rows) < whole.report["decisions"]
    assert fitted.held_out is not None and whole.held_out is not None
    kept = np.isin(whole.held_out.rows, fitted.held_out.rows)
    assert np.array_equal(whole.held_out.rows[kept], fitted.held_out.rows)
