"""BANKING77: customers' requests to a bank, each with one of 77 intents."""

from __future__ import annotations

from pathlib import Path

from edgeret_bench.datasets.collect import Collector, Dataset, field
from edgeret_bench.datasets.files import read_list, read_table
from edgeret_bench.datasets.intents import labelled, words


def read(folder: Path) -> Dataset:
    """`categories.json`, `train.csv` (demonstrations) and `test.csv` (queries). Raises InputError."""
    collector = Collector("banking77")
    for label in read_list(folder / "categories.json", "BANKING77's intents"):
        collector.tool(str(label), words(str(label)), {})
    for split, asked in (("train", False), ("test", True)):
        for number, row in enumerate(read_table(folder / f"{split}.csv", "BANKING77's requests")):
            with collector.record():
                label = field(row, str, "category").strip()
                labelled(collector, f"{split}-{number}", field(row, str, "text"), label, asked)
    return collector.dataset()
