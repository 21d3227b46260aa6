"""What the methods, policies and systems of the results are, a plain line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgeret_bench.results.table import Table

METHODS: Mapping[str, str] = {
    "random": "Any function, by chance: what every method must beat.",
    "dr": "What most often followed the last call, in all demonstrations (ToolNet).",
    "lr": "A linear layer on the request alone (TinyAgent).",
    "dtdr-c": "edgeret's graph: what followed the same calls in clusters of like requests.",
    "dtdr-l": "A linear layer on the request and the names called so far, encoded anew at every step.",
    "dtdr-l-factored": "edgeret's head: a linear layer on the request, encoded once, and on the calls made.",
    "prior": "edgeret's prior: words, vectors and flow of the tools alone, whatever was demonstrated.",
    "fused": "edgeret's graph and head together, and with few demonstrations its memory.",
    "similarity": "Cosine of the request and every tool's description.",
    "bm25": "Words that the request shares with a tool's description (BM25).",
    "tool-graph": "Cosine to descriptions that are mixed with those of tools which follow (Tool Graph Retriever).",
    "less-is-more": "A language model describes the tools it wishes for, and they are searched for (Less-is-More).",
    "dtdr-c-paper": "The DTDR paper's graph: 100 clusters, three calls of context, nothing for a context never seen.",
    "dtdr-l-paper": "dtdr-l with the learning rate and epochs of the DTDR paper.",
    "dtdr-l-logistic": "Logistic regression on the request's vector and features of the calls made.",
    "dense": "Cosine of the query and every tool's text.",
    "rrf": "bm25 and dense together, by the ranks that each gives (reciprocal rank fusion).",
    "hybrid": "edgeret's default: the query's parts and the words that it shares with a tool, from one encoding.",
    "needed": "hybrid, and what calls of the tools found need to have been called first.",
    "clauses": "dense for the query and for each of its clauses; a tool counts by its best rank.",
    "rerank": "What search finds first, by how likely a language model takes the query to be for each tool, too.",
    "routed": "edgeret's default, and a language model where tools are contested and that was measured to help.",
    "steps": "hybrid for the query and for each of its sub-tasks, as somebody wrote them down.",
    "re-invoke": "hybrid for every intent that a language model finds in the query (Re-Invoke).",
    "tooldreamer": "A language model imagines tools, and they are searched for (ToolDreamer).",
    "toolqp": "A language model plans, and writes a query a turn after seeing what the last one found (ToolQP).",
    "toolqp-parallel": "toolqp with all queries written at once, before anything was found.",
    "toolqp-no-query": "toolqp without the user's own words among the searches.",
    "toolreagt": "A language model thinks and searches in rounds, for every sub-task (ToolReAGt).",
    "heads": "Graph and head decide, always.",
    "auto": "Graph and head; search where a request is unlike all seen; a decision abstains where nothing fits.",
    "planner": "A language model chooses at every step, among what its prompt shows (the masking, after the slash).",
    "edgeret search": "edgeret's search by words and meaning (hybrid).",
    "edgeret select": "edgeret's first decision, which has seen demonstrations; no other system has.",
    "sentence-transformers": "Its encoder on torch, and scikit-learn's nearest neighbours.",
    "sentence-transformers-onnx": "The same encoder on ONNX Runtime.",
    "semantic-router": "One route a tool, with its local encoder.",
    "graph-tool-call": "Words and a graph of tools, without embeddings.",
    "bm25s": "BM25 over the tools' texts, with its own defaults.",
}


def methods_table(results: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    """The methods that occur in the results, in the order above."""
    found = {
        str(name).partition("/")[0]
        for _, result in results
        for name in (*result.get("methods", ()), *result.get("systems", ()))
    }
    rows = [[name, what] for name, what in METHODS.items() if name in found]
    return Table("what the methods are", ("method", "what it does"), rows)
