"""The part of a build that is about arguments: the head that there is for the encoder, tuned on the demonstrations
where that is better, with the vectors of what the tools' parameters are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgeret.bundle import roles
from edgeret.terminal.progress import say
from edgeret.types import Tool
from edgeret_export.encoded import Encoded
from edgeret_export.encoders.encodings import start
from edgeret_export.fitting.argument_fit import Reading, reader_of, tune, vectors_of
from edgeret_export.planner.filling import Read
from edgeret_export.reference.arguments.filling import fill
from edgeret_export.reference.arguments.reader import ArgumentReader
from edgeret_export.reference.arguments.role import pack_arguments


class ReadRole(NamedTuple):
    """The file with the role `arguments`, what the build's report says of it, and what reads with it."""

    data: bytes
    report: Mapping[str, Any]
    reader: ArgumentReader


def argument_role(encoded: Encoded, fingerprint: str, seed: int) -> ReadRole | None:
    """The part of a bundle that reads arguments; None for an encoder that has no head and for a table in its place,
    whose tokens do not know each other."""
    begin = None if encoded.exported.role == roles.TABLE else encoded.argument_card
    if begin is None:
        return None
    demonstrations = () if encoded.training is None else encoded.training.demonstrations
    tools = {tool.name: tool for tool in encoded.tools}
    reading = Reading(start(encoded.exported))
    tuned = tune(begin.arrays, begin.pool, begin.traits, tools, demonstrations, reading, seed, say)
    texts = vectors_of(encoded.tools, reading)
    data = pack_arguments(tuned.arrays, texts, tuned.pool, tuned.traits, tuned.counts, fingerprint)
    reader = reader_of(tuned.arrays, reading, tuned.pool, tuned.traits, tuned.counts)
    return ReadRole(data, {**tuned.report, "bytes": len(data)}, reader)


def read_by(reader: ArgumentReader | None, tools: Sequence[Tool]) -> Read:
    """A call's arguments as a bundle with these tools reads them."""
    known = {tool.name: tool for tool in tools}
    return lambda tool, query, calls: fill(tool, query, calls, known, None, reader)
