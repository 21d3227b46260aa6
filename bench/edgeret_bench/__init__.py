"""Benchmarks of edgeret: accuracy, retrieval and latency, as commands that print what they measured."""

NEXT_TOOL_METHODS = ("random", "dr", "lr", "dtdr-c", "dtdr-l", "dtdr-l-factored", "fused")
RETRIEVAL_METHODS = ("bm25", "dense", "hybrid", "clauses")
