"""What a bundle was loaded into: the C library's model at once, where it can decide, and Python's own components with
the first question that only these answer. Decides nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.kept import KeptBundle
from edgeret.bundle.layout import Manifest
from edgeret.bundle.reader import Bundle
from edgeret.core.learner import Learner as CoreLearner
from edgeret.core.library import LIBRARY, Library
from edgeret.core.model import Model, load_model
from edgeret.core.outside import Outside
from edgeret.encoders.base import SHARED_BY, Encoder, EncoderSpec
from edgeret.encoders.languages import read_languages
from edgeret.errors import EdgeretError
from edgeret.fields import get
from edgeret.host import forks, thread_budget
from edgeret.native import give_back
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.beside import Beside, load_beside
from edgeret.runtime.core_encoder import CoreEncoder
from edgeret.runtime.core_learned import CoreLearned
from edgeret.runtime.core_tools import CoreTools
from edgeret.runtime.options import LoadOptions
from edgeret.runtime.process import check_process, checked
from edgeret.types import END, Tool
from edgeret.usage.observer import Observers

if TYPE_CHECKING:
    from edgeret.runtime.argument_role import StoredArguments
    from edgeret.runtime.cascade import FirstStage
    from edgeret.runtime.components import Components
    from edgeret.runtime.decide import Decider
    from edgeret.runtime.learning import Learned
    from edgeret.runtime.needs import Needs
    from edgeret.runtime.scorer import Scorer
    from edgeret.scoring.learner import Learner

UNKNOWN = -1
"""The number of a label before anybody asks which it is."""


class Loaded:
    """A bundle, for a runtime and its tasks. Thread-safe.

    `core` decides. Where it is None, Python's `components` do.
    """

    def __init__(
        self,
        path: Path,
        make: Callable[[], Components],
        learned: Learned | CoreLearned | None = None,
        core: Model | None = None,
        kept: KeptBundle | None = None,
        options: LoadOptions | None = None,
        beside: Beside | None = None,
    ) -> None:
        """`make` loads the components, once; a `core` comes with the bundle, `kept` open, with its `options`, and with
        what Python runs `beside` it."""
        self.path, self.core = path, core
        self.risk, self._make, self._kept = None if options is None else options.risk, make, kept
        self.options, self.beside = options, beside
        # Of a bundle with two encoders the small one alone.
        tiny = options is not None and options.profile == "tiny"
        self._part_alone = tiny and kept is not None and kept.manifest.file(roles.TABLE) is None
        self._forked = forks()
        # Where Python decides it learns, too, and goes on with what was learned elsewhere.
        self._learned = learned.known.view(self._view) if core is None and isinstance(learned, CoreLearned) else learned
        self._observers: Observers | None = None
        self._lock = threading.RLock()
        self._components: Components | None = None
        self._scorer: Scorer | None = None
        # Which one this was made of by changing tools, and whether nothing demonstrated is left.
        self.whole: Loaded | None = None
        self.alone = False

    @property
    def components(self) -> Components:
        """What Python decides with. Raises as loading does, should the files have changed since."""
        if self._components is None:
            with self._lock:
                if self._components is None:
                    self._components = self._make()
        return self._components

    @property
    def bundle_hash(self) -> str | None:
        """The content hash of the folder's bundle, also where a part of it is loaded alone; None if nobody asked."""
        return None if self._kept is None else self._kept.manifest.content_hash

    @cached_property
    def manifest(self) -> Manifest:
        """The table of contents of what decides: the bundle's, or its part's where that is loaded alone."""
        if self._kept is None:
            return self.components.manifest
        manifest = self._kept.manifest
        part = Bundle(self.path, manifest, {}, {}, {}).part(roles.STATIC) if self._part_alone else None
        return manifest if part is None else part.manifest

    @property
    def learned(self) -> Learned | CoreLearned:
        """What was learned; shared by all generations of tools."""
        if self._learned is None:
            with self._lock:
                if self._learned is None:
                    made = self.learning(None, None)
                    made.observers = self._observers
                    self._learned = made
        return self._learned

    def learning(self, overlay: Path | None, key: bytes | None) -> Learned | CoreLearned:
        """What learns and goes on where an overlay left off, bound to `key`; None keeps nothing. Raises
        OverlayError."""
        if self.core is not None:
            return CoreLearned(self.core, overlay, key)
        from edgeret.runtime.learning import Learned
        from edgeret.runtime.overlays import opening

        return Learned(self.learner, None if overlay is None else opening(overlay, self.manifest, key))

    def _view(self, learner: CoreLearner) -> Learned:
        from edgeret.runtime.learning import Learned
        from edgeret.runtime.overlays import of_bytes

        made = Learned(self.learner)  # what the library's learner learned as Python has it
        made.read(of_bytes(bytes(learner), str(self.manifest.info[roles.INFO_ENCODER]["fingerprint"])))
        return made

    @property
    def teacher(self) -> CoreLearned | None:
        """What was learned, where the library learns."""
        learned = self.learned
        return learned if isinstance(learned, CoreLearned) else None

    def learner(self) -> Learner:
        """What learns, and has learned nothing."""
        from edgeret.runtime.components import learner_for

        return learner_for(self.components)()

    def sharing(self, learned: Learned | CoreLearned) -> Loaded:
        """The same, with what was learned elsewhere."""
        kept = self._kept, self.options, self.beside
        other = Loaded(self.path, lambda: self.components, learned, self.core, *kept)
        other.whole, other.alone, other.tools = self.whole, self.alone, self.tools
        return other

    def with_model(
        self, model: Model, known: Mapping[str, Tool], alone: bool, learned: Learned | CoreLearned | None
    ) -> Loaded:
        """The bundle with other tools, as a model has them that was made of its own."""
        whole, tools = self.whole or self, CoreTools(model, str(self.path), known)

        def make() -> Components:
            from edgeret.runtime.tool_changes import like

            return like(whole.components, model, tools, alone)

        other = Loaded(self.path, make, learned, model, self._kept, self.options, self.beside)
        other.whole, other.alone, other.tools = whole, alone, tools
        return other

    @property
    def anything_learned(self) -> bool:
        """Whether any plan is stored."""
        return self._learned is not None and self._learned.count > 0

    @property
    def observers(self) -> Observers | None:
        """Who is told what is decided by all generations; None for nobody."""
        return self._observers if self._learned is None else self._learned.observers

    @observers.setter
    def observers(self, observers: Observers) -> None:
        with self._lock:
            if self._learned is None:
                self._observers = observers
            else:
                self._learned.observers = observers

    @property
    def by_core(self) -> Model | None:
        """What decides now, if it is the library: it knows what was learned."""
        return self.core if self._learned is None or isinstance(self._learned, CoreLearned) else None

    @property
    def scorer(self) -> Scorer:
        """What Python reads requests with, by what is learned now."""
        learned = self.learned
        view = learned.known.view(self._view) if isinstance(learned, CoreLearned) else learned
        with self._lock:
            if self._scorer is None:
                from edgeret.runtime.scorer import Scorer

                self._scorer = Scorer(self.components, view)
            elif self._scorer.learned is not view:
                self._scorer = self._scorer.taught(view)
            return self._scorer

    @cached_property
    def decider(self) -> Decider:
        """What decides in Python."""
        from edgeret.runtime.decide import Decider

        return Decider(self.components)

    @cached_property
    def first(self) -> FirstStage | None:
        """What decides there without the full encoder."""
        from edgeret.runtime.cascade import FirstStage

        cascade = self.components.cascade
        return None if cascade is None else FirstStage(cascade, self.scorer, self.decider)

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, in the index's order."""
        return self.components.tools if self.core is None else CoreTools(self.core, str(self.path))

    @property
    def asks(self) -> bool:
        """Whether a planner is there that proved worth to be asked for arguments."""
        return self.planner.exists and self.reranking.filling > 0.0

    @cached_property
    def planner(self) -> LazyPlanner:
        """The planner, or the lack of one."""
        return self.components.planner if self.beside is None else self.beside.planner

    @cached_property
    def reranking(self) -> RerankParameters:
        """What the planner's word is worth."""
        return self.components.reranking if self.beside is None else self.beside.reranking

    @property
    def runs_beside(self) -> Encoder | None:
        """What encodes in the library's place; None where that reads texts itself."""
        return self.components.encoder if self.core is None else self.beside and self.beside.encoder

    @property
    def index_kind(self) -> str:
        """How tools are searched: "exact", or "hnsw" by the bundle's graph."""
        if self.core is None or self.options is None:
            return self.components.index.kind
        from edgeret.scoring.index import CROSSOVER

        kind, graph = self.options.index, self.whole is None and self._has(roles.HNSW)
        if kind == "auto":
            kind = "hnsw" if len(self.tools) >= CROSSOVER else "exact"
        return kind if graph else "exact"

    @property
    def dimension(self) -> int:
        """How many numbers a vector of what decides has."""
        return self.components.encoder.spec.dimension if self.core is None else self.core.dimension

    def vectors_of(self, tools: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The unit vectors of tools by name, float32 (tools, dimension), and those of their examples, (examples,
        dimension)."""
        if self.core is not None:
            return self.core.vectors_of(self.numbers_of(tools).tolist())
        from edgeret.runtime.shown import examples_at

        index = self.components.index
        rows = [index.names.index(name) for name in tools]
        return index.vectors[np.array(rows, np.intp)], examples_at(index, rows)

    def numbers_of(self, tools: Collection[str]) -> NDArray[np.uint32]:
        """The library's numbers of tools."""
        held = self.tools
        assert isinstance(held, CoreTools)
        return np.array([held.numbers[name] for name in tools], np.uint32)

    @property
    def end(self) -> int:
        """The place of the end among what is decided between."""
        return len(self.tools) if self.core is not None else self.scorer.end

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """What the library decides between, by number, with the end behind the tools."""
        return (*self.tools, END)

    @cached_property
    def needs(self) -> Needs:
        """What calls of the tools that are here need; read with the first search that asks."""
        from edgeret.runtime.needs import Needs

        return Needs(list(self.tools.values()))

    @cached_property
    def exemplars(self) -> Exemplars:
        """Requests that a prompt shows."""
        if self._kept is None or self._components is not None:
            return self.components.exemplars
        with self._lock:
            data = self._kept.open((roles.EXEMPLARS,)).read(roles.EXEMPLARS) if self._has(roles.EXEMPLARS) else b"[]"
        return Exemplars(data, f"{self.path} ({roles.EXEMPLARS})")

    def _has(self, role: str) -> bool:
        return self.manifest.file(role) is not None

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Those that the encoder was trained on; none where nobody says."""
        where = f"{self.path} ({roles.INFO_ENCODER})"
        return read_languages(get(self.manifest.info, roles.INFO_ENCODER, dict, where), where)

    def number(self, tool: str) -> int:
        """The number of a tool's label, or UNKNOWN: as long as the library decides, nobody asks."""
        return UNKNOWN if self._components is None else self.scorer.number(tool)

    def check_process(self) -> None:
        """Raises InputError in a process that was forked off after loading."""
        check_process(self._forked, self.path)

    def checked(self, query: str) -> str:
        """The query, if it can be read: see `Components.checked`."""
        self.check_process()
        return checked(query, self.languages, self.path)

    @cached_property
    def arguments(self) -> StoredArguments | None:
        """What arguments are read with; None where the bundle has nothing for it."""
        if self._kept is None or self._components is not None:
            return self.components.arguments
        from edgeret.runtime.argument_role import load_arguments

        with self._lock:
            if self._part_alone or not self._has(roles.ARGUMENTS):
                return None
            reads: Any = self.core_encoder  # which is asked for no more than arguments need
            return load_arguments(self._kept.open((roles.ARGUMENTS,)), reads)

    @cached_property
    def core_encoder(self) -> CoreEncoder:
        """The library's encoder."""
        where = f"{self.path} ({roles.INFO_ENCODER})"
        told = get(self.manifest.info, roles.INFO_ENCODER, dict, where)
        spec = EncoderSpec.from_dict(get(told, "spec", dict, where), where)
        assert self.core is not None
        held = proxy(self)  # no circle: files stay open as long as this one lives
        return CoreEncoder(self.core, spec, lambda: held.components.encoder)


def load_bundle(path: str | Path, options: LoadOptions) -> Loaded:
    """The bundle at `path`. Raises BundleError, InputError, ProviderError or MissingExtraError."""
    kept = None
    if LIBRARY is not None:
        # Python's own loading says what is wrong with a bundle, and takes some that the library leaves alone.
        with suppress(EdgeretError):
            kept = KeptBundle(Path(path), options.content_hash, options.trust)
            beside = load_beside(kept, options)
            if (model := _model(LIBRARY, kept, options, beside)) is not None:
                give_back()
                make = partial(_components, path, options, kept, beside)
                return Loaded(kept.path, make, None, model, kept, options, beside)
    components = _components(path, options, kept, None)
    return Loaded(components.path, lambda: components, options=options)


def _model(library: Library, kept: KeptBundle, options: LoadOptions, beside: Beside) -> Model | None:
    """The library's own reading of it, None where Python has to decide. Raises BundleError and InputError."""
    manifest, tiny = kept.manifest, options.profile == "tiny"
    small = manifest.file(roles.TABLE) is not None
    if (options.profile == "full" and small) or (tiny and not small and roles.STATIC not in manifest.info):
        return None
    threads = thread_budget(options.threads or min(SHARED_BY, thread_budget()))
    loss = None if options.profile == "full" else options.loss
    outside = None if (encoder := beside.encoder) is None else Outside(encoder.embed_tokens, encoder.longest)
    folder, hashed = os.fspath(kept.path), manifest.content_hash
    model = load_model(library, folder, hashed, loss, tiny or small, threads, outside, options.index)
    if not model.encodes:
        return None
    # What the library has no use for, and Python may ask for later.
    kept.verify([entry for role in (roles.ARGUMENTS, roles.EXEMPLARS) if (entry := manifest.file(role)) is not None])
    return model


def _components(path: str | Path, options: LoadOptions, kept: KeptBundle | None, beside: Beside | None) -> Components:
    from edgeret.runtime.components import load_components

    return load_components(path, options, kept, beside)
