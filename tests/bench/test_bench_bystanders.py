"""What other programs took of the CPU, from counters of our own making and from the real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgeret_bench.results.files import others_share
from edgeret_bench.speed import system_load as bystanders
from edgeret_bench.speed.system_load import Bystanders

TICK = 1 / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Time since the start and this process's own CPU time, in seconds, to be moved by hand."""
    now = {"time": 0.0, "own": 0.0}
    monkeypatch.setattr(bystanders, "perf_counter", lambda: now["time"])
    monkeypatch.setattr(bystanders, "_own_seconds", lambda: now["own"])
    return now


@pytest.fixture
def stat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bystanders, "STAT", tmp_path / "stat")
    return tmp_path / "stat"


def write(stat: Path, user: float = 0, system: float = 0, idle: float = 0, stolen: float = 0, cores: int = 2) -> None:
    """Counters in seconds, as Linux writes them, in ticks."""
    user, system, idle, stolen = (round(seconds / TICK) for seconds in (user, system, idle, stolen))
    total = f"cpu  {user} 0 {system} {idle} 7 0 0 {stolen} {user} 0\n"
    stat.write_text(total + "".join(f"cpu{i} 1 2 3 4 5 6 7 8 9 10\n" for i in range(cores)) + "intr 5\nctxt 3\n")


def test_what_others_took_is_all_work_but_our_own(stat: Path, clock: dict[str, float]) -> None:
    write(stat, user=100, system=10, idle=500, stolen=20)
    counting = Bystanders()
    write(stat, user=109, system=11, idle=508, stolen=22)
    clock.update(time=10.0, own=6.0)
    # Twenty seconds of two cores: ten of work, six of them ours; two stolen.
    assert counting.shares() == pytest.approx({"others": 0.2, "stolen": 0.1})


def test_shares_stay_between_none_and_all(stat: Path, clock: dict[str, float]) -> None:
    write(stat, user=100)
    counting = Bystanders()
    clock.update(time=1.0, own=1.0)
    # Counters move in ticks, so ours may run ahead of the system's.
    assert counting.shares() == {"others": 0, "stolen": 0}
    write(stat, user=900, stolen=900)
    assert counting.shares() == {"others": 1, "stolen": 1}


@pytest.mark.parametrize("content", [None, "", "cpu\n", "cpu  1 2 3\ncpu0 1\n", "cpu  a b c d e f g h\n", "intr 1 2\n"])
def test_a_machine_that_does_not_tell_is_unknown(stat: Path, clock: dict[str, float], content: str | None) -> None:
    if content is not None:
        stat.write_text(content)
    counting = Bystanders()
    clock.update(time=1.0)
    assert counting.shares() == {"others": None, "stolen": None}


def test_no_time_is_unknown(stat: Path, clock: dict[str, float]) -> None:
    write(stat)
    assert Bystanders().shares() == {"others": None, "stolen": None}


@pytest.mark.parametrize(
    ("result", "share"),
    [
        ({"other_load": {"others": 0.25}}, 0.25),
        ({"other_load": {"others": 0}}, 0),
        *(({"other_load": strange}, None) for strange in (None, {}, 3, {"others": None}, {"others": "much"})),
        ({}, None),
    ],
)
def test_a_result_says_what_others_took_or_nothing(result: dict[str, Any], share: float | None) -> None:
    assert others_share(result) == share


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system counts no such thing")
def test_the_real_counters_see_another_program() -> None:
    counted = bystanders.counted()
    if counted is None:
        pytest.skip("this sandbox hides the counters")
    spin = "from time import perf_counter as now\nstart = now()\nwhile now() - start < 0.6: pass"
    counting = Bystanders()
    subprocess.run([sys.executable, "-c", spin], check=True)
    others = counting.shares()["others"]
    # A core for at least 0.6 s of what the start of an interpreter makes longer; a sandbox may give half of one.
    assert others is not None
    assert others * counted[0] > 0.15
