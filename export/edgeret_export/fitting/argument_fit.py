"""Fits the head for arguments: on many people's calls, which gives what is shipped, and from there on a bundle's own
demonstrations, which is kept only where it is better on calls that it did not see."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Tool, references
from edgeret_export.fitting.argument_cases import Case, cases, shortened
from edgeret_export.fitting.argument_pool import Judged, Step, fit_traits, fit_tuned, judge, rows_of, steps_of, summed
from edgeret_export.fitting.argument_unsaid import unsaid
from edgeret_export.reference.arguments.reader import ArgumentReader, texts_of, wanted_of
from edgeret_export.reference.arguments.role import Counts, StoredArguments
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.scoring.argument_head import ArgumentHead
from edgeret_export.reference.scoring.argument_joining import ANY_SCRIPT, TUNED

Arrays = Mapping[str, NDArray[np.float32]]
SIZE, DECAY, PEAK = 48, 0.02, 6e-4
MOST_UNITS, MOST_PARAMETERS, MOST_OPTIONS = 120, 12, 60
"""Cases with more are left out of a fit: they would make every batch beside them as large."""
LEAST_PLANS, MOST_PLANS, HELD, MOST_HELD = 10, 10_000, 5, 300
"""Plans from which on a head is tuned, and the most that it reads, since time grows with them. One of so many is held
out, and so many at most."""
VISITS, PASSES = 6_000, (8, 20)
"""How many cases a tuning reads, each pass again, and between how many passes."""
KEPT = 0.85
"""How far a tuning goes from the weights at the beginning to those that it found."""
SMALL, HALF = 60, 0.5
"""Plans below which a head goes half of the way, and is joined as before: what so few held-out values say of it is
chance, and less is lost of how people talk."""
FEW, FOLDS = 150, 3
"""Plans up to which each is held out once, in so many fits: a fifth of them says little."""
WHOLE = 400
"""Plans up to which a head is fitted once more on all, the held ones too."""


class Against(NamedTuple):
    """What a fit does against learning its cases by heart: the share of units whose vectors are `hidden`, its dropout,
    the share of the numbers that stand for functions and parameters that are `blurred` to zero, and the share of these
    that are `shortened` to the name, or to the description, alone."""

    hidden: float = 0.0
    dropout: float = 0.1
    blurred: float = 0.0
    shortened: float = 0.0


PLAIN, WORDING = Against(), Against(hidden=0.25, dropout=0.2)
"""The latter of a tuning: demonstrations are worded in ways that people's requests are not."""


class Tuned(NamedTuple):
    """A head for a bundle: its weights, what joins it with the rules, and what is told of it."""

    arrays: Arrays
    pool: Mapping[str, float]
    traits: Mapping[str, float]
    counts: Counts
    report: Mapping[str, Any]


