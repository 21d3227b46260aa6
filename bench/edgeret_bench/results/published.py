"""What others report of tool search on public data sets, with their models and conditions. Knows nothing of what was
measured.

Only figures over the same tools, averaged over queries as ours are. ToolRet's own paper, ToolDreamer and ToolQP average
over its tasks or categories, so nothing of theirs stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeret_bench.results.published_wide import LIVEMCPBENCH, TOOLRET
from edgeret_bench.results.quoted import PublicSet, Quoted

_GECKO = "Vertex AI textembedding-gecko@003"
_WRITTEN = "ten queries written for every tool, and the request's intents extracted, by"
_REINVOKE = (
    ("BM25", "no model"),
    ("dense", _GECKO),
    ("HyDE", f"{_GECKO}; a tool's text imagined by text-bison@001"),
    ("Re-Invoke over BM25", f"{_WRITTEN} text-bison@001"),
    ("Re-Invoke", f"{_GECKO}; {_WRITTEN} text-bison@001"),
    ("Re-Invoke, GPT-3.5", f"{_GECKO}; {_WRITTEN} gpt-3.5-turbo"),
    ("Re-Invoke, Mistral", f"{_GECKO}; {_WRITTEN} Mistral-7B-Instruct-v0.3"),
)
_BGE = "bge-base-en-v1.5"
_LARGE = f"{_BGE}; ReAct by Mistral-Large-Instruct-2411 (123B) in 4 bits"


def _toole(title: str, n_queries: int, *values: Sequence[float]) -> PublicSet:
    """Rows of table 6 of the Re-Invoke paper (appendix E), in the order of _REINVOKE."""
    keys = ("ndcg@1", "ndcg@5", "recall@1", "recall@5")
    unlike = (
        f"The paper asked all {n_queries:,} queries of the set over the same 199 tools, of which a run here may have "
        "had a part; the texts of its tools are its own."
    )
    rows = tuple(
        Quoted(f"Re-Invoke paper: {name}", dict(zip(keys, row, strict=True)), conditions)
        for (name, conditions), row in zip(_REINVOKE, values, strict=True)
    )
    return PublicSet(title, n_queries, unlike, rows)


def _reagt(what: str, conditions: str, **percent: float) -> Quoted:
    """A row of tables 2 and 3 of the ToolReAGt paper."""
    found = {name.replace("_at_", "@"): value / 100 for name, value in percent.items()}
    return Quoted(f"ToolReAGt paper: {what}", found, conditions)


_ULTRATOOL = (
    "The paper asked 1,000 tasks over the same 436 tools, of which a run here may have had a part; it searched tools "
    "as whole JSON objects."
)
SETS: Mapping[tuple[str, bool], PublicSet] = {
    ("toole-single", False): _toole(
        "ToolE, one tool",
        20_550,
        (0.2716, 0.3732, 0.2716, 0.4618),
        (0.5265, 0.6522, 0.5265, 0.7574),
        (0.5488, 0.6558, 0.5488, 0.7448),
        (0.4928, 0.5971, 0.4927, 0.6866),
        (0.6716, 0.7821, 0.6715, 0.8707),
        (0.6551, 0.7705, 0.6551, 0.8635),
        (0.6600, 0.7770, 0.6600, 0.8714),
    ),
    ("toole-multi", False): _toole(
        "ToolE, two tools",
        497,
        (0.1841, 0.2627, 0.0926, 0.3350),
        (0.4286, 0.5296, 0.2143, 0.6258),
        (0.5614, 0.4910, 0.2807, 0.5050),
        (0.5392, 0.5637, 0.2696, 0.6408),
        (0.6660, 0.7231, 0.3330, 0.8008),
        (0.6499, 0.6957, 0.3249, 0.7797),
        (0.6076, 0.6959, 0.3038, 0.7968),
    ),
    ("ultratool", False): PublicSet(
        "UltraTool, the request alone",
        1000,
        _ULTRATOOL,
        (
            _reagt("ToolRetriever", "trained on ToolBench, as quoted there", ndcg_at_1=48.2, ndcg_at_5=53.0),
            _reagt("conventional RAG", _BGE, ndcg_at_1=54.8, ndcg_at_5=66.3, recall_at_5=74.2),
            _reagt("ToolReAGt", _LARGE, ndcg_at_1=60.6, ndcg_at_5=69.3, recall_at_5=77.4),
        ),
    ),
    ("ultratool", True): PublicSet(
        "UltraTool, sub-tasks given",
        1000,
        f"{_ULTRATOOL} With sub-tasks it searched once for each of them and counted the first five tools of that "
        "search; here one ranking stands for the whole task. The two recalls are not the same measure.",
        (
            _reagt("conventional RAG", f"{_BGE}; the whole decomposition is shown", recall_at_5=81.7),
            _reagt("ToolReAGt, one tool a sub-task", _LARGE, recall_at_5=90.6),
            _reagt("ToolReAGt, several tools a sub-task", _LARGE, recall_at_5=90.5),
        ),
    ),
    ("toolret-whole", False): TOOLRET,
    ("livemcpbench", False): LIVEMCPBENCH,
}
"""By the name that a result gives its data set, and whether sub-tasks were given with its queries."""
