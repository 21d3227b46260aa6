"""The retrieval benchmark: methods, keys, fusion and clauses by hand, and one run with real weights."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLE, TOOLS, build_tiny, tiny_exported
from test_bench_plan import Model, with_planner

import edgeret
from edgeret.encoders.providers import choose
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.queries import RetrievalQuery
from edgeret.inputs.tools import read_tools
from edgeret.planner.answers import Answer
from edgeret.planner.chat import Prompt
from edgeret.runtime.runtime import Runtime
from edgeret.strategies.routing import Route
from edgeret.types import Tool, Usage
from edgeret_bench.accuracy import retrieval
from edgeret_bench.cli import main
from edgeret_export.encoders import expansion as expanding
from edgeret_export.encoders.word_vectors import word_reader
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.inputs.clauses import split_clauses
from edgeret_export.reference.runtime import components_of
from edgeret_export.sources.expansions import Expansion, Line, as_text, origin_hash
from edgeret_export.sources.priors import read_prior

METRICS = {
    *("ndcg@1", "ndcg@5", "ndcg@10", "recall@1", "recall@5", "recall@10", "completeness@5", "completeness@10", "mrr")
}


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    exported = tiny_exported()
    return OnnxEncoder(exported.model, exported.tokenizer, exported.spec, choose(("cpu",), False, {}), 1)


def asked(query: str, *tools: str) -> RetrievalQuery:
    return RetrievalQuery("q", query, frozenset(tools))


QUERIES = [
    asked("find a file", "find_file"),
    asked("book the meeting then play music to me", "book_meeting", "play_music"),
    asked("open calendar day"),
]
GOES_BY = retrieval.GoesBy(read_prior("all-minilm-l6-v2").weights, word_reader(tiny_exported()))
PLAIN = retrieval.Options("description", goes_by=GOES_BY)


def test_a_result_has_the_keys_of_the_contract(encoder: OnnxEncoder) -> None:
    found = retrieval.run(TOOLS, QUERIES, encoder, retrieval.RETRIEVAL_METHODS, PLAIN)
    assert set(found) == {
        "n_queries", "n_without_tool", "n_tools", "tool_text", "limit", "seed", "budget_ms", "with_steps", "methods"
    }  # fmt: skip
    assert list(found["methods"]) == ["bm25", "dense", "rrf", "clauses", "hybrid"]
    for values in found["methods"].values():
        assert set(values) == {*METRICS, "ms"}
        assert all(0 <= values[metric] <= 1 for metric in METRICS)
        assert 0 < values["ms"]["p50"] <= values["ms"]["max"] and values["ms"]["n"] == 2
    assert found["n_tools"] == 6
    assert found["tool_text"] == "description"


def test_queries_without_tools_are_counted_and_left_out(encoder: OnnxEncoder) -> None:
    with_one = retrieval.run(TOOLS, QUERIES, encoder, ["dense"])
    without = retrieval.run(TOOLS, QUERIES[:2], encoder, ["dense"])
    assert (with_one["n_queries"], with_one["n_without_tool"]) == (2, 1)
    assert (without["n_queries"], without["n_without_tool"]) == (2, 0)
    rows = [found["methods"]["dense"] for found in (with_one, without)]
    assert [rows[0][metric] for metric in METRICS] == [rows[1][metric] for metric in METRICS]


def test_a_file_of_queries_without_tools_measures_nothing(encoder: OnnxEncoder) -> None:
    with pytest.raises(InputError, match=r"^no query in the file names a tool, so there is nothing to measure$"):
        retrieval.run(TOOLS, QUERIES[2:], encoder, ["dense"])


def test_an_unknown_method_is_refused_with_the_list(encoder: OnnxEncoder) -> None:
    expected = "unknown method 'splade'; choose among: bm25, dense, rrf, clauses, hybrid, auto, routed, steps, rerank"
    with pytest.raises(InputError, match=f"^{re.escape(expected)}"):
        retrieval.run(TOOLS, QUERIES, encoder, ["dense", "splade"])


def test_an_unknown_tool_text_is_refused_with_the_list(encoder: OnnxEncoder) -> None:
    with pytest.raises(InputError, match=r"unknown tool text 'name'; choose one of: name\+description, description"):
        retrieval.run(TOOLS, QUERIES, encoder, ["dense"], retrieval.Options("name"))


@pytest.mark.parametrize("method", retrieval.RETRIEVAL_METHODS)
@pytest.mark.parametrize("tool", TOOLS[:5], ids=lambda tool: tool.name)
def test_a_description_finds_its_own_tool(encoder: OnnxEncoder, method: str, tool: Tool) -> None:
    found = retrieval.run(TOOLS, [asked(tool.description, tool.name)], encoder, [method], PLAIN)
    assert found["methods"][method]["mrr"] == 1.0


def test_dense_ranks_by_cosine(encoder: OnnxEncoder) -> None:
    query = "send the letter to me"
    cosines = encoder.encode_tools([t.description for t in TOOLS]) @ encoder.encode(query)
    ranking = retrieval.Retrieval(TOOLS, encoder, "description").dense(query)
    assert ranking.tolist() == sorted(range(6), key=lambda i: -cosines[i])


def test_the_tool_text_decides_what_bm25_sees(encoder: OnnxEncoder) -> None:
    tools = [Tool("alpha", "first"), Tool("zebra_crossing", "second")]
    by_name = retrieval.Retrieval(tools, encoder, "name+description").bm25("zebra")
    by_description = retrieval.Retrieval(tools, encoder, "description").bm25("zebra")
    assert by_name.tolist() == [1, 0]
    assert by_description.tolist() == [0, 1]


@pytest.mark.parametrize("query", ["the and of", "qwertz", "77 qwertz"])
def test_bm25_keeps_the_tools_order_when_no_word_is_known(encoder: OnnxEncoder, query: str) -> None:
    assert retrieval.Retrieval(TOOLS, encoder, "description").bm25(query).tolist() == [0, 1, 2, 3, 4, 5]


def test_rrf_is_reciprocal_rank_fusion(encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    search = retrieval.Retrieval(TOOLS, encoder, "description")
    monkeypatch.setattr(search, "bm25", lambda query: np.array([0, 1, 2, 3, 4, 5]))
    monkeypatch.setattr(search, "dense", lambda query: np.array([3, 4, 1, 2, 5, 0]))
    # Two good ranks (2 and 3) beat one best and one worst (1 and 6), as they would not with a small constant.
    assert 1 / 64 + 1 / 61 > 1 / 62 + 1 / 63 > 1 / 61 + 1 / 66 > 1 / 65 + 1 / 62 > 1 / 63 + 1 / 64 > 1 / 66 + 1 / 65
    assert search.rrf("anything").tolist() == [3, 1, 0, 4, 2, 5]


def test_rrf_breaks_a_draw_of_both_lists_by_the_tools_order(
    encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = retrieval.Retrieval(TOOLS[:2], encoder, "description")
    monkeypatch.setattr(search, "bm25", lambda query: np.array([1, 0]))
    monkeypatch.setattr(search, "dense", lambda query: np.array([0, 1]))
    assert search.rrf("anything").tolist() == [0, 1]


def test_clauses_count_a_tool_by_its_best_rank_then_its_best_cosine(encoder: OnnxEncoder) -> None:
    query = "book a meeting and then play music to me"
    parts = [query, *split_clauses(query)]
    assert parts[1:] == ["book a meeting", "play music to me"]
    vectors = encoder.encode_tools([t.description for t in TOOLS])
    cosines = np.stack([vectors @ encoder.encode(part) for part in parts])
    rankings = [sorted(range(6), key=lambda i, row=row: -row[i]) for row in cosines]
    best_rank = [min(ranking.index(i) for ranking in rankings) for i in range(6)]
    expected = sorted(range(6), key=lambda i: (best_rank[i], -cosines[:, i].max()))
    found = retrieval.Retrieval(TOOLS, encoder, "description").clauses(query).tolist()
    assert found == expected
    assert {TOOLS[i].name for i in found[:2]} == {"book_meeting", "play_music"}


def test_clauses_of_a_single_wish_are_the_dense_ranking(encoder: OnnxEncoder) -> None:
    search = retrieval.Retrieval(TOOLS, encoder, "description")
    assert split_clauses("send my letter") == []
    assert search.clauses("send my letter").tolist() == search.dense("send my letter").tolist()


def test_no_text_is_encoded_twice(encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    encode = OnnxEncoder.encode
    monkeypatch.setattr(OnnxEncoder, "encode", lambda self, text: seen.append(text) or encode(self, text))
    retrieval.run(TOOLS, QUERIES[:2], encoder, ["dense", "rrf", "clauses"])
    assert len(seen) == len(set(seen)) > 2


@pytest.mark.full
@pytest.mark.real
def test_the_command_measures_the_desktop_requests_with_real_weights_and_with_queries_written_for_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = read_tools(EXAMPLE / "tools.jsonl")
    plans = read_demonstrations(EXAMPLE / "demonstrations.jsonl", [tool.name for tool in tools])
    said = [[plan.query for plan in plans if [call.tool for call in plan.calls] == [tool.name]][:2] for tool in tools]
    lines = [Line(t.name, {}, origin_hash(t, {}), tuple(s)) for t, s in zip(tools, said, strict=True) if s]
    written = tmp_path / "e.jsonl"
    written.write_text(as_text(lines), encoding="utf-8")
    command = ["retrieval", "--json", "--methods", "bm25,dense", "--expansion", str(written)]
    command += ["--tools", str(EXAMPLE / "tools.jsonl"), "--queries", str(EXAMPLE / "requests.jsonl")]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["expansion"]["queries"] == sum(map(len, said)) > 0
    rows = [json.loads(line)["tools"] for line in (EXAMPLE / "requests.jsonl").read_text("utf-8").splitlines()]
    assert found["encoder"] == "all-minilm-l6-v2"
    assert found["n_queries"] == sum(bool(tools) for tools in rows)
    assert found["n_without_tool"] == sum(not tools for tools in rows)
    assert set(found["methods"]) == {"bm25", "dense"}
    dense = found["methods"]["dense"]
    assert set(dense) == {*METRICS, "ms"}
    # Drawing at random finds, on average, the share of the tools that the cut takes.
    assert dense["recall@1"] > 5 * 1 / found["n_tools"]
    assert dense["recall@5"] > 3 * 5 / found["n_tools"]
    assert dense["recall@10"] >= dense["recall@5"] >= dense["recall@1"]


def test_a_strategy_tells_what_asking_cost_and_steps_are_searched_for(encoder: OnnxEncoder) -> None:
    class Splitting:
        def answer(self, prompt: Prompt, *_: object) -> Answer:
            return Answer({"intents": prompt.variable.text.split(" then ")}, Usage(1, 2, 3, 0, 1.0))

    given = RetrievalQuery(
        "s", "do it all", frozenset({"book_meeting", "play_music"}), ("book a meeting", "play music")
    )
    options = replace(PLAIN, answerer=Splitting())
    found = retrieval.run(TOOLS, [*QUERIES, given], encoder, ["dense", "steps", "re-invoke"], options)["methods"]
    assert set(found["dense"]) == {*METRICS, "ms"}
    assert set(found["re-invoke"]) == {*METRICS, "answers", "tokens", "complete", "ms"}
    assert (found["re-invoke"]["answers"], found["re-invoke"]["tokens"], found["steps"]["tokens"]) == (1, 3, 0)
    assert found["steps"]["recall@5"] > found["dense"]["recall@1"]


def test_a_route_asks_where_it_says_and_is_needed_for_that(encoder: OnnxEncoder) -> None:
    class Answering:
        def answer(self, *_: object) -> Answer:
            return Answer({"intents": ["play music"]}, Usage(1, 2, 3, 0, 1.0))

    with pytest.raises(InputError, match="--route"):
        retrieval.run(TOOLS, QUERIES, encoder, ["routed"], replace(PLAIN, answerer=Answering()))
    for contested, answers in ((0.0, 1), (2.0, 0)):
        options = replace(PLAIN, answerer=Answering(), route=Route("re-invoke", contested, 0.0))
        found = retrieval.run(TOOLS, QUERIES, encoder, ["auto", "routed"], options)["methods"]
        assert found["routed"]["answers"] == answers and found["auto"]["answers"] == 0


def test_a_method_that_asks_needs_a_planner_and_a_sample_is_the_same_for_a_seed(encoder: OnnxEncoder) -> None:
    with pytest.raises(InputError, match="--planner"):
        retrieval.run(TOOLS, QUERIES, encoder, ["toolqp"])
    runs = [retrieval.run(TOOLS, QUERIES, encoder, ["dense"], retrieval.Options(limit=1, seed=3)) for _ in range(2)]
    rows = [run["methods"].pop("dense") for run in runs]
    assert runs[0] == runs[1] and runs[0]["n_queries"] == 1
    assert [rows[0][metric] for metric in METRICS] == [rows[1][metric] for metric in METRICS]


def test_a_vector_at_hand_costs_a_method_what_encoding_it_took(
    encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, now = OnnxEncoder.encode, 0.0

    def slowly(self: OnnxEncoder, text: str) -> Any:
        nonlocal now
        now += 0.2
        return encode(self, text)

    monkeypatch.setattr(retrieval, "perf_counter", lambda: now)
    monkeypatch.setattr(OnnxEncoder, "encode", slowly)
    search = retrieval.Retrieval(TOOLS, encoder, "description")
    times = {method: search.timed(method, "find my file")[1] for method in ("dense", "rrf", "clauses")}
    assert times == pytest.approx(dict.fromkeys(times, 200.0))
    assert search.timed("bm25", "find my file")[1] == 0


def test_a_budget_tells_the_share_of_searches_that_kept_it(encoder: OnnxEncoder) -> None:
    class Slow:
        def answer(self, prompt: Prompt, *_: object) -> Answer:
            time.sleep(1.5 if "play" in prompt.variable.text else 0)
            return Answer({"intents": [prompt.variable.text]}, Usage(1, 2, 3, 0, 1.0))

    options = replace(PLAIN, answerer=Slow(), budget_ms=1000.0)
    found = retrieval.run(TOOLS, QUERIES, encoder, ["dense", "re-invoke"], options)
    assert found["budget_ms"] == 1000
    assert (found["methods"]["dense"]["kept"], found["methods"]["re-invoke"]["kept"]) == (1, 0.5)


def test_a_result_says_which_methods_had_sub_tasks_and_an_option_keeps_these_back(
    tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tmp_path / "queries.jsonl"
    row = {"query": "book a meeting", "tools": ["play_music"], "calls": [{"tool": "play_music", "step": "play music"}]}
    queries.write_text(json.dumps(row) + "\n", encoding="utf-8")
    command = ["retrieval", "--bundle", str(tiny), "--queries", str(queries), "--methods", "hybrid,steps", "--json"]
    found = []
    for more in ([], ["--without-steps"]):
        assert main([*command, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert [result["with_steps"] for result in found] == [["steps"], []]
    assert found[0]["methods"]["steps"]["recall@5"] == 1
    assert found[0]["methods"]["steps"]["mrr"] > found[1]["methods"]["steps"]["mrr"]


def test_a_bundle_is_measured_with_its_own_tools_encoder_and_demonstrations(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "1", "query": "find my file", "tools": ["find_file"]}\n', encoding="utf-8")
    command = ["retrieval", "--bundle", str(tiny), "--queries", str(queries), "--methods", "auto,hybrid", "--json"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    runtime = edgeret.load(tiny, threads=1)
    assert told["dataset"] is None and told["encoder"] == runtime.manifest.info["encoder"]["card"]
    assert told["bundle_hash"] == runtime.manifest.content_hash and told["n_tools"] == len(runtime.tools)
    for strategy in ("auto", "hybrid"):
        first = runtime.search("find my file", 1, strategy=strategy)[0].tool
        assert told["methods"][strategy]["recall@1"] == float(first == "find_file")


def test_a_base_lends_other_tools_its_encoder(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools, queries = tmp_path / "tools.jsonl", tmp_path / "queries.jsonl"
    tools.write_text('{"name": "brew", "description": "Brews coffee."}\n{"name": "mow", "description": "Mows."}\n')
    queries.write_text('{"id": "1", "query": "Brews coffee", "tools": ["brew"]}\n', encoding="utf-8")
    given = ["--tools", str(tools), "--queries", str(queries), "--base", str(tiny)]
    command = ["retrieval", *given, "--methods", "hybrid"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n_tools"], told["methods"]["hybrid"]["recall@1"]) == (2, 1)
    assert told["bundle_hash"] == edgeret.load(tiny, threads=1).manifest.content_hash
    assert main([*command, "--dimension", "2"]) == 2
    assert "leave --base out" in capsys.readouterr().err


def test_a_bundle_s_own_planner_is_asked_where_none_is_named_and_a_method_asks(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "1", "query": "do it", "tools": ["find_file"]}\n', encoding="utf-8")
    command = ["retrieval", "--bundle", str(tiny), "--queries", str(queries), "--json", "--methods"]
    assert main([*command, "tooldreamer"]) == 2
    assert "--planner or --endpoint, or a bundle with one" in capsys.readouterr().err

    model = Model('{"intents": ["find my file"]}')
    runtime = with_planner(edgeret.load(tiny, threads=1), model)
    manifest = replace(runtime.manifest, info={**runtime.manifest.info, "planner": {"card": "small"}})
    monkeypatch.setattr(Runtime, "manifest", property(lambda self: manifest))
    monkeypatch.setattr(edgeret, "load", lambda path: runtime)
    assert main([*command, "re-invoke"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["planner"], told["methods"]["re-invoke"]["answers"]) == ("small", 1)
    assert main([*command, "hybrid"]) == 0
    assert json.loads(capsys.readouterr().out)["planner"] is None


def test_tools_and_a_bundle_are_not_both_measured(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["retrieval", "--bundle", str(tiny), "--tools", "t.jsonl", "--queries", "q.jsonl"])
    assert "--tools" in capsys.readouterr().err


def test_given_vectors_take_the_place_of_the_texts_own_in_all_but_words(encoder: OnnxEncoder) -> None:
    turned = np.roll(encoder.encode_tools([t.description for t in TOOLS]), 1, axis=0)
    query = TOOLS[0].description
    plain = retrieval.Retrieval(TOOLS, encoder, "description", GOES_BY)
    given = retrieval.Retrieval(TOOLS, encoder, "description", GOES_BY, turned)
    assert given.dense(query)[0] == given.clauses(query)[0] == plain.dense(query)[0] + 1 == 1
    assert given.index.vectors is turned
    assert given.bm25(query).tolist() == plain.bm25(query).tolist()
    options = replace(PLAIN, vectors=turned)
    found = retrieval.run(TOOLS, [asked(query, "send_mail")], encoder, ["dense", "bm25"], options)
    assert [row["recall@1"] for row in found["methods"].values()] == [1.0, 0.0]


def test_a_bundle_is_searched_by_the_vectors_of_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(expanding, "best_choice", lambda gains: ("query", 1.0))
    line = Line("find_file", {}, "", ("find a file of music", "find a file play music"))
    said = Expansion({line.tool: line}, "0")
    build_tiny(tmp_path / "b", demonstrations=(), expansion=said)
    (tmp_path / "q").write_text('{"id": "1", "query": "find my file", "tools": ["find_file"]}\n', encoding="utf-8")
    seen: list[np.ndarray] = []
    run = retrieval.run
    monkeypatch.setattr(retrieval, "run", lambda *a: seen.append(a[4].vectors) or run(*a))
    command = ["retrieval", "--bundle", str(tmp_path / "b"), "--queries", str(tmp_path / "q"), "--methods", "dense"]
    assert main(command) == 0
    assert seen[0].tobytes() == components_of(edgeret.load(tmp_path / "b", threads=1)).index.vectors.tobytes()
    capsys.readouterr()
    assert main([*command, "--expansion", "e.jsonl"]) == 2
    assert "--index-vectors are for --tools" in capsys.readouterr().err
