"""MASSIVE: SLURP's requests in 51 languages, with intent and values. A language is a data set of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edgeret_bench.datasets.collect import Collector, Dataset, field
from edgeret_bench.datasets.files import read_lines
from edgeret_bench.datasets.intents import Annotated, annotated

ASKED = "test"


def read(folder: Path, locale: str = "en-US") -> Dataset:
    """`LOCALE.jsonl`: its partitions train and dev are demonstrations, test queries. Raises InputError."""
    collector = Collector(f"massive-{locale}")
    annotated(collector, _rows(folder / f"{locale}.jsonl", collector))
    return collector.dataset()


def _rows(file: Path, collector: Collector) -> Iterator[Annotated]:
    for record in read_lines(file, "MASSIVE's requests"):
        with collector.record():
            partition = field(record, str, "partition")
            yield Annotated(
                f"{partition}-{field(record, str, 'id')}",
                field(record, str, "utt"),
                field(record, str, "intent"),
                field(record, str, "annot_utt"),
                partition == ASKED,
            )
