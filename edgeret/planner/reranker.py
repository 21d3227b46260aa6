"""The bundle's planner and what it is asked with: examples, fitted weights, arguments.

The model is loaded when it is first asked. A planner advises; what its advice is worth was fitted on held-out
demonstrations, and may be nothing.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgeret.bundle.reader import Bundle, LargeFile
from edgeret.errors import BundleError, EdgeretError, InputError, MissingExtraError, PlannerError
from edgeret.fields import get, get_number
from edgeret.inputs.demonstrations import parse_plan
from edgeret.inputs.hygiene import check_name
from edgeret.inputs.jsonl import decode
from edgeret.planner.arguments import Filled, settle
from edgeret.planner.chat import Prompt
from edgeret.planner.grammar import UnsupportedSchemaError, grammar
from edgeret.planner.llama import import_llama, llama_version
from edgeret.planner.model import EXAMPLES_ROLE, ROLE, Planner, PlannerSpec
from edgeret.planner.prompts import MAX_DEMONSTRATIONS, Example, filling_prompt
from edgeret.planner.state_file import read_state, write_state
from edgeret.types import Call, Candidate, Tool, Usage

MAX_EXAMPLES = 65_536
"""In a bundle: four for each of 16,000 tools."""
WORKED = 2
"""Examples at the front of a bundle's list that stand in every selection prompt."""
USES_SHOWN = 3
"""Demonstrations of a function that stand before the question for its arguments."""
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
        return AdviceParameters(
            weight=get_number(value, "weight", 0.0, 1e3, where),
            scale=get_number(value, "scale", 0.0, 1e3, where),
            ask_below=get_number(value, "ask_below", 0.0, 1.0, where),
        )


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
        self._file: LargeFile | None = None
        if bundle.manifest.file(ROLE) is not None:
            value = get(bundle.manifest.info, "planner", dict, where)
            self.spec = PlannerSpec.from_dict(get(value, "spec", dict, where), where)
            self.parameters = AdviceParameters.from_dict(get(value, "parameters", dict, where), where)
            self._file = bundle.large_file(ROLE)
        self._examples = bundle.read(EXAMPLES_ROLE) if bundle.manifest.file(EXAMPLES_ROLE) else b"[]"
        self._where = f"{bundle.path} ({EXAMPLES_ROLE})"
        self._parsed: tuple[Example, ...] | None = None

    @property
    def has_planner(self) -> bool:
        """Whether the bundle carries a planner; whether it works shows with the first question."""
        return self._file is not None or self._planner is not None

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
        with self._lock:
            if self._problem is not None:
                raise self._problem
            if self._planner is None:
                self._planner = self._load()
            return self._planner

    def _load(self) -> Planner:
        """The planner from the very bytes that were verified. llama.cpp maps their copy, which outlives the context."""
        if self._file is None:
            raise InputError(
                "this bundle has no planner; choose policy 'auto' or 'heads', or build one in with: "
                "edgeret-export build --planner smollm2-135m-instruct"
            )
        try:
            import_llama()  # before hundreds of megabytes are copied for nothing
            with self._file.private_copy() as path:
                return Planner(path, self.spec, self._threads, self._gpu_layers, self._file.where)
        except (BundleError, PlannerError, MissingExtraError) as error:
            self._problem = PlannerError(str(error)) if isinstance(error, BundleError) else error
            raise self._problem from None

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
            return _settled("{}", tool, len(calls))[0], None
        shown = self.uses(tool.name, query)
        try:
            gbnf = grammar(tool.parameters, query, len(calls))
        except UnsupportedSchemaError:
            return self._fill_freely(tool, query, calls, shown)
        text, _, usage = self.planner.write(filling_prompt(tool, query, calls, shown), gbnf)
        return _settled(text, tool, len(calls))[0], usage

    def _fill_freely(
        self, tool: Tool, query: str, calls: Sequence[Call], shown: Sequence[Example]
    ) -> tuple[Filled, Usage | None]:
        filled, usage = Filled({}, required(tool.parameters), ()), None
        wrong: tuple[str, ...] = ()
        for _ in range(2):
            prompt = filling_prompt(tool, query, calls, shown, wrong)
            text, _, usage = self.planner.write(prompt, _ANY_OBJECT)
            filled, checked = _settled(text, tool, len(calls))
            if not checked or not (filled.missing or filled.problems):
                break
            wrong = (text, *filled.problems)
        return filled, usage

    def warm(self, prompt: Prompt) -> bool:
        """Brings the prompt's constant part into the planner's cache, from `state_folder` if it was read there before.

        True if it was. Whatever cannot be kept is read again next time. Raises what `planner` raises.
        """
        planner, folder = self.planner, self._state_folder
        model = "" if self._file is None else self._file.sha256
        parts = [model, llama_version(), self.spec.chat, *(f"{t.role}\n{t.text}" for t in prompt.constant)]
        key = hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
        kept = None if folder is None else read_state(folder, key)
        if kept is not None and planner.restore(prompt, kept):
            return True
        state = planner.save(prompt)
        if folder is not None:
            write_state(folder, key, state)
        return False


def parse_examples(data: bytes, where: str) -> tuple[Example, ...]:
    """The demonstrations of a file with the role `examples`. Raises BundleError at the first that is none."""
    try:
        entries = decode(data)
        if not isinstance(entries, list) or len(entries) > MAX_EXAMPLES:
            raise InputError(f"expected a list of at most {MAX_EXAMPLES} examples")
        return tuple(_example(entry, f"example {i}") for i, entry in enumerate(entries, 1))
    except (ValueError, InputError) as error:
        raise BundleError(f"{where}: {error}; build the bundle again") from None


def _example(entry: Any, where: str) -> Example:
    """Raises InputError."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected an object, found {type(entry).__name__}")
    query, calls = parse_plan(entry, where)
    if not calls:
        raise InputError(f"{where}: no calls; an example shows some")
    for call in calls:
        check_name(call.tool, where)
    return Example(query, calls)


def required(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters that a function cannot do without; none where the schema lists them in no way that counts."""
    names = schema.get("required")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()


def _settled(text: str, tool: Tool, n_outputs: int) -> tuple[Filled, bool]:
    """What was written, checked, and whether it could be: nothing else that a model wrote is trusted to fit."""
    try:
        return settle(_parse(text), tool.parameters, n_outputs), True
    except UnsupportedSchemaError as error:
        return Filled({}, required(tool.parameters), (str(error),)), False


def _parse(text: str) -> Any:
    try:
        return decode(text)
    except ValueError:
        return {}
