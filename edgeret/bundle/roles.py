"""The roles that a bundle's files play and the keys of its manifest's `info`, each named once. docs/FORMAT.md says
what they hold."""

from __future__ import annotations

ENCODER, TABLE, TOKENIZER, WORD_VECTORS = "encoder", "table", "tokenizer", "word-vectors"
ENCODER_ARRAYS = "encoder-arrays"
"""Where the encoder's weights lie in its file, for readers that have no use for its graph."""
TOOLS, WORDS, INDEX, HNSW = "tools", "words", "index", "hnsw"
GRAPH, HEAD, MEMORY, FAMILIARITY = "graph", "head", "memory", "familiarity"
ARGUMENTS = "arguments"
EXEMPLARS, PLANNER, PLANNER_LICENCE = "exemplars", "planner", "planner-licence"

NPU_TOKENS = (16, 32, 64, 128, 256, 512)
"""Lengths that a graph for NPUs may be made for."""
VARIANT_ROLES = (
    *("encoder-cpu-7bit", "encoder-cpu-8bit", "encoder-gpu"),
    *(f"encoder-npu-{tokens}" for tokens in NPU_TOKENS),
)
"""Graphs that stand in for the encoder on other hardware."""
MOBILE, MOBILE_OPERATORS = "encoder-mobile", "encoder-mobile-operators"
"""The encoder for a minimal build of ONNX Runtime, and what goes into that build. This runtime reads neither."""

STATIC = "static"
"""The part of a bundle that decides first: roles of its files, and its own `info`, begin with this."""
PART_ROLES = (TABLE, INDEX, HNSW, GRAPH, HEAD, MEMORY, FAMILIARITY)
SHARED_ROLES = (TOKENIZER, WORD_VECTORS, TOOLS, WORDS, EXEMPLARS, PLANNER)


def of_part(part: str, role: str) -> str:
    """The role that a part's own file plays in the bundle."""
    return f"{part}-{role}"


INFO_EDGERET = "edgeret"
INFO_ENCODER, INFO_PLANNER, INFO_CALIBRATION = "encoder", "planner", "calibration"
INFO_PRIOR, INFO_CASCADE = "prior", "cascade"
INFO_GOLDEN, INFO_DECISIONS = "golden", "decisions"
INFO_COUNTS, INFO_RECIPE = "counts", "recipe"
INFO_REPORT, INFO_TOOLCHAIN = "report", "toolchain"
INFO_VARIANTS = "variants"
