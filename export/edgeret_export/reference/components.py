"""A bundle's components, loaded and proved to belong together. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from edgeret.bundle import roles
from edgeret.bundle.layout import MAX_ROLE_BYTES, Manifest
from edgeret.bundle.reader import Bundle, open_bundle
from edgeret.encoders.languages import read_languages
from edgeret.encoders.providers import choose, first_of, only_cpu
from edgeret.encoders.variants import Variant, choose_variant
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.host import forks
from edgeret.native import give_back
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.reranker import RerankParameters
from edgeret.records import dataclass
from edgeret.runtime.beside import load_planner
from edgeret.runtime.options import LoadOptions
from edgeret.runtime.process import check_process, checked
from edgeret.types import END, Stage, Tool
from edgeret_export.reference.arguments.role import StoredArguments, load_arguments
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.encoders.load import load_encoder
from edgeret_export.reference.encoders.static import StaticEncoder
from edgeret_export.reference.encoders.word_vectors import WordVectors, load_word_vectors
from edgeret_export.reference.scoring.calibration import Calibration, load_calibration
from edgeret_export.reference.scoring.cascade import Thresholds
from edgeret_export.reference.scoring.episodes import Episodes, load_memory
from edgeret_export.reference.scoring.familiarity import Familiarity, load_familiarity
from edgeret_export.reference.scoring.graph import GLOBAL, Graph, load_graph
from edgeret_export.reference.scoring.head import FactoredHead, load_head
from edgeret_export.reference.scoring.index import Index, load_index
from edgeret_export.reference.scoring.learner import Learner
from edgeret_export.reference.scoring.prior import PriorWeights
from edgeret_export.reference.tool_set import load_tools
from edgeret_export.reference.word_table import WordTable, load_words


@dataclass(frozen=True, slots=True)
class Components:
    """Everything that a bundle holds for deciding. Immutable and thread-safe; to vary one, make others with
    `dataclasses.replace` and a `Runtime` of them.

    `tools` are in the index's order. Without demonstrations there are no `graph` and no `head`. `forked` says in which
    process they were loaded (see `edgeret.host.forks`). `words` are those of very many tools, where the build arranged
    them; None where that is done here. `languages` are those that the encoder was trained on; none where nobody says.
    `arguments` has the head for arguments, where the bundle has one.
    """

    path: Path
    manifest: Manifest
    encoder: Encoder
    word_vectors: WordVectors
    index: Index
    prior: PriorWeights
    graph: Graph | None
    head: FactoredHead | None
    memory: Episodes | None
    familiarity: Familiarity
    calibration: Calibration
    tools: Mapping[str, Tool]
    planner: LazyPlanner
    reranking: RerankParameters
    exemplars: Exemplars
    forked: int
    cascade: Cascade | None = None
    words: WordTable | None = None
    languages: tuple[str, ...] = ()
    arguments: StoredArguments | None = None

    @property
    def stage(self) -> Stage:
        """What a decision by these components is called."""
        return "static" if isinstance(self.encoder, StaticEncoder) else "full"

    def __post_init__(self) -> None:
        """Raises BundleError for components that contradict each other."""
        rebuild, dimension = "build the bundle again", self.encoder.spec.dimension
        if set(self.index.names) != set(self.tools):
            raise BundleError(f"{self.path}: index and tools name different tools; {rebuild}")
        found = {self.index.vectors.shape[1]}
        if (self.graph is None) is not (self.head is None) or (self.memory is not None and self.head is None):
            raise BundleError(f"{self.path}: graph, head and memory come together or not at all; {rebuild}")
        if self.graph is not None and self.head is not None:
            if self.graph.labels != self.head.labels or self.head.labels[-1:] != (END,):
                raise BundleError(f"{self.path}: graph and head decide between different tools; {rebuild}")
            found |= {self.graph.centroids.shape[1], self.head.arrays.weights.shape[1]}
        if self.memory is not None:
            found.add(self.memory.dimension)
        if len(self.familiarity.means.tools):
            found.add(self.familiarity.means.vectors.shape[1])
        if found != {dimension}:
            raise BundleError(f"{self.path}: vectors of {sorted(found)} numbers, the encoder gives {dimension}")

    def check_process(self) -> None:
        """Raises InputError in a process that was forked off after loading; there a call could wait for ever."""
        check_process(self.forked, self.path)

    def checked(self, query: str) -> str:
        """The query, if it can be read. Warns of one in a script or language that the encoder was not trained on; of
        each once, as Python does by default. Raises InputError as `check_query` and `check_process` do."""
        self.check_process()
        return checked(query, self.languages, self.path)


@dataclass(frozen=True, slots=True)
class Cascade:
    """What decides before the full encoder is asked: components of their own, whose decisions stand from the
    probability `least` on, before any call as `Thresholds.nothing` and `declines` say."""

    components: Components
    least: float
    nothing: float
    declines: float


def learner_for(components: Components) -> Callable[[], Learner]:
    """What makes learners over a bundle's decisions; they know how often its demonstrations called each tool."""
    dimension, graph = components.encoder.spec.dimension, components.graph
    called: dict[str, int] = {}
    if graph is not None:
        moves = graph.transitions()
        counts = np.bincount(moves[moves[:, 0] == GLOBAL][:, 2].astype(np.intp), moves[moves[:, 0] == GLOBAL][:, 3])
        called = {name: int(count) for name, count in zip(graph.labels, counts.tolist(), strict=False) if count}
    return lambda: Learner(dimension, called)


