"""The sizes of the head for arguments, which its arrays must have."""

from __future__ import annotations

from collections.abc import Mapping

WIDTH, LAYERS, HEADS, INNER = 128, 2, 4, 256
LONGEST = 24
"""Units that a span may have."""
BEFORE = 3
"""Units in front of a beginning and behind an end whose words count."""
UNIT_FEATURES, PARAMETER_FEATURES, OPTION_FEATURES, RELATIONS, CHUNK_KINDS = 65, 24, 4, 3, 25
"""What `reference.arguments.features` tells of units, parameters, options and of both; and kinds of chunks."""
SMALL = LONGEST + CHUNK_KINDS + 3
"""Numbers of a parameter: of each length, of each kind of chunk, of true and of false, and "nobody said it"."""

POOL = (
    *("rules", "head", "new", "absent required", "absent optional"),
    *("options", "option by rule", "no option required", "no option optional"),
)
"""What joins rules and head: the two weights of their log-shares, and what is added for a span that is the head's alone
and for "nobody said it"; and for options the weight of the head's log-shares, and what the one by rule has beside."""
TRAITS = ("share", "all", "token", "when", "measure", "number", "name", "told", "option", "plain", "many")
"""What tells how sure a value is: the log-odds of its share, and what kind of words it is."""


def shapes(dimension: int) -> Mapping[str, tuple[int, ...]]:
    """The arrays' shapes, by name, for vectors of so many numbers. Those of two dimensions are (outputs, inputs)."""
    d = WIDTH
    found: dict[str, tuple[int, ...]] = {}

    def linear(name: str, out: int, into: int) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = (out, into), (out,)

    def norm(name: str) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = (d,), (d,)

    linear("word", d, dimension)
    linear("unit", d, UNIT_FEATURES + RELATIONS)
    norm("unit_norm")
    linear("beside", d, 3 * d)
    linear("text", d, dimension)
    linear("function", d, dimension)
    linear("parameter", d, PARAMETER_FEATURES)
    norm("text_norm")
    for i in range(LAYERS):
        norm(f"norm_a{i}")
        linear(f"together{i}", 3 * d, d)
        linear(f"attended{i}", d, d)
        norm(f"norm_b{i}")
        linear(f"wide{i}", INNER, d)
        linear(f"narrow{i}", d, INNER)
    norm("norm")
    linear("ask", 4 * d, d)
    linear("answer", 3 * d, d)
    linear("small", SMALL, d)
    found["near.weight"] = (2, 2 * BEFORE * RELATIONS)
    linear("option", 2 * d, dimension)
    found["said.weight"] = (1, OPTION_FEATURES)
    return found
