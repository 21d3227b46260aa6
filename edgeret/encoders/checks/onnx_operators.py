"""ONNX operators that sentence encoders need: from the sizes of what goes in to the sizes of what comes out, and work.

What cannot be bounded is refused, and so is every operator that is not listed here: loops and branches among them.
Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from edgeret.encoders.checks.onnx_graph import BOOL, FLOAT, FLOAT16, INT8, INT32, INT64, UINT8
from edgeret.encoders.checks.onnx_layout import LAYOUT_RULES
from edgeret.encoders.checks.onnx_shapes import LARGEST, ONE, Call, Result, Rule, Span, Value, alike, broadcast, value

COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or")
FLOATS, BYTES = (FLOAT, FLOAT16), (INT8, UINT8)
ELEMENT_WORK, ROW_WORK = 64, 0
STRETCHED, NORMALISED = (64, 250), (250, 2500)
SCALES: Mapping[str, tuple[int, ...]] = {
    "MatMulInteger": (2, 3),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
    "com.microsoft.DynamicQuantizeMatMul": (2, 3, 4),
    "com.microsoft.MatMulIntegerToFloat": (2, 3, 4, 5, 6),
}
"""Inputs that are one number, or one for each column of the product."""
OMITTING = (
    "Clip",
    "com.microsoft.Attention",
    "com.microsoft.DynamicQuantizeMatMul",
    "com.microsoft.EmbedLayerNormalization",
    "com.microsoft.MatMulIntegerToFloat",
    "com.microsoft.QAttention",
    "com.microsoft.SkipLayerNormalization",
)
"""Operators that may have an input or output without a name; ONNX Runtime 1.31 dies of one at LayerNormalization."""
WORK: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("Add", "Mul", "Sub", "Where", *COMPARISONS), STRETCHED),
    **dict.fromkeys(("Softmax", "LayerNormalization", "LpNormalization", "com.microsoft.BiasGelu"), NORMALISED),
    **dict.fromkeys(("com.microsoft.SkipLayerNormalization", "com.microsoft.EmbedLayerNormalization"), NORMALISED),
    **dict.fromkeys(("Div", "Gather", "Max", "Min"), (250, 250)),
    **dict.fromkeys(("ArgMax", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"), (250, 0)),
    **dict.fromkeys(("Concat", "Cos", "CumSum", "Log", "Sin", "Slice", "Split"), (150, 0)),
    "GatherElements": (400, 0),
    "Pow": (600, 0),
    "Transpose": (750, 0),
}
"""Work of one element and of one row (along the last dimension) of an output, in multiplications of a matrix product
(50 take a nanosecond of a core with AVX-512). Measured on tensors of the worst shapes; most are five times as fast."""
INPUT_WORK = 150
"""Work of an element that is added up or compared with others."""
MATRIX_WORK, READ_WORK, INNER_WORK = 6000, 16, 160
"""Work of a matrix product apart from multiplications: once, for each element read, and for each step inside."""
MATRIX_SCRATCH = 128
"""Bytes that ONNX Runtime keeps for every matrix of a stack that it multiplies."""


def work_of(call: Call, result: Result) -> int:
    """The work of running one node, in multiplications of a matrix product."""
    element, row = WORK.get(call.node.operator, (ELEMENT_WORK, ROW_WORK))
    # Normalising along another dimension than the last makes a row of every element.
    strided = call.node.operator in ("Softmax", "LpNormalization") and call.node.attributes.get("axis", -1) != -1
    rows = sum(v.size if strided else min(v.size, prod(high for _, high in v.shape[:-1])) for v in result.outputs)
    return result.work + element * sum(v.size for v in result.outputs) + row * rows


def _same(call: Call) -> Result:
    """As large as the first input."""
    first = call.input(0)
    return Result((value(first.kind, first.shape, first.size),))


def _clip(call: Call) -> Result:
    for limit in (1, 2):
        call.parameter(limit, (ONE,), ())
    return _same(call)


def _normalise(call: Call) -> Result:
    first = call.input(0)
    row = first.shape[call.axis("axis", len(first.shape), -1) :]
    for position in (1, 2):
        call.parameter(position, row)
    return _same(call)


def _add_bias(call: Call) -> Result:
    call.parameter(1, call.input(0).shape[-1:])
    return _same(call)


def _flags(call: Call) -> Result:
    first = call.input(0)
    return Result((value(BOOL, first.shape, first.size),))


def _cast(call: Call) -> Result:
    first, kind = call.input(0), call.number("to", 0)
    numbers = first.numbers if kind in (INT32, INT64) else None
    if numbers is not None and any(max(-low, high) > LARGEST for low, high in numbers):
        numbers = None
    return Result((value(kind, first.shape, first.size, numbers),))


def _elementwise(call: Call) -> Result:
    """As large as all inputs together, stretched to one another."""
    operator = call.node.operator
    values = [call.input(i) for i in range(len(call.inputs))]
    if len(values) != (3 if operator == "Where" else 2):
        raise call.refuse(f"has {len(values)} inputs")
    shape = broadcast(call, [v.shape for v in values])
    kind = BOOL if operator in COMPARISONS else values[operator == "Where"].kind
    return Result((value(kind, shape, None, _numbers(operator, values)),))


def _numbers(operator: str, values: Sequence[Value]) -> tuple[Span, ...] | None:
    """What few integers become, if they are known."""
    columns = [v.numbers for v in values if v.numbers is not None and len(v.shape) <= 1]
    count = max(map(len, columns), default=0)
    if len(columns) != len(values) or any(len(column) not in (1, count) or not column for column in columns):
        return None
    rows = zip(*(column * (count // len(column)) for column in columns), strict=True)
    found = [_arithmetic(operator, row) for row in rows]
    return None if None in found else tuple(span for span in found if span is not None)


def _arithmetic(operator: str, row: Sequence[Span]) -> Span | None:
    """The interval of a sum, product, … of integers; None if it is not known."""
    if operator == "Where":
        flag, yes, no = row
        return yes if flag == ONE else no if flag == (0, 0) else (min(yes[0], no[0]), max(yes[1], no[1]))
    (a, b), (c, d) = row
    if operator == "Equal":
        return int(a == b == c == d), int(a <= d and c <= b)
    corners: list[int] = []
    if operator == "Add":
        corners = [a + c, b + d]
    elif operator == "Sub":
        corners = [a - d, b - c]
    elif operator == "Mul":
        corners = [a * c, a * d, b * c, b * d]
    elif operator == "Div" and a >= 0 and c > 0:
        corners = [a // d, b // c]
    elif operator in ("Min", "Max"):
        of = min if operator == "Min" else max
        corners = [of(a, c), of(b, d)]
    known = corners and max(map(abs, corners)) <= LARGEST
    return (min(corners), max(corners)) if known else None


def _product(call: Call, a: Value, b: Value, kind: int, turned: tuple[bool, bool] = (False, False)) -> Result:
    """A matrix product, of stacks of matrices where there are more than two dimensions."""
    if not a.shape or not b.shape:
        raise call.refuse("multiplies a single number")
    left = a.shape if len(a.shape) > 1 else (ONE, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, ONE)
    rows, inner = (left[-1], left[-2]) if turned[0] else (left[-2], left[-1])
    inner_right, columns = (right[-1], right[-2]) if turned[1] else (right[-2], right[-1])
    stack = broadcast(call, (left[:-2], right[:-2]))
    shape = [*stack, *([rows] if len(a.shape) > 1 else []), *([columns] if len(b.shape) > 1 else [])]
    m, k, n, count = rows[1], alike(call, (inner, inner_right))[1], columns[1], prod(high for _, high in stack)
    work = count * (m * k * n + READ_WORK * (m * k + k * n) + INNER_WORK * k + MATRIX_WORK)
    # Operands are copied where they are quantised or turned.
    scratch = count * MATRIX_SCRATCH + 4 * (a.size + (0 if b.fixed else b.size))
    return Result((value(kind, shape),), work, scratch)


def _matmul(call: Call) -> Result:
    a, b = call.input(0), call.input(1)
    if a.kind not in FLOATS or b.kind not in FLOATS:
        raise call.refuse(f"multiplies element types {a.kind} and {b.kind}, expected floats")
    turned = bool(call.number("transA", 0)), bool(call.number("transB", 0))
    matrices = len(a.shape) > 1 < len(b.shape)
    if call.number("transBatchA", 0) or call.number("transBatchB", 0) or (any(turned) and not matrices):
        raise call.refuse("turns what is no matrix")
    return _product(call, a, b, a.kind, turned)


def _matmul_quantised(call: Call) -> Result:
    operator = call.node.operator
    a, b = call.input(0), call.input(3 if operator == "QLinearMatMul" else 1)
    expected = (FLOAT,) if operator == "com.microsoft.DynamicQuantizeMatMul" else BYTES
    if a.kind not in expected or b.kind not in BYTES:
        raise call.refuse(f"multiplies element types {a.kind} and {b.kind}")
    kind = INT32 if operator == "MatMulInteger" else call.input(7).kind if operator == "QLinearMatMul" else FLOAT
    for position in SCALES[operator]:
        call.parameter(position, (), (ONE,), b.shape[-1:])
    return _product(call, a, b, kind)


def _reduce(call: Call) -> Result:
    first = call.input(0)
    rank = len(first.shape)
    axes = [call.axis("axis", rank, 0)] if call.node.operator == "ArgMax" else call.integers("axes", 1)
    if not axes and call.number("noop_with_empty_axes", 0):
        return _same(call)
    gone = {call.front(axis, rank) for axis in axes} if axes else set(range(rank))
    if any(low < 1 for low, _ in first.shape):
        raise call.refuse("may reduce nothing at all")  # dimensions then stay that should go
    keep = call.number("keepdims", 1)
    shape = [ONE if i in gone else span for i, span in enumerate(first.shape) if keep or i not in gone]
    kind = INT64 if call.node.operator == "ArgMax" else first.kind
    return Result((value(kind, shape),), INPUT_WORK * first.size, 16 * first.size)


def _quantise(call: Call) -> Result:
    first, zero = call.input(0), call.optional(2)
    _check_scales(call)
    return Result((value(UINT8 if zero is None else zero.kind, first.shape, first.size),))


def _dequantise(call: Call) -> Result:
    first = call.input(0)
    _check_scales(call)
    return Result((value(call.input(1).kind, first.shape, first.size),))


def _check_scales(call: Call) -> None:
    """Makes sure that there is one scale, or one for each place along a dimension, and as many zero points."""
    first = call.input(0).shape
    along = [(first[call.axis("axis", len(first), 1 % len(first))],)] if first else []
    call.parameter(1, *along, (ONE,), ())
    call.parameter(2, *([along[0]] if call.input(1).size > 1 else [(ONE,), ()]))


def _quantise_dynamically(call: Call) -> Result:
    first = call.input(0)
    return Result((value(UINT8, first.shape, first.size), value(FLOAT, ()), value(UINT8, ())))


def _skip_normalise(call: Call) -> Result:
    """A sum, normalised; its means and deviations; and the sum itself."""
    first = call.input(0)
    if len(first.shape) != 3:
        raise call.refuse("expected tokens of three dimensions")
    call.parameter(1, first.shape)
    for position in (2, 3, 4):
        call.parameter(position, first.shape[-1:])
    shape = first.shape
    output, mean = value(first.kind, shape), value(FLOAT, [*shape[:-1], ONE])
    return Result((output, mean, mean, output))


def _embed(call: Call) -> Result:
    """Sums of three look-ups, normalised; and the length of each text."""
    ids, table = call.input(0), call.input(2)
    if len(ids.shape) != 2 or len(table.shape) != 2:
        raise call.refuse("expected ids and a table of two dimensions each")
    call.parameter(1, ids.shape)
    for position in (5, 6):
        call.parameter(position, table.shape[1:])
    for position in (3, 4):
        found = call.optional(position)
        call.parameter(position, (found.shape[0] if found and found.shape else ONE, table.shape[1]))
    rows = value(table.kind, (*ids.shape, table.shape[1]))
    return Result((rows, value(INT32, ids.shape[:1]), rows))


def _attention(call: Call) -> Result:
    """Attention and QAttention: three products, and every token's scores for every other one."""
    quantised = call.node.operator == "com.microsoft.QAttention"
    tokens, weights, heads = call.input(0), call.input(1), call.number("num_heads", 0)
    if len(tokens.shape) != 3 or len(weights.shape) != 2 or "qkv_hidden_sizes" in call.node.attributes:
        raise call.refuse("expected tokens of three dimensions and joint weights of two")
    if any(call.optional(i) is not None for i in ((8,) if quantised else (4, 6))):
        raise call.refuse("continues an earlier text")
    (batch, length, width), joint = tokens.shape, weights.shape[1]
    if joint[0] != joint[1] or heads < 1 or joint[1] % (3 * heads):
        raise call.refuse(f"{joint[1]} columns of weights do not divide into three times {heads} heads")
    call.parameter(2, (joint,))
    for position in (3, 4, 6, 7) if quantised else ():
        call.parameter(position, (joint,), (ONE,), ())
    inner, scores, rows = joint[1] // 3, batch[1] * heads * length[1] ** 2, batch[1] * length[1]
    products = rows * alike(call, (width, weights.shape[0]))[1] * joint[1] + 2 * rows * length[1] * inner
    work = products + NORMALISED[0] * scores + READ_WORK * weights.size + MATRIX_WORK * heads * batch[1]
    scratch = 4 * (2 * scores + rows * (2 * joint[1] + width[1]))
    kind = FLOAT if quantised else tokens.kind
    return Result((value(kind, (batch, length, (inner, inner))),), work, scratch)


