"""Learning on the device: what is learned moves decisions, lasts in an overlay, and goes when it is forgotten."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kill_learning import kill_at_random
from learned_states import chances, plan, state, stored
from python_reader import by_python

import edgeret
from edgeret.bundle.overlay_file import overlay_path
from edgeret.errors import InputError, OverlayError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime import learned as learned_module
from edgeret.types import Call
from edgeret_export.reference import learning
from edgeret_export.reference.overlay_writer import Overlay

QUERY = "open my letter and read it"
PLANS = [
    plan(QUERY, "find_file", "write_note"),
    plan("close the book and call me", "phone_call"),
    plan("share my calendar day", "send_mail", "book_meeting"),
    plan("zip it", "find_file"),
    plan("free day of my phone"),
]


def load(bundle: Path) -> edgeret.Runtime:
    return edgeret.load(bundle, overlay=True)


def learned(bundle: Path, *plans: Demonstration, **options: Any) -> Path:
    """The overlay after these plans were learned and the runtime was closed."""
    runtime = load(bundle)
    runtime.learn(plans or PLANS, **options)
    runtime.close()
    return overlay_path(bundle)


def test_one_demonstration_decides_where_only_tools_did(tiny_tools: Path) -> None:
    runtime = edgeret.load(tiny_tools)
    assert runtime.task(QUERY).next().tool != "phone_call"
    runtime.learn([plan(QUERY, "phone_call", "send_mail")])
    assert runtime.plan(QUERY).tools == ("phone_call", "send_mail")
    assert runtime.forget(QUERY) == 1
    assert runtime.task(QUERY).next().tool != "phone_call"


def test_what_was_learned_moves_a_bundle_of_demonstrations_at_once(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    before = chances(runtime, QUERY)
    report = runtime.learn([plan(QUERY, "phone_call")])
    after = chances(runtime, QUERY)
    assert max(before, key=before.get) != "phone_call"  # type: ignore[arg-type]
    assert after["phone_call"] > 10 * before["phone_call"]
    assert (report.learned, report.stored, report.used) == (1, 1, True)
    assert sum(after.values()) == pytest.approx(1, abs=1e-4)
    assert chances(edgeret.load(tiny), QUERY) == before


def test_the_map_of_a_confidence_comes_nearer_to_what_was_learned_with_every_plan(tiny: Path) -> None:
    runtime, points, other = by_python(tiny), ((0.0, 0.5), (1.0, 1.0)), ((0.0, 0.2), (1.0, 1.0))
    learned = runtime.learned
    assert isinstance(learned, learning.Learned)
    assert list(learned.calibrated(points)) == list(points)
    for count, lesson in enumerate(PLANS, 1):
        runtime.learn([lesson])
        for given in (points, other, points):
            (_, lowest), _ = learned.calibrated(given)
            assert lowest == pytest.approx(given[0][1] * 100 / (100 + count))


def test_a_corrected_task_teaches_the_corrected_calls(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    task = runtime.task(QUERY)
    task.next()
    task.correct("phone_call")
    task.learn()
    (told,) = runtime.learned.plans
    assert (told.query, told.calls, told.origin) == (QUERY, ("phone_call",), "corrected")
    other = runtime.task("write a note")
    other.accept(other.next())
    other.learn()
    assert runtime.learned.plans[1].origin == "accepted"
    assert [d.calls for d in runtime.learned.demonstrations()] == [(Call("phone_call"),), (Call("write_note"),)]


def test_a_task_with_foreign_calls_cannot_be_learned(tiny: Path) -> None:
    task = edgeret.load(tiny).task(QUERY)
    task.call("ask_the_user", foreign=True)
    with pytest.raises(InputError, match='unknown tool "ask_the_user"'):
        task.learn()


@pytest.mark.parametrize("unfolded", [learned_module.UNFOLDED, 2])
def test_a_restart_brings_the_same_state_and_decisions(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, unfolded: int
) -> None:
    for module in (learned_module, learning):
        monkeypatch.setattr(module, "UNFOLDED", unfolded)
    runtime = load(tiny)
    runtime.learn(PLANS)
    runtime.with_tools(add=[edgeret.Tool("lock_door", "close it")], keep=True).learn([plan("close it", "lock_door")])
    runtime.forget(id=1)
    runtime.learn([PLANS[0], plan("play my song", "play_music", "play_music")])
    again = load(tiny)
    assert state(again) == state(runtime)
    grown = runtime.with_tools(add=[edgeret.Tool("lock_door", "close it")])
    for query in (QUERY, "close it", "play my song"):
        assert chances(again, query) == chances(grown, query)


def test_threads_learn_decide_and_change_tools_at_once(tiny: Path) -> None:
    runtime = load(tiny)

    def work(number: int) -> None:
        for i in range(12):
            runtime.learn([plan(f"{QUERY} {number} {'zip ' * i}", "find_file", "send_mail")])
            chances(runtime, QUERY, ["find_file"])
            runtime.with_tools(add=[edgeret.Tool(f"extra_{number}", "zip")]).task(QUERY).next()
            if i == 6:
                runtime.forget(id=runtime.learned.plans[0].id)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, number) for number in range(4)]:
            done.result()
    assert state(load(tiny)) == state(runtime)


def test_while_another_one_writes_a_writer_is_refused_and_readers_see_the_last_acknowledged_state(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (learned_module, learning):
        monkeypatch.setattr(module, "WAIT_S", 0.01)
    writer, other = load(tiny), load(tiny)
    for count in (1, 2, 3):
        writer.learn(PLANS[count - 1 : count])
        assert state(load(tiny)) == state(writer)
    before = state(other)
    fingerprint = other.manifest.fingerprint
    with Overlay.open(overlay_path(tiny), fingerprint, other.manifest.content_hash):
        for change in (
            lambda: other.learn(PLANS[3:]),
            lambda: other.forget(everything=True),
            lambda: other.with_tools(remove=["play_music"], keep=True),
            lambda: writer.learn(PLANS[3:]),
        ):
            with pytest.raises(OverlayError, match="another one is writing to it"):
                change()
    assert state(other) == before
    assert state(load(tiny)) == state(writer)


def test_who_writes_after_another_one_first_takes_up_what_that_one_learned(tiny: Path) -> None:
    first, second = load(tiny), load(tiny)
    first.learn(PLANS[:2])
    first.close()
    second.learn(PLANS[2:4])
    second.forget(query=PLANS[2].query)
    second.close()
    first.learn(PLANS[4:])
    assert [query for query, _ in stored(first)] == [PLANS[i].query for i in (0, 1, 3, 4)]
    assert state(load(tiny)) == state(first)


def words_in(path: Path, query: str) -> list[str]:
    data = path.read_bytes().lower()
    return [word for word in {query.lower(), *query.lower().split()} if len(word) > 4 and word.encode() in data]


def test_forgotten_words_are_nowhere_in_the_file(tiny: Path) -> None:
    runtime, path = load(tiny), overlay_path(tiny)
    runtime.learn(PLANS)
    assert PLANS[2].query in words_in(path, PLANS[2].query)
    assert runtime.forget(f"  {PLANS[2].query.upper()} ") == 1
    assert words_in(path, PLANS[2].query) == []
    assert runtime.forget(tool="find_file") == 2
    assert words_in(path, QUERY) == []
    assert [query for query, _ in stored(load(tiny))] == [PLANS[1].query, PLANS[4].query]
    assert runtime.forget(everything=True) == 2
    assert path.stat().st_size == 132
    assert state(load(tiny)) == state(runtime) == state(edgeret.load(tiny))


def test_forgetting_one_plan_is_as_if_it_had_never_been_learned(tiny: Path) -> None:
    runtime, other = edgeret.load(tiny), edgeret.load(tiny)
    runtime.learn(PLANS)
    runtime.forget(PLANS[1].query)
    other.learn([PLANS[0], *PLANS[2:]])
    assert chances(runtime, QUERY) == pytest.approx(chances(other, QUERY), abs=0.02)


def test_words_that_a_later_plan_replaced_go_with_the_next_forgetting(tiny: Path) -> None:
    """To this encoder both queries are one, so only the later one's words are told."""
    runtime, path = load(tiny), overlay_path(tiny)
    runtime.learn([plan("Write a note", "play_music"), plan("WRITE A NOTE", "play_music")])
    assert stored(runtime) == [("WRITE A NOTE", ("play_music",))]
    assert b"Write a note" in path.read_bytes()
    assert runtime.forget(tool="phone_call") == 0
    assert b"Write a note" not in path.read_bytes()
    assert state(load(tiny)) == state(runtime)


