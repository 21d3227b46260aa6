"""The log of decisions: one line for each, and for what became of it. docs/LOG.md says every field. Knows nothing of
how anything is decided."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.types import END, Call, Decision, Tool
from edgeret.usage.observer import Observer, Seen, corrects
from edgeret.usage.redaction import WITHHELD, Redact, redact_value
from edgeret.usage.segments import Segments

FORMAT = 1
MOST_MB, MOST_DAYS = 100_000, 3_650
_KEPT = 8  # sets of tools whose constant part of a line is kept
_SHOWN = 12  # hexadecimal digits of a hash: enough to tell bundles apart, where the line about the tools has all
_SHARE = 4  # of a file that words, arguments, and the names of all tools may take each
_REASONS = (("nothing_fits", "no tool fits"), ("unsure", "unsure"), ("all_failed", "every tool failed"))


def reason_of(decision: Decision) -> str:
    """Why it came out so, as a code: "call", "end", "nothing_fits", "unsure" or "all_failed"."""
    if not decision.abstained:
        return "end" if decision.tool == END else "call"
    return next((code for code, words in _REASONS if decision.reason.startswith(words)), "other")


class DecisionLog(Observer):
    """Thread-safe. Use `Runtime.log_to`. Each line is in its file when the decision is returned."""

    def __init__(
        self,
        folder: str | Path,
        *,
        words: bool = False,
        redact: Redact | None = None,
        max_mb: float = 64,
        days: float = 30,
    ) -> None:
        """As `Runtime.log_to` says. Raises InputError."""
        for name, value, most in (("max_mb", max_mb, MOST_MB), ("days", days, MOST_DAYS)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= most:
                raise InputError(f"{name} must be a number from 1 to {most}, found {value!r:.40}")
        if redact is not None and not callable(redact):
            raise InputError(f"redact must be a function of a text, or None, found {type(redact).__name__}")
        if not isinstance(folder, str | Path):
            raise InputError(f"a log is a folder, found {type(folder).__name__}; give its path")
        self._words, self._redact = words, redact
        self._files = Segments(Path(folder), int(max_mb * 1e6), days * 86_400.0)
        self._process = f"{secrets.token_hex(3)}-"
        self._written: dict[str | None, str] = {None: "null"}
        self._tails: dict[int, tuple[object, str, str, bytes]] = {}
        self._said = ("", "")

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self._files.folder

    def close(self) -> None:
        """Lets go of its file. What comes later is not logged."""
        self._files.close()

    def decided(self, seen: Seen, decision: Decision) -> None:
        """A line "decided"."""
        step, ms, now = len(seen.calls), decision.timings_ms.get("total", 0.0), time.time()
        written = self._written
        tool = written.get(decision.tool) or self._write(decision.tool)
        about, tail, told = self._constant(seen)
        # By hand and not by `json.dumps`, which takes three times as long: a decision takes 30 µs.
        line = (
            f'{{"time":{now:.3f},"event":"decided","task":"{self._process}{seen.task}","step":{step},"tool":{tool},'
            f'"probability":{decision.probability:.4f},"source":"{decision.source}","stage":"{decision.stage}"'
        )
        reason = reason_of(decision)
        if decision.abstained:
            line += f',"abstained":true,"reason":"{reason}","best":{self._write(decision.candidates[0].tool)}'
        else:
            line += f',"abstained":false,"reason":"{reason}"'
        if not step:
            values = getattr(decision.why, "values", None)
            line += "" if values is None else f',"nothing":{values.item(seen.end):.4f}'
        else:
            line += f',"calls":[{",".join([written.get(c.tool) or self._write(c.tool) for c in seen.calls])}]'
        if self._words:
            line += f',"query":{self._query(seen.query)}'
        self._files.put((f'{line},"ms":{ms:.3f}{tail}').encode(), about, told)

    def called(self, seen: Seen, call: Call, decision: Decision | None) -> None:
        """A line "called"."""
        answer = "own" if decision is None else "corrected" if corrects(call, decision) else "accepted"
        answer = "planned" if seen.assumed else answer
        told: dict[str, Any] = {"tool": call.tool, "answer": answer}
        if answer == "corrected" and decision is not None:
            told["decided"] = decision.tool
        if self._words and call.arguments:
            kept = redact_value(call.arguments, self._clean)
            if len(json.dumps(kept)) <= self._files.part_bytes // _SHARE:
                told["arguments"] = kept
        self._put(seen, "called", len(seen.calls) - 1, told)

    def failed(self, seen: Seen, tool: str) -> None:
        """A line "failed"."""
        self._put(seen, "failed", len(seen.calls), {"tool": tool})

    def undone(self, seen: Seen) -> None:
        """A line "undone"."""
        self._put(seen, "undone", len(seen.calls), {})

    def learned(self, seen: Seen) -> None:
        """A line "learned"."""
        self._put(seen, "learned", len(seen.calls), {"calls": [call.tool for call in seen.calls]})

    def _put(self, seen: Seen, event: str, step: int, told: Mapping[str, Any]) -> None:
        task = f"{self._process}{seen.task}"
        fields = {"time": round(time.time(), 3), "event": event, "task": task, "step": step, **told}
        written = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        about, _, head = self._constant(seen)
        self._files.put(written.encode(errors="replace") + b"\n", about, head)

    def _constant(self, seen: Seen) -> tuple[str, str, bytes]:
        """What lines about the same tools have in common: the set's name, their end, and the line that tells of it."""
        known = self._tails.get(id(seen.tools))
        if known is None or known[0] is not seen.tools:
            if len(self._tails) >= _KEPT:
                self._tails.clear()
            known = self._tails[id(seen.tools)] = (seen.tools, *self._described(seen.tools, seen.content_hash))
        return known[1:]

    def _described(self, tools: Mapping[str, Tool], content_hash: str) -> tuple[str, str, bytes]:
        names = list(tools)
        about = hashlib.sha256("\0".join((content_hash, *names)).encode(errors="replace")).hexdigest()[:_SHOWN]
        tail = f',"tools":{len(names)},"bundle":"{content_hash[:_SHOWN]}","set":"{about}"}}\n'
        told: dict[str, Any] = {"time": round(time.time(), 3), "event": "tools", "format": FORMAT, "set": about}
        told |= {"bundle": content_hash, "tools": len(names)}
        if (
            sum(map(len, names)) + 4 * len(names) < self._files.part_bytes // _SHARE
        ):  # else a file would hold little else
            told["names"] = names
        return about, tail, json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"

    def _write(self, name: str | None) -> str:
        """A name as JSON; kept, since there are few."""
        if len(self._written) > 100_000:
            self._written = {None: "null"}
        found = self._written[name] = json.dumps(name)
        return found

    def _query(self, query: str) -> str:
        """The words as they are kept, as JSON. The latest are kept: a plan asks several times."""
        said, kept = self._said
        if said != query:
            kept = json.dumps(self._clean(query), ensure_ascii=False).encode(errors="replace").decode()
            if 4 * len(kept) > self._files.part_bytes // _SHARE:
                kept = json.dumps(WITHHELD)
            self._said = query, kept
        return kept

    def _clean(self, text: str) -> str:
        if self._redact is None:
            return text
        try:
            found = self._redact(text)
            if isinstance(found, str):
                return found
            why = f"gave {type(found).__name__}"
        except Exception as error:
            why = f"raised {type(error).__name__}"  # not its words, which may be the user's
        warnings.warn(f"redact {why}; its text is left out of the log", RuntimeWarning, stacklevel=7)
        return WITHHELD