class Reading:
    """The encoder, with each text encoded once."""

    def __init__(self, encoder: Encoder) -> None:
        self.spec, self._encoder = encoder.spec, encoder
        self._queries: dict[str, EncodedQuery] = {}
        self.texts: dict[str, NDArray[np.float32]] = {}

    def encode_query(self, text: str) -> EncodedQuery:
        """As the encoder does; kept in half the bytes."""
        found = self._queries.get(text)
        if found is None:
            whole = self._encoder.encode_query(text)
            found = EncodedQuery(whole.rows[:1], whole.tokens.astype(np.float16), whole.spans, whole.readings)
            self._queries[text] = found
        return EncodedQuery(found.rows, found.tokens.astype(np.float32), found.spans, found.readings)

    def encode_tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the encoder does."""
        for text in texts:
            if text not in self.texts:
                self.texts[text] = self._encoder.encode_tools([text])[0]
        return np.array([self.texts[text] for text in texts], np.float32)


@contextmanager
def _alone() -> Iterator[None]:
    """One thread, so that the same cases give the same bytes."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def fit(
    given: Sequence[Case],
    texts: Mapping[str, NDArray[Any]],
    passes: int,
    peak: float,
    seed: int,
    begin: Arrays | None,
    against: Against = PLAIN,
) -> Arrays:
    """Weights fitted to cases, from others that stand at the beginning or from random ones. `texts` are the vectors of
    what stands for functions, parameters and options, and of both halves where any are to be `shortened`."""
    import torch  # takes seconds, and most builds from tools alone need it for nothing

    from edgeret_export.fitting.argument_network import Network, batch, hide, loss

    fine = [one for one in given if is_fine(one)]
    with _alone(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(fine[0].vectors.shape[1], against.dropout)
        if begin is not None:
            network.load_state_dict({name: torch.from_numpy(np.array(one)) for name, one in begin.items()})
        size = min(SIZE, max(8, len(fine) // 8))
        optimiser = torch.optim.AdamW(network.parameters(), lr=peak, weight_decay=DECAY)
        steps = passes * -(-len(fine) // size) + passes
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, peak, total_steps=steps, pct_start=0.15)
        chance = random.Random(seed)
        network.train()
        for _ in range(passes):
            for part in _batches(fine, size, chance):
                if against.shortened:
                    part = [shortened(one, against.shortened, chance) for one in part]
                one = hide(batch(part, texts), against.hidden, against.blurred)
                lost = loss(one, network(one))
                optimiser.zero_grad()
                torch.autograd.backward(lost)
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
                schedule.step()
    return {name: one.detach().numpy().copy() for name, one in network.state_dict().items()}


def is_fine(one: Case) -> bool:
    """Whether a case has no more than a batch may hold."""
    return (
        len(one.vectors) <= MOST_UNITS
        and 0 < len(one.parameters) <= MOST_PARAMETERS
        and max(one.counts, default=0) <= MOST_OPTIONS
    )


def _tuned(
    own: Sequence[Case], texts: Mapping[str, NDArray[Any]], passes: int, seed: int, begin: Arrays, kept: float
) -> Arrays:
    found = fit(own, texts, passes, PEAK, seed, begin, WORDING)
    return {name: (begin[name] + kept * (one - begin[name])).astype(np.float32) for name, one in found.items()}


def _batches(given: Sequence[Case], size: int, chance: random.Random) -> list[list[Case]]:
    """The cases in another order, those of a length side by side."""
    order = list(given)
    chance.shuffle(order)
    found = []
    for i in range(0, len(order), size * 20):
        part = sorted(order[i : i + size * 20], key=lambda one: len(one.vectors))
        found += [part[j : j + size] for j in range(0, len(part), size)]
    chance.shuffle(found)
    return found


def reader_of(
    arrays: Arrays, reading: Any, pool: Mapping[str, float], traits: Mapping[str, float], counts: Counts
) -> ArgumentReader:
    """What reads arguments with these weights."""
    dimension = arrays["word.weight"].shape[1]
    nothing = np.zeros(0, np.int64), np.zeros((0, dimension), np.int8), np.zeros(0, np.float32)
    return ArgumentReader(StoredArguments(ArgumentHead(arrays), reading, *nothing, pool, traits, counts))


def counts_of(tools: Mapping[str, Tool], plans: Iterable[Demonstration]) -> Counts:
    """How often each parameter took the output of each tool that was called before."""
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for plan in plans:
        used: set[int] = set()
        for i, call in enumerate(plan.calls):
            givers = {earlier.tool for earlier in plan.calls[:i]}
            for one in wanted_of(tools[call.tool]):
                taken = set(references({"": call.arguments.get(one.name)}))
                for giver in givers:
                    made = [k for k in range(1, i + 1) if plan.calls[k - 1].tool == giver]
                    row = found.setdefault((call.tool, one.name), {}).setdefault(giver, [0, 0, 0, 0])
                    fresh = [k for k in made if k not in used]
                    at = 0 if fresh else 2
                    row[at] += 1
                    row[at + 1] += not taken.isdisjoint(fresh or made)
            used.update(references(call.arguments))
    return dict(sorted(found.items()))


def vectors_of(tools: Iterable[Tool], reading: Reading) -> dict[str, NDArray[np.float32]]:
    """The vectors of all that stands for the parameters of these tools."""
    asked = [(tool, wanted) for tool in tools if (wanted := wanted_of(tool))]
    texts = list(dict.fromkeys(text for tool, wanted in asked for text in texts_of(tool, wanted)))
    return dict(zip(texts, reading.encode_tools(texts), strict=True)) if texts else {}


def tune(
    begin: Arrays,
    pool: Mapping[str, float],
    traits: Mapping[str, float],
    tools: Mapping[str, Tool],
    demonstrations: Sequence[Demonstration],
    reading: Reading,
    seed: int,
    say: Callable[[str], None],
) -> Tuned:
    """The head for these tools: tuned on the demonstrations where that is better on held-out calls, else as it was."""
    plans = [one for one in demonstrations if any(call.arguments for call in one.calls)]
    counts = counts_of(tools, plans)
    bare = Tuned(begin, pool, traits, counts, {"calls": sum(len(one.calls) for one in plans)})
    if len(plans) < LEAST_PLANS:
        return bare
    order = list(plans)
    random.Random(seed).shuffle(order)
    order = order[:MOST_PLANS]
    say(f"arguments: tuning the head on {len(order)} demonstrations")
    is_small = len(order) < SMALL
    kept = HALF if is_small else KEPT
    trials, silent, rows = [], [], []
    hushed = random.Random(seed)
    for held, rest in _folds(order):
        own = _cases_of(tools, rest, reading)
        if not own:
            return bare
        own += _cases_without(tools, unsaid(tools, rest, hushed), reading)
        passes = max(PASSES[0], min(PASSES[1], VISITS // len(own)))
        tuned = _tuned(own, reading.texts, passes, seed, begin, kept)
        steps, counted = steps_of(tools, [(one.query, one.calls) for one in held]), counts_of(tools, rest)
        asked = unsaid(tools, held, hushed)
        if not is_small:
            found = rows_of(
                [*steps, *asked], tools, reader_of(tuned, reading, {**pool, TUNED: 1.0}, traits, counted), None
            )
            hushed.shuffle(found)  # both kinds in each part of them
            rows += found
        trials.append((tuned, steps, counted))
        silent.append((tuned, asked, counted))
    joined = pool if is_small else fit_tuned(rows, pool) | {TUNED: 1.0, ANY_SCRIPT: pool.get(ANY_SCRIPT, 0.0)}
    before = summed(judge(steps, tools, reader_of(begin, reading, pool, traits, of)) for _, steps, of in trials)
    after = summed(judge(steps, tools, reader_of(one, reading, joined, traits, of)) for one, steps, of in trials)
    guessed = summed(judge(steps, tools, reader_of(one, reading, joined, traits, of)) for one, steps, of in silent)
    sure = fit_traits([*after.values, *guessed.values], traits)
    report = {**bare.report, **_told(before, after, sure)}
    if (after.calls, after.f1) <= (before.calls, before.f1):
        return bare._replace(report={**report, "kept": False})
    if len(plans) <= WHOLE:
        whole = _cases_of(tools, order, reading) + _cases_without(tools, unsaid(tools, order, hushed), reading)
        tuned = _tuned(whole, reading.texts, passes, seed, begin, kept)
    return Tuned(tuned, joined, sure, counts, {**report, "kept": True, "passes": passes})


def _folds(order: Sequence[Demonstration]) -> Iterator[tuple[Sequence[Demonstration], Sequence[Demonstration]]]:
    """What is held out, and the rest: of few demonstrations each once, of many some."""
    if len(order) <= FEW:
        for i in range(FOLDS):
            yield order[i::FOLDS], [one for j, one in enumerate(order) if j % FOLDS != i]
    else:
        count = min(len(order) // HELD, MOST_HELD)
        yield order[:count], order[count:]


def _cases_of(tools: Mapping[str, Tool], plans: Iterable[Demonstration], reading: Reading) -> list[Case]:
    found = [case for plan in plans for case in cases(tools, plan.query, plan.calls, reading.encode_query)]
    reading.encode_tools([text for one in found for text in one.texts])
    return found


def _cases_without(tools: Mapping[str, Tool], steps: Iterable[Step], reading: Reading) -> list[Case]:
    """The cases of calls that miss something that was said; not of those before them."""
    return [list(cases(tools, query, (*before, call), reading.encode_query))[-1] for _, query, before, call in steps]


SURE = 0.9
"""The confidence from which on a report counts values as sure."""


def _told(before: Judged, after: Judged, traits: Mapping[str, float]) -> dict[str, Any]:
    """What a build's report says of held-out calls, before and after."""
    odds = [(sum(traits.get(name, 0.0) * value for name, value in one.items()), good) for one, good in after.values]
    sure = [good for score, good in odds if 1.0 / (1.0 + np.exp(-score)) >= SURE]
    return {
        "held_out_calls": after.of,
        "f1": round(after.f1, 4),
        "f1_untuned": round(before.f1, 4),
        "calls_right": round(after.calls / max(after.of, 1), 4),
        "calls_right_untuned": round(before.calls / max(before.of, 1), 4),
        "sure": round(len(sure) / max(len(odds), 1), 4),
        "sure_right": round(sum(sure) / max(len(sure), 1), 4),
    }
