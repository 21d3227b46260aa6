"""llama.cpp behind a few calls: text to tokens, tokens to logits, sequences in its cache, grammars. Knows no prompts.

Positions of the cache are shared by sequences, so that many answers can be tried behind one prompt that was read once.
Where llama.cpp would end the process, an error is raised before it is called.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import MissingExtraError, PlannerError
from edgeret.records import dataclass

BATCH = 512
"""Tokens that one call of the engine reads at most."""
MAX_SEQUENCES = 64
PIECE_BYTES = 1024
"""Room for a token's text; `gguf_file` lets none through that has more than half of it."""
LIKELY = 256
"""Tokens that a grammar is asked about before all others."""
MAX_CELLS = 1 << 16
"""Tokens that the cache is ever made for; every prompt that a planner answers in a minute is far shorter."""
PART = 8192
"""Characters that are tokenized at once."""
_WORD = re.compile(r"(?<=\w) (?=\w)")
_MIN_CELLS = 1024
_log: list[str] = []
_log_callback: Any = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A token of a batch: its position, the sequences that it belongs to, and whether its logits are wanted."""

    token: int
    position: int
    sequences: tuple[int, ...]
    wanted: bool = False


class Engine:
    """A GGUF model with its cache. Not thread-safe: `Planner` takes turns."""

    def __init__(self, path: str, threads: int, gpu_layers: int = 0, name: str | None = None) -> None:
        """Maps the model into memory, once it was checked. `name` stands for the path in messages. Raises PlannerError
        if we or llama.cpp refuse it, MissingExtraError without llama.cpp."""
        self._llama: Any = import_llama()
        self._name, self._threads = name or path, threads
        from edgeret.planner.checks.gguf_file import (
            check_file,  # with the first planner, and not with the import of edgeret
        )

        check_file(Path(path), self._name)
        parameters = self._llama.llama_model_default_params()
        parameters.n_gpu_layers = gpu_layers
        # On x86 these repack Q4_0 and Q4_K, which few of our cards' tensors are, and bring AMX kernels, which GCC 12
        # compiles wrongly: on a CPU with AMX every model was a SIGSEGV at its first prompt.
        parameters.use_extra_bufts = platform.machine().lower() not in ("x86_64", "amd64")
        _log.clear()
        self._model = self._llama.llama_model_load_from_file(path.encode(), parameters)
        if not self._model:
            raise PlannerError(f"{self._name}: llama.cpp cannot load this planner ({reason()}); build the bundle again")
        self._vocab = self._llama.llama_model_get_vocab(self._model)
        self.tokens: int = self._llama.llama_vocab_n_tokens(self._vocab)
        self._context: Any = None
        self.cells = 0

    def __del__(self) -> None:
        if sys is not None and not sys.is_finalizing():  # the library may be gone by then, and the process ends anyway
            self.close()

    def close(self) -> None:
        """Frees the model and its cache; calling it again does nothing."""
        if getattr(self, "_context", None):
            self._llama.llama_free(self._context)
        if getattr(self, "_model", None):
            self._llama.llama_model_free(self._model)
        self._context = self._model = None

    def reserve(self, cells: int) -> bool:
        """Makes the cache hold at least `cells` tokens; True if it had to be made anew, and so was emptied.

        Raises PlannerError if there is no memory for it.
        """
        if cells <= self.cells:
            return False
        if cells > MAX_CELLS:
            raise PlannerError(f"{self._name}: a context of {cells} tokens, at most {MAX_CELLS} are kept; ask for less")
        size = _MIN_CELLS
        while size < cells:
            size *= 2
        if self._context:
            self._llama.llama_free(self._context)
        parameters = self._llama.llama_context_default_params()
        parameters.n_ctx = size
        parameters.n_batch = parameters.n_ubatch = BATCH
        parameters.n_seq_max = MAX_SEQUENCES
        parameters.n_threads = parameters.n_threads_batch = self._threads
        parameters.kv_unified = True  # all sequences draw on the same cells, and can share them
        parameters.swa_full = True  # without it, models with sliding windows cannot go back to a prefix
        parameters.no_perf = True
        _log.clear()
        self._context = self._llama.llama_init_from_model(self._model, parameters)
        if not self._context:
            self.cells = 0
            raise PlannerError(f"{self._name}: no memory for a planner's context of {size} tokens ({reason()})")
        self._memory = self._llama.llama_get_memory(self._context)
        self.cells = size
        return True

    def tokenize(self, text: str, *, markup: bool = False, first: bool = False) -> list[int]:
        """Tokens of a text; control tokens are recognised in `markup` alone, and `first` adds what opens a prompt."""
        tokens: list[int] = []
        for part in _parts(text):
            data = part.encode(errors="replace")  # half a surrogate pair is no text
            size = len(data) + 8
            while True:
                buffer = (self._llama.llama_token * size)()
                n = self._llama.llama_tokenize(self._vocab, data, len(data), buffer, size, first, markup)
                if n >= 0:
                    break
                size = -n  # a vocabulary that spells a space in bytes
            tokens += buffer[:n]
            first = False
        return tokens

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        pieces = bytearray()
        buffer = ctypes.create_string_buffer(PIECE_BYTES)
        for token in tokens:
            n = self._llama.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
            pieces += buffer.raw[: max(0, n)]
        return pieces.decode(errors="replace")

    def ends(self, token: int) -> bool:
        """Whether a token ends an answer."""
        return bool(self._llama.llama_vocab_is_eog(self._vocab, token))

    def decode(self, entries: Sequence[Entry]) -> list[NDArray[np.float32]]:
        """Reads tokens into the cache; the logits (vocabulary,) of those wanted, in order, valid until the next call
        for all of one batch, so that they are copied. Raises PlannerError, also for logits that are no numbers."""
        found: list[NDArray[np.float32]] = []
        for start in range(0, len(entries), BATCH):
            part = entries[start : start + BATCH]
            batch = self._llama.llama_batch_init(len(part), 0, MAX_SEQUENCES)
            try:
                batch.n_tokens = len(part)
                for i, entry in enumerate(part):
                    batch.token[i], batch.pos[i], batch.logits[i] = entry.token, entry.position, entry.wanted
                    batch.n_seq_id[i] = len(entry.sequences)
                    for j, sequence in enumerate(entry.sequences):
                        batch.seq_id[i][j] = sequence
                _log.clear()
                status = self._llama.llama_decode(self._context, batch)
                if status:
                    raise PlannerError(f"{self._name}: llama.cpp could not read a prompt (status {status}: {reason()})")
                found += [self._logits(i).copy() for i, entry in enumerate(part) if entry.wanted]
            finally:
                self._llama.llama_batch_free(batch)
        return found

    def forget(self, sequence: int, start: int = 0) -> bool:
        """Removes a sequence's tokens from position `start` on; False if the model cannot forget a part."""
        return bool(self._llama.llama_memory_seq_rm(self._memory, sequence, start, -1))

    def clear(self) -> None:
        """Empties the cache of all sequences."""
        self._llama.llama_memory_clear(self._memory, True)

    def share(self, source: int, target: int) -> None:
        """Lets `target` begin with all that `source` holds; nothing is read or copied."""
        self._llama.llama_memory_seq_cp(self._memory, source, target, 0, -1)

    def save(self, sequence: int) -> bytes:
        """A sequence's part of the cache as bytes, for `restore` of the same model and version."""
        size = self._llama.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        written = self._llama.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return bytes(memoryview(buffer)[:written])

    def restore(self, sequence: int, data: bytes) -> bool:
        """Puts what `save` gave into a sequence; False if llama.cpp refuses it or reads only a part of it."""
        buffer = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        read: int = self._llama.llama_state_seq_set_data(self._context, buffer, len(data), sequence)
        return read == len(data) > 0

    @contextlib.contextmanager
    def grammar(self, gbnf: str) -> Iterator[Grammar]:
        """A grammar that picks tokens. Raises PlannerError if llama.cpp cannot parse it."""
        _log.clear()
        sampler = self._llama.llama_sampler_init_grammar(self._vocab, gbnf.encode(errors="replace"), b"root")
        if not sampler:
            raise PlannerError(f"llama.cpp cannot use the grammar of this schema ({reason()})")
        try:
            yield Grammar(self._llama, sampler, self.tokens)
        finally:
            self._llama.llama_sampler_free(sampler)

    def _logits(self, i: int) -> NDArray[np.float32]:
        pointer = self._llama.llama_get_logits_ith(self._context, i)
        logits = np.ctypeslib.as_array(pointer, (self.tokens,))
        if not np.isfinite(logits).all():
            raise PlannerError(f"{self._name}: the planner's answer is not a number; build the bundle with another one")
        return logits


