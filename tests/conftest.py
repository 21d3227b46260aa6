"""Bundles for tests: a tiny one around a made-up encoder, in milliseconds, and a real one around real weights."""

from __future__ import annotations

import gc
import hashlib
import json
import re
import shutil
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from core_build import core, core_library, failing_core  # noqa: F401  (fixtures)
from shared import once, place

from edgeret.encoders.base import OUTPUT, TOKENS_OUTPUT, EncoderSpec
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tool_text import tool_text
from edgeret.inputs.tools import read_tools
from edgeret.types import Call, Tool
from edgeret_export.build import Passed, assemble, build_bundle, encode_with
from edgeret_export.encoded import Encoded
from edgeret_export.encoders.encodings import Encodings, start
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.parity import Loss, Parity
from edgeret_export.fitting import argument_fit
from edgeret_export.fitting.training_set import FEW_PLANS, training_set
from edgeret_export.places import HERE, Place
from edgeret_export.planner.package import PlannerModel
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import DEFAULT_ENCODER, Card, find_card
from edgeret_export.sources.encoder_card import EncoderCard
from edgeret_export.sources.expansions import Expansion
from edgeret_export.sources.priors import read_prior
from edgeret_export.writer import writing

# A shell that runs the tests behind `&` has SIGINT ignored, and every command that a test starts would inherit it and
# never be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLE = Path(__file__).parents[1] / "examples" / "desktop"
WORDS = re.findall(
    r"\w+",
    "mail send note write read find file music play stop the a my to and then it me of song letter open close "
    "meeting book call phone zip pack share calendar day free",
)
DIMENSION = 24

TOOLS = [
    Tool("find_file", "find a file", {"type": "object", "properties": {"name": {"type": "string"}}}),
    Tool("send_mail", "send a mail"),
    Tool("write_note", "write a note"),
    Tool("play_music", "play music"),
    Tool("book_meeting", "book a meeting"),
    Tool("phone_call", "call a phone"),
]
"""`phone_call` has no demonstration."""

_PLANS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("find my file and send a mail", ("find_file", "send_mail")),
    ("find the letter then mail it to me", ("find_file", "send_mail")),
    ("write a note", ("write_note",)),
    ("play my song", ("play_music",)),
    ("book a meeting and write a note of it", ("book_meeting", "write_note")),
    ("book the meeting then send a mail", ("book_meeting", "send_mail")),
    ("open calendar day", ()),
)


def full(*values: object) -> list[ParameterSet]:
    """Values of a parametrisation that are for `make test-full`; a tuple is one of several parameters."""
    return [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.full) for one in values]


def make_demonstrations(repeats: int = 8) -> list[Demonstration]:
    """The plans above, each `repeats` times with another filler, so that queries differ."""
    return [
        Demonstration(f"d{i}-{r}", f"{query} {WORDS[(7 * r + i) % len(WORDS)]}", tuple(Call(t) for t in plan))
        for r in range(repeats)
        for i, (query, plan) in enumerate(_PLANS)
    ]


