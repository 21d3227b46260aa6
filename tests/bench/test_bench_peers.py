"""The benchmark of peers: what each of them ranks first, what is reported where one is missing or fails, and turns."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, WORDS
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret.errors import CheckFailedError, EdgeretError, InputError, MissingExtraError
from edgeret.inputs.queries import RetrievalQuery
from edgeret.inputs.tool_text import tool_text
from edgeret.runtime.runtime import Runtime
from edgeret_bench.cli import main
from edgeret_bench.metrics import retrieval_metrics
from edgeret_bench.peers import PEERS, measure
from edgeret_bench.peers.base import NONE, Peer, pad, peer_class, timed
from edgeret_bench.peers.measure import BLOCK, WARMUP, System
from edgeret_bench.peers.process import PeerProcess
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card
from edgeret_export.sources.fetch import fetch

TEXTS = [tool_text(tool, "name+description") for tool in TOOLS]
QUERIES = [
    RetrievalQuery("a", "find my file and send a mail", frozenset({"find_file", "send_mail"})),
    RetrievalQuery("b", "open calendar day", frozenset()),
    RetrievalQuery("c", "write a note", frozenset({"write_note"})),
]


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model that means word vectors, each word being a direction of its own."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {word: i for i, word in enumerate(("[UNK]", *dict.fromkeys(WORDS)))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    words = StaticEmbedding(tokenizer, embedding_weights=np.eye(len(vocabulary), dtype=np.float32))
    folder = tmp_path_factory.mktemp("model")
    sentence_transformers.SentenceTransformer(modules=[words], device="cpu").save_pretrained(str(folder))
    return folder


def ready(name: str, model: Path | None = None) -> Peer:
    """A peer in this process, over the tools above."""
    peer = peer_class(name)(model, 1)
    peer.prepare(TOOLS, TEXTS)
    return peer


def named(ranking: Sequence[int]) -> list[str]:
    return [TOOLS[position].name for position in ranking]


def test_every_peer_has_an_extra_and_is_among_all_peers() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "bench" / "pyproject.toml").read_text())
    extras = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["optional-dependencies"]
    together = " ".join(extras["peers"])
    for name in PEERS:
        assert peer_class(name).name == name
        assert f"peer-{name}" in extras
        assert f"peer-{name}," in together.replace("]", ",")


def test_an_unknown_peer_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"^unknown peer 'faiss'; choose among: sentence-transformers, .*bm25s$"):
        peer_class("faiss")


def test_bm25s_ranks_tools_that_share_words_and_lists_no_others() -> None:
    peer = ready("bm25s")
    assert peer.version()
    assert named(peer.rank("please find that file", 10)) == ["find_file"]
    assert named(peer.rank("call a meeting", 10))[:2] in (
        ["phone_call", "book_meeting"],
        ["book_meeting", "phone_call"],
    )
    assert len(peer.rank("call a meeting", 1)) == 1
    assert peer.rank("the of a", 10) == []
    assert peer.rank("xyzzy", 10) == []


def test_sentence_transformers_ranks_by_cosine(tiny_model: Path) -> None:
    peer = ready("sentence-transformers", tiny_model)
    assert named(peer.rank("send mail", 10))[0] == "send_mail"
    assert sorted(peer.rank("send mail", 10)) == list(range(len(TOOLS)))
    assert named(peer.rank("play music", 1)) == ["play_music"]


def test_semantic_router_ranks_by_cosine_of_its_routes(tiny_model: Path) -> None:
    pytest.importorskip("semantic_router", reason="extra peer-semantic-router is not installed")
    peer = ready("semantic-router", tiny_model)
    dense = ready("sentence-transformers", tiny_model)
    assert named(peer.rank("play music", 1)) == ["play_music"]
    assert sorted(peer.rank("send a mail", 10)) == list(range(len(TOOLS)))
    assert peer.rank("send mail call", 3)[:2] == dense.rank("send mail call", 3)[:2]


def test_graph_tool_call_takes_a_history_and_may_find_nothing() -> None:
    pytest.importorskip("graph_tool_call", reason="extra peer-graph-tool-call is not installed")
    from edgeret_bench.peers.tool_graph import GraphPeer

    peer = GraphPeer(None, 1)
    peer.prepare(TOOLS, TEXTS)
    assert named(peer.rank("find a file", 3))[0] == "find_file"
    assert len(peer.rank("find a file", 1)) == 1
    assert named(peer.rank("send a mail", 3)) == ["send_mail"]
    assert named(peer.rank("send a mail", 3, history=["find_file"])) == ["send_mail", "find_file"]
    assert peer.rank("xyzzy", 10) == []


@pytest.mark.real
def test_onnx_and_torch_rank_alike() -> None:
    pytest.importorskip("optimum.onnxruntime", reason="extra peer-sentence-transformers-onnx is not installed")
    model = fetch(find_card(DEFAULT_ENCODER))
    before = sorted(file.name for file in model.rglob("*"))
    torch, onnx = ready("sentence-transformers", model), ready("sentence-transformers-onnx", model)
    for query in ("mail the minutes to Ana", "a song, please"):
        assert onnx.rank(query, 6) == torch.rank(query, 6)
    assert sorted(file.name for file in model.rglob("*")) == before


def test_padding_fills_with_places_that_no_tool_has() -> None:
    assert pad([3, 1], 4) == [3, 1, NONE, NONE]
    assert pad([3, 1, 2], 2) == [3, 1]
    assert pad([], 2) == [NONE, NONE]
    # One of two relevant tools is found, first of all: recall 1/2, ndcg 1 / (1 + 1/log2(3)).
    found = retrieval_metrics(np.array(pad([3], 10)), {3, 5})
    assert (found["recall@5"], found["mrr"]) == (0.5, 1.0)
    assert found["ndcg@5"] == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert retrieval_metrics(np.array(pad([], 10)), {3})["mrr"] == 0


def test_timing_gives_a_time_and_a_padded_answer_a_query() -> None:
    times, rankings = timed(lambda query, k: [len(query)], ["a", "bcd"], 2)
    assert len(times) == 2
    assert min(times) >= 0
    assert rankings == [[1, NONE], [3, NONE]]


Log = list[tuple[str, list[str]]]


def recorder(name: str, log: Log, fails_at: int | None = None) -> System:
    """A system that says what it was asked; a query's number is its ranking."""

    def answer(queries: Sequence[str], k: int) -> tuple[list[float], list[list[int]]]:
        log.append((name, list(queries)))
        if len([n for n, _ in log if n == name]) - 1 == fails_at:
            raise CheckFailedError(f"{name} broke")
        return [1.0] * len(queries), [[int(query)] for query in queries]

    return System(answer, {})


