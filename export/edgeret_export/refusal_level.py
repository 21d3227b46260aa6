"""How readily many tools alone decline. Where nothing was demonstrated, the weight of "nothing fits" is what other
people's tools made it. Of tools that are all near to each other it declines too much: so it is lowered until no more
than MOST of what nobody's tools serve is declined. Fits no other number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgeret.bundle import roles
from edgeret.bundle.layout import MANIFEST
from edgeret.runtime.loading import load
from edgeret.runtime.runtime import Runtime
from edgeret.types import END
from edgeret_export.encoded import Encoded
from edgeret_export.fitting.familiarity import read_sayings
from edgeret_export.fitting.spoken import spoken
from edgeret_export.writer import BundleWriter

MOST = 0.9
"""Of the sayings. Sets of 33 to 58 tools decline that many in the mean, and lose 2 of 100 requests."""
FEWEST = 30
"""Tools below which the level stays. A few rightly decline nearly all sayings, and would take requests for other tools:
of these, ten tools declined 53 of 100, and with a level by sayings 21."""
FURTHEST = 1.0
"""Nats that it is lowered at most; the sets that this was measured on take .63. Forty tools of one text would take 3.4,
and a floor declines for them anyway."""
SMALLEST = 1e-9


def leveled(writer: BundleWriter, encoded: Encoded, info: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest says, with a lower constant of "nothing fits" where that is due. The bundle is loaded as a
    device loads it, so a manifest with the usual one is there in between."""
    if encoded.training is not None or encoded.examples is not None or len(encoded.tools) < FEWEST:
        return dict(info)
    writer.finish(info)
    lower = lowered_by(load(writer.folder), read_sayings(spoken((), encoded.tools)))
    (writer.folder / MANIFEST).unlink()
    prior = info[roles.INFO_PRIOR]
    constant = round(prior["nothing"]["constant"] - lower, 5)
    return {**info, roles.INFO_PRIOR: {**prior, "nothing": {**prior["nothing"], "constant": constant}}}


def lowered_by(runtime: Runtime, sayings: list[str]) -> float:
    """By how many nats, in hundredths, up to FURTHEST, "nothing fits" must lose so that it is more probable than every
    tool for MOST of the sayings at most; 0 where it is so already."""
    ahead = []
    for said in sayings:
        task = runtime.task(said)
        found = dict(zip(task.names, task.probabilities().tolist(), strict=True))
        nothing = found.pop(END)
        ahead.append(np.log(max(nothing, SMALLEST)) - np.log(max(*found.values(), SMALLEST)))
    return min(FURTHEST, max(0.0, round(float(np.quantile(ahead, 1 - MOST)), 2)))
