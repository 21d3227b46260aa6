"""The compiled library is used where it was made of the sources that are here, and nowhere else."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from edgeret_export.reference import kernel
from edgeret_export.reference.scoring import increments, learner
from edgeret_export.reference.scoring.compiled import keep_compiled
from edgeret_export.reference.scoring.learner import Learner
from edgeret_export.reference.scoring.memory import MAX_CALLS
from edgeret_export.reference.scoring.offsets import KEPT, keep


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library and its sources in a folder of the test's own."""
    if kernel.LIBRARY is None:
        pytest.skip("the package was built without a C compiler")
    for file in (kernel.FILE, *kernel.FILE.parent.glob("*.[ch]")):
        shutil.copy(file, tmp_path)
    monkeypatch.setattr(kernel, "FILE", tmp_path / kernel.FILE.name)
    return tmp_path


def test_a_library_of_these_sources_is_loaded(copied: Path) -> None:
    assert kernel.load() is not None


def test_a_library_of_other_sources_is_left_alone(copied: Path) -> None:
    for source in copied.glob("*.[ch]"):
        source.write_text("/* newer */")
    assert kernel.load() is None


@pytest.mark.parametrize("content", [b"", b"not a library", b"\x7fELF" + bytes(200)])
def test_a_file_that_is_no_library_is_none(copied: Path, content: bytes) -> None:
    kernel.FILE.unlink()
    assert kernel.load() is None
    kernel.FILE.write_bytes(content)
    assert kernel.load() is None


@pytest.mark.skipif(kernel.LIBRARY is None, reason="the package was built without a C compiler")
def test_the_longest_plans_are_learned_alike_by_the_library_and_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = []
    for library in (kernel.LIBRARY, None):
        for module in (increments, learner):
            monkeypatch.setattr(module, "LIBRARY", library)
        rng, made = np.random.default_rng(5), Learner(8, replayed=2)
        for label in range(1, 40):
            made.label(f"tool-{label}")
        for _ in range(6):
            vector = rng.normal(size=8)
            calls = (1 + rng.integers(39, size=MAX_CALLS)).tolist()
            base = np.log(rng.dirichlet(np.ones(40), MAX_CALLS + 1)).astype(np.float32)
            made.learn((vector / np.linalg.norm(vector)).astype(np.float32), calls, base, np.arange(40))
        rows = made.increments
        squares = rows.squares[: rows.rows]
        learned.append((rows.history, rows.weights, squares, made.mixture.weights, np.array(made.guard.total)))
    for compiled_numbers, numbers in zip(*learned, strict=True):
        np.testing.assert_allclose(compiled_numbers, numbers, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("candidates", [1, 2, KEPT - 1, KEPT, KEPT + 1, 60, 300])
def test_the_library_keeps_of_the_base_what_numpy_keeps_to_the_bit(candidates: int) -> None:
    if (library := kernel.LIBRARY) is None:
        pytest.skip("the package was built without a C compiler")
    rng = np.random.default_rng(candidates)
    for names in (1, candidates, candidates + 5):
        for steps in (1, 4, 9):
            log_p = np.log(rng.dirichlet(np.full(candidates, 0.1), steps) + 1e-30).astype(np.float32)
            rounded, gone = np.round(log_p), np.where(rng.random(log_p.shape) < 0.3, -np.inf, log_p)
            positions = rng.integers(-1, candidates, names)  # labels without a candidate, and two that share one
            positions[0] = candidates - 1
            targets = rng.choice(np.flatnonzero(positions >= 0), steps).tolist()
            for each in (log_p, rounded, gone):
                mine, numpys = keep_compiled(library, each, positions, targets), keep(each, positions, targets)
                assert mine.labels.tobytes() == numpys.labels.tobytes()
                assert mine.log_p.tobytes() == numpys.log_p.tobytes()
                assert (mine.labels.dtype, mine.log_p.dtype) == (np.int32, np.float16)