def load_components(path: str | Path, options: LoadOptions) -> Components:
    """The components of the bundle at `path`. Every file is verified before anything parses it. Raises BundleError,
    InputError, ProviderError or MissingExtraError."""
    components = _loaded(path, options)
    give_back()
    return components


def roles_to_read(variant: Variant | None) -> Collection[str]:
    """The roles that loading reads: all that are known but the graphs that do not run."""
    running = {roles.ENCODER} if variant is None else {role for role, _ in variant.files}
    graphs = {roles.ENCODER, *roles.VARIANT_ROLES}
    return {role for role in MAX_ROLE_BYTES if role not in graphs or role in running}


def _loaded(path: str | Path, options: LoadOptions) -> Components:
    provider = first_of(options.providers)

    def wanted(manifest: Manifest) -> Collection[str]:
        return roles_to_read(choose_variant(manifest, options.target, provider, str(path)))

    bundle = open_bundle(path, content_hash=options.content_hash, only=wanted, trust=options.trust)
    variant = choose_variant(bundle.manifest, options.target, provider, str(path))
    part = bundle.part(roles.STATIC)
    small = bundle.manifest.file(roles.TABLE) is not None
    if options.profile == "full" and small:
        raise InputError(f"{path}: a tiny bundle, which has no full encoder; build one with --profile full")
    if options.profile == "tiny" and not small:
        if part is None:
            raise InputError(f"{path}: no table of token vectors in it; build one with --profile tiny or default")
        return _load(part, options, load_planner(bundle, options))
    components = _load(bundle, options, load_planner(bundle, options), variant=variant)
    if part is None or options.profile == "full":
        return components
    where = f"{bundle.path} ({roles.INFO_CASCADE})"
    thresholds = Thresholds.from_dict(get(part.manifest.info, roles.INFO_CASCADE, dict, where), where)
    least = thresholds.at(options.loss)
    if least > 1:
        return components
    first = _load(part, options, (LazyPlanner(), RerankParameters()), components)
    if first.head is None or components.head is None or first.head.labels != components.head.labels:
        raise BundleError(f"{where}: both stages need heads, and the same labels; build the bundle again")
    return replace(components, cascade=Cascade(first, least, thresholds.nothing, thresholds.declines))


def _load(
    bundle: Bundle,
    options: LoadOptions,
    asking: tuple[LazyPlanner, RerankParameters],
    whole: Components | None = None,
    variant: Variant | None = None,
) -> Components:
    """The components of a bundle; or of a part of it, which shares some with the `whole`."""
    choice = partial(choose, options.providers, options.allow_fallback, options.provider_options or {})
    compiled = only_cpu(options.providers, options.provider_options or {})
    head = load_head(bundle) if bundle.manifest.file(roles.HEAD) else None
    where = f"{bundle.path} ({roles.INFO_PRIOR})"
    shared = None if whole is None else whole.encoder
    encoder = load_encoder(bundle, choice, options.threads, options.static_tokens, shared, variant, compiled)
    return Components(
        path=bundle.path,
        manifest=bundle.manifest,
        encoder=encoder,
        word_vectors=load_word_vectors(bundle, encoder.tokenizer) if whole is None else whole.word_vectors,
        index=(index := load_index(bundle, options.index)),
        prior=PriorWeights.from_dict(get(bundle.manifest.info, roles.INFO_PRIOR, dict, where), where),
        graph=load_graph(bundle) if bundle.manifest.file(roles.GRAPH) else None,
        head=head,
        memory=None if head is None else load_memory(bundle, len(head.labels)),
        familiarity=load_familiarity(bundle, 1 if head is None else len(head.labels)),
        calibration=load_calibration(bundle, options.risk),
        tools=load_tools(bundle, index.names) if whole is None else whole.tools,
        planner=asking[0],
        reranking=asking[1],
        exemplars=_exemplars(bundle) if whole is None else whole.exemplars,
        forked=forks(),
        words=load_words(bundle, len(index.names)) if whole is None else whole.words,
        languages=_languages(bundle) if whole is None else whole.languages,
        arguments=load_arguments(bundle, encoder) if whole is None else whole.arguments,
    )


def _languages(bundle: Bundle) -> tuple[str, ...]:
    where = f"{bundle.path} ({roles.INFO_ENCODER})"
    return read_languages(get(bundle.manifest.info, roles.INFO_ENCODER, dict, where), where)


def _exemplars(bundle: Bundle) -> Exemplars:
    data = bundle.read(roles.EXEMPLARS) if bundle.manifest.file(roles.EXEMPLARS) else b"[]"
    return Exemplars(data, f"{bundle.path} ({roles.EXEMPLARS})")
