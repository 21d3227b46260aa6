"""What a bundle was loaded into: the C library's model, and what of the bundle Python reads beside it. Decides
nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.index_form import CROSSOVER
from edgeret.bundle.kept import KeptBundle
from edgeret.bundle.layout import Manifest
from edgeret.bundle.reader import Bundle
from edgeret.core.library import the_library
from edgeret.core.model import Model, load_model
from edgeret.core.outside import Outside
from edgeret.encoders.base import SHARED_BY, EncoderInfo, EncoderSpec
from edgeret.encoders.languages import read_languages
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.host import forks, instruction_set, thread_budget
from edgeret.inputs.demonstrations import Demonstration
from edgeret.native import give_back
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.beside import Beside, load_beside
from edgeret.runtime.learned import Learned
from edgeret.runtime.model_tools import ModelTools, written
from edgeret.runtime.options import LoadOptions
from edgeret.runtime.own_encoder import OwnEncoder
from edgeret.runtime.process import check_process, checked
from edgeret.runtime.tool_checks import check_change, unlike
from edgeret.types import END, Tool
from edgeret.usage.observer import Observers

if TYPE_CHECKING:
    from edgeret.encoders.onnx import OnnxGraphs
    from edgeret.runtime.needs import Needs


class Loaded:
    """A bundle, for a runtime and its tasks. Thread-safe."""

    request: Any = None
    """What makes a `Request` of a question; where it is None, the library does."""
    finder: Any = None
    """And what ranks tools for a search, `edgeret.strategies.base.Finder`."""

    def __init__(
        self,
        kept: KeptBundle,
        options: LoadOptions,
        core: Model,
        beside: Beside,
        learned: Learned | None = None,
    ) -> None:
        """A bundle that is `kept` open, with the `options` that it was loaded with, the `core` that decides, and what
        Python runs `beside` it."""
        self.path, self.core, self.options, self.beside = kept.path, core, options, beside
        self.risk, self._kept = options.risk, kept
        # Of a bundle with two encoders the small one alone.
        self._part_alone = options.profile == "tiny" and kept.manifest.file(roles.TABLE) is None
        self._forked = forks()
        self._learned = learned
        self._observers: Observers | None = None
        self._lock = threading.RLock()
        # Which one this was made of by changing tools, and whether nothing demonstrated is left.
        self.whole: Loaded | None = None
        self.alone = False

    @property
    def bundle_hash(self) -> str:
        """The content hash of the folder's bundle, also where a part of it is loaded alone."""
        return self._kept.manifest.content_hash

    @cached_property
    def manifest(self) -> Manifest:
        """The table of contents of what decides: the bundle's, or its part's where that is loaded alone."""
        manifest = self._kept.manifest
        part = Bundle(self.path, manifest, {}, {}, {}).part(roles.STATIC) if self._part_alone else None
        return manifest if part is None else part.manifest

    @property
    def learned(self) -> Learned:
        """What was learned; shared by all generations of tools."""
        if self._learned is None:
            with self._lock:
                if self._learned is None:
                    made = Learned(self.core)
                    made.observers = self._observers
                    self._learned = made
        return self._learned

    @property
    def anything_learned(self) -> bool:
        """Whether any plan is stored."""
        return self._learned is not None and self._learned.count > 0

    def sharing(self, learned: Learned) -> Loaded:
        """The same, with what was learned elsewhere."""
        other = Loaded(self._kept, self.options, self.core, self.beside, learned)
        other.whole, other.alone, other.tools = self.whole, self.alone, self.tools
        return other

    def changed(self, add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]) -> Loaded:
        """The same with usable tools, as `unlike` gives them, added, removed and replaced by others of the same name;
        what was learned is shared. Raises InputError."""
        check_change(self.tools, add, remove, substitute)
        model = self.core.with_tools(written(add), list(remove), written(substitute))
        assert isinstance(self.tools, ModelTools)
        known = {name: tool for name, tool in self.tools.known().items() if name not in remove}
        known.update((tool.name, tool) for tool in (*add, *substitute))
        return self._with_model(model, known, self.alone, self.learned)

    def instead(self, tools: Sequence[Tool]) -> Loaded:
        """The encoder and the prior for other tools altogether, which are encoded now. Raises InputError."""
        tools, _ = unlike({}, tools, (), ())
        check_change({}, tools, (), ())
        model = self.core.with_tools(written(tools), self.core.names(), (), alone=True)
        return self._with_model(model, {tool.name: tool for tool in tools}, True, None)

    def going_on(self, overlay: Path, key: bytes | None) -> Loaded:
        """The same with the tools that an overlay holds, and with what was learned. Raises OverlayError."""
        learned = Learned(self.core, overlay, key)
        model = learned.learner.model()
        same = self.core.handle.value == model.handle.value
        found = self.sharing(learned) if same else self._with_model(model, {}, self.alone, learned)
        learned.kept = found.tools
        return found

    def keep(self, after: Loaded, add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]) -> None:
        """Has the overlay keep the change of tools that made another one of this. Raises InputError if there is none or
        it holds other tools, and OverlayError."""
        change = written(add), list(remove), written(substitute)
        self.learned.keep((self.tools, self.core), (after.tools, after.core), *change)

    def learn(self, demonstration: Demonstration, keep_words: bool) -> None:
        """Learns that a demonstration's calls, of tools that are here, solve its query. Raises OverlayError."""
        task = self.core.begin(demonstration.query, None, self.learned.learner.handle)
        for call in demonstration.calls:
            task.call(call.tool)
        self.learned.learn(task, "demonstration", keep_words)

    def _with_model(self, model: Model, known: Mapping[str, Tool], alone: bool, learned: Learned | None) -> Loaded:
        other = Loaded(self._kept, self.options, model, self.beside, learned)
        other.whole, other.alone = self.whole or self, alone
        other.tools = ModelTools(model, str(self.path), known)
        return other

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

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, in the index's order."""
        return ModelTools(self.core, str(self.path))

    @property
    def planner(self) -> LazyPlanner:
        """The planner, or the lack of one."""
        return self.beside.planner

    @property
    def reranking(self) -> RerankParameters:
        """What the planner's word is worth."""
        return self.beside.reranking

    @property
    def asks(self) -> bool:
        """Whether a planner is there that proved worth to be asked for arguments."""
        return self.planner.exists and self.reranking.filling > 0.0

    @property
    def runs_beside(self) -> OnnxGraphs | None:
        """What encodes in the library's place; None where that reads texts itself."""
        return self.beside.encoder

    @cached_property
    def spec(self) -> EncoderSpec:
        """Of what reads texts."""
        return self.own_encoder.spec if self.runs_beside is None else self.runs_beside.spec

    @property
    def encoder(self) -> EncoderInfo:
        """How it reads texts."""
        if (beside := self.runs_beside) is not None:
            providers, requested = tuple(beside.providers), tuple(beside.requested)
            return EncoderInfo(beside.engine, beside.spec.precision, beside.threads, providers, requested)
        asked = self.options.providers
        requested = (asked,) if isinstance(asked, str) else tuple(asked)
        engine = f"edgeret ({'table' if self.is_table else instruction_set()})"
        return EncoderInfo(engine, self.spec.precision, self.threads, requested, requested)

    @property
    def is_table(self) -> bool:
        """Whether a table of token vectors is all that encodes."""
        return self.options.profile == "tiny" or self._has(roles.TABLE)

    @property
    def threads(self) -> int:
        """How many threads encode."""
        return self.options.threads or min(SHARED_BY, thread_budget())

    @property
    def index_kind(self) -> str:
        """How tools are searched: "exact", or "hnsw" by the bundle's graph."""
        kind = self.options.index
        if kind == "auto":
            kind = "hnsw" if len(self.tools) >= CROSSOVER else "exact"
        return kind if self.whole is None and self._has(roles.HNSW) else "exact"

    @property
    def dimension(self) -> int:
        """How many numbers a vector of what decides has."""
        return int(self.core.dimension)

    def vectors_of(self, tools: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The unit vectors of tools by name, float32 (tools, dimension), and those of their examples, (examples,
        dimension)."""
        return self.core.vectors_of(self.numbers_of(tools).tolist())

    def numbers_of(self, tools: Collection[str]) -> NDArray[np.uint32]:
        """The library's numbers of tools."""
        held = self.tools
        assert isinstance(held, ModelTools)
        return np.array([held.numbers[name] for name in tools], np.uint32)

    @property
    def end(self) -> int:
        """The place of the end among what is decided between."""
        return len(self.tools)

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

    def check_process(self) -> None:
        """Raises InputError in a process that was forked off after loading; there a call could wait for ever."""
        check_process(self._forked, self.path)

    def checked(self, query: str) -> str:
        """The query, if it can be read. Warns of one in a script or language that the encoder was not trained on; of
        each once, as Python does by default. Raises InputError as `check_query` and `check_process` do."""
        self.check_process()
        return checked(query, self.languages, self.path)

    @cached_property
    def own_encoder(self) -> OwnEncoder:
        """The library's encoder."""
        where = f"{self.path} ({roles.INFO_ENCODER})"
        return OwnEncoder(self.core, EncoderSpec.of(self.manifest.info, where))


def load_bundle(path: str | Path, options: LoadOptions) -> Loaded:
    """The bundle at `path`. Raises BundleError, InputError, ProviderError or MissingExtraError."""
    library = the_library()
    kept = KeptBundle(Path(path), options.content_hash, options.trust)
    manifest, tiny = kept.manifest, options.profile == "tiny"
    small = manifest.file(roles.TABLE) is not None
    if options.profile == "full" and small:
        raise InputError(f"{path}: a tiny bundle, which has no full encoder; build one with --profile full")
    if tiny and not small and roles.STATIC not in manifest.info:
        raise InputError(f"{path}: no table of token vectors in it; build one with --profile tiny or default")
    beside = load_beside(kept, options)
    threads = thread_budget(options.threads or min(SHARED_BY, thread_budget()))
    loss = None if options.profile == "full" else options.loss
    outside = None if (encoder := beside.encoder) is None else Outside(encoder.embed_tokens, encoder.longest)
    folder, hashed = os.fspath(kept.path), manifest.content_hash
    model = load_model(library, folder, hashed, loss, tiny or small, threads, outside, options.index)
    if not model.encodes:
        raise BundleError(f"{path}: the library cannot read texts with its encoder; build the bundle again")
    if (exemplars := manifest.file(roles.EXEMPLARS)) is not None:
        kept.verify([exemplars])  # which the library has no use for, and Python may ask for later
    give_back()
    return Loaded(kept, options, model, beside)
