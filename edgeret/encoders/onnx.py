"""Tokens to unit vectors, on ONNX Runtime. Knows nothing of texts and tools.

The graph itself pools and normalises, so one run gives the vector. It is checked before the library that parses it sees
a byte.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.private_copy import PrivateBytes
from edgeret.encoders.base import OUTPUT, REBUILD, TOKENS_OUTPUT, EncoderSpec, check_tokens, check_unit, failure
from edgeret.encoders.providers import (
    DISABLED_OPTIMIZERS,
    ProviderChoice,
    create_session,
    import_onnxruntime,
    name_of,
)
from edgeret.errors import BundleError, InputError, ProviderError
from edgeret.quoting import said
from edgeret.records import dataclass

STATIC_TOKENS = 128
NOWHERE = f"{os.devnull}/edgeret"
SPIN_US = "1000"
"""Microseconds that a worker thread spins for more work before it sleeps."""

Model = bytes | PrivateBytes
"""A graph's verified bytes."""


@dataclass(frozen=True, slots=True)
class _Graph:
    """A session, the names of its inputs, the one length of text in tokens that it reads, if it is static, and the
    provider that runs it."""

    session: Any
    inputs: frozenset[str]
    tokens: int | None
    provider: str


class OnnxGraphs:
    """An embedding model on ONNX Runtime. Safe to use from several threads; immutable but for a provider that is lost,
    whose place the CPU then takes where that is allowed."""

    lost: str | None = None
    """Why the CPU runs in the place of the provider that ran at first, in words."""
    engine = "onnxruntime"

    def __init__(
        self,
        model: Model | Sequence[tuple[Model, int]],
        spec: EncoderSpec,
        choice: ProviderChoice,
        threads: int,
        static_tokens: int | None = None,
        where: str = "encoder",
    ) -> None:
        """Starts an ONNX Runtime session with `threads` CPU threads; `where` is what messages call this encoder.

        `static_tokens` pads every text to one length (and cuts it there), as NPU compilers want; None leaves shapes
        dynamic unless the provider needs them fixed. Graphs made for one length each are given with it, shortest first;
        a text is read by the first that is long enough. Raises ProviderError, and BundleError for a graph that is
        not one of an encoder, or could take too much time or memory.
        """
        self.spec, self._where = spec, where
        fixed = None
        if isinstance(model, bytes | PrivateBytes):
            fixed = static_tokens or (STATIC_TOKENS if choice.static else None)
            self.longest = min(spec.max_tokens, fixed or spec.max_tokens)
        else:
            self.longest = min(spec.max_tokens, model[-1][1])
        self.threads = threads
        self.requested = choice.requested
        self.bound = choice.bound
        self._graphs = self._all_started(model, choice, fixed)
        self._again = (model, fixed) if choice.allow_fallback else None
        self._losing = threading.Lock()

    def _all_started(
        self, model: Model | Sequence[tuple[Model, int]], choice: ProviderChoice, fixed: int | None
    ) -> list[_Graph]:
        if isinstance(model, bytes | PrivateBytes):
            return [self._started(model, choice, fixed, made_so=False)]
        return [self._started(each, choice, tokens, made_so=True) for each, tokens in model]

    def _started(self, model: Model, choice: ProviderChoice, tokens: int | None, made_so: bool) -> _Graph:
        """A checked graph, running; for one length where that is given, for which it may have been made."""
        from edgeret.encoders.checks import onnx_file  # with the first bundle, as the library that it guards

        ort = import_onnxruntime()
        data, source = (model, model) if isinstance(model, bytes) else (model.data, model.source)
        onnx_file.check(data, tokens or self.longest, self._where, static=made_so)
        options = _session_options(ort, self.threads, None if made_so else tokens, choice.unfused)
        session = create_session(source, choice, options)
        outputs = {o.name: o.type for o in session.get_outputs()}
        for name in (OUTPUT, TOKENS_OUTPUT):
            if outputs.get(name) != "tensor(float)":
                raise BundleError(
                    f"{self._where}: output {name} must be tensor(float), found {outputs.get(name)}; {REBUILD}"
                )
        inputs, provider = session.get_inputs(), name_of(session.get_providers()[0])
        return _Graph(session, frozenset(i.name for i in inputs), tokens, provider)

    @property
    def providers(self) -> tuple[str, ...]:
        """The execution providers that the session really has, first the one that runs."""
        return tuple(name_of(p) for p in self._graphs[0].session.get_providers())

    @property
    def one_at_a_time(self) -> bool:
        """Whether its shapes are static, so that a text is read alone."""
        return self._graphs[0].tokens is not None

    def vector(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vector of tokens' ids (tokens,), the special ones among them, float32 (dimension,), not checked. Raises
        as `run` does."""
        vector: NDArray[np.float32] = self.run([ids], [OUTPUT])[0][0]
        return vector

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same, and those of the tokens, float32 (tokens, dimension)."""
        whole, tokens = self.run([ids], [OUTPUT, TOKENS_OUTPUT])
        return whole[0], tokens[0, : len(ids)]

    def embed_tokens(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """As `vectors`, checked: the first has length 1, and all numbers are finite."""
        vector, tokens = self.vectors(ids)
        check_unit(float(vector.dot(vector)), self._where)
        check_tokens(tokens, self._where)
        return vector, tokens

    def run(self, batch: Sequence[NDArray[np.int64]], outputs: list[str]) -> list[NDArray[np.float32]]:
        """These outputs for tokens' ids of several texts, padded to the longest, each float32 (texts, dimension) or
        (texts, tokens, dimension). Raises BundleError, InputError for a text without tokens, and ProviderError."""
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
            if self.bound and graph.provider != "cpu":
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
            self._lose(graph, error)
            return self.run(batch, outputs)
        for name, found in zip(outputs, result, strict=True):
            expected = (shape[0], self.spec.dimension) if name == OUTPUT else (*shape, self.spec.dimension)
            if found.shape != expected:
                raise BundleError(
                    f"{self._where}: output {name} must have shape {expected}, found {found.shape}; {REBUILD}"
                )
        return result

    def _lose(self, graph: _Graph, error: Exception) -> None:
        """Has the CPU run from now on, in the place of a provider that ran this graph once and cannot any more: a GPU
        that was reset, for instance. Raises ProviderError where that is not allowed, and BundleError for a graph that
        the CPU cannot run."""
        if graph.provider == "cpu":
            raise failure(self._where, "ONNX Runtime cannot run the graph", error) from None
        lost = f"{graph.provider} was lost while it ran ({said(error)})"
        if self._again is None:
            raise ProviderError(
                f"{self._where}: {lost}; load the bundle again, or have the CPU go on with allow_fallback=True "
                "(--allow-fallback)"
            ) from None
        with self._losing:
            if self.lost is None:  # else another thread was faster
                self._graphs = self._all_started(self._again[0], ProviderChoice(("cpu",), True), self._again[1])
                self.lost = f"{lost}; the CPU encodes until the bundle is loaded again"


def _session_options(ort: Any, threads: int, static_tokens: int | None, unfused: Sequence[str]) -> Any:
    options = ort.SessionOptions()
    # Without VNNI, products of 8 bits by 8 would lose what does not fit into 16.
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Whatever fails is raised too, and its message then made visible; the log would go to the terminal as it is.
    options.log_severity_level = 4
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
