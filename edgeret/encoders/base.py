"""What every encoder has in common: its specification, and how a text's parts are pooled. Knows nothing of tools."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.roles import INFO_ENCODER
from edgeret.errors import BundleError
from edgeret.fields import get
from edgeret.quoting import said
from edgeret.records import dataclass
from edgeret.types import SEGMENTS

OUTPUT, TOKENS_OUTPUT = "sentence_embedding", "token_embeddings"

MAX_DIMENSION, MAX_TOKENS, MAX_PREFIX = 1 << 16, 8192, 1000

MIN_COSINE: Mapping[str, float] = {"fp32": 0.9999, "fp16": 0.999, "int8": 0.98, "codebook": 0.98}
"""By precision: what a vector's cosine to the original's, or on a device to the build host's, must at least be."""
POOLINGS, PRECISIONS = ("mean", "cls", "max", "lasttoken"), ("fp32", "fp16", "int8", "codebook")


SHARED_BY = 2
"""CPUs that share a text of eight tokens or more where nobody says how many: 0.73 of the time of one for 8 tokens, 0.62
for 12, 0.54 from 24 on (docs/decisions)."""
REBUILD = "build the bundle again"
UNIT_TOLERANCE = 0.01
"""By how much the squared length of a vector may differ from 1."""


def failure(where: str, what: str, error: BaseException) -> BundleError:
    """What to raise where a library cannot do with an encoder's file, for whatever reason it gives."""
    return BundleError(f"{where}: {what} ({said(error)}); {REBUILD}")


def check_unit(squared: float, where: str) -> None:
    """Raises BundleError unless the squared length of a vector that an encoder gave is 1."""
    # Written so that NaN, which is neither near 1 nor far from it, is refused too.
    if not abs(squared - 1) < UNIT_TOLERANCE:
        raise BundleError(
            f"{where}: output {OUTPUT} must have length 1 (squared, within {UNIT_TOLERANCE}), found {squared:.3g}; "
            f"{REBUILD}"
        )


def check_tokens(tokens: NDArray[np.float32], where: str) -> None:
    """Raises BundleError for vectors of tokens (tokens, dimension) with a number that is not finite."""
    numbers = tokens.reshape(-1)
    if not math.isfinite(numbers.dot(numbers)):
        raise BundleError(f"{where}: output {TOKENS_OUTPUT} holds numbers that are not finite; {REBUILD}")


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """What turns text into this encoder's vectors; every field is part of the fingerprint.

    `dimension` is the vector's length, `max_tokens` where a text is cut, `pooling` and `normalised` what the graph
    does after its last layer, `query_prefix` and `tool_prefix` what is put before the text, `precision` one of fp32,
    fp16, int8, codebook and `instruction_set` the CPU family that int8 was quantised for ("any" otherwise).
    """

    dimension: int
    max_tokens: int
    pooling: str
    normalised: bool
    query_prefix: str
    tool_prefix: str
    precision: str
    instruction_set: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data, for the manifest and the fingerprint."""
        return asdict(self)

    @staticmethod
    def of(info: Mapping[str, Any], where: str) -> EncoderSpec:
        """What a manifest's information says. Raises BundleError as `from_dict`."""
        return EncoderSpec.from_dict(get(get(info, INFO_ENCODER, dict, where), "spec", dict, where), where)

    @staticmethod
    def from_dict(value: dict[str, Any], where: str) -> EncoderSpec:
        """Reads the fields back. Raises BundleError when one is missing, of another type or out of its range."""
        spec = EncoderSpec(
            dimension=get(value, "dimension", int, where),
            max_tokens=get(value, "max_tokens", int, where),
            pooling=get(value, "pooling", str, where),
            normalised=get(value, "normalised", bool, where),
            query_prefix=get(value, "query_prefix", str, where),
            tool_prefix=get(value, "tool_prefix", str, where),
            precision=get(value, "precision", str, where),
            instruction_set=get(value, "instruction_set", str, where),
        )
        for name, limit in (("dimension", MAX_DIMENSION), ("max_tokens", MAX_TOKENS)):
            if not 0 < value[name] <= limit:
                raise BundleError(
                    f'{where}: "{name}" must be 1 to {limit}, found {value[name]}; build the bundle again'
                )
        for name, known in (("pooling", POOLINGS), ("precision", PRECISIONS)):
            if value[name] not in known:
                raise BundleError(f'{where}: "{name}" must be one of {", ".join(known)}; build the bundle again')
        for name in ("query_prefix", "tool_prefix", "instruction_set"):
            if len(value[name]) > MAX_PREFIX:
                raise BundleError(f'{where}: "{name}" has more than {MAX_PREFIX} characters; build the bundle again')
        return spec


def segment_means(words: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unit means of the consecutive thirds of a text's token vectors (tokens, dimension), float32
    (SEGMENTS, dimension); a third without a token is a row of zeros."""
    if len(words) < SEGMENTS:
        means = np.zeros((SEGMENTS, words.shape[1]), np.float32)
        for i, word in enumerate(words):
            means[i * SEGMENTS // len(words)] = word
    else:
        # Word i belongs to part floor(i * SEGMENTS / words), so part j begins at ceil(j * words / SEGMENTS).
        means = np.add.reduceat(words, [-(-j * len(words) // SEGMENTS) for j in range(SEGMENTS)], axis=0)
    means /= np.sqrt(np.maximum(np.einsum("ij,ij->i", means, means), np.float32(1e-24)))[:, None]
    return means


@dataclass(frozen=True, slots=True)
class EncoderInfo:
    """How a runtime reads texts: whose arithmetic encodes them (`engine`), with weights of which `precision`, on how
    many `threads`, and the execution `providers` as they run and as they were `requested`, the first one counts."""

    engine: str
    precision: str
    threads: int
    providers: tuple[str, ...]
    requested: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """What one reading of a query gives, whatever its length.

    `rows` are unit vectors of the whole query and of its consecutive parts, float32 (1 + SEGMENTS, dimension); a part
    without a token of its own is a row of zeros. `tokens` are the vectors of its tokens in their context, float32
    (tokens, dimension), and `spans` the characters of the query that each stands for, (tokens, 2). `readings` is how
    many windows of the encoder the query took.
    """

    rows: NDArray[np.float32]
    tokens: NDArray[np.float32]
    spans: NDArray[np.intp]
    readings: int = 1

    @property
    def vector(self) -> NDArray[np.float32]:
        """The unit vector of the whole query, float32 (dimension,)."""
        vector: NDArray[np.float32] = self.rows[0]
        return vector