def tiny_exported(seed: int = 0, max_tokens: int = 64, read_by: bytes | None = None) -> ExportedEncoder:
    """An encoder that means random word vectors: the interface of a real one, in 3 kB; or one for the words of a
    tokenizer.json that it is `read_by`."""
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: i for i, word in enumerate(("[UNK]", "[CLS]", "[SEP]", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    if read_by is not None:
        vocabulary = json.loads(read_by)["model"]["vocab"]
    table = np.random.default_rng(seed).normal(size=(len(vocabulary), DIMENSION)).astype(np.float32)
    table[:3] *= 0.05
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], [TOKENS_OUTPUT]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", [TOKENS_OUTPUT, "wide"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "one"], ["sum"], keepdims=0),
        helper.make_node("LpNormalization", ["sum"], [OUTPUT], axis=-1, p=2),
    ]
    ids = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["batch_size", "sequence_length"])
        for n in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch_size", DIMENSION]),
        helper.make_tensor_value_info(TOKENS_OUTPUT, TensorProto.FLOAT, ["batch_size", "sequence_length", DIMENSION]),
    ]
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([1]), "one"),
        numpy_helper.from_array(np.array([2]), "last"),
    ]
    graph = helper.make_graph(nodes, "tiny", ids, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    spec = EncoderSpec(DIMENSION, max_tokens, "mean", True, "", "", "fp32", "any")
    return ExportedEncoder(model.SerializeToString(), read_by or tokenizer.to_str().encode(), spec, Path(), {})


def tiny_card() -> Card:
    """The card of the made-up encoder."""
    return Card(
        "tiny", "encoder", "for tests", "MIT", ("path:.",), {}, EncoderCard(DIMENSION, 64, "mean", True), Path()
    )


def unmeasured(exported: ExportedEncoder, encodings: Encodings, tools: Sequence[Tool], recipe: Recipe) -> Passed:
    """What the parity gate would let through, had the made-up encoder an original to be compared with."""
    nothing = Loss(0, 1.0, 1.0, 0.0, 0.0)
    measured = Parity("fp32", 0.003, 1.0, 0, 0, 1.0, 1.0, nothing, nothing)
    vectors = encodings.tools([tool_text(tool, recipe.tool_text) for tool in tools])
    return Passed(exported, encodings, vectors, measured)


def encode_tiny(
    recipe: Recipe,
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool] = TOOLS,
    seed: int = 0,
    few: int = FEW_PLANS,
    max_tokens: int = 64,
    expansion: Expansion | None = None,
    place: Place = HERE,
) -> Encoded:
    """What `edgeret_export.build.encode` gives, by the made-up encoder. Above `few` demonstrations a head leans on the
    prior's static part alone, as one of many demonstrations does."""
    exported, prior = tiny_exported(seed, max_tokens), read_prior("tiny")
    passed = unmeasured(exported, Encodings(start(exported), None, place, exported), tools, recipe)
    encoded = encode_with(passed, recipe, demonstrations, tools, prior, expansion)
    if not demonstrations or few == FEW_PLANS:
        return encoded
    encoder = start(exported)
    queries = [encoder.encode_query(demonstration.query) for demonstration in demonstrations]
    vectors, weights = encoded.tool_vectors, prior.weights
    return replace(
        encoded, training=training_set(demonstrations, tools, queries, vectors, weights, recipe.seed, few=few)
    )


def build_tiny(
    target: Path,
    seed: int = 0,
    recipe: Recipe | None = None,
    tools: Sequence[Tool] = TOOLS,
    model: PlannerModel | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    few: int = FEW_PLANS,
    max_tokens: int = 64,
    expansion: Expansion | None = None,
    place: Place = HERE,
) -> Path:
    """Writes a bundle around the made-up encoder by the code that writes real ones. `demonstrations` None: the ones
    above; `few` and `max_tokens` as in `encode_tiny`."""
    recipe = recipe or Recipe(precision="fp32", profile="full")
    shown = make_demonstrations() if demonstrations is None else demonstrations
    encoded = encode_tiny(recipe, shown, tools, seed, few, max_tokens, expansion, place)
    with writing(target) as writer:
        assemble(writer, tiny_card(), encoded, recipe, model, place)
    return target