def refuse(name: str, error: EdgeretError) -> None:
    raise error


@given(st.integers(1, 200), st.integers(1, 300))
def test_every_system_answers_every_query_and_the_count_in_order(n: int, count: int) -> None:
    log: Log = []
    systems = {name: recorder(name, log) for name in "ab"}
    measure.alternate(systems, [str(i) for i in range(n)], count, refuse)
    expected = [[i % n] for i in range(max(n, count))]
    for system in systems.values():
        assert system.rankings == expected
        assert len(system.ms) == len(expected)


def test_systems_take_turns_block_by_block_with_one_unmeasured_query_each() -> None:
    log: Log = []
    systems = {name: recorder(name, log) for name in "abc"}
    measure.alternate(systems, [str(i) for i in range(150)], 2, refuse)
    assert [(name, len(queries)) for name, queries in log[:3]] == [("a", WARMUP), ("b", WARMUP), ("c", WARMUP)]
    turns = [log[i : i + 3] for i in range(3, len(log), 3)]
    assert len(turns) == 3
    for number, turn in enumerate(turns):
        first = number * BLOCK
        assert {name for name, _ in turn} == set("abc")
        for _, queries in turn:
            assert queries == [str(i % 150) for i in range(first - 1, min(first + BLOCK, 150))][:1] + queries[1:]
            assert queries[1:] == [str(i) for i in range(first, min(first + BLOCK, 150))]


