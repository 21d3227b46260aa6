"""Home Assistant's intents: sentences that its own tests say, language by language, with intent and slots.

Blocks of a file are paraphrases of one wish: every second one becomes queries, the others become demonstrations. So no
paraphrase stands on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_yaml
from edgeret_bench.datasets.schema import make_object

TESTS, INTENTS = "tests", "intents.yaml"


def read(folder: Path, language: str = "en") -> Dataset:
    """`intents.yaml`, and the files below `tests/LANGUAGE` but those that begin with "_". Raises InputError."""
    collector = Collector(f"ha-intents-{language}")
    for name, intent in read_yaml(folder / INTENTS, "Home Assistant's intents").items():
        with collector.record():
            _tool(collector, str(name), intent)
    place = folder / TESTS / language
    files = sorted(file for file in place.rglob("*.yaml") if not file.name.startswith("_"))
    if not files:
        raise InputError(f"{place}: no YAML file in it; expected Home Assistant's test sentences in '{language}'")
    for file in files:
        _sentences(collector, language, place, file)
    return collector.dataset()


def _tool(collector: Collector, name: str, intent: Any) -> None:
    """Intents that Home Assistant does not support are no tools."""
    if not isinstance(intent, dict):
        raise DirtyError("an intent that is no mapping")
    if intent.get("supported", True):
        given = intent.get("slots")
        listed = {str(key): value for key, value in given.items() if isinstance(value, dict)} if given else {}
        properties = {key: {"type": "string", "description": v.get("description")} for key, v in listed.items()}
        required = [key for key, value in listed.items() if value.get("required") is True]
        collector.tool(name, str(intent.get("description", "")), make_object(properties, required))


def _sentences(collector: Collector, language: str, place: Path, file: Path) -> None:
    """A file of an intent's own folder does not name the intent; its folder does."""
    stem = "_".join(file.relative_to(place).with_suffix("").parts)
    blocks = read_yaml(file, "Home Assistant's test sentences").get("tests")
    for number, block in enumerate(blocks if isinstance(blocks, list) else []):
        with collector.record():
            intent, slots = _intent(block, file.parent.name if file.parent != place else "")
            for position, sentence in enumerate(_texts(block)):
                with collector.record():
                    identity = f"{language}-{stem}-{number}-{position}"
                    if number % 2:
                        collector.query(identity, sentence, [intent])
                    else:
                        collector.plan(identity, sentence, [(intent, slots)])


def _intent(block: Any, otherwise: str) -> tuple[str, dict[str, Any]]:
    named = block.get("intent") if isinstance(block, dict) else None
    holder = named if isinstance(named, dict) else block
    intent = field(holder, str, "name") if isinstance(named, dict) else named or otherwise
    if not isinstance(intent, str) or not intent:
        raise DirtyError("sentences without an intent")
    slots = holder.get("slots") if isinstance(holder, dict) else None
    return intent, {str(key): value for key, value in slots.items()} if isinstance(slots, dict) else {}


def _texts(block: Any) -> Iterator[str]:
    yield from (sentence for sentence in field(block, list, "sentences") if isinstance(sentence, str))
