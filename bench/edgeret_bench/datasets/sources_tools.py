"""Originals that are tasks for agents over many tools: where they are published, their licences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from edgeret_bench.datasets import (
    acebench,
    droidcall,
    livemcpbench,
    mcptoolbench,
    mobile_actions,
    nestful,
    tau2,
    toollinkos,
    toolret,
)
from edgeret_bench.datasets.source import NOT_STATED, Source, files_of

_TOOLRET_TOOLS = "mangopy/ToolRet-Tools@e06c38c75612b6536bd959e08cdd345894aba6a7"
_TOOLRET_QUERIES = "mangopy/ToolRet-Queries@b8c76ad3349ff17497b6bdb28bb5b8f61a0f6445"
_TOOLLINKOS = "EliasLumer/Graph-RAG-Tool-Fusion-ToolLinkOS@b630b98656e25c3b83a71ea0406572add38ae46d"
_LIVEMCPBENCH = "ICIP/LiveMCPBench@ddea2d24196638bc4026c4cb891f679d0357bfd0"
_ACEBENCH = "zeppombal/ACEBench@5a44e25519bc7c9401dc1f99a5d03eaefff1a4fe"
_MCPTOOLBENCH = "mcp-tool-bench/MCPToolBenchPP@0de5d75a6b95ff7cd14f01f71e12506b07010c10"
_TAU2 = "sierra-research/tau2-bench@1901a301961cbbe3fd11f3e84a2a376530c759e3"
_DROIDCALL = "mllmTeam/DroidCall@42563ae614280d2891d57f1e7057c4bc50dd27bd"
_MOBILE = "google/mobile-actions@e920309bc2acbc2e99a5e3201cf37df2b9fd9151"
_NESTFUL = "ibm-research/nestful@main"
"""A branch: no revision of it is known here, so only the hash of what was fetched first holds it in place."""

_TOOLRET_TASKS = """
apibank apigen appbench autotools-food autotools-music autotools-weather craft-math-algebra craft-tabmwp craft-vqa
gorilla-huggingface gorilla-pytorch gorilla-tensor gpt4tools gta metatool mnms restgpt-spotify restgpt-tmdb
reversechain rotbench t-eval-dialog t-eval-step taskbench-daily taskbench-huggingface taskbench-multimedia
tool-be-honest toolace toolalpaca toolbench toolbench-sam toolemu tooleyes toolink toollens ultratool
"""
_ONE = "00000-of-00001.parquet"


def _tau2(desk: str) -> Source:
    modules = files_of("github", _TAU2, f"src/tau2/domains/{desk}", *tau2.MODULES[desk])
    files = (*files_of("github", _TAU2, f"data/tau2/domains/{desk}", "tasks.json"), *modules)
    title = f"tau2-bench, {desk}"
    return Source(f"tau2-{desk}", title, "plans as chains", "MIT", files, partial(tau2.read, desk=desk))


def _acebench(*categories: str, answers: bool) -> tuple[str, ...]:
    names = tuple(f"data_{category}.json" for category in categories)
    return (*names, *(f"possible_answer/{name}" for name in names)) if answers else names


TOOLS: Sequence[Source] = (
    Source(
        "toolret-whole",
        "ToolRet, all of its 35 tasks over all of its tools",
        "queries",
        NOT_STATED,
        (
            *files_of("hf", _TOOLRET_TOOLS, "", *(f"{part}/tools-{_ONE}" for part in ("code", "customized", "web"))),
            *files_of("hf", _TOOLRET_QUERIES, "", *(f"{task}/queries-{_ONE}" for task in _TOOLRET_TASKS.split())),
        ),
        partial(toolret.read, name="toolret-whole"),
    ),
    Source(
        "toollinkos",
        "ToolLinkOS (Graph RAG-Tool Fusion)",
        "queries with all tools that theirs depend on",
        "MIT",
        files_of("github", _TOOLLINKOS, "toollinkos", *toollinkos.FILES),
        toollinkos.read,
    ),
    Source(
        "livemcpbench",
        "LiveMCPBench",
        "queries with their sub-tasks",
        "Apache-2.0",
        files_of("hf", _LIVEMCPBENCH, "", "tools/tools.json", "tasks/tasks.json"),
        livemcpbench.read,
    ),
    Source(
        "acebench",
        "ACEBench, English, categories whose answers are calls (a copy)",
        "plans: single, and free in order",
        NOT_STATED,
        files_of("github", _ACEBENCH, "data_all/data_en", *_acebench(*acebench.NORMAL, answers=True)),
        acebench.read,
    ),
    Source(
        "acebench-irrelevant",
        "ACEBench, English, requests that none of their own functions fits (a copy)",
        "queries that no tool fits",
        NOT_STATED,
        files_of("github", _ACEBENCH, "data_all/data_en", *_acebench(acebench.IRRELEVANT, answers=False)),
        acebench.read_irrelevant,
    ),
    Source(
        "mcptoolbench",
        "MCPToolBench++, requests of one call",
        "plans; queries",
        NOT_STATED,
        files_of("github", _MCPTOOLBENCH, "data", *mcptoolbench.FILES),
        mcptoolbench.read,
    ),
    Source(
        "droidcall",
        "DroidCall",
        "plans as graphs",
        "Apache-2.0",
        files_of(
            "hf", _DROIDCALL, "", droidcall.FUNCTIONS, *(f"DroidCall_{split}.jsonl" for split in droidcall.SPLITS)
        ),
        droidcall.read,
    ),
    Source(
        "mobile-actions",
        "Mobile Actions",
        "plans, free in order, with the time of each request",
        "CC BY 4.0",
        files_of("hf", _MOBILE, "", mobile_actions.FILE),
        mobile_actions.read,
    ),
    *(_tau2(desk) for desk in tau2.MODULES),
    Source(
        "nestful",
        "NESTFUL",
        "plans as graphs",
        "Apache-2.0",
        files_of("hf", _NESTFUL, "data", f"train-{_ONE}"),
        nestful.read,
    ),
)
