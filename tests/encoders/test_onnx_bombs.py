"""Small ONNX files that ask for gigabytes or minutes: refused before anything of that size is allocated or computed.

Run as a script with a first number and a count, this file hands them to an encoder, in processes with limits, and tells
what became of each: `PYTHONPATH=tests python tests/encoders/test_onnx_bombs.py 0 11`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from limited import main, outcomes
from onnx import TensorProto
from test_onnx_file import ENCODER, SIZE, Change, between, constant, node, several, tiny

from edgeret.encoders.base import OUTPUT
from edgeret.encoders.providers import choose
from edgeret.errors import BundleError
from edgeret_export.reference.encoders.onnx import OnnxEncoder

LONGEST = 2000
COLUMN, ROW = (constant(n, np.ones(shape, np.float32)) for n, shape in (("column", (20_000, 1)), ("row", (1, 20_000))))
ONE_NUMBER = node("ReduceMax", ["mask"], ["m"], keepdims=1)


def products(times: int) -> Change:
    return several(*(node("MatMul", [f"p{i}", f"p{i}"], [f"p{i + 1}" if i < times - 1 else "x"]) for i in range(times)))


MEMORY: dict[str, Change] = {
    "ConstantOfShape": several(SIZE, node("ConstantOfShape", ["size"], ["x"])),
    "Expand": several(SIZE, node("Expand", ["one", "size"], ["x"])),
    "Range": several(
        constant("from", 0), constant("to", 10**9), constant("by", 1), node("Range", ["from", "to", "by"], ["x"])
    ),
    "a product of a column and a row": several(COLUMN, ROW, node("MatMul", ["column", "row"], ["x"])),
    "a sum of a column and a row": several(COLUMN, ROW, node("Add", ["column", "row"], ["x"])),
    "one word looked up for ever": several(
        constant("ids", np.zeros(2 * 10**7, np.int32)), node("Gather", ["table", "ids"], ["x"])
    ),
    "doubling": several(
        node("Concat", ["sum", "sum"], ["d0"], axis=1),
        *(node("Concat", [f"d{i}", f"d{i}"], [f"d{i + 1}" if i < 27 else "x"], axis=1) for i in range(28)),
    ),
    "tokens times tokens times tokens": several(
        *(constant(f"size{i}", size) for i, size in enumerate(([1, 1, 1, LONGEST], [1, 1, LONGEST, 1]))),
        constant("axes", [2, 3]),
        node("Unsqueeze", ["mask", "axes"], ["u"]),
        node("Expand", ["u", "size0"], ["e0"]),
        node("Expand", ["u", "size1"], ["e1"]),
        node("Add", ["e0", "e1"], ["x"]),
    ),
    "many at a time, summed up last": several(
        *(constant(f"size{i}", [1, 20_000_000 + i // 20]) for i in range(20)),
        ONE_NUMBER,
        *(node("Expand", ["m", f"size{i}"], [f"e{i}"]) for i in range(20)),
        *(node("Add", ["e0" if i == 1 else f"a{i - 1}", f"e{i}"], [f"a{i}" if i < 19 else "x"]) for i in range(1, 20)),
    ),
}
WORK: dict[str, Change] = {
    "products for every text": several(
        constant("size", [1000, 1000]), ONE_NUMBER, node("Expand", ["m", "size"], ["p0"]), products(200)
    ),
    "products for texts of 40 tokens alone": several(
        *(
            constant(n, number)
            for n, number in (("forty", 40), ("place", 1), ("small", [1, 1]), ("large", [1000, 1000]))
        ),
        node("Shape", ["input_ids"], ["shape"]),
        node("Gather", ["shape", "place"], ["tokens"]),
        node("Equal", ["tokens", "forty"], ["is"]),
        node("Where", ["is", "large", "small"], ["size"]),
        ONE_NUMBER,
        node("Expand", ["m", "size"], ["p0"]),
        products(200),
    ),
}
BOMBS = {**MEMORY, **WORK}


def bomb(name: str) -> bytes:
    """The made-up encoder, with something behind its vector that must be computed although it changes nothing."""
    return tiny(
        BOMBS[name],
        constant("nothing", np.float32(0)),
        node("Cast", ["x"], ["floats"], to=TensorProto.FLOAT),
        node("Mul", ["floats", "nothing"], ["zeros"]),
        node("ReduceMax", ["zeros"], ["zero"], keepdims=0),
        between(OUTPUT, "Add", "zero"),
    )


def encoder(name: str) -> OnnxEncoder:
    spec = replace(ENCODER.spec, max_tokens=LONGEST)
    return OnnxEncoder(bomb(name), ENCODER.tokenizer, spec, choose(("cpu",), False, {}), 1)


def outcome(number: int) -> str:
    """What becomes of a bomb: refused, accepted, or the class of what it raised."""
    try:
        found = encoder(list(BOMBS)[number])
        for tokens in (9, 40, LONGEST):
            found.embed(np.ones(tokens, np.int64))
    except BundleError:
        return "refused"
    except Exception as error:  # what we look for
        return type(error).__name__
    return "accepted"


@pytest.mark.parametrize("name", MEMORY)
def test_what_asks_for_gigabytes_is_refused(name: str) -> None:
    with pytest.raises(BundleError, match=r"may take \d+ MB beside the weights, expected at most \d+ MB; make max_tok"):
        encoder(name)


@pytest.mark.parametrize("name", WORK)
def test_what_asks_for_minutes_is_refused(name: str) -> None:
    with pytest.raises(
        BundleError, match=r"a text of \d+ tokens may take [\d.e+]+ multiplications, expected [\d.e+]+;"
    ):
        encoder(name)


def test_no_bomb_takes_two_seconds_or_a_gigabyte_and_a_half() -> None:
    assert outcomes(__file__, 0, len(BOMBS)) == {"refused": len(BOMBS)}


if __name__ == "__main__":
    main(outcome)