def test_a_system_that_fails_is_left_out_and_the_others_go_on() -> None:
    log: Log = []
    systems = {"good": recorder("good", log), "bad": recorder("bad", log, fails_at=1)}
    heard: list[str] = []
    measure.alternate(systems, ["0", "1"], 200, lambda name, error: heard.append(f"{name}: {error}"))
    assert heard == ["bad: bad broke"]
    assert list(systems) == ["good"]
    assert len(systems["good"].ms) == 200


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts another module in the place of bm25s, in processes that start from now on."""

    def write(code: str) -> None:
        (tmp_path / "bm25s.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    return write


ABSENT = "raise ModuleNotFoundError(\"No module named 'bm25s'\", name='bm25s')"


def test_a_named_peer_that_is_not_installed_is_an_error_with_its_command(
    runtime: Runtime, stub: Callable[[str], None]
) -> None:
    stub(ABSENT)
    expected = (
        r"^the peer bm25s \(module bm25s\) requires extra 'peer-bm25s'\. "
        r"Install it with: pip install 'edgeret-bench\[peer-bm25s\]'$"
    )
    with pytest.raises(MissingExtraError, match=expected):
        measure.run(runtime, QUERIES, TOOLS, ["bm25s"], min_queries=2)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (ABSENT, "pip install 'edgeret-bench[peer-bm25s]'"),
        ("print('noise'); raise RuntimeError('no good\\nat all')", "the peer bm25s failed: RuntimeError: no good"),
        ("import os, sys; print('gone', file=sys.stderr, flush=True); os._exit(3)", "ended (exit code 3: gone)"),
    ],
)
def test_a_peer_nobody_named_is_reported_and_the_rest_goes_on(
    runtime: Runtime, stub: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    stub(code)
    monkeypatch.setattr(measure, "PEERS", {"bm25s": PEERS["bm25s"]})
    found = measure.run(runtime, QUERIES, TOOLS, min_queries=2)
    assert list(found["systems"]) == ["edgeret search", "edgeret select"]
    assert reason in found["unavailable"]["bm25s"]


def test_no_model_is_fetched_for_a_peer_that_is_not_installed(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_class("sentence-transformers"), "distribution", "no-such-distribution")
    monkeypatch.setattr("edgeret_export.sources.fetch.fetch", lambda card: pytest.fail("fetched a model"))
    with pytest.raises(MissingExtraError, match=r"pip install 'edgeret-bench\[peer-sentence-transformers\]'$"):
        measure.run(runtime, QUERIES, TOOLS, ["sentence-transformers"], min_queries=2)


def test_a_named_peer_that_fails_is_an_error(runtime: Runtime, stub: Callable[[str], None]) -> None:
    stub("raise ValueError")
    with pytest.raises(CheckFailedError, match=r"^the peer bm25s failed: ValueError$"):
        measure.run(runtime, QUERIES, TOOLS, ["bm25s"], min_queries=2)


def test_a_peer_that_fails_with_a_question_says_so() -> None:
    with PeerProcess("bm25s", 1) as process:
        process.prepare(TOOLS, TEXTS, None)
        with pytest.raises(CheckFailedError, match="the peer bm25s failed: "):
            process.answer([{}], 10)  # type: ignore[list-item]
        assert process.answer(["find that file"], 2)[1] == [[0, NONE]]


@pytest.fixture(scope="module")
def measured(runtime: Runtime) -> dict[str, Any]:
    return measure.run(runtime, QUERIES, TOOLS, ["bm25s"], min_queries=70)


def test_the_result_counts_queries_and_says_with_what_it_was_measured(
    measured: dict[str, Any], runtime: Runtime
) -> None:
    assert (measured["n_queries"], measured["n_without_tool"], measured["n_tools"]) == (2, 1, len(TOOLS))
    assert (measured["n_timed"], measured["k"], measured["threads"]) == (70, 10, 1)
    assert measured["tool_text"] == "name+description"
    assert measured["encoder"] == {"card": "tiny", "precision": "fp32"}
    assert measured["bundle_hash"] == runtime.manifest.content_hash
    assert measured["unavailable"] == {}
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured


def test_every_system_has_accuracy_times_and_samples(measured: dict[str, Any]) -> None:
    assert list(measured["systems"]) == ["edgeret search", "edgeret select", "bm25s"]
    for name, system in measured["systems"].items():
        assert list(system["accuracy"]) == ["top1", "ndcg@5", "recall@5", "mrr"]
        assert all(0 <= value <= 1 for value in system["accuracy"].values())
        assert 0 <= system["ms"]["p50"] <= system["ms"]["p90"] <= system["ms"]["p99"] <= system["ms"]["max"]
        assert len(measured["samples"]["series"][name]) == system["ms"]["n"] == 70
        assert system["rss_mb"] > 0
    ours = measured["systems"]["edgeret select"]["ms"]["mean"]
    for system in measured["systems"].values():
        assert system["times_first_select"] == pytest.approx(system["ms"]["mean"] / ours)
    assert measured["systems"]["bm25s"]["build_ms"] > 0
    assert measured["systems"]["edgeret search"]["build_ms"] is None


def test_accuracy_is_that_of_the_rankings(measured: dict[str, Any], runtime: Runtime) -> None:
    asked = [(q.query, {i for i, t in enumerate(TOOLS) if t.name in q.tools}) for q in QUERIES if q.tools]
    names = [tool.name for tool in TOOLS]
    for system, rank in (
        ("bm25s", ready("bm25s").rank),
        ("edgeret search", lambda query, k: [names.index(hit.tool) for hit in runtime.search(query, k)]),
    ):
        rows = [retrieval_metrics(np.array(pad(rank(query, 10), 10)), right) for query, right in asked]
        found = measured["systems"][system]["accuracy"]
        for key in ("ndcg@5", "recall@5", "mrr"):
            assert found[key] == pytest.approx(np.mean([row[key] for row in rows]))
    assert measured["systems"]["bm25s"]["accuracy"]["top1"] == 1.0


def test_queries_without_any_tool_are_refused(runtime: Runtime) -> None:
    with pytest.raises(InputError, match="no query in the file names a tool"):
        measure.run(runtime, QUERIES[1:2], TOOLS, ["bm25s"])


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    file = tmp_path / "queries.jsonl"
    lines = [{"id": q.id, "query": q.query, "tools": sorted(q.tools)} for q in QUERIES]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def test_the_command_prints_a_table(tiny_original: Path, queries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "lab",
        "peers",
        str(tiny_original),
        "--queries",
        str(queries),
        "--peers",
        "bm25s,bm25s",
        "--min-queries",
        "4",
    ]
    assert main([*arguments, "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == "· loading bm25s\n"
    lines = out.splitlines()
    assert lines[0].split()[:5] == ["system", "top1", "ndcg@5", "recall@5", "mrr"]
    assert [line.split("  ")[0] for line in lines[2:5]] == ["edgeret search", "edgeret select", "bm25s"]
    assert lines[6].startswith("2 queries over 6 tools, the first 10 ranked; 1 more without a tool; 4 timed")
    assert lines[4].split()[-1] == version("bm25s")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--peers", "faiss"], "edgeret-bench: unknown peer 'faiss'; choose among: "),
        (["--min-queries", "1"], "edgeret-bench: --min-queries must be at least 2, found 1"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_loaded(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["lab", "peers", str(tmp_path / "nowhere"), "--queries", str(queries), *options]) == 2
    assert capsys.readouterr().err.startswith(message)
