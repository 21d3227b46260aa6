"""Text to unit vector, on ONNX Runtime. Knows nothing of tools.

The graph itself pools and normalises, so one run gives the vector. Texts are encoded one at a time: dynamic int8
quantisation scales activations over the whole batch, so a text's vector would depend on its neighbours. Both files are
checked before the libraries that parse them see a byte, and what comes out of the graph before anybody uses it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.private_copy import PrivateBytes
from edgeret.encoders.base import (
    OUTPUT,
    REBUILD,
    TOKENS_OUTPUT,
    EncodedQuery,
    EncoderSpec,
    failure,
    segment_means,
)
from edgeret.encoders.providers import (
    DISABLED_OPTIMIZERS,
    ProviderChoice,
    create_session,
    import_onnxruntime,
    name_of,
)
from edgeret.encoders.tokenizer import load_tokenizer, special_ends, takes_spaces, without_spaces
from edgeret.errors import BundleError, InputError
from edgeret.stopwatch import Stopwatch
from edgeret.types import SEGMENTS

STATIC_TOKENS = 128
NOWHERE = f"{os.devnull}/edgeret"
SPIN_US = "1000"
"""Microseconds that a worker thread spins for more work before it sleeps."""
UNIT_TOLERANCE = 0.01
"""By how much the squared length of a vector may differ from 1."""


Model = bytes | PrivateBytes
"""A graph's verified bytes."""


@dataclass(frozen=True, slots=True)
class _Graph:
    """A session, the names of its inputs, and the one length of text in tokens that it reads, if it is static."""

    session: Any
    inputs: frozenset[str]
    tokens: int | None


