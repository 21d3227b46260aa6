"""SLURP: requests to an assistant at home, with intent and values. Of the texts alone; sounds are not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edgeret_bench.datasets.collect import Collector, Dataset, field
from edgeret_bench.datasets.files import read_lines
from edgeret_bench.datasets.intents import Annotated, annotated

SPLITS = ("train", "devel", "test")


def read(folder: Path) -> Dataset:
    """`train.jsonl` and `devel.jsonl` (demonstrations), `test.jsonl` (queries). Raises InputError."""
    collector = Collector("slurp")
    annotated(collector, _rows(folder, collector))
    return collector.dataset()


def _rows(folder: Path, collector: Collector) -> Iterator[Annotated]:
    """An intent is scenario and action; the field `intent` says the same, but not always."""
    for split in SPLITS:
        for record in read_lines(folder / f"{split}.jsonl", "SLURP's requests"):
            with collector.record():
                yield Annotated(
                    f"{split}-{field(record, int, 'slurp_id')}",
                    field(record, str, "sentence"),
                    f"{field(record, str, 'scenario')}_{field(record, str, 'action')}",
                    field(record, str, "sentence_annotation"),
                    split == "test",
                )