RULES: Mapping[str, Rule] = {
    **LAYOUT_RULES,
    **dict.fromkeys(("Abs", "Ceil", "Cos", "CumSum", "Dropout", "Erf", "Exp", "Floor", "Gelu", "Log", "Neg"), _same),
    **dict.fromkeys(("LpNormalization", "Reciprocal", "Relu", "Sigmoid", "Sin", "Softmax", "Sqrt", "Tanh"), _same),
    **dict.fromkeys(("IsNaN", "Not"), _flags),
    **dict.fromkeys(("Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Where", *COMPARISONS), _elementwise),
    **dict.fromkeys(("ArgMax", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"), _reduce),
    **dict.fromkeys(("Gemm", "MatMul"), _matmul),
    **dict.fromkeys(("MatMulInteger", "QLinearMatMul"), _matmul_quantised),
    "Cast": _cast,
    "Clip": _clip,
    "DequantizeLinear": _dequantise,
    "DynamicQuantizeLinear": _quantise_dynamically,
    "LayerNormalization": _normalise,
    "QuantizeLinear": _quantise,
    "com.microsoft.Attention": _attention,
    "com.microsoft.BiasGelu": _add_bias,
    "com.microsoft.DynamicQuantizeMatMul": _matmul_quantised,
    "com.microsoft.EmbedLayerNormalization": _embed,
    "com.microsoft.FastGelu": _add_bias,
    "com.microsoft.FusedMatMul": _matmul,
    "com.microsoft.Gelu": _same,
    "com.microsoft.MatMulIntegerToFloat": _matmul_quantised,
    "com.microsoft.QAttention": _attention,
    "com.microsoft.QuickGelu": _same,
    "com.microsoft.SkipLayerNormalization": _skip_normalise,
}
"""Every operator that an encoder may use, those of ONNX Runtime with their domain."""
