"""Our dataclasses are the standard library's in all that can be seen of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret import records


def kinds(decorate: Callable[[type], type]) -> tuple[Any, ...]:
    """The same classes, made by either decorator."""

    @decorate
    class Point:
        """Somewhere."""

        LIMIT: ClassVar[int] = 3
        x: int
        y: float = 1.5
        tags: list[str] = dataclasses.field(default_factory=list)
        hidden: int = dataclasses.field(default=0, repr=False, compare=False)

        def __post_init__(self) -> None:
            if self.x > 1000:  # type: ignore[attr-defined]
                raise ValueError("too far")

        @property
        def twice(self) -> float:
            return 2 * self.y

    @decorate
    class One:
        only: str

    @decorate
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "mine"

    @decorate
    class Empty:
        pass

    return Point, One, Own, Empty


OURS = kinds(records.dataclass(frozen=True, slots=True))
THEIRS = kinds(dataclasses.dataclass(frozen=True, slots=True))
Point, One = OURS[:2]
values = st.tuples(st.integers(-9, 9), st.floats(-9, 9), st.lists(st.text(max_size=3), max_size=2), st.integers(0, 2))


@given(values, values)
def test_objects_are_shown_compared_and_changed_alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
    (one, other), (this, that) = ([kind[0](*given) for given in (a, b)] for kind in (OURS, THEIRS))
    assert repr(one) == repr(this)
    assert (one == other) is (this == that)
    assert dataclasses.asdict(one) == dataclasses.asdict(this)
    assert dataclasses.astuple(dataclasses.replace(one, x=5)) == dataclasses.astuple(dataclasses.replace(this, x=5))
    assert copy.deepcopy(one) == one
    assert one != this
    assert one.twice == this.twice


@pytest.mark.parametrize("number", range(len(OURS)))
def test_classes_are_alike(number: int) -> None:
    ours, theirs = OURS[number], THEIRS[number]
    assert dataclasses.is_dataclass(ours)
    for what in ("__slots__", "__match_args__", "__qualname__", "__module__"):
        assert getattr(ours, what) == getattr(theirs, what)
    assert str(inspect.signature(ours)).count(",") == str(inspect.signature(theirs)).count(",")
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert not hasattr(ours, "__dict__") or "__dict__" not in dir(ours)


def test_equal_objects_have_equal_hashes() -> None:
    assert hash(One("a")) == hash(One("a")) != hash(One("b"))
    assert len({One("a"), One("a"), One("b")}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))


@pytest.mark.parametrize("kind", [OURS[0], THEIRS[0]])
def test_nothing_is_changed_afterwards(kind: Any) -> None:
    made = kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError, AttributeError)):
        made.other = 2
    assert made.x == 1


@pytest.mark.parametrize("kind", [OURS[0], THEIRS[0]])
def test_wrong_arguments_are_refused(kind: Any) -> None:
    for wrong in ((), (1, 2, [], 3, 4)):
        with pytest.raises(TypeError):
            kind(*wrong)
    with pytest.raises(TypeError):
        kind(1, z=3)
    with pytest.raises(ValueError, match="too far"):
        kind(1001)


def test_every_object_has_a_list_of_its_own() -> None:
    one, other = Point(1), Point(1)
    assert one.tags == []
    assert one.tags is not other.tags


def test_objects_are_taken_apart_by_patterns() -> None:
    match Point(4, tags=["a"]):
        case Point(x, y, tags=[tag]):
            assert (x, y, tag) == (4, 1.5, "a")
        case _:
            pytest.fail("no match")


@records.dataclass(frozen=True, slots=True)
class Sent:
    """What goes to another process."""

    name: str
    more: tuple[int, ...] = ()


def test_objects_go_to_other_processes() -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        sent = pickle.dumps(Sent("a", (1, 2)), protocol)
        assert pickle.loads(sent) == Sent("a", (1, 2))  # noqa: S301


@pytest.mark.parametrize("field", [dataclasses.field(init=False), dataclasses.field(kw_only=True)])
def test_other_fields_are_left_to_the_standard_library(field: Any) -> None:
    given = type("Given", (), {"__annotations__": {"a": "int"}, "a": field})
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass"):
        records.dataclass(frozen=True, slots=True)(given)


@pytest.mark.parametrize("options", [{"frozen": False, "slots": True}, {"frozen": True, "slots": False}])
def test_other_kinds_are_left_to_the_standard_library(options: dict[str, bool]) -> None:
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass"):
        records.dataclass(**options)
