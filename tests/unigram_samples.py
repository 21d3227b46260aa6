"""A Unigram tokenizer as SentencePiece's converters write one, in kilobytes, for tests of encoders that have one."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

SPACE = "\u2581"
SENTENCES = (
    "send a mail to me and write a note of it",
    "find my file then play the song and stop the music",
    "book a meeting and phone the office, please",
    "öffne die Datei und schicke sie per Mail an mich",
    "schreibe eine Notiz und spiele ein Lied",
    "打开文件 并 发送 邮件",
    "ouvre le fichier et envoie un courriel",
)
CHANGES = {"\u3000": " ", "\uff21": "A", "\uff22": "B", "\u00ad": "", "\ufb01": "fi"}
"""What the sample's charsmap does: full width to half, a ligature taken apart, a soft hyphen taken out."""


def charsmap(changes: Mapping[str, str] = CHANGES) -> bytes:
    """A charsmap that replaces each key: its trie gives every node a block of its own."""
    texts, trie = b"", {}
    for key, becomes in changes.items():
        node: dict[int, Any] = trie
        for code in key.encode():
            node = node.setdefault(code, {})
        node[0] = len(texts)
        texts += becomes.encode() + b"\0"
    blocks: list[dict[int, Any]] = [trie]
    units, place = {0: 256 << 10}, 0
    while place < len(blocks):
        base = 256 * (place + 1)
        for code, inner in blocks[place].items():
            if code == 0:
                units[base] = 0x8000_0000 | inner
                continue
            blocks.append(inner)
            children = 256 * len(blocks)
            units[base + code] = (((base + code) ^ children) << 10) | (0x100 if 0 in inner else 0) | code
        place += 1
    count = 256 * (len(blocks) + 1)
    data = b"".join(units.get(i, 0).to_bytes(4, "little") for i in range(count))
    return len(data).to_bytes(4, "little") + data + texts


def unigram(vocabulary: int = 160) -> dict[str, Any]:
    """A tokenizer.json like XLM-R's: trained, with the special tokens, the charsmap and the parts of the real one."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap()), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary, special_tokens=specials, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    tokenizer.decoder = decoders.Metaspace()
    return dict(json.loads(tokenizer.to_str()))


def encoded(changes: Mapping[str, str]) -> str:
    """The same charsmap as a tokenizer.json holds it."""
    return base64.b64encode(charsmap(changes)).decode()
