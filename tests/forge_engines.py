"""Families of forgeries for the bundles that carry an HNSW graph, an encoder in codes or a language model.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import gguf_forge
import numpy as np
from forge import Forgery
from forge_arrays import arrays_of, get, pack
from forge_bytes import VALUES, bytes_of
from forge_fields import Family, cell, spoil_info, spoil_json, spoil_map

from edgeret_export.reference.scoring import hnsw_file

CONTEXT = 4_096
"""Tokens that the tiny language model reads; its vocabulary has hardly more than letters."""
ARCHITECTURES = gguf_forge.ARCHITECTURES
UNSAFE_HERE = (2, 3, 8, 12, 13, 14, 23)
"""Types of tensors that llama.cpp multiplies with AMX; see `language_model`."""
UNHEARD = (
    "expert_count",
    "vocab_size",
    "rope.scaling.factor",
    "nextn_predict_layers",
    "attention.causal",
    "pooling_type",
)
"""Keys of models of other kinds."""
NUMBERS = (
    0,
    1,
    2,
    3,
    5,
    6,
    7,
    15,
    16,
    17,
    31,
    32,
    33,
    79,
    80,
    81,
    160,
    255,
    4096,
    65_535,
    2**20,
    2**31 - 1,
    2**31,
    2**32 - 1,
)


def language_model(architecture: str = "llama") -> gguf_forge.Gguf:
    """A tiny language model of plain float32: on hosts that claim to have AMX and do not let it be used, llama.cpp
    dies of a quantised product, whatever the file."""
    gguf = gguf_forge.tiny(architecture)
    for name, tensor in gguf.tensors.items():
        if tensor.kind != gguf_forge.F32:
            weights = np.random.default_rng(0).normal(0, 0.1, tensor.shape).astype("<f4")
            gguf.tensors[name] = gguf_forge.Tensor(tensor.shape, gguf_forge.F32, weights.tobytes())
    gguf.metadata[f"{architecture}.context_length"] = (gguf_forge.UINT32, CONTEXT)
    return gguf


def hnsw_lists(forgery: Forgery, number: int) -> str:
    """Some links, starts and levels at once, so that one of them may be read by what the other says."""
    tree, chance = forgery.map("hnsw"), random.Random(number)
    told = []
    for key in chance.sample(("links", "starts", "levels"), 1 + number % 3):
        array, value = get(tree[key]), chance.choice(NUMBERS)
        value = value % 128 if key == "levels" else value % 2**31
        begin = chance.randrange(len(array))
        array[begin : begin + chance.choice((1, 1, 17, 33))] = value
        tree[key] = pack(array, tree[key]["dtype"])
        told.append(f"{key} {value}")
    return f"hnsw: {', '.join(told)}"


def hnsw_built(forgery: Forgery, number: int) -> str:
    """A graph that hnswlib itself built, over vectors that are alike or as other builds choose."""
    import hnswlib

    index = forgery.map("index")
    vectors = get(index["vectors"])
    rows, (way, links, ef, deleted, space, room) = len(vectors), cell(number, 6, 3, 3, 2, 3, 2)
    if number % 3:  # as edgeret builds it
        links = ef = deleted = space = room = 0
    alike = (0, rows, rows // 2, rows - 1, 3, 65)[way]
    vectors[:alike] = vectors[number % rows]
    index["vectors"] = pack(vectors, "<f4")
    graph = hnswlib.Index(space=("ip", "cosine", "l2")[space], dim=vectors.shape[1])
    graph.init_index(rows + room, M=(16, 2, 48)[links], ef_construction=(200, 1, 16)[ef], random_seed=number)
    graph.add_items(vectors, np.arange(rows), num_threads=1)
    if deleted:
        graph.mark_deleted(number % rows)
    # Deleted elements, other spaces and other numbers of links are nothing that the file can say, or too many links.
    links_of_it = hnsw_file.links_of(graph.__getstate__()[0])
    forgery.files["hnsw"] = hnsw_file.pack_links(links_of_it, forgery.info["encoder"]["fingerprint"])
    return f"hnsw: built over {alike} equal vectors, {links} {ef} {deleted}"


def gguf_numbers(forgery: Forgery, number: int) -> str:
    """One number in front of the weights: metadata, counts, lengths, dimensions, types, offsets."""
    found: list[gguf_forge.Number] = []
    architecture = ARCHITECTURES[number % len(ARCHITECTURES)]
    data = bytearray(language_model(architecture).pack(found))
    # Lengths of tokens are many and alike; what is not about a single token comes as often as all of them.
    rare = [n for n in found if "tokens[" not in n.what and "token_type[" not in n.what and "scores[" not in n.what]
    chosen = found if number % 4 == 0 else rare
    row, column = cell(number, len(chosen), len(VALUES) + 4)
    what, place, form = chosen[row].what, chosen[row].place, chosen[row].form
    size = struct.calcsize("<" + form)
    if form in "fd":
        value: Any = (0.0, float("nan"), float("inf"), -1.0, 1e-45, 1e30, 3e38, -0.0)[column % 8]
        data[place : place + size] = struct.pack("<" + form, value)
    else:
        value = (*VALUES, 5, 7, 31, 513)[column] % (1 << 8 * size)
        value = 30 if what.endswith(".weight") and value in UNSAFE_HERE else value
        data[place : place + size] = value.to_bytes(size, "little")
    forgery.files["planner"] = bytes(data)
    return f"gguf {architecture}: {what} is {value}"


def gguf_content(forgery: Forgery, number: int) -> str:
    """Metadata and tensors missing, renamed, of another type, twice, reshaped; weights that are no numbers."""
    architecture = ARCHITECTURES[number % len(ARCHITECTURES)]
    gguf, chance = language_model(architecture), random.Random(number)
    key, name = chance.choice(list(gguf.metadata)), chance.choice(list(gguf.tensors))
    tensor, way = gguf.tensors[name], number // len(ARCHITECTURES) % 14
    tokens = gguf.metadata["tokenizer.ggml.tokens"][1][1]
    match way:
        case 0:
            del gguf.metadata[key]
        case 1:
            del gguf.tensors[name]
        case 2:
            gguf.metadata[key] = (gguf_forge.STRING, chance.choice(("", "x" * 10**6, b"\xff\xfe", "\x1b[31m", "llama")))
        case 3:
            gguf.metadata[key] = (gguf_forge.UINT64, chance.choice(VALUES) % 2**64)
        case 4:
            gguf.metadata[key] = (gguf_forge.ARRAY, (gguf_forge.INT32, [1] * chance.choice((0, 1, 2, 3, 500))))
        case 5:
            tensor.data = np.full(len(tensor.data) // 4, chance.choice((np.nan, np.inf, 3e38, 1e30)), "<f4").tobytes()
        case 6:
            tensor.shape = (*tensor.shape, chance.choice((0, 1, 2, 2**31, 2**62)))
        case 7:
            tensor.shape = tensor.shape[::-1]
        case 8:
            tensor.kind = chance.choice([kind for kind in (*range(40), 2**31 - 1) if kind not in UNSAFE_HERE])
        case 9:
            gguf.tensors[chance.choice(("output.weight", "blk.9.attn_q.weight", "x" * 70, "rope_freqs.weight", ""))] = (
                tensor
            )
        case 10:
            tensor.offset = chance.choice((0, 1, 31, 32, 2**31, 2**63, 2**64 - 32))
        case 11:
            tokens[chance.randrange(len(tokens))] = chance.choice(("", "x" * 10**6, b"\xff", "<|im_end|>", tokens[-1]))
        case 12:
            del tokens[chance.choice((0, 1, len(tokens) // 2, len(tokens) - 1)) :]
        case _:
            unheard = chance.choice(UNHEARD)
            gguf.metadata[f"{architecture}.{unheard}"] = (gguf_forge.UINT32, chance.choice(VALUES) % 2**32)
    forgery.files["planner"] = gguf.pack()
    return f"gguf {architecture}: way {way}, {key}, {name}"


HNSW: dict[str, Family] = {
    "hnsw-bytes": bytes_of("hnsw"),
    "hnsw-fields": spoil_map("hnsw"),
    "hnsw-arrays": arrays_of("hnsw"),
    "hnsw-lists": hnsw_lists,
    "hnsw-built": hnsw_built,
    "words-bytes": bytes_of("words"),
    "words-fields": spoil_map("words"),
    "words-arrays": arrays_of("words"),
}
CODES: dict[str, Family] = {
    "codes-bytes": bytes_of("encoder-arrays"),
    "codes-fields": spoil_map("encoder-arrays"),
    "codes-arrays": arrays_of("encoder-arrays"),
}
PLANNER: dict[str, Family] = {
    "gguf-bytes": bytes_of("planner"),
    "gguf-numbers": gguf_numbers,
    "gguf-content": gguf_content,
    "planner-fields": spoil_info("planner"),
    "planner-tools": spoil_json("tools"),
}