_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Grammar:
    """The state of a grammar while an answer is written."""

    def __init__(self, llama: Any, sampler: Any, n_vocab: int) -> None:
        """Use `Engine.grammar`."""
        self._llama, self._sampler = llama, sampler
        self._ids = np.arange(n_vocab, dtype=np.int32)

    def pick(self, logits: NDArray[np.float32]) -> int:
        """The most likely token (vocabulary,) that the grammar allows, and goes on from it. Raises PlannerError if the
        model's vocabulary has none."""
        # Most of the time the model wants what the grammar allows; asking about the whole vocabulary costs
        # milliseconds, and a few hundred tokens next to nothing.
        likely = logits.argpartition(len(logits) - LIKELY)[-LIKELY:].astype(np.int32)
        for ids in (likely, self._ids):
            allowed = self._allowed(ids, logits)
            if allowed.any():
                break
        else:  # going on with a token that is not allowed would end the process
            raise PlannerError(
                "no token of the planner's vocabulary goes on with what the grammar of this schema asks for"
            )
        best = int(ids[np.where(allowed, logits[ids], -np.inf).argmax()])
        self._llama.llama_sampler_accept(self._sampler, best)
        return best

    def _allowed(self, ids: NDArray[np.int32], logits: NDArray[np.float32]) -> NDArray[np.bool_]:
        data = np.zeros(len(ids), _TOKEN_DATA)
        data["id"], data["logit"] = ids, logits[ids]
        pointer = data.ctypes.data_as(self._llama.llama_token_data_p)
        array = self._llama.llama_token_data_array(pointer, len(ids), -1, False)
        self._llama.llama_sampler_apply(self._sampler, ctypes.byref(array))
        return np.asarray(data["logit"] > -np.inf)


