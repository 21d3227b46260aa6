"""What is reported of tool search over hundreds of tools of many servers, and over tens of thousands of tools. From the
README of callbus 0.3.1, as its package on PyPI has it. Knows nothing of what was measured."""

from __future__ import annotations

from edgeret_bench.results.quoted import PublicSet, Quoted

_QWEN = "Qwen3-Embedding-8B"
_LORA = f"{_QWEN} with a LoRA trained on 20,000 of ToolRet's training pairs"
_HEADS = f"{_QWEN} with heads trained on ToolRet's training pairs"


def _row(what: str, conditions: str, **percent: float) -> Quoted:
    found = {name.replace("_at_", "@"): round(value / 100, 4) for name, value in percent.items()}
    return Quoted(f"callbus: {what}", found, conditions)


TOOLRET = PublicSet(
    "ToolRet, all 35 tasks",
    7961,
    "callbus asked all 7,961 queries over the same 44,453 tools and averaged over queries. With an instruction, a "
    "sentence of the task's own on what to look for stood before the query; here queries stand alone.",
    (
        _row("BM25", "no model; without instruction", ndcg_at_10=29.01),
        _row("BM25, with instruction", "no model; with instruction", ndcg_at_10=39.27),
        _row(_QWEN, f"{_QWEN}; with instruction", ndcg_at_10=51.11),
        _row("heads v0.1", f"{_HEADS}; with instruction", ndcg_at_10=54.03),
        _row("backbone v0.2 in FP8", f"{_LORA}; with instruction", ndcg_at_10=59.02),
    ),
)
LIVEMCPBENCH = PublicSet(
    "LiveMCPBench",
    94,
    "callbus asked 94 tasks over 525 tools, of another revision, and tools' texts named their servers. One task is "
    "about a point.",
    (
        _row("BM25", "no model", recall_at_5=31.68),
        _row(_QWEN, _QWEN, recall_at_5=50.82),
        _row("heads v0.1", _HEADS, recall_at_5=53.03, ndcg_at_10=53.95),
        _row("heads v0.1 in FP8", _HEADS, recall_at_5=53.48),
        _row("backbone v0.2", _LORA, recall_at_5=52.06, ndcg_at_10=55.74),
    ),
)
