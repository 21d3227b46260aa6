"""A bundle's components in the place of the library: what decides, learns and searches in plain numbers, for runtimes
that are compared with the library's, or of which one component is another. Decides nothing itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.layout import Manifest
from edgeret.encoders.base import EncoderInfo, EncoderSpec
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.process import checked
from edgeret.runtime.tool_checks import check_change, unlike
from edgeret.types import Tool
from edgeret_export.reference import tool_changes
from edgeret_export.reference.asked import Asked
from edgeret_export.reference.cascade import FirstStage
from edgeret_export.reference.components import Components, learner_for
from edgeret_export.reference.decide import Decider
from edgeret_export.reference.learning import Learned
from edgeret_export.reference.overlays import opening
from edgeret_export.reference.python_finder import PythonFinder
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.shown import examples_at
from edgeret_export.reference.tool_records import recorded, replayed


class ComponentsLoaded(Loaded):
    """As a runtime has what was loaded. Thread-safe."""

    request = Asked

    def __init__(self, components: Components, learned: Learned | None = None) -> None:
        """Of components, one of which may be another one than the bundle's."""
        self.components, self.path, self.risk = components, components.path, components.calibration.risk
        self._taught: Learned = learned or Learned(learner_for(components))
        self.whole, self.alone = None, components.head is None

    @property
    def learned(self) -> Any:
        """What was learned; shared by all generations of tools."""
        return self._taught

    @cached_property
    def scorer(self) -> Scorer:
        """What reads requests."""
        return Scorer(self.components, self._taught)

    @cached_property
    def decider(self) -> Decider:
        """What decides."""
        return Decider(self.components)

    @cached_property
    def first(self) -> FirstStage | None:
        """What decides without the full encoder."""
        cascade = self.components.cascade
        return None if cascade is None else FirstStage(cascade, self.scorer, self.decider)

    def finder(self) -> PythonFinder:
        """What ranks tools. What was learned was learned of whole requests."""
        scorer, held = self.scorer, self.components
        return PythonFinder(held.index, scorer.encode, scorer.search, scorer.decided, held.head is not None)

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, in the index's order."""
        return self.components.tools

    @cached_property
    def manifest(self) -> Manifest:
        """The bundle's."""
        return self.components.manifest

    @property
    def bundle_hash(self) -> str:
        """The bundle's content hash."""
        return self.manifest.content_hash

    @property
    def anything_learned(self) -> bool:
        """Whether any plan is stored."""
        return self._taught.count > 0

    @property
    def observers(self) -> Any:
        """Who is told what is decided."""
        return self._taught.observers

    @observers.setter
    def observers(self, observers: Any) -> None:
        self._taught.observers = observers

    def sharing(self, learned: Any) -> ComponentsLoaded:
        """The same, with what was learned elsewhere."""
        return ComponentsLoaded(self.components, learned)

    def changed(
        self,
        add: Sequence[Tool],
        remove: Collection[str],
        substitute: Sequence[Tool],
        vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
    ) -> ComponentsLoaded:
        """The same with other tools; `vectors` as `tool_changes.changed` takes them."""
        found = tool_changes.changed(self.components, add, remove, substitute, vectors)
        return ComponentsLoaded(found, self._taught)

    def instead(self, tools: Sequence[Tool]) -> ComponentsLoaded:
        """The encoder and the prior for other tools altogether."""
        tools, _ = unlike({}, tools, (), ())
        check_change({}, tools, (), ())
        return ComponentsLoaded(tool_changes.instead(self.components, tools))

    def going_on(self, overlay: Path, key: bytes | None) -> ComponentsLoaded:
        """The same with what an overlay holds. Raises OverlayError."""
        opens = opening(overlay, self.manifest, key)
        learned, opened = Learned(learner_for(self.components), opens), opens(None)
        if opened.records:
            learned.read(opened)
        found: ComponentsLoaded = replayed(self.sharing(learned), opened.records, str(overlay))
        learned.kept = found.tools
        return found

    def keep(self, after: Loaded, add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]) -> None:
        """Has the overlay keep a change of tools."""
        self._taught.keep(*recorded(after, add, remove, substitute), self.tools, after.tools)

    def learn(self, demonstration: Demonstration, keep_words: bool) -> None:
        """Learns a demonstration. Raises OverlayError."""
        calls = [call.tool for call in demonstration.calls]
        self.scorer.read_again(demonstration.query).learn(calls, "demonstration", keep_words)

    @property
    def planner(self) -> Any:
        """The planner, or the lack of one."""
        return self.components.planner

    @property
    def reranking(self) -> Any:
        """What the planner's word is worth."""
        return self.components.reranking

    @property
    def runs_beside(self) -> Any:
        """What encodes."""
        return self.components.encoder

    @property
    def encoder(self) -> EncoderInfo:
        """How it reads texts."""
        own = self.components.encoder
        providers, asked = tuple(own.providers), tuple(own.requested)
        return EncoderInfo(own.engine, own.spec.precision, own.threads, providers, asked)

    @property
    def threads(self) -> int:
        """How many threads encode."""
        return self.components.encoder.threads

    @cached_property
    def spec(self) -> EncoderSpec:
        """Of what encodes."""
        return self.components.encoder.spec

    @property
    def index_kind(self) -> str:
        """How tools are searched."""
        return self.components.index.kind

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self.spec.dimension

    def vectors_of(self, tools: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The unit vectors of tools, and of their examples."""
        index = self.components.index
        rows = [index.names.index(name) for name in tools]
        return index.vectors[np.array(rows, np.intp)], examples_at(index, rows)

    @property
    def end(self) -> int:
        """The place of the end among what is decided between."""
        return self.scorer.end

    @cached_property
    def exemplars(self) -> Any:
        """Requests that a prompt shows."""
        return self.components.exemplars

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Those that the encoder was trained on."""
        return self.components.languages

    @cached_property
    def arguments(self) -> Any:
        """What arguments are read with."""
        return self.components.arguments

    def check_process(self) -> None:
        """As `Components.check_process`."""
        self.components.check_process()

    def checked(self, query: str) -> str:
        """As `Components.checked`."""
        self.check_process()
        return checked(query, self.languages, self.path)
