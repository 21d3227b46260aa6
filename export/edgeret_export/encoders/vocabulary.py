"""An encoder whose vocabulary is cut to the scripts of a few languages: the same vectors, in fewer bytes.

Multilingual vocabularies are most of their encoders: 96 of multilingual-e5-small's 118 million numbers. A Unigram
tokenizer cuts a text along its best pieces, so pieces of scripts that no text has can go without moving any other.
Knows nothing of what the vectors are for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeret.encoders.languages import LATIN, script_of, scripts_of
from edgeret.errors import InputError
from edgeret.terminal.progress import say
from edgeret_export.encoders.adapter import base_weights
from edgeret_export.encoders.changed_folder import changed_folder
from edgeret_export.sources.cards import Card

EMBEDDING = "word_embeddings.weight"


def with_languages(card: Card, told: str | None) -> Card:
    """The card with its languages cut to these codes, "de,en", and its vocabulary to their scripts; None: as it says.
    Raises InputError for a card of another kind, and for a language that its encoder was not trained on."""
    if told is None:
        return card
    if card.encoder is None:
        raise InputError(f"model card '{card.name}' is a {card.kind}, which speaks no languages; leave out --languages")
    codes = tuple(dict.fromkeys(code.strip() for code in told.split(",") if code.strip()))
    unknown = [code for code in codes if code not in card.encoder.languages]
    scripts = scripts_of(codes)
    if unknown or scripts is None:
        raise InputError(
            f"--languages {told}: '{card.name}' was not trained on {', '.join(unknown) or 'nothing'}; choose some of "
            f"{', '.join(card.encoder.languages)}"
        )
    # Tools are named in Latin letters, whatever people speak.
    kept = tuple(sorted(scripts | {LATIN}))
    return replace(card, encoder=replace(card.encoder, languages=codes, scripts=kept))


def cut_folder(card: Card, base: Path, scripts: Sequence[str]) -> Path:
    """A folder like `base` whose tokenizer has no pieces with letters of other scripts, and whose weights have no rows
    for them; made once, then kept in the cache. Raises InputError for a tokenizer that is not Unigram, and for weights
    without one embedding of its pieces."""
    weights = base_weights(card)
    name = hashlib.sha256(",".join(scripts).encode()).hexdigest()[:8]

    def cut(made: Path) -> list[str]:
        say(f"cutting the vocabulary of {card.name} to {', '.join(script.title() for script in scripts)}")
        tokenizer = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
        kept = cut_tokenizer(tokenizer, scripts, card.name)
        (made / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
        _cut_rows(made, weights, kept, card.name)
        return [weights, "tokenizer.json", "config.json"]

    return changed_folder(base, f"{base.name}~{name}", cut)


def cut_tokenizer(value: dict[str, Any], scripts: Sequence[str], where: str) -> list[int]:
    """Cuts a tokenizer.json in place; returns the ids of what is kept, ascending. Pieces without a letter stay, and so
    do special ones. Raises InputError for a tokenizer that is not Unigram."""
    model = value["model"]
    if model.get("type") != "Unigram":
        raise InputError(f"{where}: only a Unigram tokenizer's vocabulary can be cut; leave out --languages")
    allowed = frozenset(scripts)
    special = {token["id"] for token in value.get("added_tokens", ())} | {model["unk_id"]}
    pieces = model["vocab"]
    kept = [i for i, (text, _) in enumerate(pieces) if i in special or _scripts(text) <= allowed]
    new = {old: i for i, old in enumerate(kept)}
    model["vocab"] = [pieces[i] for i in kept]
    model["unk_id"] = new[model["unk_id"]]
    for token in value.get("added_tokens", ()):
        if token["id"] >= len(pieces):
            raise InputError(f"{where}: its tokenizer has tokens beyond its pieces; leave out --languages")
        token["id"] = new[token["id"]]
    ends = value.get("post_processor") or {}
    for token in ends.get("special_tokens", {}).values():
        token["ids"] = [new[i] for i in token["ids"]]
    for name in ("cls", "sep"):
        if name in ends:
            ends[name][1] = new[ends[name][1]]
    return kept


def _scripts(text: str) -> set[str]:
    found = (script_of(char) for char in text if char.isalpha())
    return {script for script in found if script is not None}


def _cut_rows(folder: Path, weights: str, kept: Sequence[int], where: str) -> None:
    """Cuts what a model knows of pieces: the rows of its embedding, its size, and ids that its configuration names."""
    from safetensors.numpy import load_file, save_file

    tensors = load_file(folder / weights)
    names = [name for name in tensors if name.endswith(EMBEDDING)]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if len(names) != 1 or config.get("vocab_size") != len(tensors[names[0]]) or kept[-1] >= config["vocab_size"]:
        raise InputError(f"{where}: no single embedding of its pieces ({EMBEDDING}); leave out --languages")
    tensors[names[0]] = tensors[names[0]][list(kept)]
    save_file(tensors, folder / weights, metadata={"format": "pt"})
    new = {old: i for i, old in enumerate(kept)}
    ids = {key: new[old] for key, old in config.items() if key.endswith("_token_id") and old in new}
    config |= {**ids, "vocab_size": len(kept)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    told = folder / "tokenizer_config.json"
    if told.is_file():
        # Names pieces by their old ids; tokenizer.json says the same by the new ones.
        settings = json.loads(told.read_text(encoding="utf-8"))
        settings.pop("added_tokens_decoder", None)
        told.write_text(json.dumps(settings), encoding="utf-8")
