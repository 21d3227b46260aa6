"""The samples of all formats of transcripts, and one call that converts files. Holds no tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret_export.cli import main
from edgeret_export.transcripts.convert import Choices, Outputs, convert

FOLDER = Path(__file__).parent / "export" / "transcripts" / "samples"
SAMPLES = {
    "openai-chat-log.jsonl": "openai",
    "openai-fine-tuning.jsonl": "openai",
    "openai-responses.jsonl": "openai",
    "anthropic-messages.jsonl": "anthropic",
    "langchain-dumps.jsonl": "langchain",
    "langchain-messages.json": "langchain",
    "langsmith-runs.jsonl": "langchain",
    "mcp-server.log": "mcp",
    "mcp-proxy.jsonl": "mcp",
    "calls.csv": "csv",
    "json-text.jsonl": "openai",
    "claude-code.jsonl": "claude-code",
    "codex-rollout.jsonl": "codex",
    "codex-older.jsonl": "codex",
    "sharegpt.jsonl": "sharegpt",
    "hermes.jsonl": "sharegpt",
    "glaive.jsonl": "glaive",
    "gemini.jsonl": "gemini",
    "bedrock.jsonl": "bedrock",
    "otel-traces.jsonl": "otel",
    "otel-console.jsonl": "otel",
}
"""Each file with the `--from` that it is."""
TOOLS = (
    *("get_contact_phone", "send_message", "set_volume", "lights_off", "close_blinds"),
    *("find_file", "print_file", "open_garage", "create_note"),
)


def run(folder: Path, *files: Path, test: bool = False, **choices: Any) -> tuple[list[Demonstration], dict[str, Any]]:
    """The demonstrations that come out of the files, read back, and the report."""
    outputs = Outputs(folder / "d.jsonl", folder / "test.jsonl" if test else None, test_share=0.4)
    report = convert(files, outputs, Choices(**choices))
    return read_all(folder / "d.jsonl"), report


def read_all(path: Path) -> list[Demonstration]:
    """What `edgeret.read_demonstrations` makes of a file, whatever its tools are called."""
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    return read_demonstrations(path, {call["tool"] for line in lines for call in line["calls"]})


def reasons(report: dict[str, Any]) -> dict[str, int]:
    """How often each reason was counted."""
    return {row["reason"]: row["count"] for row in report["skipped"]}


def command(*words: object) -> int:
    """The exit code of `edgeret-export demos`."""
    return main(["demos", *map(str, words)])


def chat(*turns: Any, **more: Any) -> dict[str, Any]:
    """A record of OpenAI's chat: texts are the user's, lists of (tool, arguments, result) are calls made at once, and a
    dict is a message as it is."""
    messages: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": "user", "content": turn})
        elif isinstance(turn, dict):
            messages.append(turn)
        else:
            named = [(f"call_{number}_{i}", *call) for i, call in enumerate(turn)]
            calls = [
                {"id": i, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
                for i, tool, arguments, _ in named
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": i, "content": result} for i, _, _, result in named]
    return {"messages": messages, **more}


def write(path: Path, *records: Any) -> Path:
    """A file of JSON lines; texts are written as they are."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path