def tiny_bundle(
    target: Path,
    seed: int = 0,
    recipe: Recipe | None = None,
    tools: Sequence[Tool] = TOOLS,
    demonstrations: Sequence[Demonstration] | None = None,
    few: int = FEW_PLANS,
    max_tokens: int = 64,
) -> Path:
    """A copy of what `build_tiny` writes of the same, which a run builds once: for tests that are not about building,
    whose arithmetic is what it always is."""
    shown = make_demonstrations() if demonstrations is None else demonstrations
    recipe = recipe or Recipe(precision="fp32", profile="full")
    asked = repr((seed, recipe, [tool.to_dict() for tool in tools], list(shown), few, max_tokens))
    named = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    def make(folder: Path) -> None:
        build_tiny(folder, seed, recipe, tools, demonstrations=shown, few=few, max_tokens=max_tokens)

    return Path(shutil.copytree(once(f"tiny-{named}", make), target))


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Before Hypothesis loads the profile that is asked for: how many examples each property is tried with, and never
    by a clock."""
    from hypothesis import settings  # forgers' processes read this file too, and need it for nothing

    settings.register_profile("few", max_examples=25, deadline=None)
    settings.register_profile("many", max_examples=200, deadline=None)
    settings.load_profile("few")
    place()  # before other processes of the run begin
    gc.disable()  # collecting tests makes a million objects that stay


def pytest_collection_finish() -> None:
    if not gc.isenabled():  # a process that takes file after file has ended other collections
        gc.freeze()  # what stays is not looked through again and again
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `diagonal`, and tried with every combination of several parameters' values, those cases are for
    every change in which each value comes at least once; the others are for `make test-full`."""
    tests: dict[object, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("diagonal"):
            tests.setdefault((item.path, getattr(item, "originalname", "")), []).append(item)
    for cases in tests.values():
        values: dict[str, list[int]] = {}  # by identity: some are not hashed, or equal to what they are not
        places = []
        for case in cases:
            given = {name: id(value) for name, value in case.callspec.params.items()}  # type: ignore[attr-defined]
            for name, value in given.items():
                if value not in values.setdefault(name, []):
                    values[name].append(value)
            places.append({name: values[name].index(value) for name, value in given.items()})
        longest = max(values, key=lambda name: len(values[name]))
        for case, at in zip(cases, places, strict=True):
            if any(at[name] != at[longest] % len(values[name]) for name in values):
                case.add_marker(pytest.mark.full)


@pytest.fixture(scope="session")
def tiny_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle, shared: not to be changed."""
    return tiny_bundle(tmp_path_factory.mktemp("tiny") / "bundle")


@pytest.fixture(scope="session")
def tiny_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle whose head was fitted as one of many demonstrations, shared: not to be changed."""
    return tiny_bundle(tmp_path_factory.mktemp("tiny-many") / "bundle", few=0)


@pytest.fixture(scope="session")
def tiny_cascade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle whose table of token vectors decides first, shared: not to be changed."""
    recipe = Recipe(precision="fp32", profile="default")
    return tiny_bundle(tmp_path_factory.mktemp("tiny-cascade") / "bundle", recipe=recipe, few=0)


@pytest.fixture(scope="session")
def tiny_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle with a table of token vectors in its encoder's place, shared: not to be changed."""
    return tiny_bundle(
        tmp_path_factory.mktemp("tiny-table") / "bundle", recipe=Recipe(precision="fp32", profile="tiny")
    )


@pytest.fixture(scope="session")
def tiny_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle from tools alone, shared: not to be changed."""
    return tiny_bundle(tmp_path_factory.mktemp("tiny-tools") / "bundle", demonstrations=())


@pytest.fixture
def tiny(tiny_original: Path, tmp_path: Path) -> Path:
    """A tiny bundle of the test's own, to be broken at will."""
    return Path(shutil.copytree(tiny_original, tmp_path / "bundle"))


@pytest.fixture(scope="session")
def real() -> Path:
    """A bundle with real weights (int8) from a third of the desktop example's demonstrations."""
    tools = read_tools(EXAMPLE / "tools.jsonl")
    demonstrations = read_demonstrations(EXAMPLE / "demonstrations.jsonl", [t.name for t in tools])[::3]

    def make(folder: Path) -> None:
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            # Nothing here is about how well arguments are read, and the head for them would be tuned for a minute.
            patch.setattr(argument_fit, "LEAST_PLANS", len(demonstrations) + 1)
            build_bundle(tools, demonstrations, folder / "bundle", find_card(DEFAULT_ENCODER), Recipe())

    return once("real", make) / "bundle"