def test_without_words_none_are_kept_and_the_decision_moves_all_the_same(tiny: Path) -> None:
    path = learned(tiny, plan(QUERY, "phone_call"), keep_words=False)
    assert words_in(path, QUERY) == []
    runtime = load(tiny)
    assert stored(runtime) == [(None, ("phone_call",))]
    assert runtime.learned.demonstrations() == []
    assert chances(runtime, QUERY)["phone_call"] > 10 * chances(edgeret.load(tiny), QUERY)["phone_call"]
    assert runtime.forget(tool="phone_call") == 1


def test_a_thousand_wrong_demonstrations_do_little_harm_to_what_was_demonstrated(tiny: Path) -> None:
    """Wrong ones are far from what users say, or contradict each other: what the bundle knows outlives them."""
    names = list(edgeret.load(tiny).tools)
    fillers = ["zip", "share", "free", "open", "phone", "song", "pack", "day", "letter", "stop"]
    wrong = [
        plan(" ".join((fillers[i % 10], fillers[i // 10 % 10], fillers[i // 100])), names[(7 * i + i // 6) % 6])
        for i in range(1000)
    ]
    runtime = edgeret.load(tiny)
    right = {"write a note": "write_note", "book the meeting then send a mail": "book_meeting"}
    before = {query: chances(runtime, query)[tool] for query, tool in right.items()}
    runtime.learn(wrong)
    for query, tool in right.items():
        assert runtime.task(query).next(policy="heads").tool == tool
        assert chances(runtime, query)[tool] > before[query] - 0.2
    assert runtime.learned.count <= 10_000


def test_contradictions_are_muted_or_undone_by_a_few_right_ones(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    runtime.learn([plan("write a note", name) for _ in range(100) for name in ("play_music", "phone_call")])
    runtime.learn([plan("write a note", "write_note")] * 5)
    assert runtime.task("write a note").next(policy="heads").tool == "write_note"
    assert runtime.learned.count <= 3


@pytest.mark.parametrize("calls", [256, 10_000])
def test_a_plan_of_too_many_calls_is_refused_before_anything_is_learned(tiny: Path, calls: int) -> None:
    runtime = load(tiny)
    with pytest.raises(InputError, match=f"{calls} calls in a demonstration, at most 255"):
        runtime.learn([PLANS[0], plan(QUERY, *["find_file"] * calls)])
    assert runtime.learned.count == 0
    assert not overlay_path(tiny).exists()
    with pytest.raises(InputError, match="256 calls were made already"):
        runtime.task(QUERY, ["find_file"] * 10_000)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("write a note", "learn takes a list"),
        ([("write a note", "write_note")], "found tuple"),
        ([plan("", "write_note")], "empty"),
        ([PLANS[0], plan(QUERY, "nobody")], 'unknown tool "nobody"'),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is(tiny: Path, given: Any, message: str) -> None:
    runtime = edgeret.load(tiny)
    with pytest.raises(InputError, match=message):
        runtime.learn(given)
    assert runtime.learned.count == 0


def test_what_to_forget_must_be_said_once(tiny: Path) -> None:
    runtime = edgeret.load(tiny)
    for said in ({}, {"query": "a", "tool": "b"}, {"id": 1, "everything": True}):
        with pytest.raises(InputError, match="say what to forget"):
            runtime.forget(**said)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be text, found int"):
        runtime.forget(3)  # type: ignore[arg-type]


def test_what_is_cut_off_is_left_out_and_damage_is_refused(tiny: Path) -> None:
    path = learned(tiny)
    data = path.read_bytes()
    for cut in range(133, len(data), 97):
        path.write_bytes(data[:cut])
        assert load(tiny).learned.count < len(PLANS)
    for place in range(140, len(data) - 700, 211):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(OverlayError, match=r"b.*overlay: .*bring back a copy"):
            load(tiny)
    path.write_bytes(b"hello")
    with pytest.raises(OverlayError, match="not an edgeret overlay"):
        load(tiny)


def test_an_overlay_of_another_encoder_is_refused(tiny: Path, tmp_path: Path) -> None:
    from conftest import tiny_bundle

    path = learned(tiny)
    stranger = tiny_bundle(tmp_path / "stranger", seed=1)
    with pytest.raises(OverlayError, match="learned with another encoder"):
        edgeret.load(stranger, overlay=path)
    learned(stranger)


def records(path: Path, bundle: Path) -> list[tuple[str, dict[str, Any]]]:
    manifest = edgeret.load(bundle).manifest
    found = Overlay.open(path, manifest.fingerprint, manifest.content_hash, read_only=True)
    return [(record.kind, dict(record.value)) for record in found.records]


def forge(path: Path, bundle: Path, content: list[tuple[str, dict[str, Any]]]) -> None:
    """Writes an overlay with these records and right hashes."""
    manifest = edgeret.load(bundle).manifest
    with Overlay.open(path, manifest.fingerprint, manifest.content_hash) as overlay:
        overlay.compact(content)


def strange_values(value: Any) -> list[Any]:
    """Other values for a field; for an array, also others of its kind."""
    found: list[Any] = [None, -1, 2**63, 1e308, "x" * 70, [], [1], {}, {"dtype": "<f4"}, b"x", True]
    if isinstance(value, dict) and set(value) >= {"dtype", "shape", "data"}:
        size = len(value["data"])
        found += [{**value, "data": fill * size} for fill in (b"\x00", b"\x7f", b"\xff")]
        found += [{**value, "shape": [0]}, {**value, "shape": [2**40]}, {**value, "dtype": "|O"}]
    if isinstance(value, list):
        found += [["<end>"], ["nobody"] * 3, value * 300, [*value, 7]]
    return found


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
@pytest.mark.parametrize("folded", [False, True])
def test_forged_records_with_right_hashes_are_refused_or_decide_sanely(tiny: Path, folded: bool, every: int) -> None:
    path = learned(tiny, *PLANS[:3])
    if folded:
        assert load(tiny).forget(id=10**6) == 0
    genuine = records(path, tiny)
    assert {kind for kind, _ in genuine} == ({"learned-plan", "learned-state"} if folded else {"plan"})
    refused = 0
    for number, (kind, value) in enumerate(genuine):
        if kind in [before for before, _ in genuine[:number]]:
            continue
        for turn, key in enumerate(value):
            for strange in [*strange_values(value[key]), KeyError][turn % every :: every]:
                kept = {k: v for k, v in value.items() if k != key}
                forged = kept if strange is KeyError else {**value, key: strange}
                forge(path, tiny, [*genuine[:number], (kind, forged), *genuine[number + 1 :]])
                refused += not sane(tiny)
    assert refused > 40 // every  # so the forger does get at what is checked


def sane(bundle: Path) -> bool:
    """Whether the overlay is read; then everything it makes of a query must be a probability, and it must be possible
    to learn more, and to read that again."""
    try:
        runtime = load(bundle)
    except OverlayError as error:
        assert "\n" not in str(error)
        assert "build the bundle" not in str(error)
        return False
    for query in (QUERY, "write a note"):
        values = chances(runtime, query).values()
        assert sum(values) == pytest.approx(1, abs=1e-3)
        assert all(0 <= value <= 1 for value in values)
    runtime.learn(PLANS[3:4])
    _ = runtime.learned.demonstrations(), runtime.learned.status, runtime.learned.size_bytes
    runtime.close()
    assert state(load(bundle)) == state(runtime)
    return True


def test_unknown_kinds_of_records_are_passed_over_and_kept(tiny: Path) -> None:
    path = learned(tiny)
    forge(path, tiny, [("from-the-future", {"x": 1}), *records(path, tiny)])
    runtime = load(tiny)
    assert runtime.forget(id=0) == 1
    assert records(path, tiny)[0] == ("from-the-future", {"x": 1})


@pytest.mark.skipif(sys.platform == "win32", reason="kills are POSIX's")
def test_who_is_killed_while_learning_has_learned_what_was_acknowledged(tmp_path: Path) -> None:
    assert kill_at_random(tmp_path, 2, seed=1)["lost"] == []


def test_a_compaction_that_fails_leaves_the_plan_learned(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OverlayError("no room")

    runtime = by_python(tiny, overlay=True)
    with monkeypatch.context() as patch:
        patch.setattr(learning, "UNFOLDED", 1)
        patch.setattr(Overlay, "compact", fails)
        runtime.learn(PLANS)
        with pytest.raises(OverlayError, match="no room"):
            runtime.forget(id=0)
    assert runtime.learned.count == len(PLANS)
    assert state(by_python(tiny, overlay=True)) == state(runtime)
    runtime.learn([plan("stop it", "phone_call")])
    assert state(by_python(tiny, overlay=True)) == state(runtime)
