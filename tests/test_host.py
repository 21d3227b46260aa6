"""What this process may use of the machine: one number of threads for the library, ONNX Runtime and llama.cpp."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgeret import host
from edgeret.host import available_cpus, thread_budget


@pytest.fixture
def cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of eight CPUs, with these cgroups."""
    monkeypatch.setattr(host, "_CGROUPS", tmp_path)
    monkeypatch.setattr(host, "_OWN_CGROUPS", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("own", "inner", "outer", "cpus"),
    [
        ("0::/a/b\n", "max 100000", "max 100000", 8),
        ("0::/a/b\n", "300000 100000", "max 100000", 3),
        ("0::/a/b\n", "max 100000", "200000 100000", 2),
        ("0::/a/b\n", "50000 100000", "600000 100000", 1),
        ("0::/a/b\n", "no", "", 8),
        ("0::/a/b\n", "0 0", "-1 7", 8),
        ("0::/../../etc\n", "300000 100000", "", 8),
        ("no\n\n:::\n", "300000 100000", "", 8),
    ],
)
def test_the_least_quota_of_all_groups_counts(cgroups: Path, own: str, inner: str, outer: str, cpus: int) -> None:
    write(cgroups / "own", own)
    write(cgroups / "a/b/cpu.max", inner)
    write(cgroups / "a/cpu.max", outer)
    assert available_cpus() == cpus


@pytest.mark.parametrize(("quota", "cpus"), [("400000", 4), ("-1", 8)])
def test_the_older_version_of_cgroups_is_read_too(cgroups: Path, quota: str, cpus: int) -> None:
    write(cgroups / "own", "5:memory:/x\n4:cpu,cpuacct:/x\n")
    write(cgroups / "cpu,cpuacct/x/cpu.cfs_quota_us", quota)
    write(cgroups / "cpu,cpuacct/x/cpu.cfs_period_us", "100000")
    assert available_cpus() == cpus


@pytest.mark.parametrize(
    ("said", "asked", "threads"),
    [
        *((None, None, 8), ("3", None, 3), ("3,2", None, 3), (" 2 ", None, 2), ("100", None, 8)),
        *(("0", None, 8), ("-1", None, 8), ("many", None, 8), ("²", None, 8), ("", None, 8)),
        *(("3", 5, 5), ("3", 100, 8), (None, 1, 1)),
    ],
)
def test_what_is_asked_for_goes_before_the_variable_and_neither_beyond_the_cpus(
    cgroups: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, asked: int | None, threads: int
) -> None:
    if said is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert thread_budget(asked) == threads
