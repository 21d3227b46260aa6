"""Uses a forged bundle as a host would, through the public API and the command line, and says what went wrong.

Right is an EdgeretError, or sane decisions. Wrong is any other exception, a decision that makes no sense, output that
could harm a terminal, more than 2 s of processor time in one call, or more than 500 MB. Linux only, since it takes that
system's limits to find out. Knows nothing of forging.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import resource
import signal
import stat
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from python_reader import by_python

import edgeret
from edgeret.cli import commands as cli
from edgeret.cli import doctor
from edgeret.errors import EdgeretError

CPU_SECONDS, MEMORY_MB = 2.0, 500
ROOM = 6 << 30
"""Bytes of address space beyond what the process has; without a bound one bundle could take the whole machine."""
PATIENCE = 120
"""Seconds until a call that waits for something is given up."""
MAX_ERROR_CHARS = 2_000
LONG = ("find my file and send a mail then book a meeting, " * 50)[:2_000]
QUERIES = ("find my file and send a mail", "play", "Ünïcode 日本語 🎵 file\u0301 İ a\u200db", LONG)
HARMFUL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
PACKAGE = str(Path(edgeret.__file__).parent)


class Insane(Exception):
    """A result that no caller can use; the first word of the message tells kinds apart."""


@dataclass
class Finding:
    """What went wrong in which step: a kind (an exception's type), where, and in words."""

    step: str
    kind: str
    frame: str
    message: str


@dataclass
class Outcome:
    """What became of one bundle: whether it was refused when loaded, what later calls refused, what went wrong."""

    refused: bool = False
    errors: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    longest: float = 0.0
    """Seconds of processor time that the longest step took."""


def innermost(error: BaseException) -> str:
    """The last place in edgeret that the exception came through, as file, line and function."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(PACKAGE)] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}"


def limit(cpu: float, seconds: int) -> None:
    """Has this process killed, by SIGPROF, when it has used so much processor time more, or, by SIGALRM, when so many
    seconds have gone by: nothing else stops a native call. 0 takes a limit away.

    RLIMIT_CPU would not do: it counts ticks since the process began, which on a busy host run seconds ahead.
    """
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.alarm(seconds)


def memory(what: str) -> int:
    """A line of this process's status, in bytes: VmRSS (now), VmHWM (at most), VmSize (addresses)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1]) * 1024
    return 0


class Watch:
    """Runs steps and keeps what goes wrong in them. `seconds` of processor time is what a step may take."""

    def __init__(self, seconds: float | None = None) -> None:
        self.outcome = Outcome()
        self._seconds = CPU_SECONDS if seconds is None else seconds
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            self._before = memory("VmRSS")
        except OSError:  # not allowed here: only what goes beyond all earlier peaks is seen
            self._before = memory("VmHWM")
        self._addresses = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + ROOM, self._addresses[1]))

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step that may raise an EdgeretError and nothing else."""
        limit(2 * self._seconds, PATIENCE)
        started = time.process_time()
        try:
            yield
        except EdgeretError as error:
            self.outcome.refused |= name == "load"
            self.outcome.errors.append(f"{name}: {error}"[:300])
            if (char := harmful(str(error))) is not None or "\n" in str(error):
                self._found(name, "Unsafe", innermost(error), f"{char or 'a line end'} in an error's text")
            if any(word in str(error) for word in ("bad_alloc", "ailed to allocate", "annot allocate")):
                self._found(name, "Memory", innermost(error), str(error))
        except Insane as error:
            self._found(name, "Insane", str(error).split(maxsplit=1)[0], str(error))
        except BaseException as error:
            self.outcome.traces.append("".join(traceback.format_exception(error)))
            self._found(name, type(error).__name__, innermost(error), str(error))
        took = time.process_time() - started
        self.outcome.longest = max(self.outcome.longest, took)
        if took > self._seconds:
            self._found(name, "Slow", name, f"{took:.1f} s of processor time")

    def _found(self, step: str, kind: str, frame: str, message: str) -> None:
        self.outcome.findings.append(Finding(step, kind, frame, message[:300]))

    def finish(self) -> Outcome:
        """Takes the limits away and looks at the memory that all steps took at most."""
        limit(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, self._addresses)
        if (grown := memory("VmHWM") - self._before) > MEMORY_MB << 20:
            self._found("all", "Memory", "all", f"{grown >> 20} MB more than before")
        return self.outcome


def sane(ok: bool, word: str, what: object = "") -> None:
    """Raises `Insane` unless `ok`."""
    if not ok:
        raise Insane(f"{word} {str(what)[:200]!a}")


def probabilities(found: Sequence[edgeret.Candidate], known: set[str], total: float | None, least: float = 0.0) -> None:
    """Checks candidates: all known, each probability a probability, the sum between `least` and `total`."""
    values = [candidate.probability for candidate in found]
    sane(bool(values), "no-candidates")
    sane(all(math.isfinite(p) and 0 <= p <= 1 for p in values), "no-probability", values)
    sane({candidate.tool for candidate in found} <= known, "unknown-candidate", found)
    sane(len({candidate.tool for candidate in found}) == len(found), "candidate-twice", found)
    sane(values == sorted(values, reverse=True), "unsorted", values)
    if total is not None:
        sane(least - 1e-3 <= sum(values) <= total + 1e-3, "sum", sum(values))


def check(decision: edgeret.Decision, known: set[str]) -> None:
    """Checks that a decision is one."""
    probabilities(decision.candidates, known, None if decision.source == "search" else 1.0)
    sane(math.isfinite(decision.probability) and 0 <= decision.probability <= 1, "no-probability", decision.probability)
    sane(decision.abstained == (decision.tool is None), "abstained", decision)
    sane(decision.tool is None or decision.tool in known, "unknown-tool", decision.tool)


def decide(runtime: edgeret.Runtime, query: str, policies: Sequence[str]) -> None:
    """Decisions with and without a history, twice the same; candidates; prompts."""
    tools = list(runtime.tools)
    known = {*tools, edgeret.END}
    for policy in policies:
        task, again = runtime.task(query), runtime.task(query)
        for history in ((), (tools[0],), (tools[-1], tools[0])):
            for tool in history[-1:]:
                task.call(tool)
                again.call(tool)
            decision, other = task.next(policy=policy), again.next(policy=policy)
            check(decision, known)
            sane(
                (decision.tool, decision.abstained) == (other.tool, other.abstained),
                "not-twice-the-same",
                decision.tool,
            )
        probabilities(task.candidates(), known, 1.0, 1.0)
        probabilities(task.candidates(2), known, 1.0)
    for masking in ("hard", "none", "demos"):
        sane(bool(task.prompt(masking=masking).messages), "no-prompt")


def search(runtime: edgeret.Runtime, query: str) -> None:
    """Three hits, all, and by clauses."""
    for k, clauses in ((3, False), (len(runtime.tools), False), (len(runtime.tools) + 1, True)):
        hits = runtime.search(query, k, strategy="clauses" if clauses else "description")
        sane(len(hits) == min(k, len(runtime.tools)), "hits", len(hits))
        sane({hit.tool for hit in hits} <= set(runtime.tools), "unknown-hit")
        sane(all(-1.02 < hit.similarity < 1.02 for hit in hits), "no-cosine", [hit.similarity for hit in hits])


def plan(runtime: edgeret.Runtime, query: str, policy: str) -> None:
    """A plan whose steps are decisions."""
    made = runtime.plan(query, policy=policy, max_steps=4)
    for step in made.steps:
        check(step.decision, {*runtime.tools, edgeret.END})
    made.to_dict()
    sane(len(made.calls) <= 4, "long-plan", made.tools)


def harmful(text: str) -> str | None:
    """The first character that a terminal would obey or that turns text around; a line's end is fine."""
    found = HARMFUL.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def command(argv: Sequence[str]) -> None:
    """Runs a command line on streams like a terminal's, and looks at what it wrote."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace")]
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = cli.main(list(argv))
    finally:
        texts = []
        for stream in streams:
            stream.flush()
            texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))  # type: ignore[attr-defined]
    out, err = texts
    sane(code in (0, 1, 2), "exit-code", code)
    for text in texts:
        sane((char := harmful(text)) is None, "control-character", f"{char} in {argv[0]}'s output")
    lines = [*err.splitlines(), *(line for line in out.splitlines() if line.startswith("FAILS"))]
    sane(
        all(len(line) <= MAX_ERROR_CHARS for line in lines),
        "long-error",
        f"{max(map(len, lines), default=0)} characters",
    )
    sane(code != 2 or len(err.splitlines()) == 1, "no-one-line", err)


class Written:
    """What the process writes to standard error and output by itself, native libraries included: to files in the
    descriptors' places, or the part of a log that came since."""

    def __init__(self) -> None:
        """From now on."""
        self._begun = [_size(descriptor) for descriptor in (1, 2)]

    def harmful(self) -> str | None:
        """The first character in it that a terminal would obey, and where it is; nothing where it goes to no file."""
        for descriptor, begun in zip((1, 2), self._begun, strict=True):
            if begun is not None and (char := harmful(_since(descriptor, begun))) is not None:
                return f"{char} in what was written to descriptor {descriptor}"
        return None


