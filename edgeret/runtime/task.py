"""One request of a user, step by step: its words and the calls so far. How anything is decided is elsewhere."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import MAX_CALLS
from edgeret.planner.arguments import Filled, check_arguments
from edgeret.planner.chat import Prompt
from edgeret.planner.filling import fill
from edgeret.planner.prompts import Masking
from edgeret.quoting import quoted, suggestion
from edgeret.runtime.decide import MAX_ASKED, Decider
from edgeret.runtime.options import COVERAGE, DecideOptions, Policy, PromptOptions, Weighted, checked_before
from edgeret.runtime.scorer import History, Request, Scorer
from edgeret.stopwatch import Stopwatch
from edgeret.types import Call, Candidate, Decision, Tool, Usage


class Task:
    """One request of a user: its query, encoded once, and the calls so far. Not shared between threads."""

    def __init__(self, scorer: Scorer, decider: Decider, query: str) -> None:
        """Use `Runtime.task`."""
        self._scorer, self._decider = scorer, decider
        self._components = scorer.components
        self._history = History()
        watch = Stopwatch()
        self._request = scorer.read(query, watch)
        self._encoding: Stopwatch | None = watch

    @property
    def query(self) -> str:
        """The user's words."""
        return self._request.query

    @property
    def request(self) -> Request:
        """The query as it was encoded and scored, for whoever measures."""
        return self._request

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, in order, with their arguments; copies."""
        return tuple(copy.deepcopy(call) for call in self._history.calls)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Adds a call to the history; nothing is encoded again. Raises InputError for an unknown tool, for arguments
        that JSON cannot hold, and for more than MAX_CALLS calls."""
        known = self._tool(tool)
        checked = {} if arguments is None else check_arguments(arguments)
        if len(self._history.calls) == MAX_CALLS:
            raise InputError(f"{MAX_CALLS} calls were made already, more than any plan has; open a new task")
        self._history.calls.append(Call(known.name, checked))
        self._history.numbers.append(self._scorer.number(known.name))

    def accept(self, decision: Decision, arguments: Mapping[str, Any] | None = None) -> bool:
        """Adds the call that a decision names, if it names one; whether it did. False says that the plan is over:
        nothing is left to do, nothing fits, or the history is full. So this loop is right for every request:

            while task.accept(decision := task.next()):
                ...

        Raises InputError for a decision of another bundle, and for arguments that JSON cannot hold.
        """
        if not isinstance(decision, Decision):
            raise InputError(f"accept takes a decision of task.next(), found {type(decision).__name__}")
        if not decision.is_call or len(self._history.calls) == MAX_CALLS:
            return False
        self.call(str(decision.tool), arguments)
        return True

    def next(
        self,
        *,
        policy: Policy = "auto",
        k: int | None = 10,
        min_probability: float | None = None,
        coverage: float = COVERAGE,
        masking: Masking = "hard",
        weighted: Weighted = "auto",
    ) -> Decision:
        """Decides what comes next.

        Policy "heads" always takes the heads' best candidate. "auto" abstains where nothing fits, lets description
        search decide a query that is unlike the demonstrations, and asks a planner whose advice was found to help,
        where the heads are unsure, about the candidates of the conformal set with this `coverage`. "planner" goes by
        the planner's word alone wherever that set leaves a choice; `masking` and `weighted` shape its prompt, and
        with a masking other than "hard" it chooses among all tools. `k` bounds the candidates listed,
        `min_probability` overrides the bundle's floor.

        Raises InputError for options out of range, whatever the policy, and for "planner" if the bundle has none;
        PlannerError or MissingExtraError for "planner" if it cannot be asked (under "auto" the heads then decide).
        """
        try:
            options = checked_before(policy, k, min_probability, masking, weighted, coverage)
        except TypeError:  # what cannot be hashed is no option either, and the check says which
            options = DecideOptions(policy, k, min_probability, PromptOptions(masking, weighted, coverage))
        self._components.check_process()
        decision = self._decider.decide(self._request, self._history, options, Stopwatch(self._encoding))
        self._encoding = None  # a refused question leaves the encoding's time to the next one, and nothing of its own
        return decision

    def probabilities(self) -> NDArray[np.float32]:
        """Calibrated probabilities of `request.names`, float32, summing to 1."""
        self._components.check_process()
        return self._request.probabilities(self._history, Stopwatch())

    def candidates(self, k: int | None = None) -> list[Candidate]:
        """The `k` most probable candidates (None: all), most probable first. Raises InputError."""
        DecideOptions(k=k)
        return list(self._request.ranked(self.probabilities(), k))

    def prompt(
        self,
        *,
        masking: Masking = "hard",
        weighted: Weighted = "auto",
        coverage: float = COVERAGE,
        candidates: Sequence[Candidate] | None = None,
    ) -> Prompt:
        """A prompt that asks a language model which function comes next, for whoever brings one of their own.

        The mask are `candidates`, or the conformal set with this `coverage`; "none" and "demos" show all tools.
        `weighted` "auto" shows probabilities where they can be trusted to help. Raises InputError.
        """
        options = PromptOptions(masking, weighted, coverage)
        self._components.check_process()
        if candidates is not None and not all(isinstance(candidate, Candidate) for candidate in candidates):
            raise InputError("candidates must be Candidate(tool, probability), as task.candidates() gives them")
        mask = self._decider.mask(self.candidates(MAX_ASKED), coverage) if candidates is None else candidates
        return self._decider.prompt(self._request, self._history, mask, options)

    def fill(self, tool: str) -> tuple[Filled, Usage | None]:
        """The arguments of a call of `tool` as the next one, by the planner: what the query and earlier outputs give,
        and which required ones are missing; with what asking cost. Raises InputError for an unknown tool or without
        a planner, PlannerError, MissingExtraError.
        """
        known, components = self._tool(tool), self._components
        components.check_process()
        return fill(components.planner, components.exemplars, known, self.query, self._history.calls)

    def _tool(self, name: object) -> Tool:
        """Raises InputError for an unknown tool."""
        tool = self._components.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            if not isinstance(name, str):
                raise InputError(
                    f"unknown tool of type {type(name).__name__}; give the name of one of the bundle's tools"
                )
            near = suggestion(name, self._components.tools)
            raise InputError(f"unknown tool {quoted(name)}; list the bundle's tools with: edgeret inspect{near}")
        return tool
