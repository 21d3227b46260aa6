"""Stages give the same wherever they run: in this process, or on the workers of a Ray."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import EXAMPLE, build_tiny, make_demonstrations

from edgeret.errors import InputError, MissingExtraError
from edgeret_export import places
from edgeret_export.cli import main
from edgeret_export.places import HERE, LIGHT, OnRay, Place, place_of

BUILD = "import sys; from edgeret_export.cli import main; sys.exit(main())"
DEMONSTRATIONS = make_demonstrations(12)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Place]:
    """A Ray of this machine with two workers."""
    ray = pytest.importorskip("ray", reason="Ray is not installed; `make test-full` brings it")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))  # for the stages of this file
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        with place_of("") as place:
            yield place
        assert ray.is_initialized()  # whoever started it ends it
        ray.shutdown()


@pytest.fixture(params=["here", "ray"])
def place(request: pytest.FixtureRequest) -> Place:
    """Every place, one after the other."""
    return HERE if request.param == "here" else request.getfixturevalue("two_workers")


def late(shared: float, item: int) -> tuple[int, int]:
    """Takes longer for the first items than for the last; says which process it was."""
    time.sleep(shared * (40 - item))
    return item, os.getpid()


def refuse(shared: str, item: int) -> int:
    """Raises what a stage raises on purpose."""
    raise InputError(f"{shared}:{item}: not a number")


def break_down(shared: str, item: int) -> int:
    """Raises what nobody meant."""
    raise ZeroDivisionError("of\nall things")


@pytest.mark.parametrize("light", [False, True])
def test_results_come_in_the_order_of_the_items(place: Place, light: bool) -> None:
    found = list(place.each(late, 0.001, list(range(40)), light=light))
    assert [item for item, _ in found] == list(range(40))
    assert list(place.each(late, 0.001, [], light=light)) == []


def test_more_light_items_than_go_to_a_worker_together(place: Place) -> None:
    many = list(range(40)) * (LIGHT // 8)
    assert [item for item, _ in place.each(late, 0.0, many, light=True)] == many


def test_what_a_stage_raises_on_purpose_arrives_as_it_is(place: Place) -> None:
    with pytest.raises(InputError, match=r"^plans\.jsonl:3: not a number$"):
        list(place.each(refuse, "plans.jsonl", [3]))


def test_workers_are_other_processes_and_there_are_two(two_workers: Place) -> None:
    processes = {process for _, process in two_workers.each(late, 0.02, list(range(30, 40)))}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_a_worker_that_fails_is_one_line(two_workers: Place) -> None:
    with pytest.raises(InputError, match=r"a worker failed \(ZeroDivisionError: of all things\); its machine needs"):
        list(two_workers.each(break_down, "", [1]))


def test_a_worker_that_would_give_other_numbers_is_refused(two_workers: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {**places.likeness(), "numpy": "0.1"}
    monkeypatch.setattr(places, "likeness", lambda: ours)
    with pytest.raises(InputError, match=r"a worker has numpy \S+ for 0\.1 and would give other numbers"):
        list(two_workers.each(late, 0.0, [1]))


@pytest.mark.parametrize("few", [0, 1000], ids=["many", "few"])
def test_a_bundle_from_two_workers_is_the_same_to_the_byte(two_workers: Place, tmp_path: Path, few: int) -> None:
    assert isinstance(two_workers, OnRay)
    for name, where in (("here", HERE), ("ray", two_workers)):
        build_tiny(tmp_path / name, demonstrations=DEMONSTRATIONS, few=few, place=where)
    here, ray = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("here", "ray"))
    assert here == ray


def test_nobody_is_told_that_ray_is_used(two_workers: Place) -> None:
    from ray._common.usage import usage_lib

    assert not usage_lib.usage_stats_enabled()


@pytest.mark.real
def test_a_build_on_ray_has_the_hash_of_one_without(two_workers: Place, tmp_path: Path) -> None:
    lines = (EXAMPLE / "demonstrations.jsonl").read_text().splitlines()[::20]
    (tmp_path / "some.jsonl").write_text("\n".join(lines))
    hashes = []
    for name, options in (("here", []), ("ray", ["--ray"])):
        # A cache of its own, or the second would only read what the first encoded.
        cache = tmp_path / f"cache-{name}"
        cache.mkdir()
        kept = Path(os.environ.get("EDGERET_CACHE", Path.home() / ".cache" / "edgeret"))
        for folder in ("models", "onnx"):
            (cache / folder).symlink_to(kept / folder)
        command = [sys.executable, "-c", BUILD, "build", "--tools", str(EXAMPLE / "tools.jsonl")]
        command += ["--demos", str(tmp_path / "some.jsonl"), "--profile", "full", "-o", str(tmp_path / name), "--json"]
        environment = {**os.environ, "EDGERET_CACHE": str(cache)}
        told = subprocess.run([*command, *options], env=environment, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        hashes.append(json.loads(told.stdout)["content_hash"])
    assert hashes[0] == hashes[1]


def test_without_ray_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'edgeret-export\[ray\]'"), place_of(""):
        pass
    options = ["build", "--tools", str(EXAMPLE / "tools.jsonl"), "-o", str(tmp_path / "b"), "--ray"]
    assert main(options) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:99999"])
def test_an_address_where_no_ray_answers_is_one_line(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; `make test-full` brings it")
    options = ["build", "--tools", str(EXAMPLE / "tools.jsonl"), "-o", str(tmp_path / "b"), "--ray", address]
    assert main(options) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"--ray {address}: no Ray answers there" in told
    assert not (tmp_path / "b").exists()


def test_no_address_is_this_process() -> None:
    with place_of(None) as place:
        assert place is HERE