def _size(descriptor: int) -> int | None:
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _since(descriptor: int, begun: int) -> str:
    """What was written to a file that need not be open for reading."""
    with open(f"/proc/self/fd/{descriptor}", "rb") as stream:  # noqa: PTH123 - it is no path of ours
        stream.seek(begun)
        return stream.read(1 << 20).decode("utf-8", "replace")


def commands(folder: Path, picture: Path, options: Sequence[str], number: int) -> list[tuple[str, ...]]:
    """The command lines to try: those that look at a bundle, and one of those that use it."""
    bundle = str(folder)
    using = (
        ("select", bundle, QUERIES[0], "--threads", "1", *options),
        ("search", bundle, QUERIES[0], "--threads", "1", *options),
        ("plan", bundle, QUERIES[0], "--threads", "1", *options),
        ("prompt", bundle, QUERIES[0], "--threads", "1", *options),
        ("inspect", bundle, "--json"),
        ("doctor", bundle, "--threads", "1", "--json", *options),
    )
    return [
        ("inspect", bundle),
        ("verify", bundle),
        ("doctor", bundle, "--threads", "1", *options),
        ("inspect", bundle, "--html", str(picture)),
        using[number % len(using)],
    ]


def make_once() -> None:
    """Makes once, in this process, what no bundle can change; it takes half of the time of a case."""
    cli.make_parser = cache(cli.make_parser)
    doctor.version = cache(doctor.version)


