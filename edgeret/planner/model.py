"""Asks a small language model which of a few functions comes next, and with which arguments.

It cannot answer anything else: candidates are scored by their likelihood as the answer, all behind one prompt, and
arguments are written under a grammar. What was read once stays in the model's cache and is not read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from math import inf
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import PlannerError
from edgeret.planner.chat import STOPS, Piece, Prompt, render
from edgeret.planner.llama import BATCH, MAX_SEQUENCES, Engine, Entry
from edgeret.planner.pace import LEAST, Pace
from edgeret.planner.spec import PlannerSpec
from edgeret.planner.trees import Part, Reply, Tree, together
from edgeret.planner.turn import BusyError, Turn
from edgeret.records import dataclass
from edgeret.types import Usage

SELECT, FILL, NAME = 0, 1, 2
"""Sequences of the cache that keep the last prompt of each kind."""
_FIRST_ANSWER = 3
_GROUP = MAX_SEQUENCES - _FIRST_ANSWER
_GROUP_BYTES = 64 << 20
"""What the logits behind a group's tokens may take: 341 tokens of SmolLM2, 64 of Gemma 3."""
MAX_ANSWER_TOKENS = 384
_PIECE = 64
"""Tokens of a prompt that are read at once before a deadline, at most."""
_REHEARSED = 2048
"""Cells of the cache that is made ahead of questions with a deadline: a prompt of each kind, and a batch behind it."""
_SAID = 1 << 14
"""Replies whose likelihood is kept."""
_TOKEN_BYTES = 16
"""A prompt with more bytes for every token of the context is not even split into tokens. English has 4 to 5."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The log-likelihood of every answer given the prompt (answers,), and how many tokens each has (answers,)."""

    log_likelihood: NDArray[np.float64]
    lengths: NDArray[np.intp]
    usage: Usage


