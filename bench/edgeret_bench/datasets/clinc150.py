"""CLINC150: requests with one of 150 intents, and requests out of scope, which no tool fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError
from edgeret_bench.datasets.files import read_object
from edgeret_bench.datasets.intents import labelled, words

SPLITS = ("train", "val", "test")
OUT_OF_SCOPE = "oos"
ASKED = "test"
"""The split that becomes queries; of the others come demonstrations."""


def read(folder: Path) -> Dataset:
    """`domains.json` and `data_full.json`; parts of requests whose names begin with "oos" have no call. Raises
    InputError."""
    collector = Collector("clinc150")
    domains = read_object(folder / "domains.json", "CLINC150's intents by domain")
    described = {
        label: f"{words(label)} ({words(domain)})"
        for domain, labels in domains.items()
        for label in (labels if isinstance(labels, list) else [])
        if isinstance(label, str)
    }
    for label in sorted(described):
        collector.tool(label, described[label], {})
    file = folder / "data_full.json"
    parts = read_object(file, "CLINC150's requests by split")
    for split in SPLITS:
        for part in (split, f"{OUT_OF_SCOPE}_{split}"):
            if not isinstance(parts.get(part), list):
                raise InputError(f'{file}: no list "{part}" in it; expected CLINC150\'s requests, all of its six parts')
            for number, pair in enumerate(parts[part]):
                with collector.record():
                    _request(collector, f"{part}-{number}", pair, split == ASKED)
    return collector.dataset()


def _request(collector: Collector, identity: str, pair: Any, asked: bool) -> None:
    match pair:
        case [str(text), str(label)] if label != OUT_OF_SCOPE:
            labelled(collector, identity, text, label, asked)
        case [str(text), _] if asked:
            collector.query(identity, text, ())
        case [str(text), _]:
            collector.nothing(identity, text)
        case _:
            raise DirtyError("a request that is no pair of a text and an intent")
