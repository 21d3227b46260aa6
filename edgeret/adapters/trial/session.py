"""What is tried in a session: a request, its plan so far, and the way back. Knows no terminal, threads or files."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from statistics import median
from typing import Literal

from edgeret import END, Call, Candidate, Decision, Demonstration, InputError, Runtime, Task, read_tool
from edgeret.adapters.trial.views import Details, Step, View
from edgeret.quoting import quoted
from edgeret.records import dataclass

Policy = Literal["auto", "heads", "planner"]
SURE = 0.9
"""How sure an argument must be to be made without a word, as `Task.accept` has it."""
TIMES = 10_000
"""First decisions whose median is told."""
WAYS_BACK = 1_000
"""Keys that can be undone."""
END_ROW = 7
"""Row, from 0, below which `<end>` never stands: one can always say that a plan is done."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A request and the calls made for it. `first` is how probable the first call was when the plan began."""

    query: str = ""
    task: Task | None = None
    steps: tuple[Step, ...] = ()
    finished: bool = False
    first: float = 0.0
    learned: bool = False


class Session:
    """One user's tries with one runtime. Not shared between threads."""

    def __init__(self, runtime: Runtime, *, kept: bool = False, policy: Policy = "auto") -> None:
        """`kept` says that the runtime has an overlay, which keeps added tools; `policy` is as `Task.next` takes it."""
        self.runtime, self._kept, self._policy = runtime, kept, policy
        self._plan = _Plan()
        self._decision: Decision | None = None
        self._rows: tuple[Candidate, ...] = ()
        self._tried: list[tuple[_Plan, Demonstration]] = []
        self._written: set[str] = set()
        self._back: deque[tuple[str, Callable[[], object]]] = deque(maxlen=WAYS_BACK)
        self._times: deque[float] = deque(maxlen=TIMES)

    def view(self, message: str = "", *, failed: bool = False) -> View:
        """What there is now."""
        plan, decision = self._plan, self._decision
        return View(
            query=plan.query,
            rows=self._rows,
            proposed=self._proposed(),
            reason="" if decision is None else decision.reason,
            ms=None if decision is None else decision.timings_ms["total"],
            p50=median(self._times) if self._times else None,
            steps=plan.steps,
            finished=plan.finished,
            tools=len(self.runtime.tools),
            tried=len(self._tried),
            unwritten=len(self.unwritten()),
            learned=self.runtime.learned.report().stored,
            message=message,
            failed=failed,
        )

    def type(self, query: str) -> None:
        """Decides for other words. Raises InputError where a plan has begun, and for words that cannot be decided;
        then there is no decision."""
        if self._plan.steps or self._plan.finished:
            raise InputError("the request stands while its plan goes on; Ctrl-N begins another, Ctrl-Z takes back")
        self._set(_Plan(query))
        if query.strip():
            self._set(_Plan(query, self.runtime.task(query, now=datetime.now().astimezone())))

    def choose(self, row: int) -> str:
        """Makes the call of a row, or finishes the plan where that is `<end>`; what was done, in words. Raises
        InputError where there is no such row."""
        plan = self._plan
        if plan.task is None or plan.finished or not 0 <= row < len(self._rows):
            raise InputError("nothing to choose yet; type a request, or begin another with Ctrl-N")
        tool, probability = self._rows[row]
        first = plan.first if plan.steps else probability
        self._can_undo("the last choice")
        if tool == END:
            finished = replace(plan, finished=True, first=first)
            self._tried.append((finished, _demonstration(finished)))
            self._set(finished, decide=False)
            return f"{'done' if plan.steps else 'no tool fits'}: Ctrl-L learns it, Ctrl-S writes it, Enter goes on"
        task, corrected = plan.task.fork(), row != self._proposed()
        arguments = task.arguments(tool).sure(SURE)
        if corrected or self._decision is None:
            task.correct(tool, arguments)
        else:
            task.accept(self._decision, arguments)
        step = Step(tool, arguments, corrected)
        self._set(replace(plan, task=task, steps=(*plan.steps, step), first=first))
        return f"{'corrected to' if corrected else 'called'} {tool}"

    def new(self) -> str:
        """Begins another request."""
        if self._plan.query:
            self._can_undo("the new request")
        self._set(_Plan())
        return ""

    def learn(self) -> str:
        """Learns the plan that was finished; what came of it, in words. Raises InputError for one that is not, and
        OverlayError where it cannot be kept."""
        plan = self._plan
        if plan.task is None or not plan.finished:
            raise InputError('the plan is not finished; choose "done" or "nothing fits" first, then Ctrl-L')
        if plan.learned:
            raise InputError("learned already; Ctrl-Z forgets it, Ctrl-N begins another request")
        stored = {one.id for one in self.runtime.learned.plans}
        report = plan.task.learn()
        fresh = [one.id for one in self.runtime.learned.plans if one.id not in stored]

        def forget() -> None:
            for number in fresh:
                self.runtime.forget(id=number)
            self._plan = plan

        self._back.append(("learning", forget))
        self._plan = replace(plan, learned=True)
        tool = plan.steps[0].tool if plan.steps else END
        now = dict(self.runtime.task(plan.query).candidates()).get(tool, 0.0)
        name = tool if plan.steps else "nothing fits"
        return f"learned: {name} first, {plan.first:.3f} before, {now:.3f} now. {report.status}"

    def add_tool(self, name: str, description: str) -> str:
        """Adds a tool, and decides again; what came of it, in words. Raises InputError for one that cannot be taken,
        and OverlayError where it cannot be kept."""
        if not name.strip() or not description.strip():
            raise InputError("a tool needs a name and a description of what it does; give both")
        tool = read_tool({"name": name, "description": description}, "this tool")
        self._exchange(self.runtime.with_tools(add=[tool], keep=self._kept))
        self._back.append((f"the tool {tool.name}", lambda: self._remove(tool.name)))
        where = "kept in the overlay" if self._kept else "kept while this session lasts"
        return f"added {tool.name}, {len(self.runtime.tools)} tools now; {where}"

    def undo(self) -> str:
        """Takes back what the last key did; what that was, in words. Raises InputError where there is nothing, and
        OverlayError where it cannot be taken back."""
        if not self._back:
            raise InputError("nothing to take back")
        what, back = self._back[-1]
        back()
        self._back.pop()
        return f"took back {what}"

    def details(self, row: int) -> Details | None:
        """Why a row's candidate has its probability, and the arguments that it would be called with; None where there
        is no such row. Costs what some decisions do."""
        plan, decision = self._plan, self._decision
        if plan.task is None or decision is None or plan.finished or not 0 <= row < len(self._rows):
            return None
        tool = self._rows[row].tool
        explained = decision.explain(None if tool == decision.candidates[0].tool else tool)
        why = [f"because {decision.reason}"] if row == self._proposed() or self._proposed() is None else []
        if shared := decision.alternatives:
            told = [f"{one.tool} ({one.distinction or format(one.probability, '.3f')})" for one in shared]
            why.append(f"either: {' or '.join(told)}")
        why += explained.lines[1:]
        if tool == END:
            return Details(tool, tuple(why))
        read = plan.task.arguments(tool)
        given = [
            (name, json.dumps(one.value, ensure_ascii=False), one.confidence, one.source)
            for name, one in read.given.items()
        ]
        return Details(tool, tuple(why), tuple(given), tuple(read.missing.values()))

    def unwritten(self) -> list[Demonstration]:
        """What was finished and not written yet, in order."""
        return [demo for _, demo in self._tried if demo.id not in self._written]

    def wrote(self, demonstrations: list[Demonstration]) -> None:
        """Says that these are written."""
        self._written.update(demo.id for demo in demonstrations)

    def _proposed(self) -> int | None:
        decision = self._decision
        if decision is None or decision.tool is None:
            return None
        return next((row for row, one in enumerate(self._rows) if one.tool == decision.tool), None)

    def _can_undo(self, what: str) -> None:
        plan, tried = self._plan, self._tried.copy()

        def back() -> None:
            self._tried = tried
            self._set(replace(plan, task=self._replayed(plan)), decide=not plan.finished)

        self._back.append((what, back))

    def _set(self, plan: _Plan, *, decide: bool = True) -> None:
        """Goes on with a plan, and decides what comes next in it."""
        self._plan, self._rows = plan, ()
        self._decision = None
        if not decide or plan.task is None:
            return
        decision = self._decision = plan.task.next(policy=self._policy, k=None)
        rows = list(decision.candidates)
        end = next((row for row, one in enumerate(rows) if one.tool == END), 0)
        if end > END_ROW:
            rows.insert(END_ROW, rows.pop(end))
        self._rows = tuple(rows)
        if not plan.steps:
            self._times.append(decision.timings_ms["total"])

    def _exchange(self, runtime: Runtime) -> None:
        """Goes on with other tools."""
        self.runtime = runtime
        plan = self._plan
        if plan.task is not None:
            self._set(replace(plan, task=self._replayed(plan)), decide=not plan.finished)

    def _replayed(self, plan: _Plan) -> Task | None:
        """The plan's task with the tools of now. Raises InputError where one of its calls' tools is gone."""
        if plan.task is None:
            return None
        task = self.runtime.task(plan.query, now=datetime.now().astimezone())
        for step in plan.steps:
            (task.correct if step.corrected else task.call)(step.tool, step.arguments)
        return task

    def _remove(self, name: str) -> None:
        if any(step.tool == name for step in self._plan.steps):
            raise InputError(f"{quoted(name)} is called in this plan; begin another with Ctrl-N, then take it back")
        self._exchange(self.runtime.with_tools(remove=[name], keep=self._kept))


def _demonstration(plan: _Plan) -> Demonstration:
    """The plan as a demonstration, whose id says what is in it: the same plan has the same id."""
    import hashlib

    calls = tuple(Call(step.tool, step.arguments) for step in plan.steps)
    content = json.dumps([plan.query, [[call.tool, call.arguments] for call in calls]], sort_keys=True)
    return Demonstration(f"tried-{hashlib.sha256(content.encode()).hexdigest()[:12]}", plan.query, calls)