def exercise(folder: Path, base: str, number: int, seconds: float | None = None) -> Outcome:
    """Everything a host may do with the bundle, each step within so many seconds of processor time. `base` says what it
    was forged from: "tiny", "hnsw" or "planner"."""
    watch, runtime, written = Watch(seconds), None, Written()
    with watch.step("load"):
        runtime = by_python(folder, threads=1, index="hnsw" if base == "hnsw" else "auto")
    if runtime is not None:
        policies = ("auto", "heads", "planner") if base == "planner" else ("auto", "heads")
        steps: list[tuple[str, Callable[[], object]]] = [("warmup", runtime.warmup)]
        for i, query in enumerate(QUERIES[: 2 if base == "planner" else None]):
            steps.append((f"decide {i}", lambda query=query: decide(runtime, query, policies)))
            steps.append((f"search {i}", lambda query=query: search(runtime, query)))
        steps += [(f"plan {policy}", lambda policy=policy: plan(runtime, QUERIES[0], policy)) for policy in policies]
        for name, act in steps:
            with watch.step(name):
                act()
    picture = folder.with_name(f"picture-{os.getpid()}.html")
    for argv in commands(folder, picture, ("--index", "hnsw") if base == "hnsw" else (), number):
        with watch.step(" ".join((argv[0], *(word for word in argv[2:] if word in ("--json", "--html"))))):
            command(argv)
    with watch.step("picture"):
        if picture.is_file():
            drawn = picture.read_text()
            sane("<script" not in drawn, "script")
            sane((char := harmful(drawn.replace("\t", " "))) is None, "control-character", f"{char} in the picture")
            picture.unlink()
    if (char := written.harmful()) is not None:
        watch.outcome.findings.append(Finding("all", "Unsafe", "native", char))
    return watch.finish()