class OnnxEncoder:
    """An embedding model on ONNX Runtime. Immutable after construction and safe to use from several threads."""

    def __init__(
        self,
        model: Model | Sequence[tuple[Model, int]],
        tokenizer: bytes,
        spec: EncoderSpec,
        choice: ProviderChoice,
        threads: int,
        static_tokens: int | None = None,
        where: str = "encoder",
    ) -> None:
        """Starts an ONNX Runtime session with `threads` CPU threads; `where` is what messages call this encoder.

        `static_tokens` pads every text to one length (and cuts it there), as NPU compilers want; None leaves shapes
        dynamic unless the provider needs them fixed. Graphs made for one length each are given with it, shortest first;
        a text is read by the first that is long enough. Raises ProviderError, and BundleError for a graph or a
        tokenizer that is not one of an encoder, or could take too much time or memory.
        """
        self.spec = spec
        self.threads = threads
        self.requested = choice.requested
        self.bound = choice.bound
        self._where = where
        if isinstance(model, bytes | PrivateBytes):
            fixed = static_tokens or (STATIC_TOKENS if choice.static else None)
            self._longest = min(spec.max_tokens, fixed or spec.max_tokens)
            self._graphs = [self._started(model, choice, fixed, made_so=False)]
        else:
            self._longest = min(spec.max_tokens, model[-1][1])
            self._graphs = [self._started(each, choice, tokens, made_so=True) for each, tokens in model]
        self._tokenizer: Any = load_tokenizer(tokenizer, self._longest, where)
        self._before, self._behind = special_ends(self._tokenizer)
        self._spaces = takes_spaces(self._tokenizer)
        self._model = model if choice.allow_fallback else None  # ONNX Runtime falls back by reading it again

    def _started(self, model: Model, choice: ProviderChoice, tokens: int | None, made_so: bool) -> _Graph:
        """A checked graph, running; for one length where that is given, for which it may have been made."""
        from edgeret.encoders.checks import onnx_file  # with the first bundle, as the library that it guards

        ort = import_onnxruntime()
        data, source = (model, model) if isinstance(model, bytes) else (model.data, model.source)
        onnx_file.check(data, tokens or self._longest, self._where, static=made_so)
        options = _session_options(ort, self.threads, None if made_so else tokens, choice.unfused)
        session = create_session(source, choice, options)
        outputs = {o.name: o.type for o in session.get_outputs()}
        for name in (OUTPUT, TOKENS_OUTPUT):
            if outputs.get(name) != "tensor(float)":
                raise BundleError(
                    f"{self._where}: output {name} must be tensor(float), found {outputs.get(name)}; {REBUILD}"
                )
        return _Graph(session, frozenset(i.name for i in session.get_inputs()), tokens)

    @property
    def providers(self) -> tuple[str, ...]:
        """The execution providers that the session really has, first the one that runs."""
        return tuple(name_of(p) for p in self._graphs[0].session.get_providers())

    @property
    def tokenizer(self) -> Any:
        """What it splits texts with, cut at the windows that it reads; not to be changed."""
        return self._tokenizer

    @property
    def vocabulary(self) -> int:
        """How many tokens the tokenizer knows."""
        return int(self._tokenizer.get_vocab_size())

    @property
    def frame(self) -> tuple[list[int], list[int]]:
        """The ids that the tokenizer puts before every text, and those behind it."""
        ids = list(self._encoded("").ids)
        return ids[: self._before], ids[len(ids) - self._behind :]

    def tokenize(self, text: str) -> NDArray[np.int64]:
        """Token ids of `text`, shape (tokens,), cut at the spec's `max_tokens`. Raises BundleError if the tokenizer
        fails."""
        return np.array(self._encoded(text).ids, np.int64)

    def tokenize_words(self, text: str) -> NDArray[np.intp]:
        """Token ids of all of `text`, shape (tokens,), without the special ones."""
        return np.array([token for w in self._windows(self._encoded(text)) for token in self._words(w.ids)], np.intp)

    def _encoded(self, text: str) -> Any:
        """The tokenizer's reading of a text; `overflowing` holds what did not fit, in further windows."""
        try:
            return self._tokenizer.encode(text)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            raise failure(self._where, "the tokenizers library cannot encode a text", error) from None

    def embed(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The unit vector of tokenised text: ids (tokens,) to float32 (dimension,). Raises BundleError, here and below,
        if the graph fails or gives something else."""
        vector: NDArray[np.float32] = self._run([ids], [OUTPUT])[0][0]
        self._check_unit(float(vector.dot(vector)))
        return vector

    def embed_tokens(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The unit vector of tokenised text and, from the same run, the vectors of its tokens: float32 (dimension,)
        and (tokens, dimension)."""
        whole, tokens = self._run([ids], [OUTPUT, TOKENS_OUTPUT])
        vector, words = whole[0], tokens[0, : len(ids)]
        self._check_unit(float(vector.dot(vector)))
        numbers = words.reshape(-1)
        if not math.isfinite(numbers.dot(numbers)):
            raise BundleError(f"{self._where}: output {TOKENS_OUTPUT} holds numbers that are not finite; {REBUILD}")
        return vector, words

    def encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of several queries in one run, float32 (len(texts), dimension), padded to the longest.

        For bulk work where throughput counts: with int8 a vector depends, a little, on its neighbours. Raises
        InputError where shapes are static.
        """
        if self._graphs[0].tokens is not None:
            raise InputError("this encoder takes one text at a time: its shapes are static")
        if not texts:
            return np.zeros((0, self.spec.dimension), np.float32)
        vectors = self._run([self.tokenize(self.spec.query_prefix + text) for text in texts], [OUTPUT])[0]
        for squared in np.einsum("ij,ij->i", vectors, vectors).tolist():
            self._check_unit(squared)
        return vectors

    def _check_unit(self, squared: float) -> None:
        # Written so that NaN, which is neither near 1 nor far from it, is refused too.
        if not abs(squared - 1) < UNIT_TOLERANCE:
            raise BundleError(
                f"{self._where}: output {OUTPUT} must have length 1 (squared, within {UNIT_TOLERANCE}), "
                f"found {squared:.3g}; {REBUILD}"
            )

    def _run(self, batch: Sequence[NDArray[np.int64]], outputs: list[str]) -> list[NDArray[np.float32]]:
        longest = max(map(len, batch))
        graph = next((each for each in self._graphs if longest <= (each.tokens or longest)), self._graphs[-1])
        shape = (len(batch), graph.tokens or longest)
        if not shape[1]:
            raise InputError("a text without a single token has no vector; give one with words")
        inputs = {"input_ids": np.zeros(shape, np.int64), "attention_mask": np.zeros(shape, np.int64)}
        for row, ids in enumerate(batch):
            inputs["input_ids"][row, : len(ids)] = ids
            inputs["attention_mask"][row, : len(ids)] = 1
        if "token_type_ids" in graph.inputs:
            inputs["token_type_ids"] = np.zeros(shape, np.int64)
        result: list[NDArray[np.float32]]
        try:
            if self.bound:
                # ONNX Runtime then copies once each way, and not node by node.
                binding = graph.session.io_binding()
                for name, value in inputs.items():
                    binding.bind_cpu_input(name, value)
                for name in outputs:
                    binding.bind_output(name, "cpu")
                graph.session.run_with_iobinding(binding)
                result = binding.copy_outputs_to_cpu()
            else:
                result = graph.session.run(outputs, inputs)
        except Exception as error:  # ONNX Runtime raises a different class a cause, all outside a common root
            raise failure(self._where, "ONNX Runtime cannot run the graph", error) from None
        for name, found in zip(outputs, result, strict=True):
            expected = (shape[0], self.spec.dimension) if name == OUTPUT else (*shape, self.spec.dimension)
            if found.shape != expected:
                raise BundleError(
                    f"{self._where}: output {name} must have shape {expected}, found {found.shape}; {REBUILD}"
                )
        return result

    def encode(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a query's text, float32 (dimension,); the spec's query prefix is put before it. A text
        that is longer than the model reads is read in windows."""
        first, *more = self._windows(self._encoded(self.spec.query_prefix + text))
        if not more:
            return self.embed(np.array(first.ids, np.int64))
        return self._joined([self.embed(np.array(e.ids, np.int64)) for e in (first, *more)], (first, *more))

    def encode_query(self, text: str, watch: Stopwatch | None = None) -> EncodedQuery:
        """The unit vectors of a query and of its parts, and those of its tokens. `watch` is told of the stages
        `tokenize` and `encode`."""
        watch = watch or Stopwatch()
        prefix = self.spec.query_prefix
        windows = self._windows(self._encoded(prefix + text))
        watch.lap("tokenize")
        found = [self.embed_tokens(np.array(window.ids, np.int64)) for window in windows]
        parts = [self._words(words) for _, words in found]
        tokens = parts[0] if len(parts) == 1 else np.concatenate(parts)
        spans = np.array([span for w in windows for span in self._words(w.offsets)], np.intp).reshape(-1, 2)
        if self._spaces:
            spans = without_spaces(spans, prefix + text)
        rows = np.empty((1 + SEGMENTS, self.spec.dimension), np.float32)
        rows[0] = self._joined([vector for vector, _ in found], windows)
        rows[1:] = segment_means(tokens)
        if prefix:
            spans = spans - len(prefix)
            tokens, spans = tokens[spans[:, 1] > 0], spans[spans[:, 1] > 0]
        watch.lap("encode")
        return EncodedQuery(rows, tokens, spans, len(windows))

    def _words(self, window: Any) -> Any:
        """What a window has for the tokens of its text, without those ([CLS], [SEP]) that stand for no word."""
        return window[self._before : len(window) - self._behind]

    @staticmethod
    def _windows(encoding: Any) -> list[Any]:
        """A text's windows, in order."""
        return [encoding, *encoding.overflowing]

    @staticmethod
    def _joined(vectors: Sequence[NDArray[np.float32]], windows: Sequence[Any]) -> NDArray[np.float32]:
        """One unit vector for all windows, each counting by its tokens."""
        if len(vectors) == 1:
            return vectors[0]
        mean = np.average(vectors, axis=0, weights=[len(window.ids) for window in windows])
        joined: NDArray[np.float32] = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
        return joined

    def encode_tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of tool texts, float32 (len(texts), dimension)."""
        rows = [self.embed(self.tokenize(self.spec.tool_prefix + text)) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.spec.dimension), np.float32)


def _session_options(ort: Any, threads: int, static_tokens: int | None, unfused: Sequence[str]) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Worker threads spin while a run lasts and stop with it; left spinning, they took half the speed (and the
    # battery) from the decisions that follow an encoding.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # While a session is made they would spin for some 20 ms for nothing; between two operators they wait far less.
    options.add_session_config_entry("session.intra_op.spin_duration_us", SPIN_US)
    # Constants would be computed while the session is made, for as long as a forger likes. Our graphs have none
    # left to compute, and their speed is the same.
    options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(("ConstantFolding", *unfused)))
    # A graph may name outside files for its weights, found next to the process; none of ours does, so there is
    # no folder to find them in.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", NOWHERE)
    if static_tokens is not None:
        options.add_free_dimension_override_by_name("batch_size", 1)
        options.add_free_dimension_override_by_name("sequence_length", static_tokens)
    return options
