"""Trajectories as JSONL, one request a line: written as they are made, gone on with after a break, read back and
checked. Knows nothing of how they are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import is_text, json_type, parse_objects, read_text
from edgeret.inputs.queries import read_queries
from edgeret.quoting import quoted
from edgeret.terminal.progress import say, track
from edgeret_export.planner.trajectories import Request, SearchTurn, Trajectory

MADE_OF = "made_of"
"""The key of a line's hash: what the trajectory was made of beside its request."""
WHAT = "trajectories as JSONL"


def read_requests(path: Path, tools: Sequence[str]) -> list[Request]:
    """Requests that need a tool, with their tools in the file's order. Raises InputError naming the line."""
    queries = read_queries(path, tools)
    listed = [value["tools"] for _, value in parse_objects(read_text(path, "queries as JSONL"), path)]
    found = [
        Request(each.id, each.query, tuple(dict.fromkeys(names)))
        for each, names in zip(queries, listed, strict=True)
        if names
    ]
    if not found:
        raise InputError(f'{path}: no request needs a tool; give some whose "tools" are not empty')
    return found


def hash_of(parts: Mapping[str, Any]) -> str:
    """The hash of JSON-ready inputs."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def write_trajectories(
    path: Path, requests: Sequence[Request], made_of: str, make: Callable[[Request], Trajectory]
) -> list[Trajectory]:
    """Makes what the file does not have yet, a line as soon as it is made, and returns all. A line that was cut off is
    made again. Raises InputError for a file of other inputs, and where it cannot be written."""
    done = _lines_of(path, requests, made_of)
    if done:
        say(f"{path}: {len(done)} of {len(requests)} requests are there; going on")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            left = requests[len(done) :]
            for request in track(left, "making trajectories", len(left)):
                done.append(make(request))
                file.write(json.dumps(to_dict(done[-1], made_of), ensure_ascii=False) + "\n")
                file.flush()
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); give another place with -o") from None
    return done


def _lines_of(path: Path, requests: Sequence[Request], made_of: str) -> list[Trajectory]:
    """The trajectories that are there already, of these requests; a line without an end is cut off."""
    if not path.exists():
        return []
    try:
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            path.write_bytes(whole)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected {WHAT}") from None
    lines = list(parse_objects(read_text(path, WHAT), path))
    found = [from_dict(where, value) for where, value in lines]
    others = len(found) > len(requests) or any(value.get(MADE_OF) != made_of for _, value in lines)
    if others or [each.request for each in found] != list(requests[: len(found)]):
        raise InputError(
            f"{path}: holds trajectories of other requests, tools or options; remove it, or give another -o"
        )
    return found


def read_trajectories(path: Path) -> list[Trajectory]:
    """The trajectories of a file. Raises InputError naming the line, and for a file without any."""
    text = read_text(path, WHAT)
    if text and not text.endswith("\n"):
        raise InputError(f"{path}: its last line is cut off; go on with: edgeret-export lab trajectories … -o {path}")
    found = [from_dict(where, value) for where, value in parse_objects(text, path)]
    if not found:
        raise InputError(f"{path}: no trajectories in it; make some with: edgeret-export lab trajectories")
    return found


def to_dict(trajectory: Trajectory, made_of: str) -> dict[str, Any]:
    """A trajectory as its line."""
    request = trajectory.request
    turns = [
        {"query": turn.query, "goal": turn.goal, "found": list(turn.found), "ranks": dict(turn.ranks)}
        for turn in trajectory.turns
    ]
    return {
        "id": request.id,
        "query": request.query,
        "tools": list(request.tools),
        "plan": trajectory.plan,
        "goals": list(trajectory.goals),
        "turns": turns,
        "problem": trajectory.problem,
        MADE_OF: made_of,
    }


def from_dict(where: str, value: Mapping[str, Any]) -> Trajectory:
    """A line's trajectory. Raises InputError naming what is none."""
    request = Request(_text(where, value, "id"), _text(where, value, "query"), _texts(where, value, "tools"))
    goals, plan = _texts(where, value, "goals"), _text(where, value, "plan")
    turns = tuple(_turn(f'{where}: "turns"', each, len(goals)) for each in _list(where, value, "turns"))
    problem = None if value.get("problem") is None else _text(where, value, "problem")
    if problem is None and not (plan and request.tools and goals and turns):
        raise InputError(f'{where}: no "problem", and yet no "plan", "tools", "goals" or "turns"; make it again')
    return Trajectory(request, plan, goals, turns, problem)


def _turn(where: str, value: Any, goals: int) -> SearchTurn:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected objects, found {json_type(value)}")
    goal, ranks = value.get("goal"), value.get("ranks")
    if type(goal) is not int or not 0 <= goal < goals:
        raise InputError(f'{where}: "goal" must be the position of a goal, 0 to {goals - 1}')
    if not isinstance(ranks, dict) or not ranks or not all(_is_rank(rank) for rank in ranks.values()):
        raise InputError(f'{where}: "ranks" must be an object of ranks from 1 by tool, null for none')
    return SearchTurn(_text(where, value, "query"), goal, _texts(where, value, "found"), ranks)


def _is_rank(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 1)


def _text(where: str, value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str) or not is_text(found):
        raise InputError(f"{where}: {quoted(key)} must be text, found {json_type(found)}")
    return found


def _list(where: str, value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    if not isinstance(found, list):
        raise InputError(f"{where}: {quoted(key)} must be a list, found {json_type(found)}")
    return found


def _texts(where: str, value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = _list(where, value, key)
    if not all(isinstance(each, str) and is_text(each) for each in found):
        raise InputError(f"{where}: {quoted(key)} must be a list of texts")
    return tuple(found)
