"""What `conformance/` says of small bundles of every kind: the reference still says so, and the core does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from ctypes import CDLL
from pathlib import Path
from typing import Any

import core_run
import pytest
from binding import Core
from core_build import CORE
from test_core_explain import told

import edgeret
from edgeret import Vote
from edgeret.core.understood import kinds_of, words_of
from edgeret.errors import EdgeretError
from edgeret_export.reference.runtime import load_reference

CONFORMANCE = Path(__file__).parents[2] / "conformance"
KINDS = sorted(path.stem for path in CONFORMANCE.glob("*.json"))


def test_the_reference_would_write_the_same() -> None:
    made = subprocess.run([sys.executable, CONFORMANCE / "make.py", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_the_program_around_the_core_gives_every_number(core: CDLL, kind: str, tmp_path: Path) -> None:
    program, library = tmp_path / "conformance", Path(core._name)
    flags = ("-std=c11", f"-I{CORE / 'include'}", f"-Wl,-rpath,{library.parent}")
    subprocess.run(["cc", *flags, CORE / "test" / "conformance.c", library, "-o", program], check=True)
    told = json.loads((CONFORMANCE / f"{kind}.json").read_bytes())
    wanted = [(CONFORMANCE / kind, *core_run.expected(told))]
    assert not core_run.check(kind, [str(program)], wanted)
    for why, folder in core_run.forged(told, CONFORMANCE / kind, tmp_path):
        done = subprocess.run([program, folder], input="", capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, why
        with pytest.raises(EdgeretError):
            edgeret.load(folder)
        with pytest.raises(EdgeretError):
            load_reference(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_the_core_gives_every_number(core: CDLL, kind: str) -> None:
    wanted = json.loads((CONFORMANCE / f"{kind}.json").read_bytes())
    model = Core(core).load(CONFORMANCE / kind)
    assert (model.content_hash, model.names) == (wanted["contentHash"], wanted["tools"])
    for request in wanted["requests"]:
        query, said = request["query"], request["understood"]
        read = words_of(query)
        assert (read.language, read.sure, read.only_asks) == (said["language"], said["sure"], said["onlyAsks"])
        assert (list(map(list, read.clauses)), list(read.parts)) == (said["clauses"], said["parts"])
        assert read.values == kinds_of(said["values"])
        assert [[begin, end] for _, begin, end in model.tokens(query)] == request["spans"]
        assert model.encode(query) == pytest.approx(request["vector"], abs=2e-6)
        found = model.search(query, len(wanted["tools"]))
        assert [tool for tool, *_ in found] == [tool for tool, _ in request["search"]]
        assert [share for *_, share in found] == pytest.approx([share for _, share in request["search"]], abs=2e-6)
        for step in request["steps"]:
            with model.task(query) as task:
                for name in step["history"]:
                    task.call(name)
                decided = task.next()
                assert (decided.tool, decided.abstained, decided.confirm) == (
                    step["tool"],
                    step["abstained"],
                    step["confirm"],
                )
                assert decided.probability == pytest.approx(step["probability"], abs=2e-6)
                assert dict(task.candidates(100)) == pytest.approx(dict(step["candidates"]), abs=2e-6)
                if "votes" in step:
                    same_votes(told(task, [name for name, _ in step["candidates"][:3]]).votes, step["votes"])
    model.close()


def same_votes(found: Sequence[Vote], wanted: Sequence[Any]) -> None:
    assert [vote.part for vote in found] == [part for part, *_ in wanted]
    for vote, (part, weight, shares) in zip(found, wanted, strict=True):
        assert vote.weight == pytest.approx(weight, abs=2e-6), part
        said = [None if one is None else pytest.approx(one, abs=1e-5) for one in shares]
        assert list(vote.probabilities.values()) == said, part
