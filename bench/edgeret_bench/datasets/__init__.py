"""Public datasets of tool use: their originals, read into edgeret's formats. One module an original."""

from __future__ import annotations

from edgeret_bench.datasets.collect import Dataset
from edgeret_bench.datasets.registry import DATASETS, find_source
from edgeret_bench.datasets.source import File, Source

__all__ = ["DATASETS", "Dataset", "File", "Source", "find_source"]
