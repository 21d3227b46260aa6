"""All that a build encodes, side by side on all CPUs and each text once: what one build encoded, the next one reads.

One text at a time and one thread a text: two threads at one text take twice the work and find the same numbers, to the
last bit, and in int8 a text's vector would depend on those beside it. Knows nothing of what the vectors are for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import edgeret
from edgeret.host import instruction_set
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.shards import KEY_BYTES, Shards
from edgeret_export.places import HERE, Place
from edgeret_export.reference import evidence
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.encoders.load import start_encoder
from edgeret_export.reference.encoders.windows import WindowEncoder
from edgeret_export.reference.evidence import passages
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.sources.fetch import cache_folder

_SOURCES = ("encoders/*.py", "core/embedder.py", "core/_core.*")
"""What vectors depend on beside the model, of the runtime: with any change to these files nothing kept is used. The
library is told by its bytes, which come of the core's sources and of who compiled them."""
_REFERENCE = (
    *("evidence.py", "encoders/**/*.py"),
    *("inputs/clauses.py", "inputs/language*.py", "inputs/languages/*"),
)
"""The same of the reference."""
_LIBRARIES = ("onnxruntime", "tokenizers", "numpy")

Arrays = tuple[NDArray[np.float32], ...]


def start(exported: ExportedEncoder) -> WindowEncoder:
    """The encoder, running on one CPU as it will in a bundle; texts are encoded side by side."""
    return start_encoder(exported.model, exported.tokenizer, exported.spec)


@dataclass(frozen=True, slots=True)
class Running:
    """An encoder, and what another process starts it from; None where none will."""

    encoder: Encoder
    exported: ExportedEncoder | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _start_again, (self.exported,)


def _start_again(exported: ExportedEncoder) -> Running:
    return Running(start(exported), exported)


def read(running: Running, asked: tuple[str, str]) -> Arrays:
    """What the encoder makes of one text, which is asked for as a kind: "query" for all that training takes of it,
    "text" for a query's vector alone, "tool" for a tool's. The stage that every place runs."""
    kind, text = asked
    if kind == "query":
        found = passages(text, running.encoder.encode_query(text))
        return found.rows, found.windows, found.clauses
    return (running.encoder.encode(text)[None] if kind == "text" else running.encoder.encode_tools([text]),)


class Encodings:
    """One encoder with what it, or an equal one, encoded before."""

    def __init__(
        self,
        encoder: Encoder,
        kept: Shards | None = None,
        place: Place = HERE,
        exported: ExportedEncoder | None = None,
    ) -> None:
        """Without `kept` nothing is remembered. The encoder should have one thread; places other than this process
        start it from what was `exported`."""
        self.encoder = encoder
        self._running, self._kept, self._place = Running(encoder, exported), kept, place

    def passages(self, queries: Iterable[str]) -> Iterator[Passages]:
        """What training takes of each query's encoding, in their order."""
        return (Passages.of(*found) for found in self._each("query", queries))

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of queries alone, float32 (len(texts), dimension)."""
        return self._stacked("text", texts)

    def tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of tool texts, float32 (len(texts), dimension)."""
        return self._stacked("tool", texts)

    def _stacked(self, kind: str, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.encoder.spec.dimension), np.float32)
        for row, (found,) in zip(vectors, self._each(kind, texts), strict=True):
            row[:] = found[0]
        return vectors

    def _each(self, kind: str, texts: Iterable[str]) -> Iterator[Arrays]:
        rest = iter(texts)
        while chunk := list(islice(rest, self._place.at_once)):
            keys = [hashlib.sha256(f"{kind}\0{text}".encode()).digest()[:KEY_BYTES] for text in chunk]
            known = {key: found for key in keys if (found := self._recall(key)) is not None}
            missing = {key: (kind, text) for key, text in zip(keys, chunk, strict=True) if key not in known}
            encoded = self._place.each(read, self._running, list(missing.values()), light=True)
            for key, found in zip(missing, encoded, strict=True):
                known[key] = found
                if self._kept is not None:
                    self._kept.put(key, _packed(found))
            yield from (known[key] for key in keys)

    def _recall(self, key: bytes) -> Arrays | None:
        data = None if self._kept is None else self._kept.get(key)
        return None if data is None else _unpacked(data, self.encoder.spec.dimension)


@contextmanager
def remembered(exported: ExportedEncoder, encoder: Encoder, place: Place = HERE) -> Iterator[Encodings]:
    """The encodings of an exported encoder, which `encoder` runs, with what is in the cache folder of those that it
    made before; others are made at the `place`. The folder `vectors` there may be removed at any time."""
    with closing(Shards(cache_folder() / "vectors" / _identity(exported, encoder.engine))) as kept:
        yield Encodings(encoder, kept, place, exported)


def _identity(exported: ExportedEncoder, engine: str) -> str:
    """A name for all that determines an encoder's vectors. The engine is not told by the files: ONNX Runtime
    rounds int8 otherwise than the library."""
    places = (Path(edgeret.__file__).parent, _SOURCES), (Path(evidence.__file__).parent, _REFERENCE)
    # Python keeps a folder of what it compiled beside them.
    sources = [
        file for folder, names in places for name in names for file in sorted(folder.glob(name)) if file.is_file()
    ]
    parts = [
        *(hashlib.sha256(data).hexdigest() for data in (exported.model, exported.tokenizer)),
        exported.spec.to_dict(),
        engine,
        instruction_set(),
        [version(name) for name in _LIBRARIES],
        [hashlib.sha256(file.read_bytes()).hexdigest() for file in sources],
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def _packed(arrays: Arrays) -> bytes:
    """The number of arrays, their numbers of rows, and the numbers as they are."""
    sizes = np.array([len(arrays), *map(len, arrays)], "<u4")
    return sizes.tobytes() + b"".join(array.astype("<f4", copy=False).tobytes() for array in arrays)


def _unpacked(data: bytes, dimension: int) -> Arrays:
    count = int.from_bytes(data[:4], "little")
    ends = np.cumsum(np.frombuffer(data, "<u4", count, 4))
    rows = np.frombuffer(data, "<f4", -1, 4 * (count + 1)).reshape(-1, dimension)
    return tuple(np.split(rows, ends[:-1].tolist()))
