"""A BERT in miniature with random weights, exported in int8 by the real exporter."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from xlmr_samples import card_of

from edgeret.encoders.checks import onnx_file
from edgeret_export.encoders.export import ExportedEncoder, export_encoder
from edgeret_export.encoders.onnx_graph import quiet
from edgeret_export.reference.encoders.transformer_graph import Transformer, read_transformer

WIDTH, HEADS, INNER, LAYERS, MAX_TOKENS = 64, 4, 128, 2, 40
WORDS = (
    "find",
    "the",
    "file",
    "and",
    "send",
    "it",
    "to",
    "ann",
    "mail",
    "a",
    "note",
    "about",
    "rain",
    "music",
    "is",
    "on",
)


def save_bert(folder: Path, activation: str = "gelu") -> Path:
    """The model with its tokenizer, as transformers saves one."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, "##s", "##ing"))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        max_position_embeddings=MAX_TOKENS + 8,
        hidden_act=activation,
        initializer_range=0.2,
    )
    with quiet():
        BertModel(config, add_pooling_layer=False).save_pretrained(folder)
        names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return folder


@functools.cache
def exported_bert(family: str | None = None, pooling: str = "mean", activation: str = "gelu") -> ExportedEncoder:
    """The encoder, quantised for a CPU family, this machine's by default."""
    with tempfile.TemporaryDirectory() as folder:
        saved = save_bert(Path(folder, "bert"), activation)
        more = {"query_prefix": '""', "tool_prefix": '""', "max_tokens": MAX_TOKENS}
        return export_encoder(card_of(saved, pooling, WIDTH, **more), "int8", family=family)


def weights_of(exported: ExportedEncoder) -> Transformer:
    """Its weights, read out of the graph."""
    graph = onnx_file.check(exported.model, exported.spec.max_tokens, "encoder")
    found = read_transformer(graph, exported.model, exported.spec)
    assert found is not None
    return found
