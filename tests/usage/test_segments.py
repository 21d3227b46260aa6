"""Files of lines within a bound: what was acknowledged stays until it is the oldest, whoever else writes or dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

from edgeret.errors import InputError
from edgeret.usage.segments import PARTS, Segments, parts_of

DAY_S = 86_400.0
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="locks of whole files and killed writers are POSIX's")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class Clock:
    """Both clocks; the wall's may be set."""

    def __init__(self, now: float = 2e9) -> None:
        self.now, self.passed = now, 0.0

    def wall(self) -> float:
        return self.now

    def steady(self) -> float:
        return self.passed

    def go_on(self, seconds: float) -> None:
        self.now, self.passed = self.now + seconds, self.passed + seconds


def lines(folder: Path) -> list[bytes]:
    return [line for part in parts_of(folder) for line in part.read_bytes().splitlines()]


def test_lines_stay_in_order_within_the_bound_and_the_oldest_go(tmp_path: Path) -> None:
    bound, files = 16_000, Segments(tmp_path / "log", 16_000, DAY_S)
    for number in range(5000):
        assert files.put(b"%06d\n" % number)
        if not number % 97:
            assert sum(part.stat().st_size for part in parts_of(tmp_path / "log")) <= bound
    found = [int(line) for line in lines(tmp_path / "log")]
    assert found == list(range(found[0], 5000))
    assert len(found) * 7 > bound * (PARTS - 2) / PARTS


def test_what_is_told_once_stands_in_every_file_before_what_needs_it(tmp_path: Path) -> None:
    files = Segments(tmp_path, 16_000, DAY_S)
    for _ in range(1000):
        files.put(b"one\n", "set", b"told\n")
    for part in parts_of(tmp_path):
        found = part.read_bytes().splitlines()
        assert found[0] == b"told"
        assert found.count(b"told") == 1


def test_a_second_writer_has_files_of_its_own_and_a_later_one_goes_on(tmp_path: Path) -> None:
    first, second = (Segments(tmp_path, 1 << 20, DAY_S) for _ in range(2))
    first.put(b"a\n")
    second.put(b"b\n")
    assert [part.read_bytes() for part in parts_of(tmp_path)] == [b"a\n", b"b\n"]
    second.close()
    first.close()
    assert not first.put(b"late\n")
    third = Segments(tmp_path, 1 << 20, DAY_S)
    third.put(b"c\n")
    third.close()
    assert b"".join(lines(tmp_path)).count(b"c") == 1
    assert len(parts_of(tmp_path)) == (2 if sys.platform != "win32" else 3)


@POSIX
def test_so_many_writers_that_all_would_be_full_are_refused(tmp_path: Path) -> None:
    writers = [Segments(tmp_path, 16_000, DAY_S) for _ in range(PARTS)]
    with pytest.raises(InputError, match="fill the bound; give a larger one"):
        Segments(tmp_path, 16_000, DAY_S)
    writers[0].close()
    Segments(tmp_path, 16_000, DAY_S).close()


def aged(folder: Path, *times: float) -> None:
    for number, changed in enumerate(times):
        path = folder / f"{number:09}.jsonl"
        path.write_bytes(b"%d\n" % number)
        os.utime(path, (changed, changed))


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    clock = Clock()
    aged(tmp_path, clock.now - 9 * DAY_S, clock.now - 8 * DAY_S, clock.now - DAY_S)
    Segments(tmp_path, 1 << 20, 7 * DAY_S, clock.wall, clock.steady).close()
    assert lines(tmp_path) == [b"2"]


def test_a_clock_that_was_never_set_and_one_that_goes_back_make_nothing_old(tmp_path: Path) -> None:
    clock = Clock()
    aged(tmp_path, 1000.0, clock.now - DAY_S, 2000.0)
    Segments(tmp_path, 1 << 20, 7 * DAY_S, clock.wall, clock.steady).close()
    assert lines(tmp_path) == [b"0", b"1", b"2"]


def test_a_clock_that_jumps_while_it_runs_makes_nothing_old(tmp_path: Path) -> None:
    clock = Clock()
    files = Segments(tmp_path, 16_000, 7 * DAY_S, clock.wall, clock.steady)
    files.put(b"before\n")
    clock.now += 4000 * DAY_S
    for _ in range(300):
        files.put(b"after\n")
    assert lines(tmp_path)[0] == b"before"


def test_a_file_that_is_written_to_for_long_ends(tmp_path: Path) -> None:
    clock = Clock(tmp_path.stat().st_mtime)
    files = Segments(tmp_path, 1 << 20, 7 * DAY_S, clock.wall, clock.steady)
    for _ in range(10):
        clock.go_on(DAY_S / 2)
        for _ in range(40):
            files.put(b"one\n")
    assert len(parts_of(tmp_path)) >= 9


WRITER = """
import sys
from pathlib import Path
from edgeret.usage.segments import Segments
files, number = Segments(Path(sys.argv[1]), 1 << 25, 86400.0), 0
while files.put(b"%s %07d %s\\n" % (sys.argv[2].encode(), number, b"x" * 200)):
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    number += 1
"""


@POSIX
def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Several at once, each killed at its own moment; the rest goes on."""
    folder, said = tmp_path / "log", {}
    names = ["a", "b", "c", "d"]
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name], stdout=subprocess.PIPE, env=ENVIRONMENT)
        for name in names
    ]
    for place, (name, process) in enumerate(zip(names, running, strict=True)):
        assert process.stdout is not None
        for _ in range(200 + 150 * place):
            said[name] = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        said[name] = max([said[name], *map(int, process.stdout.read().split(b"\n")[:-1])])
        process.wait(PATIENCE_S)
    found: dict[str, list[int]] = {name: [] for name in names}
    # Who was killed within a line may leave half of one, which nobody acknowledged, at the end of a file.
    for line in (line for part in parts_of(folder) for line in part.read_bytes().split(b"\n")[:-1]):
        name, number, _ = line.decode().split(" ")
        found[name].append(int(number))
    for name in names:
        numbers = found[name]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert numbers[-1] >= said[name]
    assert sum(part.stat().st_size for part in parts_of(folder)) <= 1 << 25


@POSIX
def test_half_a_line_of_a_killed_writer_spoils_no_other_one(tmp_path: Path) -> None:
    (tmp_path / "000000004.jsonl").write_bytes(b'{"whole":1}\n{"half":')
    files = Segments(tmp_path, 1 << 20, DAY_S)
    files.put(b'{"next":1}\n')
    files.close()
    assert lines(tmp_path) == [b'{"whole":1}', b'{"half":', b'{"next":1}']


FULL = """
import resource, signal, sys, warnings
from pathlib import Path
from edgeret.usage.segments import Segments
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
files = Segments(Path(sys.argv[1]), 1 << 20, 86400.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (1005, 1005))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    put = [files.put(b"x" * 99 + b"\\n") for _ in range(20)]
print(sum(put), put.index(False), len(told), str(told[0].message).split(": ", 1)[1])
"""


@POSIX
def test_a_full_disk_ends_it_with_one_warning_and_no_half_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout.strip() == "10 10 1 no more is logged (File too large); decisions go on"
    assert lines(tmp_path) == [b"x" * 99] * 10


@POSIX
def test_links_are_not_followed_and_folders_that_cannot_be_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"mine")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "000000007.jsonl").symlink_to(target)
    files = Segments(tmp_path / "log", 1 << 20, DAY_S)
    files.put(b"one\n")
    assert target.read_bytes() == b"mine"
    with pytest.raises(InputError, match="cannot be written"):
        Segments(target, 1 << 20, DAY_S)
