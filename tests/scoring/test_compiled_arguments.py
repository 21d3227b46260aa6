"""The head for arguments in compiled code says what numpy's does, in every set of instructions that runs here."""

from __future__ import annotations

import numpy as np
import pytest

from edgeret.bundle.few_bits import to_bytes
from edgeret.host import instruction_set
from edgeret_export.reference.kernel import INSTRUCTION_SETS, LIBRARY
from edgeret_export.reference.scoring.argument_head import ArgumentHead
from edgeret_export.reference.scoring.argument_shape import (
    OPTION_FEATURES,
    PARAMETER_FEATURES,
    RELATIONS,
    UNIT_FEATURES,
    shapes,
)
from edgeret_export.reference.scoring.compiled_arguments import CompiledHead, compiled_head

DIMENSION = 48
HERE = instruction_set()
BESIDES = {"avx512_vnni": ("avx512", "avx2"), "avx512": ("avx2",), "avx_vnni": ("avx2",)}
RUNNING = ("generic", *((HERE, *BESIDES.get(HERE, ())) if HERE in INSTRUCTION_SETS[1:] else ()))
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="no library was compiled here")


def stored() -> dict[str, object]:
    chance, found = np.random.default_rng(1), dict[str, object]()
    for name, sizes in shapes(DIMENSION).items():
        array = chance.normal(size=sizes).astype(np.float32) * np.float32(0.8 / max(sizes[-1], 1) ** 0.5)
        if "norm" in name and name.endswith("weight"):
            array = array + np.float32(1)
        found[name] = to_bytes(array) if array.ndim == 2 else array
    return found


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize(
    ("units", "counts", "chunks"), [(1, [0], 0), (29, [0, 2, 0, 3], 5), (70, [400], 0), (400, [0], 9)]
)
def test_it_says_what_numpy_says(name: str, units: int, counts: list[int], chunks: int) -> None:
    assert LIBRARY is not None
    chance = np.random.default_rng(units)

    def numbers(*sizes: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return chance.normal(size=sizes).astype(np.float32)

    n, m = len(counts), sum(counts)
    head = ArgumentHead(stored())
    boolean = np.array([count == 2 for count in counts])
    asked = head.asked(numbers(1 + n + m, DIMENSION), numbers(n, PARAMETER_FEATURES), counts, boolean)
    places = np.array([(i, i % units, 2) for i in range(chunks)], np.int64).reshape(-1, 3)
    relations = (chance.random((n, units, RELATIONS)) > 0.7).astype(np.float32)
    given = (
        numbers(units, DIMENSION),
        numbers(units, UNIT_FEATURES),
        relations,
        places,
        asked,
        numbers(m, OPTION_FEATURES),
    )
    plain = head.plain_log_shares(*given)
    spans, options, absent = CompiledHead(LIBRARY, stored(), name).log_shares(*given)
    near = 0.15 if name in ("avx2", "avx512") else 0.07  # 127 levels of activations, or 255
    assert absent == pytest.approx(plain.absent, abs=near)
    assert options == pytest.approx(np.concatenate(plain.options), abs=near)
    possible = plain.spans > -20
    assert np.abs(spans - plain.spans)[possible].max(initial=0) < near
    assert (spans[~possible] < -19).all()


@pytest.mark.skipif(len(RUNNING) == 1, reason="numpy is faster here")
def test_it_is_used_for_bytes_alone() -> None:
    assert compiled_head(stored()) is not None
    floats = {name: one[0] * one[1][:, None] if isinstance(one, tuple) else one for name, one in stored().items()}
    assert compiled_head(floats) is None
