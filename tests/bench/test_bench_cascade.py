"""The profiles of one bundle side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret_bench.accuracy import cascade
from edgeret_bench.results.figures import figures
from edgeret_bench.results.tables import measured
from tests.bench_cli import printed, refused, write_demonstrations
from tests.conftest import make_demonstrations


@pytest.fixture(scope="module")
def result(tiny_cascade: Path) -> dict[str, Any]:
    runtimes = {name: edgeret.load(tiny_cascade, profile=name) for name in ("tiny", "default", "full")}
    return cascade.run(runtimes, make_demonstrations(3))


def test_every_profile_is_measured_on_the_same_steps(result: dict[str, Any]) -> None:
    profiles = result["profiles"]
    assert (result["n_plans"], result["n_without_tool"]) == (21, 3)
    assert profiles["full"]["stages"] == {"full": 1.0}
    assert profiles["tiny"]["stages"] == {"static": 1.0}
    assert 0 < profiles["default"]["stages"]["static"] < 1  # to the made-up encoder all is alike
    assert profiles["full"]["lost"] == 0
    assert profiles["full"]["first_time_of_full"] == 1
    assert profiles["default"]["declined_when_none_fits"] == profiles["full"]["declined_when_none_fits"]


def test_the_result_has_a_table_and_a_picture(result: dict[str, Any]) -> None:
    (table,) = measured({"kind": "cascade", **result})
    assert [row[0] for row in table.rows] == ["tiny", "default", "full"]
    assert "steps by static" in table.header
    assert "declined" in table.note
    (figure,) = figures("x", {"kind": "cascade", **result})
    assert len(figure.drawing.data) == 3


def test_the_command_measures_all_profiles_and_says_what_a_bundle_lacks(
    capsys: pytest.CaptureFixture[str], tiny_cascade: Path, tiny_many: Path, tmp_path: Path
) -> None:
    demos = write_demonstrations(tmp_path / "d.jsonl", make_demonstrations(2))
    result = printed(capsys, "lab", "cascade", tiny_cascade, "--demos", demos)
    assert (result["kind"], list(result["profiles"])) == ("cascade", ["tiny", "default", "full"])
    assert "no table of token vectors" in refused(capsys, "lab", "cascade", tiny_many, "--demos", demos)
