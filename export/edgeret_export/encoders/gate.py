"""The parity gate at work: runs the original and its exports on the same texts. What they may differ by: `parity`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncoderSpec
from edgeret.inputs.demonstrations import Demonstration
from edgeret.terminal.progress import say
from edgeret.types import Tool
from edgeret_export.encoders.encodings import Encodings, remembered, start
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.original import compare_with_torch
from edgeret_export.encoders.parity import Parity, Vectors, compare, decided, loss_of
from edgeret_export.encoders.questions import LOOKS, Questions, from_demonstrations, from_tools
from edgeret_export.reference.encoders.base import Encoder

TIMED, TURNS = 4, 4

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit vectors (texts, dimension)."""


@contextmanager
def gate_of(
    original: ExportedEncoder, demonstrations: Sequence[Demonstration], tools: Sequence[Tool], tool_texts: Sequence[str]
) -> Iterator[Gate]:
    """The gate of one card's exports; `original` is its fp32 export, and compared with torch if it never was. Raises
    CheckFailedError if it is not torch's."""
    spec = original.spec
    # Without prefixes, as the comparison wants it; they are put before the texts by hand.
    bare = replace(original, spec=replace(spec, query_prefix="", tool_prefix=""))
    encoder = start(bare)
    compare_with_torch(original, encoder)
    with remembered(bare, encoder) as reference:
        yield Gate(spec, reference, from_demonstrations(demonstrations, tools), from_tools(tools), tool_texts)


class Gate:
    """Compares exports of one card with its fp32 export, on one set of demonstrations and tools."""

    def __init__(
        self,
        spec: EncoderSpec,
        reference: Encodings,
        requests: Questions,
        made: Questions,
        tool_texts: Sequence[str],
    ) -> None:
        """`reference` are the fp32 export's, which puts no prefix before a text; `spec` says which there should be."""
        self._spec, self._reference = spec, reference
        self._requests, self._made = requests, made
        self._tool_texts = [spec.tool_prefix + text for text in tool_texts]
        self._groups = sum(any(questions.relevant) for questions in (requests, made))

    def measure(self, size: int, encodings: Encodings, tools: NDArray[np.float32], *, own_tools: bool = True) -> Parity:
        """How an export of `size` bytes compares, with as many questions as it takes to decide; `encodings` are the
        export's, and `tools` (tools, dimension) the vectors that tools are found by, its own or another encoder's."""
        spec = encodings.encoder.spec
        if spec.precision == "fp32":  # the original itself, which need not run twice
            reference, time_ratio = tools, 1.0
        else:
            say("comparing with the fp32 original")
            reference = self._reference.tools(self._tool_texts)
            time_ratio = self._time_ratio(encodings.encoder)
        asked: list[tuple[Questions, NDArray[np.float32], NDArray[np.float32]]] = []
        for questions, ours in (
            (self._requests, lambda texts: np.array([found.rows[0] for found in encodings.passages(texts)])),
            (self._made, encodings.queries),
        ):
            theirs = ours if spec.precision == "fp32" else self._original
            asked.append(self._until_decided(questions, ours, theirs, tools, reference))
        (requests, ours_of_requests, theirs_of_requests), (made, ours_of_made, theirs_of_made) = asked
        return compare(
            spec.precision,
            size,
            time_ratio,
            Vectors(theirs_of_requests, theirs_of_made, reference),
            Vectors(ours_of_requests, ours_of_made, tools),
            requests,
            made,
            own_tools=own_tools,
        )

    def _original(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._reference.queries([self._spec.query_prefix + text for text in texts])

    def _until_decided(
        self,
        questions: Questions,
        ours: Encode,
        theirs: Encode,
        tools: NDArray[np.float32],
        reference: NDArray[np.float32],
    ) -> tuple[Questions, NDArray[np.float32], NDArray[np.float32]]:
        """The questions that were asked, with both encoders' vectors (texts, dimension)."""
        found = expected = np.zeros((0, tools.shape[1]), np.float32)
        part = questions.first(0)
        for look in LOOKS:
            part = questions.first(look)
            if texts := part.texts[len(found) :]:
                found = np.concatenate((found, ours(texts)))
                expected = np.concatenate((expected, theirs(texts))) if theirs is not ours else found
            if len(part) == len(questions) or decided(
                loss_of(part, (expected, reference), (found, tools), self._groups)
            ):
                break
        return part, found, expected

    def _time_ratio(self, encoder: Encoder) -> float:
        """The time of a text as a multiple of the original's. In turns, and the shortest of several, since other work
        on this machine makes times longer, never shorter."""
        seconds = [
            [[_seconds(each, text) for each in (encoder, self._reference.encoder)] for _ in range(TURNS)]
            for text in self._made.texts[:TIMED]
        ]
        exported, original = np.min(seconds, axis=1).sum(axis=0)
        return float(exported / original)


def _seconds(encoder: Encoder, text: str) -> float:
    started = time.perf_counter()
    encoder.encode(text)
    return time.perf_counter() - started
