"""Every format of transcripts gives the same demonstrations, and treats what is broken, failed or private alike."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transcript_samples import FOLDER, SAMPLES, TOOLS, command, read_all, reasons, run, write

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret_export.transcripts.redact import read_patterns

NO_RESULTS = ("calls.csv",)
NO_PARTS = ("calls.csv", "mcp-server.log", "mcp-proxy.jsonl", "sharegpt.jsonl", "hermes.jsonl", "glaive.jsonl")
NO_DEFINITIONS = (
    *("calls.csv", "langchain-dumps.jsonl", "langchain-messages.json"),
    *("claude-code.jsonl", "codex-rollout.jsonl", "codex-older.jsonl"),
)
EVERY = pytest.mark.parametrize("name", SAMPLES)


def shown(demonstration: Demonstration) -> tuple[str, list[str], object]:
    return demonstration.query, [call.tool for call in demonstration.calls], demonstration.links


@EVERY
@pytest.mark.parametrize("told", [True, False])
def test_the_same_requests_come_out_of_every_format(name: str, told: bool, tmp_path: Path) -> None:
    found, report = run(tmp_path, FOLDER / name, source=SAMPLES[name] if told else "auto")
    links = None if name == "calls.csv" else ()
    assert [shown(each) for each in found] == [
        ("Text Ana that lunch is on me", ["get_contact_phone", "send_message"], None),
        ("Turn off the kitchen lights and close the kitchen blinds", ["lights_off", "close_blinds"], links),
        ("Find the budget report and print it", ["find_file", "print_file"], None),
        ("Note down what plant this is", ["create_note"], None),
    ]
    assert len({each.id for each in found}) == 4
    assert report["files"][0]["demonstrations"] == 4
    assert len(report["files"][0]["formats"]) == 1


@EVERY
def test_arguments_are_kept_and_the_result_of_a_call_is_referred_to(name: str, tmp_path: Path) -> None:
    found, _ = run(tmp_path, FOLDER / name)
    phone = "+15550100" if name in NO_RESULTS else "$out_1"
    assert found[0].calls[0].arguments == {"name": "Ana"}
    assert found[0].calls[1].arguments == {"phone": phone, "text": "lunch is on me"}
    assert found[2].calls[0].arguments == {"name": "budget report"}


@EVERY
def test_what_is_skipped_is_counted_once_with_its_reason_and_first_place(name: str, tmp_path: Path) -> None:
    _, report = run(tmp_path, FOLDER / name)
    counts = reasons(report)
    assert set(counts.values()) == {1}
    for reason in ("refers back to the turn before", "every call failed", "failed; a later call of the same tool"):
        assert sum(each.startswith(reason) for each in counts) == 1, reason
    assert any("image" in each for each in counts) == (name not in NO_PARTS)
    assert any(each.startswith("no call") for each in counts) == ("mcp" not in name)
    assert all(str(FOLDER / name) in row["first"] for row in report["skipped"])


@EVERY
def test_turns_without_a_call_are_kept_where_that_is_asked_for(name: str, tmp_path: Path) -> None:
    found, _ = run(tmp_path, FOLDER / name, keep_no_tool=True)
    thanks = [each for each in found if not each.calls]
    assert [each.query for each in thanks] == ([] if "mcp" in name else ["Thank you, that was all"])


@EVERY
def test_first_takes_a_conversations_first_turn_alone(name: str, tmp_path: Path) -> None:
    found, _ = run(tmp_path, FOLDER / name, turns="first", keep_no_tool=True)
    allowed = {"Text Ana that lunch is on me", "Turn off the kitchen lights and close the kitchen blinds"}
    allowed |= {"Find the budget report and print it", "Note down what plant this is"}
    assert {each.query for each in found} <= allowed
    assert found[0].query == "Text Ana that lunch is on me"


@EVERY
def test_join_puts_a_turn_that_refers_back_behind_the_one_before(name: str, tmp_path: Path) -> None:
    found, report = run(tmp_path, FOLDER / name, turns="join")
    joined = [each for each in found if "\n" in each.query]
    if SAMPLES[name] in ("mcp", "csv"):
        assert not joined
        assert any(reason.startswith("refers back") for reason in reasons(report))
    else:
        assert [shown(each) for each in joined] == [
            (
                "Text Ana that lunch is on me\nand mute the phone",
                ["get_contact_phone", "send_message", "set_volume"],
                None,
            )
        ]


@EVERY
def test_nothing_that_a_pattern_finds_is_written(name: str, tmp_path: Path) -> None:
    patterns = tmp_path / "patterns"
    patterns.write_text("# people\n(?P<name>(?i:ana))\n\n\\+?\\d{6,}\nbudget|\\.pdf\n")
    _, report = run(tmp_path, FOLDER / name, redactor=read_patterns(patterns))
    written = (tmp_path / "d.jsonl").read_text("utf-8")
    assert "Text [name] that lunch is on me" in written
    assert "Find the [redacted] report and print it" in written
    assert not [word for word in ("Ana", "15550100", "budget", ".pdf") if word in written]
    assert report["redacted"]["name"] >= 2


@EVERY
def test_the_tools_that_a_transcript_defines_can_be_written(name: str, tmp_path: Path) -> None:
    words = (FOLDER / name, "-o", tmp_path / "d", "--tools-out", tmp_path / "t")
    if name in NO_DEFINITIONS:
        assert command(*words) == 2
        assert not list(tmp_path.iterdir())
        return
    assert command(*words) == 0
    tools = read_tools(tmp_path / "t")
    assert tuple(tool.name for tool in tools) == TOOLS
    assert tools[0].parameters["required"] == ["name"]
    assert len(read_demonstrations(tmp_path / "d", {tool.name for tool in tools})) == 4


@EVERY
def test_broken_lines_are_skipped_with_their_number(name: str, tmp_path: Path) -> None:
    source = (FOLDER / name).read_bytes()
    if name.endswith(".json"):
        whole = json.loads(source)
        source = b"".join(json.dumps(entry).encode() + b"\n" for entry in whole)
    lines = source.split(b"\n")
    bad = tmp_path / name.replace(".json", ".log").replace(".logl", ".jsonl")
    bad.write_bytes(b"\n".join([*lines[:2], b'{"cut": \xff', b'{"messages": [', b"", b"[" * 100_000, *lines[2:]]))
    expected, _ = run(tmp_path, FOLDER / name)
    found, report = run(tmp_path, bad)
    assert [shown(each) for each in found] == [shown(each) for each in expected]
    places = {row["reason"]: row["first"] for row in report["skipped"]}
    assert places["not UTF-8; convert the file with: iconv -f CP1252 -t UTF-8"] == f"{bad}:3"
    assert places["no query in the row" if "csv" in name else "not JSON"] == f"{bad}:4"


@EVERY
def test_a_gzip_file_is_read_as_what_is_in_it(name: str, tmp_path: Path) -> None:
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress((FOLDER / name).read_bytes()))
    expected, _ = run(tmp_path, FOLDER / name)
    assert run(tmp_path, packed)[0] == expected


@EVERY
def test_a_record_cut_anywhere_is_no_error(name: str, tmp_path: Path) -> None:
    data = (FOLDER / name).read_bytes()
    for size in range(1, len(data), max(1, len(data) // 20)):
        path = tmp_path / name
        path.write_bytes(data[:size])
        try:
            run(tmp_path, path, keep_no_tool=True)
        except InputError as error:
            assert "no demonstrations" in str(error)


def test_files_of_all_formats_go_together_and_one_of_another_format_is_named(tmp_path: Path) -> None:
    found, report = run(tmp_path, *(FOLDER / name for name in SAMPLES))
    assert len(found) == len({each.id for each in found}) > 4 * 5
    assert [len(each["formats"]) for each in report["files"]] == [1] * len(SAMPLES)
    with pytest.raises(InputError, match="looks like Anthropic messages; read its file with --from anthropic"):
        run(tmp_path, FOLDER / "anthropic-messages.jsonl", source="mcp")


SHAPES = (
    "messages role content user assistant tool tool_calls function name arguments id tool_call_id type text input "
    "output response request choices message jsonrpc method params result tools/call query lc kwargs data run_type "
    "inputs args outputs generations call_id function_call function_call_output tool_use tool_result human ai tools "
    "sessionId uuid isSidechain payload response_item session_meta conversations from value gpt observation contents "
    "parts functionCall functionResponse model toolUse toolResult toolConfig resourceSpans scopeSpans spans attributes "
    "key stringValue traceId spanId events answers chat system gen_ai.input.messages gen_ai.tool.name"
)
WORDS = st.sampled_from(SHAPES.split(" "))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5),
    max_leaves=25,
)


@given(records=st.lists(JSON, max_size=4), turns=st.sampled_from(["each", "first", "join"]))
@settings(suppress_health_check=list(HealthCheck))
def test_whatever_the_records_are_what_is_written_can_be_read(
    records: list[object], turns: str, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "any.jsonl", *records, {"messages": [{"role": "user", "content": "q"}, {"role": "assistant"}]}
    )
    try:
        run(tmp_path, path, turns=turns, keep_no_tool=True)
    except InputError as error:
        assert "no demonstrations" in str(error)
    else:
        assert read_all(tmp_path / "d.jsonl")


@given(data=st.data(), name=st.sampled_from(sorted(SAMPLES)))
@settings(suppress_health_check=list(HealthCheck))
def test_samples_with_values_exchanged_are_no_error(data: st.DataObject, name: str, tmp_path: Path) -> None:
    text = (FOLDER / name).read_text("utf-8")
    for _ in range(data.draw(st.integers(1, 3))):
        old = data.draw(
            st.sampled_from(['"content"', '"tool_calls"', '"user"', '"name"', '"type"', '"id"', '": {', '": ["', "1"])
        )
        text = text.replace(old, data.draw(st.sampled_from(['"x"', "7", "[]", '"role"', '": [{', '": "', "null"])), 2)
    path = tmp_path / name
    path.write_text(text)
    try:
        run(tmp_path, path)
    except InputError as error:
        assert "no demonstrations" in str(error)