class Planner:
    """A language model in the bundle's service. Threads take turns."""

    def __init__(
        self, path: str | Path, spec: PlannerSpec, threads: int, gpu_layers: int = 0, name: str | None = None
    ) -> None:
        """Loads a GGUF file, called `name` in messages. Raises PlannerError, or MissingExtraError without
        llama-cpp-python."""
        self.spec = spec
        self._engine = Engine(str(path), threads, gpu_layers, name)
        self._turn = Turn()
        self._kept: dict[int, list[int]] = {SELECT: [], FILL: [], NAME: []}
        self._said: dict[tuple[Prompt, str], float] = {}  # what `replies` keeps
        self._pace = Pace()
        self.stop = self._engine.tokenize(STOPS[spec.chat], markup=True)
        if len(self.stop) != 1:
            raise PlannerError(
                f"{name or path}: no single token for {STOPS[spec.chat]!r}, which ends an answer in the chat format "
                f"{spec.chat}; build the bundle with another planner or chat format"
            )

    def rehearse(self) -> None:
        """Makes the cache and reads a few tokens twice: a question with a deadline then waits for neither the cache nor
        the weights' first reading, and it is known what a token takes."""
        with self._turn.by():
            self._reserve(FILL, _REHEARSED)
            for _ in range(2):
                self._read(FILL, self.stop * LEAST, 0, 0)
                self._forget(FILL, 0)

    def count(self, prompt: Prompt) -> tuple[int, int]:
        """Tokens of a prompt's constant and variable part."""
        return len((parts := self.tokens(prompt))[0]), len(parts[1])

    def score(self, prompt: Prompt, answers: Sequence[str], deadline: float = inf) -> Scores:
        """How likely each of `answers` is as the model's whole reply.

        The prompt is read as far as it is not in the cache; the answers, as a tree of their tokens, are read behind
        it in as few batches as there is room for. Raises PlannerError if the prompt is longer than the context, and
        BusyError where there is no time for it before the `deadline` (of `time.perf_counter`).
        """
        started = perf_counter()
        groups = self._groups(replies := [self._reply(answer) for answer in answers])
        likelihood: list[float] = []
        with self._turn.by(deadline):
            tokens = [*chain(*(parts := self.tokens(prompt)))]
            room = max(sum(map(len, group)) for group in groups)
            last, read = self._read_until(deadline, SELECT, tokens, max(map(len, replies)), room)
            if last is None or room > self._pace.tokens_before(deadline):
                raise BusyError
            evaluated = read
            for group in groups:
                tree = Tree(group)
                likelihood += self._behind(SELECT, len(tokens), [([], tree)], last)[0]
                evaluated += len(tree)
        usage = self._usage(*parts, read, evaluated, started)
        return Scores(np.array(likelihood), np.array([len(reply) for reply in replies], np.intp), usage)

    def likelihoods(self, prompts: Sequence[Prompt], text: str, deadline: float = inf) -> tuple[list[float], Usage]:
        """How likely a text is as the model's reply to each of the prompts, which have one constant part: the sum of
        its tokens' log-probabilities in nats, for as many prompts as there is time for before the `deadline` (of
        `time.perf_counter`). Of a long text the beginning counts. Raises PlannerError as `score` does, and BusyError
        where others ask until then."""
        started = perf_counter()
        found: list[float] = []
        with self._turn.by(deadline):
            room = _GROUP_BYTES // (4 * self._engine.tokens)
            reply = self._engine.tokenize(text)[:room]
            constant, left = self.tokens(prompts[0])[0], [self._own(prompt) for prompt in prompts]
            sizes, longest = (len(constant), len(left[-1])), max(map(len, left)) + len(reply)
            most = max(1, min(room // max(1, len(reply)), BATCH // longest, _GROUP))
            ready, read = self._read_until(deadline, FILL, constant, longest, most * longest)
            while left and ready is not None:
                begun = perf_counter()
                # Side by side they take three quarters of the time; but before a deadline a pace may turn out wrong.
                fitting = self._pace.tokens_before(deadline) / longest
                if fitting < 1:
                    break
                count = int(min(most, max(1.0, fitting / 2)))
                group, left = left[:count], left[count:]
                tree = Tree([tuple(reply)])
                found += [said for (said,) in self._behind(FILL, len(constant), [(own, tree) for own in group])]
                read += (tokens := sum(map(len, group)) + len(group) * len(reply))
                self._pace.read(tokens, begun)
        return found, Usage(*sizes, read, 0, (perf_counter() - started) * 1e3)

    def replies(
        self, asked: Sequence[tuple[Prompt, Sequence[str]]], deadline: float = inf, *, keep: bool = False
    ) -> tuple[list[list[float]], Usage]:
        """How likely each text is as the model's whole reply to the prompt that stands before it; the prompts have one
        constant part: log-likelihoods in nats, for as many prompts, the first ones first, as there is time for before
        the `deadline` (of `time.perf_counter`). To `keep` what is found spares reading it again. Raises PlannerError as
        `score` does."""
        started = perf_counter()
        found: list[list[float]] = []
        with self._turn.by(deadline):
            if len(self._said) > _SAID:
                self._said = {}
            known = self._said if keep else {}
            parts = [part for prompt, texts in asked for part in self._parts(prompt, texts, known)]
            read, (constant, last) = 0, self.tokens(asked[-1][0])
            if parts:
                longest, room = max(len(part.own) for part in parts), max(BATCH, *(part.size for part in parts))
                ready, read = self._read_until(deadline, NAME, constant, longest, room)
                parts = [] if ready is None else parts
            while parts:
                batch, parts = together(parts, _GROUP_BYTES // (4 * self._engine.tokens), BATCH, _GROUP)
                begun, size = perf_counter(), sum(part.size for part in batch)
                if size > self._pace.tokens_before(deadline):
                    self._pace.refused()
                    break
                values = self._behind(NAME, len(constant), [(part.own, part.tree) for part in batch])
                for part, said in zip(batch, values, strict=True):
                    known.update(zip(((part.prompt, text) for text in part.texts), said, strict=True))
                read += size
                self._pace.read(size, begun)
            for prompt, texts in asked:
                if not all((prompt, text) in known for text in texts):
                    break
                found.append([known[prompt, text] for text in texts])
        return found, self._usage(constant, last, read, read, started)

    def _parts(self, prompt: Prompt, texts: Sequence[str], known: Mapping[tuple[Prompt, str], float]) -> list[Part]:
        """What of a prompt's replies is not known, in parts that can be read at once."""
        fresh = [text for text in dict.fromkeys(texts) if (prompt, text) not in known]
        rest, own = iter(fresh), self._own(prompt) if fresh else []
        groups = self._groups([self._reply(text) for text in fresh])
        return [Part(prompt, own, [*islice(rest, len(group))], Tree(group)) for group in groups]

    def write(
        self,
        prompt: Prompt,
        gbnf: str,
        max_tokens: int = MAX_ANSWER_TOKENS,
        deadline: float = inf,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> tuple[str, bool, Usage]:
        """The model's reply under a grammar with the rule `root`, token by token; whether the grammar was complete
        within `max_tokens` and before the `deadline` (of `time.perf_counter`); and what it cost. It is the most likely
        one, or drawn with a `temperature`, from `seed` on. Raises PlannerError for a grammar that llama.cpp refuses."""
        started = perf_counter()
        reply: list[int] = []
        noise = np.random.default_rng(seed) if temperature > 0 else None
        with self._turn.by(deadline), self._engine.grammar(gbnf) as grammar:
            constant, variable = self.tokens(prompt)
            tokens = constant + variable
            found, read = self._read_until(deadline, FILL, tokens, max_tokens, max_tokens)
            if found is None:
                return "", False, self._usage(constant, variable, read, read, started)
            logits, finished = found, False
            now = latest = perf_counter()
            # A token is not begun where there is no time for one like the last.
            while len(reply) < max_tokens and 2 * now - latest < deadline:
                if noise is not None:  # the largest of logits with Gumbel noise is a draw from their softmax
                    logits = logits / np.float32(temperature) + noise.gumbel(size=len(logits)).astype(np.float32)
                token = grammar.pick(logits)
                if self._engine.ends(token):
                    finished = True
                    break
                entry = Entry(token, len(tokens) + len(reply), (FILL,), True)
                reply.append(token)
                logits = self._decode([entry])[0]
                latest, now = now, perf_counter()
            self._forget(FILL, len(tokens))
            text = self._engine.text(reply)
        return text, finished, self._usage(constant, variable, read, read + len(reply), started)

    def save(self, prompt: Prompt) -> bytes:
        """Reads the constant part of a selection prompt and gives the cache's state behind it, for `restore`."""
        with self._turn.by():
            constant, _ = self.tokens(prompt)
            self._read(SELECT, constant, 0, 0)
            return self._engine.save(SELECT)

    def restore(self, prompt: Prompt, state: bytes) -> bool:
        """Puts back what `save` gave for the same model, prompt and llama.cpp; False if llama.cpp refuses it."""
        with self._turn.by():
            constant, _ = self.tokens(prompt)
            self._reserve(SELECT, len(constant))
            self._forget(SELECT, 0)
            if not self._engine.restore(SELECT, state):
                self._forget(SELECT, 0)
                return False
            self._kept[SELECT] = constant
            return True

    def clear(self) -> None:
        """Empties the cache: the next prompt of each kind is read from its beginning."""
        with self._turn.by():
            for sequence in self._kept if self._engine.cells else ():
                self._forget(sequence, 0)

    def _reply(self, answer: str) -> Reply:
        """An answer's tokens with the one that ends it."""
        tokens = (*self._engine.tokenize(answer[: _TOKEN_BYTES * MAX_ANSWER_TOKENS]), *self.stop)
        if len(tokens) > MAX_ANSWER_TOKENS:
            raise PlannerError(
                f"the answer {answer[:40]!r}… has more than {MAX_ANSWER_TOKENS} tokens; give the tool a shorter name"
            )
        return tokens

    def _groups(self, replies: Sequence[Reply]) -> list[list[Reply]]:
        """The replies in groups that there are sequences for, and memory for their logits."""
        groups: list[list[Reply]] = []
        room = 0
        for reply in replies:
            if not groups or len(groups[-1]) == _GROUP or len(reply) > room:
                groups.append([])
                room = _GROUP_BYTES // (4 * self._engine.tokens)
            groups[-1].append(reply)
            room -= len(reply)
        return groups

    def tokens(self, prompt: Prompt) -> tuple[list[int], list[int]]:
        constant, variable = self._rendered(prompt)
        return self._tokenize(constant, True), self._tokenize(variable, not constant)

    def _own(self, prompt: Prompt) -> list[int]:
        """The tokens of the variable part alone."""
        constant, variable = self._rendered(prompt)
        return self._tokenize(variable, not constant)

    def _rendered(self, prompt: Prompt) -> tuple[list[Piece], list[Piece]]:
        constant, variable = render(prompt, self.spec.chat)
        size = sum(len(piece.text) for piece in (*constant, *variable))
        if size > _TOKEN_BYTES * self.spec.context:
            raise PlannerError(
                f"the prompt has {size} characters, far more than the planner's context of {self.spec.context} tokens; "
                "mask hard, shorten the tools' descriptions or build with another planner"
            )
        return constant, variable

    def _tokenize(self, pieces: Sequence[Piece], first: bool) -> list[int]:
        tokens: list[int] = []
        for piece in pieces:
            if piece.text:
                tokens += self._engine.tokenize(piece.text, markup=piece.markup, first=first)
                first = False
        return tokens

    def _reserve(self, sequence: int, cells: int, deadline: float = inf) -> bool:
        """Room for so many tokens beside what the other sequences keep; False if making it could last beyond the
        `deadline`."""
        cells += sum(len(kept) for other, kept in self._kept.items() if other != sequence)
        if cells > self._engine.cells and not self._pace.lets_grow(deadline):
            return False
        started = perf_counter()
        if self._engine.reserve(cells):
            self._kept = {sequence: [] for sequence in self._kept}
            self._pace.grew(started)
        return True

    def _read(self, sequence: int, tokens: list[int], room: int, longest: int) -> tuple[NDArray[np.float32], int]:
        """Brings a prompt into the cache: the logits behind its last token, and how many tokens had to be read.

        `room` are the cells that answers will need, `longest` the positions of the longest one.
        """
        if not tokens:
            raise PlannerError("the planner's vocabulary has no token for anything in the prompt")
        if len(tokens) + longest > self.spec.context:
            raise PlannerError(
                f"the prompt has {len(tokens)} tokens and its answer up to {longest}, but the planner's context is "
                f"{self.spec.context}; mask hard, shorten the tools' descriptions or build with another planner"
            )
        self._reserve(sequence, len(tokens) + room)
        common = self._forget(sequence, self._common(sequence, tokens))
        last = len(tokens) - 1
        entries = [Entry(token, i, (sequence,), i == last) for i, token in enumerate(tokens[common:], common)]
        started = perf_counter()
        logits = self._decode(entries)[-1]
        if len(entries) >= LEAST:
            self._pace.read(len(entries), started)
        self._kept[sequence] = tokens
        return logits, len(entries)

    def _common(self, sequence: int, tokens: list[int]) -> int:
        """How many of the first tokens are in the cache. The last is always read again, since its logits are wanted."""
        kept = self._kept[sequence]
        limit = min(len(kept), len(tokens) - 1)
        return next((i for i in range(limit) if kept[i] != tokens[i]), limit)

    def _read_until(
        self, deadline: float, sequence: int, tokens: list[int], longest: int, room: int
    ) -> tuple[NDArray[np.float32] | None, int]:
        """The same in pieces that there is time for, or None where there was none for the last; what was read is
        kept."""
        if deadline == inf or not tokens or len(tokens) + longest > self.spec.context:
            return self._read(sequence, tokens, room, longest)
        if not self._reserve(sequence, len(tokens) + room, deadline):  # all at once: a cache that grows is emptied
            return None, 0
        read, end = 0, self._common(sequence, tokens)
        while True:
            left = len(tokens) - end
            size = int(min(_PIECE, self._pace.tokens_before(deadline)))
            if size < min(LEAST, left):
                self._pace.refused()
                return None, read
            end += min(size, left)
            logits, n = self._read(sequence, tokens[:end], 0, longest)
            read += n
            if end == len(tokens):
                return logits, read

    def _decode(self, entries: Sequence[Entry]) -> list[NDArray[np.float32]]:
        """Reads tokens; should that fail, nothing is known of what the cache holds, and it is emptied."""
        try:
            return self._engine.decode(entries)
        except PlannerError:
            self._engine.clear()
            self._kept = {sequence: [] for sequence in self._kept}
            raise

    def _forget(self, sequence: int, start: int) -> int:
        """Cuts a sequence to `start` tokens; a model that cannot cut forgets it all. The tokens that are left."""
        if not self._engine.forget(sequence, start):
            self._engine.forget(sequence)
            start = 0
        self._kept[sequence] = self._kept[sequence][:start]
        return start

    def _behind(
        self, kept: int, start: int, parts: Sequence[tuple[list[int], Tree]], last: NDArray[np.float32] | None = None
    ) -> list[list[float]]:
        """How likely each tree's replies are behind its own tokens, all of it behind the `start` tokens of a sequence
        that is kept; `last` are the logits behind these, for a tree without tokens of its own."""
        entries: list[Entry] = []
        free = _FIRST_ANSWER
        for own, tree in parts:
            sequences = range(free, free := free + tree.replies)
            for sequence in sequences:
                self._engine.share(kept, sequence)
            end = len(own) - 1
            entries += [Entry(token, start + i, tuple(sequences), i == end) for i, token in enumerate(own)]
            entries += tree.entries(start + len(own), sequences)
        logits = iter(self._decode(entries))
        for sequence in range(_FIRST_ANSWER, free):
            self._engine.forget(sequence)
        return [
            tree.log_likelihoods([next(logits) if own or last is None else last, *islice(logits, len(tree))])
            for own, tree in parts
        ]

    @staticmethod
    def _usage(constant: list[int], variable: list[int], read: int, evaluated: int, started: float) -> Usage:
        reused = len(constant) + len(variable) - read
        return Usage(len(constant), len(variable), evaluated, reused, (perf_counter() - started) * 1e3)
