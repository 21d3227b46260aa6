"""One request of a user, step by step: its words, the calls so far, and what failed. How anything is decided is
elsewhere."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import MAX_CALLS
from edgeret.planner.chat import Prompt
from edgeret.planner.prompts import Masking
from edgeret.runtime.history import History, check_arguments, check_clock, check_reason, check_result
from edgeret.runtime.learn_report import LearnReport
from edgeret.runtime.learned_plan import Origin
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import (
    COVERAGE,
    MAX_ASKED,
    DecideOptions,
    Policy,
    PromptOptions,
    Weighted,
    check_count,
    checked_before,
)
from edgeret.runtime.request import Request
from edgeret.runtime.saved import checked_name, find_tool, save
from edgeret.types import Arguments, Call, Candidate, Decision, Failure, Hit, Usage
from edgeret.usage.observer import Seen

if TYPE_CHECKING:
    from edgeret.planner.arguments import Filled
    from edgeret.runtime.earlier import Earlier

SURE = 0.9
"""How sure an argument must be that nobody confirmed."""
_NUMBERS = itertools.count(1)


def requests_of(loaded: Loaded) -> type[Request]:
    """How a bundle's requests are decided: with its planner, if it has one."""
    if not loaded.planner.exists:
        return Request
    from edgeret.runtime.advised import AdvisedRequest

    return AdvisedRequest


