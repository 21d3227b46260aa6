"""A bundle's tools arranged for requests: what does not depend on one. Knows nothing of how one is scored."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.runtime.history import History
from edgeret.runtime.saved import check_choosable
from edgeret.types import END, Hit
from edgeret_export.reference.arrangement import Arrangement
from edgeret_export.reference.components import Components
from edgeret_export.reference.hybrid import HybridSearch
from edgeret_export.reference.learning import Learned
from edgeret_export.reference.request import Request
from edgeret_export.reference.scoring.familiarity import Familiarity
from edgeret_export.reference.scoring.graph import UNKNOWN
from edgeret_export.reference.scoring.index import EF
from edgeret_export.reference.scoring.products import with_others
from edgeret_export.reference.shown import worded
from edgeret_export.reference.stopwatch import Stopwatch


class Scorer:
    """What does not depend on a request, computed once a set of tools. Immutable and thread-safe.

    `names` are what is decided between: labels (tools, then `<end>`), then the tools without demonstrations. A label
    whose tool is not there any more stays in its place, and is never chosen.
    """

    def __init__(self, components: Components, learned: Learned) -> None:
        """Takes the components as they are; what costs more than microseconds is arranged with the first request.
        `learned` is what was learned on this device, and grows."""
        self.components, self.learned = components, learned
        head, tools = components.head, components.tools
        self.labels: tuple[str, ...] = (END,) if head is None else head.labels
        self.end = len(self.labels) - 1
        self._number = {name: i for i, name in enumerate(self.labels[:-1])}
        self.names = (*self.labels, *(name for name in tools if name not in self._number))
        self.position: Mapping[str, int] = {name: i for i, name in enumerate(self.names)}
        gone = [i for i, name in enumerate(self.labels[:-1]) if name not in tools]
        self.allowed: NDArray[np.bool_] | None = None
        if gone:
            self.allowed = np.ones(len(self.names), bool)
            self.allowed[gone] = False
        self.arranged = Arrangement(components, self.names, self.end)
        self._hnsw = components.index.kind == "hnsw"
        self._latest: Request | None = None
        self._searched: tuple[str, EncodedQuery] | None = None

    def taught(self, learned: Learned) -> Scorer:
        """The same by what else was learned."""
        other = copy.copy(self)
        vars(other).update(learned=learned, _latest=None)  # which goes by what had been learned
        return other

    @cached_property
    def hybrid(self) -> HybridSearch:
        """Search over the tools that are here, whether anything was demonstrated or not."""
        held = self.components
        tools = held.words or worded([held.tools[name] for name in held.index.names], held.index.shown)
        return HybridSearch(tools, held.index, held.encoder, held.word_vectors, held.prior)

    @cached_property
    def popularity(self) -> NDArray[np.float32]:
        """How much more often than the prior expected each of `names` was called, in nats, float32 (names,); 0 for
        tools that no demonstration could call."""
        head = self.components.head
        told = {} if head is None else head.popularity
        return np.array([told.get(name, 0.0) for name in self.names], np.float32)

    @cached_property
    def familiarity(self) -> Familiarity:
        """What requests are compared with: the bundle's demonstrations; where there are none, the examples that tools
        show."""
        shipped, shown = self.components.familiarity, self.arranged.examples
        return shipped if shown is None or self.components.head is not None else shipped.beside(shown.means())

    def read(self, query: str, watch: Stopwatch, tools: Collection[str] | None = None) -> Request:
        """Encodes a query and computes what all its steps share; `tools` are those that may be chosen, None for all.
        Raises BundleError and InputError as the encoder does, and InputError for unknown tools or none."""
        request = Request(self, query, watch, self.subset(tools))
        self._latest = request if tools is None else None
        return request

    def read_again(self, query: str) -> Request:
        """The same for all tools, without encoding again the query that was read last: learning follows deciding."""
        latest = self._latest
        return latest if latest is not None and latest.query == query else self.read(query, Stopwatch())

    def search(self, text: str, k: int) -> list[Hit]:
        """The `k` tools that hybrid search finds, without encoding again what was read last."""
        return self.hybrid.search(text, self._encoded(text), k)

    def encode(self, text: str) -> NDArray[np.float32]:
        """A text's vector, float32 (dimension,), without encoding again what was read or searched for last."""
        vector: NDArray[np.float32] = self._encoded(text).vector
        return vector

    def _encoded(self, text: str) -> EncodedQuery:
        if (latest := self._latest) is not None and latest.query == text:
            return latest.encoded
        if (searched := self._searched) is not None and searched[0] == text:
            return searched[1]
        encoded = self.components.encoder.encode_query(text)
        self._searched = (text, encoded)
        return encoded

    def decided(self, text: str) -> dict[str, float] | None:
        """Each tool's probability as a text's first call, without `<end>`; None where nothing like it was shown."""
        if self.components.head is None and not self.learned.count:
            return None
        request = self.read_again(text)
        shares = request.probabilities(History(), Stopwatch()).tolist()
        if shares[self.end] > 0.5:
            return None
        return {name: share for name, share in zip(request.names, shares, strict=True) if name in self.components.tools}

    def number(self, tool: str) -> int:
        """The label number of a tool, or UNKNOWN."""
        return self._number.get(tool, UNKNOWN)

    def numbers(self, history: History) -> list[int]:
        """The label numbers of the calls so far."""
        return [self.number(call.tool) for call in history.calls]

    def subset(self, tools: Collection[str] | None) -> NDArray[np.bool_] | None:
        """Which of `names` may be chosen, bool (names,), `<end>` among them; None for all. Raises InputError."""
        if tools is None:
            return self.allowed
        check_choosable(tools, self.components.tools)
        allowed = np.zeros(len(self.names), bool)
        allowed[[self.end, *(self.position[name] for name in tools)]] = True
        return self.allowed if self.allowed is None and allowed.all() else allowed

    def near(
        self,
        query: str,
        vector: NDArray[np.float32],
        allowed: NDArray[np.bool_] | None,
        also: NDArray[np.intp],
    ) -> NDArray[np.intp] | None:
        """Positions of what a query decides between, rising, `also` among it: beside the labels, the
        tools that an HNSW graph finds, and as many by words. None for all, where no such graph is."""
        if not self._hnsw:
            return None
        if allowed is not None and allowed is not self.allowed:
            return np.union1d(np.arange(len(self.labels)), np.flatnonzero(allowed))
        hits = self.components.index.around(vector)
        worded = self.arranged.lexicon.covering(query, EF)
        return with_others(len(self.labels), np.concatenate((self.arranged.positions[hits], worded, also)))
