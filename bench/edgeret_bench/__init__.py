"""Benchmarks of edgeret: accuracy, retrieval and latency, as commands that print what they measured."""

from edgeret import telemetry

telemetry.disable("HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK")

NEXT_TOOL_METHODS = ("random", "dr", "dtdr-c", "dtdr-l-factored", "prior", "fused")
FITTED_METHODS = ("lr", "dtdr-l")
"""The papers' own heads, which no bundle carries: `edgeret-bench methods` fits them anew."""
OTHER_METHODS = ("similarity", "bm25", "tool-graph", "less-is-more")
"""Next-tool methods that look at words and tools alone; the last one asks the planner, once a query."""
RETRIEVAL_METHODS = ("bm25", "dense", "rrf", "clauses", "hybrid")
"""Methods of `retrieval` that need no planner and nothing beside a query."""
NEEDED = "needed"
"""The method of `retrieval` that ranks what calls need among what is found."""
STRATEGY_METHODS = (
    "auto", "routed", "steps", "rerank", "re-invoke", "tooldreamer", "toolqp", "toolqp-parallel", "toolqp-no-query",
    "toolreagt", "less-is-more",
)  # fmt: skip
"""Strategies of tool search that go by more than a query: a bundle's demonstrations (auto), the sub-tasks that are
given with it (steps), or a planner, always or where a route says so (routed); the ablations of ToolQP are among
these."""
STEPPED_METHODS = ("steps", "toolreagt")
"""Those of them that read the sub-tasks that are given with a query."""
SWEEPS = "sweeps"
"""The part of latency that takes longest: CPU threads, batches, and first selections without a pause."""
SUITE_PARTS = ("next-tool", "abstain", "plan", "peers", "latency", SWEEPS, "scaling", "methods", "few")
"""What `edgeret-bench lab suite` measures and can leave out; each but SWEEPS is a command."""
