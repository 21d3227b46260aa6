"""Which originals can be read, where their files are published, and under which licence. Fetches nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from edgeret.errors import InputError
from edgeret_bench.datasets import apibank, bfcl, sealtools, taskbench, tinyagent, toolbench, toole, toolret, ultratool
from edgeret_bench.datasets.pins import find_pin
from edgeret_bench.datasets.source import NOT_STATED, File, Source, files_of
from edgeret_bench.datasets.sources_requests import REQUESTS
from edgeret_bench.datasets.sources_tools import TOOLS


def find_source(name: str) -> Source:
    """The original of that name. Raises InputError listing what there is."""
    if name not in DATASETS:
        raise InputError(f"no dataset '{name}'; known: {', '.join(DATASETS)}")
    return DATASETS[name]


def _bfcl(*categories: str, answers: bool) -> tuple[File, ...]:
    names = [f"BFCL_v4_{category}.json" for category in categories]
    if answers:
        names += [f"possible_answer/{name}" for name in names]
        names += [f"multi_turn_func_doc/{file}.json" for file in bfcl.CLASSES.values()]
    return tuple(File("pypi", _BFCL_WHEEL, name, name, find_pin("pypi", _BFCL_WHEEL, name)) for name in names)


_TASKBENCH = "microsoft/Taskbench@d12764a8fa650f49f50507a02c3e707c71c67621"
_TINYAGENT = "squeeze-ai-lab/TinyAgent-dataset@27054e7725eb7980adc29082971882533d5a7e2e"
_TINYAGENT_CODE = "SqueezeAILab/TinyAgent@e63305d9bbe767493bc34db777bbcd7aba006bf0"
_METATOOL = "HowieHwong/MetaTool@e1029bcfdb1039aff6ce24b548920d8bc25b1c3d"
_ULTRATOOL = "JoeYing1019/UltraTool@791547ff17656e0003cea605ed4caaaba994cc9e"
_STABLE = "THUNLP-MT/StableToolBench@08ea700e07a53cfaf31fd7b222e823ff651619a4"
_TOOLRET = "LittleDinoC/MFTR@c3f4d40a560a3017200141c3de0fff66e2dcbe8f"
_APIBANK = "AlibabaResearch/DAMO-ConvAI@5c38bb7d1d78c7a7f12aa415d620d6305dbe2078"
_SEAL_TOOLS = "fairyshine/Seal-Tools@91b8ad1d399129efd0e89437c594ecb9667c1151"
_SEAL_PLANS = "fairyshine/Seal-Tools@0ad3824f85b636905be61427b75fe139ff0b3036"
_BFCL_WHEEL = "bfcl-eval==2026.3.23/bfcl_eval/data"


def _taskbench(domain: str, about: str) -> Source:
    name = f"taskbench-{domain}"
    files = files_of("hf", _TASKBENCH, f"data_{domain}", "data.json", "tool_desc.json")
    title = f"TaskBench, {about}"
    return Source(name, title, "plans as graphs", "MIT", files, partial(taskbench.read, name=name))


def _tinyagent(name: str, title: str, file: str) -> Source:
    files = (
        *files_of("hf", _TINYAGENT, "", file),
        *files_of("github", _TINYAGENT_CODE, "src/tiny_agent", tinyagent.TOOLS),
    )
    return Source(name, title, "plans as graphs", "MIT", files, partial(tinyagent.read, file=file, name=name))


def _toolret() -> tuple[File, ...]:
    tasks = ("apibank", "apigen", "gorilla-huggingface", "toolink")
    names = [f"{task}/{what}.json" for task in tasks for what in ("tools", "queries")]
    return files_of("github", _TOOLRET, "dataset/from_toolret", *names)


_SOURCES = (
    _taskbench("huggingface", "models of a hub"),
    _taskbench("multimedia", "multimedia tools"),
    _taskbench("dailylifeapis", "services of daily life"),
    _tinyagent("tinyagent", "TinyAgent, training data (734 MB)", "training_data.json"),
    _tinyagent("tinyagent-test", "TinyAgent, test data", "testing_data.json"),
    Source(
        "toole",
        "ToolE (MetaTool)",
        "queries",
        "MIT",
        (
            *files_of("github", _METATOOL, "dataset", "plugin_des.json", "big_tool_des.json"),
            *files_of("github", _METATOOL, "dataset/data", "all_clean_data.csv", "multi_tool_query_golden.json"),
        ),
        toole.read,
    ),
    Source(
        "ultratool",
        "UltraTool, English",
        "plans as chains; queries with their sub-tasks",
        NOT_STATED,
        files_of("github", _ULTRATOOL, "data/English-dataset", "test.json"),
        ultratool.read,
    ),
    Source(
        "toolbench",
        "ToolBench, the solvable test queries (StableToolBench)",
        "queries",
        "Apache-2.0",
        files_of(
            "github",
            _STABLE,
            "solvable_queries/test_instruction",
            *(f"G{group}.json" for group in ("1_instruction", "1_tool", "1_category", "2_instruction", "2_category")),
            "G3_instruction.json",
        ),
        toolbench.read,
    ),
    Source("toolret", "ToolRet, four of its 35 tasks", "queries", NOT_STATED, _toolret(), toolret.read),
    Source(
        "api-bank",
        "API-Bank, levels 1 and 3",
        "plans as chains",
        "MIT",
        files_of("github", _APIBANK, "api-bank/json_test_data", "level-1-api.json", "level-3.json"),
        apibank.read,
    ),
    Source(
        "seal-tools",
        "Seal-Tools, without its training split",
        "plans as graphs",
        "Apache-2.0",
        (
            *files_of("github", _SEAL_TOOLS, "Seal-Tools_Dataset", "tool.jsonl"),
            *files_of(
                "github", _SEAL_PLANS, "Seal-Tools_Dataset", *(f"{split}.jsonl" for split in sealtools.SPLITS[1:])
            ),
        ),
        sealtools.read,
    ),
    Source(
        "bfcl",
        "BFCL v4, categories whose answers are calls",
        "plans: single, free in order, and chains",
        "Apache-2.0",
        _bfcl(*bfcl.SINGLE, *bfcl.PARALLEL, bfcl.TURNS, answers=True),
        bfcl.read,
    ),
    Source(
        "bfcl-irrelevance",
        "BFCL v4, requests that none of their own functions fits",
        "queries that no tool fits",
        "Apache-2.0",
        _bfcl(*bfcl.IRRELEVANT, answers=False),
        bfcl.read_irrelevance,
    ),
)
DATASETS: Mapping[str, Source] = {source.name: source for source in (*_SOURCES, *TOOLS, *REQUESTS)}
