"""An embedding model to ONNX: pooling and normalisation inside the graph, no outside data."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from edgeret.encoders.base import OUTPUT, TOKENS_OUTPUT
from edgeret.errors import MissingExtraError
from edgeret_export.encoders.modules import complete, load_original


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps the exporters' chatter away from stdout, which belongs to results, and from stderr."""
    logging.disable(logging.WARNING)
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Torch's others wait for one another between small products, and take as long again."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def export_onnx(
    model_folder: Path, pooling: str = "mean", cut: int | None = None, centre: Sequence[float] | None = None
) -> Any:
    """The model in `model_folder` as an ONNX ModelProto with the outputs `sentence_embedding`, a unit vector (batch,
    dimension), and `token_embeddings` (batch, tokens, dimension). A transformer without modules of its own gets
    `pooling`; `cut` keeps the first so many numbers; `centre` is taken off every token's vector. Raises
    MissingExtraError, and InputError for unknown modules.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the files are here; a look at the hub would only wait for a time-out
    try:
        import onnx
        from optimum.exporters.onnx import onnx_export_from_model
    except ImportError:
        raise MissingExtraError("edgeret-export", "exporting an encoder to ONNX") from None
    with tempfile.TemporaryDirectory() as folder, quiet(), one_thread():
        original = complete(load_original(model_folder, pooling, eager=True, centre=centre), model_folder, cut)
        # Our own parity gate compares on real queries; optimum's would on random ids.
        onnx_export_from_model(original, output=Path(folder), task="feature-extraction", do_validation=False)
        model = onnx.load(str(Path(folder) / "model.onnx"))
    keep = [o for o in model.graph.output if o.name in (OUTPUT, TOKENS_OUTPUT)]
    del model.graph.output[:]
    model.graph.output.extend(keep)
    return strip_names(without_branches(model))


def read_onnx(data: bytes) -> Any:
    """The ONNX ModelProto of these bytes. Raises MissingExtraError."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("edgeret-export", "converting an encoder") from None
    return onnx.load_from_string(data)


def without_branches(model: Any) -> Any:
    """The model with every branch that the exporter writes around a `squeeze` replaced by what is taken.

    It cannot prove that the dimension is 1 where one token's vector stands for the text (pooling cls and lasttoken),
    but so it is; and the runtime lets no branches through.
    """
    from onnx import NodeProto

    nodes: list[Any] = []
    for node in model.graph.node:
        branches = {a.name: a.g for a in node.attribute} if node.op_type == "If" else {}
        taken = branches.get("then_branch")
        if taken is None or [inner.op_type for inner in taken.node] != ["Constant", "Squeeze"]:
            nodes.append(NodeProto.FromString(node.SerializeToString()))
            continue
        taken.node[-1].output[0] = node.output[0]
        nodes += [NodeProto.FromString(inner.SerializeToString()) for inner in taken.node]
    return with_nodes(model, nodes)


def strip_names(model: Any) -> Any:
    """Removes what only a debugger reads (doc strings hold the build host's paths)."""
    model.doc_string = ""
    model.graph.doc_string = ""
    del model.metadata_props[:]
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    return model


def with_nodes(model: Any, nodes: Sequence[Any]) -> Any:
    """The model with these nodes in place of its own, and without the weights that none of them reads. In place."""
    graph = model.graph
    used = {name for node in nodes for name in node.input}
    # One by one, since weights that were put back would be copied, all of a model's megabytes.
    for place in reversed(range(len(graph.initializer))):
        if graph.initializer[place].name not in used:
            del graph.initializer[place]
    del graph.node[:]
    graph.node.extend(nodes)
    return model