def log_probabilities(logits: NDArray[np.float32], tokens: Collection[int]) -> NDArray[np.float64]:
    """Log-softmax over the vocabulary, for some tokens: float64 (len(tokens),)."""
    top = float(logits.max())
    total = top + float(np.log(np.exp(logits - top, dtype=np.float64).sum()))
    return logits[list(tokens)].astype(np.float64) - total


def _parts(text: str) -> Iterator[str]:
    """A text in parts that are tokenized one by one, cut before words, where it makes no difference.

    llama.cpp looks for special tokens by walking through all that it found before: of 130,000 characters of Gemma 3's,
    whose new line is such a token, every second one a new line, it took 74 s.
    """
    start = 0
    while len(text) - start > PART:
        end = max((match.start() for match in _WORD.finditer(text, start + PART // 2, start + PART)), default=0)
        yield text[start : end or start + PART]
        start = end or start + PART
    yield text[start:]


def llama_version() -> str:
    """The version of llama-cpp-python; states of the cache are good for one alone."""
    from importlib.metadata import version  # pulls in e-mail and sockets, which no device without a planner loads

    return version("llama-cpp-python")


def import_llama() -> Any:
    """The library's C interface, its chatter kept for error messages. Raises MissingExtraError."""
    global _log_callback
    # Its threads wait for each other a thousand times a token, and spin for up to a millisecond. Beside other programs
    # that took 71 ms a token of SmolLM2, and 14 with a short spin; alone both took 5 (two cores, load 3 and 0).
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        from llama_cpp import llama_cpp
    except ImportError:
        raise MissingExtraError("planner", "asking a planner") from None
    if _log_callback is None:

        def remember(level: int, text: bytes, _: Any) -> None:
            if level >= 3:  # warnings and errors
                _log.append(text.decode(errors="replace").strip())

        _log_callback = llama_cpp.llama_log_callback(remember)  # kept, since C only borrows it
        llama_cpp.llama_log_set(_log_callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
    return llama_cpp


def reason() -> str:
    """What llama.cpp last complained about."""
    return next((line for line in reversed(_log) if line), "no reason given")
