"""The roles that a bundle's files play and the keys of its manifest's `info`, each named once. docs/FORMAT.md says
what they hold."""

from __future__ import annotations

ENCODER, TOKENIZER = "encoder", "tokenizer"
TOOLS, INDEX, HNSW = "tools", "index", "hnsw"
GRAPH, HEAD, MEMORY = "graph", "head", "memory"
EXEMPLARS, PLANNER, PLANNER_LICENCE = "exemplars", "planner", "planner-licence"

INFO_EDGERET = "edgeret"
INFO_ENCODER, INFO_PLANNER, INFO_CALIBRATION = "encoder", "planner", "calibration"
INFO_PRIOR = "prior"
INFO_GOLDEN, INFO_COUNTS, INFO_RECIPE = "golden", "counts", "recipe"
INFO_REPORT, INFO_TOOLCHAIN = "report", "toolchain"
