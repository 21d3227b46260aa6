"""What definitions show by example: sentences that a user may say, and arguments that a call may have. Data of
strangers: cleaned, bounded, and nobody's instructions. Knows nothing of files and of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.hygiene import hidden_character, without_hidden
from edgeret.inputs.jsonl import check_scalar
from edgeret.quoting import quoted
from edgeret.types import MOST_EXAMPLES as MOST_EXAMPLES

MAX_EXAMPLE_CHARS = 200
"""Of a sentence; longer ones are left out, since half a sentence is another one."""
MOST_VALUES, MAX_VALUE_CHARS = 20, 200
"""The same of a parameter's values."""
_MOST_ENTRIES = 200
"""That are looked at, whatever they are."""
_KEYS = ("examples", "input_examples", "inputExamples", "x-examples", "x-example")
_AROUND = ("annotations", "_meta")
_SENTENCE = ("query", "input", "text", "utterance", "prompt", "sentence", "example")
_ARGUMENTS = ("arguments", "args", "parameters")


def examples_of(function: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...], bool]:
    """The sentences, at most MOST_EXAMPLES and each once; the arguments of example calls, as they stand; and whether
    something was left out that is too much, too long, or neither."""
    sentences: dict[str, str] = {}
    calls: list[Mapping[str, Any]] = []
    complete = True
    for seen, (entry, of_arguments) in enumerate(_entries(function)):
        if seen == _MOST_ENTRIES:
            complete = False
            break
        said, arguments = _read(entry, of_arguments)
        if arguments is not None:
            calls.append(arguments)
        sentence = " ".join(without_hidden(said).split()) if said is not None else ""
        known = sentence.lower() in sentences
        if sentence and len(sentence) <= MAX_EXAMPLE_CHARS and (known or len(sentences) < MOST_EXAMPLES):
            sentences.setdefault(sentence.lower(), sentence)
        elif sentence or arguments is None:
            complete = False
    return tuple(sentences.values()), tuple(calls), not complete


def check_examples(shown: object, name: str, where: str) -> None:
    """Raises InputError unless they are a list of sentences of the tool of that `name`, as `examples_of` gives them."""
    if not isinstance(shown, list | tuple) or len(shown) > MOST_EXAMPLES:
        found = f"{len(shown)}" if isinstance(shown, list | tuple) else type(shown).__name__
        raise InputError(
            f'{where}: "examples" of {quoted(name)} must be a list of at most {MOST_EXAMPLES} texts, found {found}; '
            "give the ones that differ most"
        )
    for text in shown:
        if not isinstance(text, str) or not 0 < len(text) <= MAX_EXAMPLE_CHARS or text != " ".join(text.split()):
            raise InputError(
                f'{where}: "examples" of {quoted(name)} hold what is no sentence on one line of at most '
                f"{MAX_EXAMPLE_CHARS} characters; leave it out, or write it so"
            )
        if hidden := hidden_character(text):
            raise InputError(f"{where}: an example of {quoted(name)} contains {hidden}; take it out")


def with_values(parameters: dict[str, Any], calls: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    """The parameters, with the values that example calls give a property among its `examples`."""
    properties = parameters.get("properties")
    if not calls or not isinstance(properties, dict):
        return parameters
    shown: dict[str, list[Any]] = {}
    for arguments in calls:
        for name, value in arguments.items():
            if name in properties and isinstance(properties[name], dict) and _is_value(value):
                found = shown.setdefault(name, list(_own(properties[name])))
                if value not in found and len(found) < MOST_VALUES:
                    found.append(value)
    told = {name: {**properties[name], "examples": without_hidden(found)} for name, found in shown.items()}
    return {**parameters, "properties": {**properties, **told}} if told else parameters


def _own(value: Mapping[str, Any]) -> list[Any]:
    found = value.get("examples")
    return found if isinstance(found, list) else []


def _is_value(value: Any) -> bool:
    try:
        check_scalar(value)
    except ValueError:
        return False
    return value is not None and len(str(value)) <= MAX_VALUE_CHARS


def _entries(function: Mapping[str, Any]) -> Iterator[tuple[Any, bool]]:
    """What stands as an example anywhere in a definition, and whether its objects are arguments."""
    for holder in (function, *(function.get(key) for key in _AROUND)):
        if not isinstance(holder, Mapping):
            continue
        for key in _KEYS:
            found = holder.get(key)
            if isinstance(found, Mapping):  # OpenAPI's, by name
                found = [one.get("value", one) if isinstance(one, Mapping) else one for one in found.values()]
            for entry in found if isinstance(found, list) else () if found is None else (found,):
                yield entry, key.startswith("input")


def _read(entry: Any, of_arguments: bool) -> tuple[str | None, Mapping[str, Any] | None]:
    """An example's sentence and its arguments."""
    if isinstance(entry, str):
        return entry, None
    if not isinstance(entry, Mapping):
        return None, None
    if of_arguments:
        inner = entry.get("input")
        return None, inner if isinstance(inner, Mapping) else entry
    said = next((entry[key] for key in _SENTENCE if isinstance(entry.get(key), str)), None)
    arguments = next((entry[key] for key in _ARGUMENTS if isinstance(entry.get(key), Mapping)), None)
    if said is None and arguments is None:
        return None, entry or None
    return said, arguments
