"""The bundle's planner and what it is asked with: examples, fitted weights, arguments.

The model is loaded when it is first asked. A planner advises; what its advice is worth was fitted on held-out
demonstrations, and may be nothing.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgeret.arguments import Filled, settle
from edgeret.bundle import Bundle
from edgeret.codec import get
from edgeret.errors import BundleError, EdgeretError, InputError, MissingExtraError, PlannerError
from edgeret.grammar import UnsupportedSchemaError, grammar
from edgeret.llama import llama_version
from edgeret.planner import EXAMPLES_ROLE, ROLE, Planner, PlannerSpec
from edgeret.prompt import MAX_DEMONSTRATIONS, Example, Prompt, filling_prompt
from edgeret.types import Call, Candidate, Tool, Usage

WORKED = 2
"""Examples at the front of a bundle's list that stand in every selection prompt."""
USES_SHOWN = 3
"""Demonstrations of a function that stand before the question for its arguments."""
_STATE_MAGIC = b"edgeret-prefix-1"
_ANY_OBJECT = r"""
root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (string ":" value ("," string ":" value)*)? "}"
array ::= "[" (value ("," value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
"""


@dataclass(frozen=True, slots=True)
class AdviceParameters:
    """What the planner's advice is worth, fitted on held-out decisions.

    log p = log p_heads + `weight`·s where heads decide too, log p = `scale`·s where the planner decides alone, with s
    the mean log-likelihood of an answer's tokens. `ask_below`: the heads' confidence from which they are not asked.
    """

    weight: float = 0.0
    scale: float = 1.0
    ask_below: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """The parameters as plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> AdviceParameters:
        """Reads them back. Raises BundleError."""
        numbers = {name: float(get(value, name, (int, float), where)) for name in AdviceParameters.__slots__}
        return AdviceParameters(**numbers)


class Advisor:
    """A bundle's planner, if it has one, and its examples. Thread-safe."""

    def __init__(self, bundle: Bundle, threads: int, gpu_layers: int = 0, state_folder: Path | None = None) -> None:
        """Reads what the manifest says of a planner; its model is loaded with the first question. `state_folder`
        keeps what `warm` read. Raises BundleError for a manifest that makes no sense."""
        where = f"{bundle.path} (planner)"
        self._threads, self._gpu_layers, self._state_folder = threads, gpu_layers, state_folder
        self._lock = threading.Lock()
        self._planner: Planner | None = None
        self._problem: EdgeretError | None = None
        self.parameters = AdviceParameters()
        self._path: Path | None = None
        self._model_hash = ""
        entry = bundle.manifest.file(ROLE)
        if entry is not None:
            value = get(bundle.manifest.info, "planner", dict, where)
            self.spec = PlannerSpec.from_dict(get(value, "spec", dict, where), where)
            self.parameters = AdviceParameters.from_dict(get(value, "parameters", dict, where), where)
            self._path, self._model_hash = bundle.file(ROLE), entry.sha256
        self._examples = bundle.read(EXAMPLES_ROLE) if bundle.manifest.file(EXAMPLES_ROLE) else b"[]"
        self._where = f"{bundle.path} ({EXAMPLES_ROLE})"
        self._parsed: tuple[Example, ...] | None = None

    @property
    def has_planner(self) -> bool:
        """Whether the bundle carries a planner; whether it works shows with the first question."""
        return self._path is not None

    @property
    def unasked(self) -> str | None:
        """Why the planner is not asked for advice, in words; None if it is."""
        if self._problem is not None:
            return str(self._problem)
        if not self.has_planner:
            return "there is none"
        return None if self.parameters.weight > 0 else "its advice did not help on held-out decisions"

    @property
    def planner(self) -> Planner:
        """The planner, loaded on first use. Raises InputError if the bundle has none, PlannerError or
        MissingExtraError (the same one again) if it cannot be loaded."""
        if self._path is None:
            raise InputError(
                "this bundle has no planner; choose policy 'auto' or 'heads', or build one in with: "
                "edgeret-export build --planner smollm2-135m-instruct"
            )
        with self._lock:
            if self._problem is not None:
                raise self._problem
            if self._planner is None:
                try:
                    self._planner = Planner(self._path, self.spec, self._threads, self._gpu_layers)
                except (PlannerError, MissingExtraError) as error:
                    self._problem = error
                    raise
            return self._planner

    @property
    def examples(self) -> tuple[Example, ...]:
        """Demonstrations that prompts may show; the first two are the worked examples. Raises BundleError."""
        if self._parsed is None:
            self._parsed = parse_examples(self._examples, self._where)
        return self._parsed

    @property
    def worked(self) -> tuple[Example, ...]:
        """The examples that every prompt carries."""
        return self.examples[:WORKED]

    def demonstrations(self, candidates: Sequence[Candidate]) -> list[Example]:
        """Examples whose plans use the candidates, those that use the most probable ones first."""
        weight = {candidate.tool: candidate.probability for candidate in candidates}

        def use(example: Example) -> float:
            tools = {call.tool for call in example.calls}
            return sum(weight.get(tool, 0.0) for tool in tools) / float(max(1, len(tools)) ** 0.5)

        ranked = sorted(self.examples[WORKED:], key=use, reverse=True)[:MAX_DEMONSTRATIONS]
        return [example for example in ranked if use(example) > 0]

    def uses(self, tool: str, query: str) -> list[Example]:
        """Examples that call `tool`, those with the most words of the query last: a model heeds the latest most."""
        words = set(query.lower().split())

        def likeness(example: Example) -> float:
            theirs = set(example.query.lower().split())
            return len(words & theirs) / len(words | theirs)

        using = [e for e in self.examples if any(c.tool == tool and c.arguments for c in e.calls)]
        return sorted(sorted(using, key=likeness, reverse=True)[:USES_SHOWN], key=likeness)

    def ask(self, prompt: Prompt, candidates: Sequence[Candidate], alone: bool) -> tuple[list[Candidate], Usage]:
        """The candidates with their probabilities after the planner was asked, most probable first, and what that
        cost. `alone`: by the planner's word only. Raises PlannerError, InputError or MissingExtraError.
        """
        scores = self.planner.score(prompt, [candidate.tool for candidate in candidates])
        advice = scores.log_likelihood / scores.lengths
        before = np.array([candidate.probability for candidate in candidates])
        if alone:
            logits = self.parameters.scale * advice
        else:
            logits = np.log(np.maximum(before, 1e-12)) + self.parameters.weight * advice
        shares = np.exp(logits - logits.max())
        # What lies outside the mask was not asked about and stays. Candidates found by description are judged one by
        # one and may have more than 1 between them; weighed against each other, they share it.
        shares *= min(1.0, before.sum()) / shares.sum()
        order = np.argsort(-shares, kind="stable")
        return [Candidate(candidates[i].tool, float(shares[i])) for i in order], scores.usage

    def fill(self, tool: Tool, query: str, calls: Sequence[Call]) -> tuple[Filled, Usage | None]:
        """The arguments of a call, as far as the query and earlier outputs give them, and what that cost (None if
        there was nothing to ask). Raises PlannerError, InputError or MissingExtraError.

        A schema that no grammar expresses is asked for as any JSON object, checked, and asked once more with what was
        wrong; what is then not right is missing.
        """
        if not tool.parameters.get("properties"):
            return settle({}, tool.parameters, len(calls)), None
        shown = self.uses(tool.name, query)
        try:
            gbnf = grammar(tool.parameters, query, len(calls))
        except UnsupportedSchemaError:
            return self._fill_freely(tool, query, calls, shown)
        text, _, usage = self.planner.write(filling_prompt(tool, query, calls, shown), gbnf)
        return settle(_parse(text), tool.parameters, len(calls)), usage

    def _fill_freely(
        self, tool: Tool, query: str, calls: Sequence[Call], shown: Sequence[Example]
    ) -> tuple[Filled, Usage | None]:
        filled, usage = Filled({}, required(tool.parameters), ()), None
        wrong: tuple[str, ...] = ()
        for _ in range(2):
            prompt = filling_prompt(tool, query, calls, shown, wrong)
            text, _, usage = self.planner.write(prompt, _ANY_OBJECT)
            try:
                filled = settle(_parse(text), tool.parameters, len(calls))
            except UnsupportedSchemaError as error:
                # Not even checkable: nothing that a model wrote can be trusted to fit.
                return Filled({}, required(tool.parameters), (str(error),)), usage
            if not filled.missing and not filled.problems:
                break
            wrong = (text, *filled.problems)
        return filled, usage

    def warm(self, prompt: Prompt) -> bool:
        """Brings the prompt's constant part into the planner's cache, from `state_folder` if it was read there before.

        True if it was. Whatever cannot be kept is read again next time. Raises what `planner` raises.
        """
        planner = self.planner
        parts = [self._model_hash, llama_version(), self.spec.chat, *(f"{t.role}\n{t.text}" for t in prompt.constant)]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        file = None if self._state_folder is None else self._state_folder / f"{key}.state"
        header = _STATE_MAGIC + bytes.fromhex(key)
        if file is not None and file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            state, digest = data[len(header) : -32], data[-32:]
            # llama.cpp parses the state: it sees nothing that was cut short or altered.
            whole = data.startswith(header) and hashlib.sha256(header + state).digest() == digest
            if whole and planner.restore(prompt, state):
                return True
        state = planner.save(prompt)
        if file is not None:
            try:
                file.parent.mkdir(exist_ok=True)
                partial = file.with_suffix(".partial")
                partial.write_bytes(header + state + hashlib.sha256(header + state).digest())
                partial.replace(file)
            except OSError:
                pass  # a read-only folder or a full disk costs time at the next start, and nothing else
        return False


def parse_examples(data: bytes, where: str) -> tuple[Example, ...]:
    """The demonstrations of a file with the role `examples`. Raises BundleError."""
    try:
        return tuple(
            Example(e["query"], tuple(Call(c["tool"], c.get("arguments", {})) for c in e["calls"]))
            for e in json.loads(data)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BundleError(f"{where}: not a list of examples ({error}); build the bundle again") from None


def required(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters that a function cannot do without."""
    names = schema.get("required", ())
    return tuple(str(name) for name in names) if isinstance(names, Sequence) else ()


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}
