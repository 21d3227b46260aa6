"""The fit of what later turns take from earlier ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from edgeret.errors import InputError
from edgeret.inputs.conversations import RecordedConversation
from edgeret.types import Call, Turn
from edgeret_export import cli
from edgeret_export.fitting.turns import Decided, decided_steps, fit_turns, measure_turns
from edgeret_export.reference.runtime import load_reference
from edgeret_export.reference.scoring.turns import TurnWeights

START = TurnWeights(
    (0.7, 0.3, 0, 0, 0), (0.7, 0, 0, 0), (0.7, 0), ((-1.0, -1.0, *[0.0] * 7),) * 2, (0, 1, *[0] * 6, 1, *[0] * 8), 0.0
)
"""Where a fit begins."""
TALKS = [
    RecordedConversation(str(i), (Turn(first, (Call(tool),)), Turn(second, (Call(tool),)), Turn("stop", ())))
    for i, (first, tool, second) in enumerate(
        [
            ("find my file", "find_file", "no to me"),
            ("write a note", "write_note", "to me"),
            ("play music", "play_music", "no it"),
            ("send a mail", "send_mail", "to it"),
        ]
        * 4
    )
]


@pytest.fixture(scope="module")
def decided(tiny_original: Path) -> list[Decided]:
    return decided_steps(load_reference(tiny_original, threads=1), TALKS)


def test_every_step_behind_the_first_turn_is_one_to_decide(decided: list[Decided]) -> None:
    assert len(decided) == len(TALKS) * 3
    assert [len(one.step.made) for one in decided[:3]] == [0, 1, 0]
    assert all(one.right == one.step.end for one in decided[1::3])


def test_a_fit_learns_that_these_users_repeat_themselves(decided: list[Decided]) -> None:
    _, before = measure_turns(decided, START)
    confidence, after = measure_turns(decided, fit_turns(decided))
    assert after.mean() > before.mean()
    assert np.isfinite(confidence).all()


def test_conversations_of_one_turn_teach_nothing(tiny_original: Path) -> None:
    with pytest.raises(InputError, match="no conversation has a second turn"):
        decided_steps(load_reference(tiny_original, threads=1), [RecordedConversation("a", TALKS[0].turns[:1])])


def test_the_command_writes_weights_that_can_be_read(tiny_original: Path, tmp_path: Path) -> None:
    talks, file = tmp_path / "c.jsonl", tmp_path / "w.json"
    lines = [
        {"turns": [{"query": t.query, "calls": [{"tool": c.tool} for c in t.calls]} for t in talk.turns]}
        for talk in TALKS
    ]
    talks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli.main(["lab", "turns", str(tiny_original), "--conversations", str(talks), "-o", str(file)]) == 0
    told = json.loads(file.read_text())
    for name in ("tools", "demonstrated"):
        TurnWeights.from_dict(told[name], name)
        assert told["held_out"][name]["steps"] == len(TALKS) * 3
