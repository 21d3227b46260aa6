"""The parity gate at work: runs the original and its exports on the same texts. What they may differ by: `parity`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.progress import say
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.encoders.providers import choose
from edgeret.host import available_cpus
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Tool
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.original import compare_with_torch
from edgeret_export.encoders.parity import Parity, Vectors, compare
from edgeret_export.encoders.questions import from_demonstrations, from_tools, sample

BATCH = 16
"""Half the time of one at a time; 32 is no faster."""
TIMED, TURNS = 4, 4


def start(exported: ExportedEncoder) -> OnnxEncoder:
    """The encoder, running on all CPUs that this process may use."""
    choice = choose(("cpu",), False, {})
    return OnnxEncoder(exported.model, exported.tokenizer, exported.spec, choice, available_cpus())


class Gate:
    """Compares exports of one card with its fp32 export, on one set of demonstrations and tools."""

    def __init__(
        self,
        original: ExportedEncoder,
        demonstrations: Sequence[Demonstration],
        tools: Sequence[Tool],
        tool_texts: Sequence[str],
    ) -> None:
        """`original` is the fp32 export; it is compared with torch if it never was. Raises CheckFailedError if it is
        not torch's."""
        self._spec = original.spec
        # Its batches put one prefix before all texts; here come queries and tools.
        self._encoder = start(replace(original, spec=replace(original.spec, query_prefix="", tool_prefix="")))
        compare_with_torch(original, self._encoder)
        self._chosen = sample(len(demonstrations))
        self._requests = from_demonstrations(demonstrations, tools)
        self._made = from_tools(tools)
        self._tool_texts = tool_texts

    def measure(
        self,
        exported: ExportedEncoder,
        encoder: OnnxEncoder,
        query_vectors: NDArray[np.float32],
        tool_vectors: NDArray[np.float32],
    ) -> Parity:
        """How an export compares; `encoder` runs it, and gave `query_vectors` (demonstrations, dimension) and
        `tool_vectors` (tools, dimension)."""
        precision, size = exported.spec.precision, len(exported.model)
        # One at a time, as the runtime does: in int8 a text's vector depends on those beside it.
        made = np.stack([encoder.encode(text) for text in self._made.texts])
        found = Vectors(query_vectors[self._chosen], made, tool_vectors)
        # fp32 is the original itself, which need not run twice.
        reference, time_ratio = (found, 1.0) if precision == "fp32" else (self._reference, self._time_ratio(encoder))
        return compare(precision, size, time_ratio, reference, found, self._requests, self._made)

    @cached_property
    def _reference(self) -> Vectors:
        """The original's vectors, once for all attempts."""
        say("comparing with the fp32 original")
        query, tool = self._spec.query_prefix, self._spec.tool_prefix
        return Vectors(
            _in_batches(self._encoder, [query + text for text in self._requests.texts]),
            _in_batches(self._encoder, [query + text for text in self._made.texts]),
            _in_batches(self._encoder, [tool + text for text in self._tool_texts]),
        )

    def _time_ratio(self, encoder: OnnxEncoder) -> float:
        """The time of a text as a multiple of the original's. In turns, and the shortest of several, since other work
        on this machine makes times longer, never shorter."""
        seconds = [
            [[_seconds(each, text) for each in (encoder, self._encoder)] for _ in range(TURNS)]
            for text in self._made.texts[:TIMED]
        ]
        exported, original = np.min(seconds, axis=1).sum(axis=0)
        return float(exported / original)


def _in_batches(encoder: OnnxEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors in the texts' order, float32 (texts, dimension). For fp32, where neighbours change nothing."""
    vectors = np.zeros((len(texts), encoder.spec.dimension), np.float32)
    by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # so that little is padded
    for begin in range(0, len(texts), BATCH):
        rows = by_length[begin : begin + BATCH]
        vectors[rows] = encoder.encode_batch([texts[i] for i in rows])
    return vectors


def _seconds(encoder: OnnxEncoder, text: str) -> float:
    started = time.perf_counter()
    encoder.encode(text)
    return time.perf_counter() - started