class Task:
    """One request of a user: its query, encoded once, the calls so far, and what failed. Not shared between threads."""

    def __init__(
        self,
        loaded: Loaded,
        query: str,
        history: History,
        tools: Collection[str] | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        """Use `Runtime.task` or `Runtime.resume`; or `Conversation.say`, which gives what came `earlier`."""
        self._loaded = loaded
        self._query, self._tools, self._earlier = query, tools, earlier
        self._history = history
        self._given: Decision | None = None
        self._corrected = False
        self._taken_after: int | None = None  # how many calls had been made when the decision given last was taken
        self._given_after, self._number = -1, next(_NUMBERS)
        self.assumed = False
        """Whether its calls are those of a plan, which nobody made and nobody judged."""
        self._request: Request = (loaded.request or requests_of(loaded))(loaded, query, history, tools, earlier)

    @property
    def query(self) -> str:
        """The user's words."""
        return self._query

    @property
    def asked(self) -> Request:
        """The query as what decides has it."""
        return self._request

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, in order, with their arguments and results; copies."""
        return tuple(copy.deepcopy(call) for call in self._history.calls)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What was tried and failed so far, in order."""
        return tuple(self._history.failures)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, result: Any = None, *, foreign: bool = False
    ) -> None:
        """Adds a call to the history; nothing is encoded again. `result` is what it gave, as text or other JSON, which
        a planner is shown. A `foreign` tool may be one that the bundle does not have.

        Raises InputError for an unknown tool, for arguments and results that JSON cannot hold or that are too large,
        and for more than MAX_CALLS calls.
        """
        name = checked_name(self._loaded.tools, tool, foreign)
        checked = {} if arguments is None else check_arguments(arguments)
        made = Call(name, checked, check_result(result))
        self._history.add(made)
        self._request.task.call(name)
        if (observers := self._loaded.observers) is not None:
            answered = self._given if self._given_after == len(self._history.calls) - 1 else None
            observers.tell("called", self._seen(), made, answered)

    def failed(self, tool: str, reason: str) -> None:
        """Says that a tool was tried and did not work, and why. That is no call. The tool is left out of decisions,
        whose other candidates share its probability, until another call is made or `retry` is called.

        Raises InputError for an unknown tool, for a reason that is no text, and for more than MAX_CALLS failures.
        """
        name = find_tool(self._loaded.tools, tool).name
        self._history.fail(Failure(name, check_reason(reason), len(self._history.calls)))
        self._request.task.fail(name)
        if (observers := self._loaded.observers) is not None:
            observers.tell("failed", self._seen(), name)

    def retry(self, tool: str) -> bool:
        """Lets a tool that failed be chosen again at once; whether it was left out. Raises InputError for an unknown
        tool."""
        name = find_tool(self._loaded.tools, tool).name
        self._request.task.retry(name)
        return self._history.retry(name)

    def undo(self) -> Call | Failure:
        """Takes back the last call or failure, whichever came later, and gives it. Raises InputError if there is
        none."""
        undone = self._history.undo()
        self._request.task.undo()
        if self._taken_after is not None and len(self._history.calls) <= self._taken_after:
            self._taken_after = None
        if (observers := self._loaded.observers) is not None:
            observers.tell("undone", self._seen())
        return copy.deepcopy(undone)

    def fork(self) -> Task:
        """Another task that goes on from here on its own; nothing is encoded again."""
        other = copy.copy(self)
        history = self._history.copy()
        vars(other).update(_history=history, _number=next(_NUMBERS), _request=self._request.fork(history))
        return other

    def to_dict(self) -> dict[str, Any]:
        """The task as JSON-ready data, for `Runtime.resume`: query, calls, failures and the bundle's content hash."""
        held = self._loaded
        return copy.deepcopy(save(self.query, held.manifest.content_hash, self._history, held.tools))

    def accept(self, decision: Decision, arguments: Mapping[str, Any] | None = None, result: Any = None) -> bool:
        """Adds the call that a decision names, if it names one; whether it did. Without `arguments` it is made with
        those of the decision's own that are sure, from a confidence of SURE on. False says that the plan is over:
        nothing is left to do, nothing fits, or the history is full. So this loop is right for every request:

            while task.accept(decision := task.next()):
                ...

        Raises InputError for a decision that was taken already or is another bundle's, and as `call` does for arguments
        and result.
        """
        if not isinstance(decision, Decision):
            raise InputError(f"accept takes a decision of task.next(), found {type(decision).__name__}")
        if not decision.is_call:
            return False
        made = len(self._history.calls)
        if decision is self._given and self._taken_after is not None:
            raise InputError("this decision was taken already; ask task.next() again")
        if made == MAX_CALLS:
            return False
        taken = decision.why.arguments(decision).sure(SURE) if arguments is None and decision.why else arguments
        self.call(str(decision.tool), taken, result)
        if decision is self._given:
            self._taken_after = made
        return True

    def correct(self, tool: str, arguments: Mapping[str, Any] | None = None, result: Any = None) -> None:
        """Adds a call in the place of the one that was proposed: the user, or whoever knows, called this tool. `learn`
        then tells the runtime. Raises as `call` does."""
        self.call(tool, arguments, result)
        self._corrected = True

    def learn(self, *, keep_words: bool = True) -> LearnReport:
        """Lets the runtime learn that the calls made so far, and no more, solve the query; call it when the request is
        done and its user content. None made says that no tool fits. With `keep_words` false, only the query's vector
        and the tools' names are kept. Raises InputError for calls of foreign tools, and OverlayError."""
        self._loaded.check_process()
        for call in self._history.calls:
            find_tool(self._loaded.tools, call.tool)
        if self._earlier is not None:
            raise InputError(
                "a later turn of a conversation leans on earlier ones and cannot be learned; "
                "learn a request that stands alone, with runtime.learn"
            )
        origin: Origin = "corrected" if self._corrected else "accepted"
        self._request.learn(origin, keep_words)
        if (observers := self._loaded.observers) is not None:
            observers.tell("learned", self._seen())
        return self._loaded.learned.report(1)

    def next(
        self,
        *,
        policy: Policy = "auto",
        k: int | None = 10,
        min_probability: float | None = None,
        risk: float | None = None,
        coverage: float = COVERAGE,
        masking: Masking = "hard",
        weighted: Weighted = "auto",
        budget_ms: float | None = None,
    ) -> Decision:
        """Decides what comes next.

        Policy "heads" always takes the heads' best candidate. "auto" abstains where nothing fits, and asks a planner
        whose advice was found to help, where the heads are unsure, about the candidates of the conformal set with this
        `coverage`. "planner" goes by the planner's word alone wherever that set leaves a choice; `masking` and
        `weighted` shape its prompt, and with a masking other than "hard" it chooses among all tools. `k` bounds the
        candidates listed. `min_probability` overrides the bundle's floor; `risk` has it chosen so that at most this
        share of answers is wrong, 0.005 to 0.5, by held-out decisions. `budget_ms` is the time in which a planner must
        have begun its answer; under "auto" the heads decide where it could not, and `Decision.degraded` says so.

        Raises InputError for options out of range, whatever the policy, and for "planner" if the bundle has none;
        PlannerError or MissingExtraError for "planner" if it cannot be asked (under "auto" the heads then decide).
        """
        asked = masking, weighted, coverage, policy, k, min_probability, risk, budget_ms
        try:
            options = checked_before(*asked)
        except TypeError:  # what cannot be hashed is no option either, and the check says which
            options = DecideOptions(*asked)
        loaded, history = self._loaded, self._history
        loaded.check_process()
        decision = self._request.decide(history, options)
        self._given, self._taken_after, self._given_after = decision, None, len(history.calls)
        if (observers := loaded.observers) is not None:
            observers.tell("decided", self._seen(), decision)
        return decision

    def _seen(self) -> Seen:
        """The task as whoever watches is told of it."""
        held, made = self._loaded, self._history.calls
        bundle = held.manifest.content_hash
        return Seen(self._number, self._query, made, held.tools, bundle, held.end, self.assumed)

    @property
    def names(self) -> tuple[str, ...]:
        """What is decided between: all tools, and `<end>`."""
        return self._request.names

    def probabilities(self) -> NDArray[np.float32]:
        """Calibrated probabilities of `names` by the bundle's own encoder, float32, summing to 1; 0 for a tool that is
        left out."""
        self._loaded.check_process()
        return self._request.probabilities()

    def candidates(self, k: int | None = None) -> list[Candidate]:
        """The `k` most probable candidates (None: all), most probable first. Raises InputError."""
        DecideOptions(k=k)
        return list(self._request.ranked(self.probabilities(), k, self._history))

    def ranked(self, k: int = 10) -> list[Hit]:
        """The `k` tools that a model may need now, best first: by what comes next after the calls so far, and by what
        the request's words want; where something like it was demonstrated or learned, what comes next stands first.
        `Hit.share` is of both together. Raises InputError."""
        check_count("k", k)
        return self._request.both(k, self._history)

    def conformal_set(self, coverage: float = COVERAGE) -> list[Candidate]:
        """The most probable candidates, as many as are needed to hold the right one with this `coverage`, a share of
        held-out decisions. Raises InputError."""
        options = PromptOptions(coverage=coverage)
        self._loaded.check_process()
        return list(self._request.conformal(self._history, options.coverage))

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
        self._loaded.check_process()
        if candidates is not None and not all(isinstance(candidate, Candidate) for candidate in candidates):
            raise InputError("candidates must be Candidate(tool, probability), as task.candidates() gives them")
        from edgeret.runtime.advice import prompt

        held, asked = self._loaded, self._request
        mask = asked.conformal(self._history, coverage)[:MAX_ASKED] if candidates is None else candidates
        return prompt(held.tools, held.exemplars, asked.shown, self._history, mask, options)

    def arguments(self, tool: str, *, now: datetime | None = None) -> Arguments:
        """The arguments of a call of `tool` as the next one, as the words of the request and earlier calls give
        them, and a question for each that is missing; `Decision.arguments` for a tool that was not decided. No planner
        is asked.
        `now` is what "tomorrow" is counted from, the task's own by default. Raises InputError for an unknown tool."""
        history = self._history
        check_clock(now)
        known = find_tool(self._loaded.tools, tool)
        return self._request.arguments(known, history, history.now if now is None else now)

    def fill(self, tool: str) -> tuple[Filled, Usage | None]:
        """The arguments of a call of `tool` as the next one: those that are read, and by the planner what is missing
        among them, from the query and earlier outputs; which required ones stay missing; and what asking cost, None if
        there was nothing to ask. Raises InputError for an unknown tool, or without a planner where one must be asked,
        PlannerError, MissingExtraError.
        """
        from edgeret.planner.filling import fill  # with all that reads schemas, which no decision does

        held = self._loaded
        known = find_tool(held.tools, tool)
        held.check_process()
        told = self.query if self._earlier is None else self._earlier.told(self.query)
        read, sure = self.arguments(tool), held.reranking.filling
        return fill(held.planner, held.exemplars, known, told, self._history.calls, read, sure, self.query)
