"""Asks whether an ONNX file is safe to hand to ONNX Runtime. Knows nothing of texts.

ONNX Runtime runs whatever graph it is given: loops without end, and a few bytes that ask for gigabytes. So the graph is
read here first: only operators that sentence encoders need may be in it, and from the sizes of their inputs it is
computed what a text of `max_tokens` can cost, in memory and in work, before anything of that size is allocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from edgeret.encoders.checks.onnx_graph import FLOAT16, INT64, ITEM_BYTES, MAX_RANK, Data, Graph, Node, read_graph
from edgeret.encoders.checks.onnx_operators import OMITTING, RULES, work_of
from edgeret.encoders.checks.onnx_shapes import ONE, Call, Value, constant, value
from edgeret.errors import BundleError

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OPSETS = range(11, 27)
SHORT_TEXT = 32
MAX_WORK = 24_000_000_000
"""Work that a text of SHORT_TEXT tokens may cost, in multiplications of a matrix product (half a second of a core);
longer texts in proportion."""
MAX_MEMORY = 192 << 20
"""Bytes of values that may be alive at a time, beside twice the file's size for weights that are unpacked."""
TRACKED_BYTES = 1 << 16
"""Values from this size on are tracked one by one; smaller ones are all taken to be alive at once."""
MAX_TRIED = 64
"""Places looked at for each value, so that a graph of thousands of values at a time costs no more than others."""
REMEDY = "build the bundle with another encoder (docs/FORMAT.md, section 5)"


def check(data: Data, max_tokens: int, where: str, *, static: bool = False) -> Graph:
    """The graph in a file. Refuses one that is no ONNX graph of operators that docs/FORMAT.md, section 5, allows, and
    one that could cost too much time or memory for a text of `max_tokens` tokens; a `static` graph reads exactly so
    many. Raises BundleError.
    """
    try:
        graph = read_graph(data)
        _check_ends(graph)
        cost = _cost(graph, max_tokens, static)
        limit = MAX_MEMORY + 2 * len(data)
        if cost.memory() > limit:
            raise ValueError(
                f"a text of {max_tokens} tokens may take {cost.memory() >> 20} MB beside the weights, expected at most "
                f"{limit >> 20} MB; make max_tokens smaller"
            )
        _check_work(graph, max_tokens, cost.work, static)
        return graph
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:  # no graph may trip the rules themselves
        raise BundleError(f"{where}: {error}; {REMEDY}") from None


def _check_work(graph: Graph, tokens: int, work: int, static: bool) -> None:
    """Makes sure that the work is in proportion to a text's length, not for the longest texts alone."""
    while work > MAX_WORK:
        allowed = MAX_WORK * max(tokens, SHORT_TEXT) // SHORT_TEXT
        if work > allowed:
            raise ValueError(f"a text of {tokens} tokens may take {work:.2g} multiplications, expected {allowed:.2g}")
        if static:
            return
        tokens //= 2
        work = _cost(graph, tokens).work


def _check_ends(graph: Graph) -> None:
    if graph.opset not in OPSETS:
        raise ValueError(f"operators of version {graph.opset}, expected {OPSETS[0]} to {OPSETS[-1]}")
    if not set(graph.inputs) <= set(INPUTS) or len(set(graph.inputs)) != len(graph.inputs):
        raise ValueError(f"its inputs are {list(graph.inputs)!r:.80}, expected some of {', '.join(INPUTS)}")
    if graph.tensors.keys() & set(graph.inputs):
        raise ValueError("an input is a constant too")


@dataclass(slots=True)
class Cost:
    """What running a graph may take: multiplications, and bytes in several places."""

    work: int = 0
    fixed: int = 0
    small: int = 0
    scratch: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)
    """Where larger values lie, one after the other: the readers of the last one, and the largest one's size."""

    def memory(self) -> int:
        """Bytes that can be needed at one time, in whatever order ONNX Runtime runs the nodes."""
        return self.fixed + self.small + self.scratch + sum(size for _, size in self.places)

    def place(self, size: int, readers: int, before: int) -> None:
        """Finds a place for a value of `size` bytes: one whose last value is gone by then, since all nodes that read
        it are among those that must have run `before`; or a new one."""
        fitting = [i for i, (last, _) in enumerate(self.places[-MAX_TRIED:]) if last and not last & ~before]
        offset = max(0, len(self.places) - MAX_TRIED)
        if fitting:
            chosen = offset + max(fitting, key=lambda i: self.places[offset + i][1])
            self.places[chosen] = readers, max(size, self.places[chosen][1])
        else:
            self.places.append((readers, size))


def _cost(graph: Graph, tokens: int, static: bool = False) -> Cost:
    values = {name: constant(tensor) for name, tensor in graph.tensors.items()}
    values |= {name: value(INT64, (ONE, (tokens if static else 1, tokens))) for name in graph.inputs}
    readers: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        for name in node.inputs:
            readers[name] = readers.get(name, 0) | 1 << number
    for name in graph.outputs:
        readers[name] = 0  # never gone
    before = dict.fromkeys(values, 0)
    cost = Cost()
    for number, node in enumerate(graph.nodes):
        outputs = _run(node, values, cost)
        earlier = 0
        for name in filter(None, node.inputs):
            earlier |= before[name]
        for name, output in outputs:
            values[name], before[name] = output, earlier | 1 << number
            size = output.size * (6 if output.kind == FLOAT16 else ITEM_BYTES[output.kind])
            if output.fixed:
                cost.fixed += size
            elif size < TRACKED_BYTES:
                cost.small += size
            else:
                cost.place(size, readers.get(name, 1 << number), earlier)
    missing = [name for name in graph.outputs if name not in values]
    if missing:
        raise ValueError(f"nothing makes its output {missing[0]!r:.40}")
    return cost


def _run(node: Node, values: dict[str, Value], cost: Cost) -> Sequence[tuple[str, Value]]:
    """A node's outputs by name. Raises ValueError for an operator that is not allowed or does not fit its inputs."""
    rule = RULES.get(node.operator)
    if rule is None:
        raise ValueError(f"operator {node.operator!r:.60} is not allowed")
    if "" in (*node.inputs, *node.outputs) and node.operator not in OMITTING:
        raise ValueError(f"operator {node.operator} has an input or output without a name")
    unknown = [name for name in node.inputs if name and name not in values]
    if unknown:
        raise ValueError(f"operator {node.operator} reads {unknown[0]!r:.40} before it is made")
    inputs = [values[name] if name else None for name in node.inputs]
    call = Call(node, inputs)
    result = rule(call)
    names = [name for name in node.outputs if name]
    if len(node.outputs) > len(result.outputs) or len(set(names)) != len(names) or values.keys() & set(names):
        raise ValueError(f"operator {node.operator} has an output too many")
    fixed = node.operator == "Shape" or all(v is None or v.fixed for v in inputs)
    outputs = [(n, replace(v, fixed=fixed)) for n, v in zip(node.outputs, result.outputs, strict=False) if n]
    if any(len(output.shape) > MAX_RANK or output.kind not in ITEM_BYTES for _, output in outputs):
        raise ValueError(f"operator {node.operator} makes a tensor of more than {MAX_RANK} dimensions or unknown type")
    cost.work += work_of(call, result)
    cost.scratch = max(cost.scratch, result.scratch)
    return outputs
