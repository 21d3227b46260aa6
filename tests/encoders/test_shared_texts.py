"""Texts that several threads share, or that are read side by side, have the vectors that they have alone."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from bert_samples import MAX_TOKENS, exported_bert
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE_S

from edgeret.errors import InputError
from edgeret_export.reference.encoders.core import CoreEncoder
from edgeret_export.reference.encoders.encoder_arrays import pack_arrays

READS = """
import pickle, sys
from edgeret_export.reference.encoders.core import CoreEncoder
from edgeret_export.reference.encoders.encoder_arrays import pack_arrays
model, tokenizer, spec, ids = pickle.load(open(sys.argv[1], "rb"))
CoreEncoder(model, pack_arrays(model, spec), tokenizer, spec, threads=3).embed(ids)
print("read")
"""


def encoder(threads: int) -> CoreEncoder:
    exported = exported_bert("avx2")
    arrays = pack_arrays(exported.model, exported.spec)
    assert arrays is not None
    return CoreEncoder(exported.model, arrays, exported.tokenizer, exported.spec, threads=threads)


@cache
def alone() -> CoreEncoder:
    return encoder(1)


@cache
def shared() -> CoreEncoder:
    return encoder(3)


def text(seed: int, length: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, alone().vocabulary, length)


@given(seed=st.integers(0, 9), length=st.integers(1, MAX_TOKENS))
def test_a_shared_text_has_the_same_bits(seed: int, length: int) -> None:
    for one, other in zip(
        alone().embed_tokens(text(seed, length)), shared().embed_tokens(text(seed, length)), strict=True
    ):
        assert one.tobytes() == other.tobytes()


@given(lengths=st.lists(st.integers(1, MAX_TOKENS), max_size=12), threads=st.sampled_from([1, 3]))
def test_texts_side_by_side_have_the_same_bits(lengths: list[int], threads: int) -> None:
    texts = [text(i, length) for i, length in enumerate(lengths)]
    found = (alone() if threads == 1 else shared()).embed_all(texts)
    assert found.shape == (len(texts), alone().spec.dimension)
    for ids, row in zip(texts, found, strict=True):
        assert row.tobytes() == alone().embed(ids).tobytes()


def test_an_empty_text_among_others_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="without a single token"):
        alone().embed_all([text(0, 3), text(1, 0), text(2, 4)])


def test_many_threads_share_at_once() -> None:
    texts = [text(seed, MAX_TOKENS) for seed in range(8)]
    right = [alone().embed(ids).tobytes() for ids in texts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            assert [found.tobytes() for found in pool.map(shared().embed, texts)] == right


def test_workers_that_are_late_may_read_an_encoder_that_goes() -> None:
    ids = text(3, MAX_TOKENS)
    right = alone().embed(ids).tobytes()
    for _ in range(30):
        crowd = encoder(16)  # more than there are CPUs, so that some are late
        assert [crowd.embed(ids).tobytes() for _ in range(5)] == [right] * 5
        del crowd


def in_a_child(work: Callable[[], bool]) -> int:
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_shares_among_threads_of_its_own() -> None:
    ids = text(5, MAX_TOKENS)
    right = shared().embed(ids).tobytes()
    with ThreadPoolExecutor(2) as pool:  # forks fall into the middle of others' work
        stopped = False
        others = [pool.submit(lambda: [shared().embed(ids) for _ in iter(lambda: stopped, True)]) for _ in range(2)]
        try:
            for _ in range(10):
                assert in_a_child(lambda: all(shared().embed(ids).tobytes() == right for _ in range(5))) == 0
        finally:
            stopped = True
        for other in others:
            other.result()
    assert shared().embed(ids).tobytes() == right


def test_a_process_ends_while_its_threads_wait(tmp_path: Path) -> None:
    exported = exported_bert("avx2")
    (tmp_path / "parts").write_bytes(pickle.dumps((exported.model, exported.tokenizer, exported.spec, text(0, 40))))
    command = [sys.executable, "-c", READS, str(tmp_path / "parts")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr
